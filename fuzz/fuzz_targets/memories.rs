//! Memory files of other programs.
#![no_main]

use afterthought::exchange::{Gathered, MEMORY_FORMATS, Terms, gather};
use transcripts::Input;
use afterthought::memory::Namespace;
use afterthought_fuzz::now;
use libfuzzer_sys::fuzz_target;

/// Returns the memories without ids, which differ in each run.
fn described(gathered: &Gathered) -> Vec<String> {
    let claims = gathered.memories.iter().map(|one| format!("{:?} {}", one.memory.claim, one.memory.namespace));
    claims.chain(gathered.known.iter().map(|line| format!("{line:?}"))).collect()
}

fuzz_target!(|bytes: &[u8]| {
    let terms = Terms {
        namespace: Namespace::global(),
        is_forced: bytes.len() % 5 == 0,
        now: now(),
        instructions_as_memories: bytes.len() % 2 == 0,
        folder: String::new(),
    };
    for format in MEMORY_FORMATS {
        let read = || gather(Input::from_bytes("2026-01-02.md", bytes.to_vec()).ok()?, Some(format.name), &terms).ok();
        let Some((_, gathered)) = read() else { continue };
        for one in &gathered.memories {
            let claim = &one.memory.claim;
            assert!(!claim.content.trim().is_empty());
            assert!((0.0..=1.0).contains(&claim.importance) && (0.0..=1.0).contains(&claim.confidence), "{claim:?}");
            assert!(!terms.is_forced || one.memory.namespace == terms.namespace);
        }
        assert!(gathered.skipped.iter().all(|skipped| !skipped.reason.is_empty() && skipped.reason.len() < 400));
        let again = read().expect("it was read before").1;
        assert_eq!(described(&gathered), described(&again), "{} reads the same bytes alike", format.name);
    }
});
