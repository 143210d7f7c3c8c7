//! The table of known programs.

use super::Known;
use super::place::{Place, Root};

const fn place(root: Root, below: &'static str, endings: &'static [&'static str]) -> Place {
    Place { root, below, endings }
}

const JSONL: &[&str] = &[".jsonl"];
const JSON: &[&str] = &[".json"];
const EITHER: &[&str] = &[".json", ".jsonl"];
const ANY: &[&str] = &[];

/// Every known program, in the order in which they are told.
pub const KNOWN: &[Known] = &[
    Known {
        name: "claude-code",
        about: "Claude Code",
        places: &[place(Root::Variable("CLAUDE_CONFIG_DIR", ".claude"), "projects", JSONL)],
    },
    Known {
        name: "claude-desktop",
        about: "Claude Desktop",
        places: &[place(Root::Config, "Claude/local-agent-mode-sessions", JSONL)],
    },
    Known {
        name: "codex",
        about: "Codex",
        // Rollouts are compressed when they are a week old.
        places: &[
            place(Root::Variable("CODEX_HOME", ".codex"), "sessions", &[".jsonl", ".jsonl.zst"]),
            place(Root::Variable("CODEX_HOME", ".codex"), "archived_sessions", &[".jsonl", ".jsonl.zst"]),
        ],
    },
    Known { name: "gemini-cli", about: "Gemini CLI", places: &[place(Root::Home, ".gemini/tmp/*/chats", EITHER)] },
    Known { name: "qwen-code", about: "Qwen Code", places: &[place(Root::Home, ".qwen/projects/*/chats", JSONL)] },
    Known {
        name: "cursor",
        about: "Cursor",
        places: &[
            place(Root::Config, "Cursor/User/globalStorage/state.vscdb", ANY),
            place(Root::Home, ".cursor-server/data/User/globalStorage/state.vscdb", ANY),
        ],
    },
    Known {
        name: "cursor-agent",
        about: "Cursor agents",
        places: &[
            place(Root::Home, ".cursor/projects/*/agent-transcripts", JSONL),
            place(Root::Home, ".cursor/chats", &["store.db"]),
        ],
    },
    Known {
        name: "copilot",
        about: "GitHub Copilot",
        places: &[
            place(Root::Editors, "User/workspaceStorage/*/chatSessions", EITHER),
            place(Root::Editors, "User/globalStorage/emptyWindowChatSessions", EITHER),
        ],
    },
    Known { name: "copilot-cli", about: "Copilot CLI", places: &[place(Root::Home, ".copilot/session-state", JSONL)] },
    Known {
        name: "cline",
        about: "Cline",
        places: &[
            place(Root::Editors, "User/globalStorage/saoudrizwan.claude-dev/tasks", JSON),
            place(Root::Home, ".cline/data/tasks", JSON),
        ],
    },
    Known {
        name: "roo-code",
        about: "Roo Code",
        places: &[place(Root::Editors, "User/globalStorage/rooveterinaryinc.roo-cline/tasks", JSON)],
    },
    Known {
        name: "kilo-code",
        about: "Kilo Code",
        places: &[place(Root::Editors, "User/globalStorage/kilocode.kilo-code/tasks", JSON)],
    },
    Known { name: "continue", about: "Continue", places: &[place(Root::Home, ".continue/sessions", JSON)] },
    Known {
        name: "opencode",
        about: "opencode",
        places: &[place(Root::XdgData, "opencode/opencode.db", ANY), place(Root::XdgData, "opencode/storage", JSON)],
    },
    Known {
        name: "goose",
        about: "goose",
        places: &[
            place(Root::XdgData, "goose/sessions", &[".jsonl", "sessions.db"]),
            place(Root::Config, "Block/goose/data/sessions", &[".jsonl", "sessions.db"]),
        ],
    },
    Known { name: "hermes", about: "Hermes Agent", places: &[place(Root::Home, ".hermes/state.db", ANY)] },
    Known {
        name: "zed",
        about: "Zed",
        places: &[place(Root::Data, "zed/threads/threads.db", ANY), place(Root::Data, "Zed/threads/threads.db", ANY)],
    },
    Known { name: "devin", about: "Devin CLI", places: &[place(Root::XdgData, "devin/cli/sessions.db", ANY)] },
    Known { name: "grok", about: "Grok Build", places: &[place(Root::Home, ".grok/sessions", JSONL)] },
    Known { name: "pi", about: "pi", places: &[place(Root::Home, ".pi/agent/sessions", JSONL)] },
    Known {
        name: "open-interpreter",
        about: "Open Interpreter",
        places: &[place(Root::Home, ".openinterpreter/sessions", JSONL)],
    },
    Known {
        name: "lm-studio",
        about: "LM Studio",
        places: &[place(Root::Home, ".lmstudio/conversations", &[".conversation.json"])],
    },
    Known { name: "aider", about: "aider", places: &[place(Root::Projects, ".aider.chat.history.md", ANY)] },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_endings_in_lower_case() {
        let names: HashSet<_> = KNOWN.iter().map(|known| known.name).collect();
        assert_eq!(names.len(), KNOWN.len());
        assert!(!names.contains("all"), "the word for every program");
        for ending in KNOWN.iter().flat_map(|known| known.places).flat_map(|place| place.endings) {
            assert_eq!(*ending, ending.to_lowercase());
        }
    }

    #[test]
    fn no_place_is_of_two_programs() {
        let mut seen = HashSet::new();
        for place in KNOWN.iter().flat_map(|known| known.places) {
            assert!(seen.insert(format!("{:?}/{}", place.root, place.below)), "{}", place.below);
        }
    }
}
