//! The words of a shell command, and the files that it writes, moves or deletes. The functions perform no I/O.

use std::sync::LazyLock;

use regex::Regex;
use transcripts::{FileAccess, FileAction};

static OPENED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"open\(\s*[rf]?['"]([^'"\n]{1,200})['"]\s*,\s*['"][wax]"#).expect("the tests compile it")
});
static SAVED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:Path\(|writeFile(?:Sync)?\()\s*['"]([^'"\n]{1,200})['"]"#).expect("the tests compile it")
});
static BODY: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?:^|[^<])<<-?\s*['"\\]?([A-Za-z_]\w*)['"]?"#).expect("the tests compile it"));

/// Returns the files that `command` changes, in order. If the command changes the working folder, the paths include the
/// new folder.
pub(super) fn changed_files(command: &str) -> Vec<FileAction> {
    let mut files = Vec::new();
    let mut folder = String::new();
    for part in commands(command) {
        let words = words(&part);
        let mut add = |path: &str, access: FileAccess| {
            let is_place = path.is_empty() || path.starts_with(['-', '&', '$', '(']) || path.starts_with("/dev/");
            // Patterns and variables do not refer to a specific file.
            if !is_place && !path.contains(['*', '$', '`', '{', '<', '>', '|', '(', '"', '\'']) {
                files.push(FileAction { path: under(&folder, path), access });
            }
        };
        let plain: Vec<&str> = words.iter().filter(|word| !word.is_operator).map(|word| word.text.as_str()).collect();
        for pair in words.windows(2).filter(|pair| pair[0].is_operator && !pair[1].is_operator) {
            match pair[0].text.as_str() {
                ">" | "1>" | "&>" => add(&pair[1].text, FileAccess::Written),
                ">>" => add(&pair[1].text, FileAccess::Edited),
                _ => {}
            }
        }
        let targets: Vec<&str> = redirected(&words);
        let arguments: Vec<&str> = targets.iter().skip(1).copied().filter(|word| !word.starts_with('-')).collect();
        let has = |flag: &str| plain.iter().any(|word| word.starts_with(flag));
        match (targets.first().map(|program| program.rsplit('/').next().unwrap_or(program)), arguments.as_slice()) {
            (Some("cd" | "pushd"), [to, ..]) => folder = under(&folder, to),
            (Some("sed" | "gsed"), _) if has("-i") || has("--in-place") => {
                // The script is the first argument, unless it is the value of an option.
                let script = usize::from(!has("-e") && !has("-f"));
                let paths = arguments.iter().skip(script).filter(|word| !word.is_empty());
                paths.filter(|path| is_path(path)).for_each(|path| add(path, FileAccess::Edited));
            }
            (Some("perl" | "ruby"), _) if plain.iter().any(|word| is_in_place(word)) => {
                arguments.iter().skip(1).filter(|path| is_path(path)).for_each(|path| add(path, FileAccess::Edited));
            }
            (Some("tee"), paths) => paths.iter().for_each(|path| add(path, FileAccess::Written)),
            (Some("touch"), paths) => paths.iter().for_each(|path| add(path, FileAccess::Created)),
            (Some("rm" | "unlink"), paths) => paths.iter().for_each(|path| add(path, FileAccess::Deleted)),
            (Some("mv"), [from @ .., to]) | (Some("git"), ["mv", from @ .., to]) => {
                let target = |one: &str| into_folder(one, to, from.len());
                from.iter().for_each(|one| add(one, FileAccess::Renamed(under(&folder, &target(one)))));
            }
            // A copied folder is not a file.
            (Some("cp"), [from @ .., to]) if is_path(to) && !["-r", "-R", "-a"].iter().any(|flag| has(flag)) => {
                from.iter().for_each(|one| add(&into_folder(one, to, from.len()), FileAccess::Written));
            }
            (Some("git"), ["rm", paths @ ..]) => paths.iter().for_each(|path| add(path, FileAccess::Deleted)),
            _ => {}
        }
    }
    // `Path('a.py')` is opened for reading, unless the script also writes files.
    let is_saved = ["write_text", "write_bytes", "writeFile"].iter().any(|word| command.contains(word));
    let saved = SAVED.captures_iter(command).filter(|_| is_saved);
    files.extend(
        OPENED
            .captures_iter(command)
            .chain(saved)
            .filter(|found| is_path(&found[1]))
            .map(|found| FileAction { path: found[1].to_owned(), access: FileAccess::Written }),
    );
    files
}

/// Returns whether an option of perl or ruby changes files in place, e.g. `-pi` or `-i.bak`.
fn is_in_place(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.bytes().take(4).any(|byte| byte == b'i')
}

/// Returns whether a word looks like the path of a file, with an extension or a folder.
fn is_path(word: &str) -> bool {
    !word.is_empty() && word.contains(['.', '/']) && !word.contains([' ', ';', '=', ',']) && !word.starts_with("s/")
}

/// Returns the path of the file `from` after it was moved or copied to `to`, which is a folder if there are several
/// files, if it ends with `/`, or if only `from` has an extension.
fn into_folder(from: &str, to: &str, files: usize) -> String {
    let name = |path: &str| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let has_ending = |path: &str| name(path).trim_start_matches('.').contains('.');
    let is_folder = files > 1 || to.ends_with('/') || has_ending(from) && !has_ending(to);
    if is_folder { format!("{}/{}", to.trim_end_matches('/'), name(from)) } else { to.to_owned() }
}

/// Returns `path` with the command's current folder prepended, unless the path is absolute.
fn under(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with(['/', '~']) {
        path.to_owned()
    } else {
        format!("{}/{path}", folder.trim_end_matches('/'))
    }
}

/// Returns the words without redirections and their targets.
fn redirected(words: &[Word]) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut skip = false;
    for word in words {
        if word.is_operator {
            skip = true;
        } else if !std::mem::take(&mut skip) {
            kept.push(word.text.as_str());
        }
    }
    kept
}

/// Returns the words of a simple command without quotes, redirections and their targets.
pub(super) fn arguments(command: &str) -> Vec<String> {
    redirected(&words(command)).into_iter().map(str::to_owned).collect()
}

/// Splits a command line at shell separators. Bodies of here-documents are left out, and quoted text is not split.
pub(super) fn commands(text: &str) -> Vec<String> {
    let mut commands = vec![String::new()];
    let (mut quote, mut end_of_body): (Option<char>, Option<String>) = (None, None);
    for line in text.lines() {
        if let Some(end) = &end_of_body {
            if line.trim() == end {
                end_of_body = None;
            }
            continue;
        }
        let mut characters = line.chars().peekable();
        while let Some(character) = characters.next() {
            let current = commands.last_mut().expect("there is always a command");
            match (quote, character) {
                (Some(open), _) if open == character => {
                    quote = None;
                    current.push(character);
                }
                (None, '\'' | '"') => {
                    quote = Some(character);
                    current.push(character);
                }
                (None, '\\') => {
                    current.push(character);
                    current.extend(characters.next());
                }
                (None, ';' | '|') => commands.push(String::new()),
                (None, '&') if characters.peek() == Some(&'&') => {
                    characters.next();
                    commands.push(String::new());
                }
                _ => current.push(character),
            }
        }
        if quote.is_none() {
            end_of_body = BODY.captures(line).map(|found| found[1].to_owned());
            commands.push(String::new());
        } else {
            commands.last_mut().expect("there is always a command").push('\n');
        }
    }
    commands.retain(|command| !command.trim().is_empty());
    commands
}

/// A word of a command, or a redirection operator.
struct Word {
    text: String,
    is_operator: bool,
}

/// Splits a command into words as a shell does, but interprets only quotes and redirections.
fn words(command: &str) -> Vec<Word> {
    let (mut words, mut current, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    let mut characters = command.trim().chars().peekable();
    let end = |current: &mut String, begun: &mut bool, words: &mut Vec<Word>| {
        if std::mem::take(begun) {
            words.push(Word { text: std::mem::take(current), is_operator: false });
        }
    };
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => current.push(character),
            (None, '\'' | '"') => (quote, begun) = (Some(character), true),
            (None, '\\') => {
                begun = true;
                current.extend(characters.next());
            }
            (None, '>' | '<') => {
                // The number in `2>` and `1>` denotes the redirected stream.
                let stream = if current.chars().all(|digit| digit.is_ascii_digit() || digit == '&') {
                    begun = false;
                    std::mem::take(&mut current)
                } else {
                    String::new()
                };
                end(&mut current, &mut begun, &mut words);
                let mut sign = format!("{stream}{character}");
                while characters.peek() == Some(&character) {
                    sign.extend(characters.next());
                }
                words.push(Word { text: sign, is_operator: true });
            }
            (None, _) if character.is_whitespace() => end(&mut current, &mut begun, &mut words),
            (None, _) => {
                begun = true;
                current.push(character);
            }
        }
    }
    end(&mut current, &mut begun, &mut words);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(command: &str) -> Vec<(String, FileAccess)> {
        changed_files(command).into_iter().map(|file| (file.path, file.access)).collect()
    }

    #[test]
    fn files_that_a_command_changes_are_found() {
        let one = |path: &str, access| vec![(path.to_owned(), access)];
        let table = [
            ("sed -i 's/a b/c/' src/x.py", one("src/x.py", FileAccess::Edited)),
            ("sed -i.bak -e 's/a/c/' src/x.py 2>/dev/null", one("src/x.py", FileAccess::Edited)),
            ("sed -n '1,5p' src/x.py", vec![]),
            ("cd web && sed -i s/a/b/ x.ts && npm test > out.txt 2>&1", {
                vec![("web/x.ts".to_owned(), FileAccess::Edited), ("web/out.txt".to_owned(), FileAccess::Written)]
            }),
            ("cat > a.py <<'EOF'\nrm b.py\nEOF\nrm c.py", {
                vec![("a.py".to_owned(), FileAccess::Written), ("c.py".to_owned(), FileAccess::Deleted)]
            }),
            ("echo 'a > b' >> notes.md", one("notes.md", FileAccess::Edited)),
            ("git mv a.rs b.rs", one("a.rs", FileAccess::Renamed("b.rs".into()))),
            ("mv src/a.py archive", one("src/a.py", FileAccess::Renamed("archive/a.py".into()))),
            ("mv Makefile GNUmakefile", one("Makefile", FileAccess::Renamed("GNUmakefile".into()))),
            ("cp a.py b.py lib/x", {
                vec![("lib/x/a.py".to_owned(), FileAccess::Written), ("lib/x/b.py".to_owned(), FileAccess::Written)]
            }),
            ("cp -r src/a lib/b", vec![]),
            ("python -c \"open('x/y.json', 'w').write('')\"", one("x/y.json", FileAccess::Written)),
            (
                "python - <<'PY'\np = Path('x/y.py')\np.write_text(p.read_text())\nPY",
                one("x/y.py", FileAccess::Written),
            ),
            ("python -c \"print(Path('x/y.py').read_text())\"", vec![]),
            ("grep -rn foo src | tee found.txt", one("found.txt", FileAccess::Written)),
            ("rm -rf build/*", vec![]),
            ("ls 2>&1 >/dev/null", vec![]),
        ];
        for (command, expected) in table {
            assert_eq!(changes(command), expected, "{command}");
        }
    }
}
