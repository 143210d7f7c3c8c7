//! Tests of `eval loop`: the ceiling solves every lesson task, no control solves any, and wrong advice does harm.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::world::{completion, read_body, send};

/// A task whose solution is one line in one file.
struct Short<'a> {
    id: &'a str,
    repository: &'a str,
    file: &'a str,
    kind: &'a str,
    /// What the person says in the first session.
    said: &'a str,
    hint: &'a str,
    wrong: &'a str,
    /// Cues of the lesson and of the wrong memory.
    cues: [&'a str; 2],
    /// The lines of the three solutions, and the line of which the test requires a part.
    with: &'a str,
    without: &'a str,
    misled: &'a str,
    required: &'a str,
    commands: &'a str,
}

const TASKS: &[Short<'_>] = &[
    Short {
        id: "pack",
        repository: "packer",
        file: "release.sh",
        kind: "lesson",
        said: "Always pass --strict in release.sh, because the server rejects loose archives.",
        hint: "Pass --strict in release.sh.",
        wrong: "Pass --fast in release.sh.",
        cues: ["--strict", "--fast"],
        with: "pack --strict build",
        without: "pack build",
        misled: "pack --fast build",
        required: "--strict",
        commands: "'sh verify.sh'",
    },
    Short {
        id: "fetch",
        repository: "fetcher",
        file: "fetch.sh",
        kind: "lesson",
        said: "Please never use curl in fetch.sh, use wget.",
        hint: "Use wget in fetch.sh.",
        wrong: "Use lynx in fetch.sh.",
        cues: ["wget", "lynx"],
        with: "wget $1",
        without: "curl $1",
        misled: "lynx $1",
        required: "wget",
        commands: "",
    },
    Short {
        id: "port",
        repository: "fetcher",
        file: "serve.sh",
        kind: "stale",
        said: "Always use port 8080 in serve.sh.",
        hint: "Use port 8080 in serve.sh.",
        wrong: "Use port 8080 in serve.sh.",
        cues: ["8080", "8080"],
        with: "serve --port 8080",
        without: "serve --port 9090",
        misled: "serve --port 8080",
        required: "9090",
        commands: "",
    },
];

fn write_suite(desk: &Desk) {
    for task in TASKS {
        let Short { id, repository, file, kind, hint, wrong, required, .. } = task;
        desk.write(&format!("suite/repositories/{repository}/{file}"), "todo\n");
        desk.write(
            &format!("suite/repositories/{repository}/verify.sh"),
            "echo 'error: archive is loose' >&2\nexit 1\n",
        );
        let folder = format!("suite/tasks/{id}");
        desk.write(
            &format!("{folder}/task.toml"),
            format!(
                "id = '{id}'\nrepository = '{repository}'\nlanguage = 'shell'\nkind = '{kind}'\nteaches = 'flag'\n\
                 prompt = 'Finish {file}.'\nhint = '{hint}'\nwrong = '{wrong}'\ntest = 'sh hidden.sh'\ntime_limit_s = 60\n"
            ),
        );
        let home = format!("/home/dev/{repository}");
        let call = json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "sh verify.sh"}});
        let failed =
            json!({"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "content": "Exit code 1"});
        let spoken = [
            ("user", json!("Look at the scripts.")),
            ("assistant", json!([call])),
            ("user", json!([failed])),
            ("assistant", json!([{"type": "text", "text": "It fails."}])),
            ("user", json!(task.said)),
            ("assistant", json!([{"type": "text", "text": "Understood."}])),
        ];
        let line = |(at, (role, content)): (usize, &(&str, Value))| {
            let id = |at: usize| format!("00000000-0000-4000-8000-0000000000{at:02}");
            json!({
                "type": role, "cwd": home, "sessionId": "00000000-0000-4000-8000-0000000000aa", "uuid": id(at),
                "parentUuid": at.checked_sub(1).map(id), "version": "2.0.0",
                "timestamp": format!("2026-01-06T09:{at:02}:00Z"), "message": {"role": role, "content": content},
            })
        };
        let lines: Vec<String> = spoken.iter().enumerate().map(|one| line(one).to_string()).collect();
        desk.write(&format!("{folder}/first.jsonl"), lines.join("\n") + "\n");
        desk.write(&format!("{folder}/hidden/hidden.sh"), format!("grep -q -- '{required}' {file}\n"));
        for (name, solution) in [("with", task.with), ("without", task.without), ("wrong", task.misled)] {
            let patch = format!("--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-todo\n+{solution}\n");
            desk.write(&format!("{folder}/scripted/{name}.patch"), patch);
        }
        let [knows, misled] = task.cues;
        let cues = format!("knows = ['{knows}']\nmisled = ['{misled}']\ncommands = [{}]\n", task.commands);
        desk.write(&format!("{folder}/scripted/cues.toml"), cues);
    }
}

/// Returns the value of a measure for each suite in a result file.
fn values(desk: &Desk, file: &str, measure: &str) -> BTreeMap<String, f64> {
    let results: Value = serde_json::from_str(&fs::read_to_string(desk.path(file)).unwrap()).unwrap();
    let mut sums: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for row in results["rows"].as_array().unwrap() {
        assert!(row["error"].is_null() && row["warnings"].is_null(), "{row}");
        let part = |name: &str| row["measures"][measure][name].as_f64().unwrap_or_default();
        let sum = sums.entry(row["suite"].as_str().unwrap().to_owned()).or_default();
        *sum = [sum[0] + part("numerator"), sum[1] + part("denominator")];
    }
    sums.into_iter().map(|(suite, [part, whole])| (suite, part / whole)).collect()
}

fn close(values: &BTreeMap<String, f64>, suite: &str, expected: f64) {
    assert!((values[suite] - expected).abs() < 1e-9, "{suite} is not {expected}: {values:?}");
}

#[test]
fn the_ceiling_solves_every_lesson_and_the_controls_solve_none() {
    let desk = Desk::new();
    write_suite(&desk);
    // Hooks run in the repository, so they find the database only if a relative folder becomes absolute.
    let args = ["eval", "loop", "suite", "--controls", "--keep", "kept", "--extractor", "rules", "--out", "loop.json"];
    let told = desk.run(&args);
    assert_eq!(told.code, 0, "{told:?}");
    let solved = values(&desk, "loop.json", "solved");
    for arm in ["preamble", "act", "both", "ceiling"] {
        close(&solved, &format!("lesson: {arm}"), 1.0);
        close(&solved, &format!("stale: {arm}"), 0.0);
    }
    for arm in ["none", "random", "all", "other", "no-hint"] {
        close(&solved, &format!("lesson: {arm}"), 0.0);
        close(&solved, &format!("stale: {arm}"), 1.0);
    }
    let wrong = values(&desk, "loop.json", "wrong advice");
    for (suite, expected) in [("lesson: harm", 1.0), ("stale: harm", 1.0), ("lesson: both", 0.0), ("stale: none", 0.0)]
    {
        close(&wrong, suite, expected);
    }
    let repeated = values(&desk, "loop.json", "repeated failures");
    for (suite, expected) in [("lesson: none", 0.5), ("lesson: both", 0.0), ("lesson: ceiling", 0.0)] {
        close(&repeated, suite, expected);
    }
    let shown = values(&desk, "loop.json", "shown tokens");
    assert!(shown["lesson: both"] > shown["lesson: act"] && shown["lesson: act"] > 0.0, "{shown:?}");
    close(&shown, "lesson: other", 0.0);
    for part in ["lesson tasks by arm", "H1       both − none", "H4  harm − none", "wrote 30 rows to loop.json"] {
        assert!(told.out.contains(part) || told.err.contains(part), "{part}: {told:?}");
    }
    let report = desk.run(&["eval", "report", "loop.json"]);
    assert!(report.out.contains("## lesson tasks by arm"), "{report:?}");
}

#[test]
fn a_model_works_with_what_hooks_show_and_its_replies_can_be_replayed() {
    let desk = Desk::new();
    write_suite(&desk);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let body: Value = serde_json::from_str(&read_body(&stream).unwrap()).unwrap();
            let turns = body["messages"].as_array().unwrap();
            let knows = turns[1..].iter().any(|turn| turn["content"].as_str().unwrap().contains("--strict"));
            let action = |action: &str, command: &str, content: &str| {
                json!({"action": action, "path": "release.sh", "content": content, "command": command}).to_string()
            };
            // The first edit shows what hooks know about the file; the second uses it.
            let reply = match turns.len() {
                2 => action("read", "", ""),
                4 => action("run", "sh verify.sh", ""),
                6 => action("write", "", "pack\n"),
                8 if knows => action("write", "", "pack --strict\n"),
                _ => action("finish", "", ""),
            };
            send(&stream, 200, "", &completion(&reply));
        }
    });
    let args = ["eval", "loop", "suite", "--agent", "model", "--task", "pack", "--arm", "none", "--arm", "act"];
    let rules = ["--extractor", "rules", "--model", "m", "--price", "1,2", "--out", "loop.json"];
    let args: Vec<&str> = args.into_iter().chain(rules).collect();
    let told = desk.run(&[&args[..], &["--base-url", &url, "--record", "replies"]].concat());
    assert_eq!(told.code, 0, "{told:?}");
    let solved = values(&desk, "loop.json", "solved");
    close(&solved, "lesson: none", 0.0);
    close(&solved, "lesson: act", 1.0);
    close(&values(&desk, "loop.json", "turns"), "lesson: act", 5.0);
    close(&values(&desk, "loop.json", "repeated failures"), "lesson: act", 1.0);
    let tokens = values(&desk, "loop.json", "agent tokens");
    assert!(tokens["lesson: act"] > tokens["lesson: none"] && tokens["lesson: none"] > 100.0, "{tokens:?}");

    let told = desk.run(&[&args[..], &["--replay", "replies"]].concat());
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(values(&desk, "loop.json", "solved"), solved);
    assert_eq!(values(&desk, "loop.json", "agent tokens"), tokens);
}

#[test]
fn any_agent_with_a_command_line_gets_the_hooks_of_the_arm() {
    let desk = Desk::new();
    write_suite(&desk);
    // The agent calls the installed hook as a shell would, and follows the memory that it shows.
    let agent = r#"cat > prompt.txt
        hook=$(grep -o '"command":"[^"]*hook session-start[^"]*"' "$HOME/.claude/settings.json" | sed 's/^"command":"//; s/"$//')
        [ -n "$hook" ] || exit 0
        printf '{"session_id":"s","cwd":"%s"}' "$PWD" | sh -c "$hook" | grep -q -e --strict && echo 'pack --strict' > release.sh
        echo '{"num_turns":4,"usage":{"input_tokens":9,"output_tokens":1}}'"#;
    let args = ["eval", "loop", "suite", "--agent", agent, "--task", "pack", "--extractor", "rules"];
    let arms = ["--arm", "none", "--arm", "preamble", "--arm", "act", "--out", "loop.json"];
    let told = desk.run(&[&args[..], &arms[..]].concat());
    assert_eq!(told.code, 0, "{told:?}");
    let solved = values(&desk, "loop.json", "solved");
    close(&solved, "lesson: none", 0.0);
    close(&solved, "lesson: preamble", 1.0);
    close(&solved, "lesson: act", 0.0);
    assert!(values(&desk, "loop.json", "shown tokens")["lesson: preamble"] > 0.0);
    close(&values(&desk, "loop.json", "agent tokens"), "lesson: preamble", 10.0);
}
