//! The signatures of shell commands, and the line of a command's output that explains its failure. The functions
//! perform no I/O.

use std::sync::LazyLock;

use regex::Regex;

/// Programs whose first argument is a subcommand.
const WITH_SUBCOMMANDS: &str = "\
    apt apt-get aws az bazel brew bun bundle cargo composer conda deno docker docker-compose dotnet flutter gcloud \
    gh git go gradle gradlew helm just kubectl make mix mvn npm npx nx pip pip3 pnpm poetry rails rake rustup \
    systemctl task terraform turbo uv yarn";
/// Words after which the next word determines the action.
const RUNNERS: &[&str] = &["run", "exec", "compose", "x", "tool", "dlx"];
/// Programs that run another program, whose name follows.
const PREFIXES: &[&str] = &["sudo", "env", "time", "nohup", "command", "exec", "nice"];
/// Programs that only read, so that their failures are not worth recording.
const LOOKUPS: &str = "\
    [ [[ awk basename cat cd cmp column comm cut date df diff dirname du echo export false fd file find grep head \
    hexdump id jq kill less ls lsof md5sum nl od pgrep pkill printf ps pwd readlink realpath rg sed set sha256sum sleep \
    sort source ss stat strings tac tail test tree true type uname uniq wait wc which whoami xargs xxd .";
/// Maximum length of a command that is stored, in bytes; longer commands are scripts.
const MAX_BYTES: usize = 300;

/// Returns whether a word is in a list.
fn is_one_of(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

/// Returns the command on one line, or `None` if it is too long to be displayed or contains a here-document.
pub(crate) fn tidied(command: &str) -> Option<String> {
    let text = command.split_whitespace().collect::<Vec<_>>().join(" ");
    // A here-document is a script, which does not fit on one line.
    (!text.is_empty() && text.len() <= MAX_BYTES && !command.contains("<<")).then_some(text)
}

/// Returns a name for the last part of a command, such as `cargo test`, or `None` for a command that only reads.
pub(crate) fn signature(command: &str) -> Option<String> {
    let last = parts(command).into_iter().next_back()?;
    let mut words = last.split_whitespace().skip_while(|word| is_assignment(word) || PREFIXES.contains(word));
    let mut first = words.next()?;
    // Options and durations may precede the command, as in `timeout -k 5 60s cargo test`.
    if first == "timeout" {
        first =
            words.find(|word| !word.starts_with('-') && !word.starts_with(|letter: char| letter.is_ascii_digit()))?;
    }
    let program = first.rsplit('/').next().unwrap_or(first);
    if is_one_of(LOOKUPS, program) || program.is_empty() || program.starts_with(['(', '{', '#', '$', '`', '-']) {
        return None;
    }
    let mut name = vec![program];
    if is_one_of(WITH_SUBCOMMANDS, program) {
        while let Some(word) = words.next() {
            // Options may precede the subcommand, as in `git -C folder log`.
            if word.starts_with('-') {
                if matches!(word, "-C" | "-f" | "-p" | "--manifest-path" | "--prefix" | "--cwd") {
                    words.next();
                }
                continue;
            }
            name.push(word);
            if !RUNNERS.contains(&word) || name.len() > 2 {
                break;
            }
        }
    } else if matches!(program, "python" | "python3" | "node" | "ruby" | "bash" | "sh" | "php" | "perl" | "tsx") {
        // For an interpreter, only the script determines the action.
        name.extend(words.find(|word| !word.starts_with('-')).and_then(|word| word.rsplit('/').next()));
    }
    Some(name.join(" ").chars().take(80).collect())
}

/// Returns the commands that run in sequence, each without the pipeline that processes its output. Commands that only
/// change the folder or a variable are omitted. Quoted text is not split.
pub(crate) fn parts(command: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut quote, mut piped) = (Vec::new(), 0, None, None);
    // The scan can work on bytes: all separators are ASCII, so no split is inside a character.
    let bytes = command.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let here = bytes[at];
        match quote {
            Some(open) if here == open => quote = None,
            None if here == b'\\' => at += 1,
            None if matches!(here, b'\'' | b'"') => quote = Some(here),
            // The commands after a pipe usually shorten the output, as in `cargo test | tail`.
            None if here == b'|' && bytes.get(at + 1) != Some(&b'|') => {
                piped = piped.or(Some(at));
            }
            None if matches!(here, b';' | b'\n')
                || bytes[at..].starts_with(b"&&")
                || bytes[at..].starts_with(b"||") =>
            {
                parts.push(&command[begin..piped.take().unwrap_or(at)]);
                at += usize::from(matches!(here, b'&' | b'|'));
                begin = at + 1;
            }
            Some(_) | None => {}
        }
        at += 1;
    }
    parts.push(&command[begin.min(command.len())..piped.unwrap_or(command.len())]);
    // `cd shop && cargo test` is identified by the test, regardless of the folder.
    let leads = |part: &str| {
        let first = part.split_whitespace().find(|word| !is_assignment(word)).unwrap_or_default();
        !matches!(first, "" | "cd" | "export" | "set" | "source" | "." | "pushd" | "popd")
    };
    parts.into_iter().map(str::trim).filter(|part| leads(part)).collect()
}

/// Returns whether the command only reads, so that running it cannot have fixed anything.
pub(crate) fn only_looks(command: &str) -> bool {
    let reads = ["git status", "git log", "git diff", "git show", "git branch", "npm ls", "npm view", "docker ps"];
    let asks = |part: &str| part.split_whitespace().any(|word| matches!(word, "--version" | "--help" | "-V"));
    let looks = |part: &&str| asks(part) || signature(part).is_none_or(|name| reads.contains(&name.as_str()));
    parts(command).iter().all(looks)
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

/// Maximum length of a line that is stored, in characters.
const MAX_CHARACTERS: usize = 200;

static TELLING: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?i)\b(error|err!|exception|fatal|panicked|failed|failure|not found|cannot|can't|could not|couldn't|denied|undefined|unresolved|unknown|unrecognized|unexpected|invalid|missing|no such|refused|timed out|unable|required|conflict)\b";
    Regex::new(words).expect("the tests compile it")
});

/// Error messages about incorrect usage of a program; the remedy is a different call.
static MISUSE: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?i)(command not found|not recognized|unrecognized|unknown (option|argument|command|flag|subcommand|script)|unexpected argument|invalid (option|argument|flag|subcommand|choice)|no such (option|command|subcommand|file)|is required|required argument|missing (script|argument|operand|required)|missing script|did you mean|usage:|no module named|permission denied|not a git repository)";
    Regex::new(words).expect("the tests compile it")
});

static COLOUR: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\x1b\[[0-9;?]*[A-Za-z]").expect("the tests compile it"));

/// Returns the line that states the reason: the first line that looks like an error, or otherwise the last line, or
/// `None` without output.
pub(crate) fn error_line(printed: &str) -> Option<String> {
    // Colour codes inside a line would prevent the patterns from matching.
    let plain = COLOUR.replace_all(printed, "");
    let lines = || {
        plain
            .lines()
            .map(str::trim)
            .filter(|line| line.chars().any(char::is_alphanumeric) && !is_frame(line) && !is_heading(line))
    };
    let line = lines().find(|line| TELLING.is_match(line)).or_else(|| lines().next_back())?;
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(line.chars().take(MAX_CHARACTERS).collect())
}

static LAST: LazyLock<Regex> = LazyLock::new(|| {
    let line = r"^(?:error|fatal|Error|ERROR)(?:\[\w+\])?: |^(?:[A-Za-z_][\w.]*)?[A-Z]\w*(?:Error|Exception)(?::.*)?$|command not found$";
    Regex::new(line).expect("the tests compile it")
});

/// Returns whether the last line of a command's output is an error, for use when the exit status is unknown.
pub(crate) fn looks_failed(printed: &str) -> bool {
    let last = printed.lines().rev().map(str::trim).find(|line| !line.is_empty());
    last.is_some_and(|line| LAST.is_match(line))
}

/// Returns whether an agent added the line to the tool's output.
fn is_frame(line: &str) -> bool {
    let frames =
        ["Exit code", "Process exited with", "Chunk ID", "Wall time", "Final output", "Output:", "Error: Exit code"];
    frames.iter().any(|frame| line.starts_with(frame))
}

/// Returns whether a script printed the line as a heading, such as `=== Services ===`.
fn is_heading(line: &str) -> bool {
    ["===", "---", "***"].iter().any(|rule| line.starts_with(rule) && line.ends_with(rule))
}

/// Returns whether the error is about incorrect usage, so that the remedy is a different call.
pub(crate) fn is_misuse(error: &str) -> bool {
    MISUSE.is_match(error)
}

/// Returns the share of words that occur in both errors, from 0 to 1.
pub(crate) fn likeness(a: &str, b: &str) -> f64 {
    let words = |text: &str| -> std::collections::BTreeSet<String> {
        let cut = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        // Short words occur in most errors and would make all of them similar.
        cut.filter(|word| word.len() > 2).map(str::to_lowercase).collect()
    };
    let (a, b) = (words(a), words(b));
    let (shared, all) = (a.intersection(&b).count(), a.union(&b).count());
    #[expect(clippy::cast_precision_loss, reason = "the words of a line are few")]
    let part = shared as f64 / all.max(1) as f64;
    part
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn a_command_is_known_by_what_it_does() {
        let table = [
            ("cargo test --lib jobs", Some("cargo test")),
            ("cd web && npm run build -- --watch", Some("npm run build")),
            ("RUST_LOG=debug sudo cargo +nightly build 2>&1 | tail -5", Some("cargo +nightly")),
            ("git -C repo push origin main", Some("git push")),
            ("docker compose up -d", Some("docker compose up")),
            ("uv run pytest -x", Some("uv run pytest")),
            ("pytest tests/a.py::b -k c", Some("pytest")),
            ("/usr/local/bin/pytest", Some("pytest")),
            ("python3 -u scripts/load.py --all", Some("python3 load.py")),
            ("./gradlew assemble", Some("gradlew assemble")),
            ("npm ci; npm test || echo 'it; failed'", None),
            ("rg -n 'a && b' src", None),
            ("test -f a && make all", Some("make all")),
            ("timeout -k 5 60s cargo test", Some("cargo test")),
            ("cd x", None),
            ("", None),
            ("FOO=1", None),
            ("echo \"unclosed && cargo test", None),
        ];
        for (command, name) in table {
            assert_eq!(signature(command).as_deref(), name, "{command}");
        }
    }

    #[test]
    fn commands_are_cut_where_the_shell_cuts_them() {
        assert_eq!(parts("cd a && make; ls | wc\nnpm test"), ["make", "ls", "npm test"]);
        assert_eq!(parts("bash -c 'a && b' || true"), ["bash -c 'a && b'", "true"]);
        assert_eq!(parts("a &&"), ["a"]);
        assert_eq!(parts("é | ü && ö"), ["é", "ö"]);
    }

    #[test]
    fn what_only_looks_is_told() {
        for command in ["ls -la", "git status && git diff", "cat a | head", "cd x", "cargo --version"] {
            assert!(only_looks(command), "{command}");
        }
        for command in ["npm ci", "ls && npm ci", "git checkout main"] {
            assert!(!only_looks(command), "{command}");
        }
    }

    #[test]
    fn what_is_too_long_to_be_told_is_not_kept() {
        assert_eq!(tidied(" npm \\\n test ").as_deref(), Some("npm \\ test"));
        assert_eq!(tidied(&"x".repeat(400)), None);
        assert_eq!(tidied("cat <<EOF\na\nEOF"), None);
        assert_eq!(tidied(" "), None);
    }

    #[test]
    fn the_line_that_says_why_is_found() {
        let table = [
            (
                "Exit code 101\n   Compiling a\n\u{1b}[31merror[E0433]\u{1b}[0m: failed to resolve\n --> a.rs",
                "error[E0433]: failed to resolve",
            ),
            ("npm warn x\nnpm ERR! Missing script: \"tset\"\n", "npm ERR! Missing script: \"tset\""),
            ("Exit code 127\nbash: pyton: command not found", "bash: pyton: command not found"),
            ("one\ntwo\n---\n", "two"),
        ];
        for (printed, line) in table {
            assert_eq!(error_line(printed).as_deref(), Some(line));
        }
        assert_eq!(error_line("Exit code 1\n\n"), None);
        assert_eq!(error_line(&"é".repeat(900)).unwrap().chars().count(), MAX_CHARACTERS);
    }

    #[test]
    fn misuse_and_likeness_are_told() {
        assert!(is_misuse("error: unexpected argument '--foo' found") && is_misuse("bash: x: command not found"));
        assert!(!is_misuse("error[E0308]: mismatched types") && !is_misuse("assertion failed: a == b"));
        assert!(likeness("error: no such table users", "Error: no such table: users") > 0.99);
        assert!(likeness("error: no such table users", "connection refused") < 0.01);
    }
}
