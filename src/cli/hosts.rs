//! Agents whose settings can contain this program's MCP server, and functions that change such settings. These
//! functions perform no I/O, and they preserve everything else in a settings file, including comments.

use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstObject, CstRootNode};
use serde_json::{Value, json};
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::changes::{edited, input};

/// The name under which this program's server is registered.
const SERVER: &str = "afterthought";

/// An agent that can use MCP servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Host {
    /// Name of the agent.
    pub(crate) name: &'static str,
    /// The folder in the home folder whose existence shows that the agent is used.
    folder: &'static str,
    /// Path of the settings, relative to the home folder.
    file: &'static str,
    /// An environment variable that specifies a different folder, and the path of the settings in that folder.
    moved: Option<(&'static str, &'static str)>,
    /// The part of the settings that lists servers.
    list: &'static str,
    entry: Entry,
}

/// The structure of one server's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// `command` and `args`.
    Plain,
    /// `command` and `args`, with `"type": "stdio"`.
    Stdio,
    /// `command` and `args`, with `"type": "local"` and the tools that may be used.
    Local,
    /// The command and its arguments in one list, with `"type": "local"`.
    Words,
    /// `command` and `args` in TOML.
    Toml,
}

const PLAIN: Host = Host { name: "", folder: "", file: "", moved: None, list: "mcpServers", entry: Entry::Plain };

#[cfg(target_os = "macos")]
const CLINE: &str =
    "Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
#[cfg(target_os = "macos")]
const CLINE_FOLDER: &str = "Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev";
#[cfg(windows)]
const CLINE: &str = "AppData/Roaming/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
#[cfg(windows)]
const CLINE_FOLDER: &str = "AppData/Roaming/Code/User/globalStorage/saoudrizwan.claude-dev";
#[cfg(not(any(target_os = "macos", windows)))]
const CLINE: &str = ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
#[cfg(not(any(target_os = "macos", windows)))]
const CLINE_FOLDER: &str = ".config/Code/User/globalStorage/saoudrizwan.claude-dev";

/// Zed's folder, and its settings.
const ZED: (&str, &str) = if cfg!(windows) {
    ("AppData/Roaming/Zed", "AppData/Roaming/Zed/settings.json")
} else {
    (".config/zed", ".config/zed/settings.json")
};

/// The agents, with their settings as the documentation of each agent describes them.
pub(crate) const HOSTS: [Host; 9] = [
    Host {
        name: "claude-code",
        folder: ".claude",
        file: ".claude.json",
        moved: Some(("CLAUDE_CONFIG_DIR", ".claude.json")),
        entry: Entry::Stdio,
        ..PLAIN
    },
    Host {
        name: "codex",
        folder: ".codex",
        file: ".codex/config.toml",
        moved: Some(("CODEX_HOME", "config.toml")),
        list: "mcp_servers",
        entry: Entry::Toml,
    },
    Host { name: "cursor", folder: ".cursor", file: ".cursor/mcp.json", ..PLAIN },
    Host { name: "gemini-cli", folder: ".gemini", file: ".gemini/settings.json", ..PLAIN },
    Host { name: "copilot-cli", folder: ".copilot", file: ".copilot/mcp-config.json", entry: Entry::Local, ..PLAIN },
    Host { name: "windsurf", folder: ".codeium/windsurf", file: ".codeium/windsurf/mcp_config.json", ..PLAIN },
    Host {
        name: "opencode",
        folder: ".config/opencode",
        file: ".config/opencode/opencode.json",
        list: "mcp",
        entry: Entry::Words,
        ..PLAIN
    },
    Host { name: "zed", folder: ZED.0, file: ZED.1, list: "context_servers", ..PLAIN },
    Host { name: "cline", folder: CLINE_FOLDER, file: CLINE, ..PLAIN },
];

/// Reasons why settings cannot be changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostError {
    /// The agent could not read the file either.
    #[error("it is not valid {0}; fix it first")]
    Syntax(&'static str),
    /// A part of the settings has the wrong type.
    #[error("{0} is not a table of servers; fix it, or move the file away")]
    Shape(&'static str),
}

impl Host {
    /// Returns the path of the agent's settings.
    pub(crate) fn settings(&self, home: &Path, environment: &dyn Fn(&str) -> Option<PathBuf>) -> PathBuf {
        let moved = self.moved.and_then(|(variable, file)| environment(variable).map(|folder| folder.join(file)));
        moved.unwrap_or_else(|| below(home, self.file))
    }

    /// Whether the owner of `home` has used the agent.
    pub(crate) fn is_used(&self, home: &Path, environment: &dyn Fn(&str) -> Option<PathBuf>) -> bool {
        let moved = self.moved.and_then(|(variable, _)| environment(variable));
        moved.unwrap_or_else(|| below(home, self.folder)).is_dir()
    }

    /// Returns the settings with this program's server added; `words` is the command line that starts it.
    ///
    /// # Errors
    /// [`HostError`] if the settings cannot be understood.
    pub(crate) fn register(&self, text: &str, words: &[String]) -> Result<String, HostError> {
        edited(text, |text| self.with_server(text, words))
    }

    fn with_server(&self, text: &str, words: &[String]) -> Result<String, HostError> {
        if self.entry == Entry::Toml {
            let mut document = toml(text)?;
            let servers = document.entry(self.list).or_insert_with(implicit);
            let servers = servers.as_table_mut().ok_or(HostError::Shape(self.list))?;
            let mut entry = Table::new();
            entry["command"] = value(words.first().cloned().unwrap_or_default());
            entry["args"] = value(words.iter().skip(1).collect::<Array>());
            servers[SERVER] = Item::Table(entry);
            return Ok(document.to_string());
        }
        let root = parse_json(text)?;
        let servers = root
            .object_value_or_create()
            .and_then(|object| object.object_value_or_create(self.list))
            .ok_or(HostError::Shape(self.list))?;
        let entry = input(&self.entry(words));
        match servers.get(SERVER) {
            Some(present) => present.set_value(entry),
            None => drop(servers.append(SERVER, entry)),
        }
        let after = root.to_string();
        Ok(if after.ends_with('\n') { after } else { after + "\n" })
    }

    /// Returns the settings without this program's server.
    ///
    /// # Errors
    /// [`HostError`] if the settings cannot be understood.
    pub(crate) fn unregister(&self, text: &str) -> Result<String, HostError> {
        edited(text, |text| self.without_server(text))
    }

    fn without_server(&self, text: &str) -> Result<String, HostError> {
        if self.entry == Entry::Toml {
            let mut document = toml(text)?;
            if let Some(servers) = document.get_mut(self.list).and_then(Item::as_table_mut) {
                servers.remove(SERVER);
            }
            return Ok(document.to_string());
        }
        let root = parse_json(text)?;
        let Some(servers) = servers(&root, self.list) else { return Ok(text.to_owned()) };
        let Some(present) = servers.get(SERVER) else { return Ok(text.to_owned()) };
        present.remove();
        Ok(root.to_string())
    }

    fn entry(&self, words: &[String]) -> Value {
        let (program, arguments) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        match self.entry {
            Entry::Stdio => json!({"type": "stdio", "command": program, "args": arguments}),
            Entry::Local => json!({"type": "local", "command": program, "args": arguments, "tools": ["*"]}),
            Entry::Words => json!({"type": "local", "command": words, "enabled": true}),
            Entry::Plain | Entry::Toml => json!({"command": program, "args": arguments}),
        }
    }
}

/// Returns a path below `home`, with the separators of the platform.
fn below(home: &Path, path: &str) -> PathBuf {
    home.join(path).components().collect()
}

fn implicit() -> Item {
    let mut table = Table::new();
    // The file then contains only `[mcp_servers.afterthought]`, without an empty table above it.
    table.set_implicit(true);
    Item::Table(table)
}

fn toml(text: &str) -> Result<DocumentMut, HostError> {
    text.parse().map_err(|_| HostError::Syntax("TOML"))
}

fn parse_json(text: &str) -> Result<CstRootNode, HostError> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|_| HostError::Syntax("JSON"))
}

fn servers(root: &CstRootNode, list: &str) -> Option<CstObject> {
    root.object_value()?.object_value(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Vec<String> {
        ["/opt/after thought", "serve", "mcp"].map(str::to_owned).to_vec()
    }

    #[test]
    fn a_file_keeps_its_comments_and_gets_its_text_back() {
        let jsonc = "{\n  // mine\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}, // theirs\n  },\n}\n";
        let toml = "# mine\nmodel = \"gpt-5\"  # small\n\n[mcp_servers.other]\ncommand = \"x\"\n";
        for host in HOSTS {
            let before =
                if host.entry == Entry::Toml { toml.to_owned() } else { jsonc.replace("mcpServers", host.list) };
            let after = host.register(&before, &words()).unwrap();
            for part in ["mine", "other", "/opt/after thought", "\"serve\"", "\"mcp\""] {
                assert!(after.contains(part), "{}: {after}", host.name);
            }
            assert_eq!(host.register(&after, &words()).unwrap(), after, "{}", host.name);
            let back = host.unregister(&after).unwrap();
            let squeezed = |text: &str| text.split_whitespace().collect::<String>().replace(",}", "}");
            assert_eq!(squeezed(&back), squeezed(&before), "{}", host.name);
            let on_windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
            assert_eq!(host.register(&on_windows(&before), &words()).unwrap(), on_windows(&after), "{}", host.name);
            assert_eq!(host.unregister(&on_windows(&after)).unwrap(), on_windows(&back), "{}", host.name);
        }
    }

    #[test]
    fn a_file_that_is_missing_or_empty_is_begun() {
        for host in HOSTS {
            let after = host.register("", &words()).unwrap();
            let entry = if host.entry == Entry::Toml {
                after.parse::<DocumentMut>().unwrap()["mcp_servers"][SERVER]["command"].as_str().unwrap().to_owned()
            } else {
                let read: serde_json::Value = serde_json::from_str(&after).unwrap();
                let command = &read[host.list][SERVER]["command"];
                command.as_str().or(command[0].as_str()).unwrap().to_owned()
            };
            assert_eq!(entry, "/opt/after thought", "{}", host.name);
        }
    }

    #[test]
    fn what_cannot_be_understood_is_an_error() {
        for host in HOSTS {
            assert!(host.register("{ not \u{1} = [", &words()).is_err(), "{}", host.name);
            let wrong = if host.entry == Entry::Toml {
                "mcp_servers = 1".to_owned()
            } else {
                format!("{{\"{}\": 1}}", host.list)
            };
            assert!(matches!(host.register(&wrong, &words()), Err(HostError::Shape(_))), "{}", host.name);
        }
        let cursor = HOSTS.into_iter().find(|host| host.name == "cursor").unwrap();
        assert_eq!(cursor.unregister("{}").unwrap(), "{}");
    }
}
