//! Archives, compressed files and databases, as they come from disk.
#![no_main]

use afterthought::ingest::{Head, INGESTORS, Input, Logs, Sink, detect_folder};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let file = tempfile::NamedTempFile::new_in("/dev/shm").or_else(|_| tempfile::NamedTempFile::new()).unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    match Logs::open(file.path()) {
        Ok(Logs::File(input)) => read(*input),
        Ok(Logs::Folder(folder)) => {
            if let Some(ingestor) = detect_folder(&folder) {
                std::hint::black_box(ingestor.read_folder(&folder, &mut Sink::new(&mut |_| {})).is_ok());
            }
            for name in folder.all_files() {
                folder.open(&name).into_iter().for_each(read);
            }
        }
        Err(_) => {}
    }
});

fn read(input: Input) {
    let head = Head::of(&input);
    let Some(ingestor) = INGESTORS.iter().find(|ingestor| ingestor.sniff(&head)) else { return };
    drop(head);
    std::hint::black_box(ingestor.read(input, &mut Sink::new(&mut |_| {})).is_ok());
}
