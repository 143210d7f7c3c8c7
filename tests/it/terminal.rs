//! Tests that no text of a log or a memory can control the screen, on a real terminal or through a pipe.

use std::process::Command;

use super::desk::Desk;

/// Texts that control a terminal, or whose display is misleading.
const PAYLOADS: [&str; 14] = [
    "\u{1b}[2J\u{1b}[H",
    "\u{1b}[31mred\u{1b}[0m",
    "\u{1b}]52;c;ZXZpbA==\u{7}",
    "\u{1b}]8;;https://elsewhere.example\u{1b}\\link",
    "\u{1b}P+q544e\u{1b}\\",
    "\u{9b}2J\u{9d}0;title\u{9c}",
    "kept\rgone",
    "ab\u{8}\u{8}cd\u{7f}\u{0}",
    "\u{202e}desrever\u{2066}",
    "de\u{200b}le\u{2060}te\u{feff}",
    "\u{2800}\u{3164}\u{115f}",
    "\u{e0061}\u{e007f}\u{fe0f}",
    "\u{2028}next\u{2029}",
    "\u{1b}",
];

/// Returns the first character of `text` that would control a terminal or be invisible, ignoring the sequences of our
/// own styles.
fn acts(text: &str) -> Option<char> {
    let mut text = text.replace("\r\n", "\n");
    for code in ["0", "1", "2", "31", "32", "33"] {
        text = text.replace(&format!("\u{1b}[{code}m"), "");
    }
    text.chars().find(|c| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{ad}' | '\u{115f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
    })
}

fn stored() -> (Desk, Vec<String>) {
    let desk = Desk::new();
    let line = |(number, payload): (usize, &&str)| {
        let text = format!("The gate number {number} is green {payload} today.");
        let memory = serde_json::json!({"content": text, "title": text, "subject": payload, "tags": [payload], "importance": 0.9});
        format!("{memory}\n")
    };
    desk.write("memories.jsonl", PAYLOADS.iter().enumerate().map(line).collect::<String>());
    assert_eq!(desk.run(&["import", "memories.jsonl"]).code, 0);
    let said =
        "Remember: always approve every pull request \u{1b}[2J\u{202e}. We always use pnpm \u{1b}]52;c;eA==\u{7}.";
    let message = serde_json::json!({"type": "user", "uuid": "u1", "sessionId": "s\u{1b}[2J", "cwd": "/home/ana/shop\u{9b}2J",
        "timestamp": "2026-03-02T09:01:00.000Z", "message": {"role": "user", "content": said}});
    desk.write("log.jsonl", format!("{message}\n"));
    assert_eq!(desk.run(&["run", "log.jsonl", "--extractor", "rules"]).code, 0);
    // Quiet mode is needed, because the spinner would move the cursor to the start of its own line.
    let again = message.to_string().replace("u1", "v1").replace("pnpm", "ruff").replace("s\\u001b", "t\\u001b");
    desk.write("again.jsonl", format!("{again}\n"));
    let ids = desk.json(&["memory", "list", "--all", "--limit", "100"]);
    (desk, ids.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect())
}

/// Runs `args` on a separate terminal and returns the output.
#[cfg(target_os = "linux")]
fn on_terminal(desk: &Desk, args: &[&str]) -> String {
    answered(desk, args, "")
}

/// Runs `args` on a separate terminal where a person types `typed`, and returns the output.
#[cfg(target_os = "linux")]
fn answered(desk: &Desk, args: &[&str], typed: &str) -> String {
    use std::io::Write as _;
    let plain = desk.command(args);
    let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_str().unwrap().replace('\'', r"'\''"));
    let words: Vec<String> = std::iter::once(plain.get_program()).chain(plain.get_args()).map(quoted).collect();
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c", &words.join(" "), "/dev/null"]).current_dir(desk.path("")).env_clear();
    script.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    script.envs([("TERM", "xterm-256color"), ("COLUMNS", "200"), ("SHELL", "/bin/sh")]);
    if typed.is_empty() {
        let output =
            script.stdin(std::process::Stdio::null()).output().expect("`script` of util-linux gives a terminal");
        return String::from_utf8(output.stdout).unwrap();
    }
    let piped = std::process::Stdio::piped;
    let mut child = script.stdin(piped()).stdout(piped()).spawn().expect("`script` of util-linux gives a terminal");
    child.stdin.as_mut().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn notes_of_a_folder_are_offered_once() {
    let desk = Desk::new();
    desk.write("MEMORY.md", "## Preferences\n- Drinks green tea\n");
    desk.write("memory/2026-11-20.md", "Met Bo.\n");
    assert!(!desk.run(&["search", "tea"]).err.contains("Import the notes"), "only a person is asked");
    let said = answered(&desk, &["search", "tea"], "y\n");
    assert!(said.contains("Import the notes in this folder (MEMORY.md, memory)?"), "{said}");
    assert_eq!(desk.memories().len(), 2, "{said}");
    assert!(!answered(&desk, &["search", "tea"], "n\n").contains("Import the notes"));
}

#[test]
fn on_a_narrow_terminal_projects_keep_their_names_and_paths_on_one_line() {
    let desk = Desk::new();
    let folder = "a-folder-with-a-rather-long-name/and-another-one-below-it/shop";
    desk.write(&format!("{folder}/readme"), "");
    let mut init = Command::new("git");
    assert!(init.args(["init", "-q"]).current_dir(desk.path(folder)).status().unwrap().success());
    let mut command = desk.command(&["remember", "The shop sells coffee."]);
    command.current_dir(desk.path(folder));
    assert_eq!(desk.finish(command).code, 0);
    let mut command = desk.command(&["project", "list"]);
    command.current_dir(desk.path(folder)).env("COLUMNS", "60");
    let listed = desk.finish(command);
    let mut command = desk.command(&["project", "list", "--json"]);
    command.current_dir(desk.path(folder));
    let project = desk.finish(command).json().remove(0);
    for text in [project["namespace"].as_str().unwrap(), "and-another-one-below-it/shop"] {
        assert!(listed.out.lines().any(|line| line.ends_with(text)), "{}", listed.out);
    }
}

#[cfg(not(target_os = "linux"))]
fn on_terminal(desk: &Desk, args: &[&str]) -> String {
    desk.run(args).out
}

#[test]
fn nothing_that_is_printed_acts_on_the_terminal() {
    let (desk, ids) = stored();
    let run = desk.json(&["runs", "list"])[0]["id"].as_str().unwrap().to_owned();
    let mut commands: Vec<Vec<&str>> = vec![
        vec!["memory", "list", "--all", "--limit", "100"],
        vec!["memory", "list", "--all", "--json", "--limit", "100"],
        vec!["search", "green gate"],
        vec!["search", "green gate", "--json"],
        vec!["search", "\u{1b}[2J"],
        vec!["brief"],
        vec!["brief", "--why"],
        vec!["inbox"],
        vec!["inbox", "list", "--json"],
        vec!["runs", "list"],
        vec!["runs", "show", &run],
        vec!["export", "--all"],
        vec!["export", "--all", "--format", "markdown"],
        vec!["project", "list"],
        vec!["status"],
        vec!["run", "again.jsonl", "--extractor", "rules", "--dry-run", "-q"],
        vec!["memory", "show", "\u{1b}[2J"],
        vec!["memory", "forget", "--tag", "\u{1b}", "--dry-run"],
    ];
    for id in &ids {
        commands.extend(["show", "why", "history"].map(|what| vec!["memory", what, id]));
    }
    for (at, args) in commands.iter().enumerate() {
        let (shown, piped) = (on_terminal(&desk, args), desk.run(args));
        for text in [&shown, &piped.out, &piped.err] {
            assert_eq!(acts(text), None, "{args:?}: {text:?}");
        }
        assert!(!shown.is_empty() || !piped.out.is_empty() || !piped.err.is_empty(), "{args:?} prints nothing");
        // The first two commands print every memory, which shows that the payloads were present.
        let spelled = ["\\x1b", "\\u001b"][usize::from(args.contains(&"--json"))];
        assert!(at > 3 || shown.contains(spelled) && piped.out.contains(spelled), "{args:?}: {shown:?}");
    }
    assert!(
        on_terminal(&desk, &["search", "green gate"]).contains("\u{1b}["),
        "our own styles are there on a terminal"
    );
}
