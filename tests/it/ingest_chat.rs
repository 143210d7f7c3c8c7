//! Chat exports, captions and speaker transcripts, over the files under `fixtures/`.
#![allow(clippy::unwrap_used, reason = "a fixture that cannot be read fails the test")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use afterthought::ingest::{Head, INGESTORS, Input, Sink, by_name, open};
use afterthought::transcript::{Transcript, hex};
use proptest::prelude::*;

const FORMATS: &[&str] = &["webvtt", "chatgpt", "openai-chat", "plain"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Returns the files of a format's folder, or those of every format.
fn fixtures(format: Option<&str>) -> Vec<PathBuf> {
    let folder = format.map_or_else(root, |format| root().join(format));
    let walk = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
    walk.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
}

fn read(format: &str, input: Input) -> (Vec<Transcript>, String) {
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    by_name(format).unwrap().read(input, &mut sink).unwrap();
    let skipped = sink.skipped.iter().fold(String::new(), |mut text, skipped| {
        writeln!(text, "skipped {}: {}", skipped.record, skipped.reason).unwrap();
        text
    });
    (seen, skipped)
}

/// Writes transcripts as people would check them; derived identities stay, paths and file times go.
fn render(transcripts: &[Transcript], skipped: &str, dated: bool) -> String {
    let mut text = String::new();
    for one in transcripts {
        let origin = one.origin.rsplit('/').next().unwrap_or_default();
        let line = [&one.title, &one.project, &one.model].map(|field| field.as_deref().unwrap_or("-"));
        writeln!(text, "= {} ({origin}) title {} project {} model {}", one.key(), line[0], line[1], line[2]).unwrap();
        for message in &one.messages {
            let time =
                message.time.filter(|_| dated).map_or("-".to_owned(), |time| format!("{} {:?}", time.at, time.source));
            let speaker = message.speaker.as_deref().unwrap_or("-");
            writeln!(
                text,
                "[{}] {:?} {:?} {speaker} | {time}\n{}",
                message.id, message.role, message.kind, message.text
            )
            .unwrap();
        }
        text.push('\n');
    }
    text + skipped
}

#[test]
fn every_fixture_reads_as_its_snapshot_says() {
    for format in FORMATS {
        let mut text = String::new();
        for path in fixtures(Some(format)) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let (seen, skipped) = read(format, open(&path).unwrap());
            // The time of change of a checked-out file is not the same twice.
            let dated = name.contains("2026") || *format != "plain";
            write!(text, "### {name}\n{}\n", render(&seen, &skipped, dated)).unwrap();
        }
        insta::assert_snapshot!(format!("ingest_{format}"), text);
    }
}

#[test]
fn every_fixture_is_claimed_by_the_ingestor_of_its_folder_alone() {
    for path in fixtures(None) {
        let folder = path.strip_prefix(root()).unwrap().components().next().unwrap();
        let folder = folder.as_os_str().to_string_lossy().into_owned();
        let input = open(&path).unwrap();
        let head = Head::new(input.head(), input.head_is_all());
        let claims: Vec<_> =
            INGESTORS.iter().filter(|ingestor| ingestor.sniff(&head)).map(|ingestor| ingestor.name()).collect();
        assert_eq!(claims, [folder.as_str()], "{}", path.display());
    }
}

#[test]
fn the_projects_own_documents_and_sources_are_claimed_by_nobody() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let walk = ["src", "tests/it", "Cargo.toml", "Cargo.lock", "README.md", "docs"].map(|name| manifest.join(name));
    let files = walk.iter().filter(|path| path.exists()).flat_map(|path| walkdir::WalkDir::new(path).into_iter());
    let sources = ["rs", "md", "toml", "lock"];
    for entry in files.map(Result::unwrap) {
        let ending = entry.path().extension().unwrap_or_default().to_string_lossy().into_owned();
        if entry.file_type().is_file() && sources.contains(&ending.as_str()) {
            let input = open(entry.path()).unwrap();
            let head = Head::new(input.head(), input.head_is_all());
            let claims: Vec<_> =
                INGESTORS.iter().filter(|ingestor| ingestor.sniff(&head)).map(|ingestor| ingestor.name()).collect();
            assert_eq!(claims, Vec::<&str>::new(), "{}", entry.path().display());
        }
    }
}

fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let of = |format| fixtures(Some(format)).into_iter().map(move |path| (format, std::fs::read(path).unwrap()));
    FORMATS.iter().copied().flat_map(of).collect()
}

/// Detects and reads `bytes`; returns a digest so that nothing is optimised away.
fn survive(format: &str, bytes: &[u8]) -> String {
    let input = Input::from_text("x", &String::from_utf8_lossy(bytes));
    let head = Head::new(input.head(), input.head_is_all());
    let claims = INGESTORS.iter().filter(|ingestor| ingestor.sniff(&head)).count();
    drop(head);
    let (seen, skipped) = read(format, input);
    hex(format!("{claims} {} {}", seen.len(), skipped.len()).as_bytes())
}

#[test]
fn hostile_logs_are_survived_by_every_format() {
    let rows = [
        "[".repeat(300_000),
        "{\"mapping\":".repeat(100_000),
        "[}]]}{\"messages\":[}".to_owned(),
        format!("WEBVTT\n\n00:01.000 --> 00:02.000\n{}", "<a".repeat(300_000)),
        format!("_**User ({})**_", " 1".repeat(300_000)),
        "**".repeat(300_000),
    ];
    for (format, text) in FORMATS.iter().flat_map(|format| rows.iter().map(move |text| (format, text))) {
        survive(format, text.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_log_cut_at_any_byte_is_read_without_panic(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>()) {
        let samples = samples();
        let (format, bytes) = which.get(&samples);
        survive(format, &bytes[..at.index(bytes.len())]);
    }

    #[test]
    fn a_damaged_log_is_read_without_panic(
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let samples = samples();
        let (format, bytes) = which.get(&samples);
        let mut bytes = bytes.clone();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        survive(format, &bytes);
    }

    #[test]
    fn any_text_is_read_by_any_format_without_panic(text in "(WEBVTT\n\n)?([a-zé<>*_#`:：{}\\[\\]\" \n-]|--> |User: |Ana: |00:01.000 ){0,80}") {
        for format in FORMATS {
            survive(format, text.as_bytes());
        }
    }
}
