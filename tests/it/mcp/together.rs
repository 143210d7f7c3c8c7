//! Tests of several servers and the command line on one database.

use std::collections::BTreeSet;

use serde_json::json;

use super::client::{Http, Piped};
use crate::desk::Desk;

const EACH: usize = 12;

/// Returns texts that are as unrelated as texts by different people.
fn text(who: &str, number: usize) -> String {
    let things = [
        "anvils",
        "barometers",
        "cellos",
        "dulcimers",
        "etchings",
        "fossils",
        "gliders",
        "hammocks",
        "inkwells",
        "jigsaws",
        "kayaks",
        "lanterns",
    ];
    format!("{who} collects {}.", things[number])
}

#[test]
fn two_servers_and_the_command_line_agree() {
    let desk = Desk::new();
    let space = ["--namespace", "project/shop", "--db", "m.db"];
    let stdio = |who: &'static str| {
        let mut client = Piped::start(&desk, &space);
        for number in 0..EACH {
            client.call("memory_store", json!({"category": "fact", "subject": who, "content": text(who, number)}));
            client.call(
                "memory_store",
                json!({"category": "fact", "subject": "all", "content": format!("Everybody knows {number}00 songs.")}),
            );
        }
        assert!(client.end().1.success());
    };
    let server = Http::start(&desk, &space, None);
    std::thread::scope(|threads| {
        threads.spawn(|| stdio("Ana"));
        threads.spawn(|| stdio("Bo"));
        threads.spawn(|| {
            for number in 0..EACH {
                let arguments = json!({"category": "fact", "subject": "Caro", "content": text("Caro", number)});
                let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_store", "arguments": arguments}});
                let answered = server.post(&call, &[]);
                assert!(answered.status == 200 && answered.body.contains("\"isError\":false"), "{answered:?}");
            }
        });
        threads.spawn(|| {
            for number in 0..EACH {
                let told = desk.run(&[&["remember", &text("Dan", number)], &space[..]].concat());
                assert_eq!(told.code, 0, "{told:?}");
            }
        });
    });
    let kept: Vec<String> =
        desk.memories_in("m.db").into_iter().map(|(status, content)| format!("{status} {content}")).collect();
    let unique: BTreeSet<&String> = kept.iter().collect();
    assert_eq!(unique.len(), kept.len(), "nothing is kept twice: {kept:#?}");
    for who in ["Ana", "Bo", "Caro", "Dan"] {
        for number in 0..EACH {
            let expected = format!("active {}", text(who, number));
            assert!(unique.contains(&expected), "{expected} is lost: {kept:#?}");
        }
    }
    let mut client = Piped::start(&desk, &space);
    let total = client.call("memory_list", json!({}))["total"].as_u64().unwrap();
    let active = kept.iter().filter(|one| one.starts_with("active")).count();
    assert_eq!(usize::try_from(total).unwrap(), active);
}
