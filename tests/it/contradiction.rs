//! Tests that "We deploy on Heroku" and a later "we moved to Fly.io" result in one active memory, in every format,
//! language and order.

#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

use serde_json::Value;

use super::desk::Desk;

struct Case {
    name: &'static str,
    earlier: (&'static str, &'static str),
    later: (&'static str, &'static str),
    old: &'static str,
    new: &'static str,
    query: &'static str,
}

const CASES: &[Case] = &[
    Case {
        name: "English, a chat and a written transcript",
        earlier: (
            "chat.json",
            r#"[{"role":"user","content":"We deploy on Heroku.","timestamp":"2026-01-05T10:00:00Z"},{"role":"assistant","content":"Noted."}]"#,
        ),
        // The memories of a meeting with several people would be in a separate namespace.
        later: (
            "2026-03-04_10-00Z-standup.md",
            "User: We moved to Fly.io last week.\nAssistant: Good.\nUser: Thanks, bye.\n",
        ),
        old: "The team deploys on Heroku.",
        new: "The team moved to Fly.io in the week of 2026-02-23.",
        query: "deploy Heroku",
    },
    Case {
        name: "Chinese, a chat and a written transcript",
        earlier: (
            "chat.json",
            r#"[{"role":"user","content":"我们的服务部署在 Heroku 上。","timestamp":"2026-01-05T10:00:00Z"},{"role":"assistant","content":"好的。"}]"#,
        ),
        later: (
            "2026-03-02_10-00Z-例会.md",
            "用户: 我们从 Heroku 迁移到 Fly.io 了。\n助手: 知道了。\n用户: 好，再见。\n",
        ),
        old: "团队的服务部署在 Heroku 上。",
        new: "团队从 Heroku 迁移到 Fly.io 了。",
        query: "部署 Heroku",
    },
    Case {
        name: "Chinese, another word for it",
        earlier: (
            "chat.json",
            r#"[{"role":"user","content":"我们的服务部署在 Heroku 上。","timestamp":"2026-01-05T10:00:00Z"},{"role":"assistant","content":"好的。"}]"#,
        ),
        later: ("2026-03-02_10-00Z-例会.md", "用户: 我们改用 Fly.io 部署了。\n助手: 知道了。\n用户: 好，再见。\n"),
        old: "团队的服务部署在 Heroku 上。",
        new: "团队改用 Fly.io 部署了。",
        query: "部署 Heroku",
    },
    Case {
        name: "English, a change that is kept only if it changes something",
        earlier: (
            "chat.json",
            r#"[{"role":"user","content":"Harborlight is deployed on Heroku.","timestamp":"2026-03-02T08:00:00Z"},{"role":"assistant","content":"Noted."}]"#,
        ),
        later: (
            "later.json",
            r#"[{"role":"user","content":"We have moved Harborlight off Heroku: since 10 April 2026 it is deployed on Fly.io.","timestamp":"2026-04-14T08:00:00Z"},{"role":"assistant","content":"Good."}]"#,
        ),
        old: "Harborlight is deployed on Heroku.",
        new: "The user said: \"We have moved Harborlight off Heroku: since 2026-04-10 it is deployed on Fly.io.\"",
        query: "Harborlight deployed",
    },
];

#[test]
fn the_later_statement_wins_in_whatever_order_the_logs_are_read() {
    for case in CASES {
        let ((earlier, _), (later, _)) = (case.earlier, case.later);
        check(case, &[&[earlier, later]]);
        check(case, &[&[later, earlier]]);
        check(case, &[&[earlier], &[later]]);
        check(case, &[&[later], &[earlier]]);
    }
}

fn check(case: &Case, runs: &[&[&str]]) {
    let desk = Desk::new();
    for (name, text) in [case.earlier, case.later] {
        desk.write(name, text);
    }
    for paths in runs {
        let told = desk.run(&[&["run", "-q"], *paths].concat());
        assert_eq!((told.code, told.err.as_str()), (0, ""), "{} {runs:?}", case.name);
    }
    let (told, name) = (desk.json(&["memory", "list", "--all"]), case.name);
    let find = |content: &str| {
        told.iter().find(|memory| memory["content"] == content).unwrap_or_else(|| panic!("{name} {runs:?}: {told:#?}"))
    };
    let (old, new) = (find(case.old), find(case.new));
    assert_eq!(told.len(), 2, "{name} {runs:?}: {told:#?}");
    assert_eq!((&old["status"], &new["status"]), (&"superseded".into(), &"active".into()), "{name} {runs:?}");
    assert_eq!(old["valid_to"], new["valid_from"], "{name} {runs:?}");
    linked_both_ways(&desk, old, new);
    told_in_history(&desk, old);
    let found = desk.json(&["search", case.query]);
    let found: Vec<_> = found.iter().map(|hit| &hit["id"]).collect();
    assert_eq!(found, [&new["id"]], "{name} {runs:?}");
}

fn linked_both_ways(desk: &Desk, old: &Value, new: &Value) {
    let (old_id, new_id) = (old["id"].as_str().unwrap(), new["id"].as_str().unwrap());
    for command in ["show", "why"] {
        for id in [old_id, new_id] {
            let told = desk.json(&["memory", command, id]);
            let links = told[0]["relations"].as_array().unwrap();
            let is_link = |link: &Value| link["from"] == new_id && link["to"] == old_id && link["type"] == "supersedes";
            assert!(links.iter().any(is_link), "{command}: {told:#?}");
        }
    }
}

fn told_in_history(desk: &Desk, old: &Value) {
    let told = desk.json(&["memory", "history", old["id"].as_str().unwrap()]);
    let last = told.iter().find_map(|entry| entry["after"]["status"].as_str().filter(|status| *status == "superseded"));
    assert_eq!(last, Some("superseded"), "{told:#?}");
}
