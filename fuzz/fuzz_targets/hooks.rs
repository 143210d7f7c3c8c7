//! What agents say on standard input.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    std::hint::black_box(afterthought::hooks::read_input(bytes).is_ok());
});
