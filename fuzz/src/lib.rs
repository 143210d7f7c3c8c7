//! What the fuzz targets share: one family of formats reads the same bytes, and what it yields must be sound.

use afterthought::ingest::{Head, Input, Sink, by_name};
use afterthought::transcript::Transcript;

/// Lets each of the formats called `names` recognise and read `bytes`.
pub fn read_by(names: &[&str], bytes: &[u8]) {
    for name in names {
        let ingestor = by_name(name).expect("the target lists formats that exist");
        let Ok(input) = Input::from_bytes("log", bytes.to_vec()) else { return };
        let claimed = ingestor.sniff(&Head::of(&input));
        let mut accept = |transcript: Transcript| check(&transcript);
        let mut sink = Sink::new(&mut accept);
        let outcome = ingestor.read(input, &mut sink);
        std::hint::black_box((claimed, outcome.is_ok()));
    }
}

/// Panics at what no transcript may be.
fn check(transcript: &Transcript) {
    assert!(!transcript.messages.is_empty() && !transcript.external_id.is_empty());
    let mut ids: Vec<_> = transcript.messages.iter().map(|message| message.id.as_str()).collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "ids are unique");
    assert!(transcript.messages.iter().all(|message| !message.text.trim().is_empty() && !message.text.contains('\0')));
}
