#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| afterthought_fuzz::read_by(NAMES, bytes));

const NAMES: &[&str] = &["locomo", "longmemeval", "sharegpt", "hf-chat", "oasst", "wildchat"];
