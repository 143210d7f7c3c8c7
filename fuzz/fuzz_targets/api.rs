#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| afterthought_fuzz::read_by(NAMES, bytes));

const NAMES: &[&str] = &[
    "openai-batch",
    "openai-responses",
    "anthropic",
    "langchain",
    "langfuse",
    "otel-genai",
    "openai-chat",
];
