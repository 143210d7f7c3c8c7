//! Extracts information from the output of a command: the error, test results, and commits. The functions
//! perform no I/O.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::command::error_line;
use crate::text::pattern_set::pattern;
use crate::text::shell::parts;

/// Maximum length of an error signature, in characters.
const MAX_SIGNATURE: usize = 160;

static RAISED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?m)^(?:E\s+)?((?:[A-Za-z_][\w.]*)?[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit)\b(?::.*)?)$")
});

/// Returns the exception at the end of the output. Python, Java and other languages print it on a separate line.
pub(super) fn raised(output: &str) -> Option<&str> {
    let last = output.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    RAISED.find(last).map(|found| found.as_str())
}

/// Returns the line in the output of a failed command that states the error.
pub(super) fn failure_line(output: &str) -> Option<String> {
    // The last exception ended the program, and the exceptions before it are its causes.
    let raised = RAISED.captures_iter(output).last().map(|found| found[1].trim().to_owned());
    let line = raised.or_else(|| error_line(output))?;
    Some(line.chars().take(240).collect())
}

/// Maximum number of lines about errors in one output, and maximum length of the output of a failed call, in bytes.
const ERROR_LINES: usize = 20;
const FAILED_BYTES: usize = 2_000;

/// Returns the start of the output of a failed call, or the lines about errors in any other output.
pub(super) fn text_about_errors(output: &str, failed: bool) -> Cow<'_, str> {
    if failed {
        return output[..output.floor_char_boundary(FAILED_BYTES.min(output.len()))].into();
    }
    let names = ["Error", "Exception", "Warning", "FAILED", "error:"];
    let lines = output.lines().filter(|line| names.iter().any(|name| line.contains(name)));
    lines.take(ERROR_LINES).collect::<Vec<_>>().join("\n").into()
}

static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"\x1b\[[0-9;]*m",
        r#"|(?:[A-Za-z]:)?[~.\w-]*(?:[/\\][\w.@+-]+)+[/\\]?"#,
        r"|\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{7,40}\b|\b\d+(?:[.,:]\d+)*\b"
    ))
});

/// Returns an error without the parts that differ between occurrences: paths, numbers and hashes.
pub(crate) fn error_signature(line: &str) -> String {
    let plain = VARIABLE.replace_all(line, |found: &regex::Captures<'_>| {
        let text = &found[0];
        match text.as_bytes() {
            [0x1b, ..] => "",
            _ if text.contains(['/', '\\']) => "<path>",
            _ if text.bytes().all(|byte| byte.is_ascii_digit() || b".,:".contains(&byte)) => "<n>",
            _ => "<id>",
        }
    });
    let words = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(MAX_SIGNATURE).collect::<String>().trim_end().to_owned()
}

static TESTING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)^(?:\w+=\S*\s+|(?:sudo|env|time|command|npx|bunx|xvfb-run)\s+|timeout\s+(?:-\S+\s+)*\S+\s+
            |(?:uv|poetry|pipenv|pdm|hatch|conda|mise|bundle|pnpm|yarn)\s+(?:run|exec)\s+(?:-\S+\s+)*
            |python[\d.]*\s+(?:-\S+\s+)*|(?:\S*/)?)*(?:
            py\.?test | tox | nosetests | nextest | jest | vitest | mocha | ava | karma | rspec | phpunit | ctest
            | cypress\ run | playwright\ test | go\ test | runtests(?:\.py)? | bin/test | unittest | doctest
            | (?:cargo|bun|deno|npm|pnpm|yarn|mvn|gradle|gradlew|dotnet|mix|swift|sbt|make|just|rake|bazel|nx|zig|stack|cabal|dart|flutter|manage\.py|rails|composer|mise|task|turbo|hatch|poe|invoke|nox)
              \ (?:\+\S+\ )?(?:run\ |-\S+\ )*(?:test|check)\S*
        )(?:$|[\s:])",
    )
});

/// Returns whether a command runs tests.
pub(super) fn runs_tests(command: &str) -> bool {
    parts(command).iter().any(|part| TESTING.is_match(part))
}

static CHECKING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)^(?:\w+=\S*\s+|(?:sudo|env|time|command|npx|bunx|pnpx|uvx)\s+(?:-\S+\s+)*|timeout\s+(?:-\S+\s+)*\S+\s+
            |(?:uv|poetry|pipenv|pdm|hatch|conda|bundle|pnpm|yarn)\s+(?:run|exec)\s+(?:-\S+\s+)*
            |python[\d.]*\s+-m\s+|(?:\S*/)?)*(?:
            (?:cargo|go|dotnet|swift|mix|zig|stack|cabal|xcodebuild|gradle|gradlew|mvn|hugo|next|vite|webpack|rollup|astro|docker|docker\ compose|terraform)
              \ (?:\+\S+\ |-\S+\ )*(?:build|check|clippy|vet|compile|assemble|package|verify|validate|plan)\b
            | (?:npm|pnpm|yarn|bun|make|just|mise|task|turbo|nx|rake|composer)\ (?:-\S+\ |run\ )*\S*(?:build|lint|type-?check|tsc|compile|validate|verify)\S*
            | (?:tsc|vue-tsc|eslint|biome|ruff|mypy|pyright|flake8|pylint|golangci-lint|shellcheck|py_compile|compileall|javac|rustc|gcc|g\+\+|clang|clang\+\+|hadolint|actionlint)
            | (?:node\ --check|php\ -l|(?:black|prettier|isort|cargo\ fmt|gofmt)\ .*(?:--check|-l)\b)
            | (?:python[\d.]*|node|ruby|php|perl|tsx|ts-node|deno\ run|bun|go\ run|cargo\ run|julia|Rscript)\ (?:-[^cme\s]\S*\ )*(?:[^\s<>-][^\s<>]*\.\w{1,5}\b|-c\b|-e\b)
        )(?:$|[\s:;'\x22.(<])",
    )
});
static BROKEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?m)\berror TS\d+|^\s*error(?:\[E\d+\])?:|\b[1-9]\d* (?:errors?|problems?)\b|(?i:build failed)|\bFAILED\b|^FAIL\b|❌|✗|^Traceback \(most recent",
    )
});

/// Returns whether a command checks a change by building, linting or running a program, rather than by running tests.
pub(super) fn runs_checks(command: &str) -> bool {
    // A script in the command line that opens files inspects or changes these files, and is not a check.
    let inspects = ["open(", "write", "readFile", "read_text"].iter().any(|word| command.contains(word));
    !inspects && parts(command).iter().any(|part| CHECKING.is_match(part))
}

/// Returns whether a check passed, or `None` if the log does not show this.
pub(super) fn check_result(command: &str, output: &str, failed: Option<bool>) -> Option<bool> {
    // With a pipe, the exit status is that of the last command, so only the output counts.
    if failed == Some(true) || BROKEN.is_match(output) && (command.contains('|') || failed.is_none()) {
        return Some(false);
    }
    (failed == Some(false)).then_some(true)
}

static FAILED_TESTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?m)\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^FAILED\b|^FAIL\b|test result: FAILED|FAILURES!|\b(?:Failures|Errors|failures|errors)[:=] ?[1-9]|^--- FAIL|tests finished: .*\b[1-9]\d* (?:failed|exceptions)",
    )
});
static PASSED_TESTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?m)\b[1-9]\d* (?:passed|passing|tests? passed)\b|^OK\b|test result: ok|^ok\s|^PASS\b|All tests passed|tests finished: [1-9]\d* passed",
    )
});

/// Returns whether tests passed, and the line that shows this.
pub(super) fn test_result(output: &str, failed: Option<bool>) -> (Option<bool>, Option<String>) {
    let line = |pattern: &Regex| {
        let place = pattern.find_iter(output).last()?.start();
        let from = output[..place].rfind('\n').map_or(0, |end| end + 1);
        let line = output[from..].lines().next().unwrap_or_default().trim().trim_matches(['=', ' ']);
        Some(line.chars().take(160).collect::<String>())
    };
    // The output takes precedence over the status, because the status of a pipe is that of its last command.
    if let Some(found) = line(&FAILED_TESTS) {
        return (Some(false), Some(found));
    }
    if failed == Some(true) {
        return (Some(false), None);
    }
    match line(&PASSED_TESTS) {
        Some(found) => (Some(true), Some(found)),
        None => (failed.map(|failed| !failed), None),
    }
}

static COMMIT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^(?:\[[^\]\n]{1,120}? ([0-9a-f]{7,40})\]|Commit ([0-9a-f]{7,40})) (.+)$"));
static PULL_REQUEST: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"https://[\w.-]+/[\w./-]+/(?:pull|pulls|merge_requests|pull-requests)/\d+\b"));

/// Returns the commits that a command reports: the commit ID and the first line of the message.
pub(super) fn commits(output: &str) -> impl Iterator<Item = String> + '_ {
    COMMIT.captures_iter(output).map(|found| {
        let id = found.get(1).or_else(|| found.get(2)).map_or("", |id| id.as_str());
        format!("{id} {}", found[3].trim().chars().take(120).collect::<String>())
    })
}

/// Returns the URLs of pull requests in the output of a command.
pub(super) fn pull_requests(output: &str) -> impl Iterator<Item = &str> {
    PULL_REQUEST.find_iter(output).map(|found| found.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_leaves_out_what_differs_between_two_occurrences() {
        let table = [
            ("error[E0308]: mismatched types", "error[E0308]: mismatched types"),
            ("cat: /home/a/x.txt: No such file", "cat: <path>: No such file"),
            ("ValueError: expected 3, got 17.5 at 0xdeadbeef", "ValueError: expected <n>, got <n> at <id>"),
            ("fatal: bad object 1f2e3d4c5b6a", "fatal: bad object <id>"),
        ];
        for (line, expected) in table {
            assert_eq!(error_signature(line), expected);
        }
    }

    #[test]
    fn the_exception_that_ended_the_program_is_the_error() {
        let text = "Traceback (most recent call last):\n  File \"x.py\", line 3, in f\nKeyError: 'a'\n\nDuring handling\n\
                    ImportError: cannot import name 'x'\n";
        assert_eq!(failure_line(text).as_deref(), Some("ImportError: cannot import name 'x'"));
        assert_eq!(raised(text), Some("ImportError: cannot import name 'x'"));
        assert_eq!(raised("ValueError: x\nfine now"), None);
    }

    #[test]
    fn commands_that_run_tests_are_recognised() {
        for command in [
            "pytest -x",
            "cd a && python -m pytest b.py | tail -3",
            "cargo test --lib",
            "npm run test:unit",
            "python tests/runtests.py admin",
            "go test ./...",
            "./bin/test sympy/core",
            "python -m unittest a",
            "make check",
        ] {
            assert!(runs_tests(command), "{command}");
        }
        for command in ["cat pytest.ini", "ls tests", "git commit -m 'add test'", "pip install pytest", "cargo build"] {
            assert!(!runs_tests(command), "{command}");
        }
    }

    #[test]
    fn checks_are_recognised_and_read_by_what_they_print() {
        for command in [
            "npx tsc --noEmit",
            "cd a && npm run build | tail",
            "cargo clippy --all-targets",
            "mise run lint",
            "python reproduce.py",
            "python3 -c 'import shop; shop.load()'",
            "go build ./...",
        ] {
            assert!(runs_checks(command), "{command}");
        }
        for command in
            ["python - <<'PY'\nprint(1)\nPY", "node -e \"fs.writeFileSync('a', '')\"", "ls lint", "make clean"]
        {
            assert!(!runs_checks(command), "{command}");
        }
        assert_eq!(check_result("tsc | tail", "a.ts(1,2): error TS2769: no", Some(false)), Some(false));
        assert_eq!(check_result("tsc", "", Some(false)), Some(true));
        assert_eq!(check_result("tsc", "", None), None);
    }

    #[test]
    fn the_result_of_tests_is_what_they_print() {
        let table = [
            ("=== 2 failed, 3 passed in 1s ===", None, Some(false)),
            ("=== 5 passed in 1s ===", Some(false), Some(true)),
            ("test result: ok. 9 passed; 0 failed;", Some(false), Some(true)),
            ("Ran 4 tests in 0.1s\n\nOK", None, Some(true)),
            ("tests finished: 14 passed, 1 exceptions, in 2 s", Some(false), Some(false)),
            ("collected 0 items", Some(true), Some(false)),
            ("…", None, None),
        ];
        for (output, failed, expected) in table {
            assert_eq!(test_result(output, failed).0, expected, "{output}");
        }
    }

    #[test]
    fn commits_and_pull_requests_are_read_from_the_output() {
        let made = "[main 1a2b3c4] Fix the loader\n 2 files changed";
        assert_eq!(commits(made).collect::<Vec<_>>(), ["1a2b3c4 Fix the loader"]);
        assert_eq!(commits("Commit 0a1b2c3 feat: x").collect::<Vec<_>>(), ["0a1b2c3 feat: x"]);
        let opened = "https://github.com/ana/shop/pull/7\n";
        assert_eq!(pull_requests(opened).collect::<Vec<_>>(), ["https://github.com/ana/shop/pull/7"]);
    }
}
