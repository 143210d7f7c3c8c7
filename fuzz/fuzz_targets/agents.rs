#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| afterthought_fuzz::read_by(NAMES, bytes));

const NAMES: &[&str] = &[
    "claude-code",
    "codex",
    "aider",
    "gemini-cli",
    "qwen-code",
    "antigravity",
    "cline",
    "continue",
    "blockcell",
    "goose",
    "hermes",
    "opencode",
    "copilot-chat",
    "copilot-cli",
    "cursor",
    "zed",
    "devin",
    "cursor-agent",
];
