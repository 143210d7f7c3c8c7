//! Prints the messages of a log: `cargo run -p transcripts --example read -- PATH`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the example prints to the terminal")]

use std::path::Path;

use transcripts::{IngestError, Input, Logs, Sink, Transcript, detect, detect_folder};

fn main() -> Result<(), IngestError> {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: read PATH");
        return Ok(());
    };
    let mut accept = |transcript: Transcript| print(&transcript);
    let mut sink = Sink::new(&mut accept);
    match Logs::open(Path::new(&path))? {
        Logs::File(input) => read_file(*input, &mut sink)?,
        Logs::Folder(folder) => match detect_folder(&folder) {
            Some(format) => format.read_folder(&folder, &mut sink)?,
            None => {
                for name in folder.all_files() {
                    // A folder contains other files besides its logs.
                    if let Err(error) = folder.open(&name).and_then(|input| read_file(input, &mut sink)) {
                        eprintln!("{error}");
                    }
                }
            }
        },
    }
    for skipped in &sink.skipped {
        eprintln!("record {}: {}", skipped.record, skipped.reason);
    }
    Ok(())
}

fn read_file(input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    detect(&input)?.read(input, sink)
}

fn print(transcript: &Transcript) {
    println!(
        "# {} ({} messages)",
        transcript.title.as_deref().unwrap_or(&transcript.external_id),
        transcript.messages.len()
    );
    for message in &transcript.messages {
        let time = message.time.map(|time| time.at.to_string()).unwrap_or_default();
        let speaker = message.speaker.clone().unwrap_or_else(|| format!("{:?}", message.role));
        println!("{time} {speaker} [{:?}] {}", message.kind, message.text);
    }
}
