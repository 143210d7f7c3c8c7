#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| afterthought_fuzz::read_by(NAMES, bytes));

const NAMES: &[&str] = &[
    "chatgpt",
    "deepseek",
    "claude-ai",
    "claude-design",
    "open-webui",
    "librechat",
    "chatbot-ui",
    "gemini-takeout",
    "ai-studio",
    "grok",
    "lm-studio",
];
