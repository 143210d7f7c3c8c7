//! Archives, compressed files and databases, as read from disk.
#![no_main]

use transcripts::{Head, INGESTORS, Input, Logs, Sink, detect_folder};
use transcripts::Transcript;
use afterthought_fuzz::check;
use libfuzzer_sys::fuzz_target;

/// Maximum number of bytes of text that one file may yield, however well it was compressed.
const MOST: usize = 256 << 20;

fuzz_target!(|bytes: &[u8]| {
    let file = tempfile::NamedTempFile::new_in("/dev/shm").or_else(|_| tempfile::NamedTempFile::new()).unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let mut read = 0;
    let mut accept = |transcript: Transcript| {
        check(&transcript);
        read += transcript.messages.iter().map(|message| message.text.len()).sum::<usize>();
    };
    match Logs::open(file.path()) {
        Ok(Logs::File(input)) => read_one(*input, &mut accept),
        Ok(Logs::Folder(folder)) => {
            if let Some(ingestor) = detect_folder(&folder) {
                std::hint::black_box(ingestor.read_folder(&folder, &mut Sink::new(&mut accept)).is_ok());
            }
            for name in folder.all_files() {
                folder.open(&name).into_iter().for_each(|input| read_one(input, &mut accept));
            }
        }
        Err(_) => {}
    }
    assert!(read <= MOST, "{read} bytes of text");
    assert_eq!(std::fs::read(file.path()).unwrap(), bytes, "a log is never written to");
});

fn read_one(input: Input, accept: &mut dyn FnMut(Transcript)) {
    let head = Head::of(&input);
    let Some(ingestor) = INGESTORS.iter().find(|ingestor| ingestor.sniff(&head)) else { return };
    drop(head);
    std::hint::black_box(ingestor.read(input, &mut Sink::new(accept)).is_ok());
}
