#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| afterthought_fuzz::read_by("text", bytes));
