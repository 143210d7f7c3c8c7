//! Tests of `setup` in a home folder with several agents: the files that it writes, and that undoing it restores every
//! byte.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::world::World;

const CLAUDE: &str = "{\n    \"model\": \"opus\",\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]}\n}";
const CODEX: &str = "# My own settings.\nmodel = \"gpt-5\"   # small\n\n[mcp_servers.other]\ncommand = \"other\"\n";
const ZED: &str = "// Zed settings\n{\n  \"theme\": \"One\", // dark\n  \"context_servers\": {\n    // mine\n  },\n}\n";

/// Returns a home folder in which Claude Code, Codex, Cursor and Zed have been used, with a log of Claude Code.
fn home() -> World {
    let world = World::new(None);
    let write = |path: &str, text: &str| {
        let path = world.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(".claude/settings.json", CLAUDE);
    write(".codex/config.toml", CODEX);
    write(".cursor/argv.json", "{}");
    write(".config/zed/settings.json", ZED);
    let record = json!({
        "type": "user", "sessionId": "s1", "uuid": "u1", "cwd": "/home/ana/shop", "timestamp": "2026-05-04T10:00:00Z",
        "message": {"role": "user", "content": "Remember that the staging database is called heron."},
    });
    write(".claude/projects/-home-ana-shop/s1.jsonl", &format!("{record}\n"));
    world
}

/// Returns every file in the home folder, except the files of the program itself.
fn files(world: &World) -> BTreeMap<String, Vec<u8>> {
    fn walk(folder: &Path, root: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if name.starts_with(".local") || name.contains("memories.db") || name == "logs" {
                continue;
            }
            if path.is_dir() {
                found.insert(format!("{name}/"), Vec::new());
                walk(&path, root, found);
            } else {
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&world.path(""), &world.path(""), &mut found);
    found
}

fn read(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.path(path)).unwrap()
}

#[test]
fn every_agent_is_connected_and_every_byte_comes_back() {
    let world = home();
    let before = files(&world);
    let shown = world.good(&["setup", "--dry-run"]);
    for part in ["claude-code", "codex", "cursor", "zed", "1 file of", "mcp_servers.afterthought"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("windsurf"), "{shown}");
    assert_eq!(files(&world), before, "a preview writes nothing");
    assert!(!world.done(&["setup"]).status.success(), "nobody can be asked");
    assert_eq!(files(&world), before);

    let told = world.good(&["setup", "--yes"]);
    assert!(told.contains("staging database is called heron"), "{told}");
    let hooks = read(&world, ".claude/settings.json");
    assert!(hooks.contains("say done") && hooks.contains("hook session-end"), "{hooks}");
    assert!(hooks.starts_with("{\n    \"model\": \"opus\",\n  \"hooks\": {"), "the formatting stays: {hooks}");
    let server: Value = serde_json::from_str(&read(&world, ".claude.json")).unwrap();
    let server = &server["mcpServers"]["afterthought"];
    assert_eq!((&server["type"], &server["args"]), (&json!("stdio"), &json!(["serve", "mcp"])), "{server}");
    let codex = read(&world, ".codex/config.toml");
    assert!(codex.starts_with(CODEX) && codex.contains("[mcp_servers.afterthought]"), "{codex}");
    let zed = read(&world, ".config/zed/settings.json");
    assert!(zed.contains("// dark") && zed.contains("// mine") && zed.contains("\"serve\""), "{zed}");
    assert!(read(&world, ".cursor/mcp.json").contains("afterthought"));

    // Running the command a second time changes nothing, and undoing it still restores the first state.
    let after = files(&world);
    world.good(&["setup", "--yes"]);
    assert_eq!(files(&world), after);
    let told = world.good(&["setup", "--undo"]);
    assert!(told.contains("is restored") && !told.contains("changed later"), "{told}");
    assert_eq!(files(&world), before);
    assert_eq!(world.done(&["setup", "--undo"]).status.code(), Some(1), "there is nothing left to undo");
    assert!(world.good(&["memory", "list"]).contains("heron"), "memories stay");
}

#[test]
fn what_a_person_changed_since_stays() {
    let world = home();
    world.good(&["setup", "--yes"]);
    let path = world.path(".codex/config.toml");
    std::fs::write(&path, read(&world, ".codex/config.toml").replace("\"gpt-5\"", "\"gpt-6\"")).unwrap();
    let told = world.good(&["setup", "--undo"]);
    assert!(told.contains("was changed later"), "{told}");
    let codex = read(&world, ".codex/config.toml");
    assert_eq!(codex.trim_end(), CODEX.replace("gpt-5", "gpt-6").trim_end());
}

#[test]
fn a_faulty_file_is_named_and_the_other_agents_are_connected() {
    let world = home();
    std::fs::write(world.path(".codex/config.toml"), "model = ").unwrap();
    let output = world.done(&["setup", "--yes"]);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(reported.contains("codex is not changed") && reported.contains("not valid TOML"), "{reported}");
    assert_eq!(read(&world, ".codex/config.toml"), "model = ");
    assert!(read(&world, ".cursor/mcp.json").contains("afterthought"));
}

#[test]
fn a_home_without_agents_gets_a_hint() {
    let world = World::new(None);
    let output = world.done(&["setup", "--yes"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("pass a log to `afterthought run`"), "{output:?}");
}
