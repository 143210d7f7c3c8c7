//! Memories that other programs keep come in once, stay out when they were retired, and known context is not learnt.

use super::desk::Desk;

const NOTES: &str = "# Memory\n\n## Tools\n\nAna keeps her notes in Zettlr.\n\n## Plans\n\n(none)\n";
const DAY: &str = "Ana fixed the invoice export.\n";
const GRAPH: &str = r#"{"type":"entity","name":"Ana","entityType":"person","observations":["Works at the harbour office"]}
{"type":"relation","from":"Ana","to":"Harbour office","relationType":"works_at"}
"#;
const LOG: &str = "User: Always run the linter before you commit.\n\nAssistant: I will.\n\nUser: Never push to the release branch on Fridays.\n\nAssistant: Understood.\n";

#[test]
fn a_folder_of_memories_comes_in_once() {
    let desk = Desk::new();
    for (name, text) in
        [("MEMORY.md", NOTES), ("2026-11-20.md", DAY), ("graph.jsonl", GRAPH), ("picture.svg", "<svg/>")]
    {
        desk.write(&format!("memory/{name}"), text);
    }
    let first = desk.run(&["import", "memory"]);
    assert_eq!(first.code, 0, "{}", first.err);
    assert_eq!(first.out.matches(" 1 added").count(), 2, "{}", first.out);
    assert!(first.out.contains("(mcp-memory): 2 added"), "{}", first.out);
    let again = desk.run(&["import", "memory"]);
    assert!(!again.out.contains(" 1 added") && !again.out.contains(" 2 added"), "{}", again.out);

    desk.write("memory/MEMORY.md", NOTES.replace("Zettlr", "Obsidian"));
    assert!(desk.run(&["import", "memory/MEMORY.md"]).out.contains("0 added, 1 changed"));
    let listed = desk.run(&["list"]).out;
    assert!(listed.contains("Obsidian") && !listed.contains("Zettlr"), "{listed}");
    // What the file said first stays in the history, and coming back to it is a change like any other.
    desk.write("memory/MEMORY.md", NOTES);
    assert!(desk.run(&["import", "memory/MEMORY.md"]).out.contains("1 changed"));
}

#[test]
fn what_agents_are_told_anyway_is_not_learnt_from_a_log_that_repeats_it() {
    let run = |with_instructions: bool| {
        let desk = Desk::new();
        desk.write("talk.md", LOG);
        if with_instructions {
            desk.write("AGENTS.md", "## Git\n\n- Always run the linter before you commit.\n");
            let imported = desk.run(&["import", "AGENTS.md", "--namespace", "global"]);
            assert!(
                imported.out.contains("0 added") && imported.out.contains("1 lines of known context"),
                "{}",
                imported.out
            );
        }
        desk.run(&["run", "talk.md", "--extractor", "rules"]);
        desk.run(&["list"]).out
    };
    let (alone, told) = (run(false), run(true));
    assert!(alone.contains("linter") && alone.contains("release branch"), "{alone}");
    assert!(!told.contains("linter") && told.contains("release branch"), "{told}");
}

#[test]
fn memories_that_are_given_to_run_are_sent_where_they_belong() {
    let desk = Desk::new();
    desk.write("memory.jsonl", GRAPH);
    let told = desk.run(&["run", "memory.jsonl", "--extractor", "rules"]);
    assert_eq!(told.code, 2);
    assert!(
        told.err.contains("holds memories, not conversations") && told.err.contains("afterthought import memory.jsonl"),
        "{}",
        told.err
    );
}
