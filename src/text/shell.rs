//! The parts of a shell command: the commands that run in sequence, their pipelines, and the programs that they call.

use std::collections::BTreeSet;

use super::tokens::is_listed;

/// Programs whose first argument is a subcommand.
const WITH_SUBCOMMANDS: &str = "\
    apt apt-get aws az bazel brew bun bundle cargo composer conda deno docker docker-compose dotnet flutter gcloud \
    gh git go gradle gradlew helm just kubectl make mix mvn npm npx nx pip pip3 pnpm poetry rails rake rustup \
    systemctl task terraform turbo uv yarn";
/// Words after which the next word determines the action.
const RUNNERS: &[&str] = &["run", "exec", "compose", "x", "tool", "dlx"];
/// Programs that run another program, whose name follows.
const PREFIXES: &[&str] = &["sudo", "env", "time", "nohup", "command", "exec", "nice"];
/// Programs that run a script, whose name follows.
pub(crate) const INTERPRETERS: &[&str] = &["python", "python3", "node", "ruby", "bash", "sh", "php", "perl", "tsx"];
/// Programs that only read, so that their failures are not worth recording.
const LOOKUPS: &str = "\
    [ [[ awk basename cat cd cmp column comm cut date df diff dirname du echo export false fd file find grep head \
    hexdump id jq kill less ls lsof md5sum nl od pgrep pkill printf ps pwd readlink realpath rg sed set sha256sum sleep \
    sort source ss stat strings tac tail test tree true type uname uniq wait wc which whoami xargs xxd .";
/// Other programs that are used in every project, and shell keywords.
const COMMON: &str = "\
    alias apply_patch base64 break case chgrp chmod chown clear continue cp curl done esac eval exit fi for function \
    gunzip gzip install kill ln local man mkdir mktemp mv nano openssl patch popd pushd python2 read return rm rmdir \
    rsync scp seq ssh tar tee touch tr trap ulimit umask unset unzip vi vim watch wget yes zip";
/// Tools that many projects have, and that agents know well.
const TOOLS: &str = "\
    alembic ansible black cc clang cmake convert coverage crontab ctest django-admin eslint ffmpeg flake8 flask g++ gcc \
    gdb gunicorn isort java javac jest ld mocha mongo mypy mysql ninja nodemon pg_dump playwright pre-commit prettier \
    psql pyenv pylint pyright pytest redis-cli ruff rustc rustfmt screen sphinx-build sqlite3 strace tmux tox tsc \
    unittest uvicorn valgrind venv virtualenv vite vitest webpack";
/// Programs that run tasks defined by the project; the name of the task follows.
const TASK_RUNNERS: &[&str] = &["just", "make", "rake", "task"];
/// Shell keywords that precede the name of a program.
const KEYWORDS: &[&str] = &["do", "elif", "else", "if", "then", "until", "while", "!"];

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

/// A command of a pipeline.
struct Segment<'c> {
    text: &'c str,
    is_piped: bool,
}

/// Returns the commands that run in sequence or in a pipeline. Quoted text is not split.
fn segments(command: &str) -> Vec<Segment<'_>> {
    let (mut segments, mut begin, mut quote, mut is_piped) = (Vec::new(), 0, None, false);
    // The scan can work on bytes: all separators are ASCII, so no split is inside a character.
    let bytes = command.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let here = bytes[at];
        match quote {
            Some(open) if here == open => quote = None,
            None if here == b'\\' => at += 1,
            None if matches!(here, b'\'' | b'"') => quote = Some(here),
            None if matches!(here, b';' | b'\n' | b'|') || bytes[at..].starts_with(b"&&") => {
                segments.push(Segment { text: &command[begin..at], is_piped });
                is_piped = here == b'|' && bytes.get(at + 1) != Some(&b'|');
                at += usize::from(here == b'&' || here == b'|' && !is_piped);
                begin = at + 1;
            }
            Some(_) | None => {}
        }
        at += 1;
    }
    segments.push(Segment { text: &command[begin.min(command.len())..], is_piped });
    segments
}

/// Returns the commands that run in sequence, each without the pipeline that processes its output. Commands that only
/// change the folder or a variable are omitted. Quoted text is not split.
pub(crate) fn parts(command: &str) -> Vec<&str> {
    // `cd shop && cargo test` is identified by the test, regardless of the folder.
    let leads = |part: &&str| {
        let first = part.split_whitespace().find(|word| !is_assignment(word)).unwrap_or_default();
        !matches!(first, "" | "cd" | "export" | "set" | "source" | "." | "pushd" | "popd")
    };
    // The commands after a pipe usually shorten the output, as in `cargo test | tail`.
    let first = segments(command).into_iter().filter(|segment| !segment.is_piped);
    first.map(|segment| segment.text.trim()).filter(leads).collect()
}

/// Returns the name of the program that a command calls, and the words after it.
pub(crate) fn called(part: &str) -> Option<(&str, impl Iterator<Item = &str>)> {
    let mut words = part.split_whitespace().skip_while(|word| is_assignment(word) || PREFIXES.contains(word));
    let mut first = words.next()?;
    // Options and durations may precede the command, as in `timeout -k 5 60s cargo test`.
    if first == "timeout" {
        first =
            words.find(|word| !word.starts_with('-') && !word.starts_with(|letter: char| letter.is_ascii_digit()))?;
    }
    let program = first.rsplit('/').next().unwrap_or(first);
    let is_name = !program.is_empty() && !program.starts_with(['(', '{', '#', '$', '`', '-']);
    is_name.then_some((program, words))
}

/// Returns the name of the script or module that an interpreter runs.
fn script<'w>(words: &mut impl Iterator<Item = &'w str>) -> Option<&'w str> {
    words.find(|word| !word.starts_with('-')).and_then(|word| word.rsplit('/').next())
}

/// Returns a name for the last part of a command, such as `cargo test`, or `None` for a command that only reads.
pub(crate) fn signature(command: &str) -> Option<String> {
    let (program, mut words) = called(parts(command).into_iter().next_back()?)?;
    if is_listed(LOOKUPS, program) {
        return None;
    }
    let mut name = vec![program];
    if is_listed(WITH_SUBCOMMANDS, program) {
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
    } else if INTERPRETERS.contains(&program) {
        // For an interpreter, only the script determines the action.
        name.extend(script(&mut words));
    }
    Some(name.join(" ").chars().take(80).collect())
}

/// Returns whether the command only reads, so that running it cannot have fixed anything.
pub(crate) fn only_looks(command: &str) -> bool {
    let reads = ["git status", "git log", "git diff", "git show", "git branch", "npm ls", "npm view", "docker ps"];
    // A value may follow, as in `helm upgrade x --version 4`.
    let asks = |part: &str| {
        let mut rest = part.split_whitespace().skip_while(|word| !matches!(*word, "--version" | "--help" | "-V"));
        rest.next().is_some() && rest.next().is_none_or(|next| next.starts_with(['|', '>', '2', '&', ';']))
    };
    let looks = |part: &&str| asks(part) || signature(part).is_none_or(|name| reads.contains(&name.as_str()));
    parts(command).iter().all(looks)
}

/// Returns the command's calls of programs, scripts and tasks that are not in general use, each with the name by which
/// people refer to it, such as `gaugectl`, `deploy.sh` or `make release`.
pub(crate) fn calls(command: &str) -> Vec<(String, &str)> {
    segments(command)
        .into_iter()
        .filter_map(|segment| Some((own_program(segment.text)?, segment.text.trim())))
        .collect()
}

/// Returns the names of the programs, scripts and tasks that a command calls and that are not in general use.
pub(crate) fn programs(command: &str) -> BTreeSet<String> {
    calls(command).into_iter().map(|(program, _)| program).collect()
}

fn own_program(part: &str) -> Option<String> {
    let mut part = part.trim_start();
    loop {
        let (word, rest) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
        part = match word.split_once("$(") {
            // The command is inside the assignment, as in `total=$(pricectl sum`.
            Some((name, _)) if is_assignment(name) => &part[name.len() + 2..],
            _ if KEYWORDS.contains(&word) => rest.trim_start(),
            _ => break,
        };
    }
    let (program, mut words) = called(part)?;
    let is_name = |name: &str| {
        let is_plain = |letter: char| letter.is_alphanumeric() || "._-+:".contains(letter);
        name.len() > 1 && name.len() <= 60 && name.starts_with(char::is_alphanumeric) && name.chars().all(is_plain)
    };
    if is_listed(WITH_SUBCOMMANDS, program) {
        let name = signature(part)?;
        let (runner, task) = name.rsplit_once(' ')?;
        return ((TASK_RUNNERS.contains(&runner) || runner.ends_with(" run")) && is_name(task)).then_some(name);
    }
    let name = if INTERPRETERS.contains(&program) { script(&mut words)? } else { program };
    let is_common = [LOOKUPS, COMMON, TOOLS].iter().any(|list| is_listed(list, name))
        || name.starts_with("test")
        || PREFIXES.contains(&name)
        || INTERPRETERS.contains(&name);
    (is_name(name) && !is_common).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_only_read_are_recognised() {
        for command in
            ["ls -la", "git status && git diff", "cat a | head", "cd x", "cargo --version", "npm --version 2>&1"]
        {
            assert!(only_looks(command), "{command}");
        }
        for command in ["npm ci", "ls && npm ci", "git checkout main", "helm upgrade x --version 4.2.0"] {
            assert!(!only_looks(command), "{command}");
        }
    }

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
    fn own_programs_are_found_in_each_part_of_a_command() {
        let table: [(&str, &[&str]); 12] = [
            ("gaugectl dump --si | tee /tmp/a.csv | head -3 && python3 -m tidebox summary", &["gaugectl", "tidebox"]),
            ("cat a.json | ./bin/handheld push -", &["handheld"]),
            ("sh scripts/deploy.sh staging; git push", &["deploy.sh"]),
            ("make release && npm run sheet && npm test", &["make release", "npm run sheet"]),
            ("FOO=1 env timeout 60 seedctl load > out.txt", &["seedctl"]),
            ("for f in a b; do packer $f; done", &["packer"]),
            ("total=$(pricectl sum a) && while true; do", &["pricectl"]),
            ("cargo test && ls -la && cp a b && rm -rf c", &[]),
            ("echo 'gaugectl dump'; $HOME/x; (cd a)", &[]),
            ("python3 -c 'import os'", &[]),
            ("npm ci --quiet; make", &[]),
            ("", &[]),
        ];
        for (command, names) in table {
            let found: Vec<String> = programs(command).into_iter().collect();
            assert_eq!(found, names, "{command}");
        }
        let text = "a=1 gaugectl dump --si | tee x";
        assert_eq!(calls(text), [("gaugectl".to_owned(), "a=1 gaugectl dump --si")]);
    }
}
