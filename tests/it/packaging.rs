//! Tests of the files that package managers and agents read: all have the same version, and their hooks are the same as
//! those that `agent install` writes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::desk::Desk;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Places in files that repeat the version from Cargo.toml.
const REPEATED: &[(&str, &str)] = &[
    ("packaging/mcp/server.json", "/version"),
    ("packaging/mcp/server.json", "/packages/0/version"),
    ("packaging/mcpb/manifest.json", "/version"),
    ("packaging/npm/package.json", "/version"),
    ("clients/openapi.json", "/info/version"),
    ("clients/typescript/package.json", "/version"),
    ("packaging/plugin/.claude-plugin/plugin.json", "/version"),
    ("packaging/plugin/.codex-plugin/plugin.json", "/version"),
];

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn text_of_repository(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn of_repository(path: &str) -> Value {
    json(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
}

#[test]
fn every_package_has_the_version_of_the_program() {
    for (file, pointer) in REPEATED {
        let found = of_repository(file);
        let version = found.pointer(pointer).and_then(Value::as_str);
        assert_eq!(version, Some(VERSION), "{file} {pointer}");
    }
    let npm = of_repository("packaging/npm/package.json");
    let platforms = npm["optionalDependencies"].as_object().unwrap();
    assert!(!platforms.is_empty());
    for (name, version) in platforms {
        assert_eq!(version.as_str(), Some(VERSION), "{name}");
    }
    let python = text_of_repository("clients/python/pyproject.toml");
    assert!(python.contains(&format!("\nversion = \"{VERSION}\"\n")), "clients/python/pyproject.toml");
    let manifest = text_of_repository("Cargo.toml");
    for part in ["transcripts", "afterthought-eval"] {
        let line = manifest.lines().find(|line| line.starts_with(&format!("{part} = {{"))).unwrap();
        assert!(line.contains(&format!("version = \"{VERSION}\"")), "{line}");
    }
}

#[test]
fn every_package_of_one_name_is_the_same() {
    let npm = of_repository("packaging/npm/package.json");
    let server = of_repository("packaging/mcp/server.json");
    assert_eq!(server["packages"][0]["identifier"], npm["name"]);
    let marketplace = of_repository(".claude-plugin/marketplace.json");
    let entry = &marketplace["plugins"][0];
    for agent in [".claude-plugin", ".codex-plugin"] {
        let plugin = of_repository(&format!("{}/{agent}/plugin.json", entry["source"].as_str().unwrap()));
        assert_eq!(plugin["name"], entry["name"], "{agent}");
    }
}

/// Returns each hook as one line: event, matcher, timeout and the arguments to the program.
fn hooks(settings: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for (event, groups) in settings["hooks"].as_object().unwrap() {
        let (group, hook) = (&groups[0], &groups[0]["hooks"][0]);
        let command = hook["command"].as_str().unwrap();
        // The arguments follow the path of the program, or the script of the plugin.
        let (_, asked) = command.rsplit_once("run.sh\" ").or_else(|| command.rsplit_once(" hook ")).unwrap();
        lines.push(format!("{event} {} {} {asked}", group["matcher"], hook["timeout"]));
    }
    lines.sort();
    lines
}

#[test]
fn the_plugin_has_the_hooks_that_agent_install_writes() {
    let agents = [
        ("claude-code", ".claude/settings.json", "packaging/plugin/hooks/hooks.json"),
        ("codex", ".codex/hooks.json", "packaging/plugin/hooks/codex.json"),
    ];
    for (agent, settings, plugin) in agents {
        let desk = Desk::new();
        desk.write(settings, "{}");
        let installed = desk.run(&["agent", "install", agent, "--yes"]);
        assert_eq!(installed.code, 0, "{installed:?}");
        assert_eq!(hooks(&of_repository(plugin)), hooks(&json(&desk.path(settings))), "{agent}");
    }
}

#[test]
fn the_skill_teaches_commands_that_exist() {
    let read = |path: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let (skill, reference) =
        (read("packaging/plugin/skills/afterthought/SKILL.md"), read("docs/reference/commands.md"));
    let sections: Vec<&str> = reference.split("\n## ").collect();
    // The options that all commands share are listed once, at the top of the page.
    let top = sections[..2].concat();
    let taught: Vec<&str> = skill.lines().filter(|line| line.starts_with("afterthought ")).collect();
    assert!(taught.len() > 10, "{taught:?}");
    for line in taught {
        let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        let section_of = |count: usize| {
            let name = words.get(..count)?.join(" ");
            sections.iter().find(|section| section.lines().next() == Some(name.as_str()))
        };
        let section = section_of(3).or_else(|| section_of(2)).unwrap_or_else(|| panic!("no such command: {line}"));
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(section.contains(*option) || top.contains(*option), "{line}: {option}");
        }
    }
}
