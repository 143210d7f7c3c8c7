//! What the fuzz targets share: one family of formats reads the same bytes, and what it yields must be sound.

use afterthought::ingest::{Head, INGESTORS, Input, Sink};
use afterthought::transcript::Transcript;

/// Asks each format of `family` about `bytes`, and lets those read them that claim them, and one other.
pub fn read_by(family: &str, bytes: &[u8]) {
    let Ok(input) = Input::from_bytes("log", bytes.to_vec()) else { return };
    let head = Head::of(&input);
    let formats: Vec<_> = INGESTORS.iter().filter(|ingestor| ingestor.family() == family).collect();
    assert!(!formats.is_empty(), "{family} is a family");
    for (place, ingestor) in formats.iter().enumerate() {
        if ingestor.sniff(&head) || place == bytes.len() % formats.len() {
            let Ok(input) = Input::from_bytes("log", bytes.to_vec()) else { return };
            let mut accept = |transcript: Transcript| check(&transcript);
            std::hint::black_box(ingestor.read(input, &mut Sink::new(&mut accept)).is_ok());
        }
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
