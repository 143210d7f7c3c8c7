//! Files of memories that other programs keep.
#![no_main]

use afterthought::exchange::{MEMORY_FORMATS, Terms, gather};
use afterthought::ingest::Input;
use afterthought::memory::Namespace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let terms = Terms {
        namespace: Namespace::global(),
        is_forced: false,
        now: "2026-01-02T03:04:05Z".parse().unwrap(),
        instructions_as_memories: bytes.len() % 2 == 0,
        folder: String::new(),
    };
    for format in MEMORY_FORMATS {
        let Ok(input) = Input::from_bytes("2026-01-02.md", bytes.to_vec()) else { return };
        if let Ok((_, gathered)) = gather(input, Some(format.name), &terms) {
            assert!(gathered.memories.iter().all(|one| !one.memory.claim.content.trim().is_empty()));
        }
    }
});
