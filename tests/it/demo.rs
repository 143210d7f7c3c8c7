//! Tests that the logs of the demo result in the memories that its README lists.

use std::fs;

use super::desk::Desk;

#[test]
fn the_demo_shows_a_change_of_mind_and_keeps_no_secret_and_no_order() {
    let desk = Desk::new();
    let logs = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo");
    let run = desk.run(&["run", logs, "--trusted", "--extractor", "rules", "--db", "demo.db"]);
    assert_eq!(run.code, 0, "{run:?}");
    let printed = format!("{}{}", run.out, run.err);
    for shown in [
        "was: The project's API is deployed on Heroku.",
        "“Our API is now deployed on Fly.io, region ams.” 2026-11-09",
        "our API is deployed on Heroku.” 2026-11-02",
        "5 tasks of coding agents recorded",
    ] {
        assert!(printed.contains(shown), "{shown}: {printed}");
    }
    assert!(printed.lines().count() <= 25, "{printed}");
    let memories = desk.memories_in("demo.db");
    let has =
        |status: &str, words: &str| memories.iter().any(|(found, content)| found == status && content.contains(words));
    assert!(has("superseded", "deployed on Heroku"), "{memories:?}");
    assert!(has("active", "deployed on Fly.io"), "{memories:?}");
    assert!(has("active", "pnpm"), "{memories:?}");
    assert!(has("active", "简体中文"), "{memories:?}");
    for unwanted in ["ghp_invented", "HarborHost", "collect.mailprovider"] {
        let unwanted = unwanted.as_bytes();
        for file in ["demo.db", "demo.db-wal"] {
            let bytes = fs::read(desk.path(file)).unwrap_or_default();
            assert!(!bytes.windows(unwanted.len()).any(|piece| piece == unwanted), "{file}: {unwanted:?}");
        }
    }
}
