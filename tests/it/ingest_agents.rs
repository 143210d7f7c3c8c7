//! The logs of Claude Code and Codex: golden transcripts of the fixtures, and damage of every kind.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use afterthought::ingest::{INGESTORS, Ingestor, Input, Sink, Skipped, by_name, detect, open};
use afterthought::transcript::Transcript;
use proptest::prelude::*;

const FORMATS: [&str; 2] = ["claude-code", "codex"];

fn fixture(format: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(format);
    let entries = std::fs::read_dir(folder).expect("each format has a folder of fixtures");
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.remove(0)
}

fn read(ingestor: &dyn Ingestor, input: Input) -> (Vec<Transcript>, Vec<Skipped>) {
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    ingestor.read(input, &mut sink).expect("the file can be read to its end");
    let skipped = std::mem::take(&mut sink.skipped);
    (seen, skipped)
}

/// Writes a transcript as its head and one paragraph a message, with short ids and times to the second.
fn rendered(transcript: &Transcript) -> String {
    let Transcript { source, external_id, title, project, model, created_at, messages, .. } = transcript;
    let mut text = format!(
        "{source}:{external_id}\ntitle: {title:?}\nproject: {project:?}\nmodel: {model:?}\ncreated at: {created_at:?}\n"
    );
    for message in messages {
        let id = message.id.split('-').next().unwrap_or_default();
        let time = message.time.map(|time| format!("{:.0}", time.at)).unwrap_or_default();
        writeln!(text, "\n[{id}] {time} {:?} {:?}\n{}", message.role, message.kind, message.text)
            .expect("writing to a String cannot fail");
    }
    text
}

#[test]
fn a_claude_code_session_reads_as_its_golden_transcript() {
    let (seen, skipped) = read(by_name("claude-code").unwrap(), open(&fixture("claude-code")).unwrap());
    assert_eq!((seen.len(), skipped), (1, Vec::new()));
    // So that no scanner takes the fixture's invented token for a real one.
    insta::with_settings!({ filters => [("gh[p]_[A-Za-z0-9]{36}", "[token]")] }, {
        insta::assert_snapshot!(rendered(&seen[0]));
    });
}

#[test]
fn a_codex_thread_reads_as_its_golden_transcript() {
    let (seen, skipped) = read(by_name("codex").unwrap(), open(&fixture("codex")).unwrap());
    assert_eq!((seen.len(), skipped), (1, Vec::new()));
    insta::assert_snapshot!(rendered(&seen[0]));
}

#[test]
fn each_fixture_is_recognised_by_its_own_format_alone() {
    for format in FORMATS {
        let path = fixture(format);
        assert_eq!(detect(&open(&path).unwrap()).unwrap().name(), format);
        let input = open(&path).unwrap();
        let head = afterthought::ingest::Head::new(input.head(), input.head_is_all());
        let takers: Vec<_> = INGESTORS.iter().filter(|row| row.sniff(&head)).map(|row| row.name()).collect();
        assert_eq!(takers, [format]);
    }
}

#[test]
fn a_log_that_grew_keeps_the_ids_of_what_it_had() {
    for format in FORMATS {
        let whole = std::fs::read_to_string(fixture(format)).unwrap();
        let ingestor = by_name(format).unwrap();
        let ids = |text: &str| -> Vec<String> {
            let (seen, _) = read(ingestor, Input::from_text("log.jsonl", text));
            seen.iter().flat_map(|part| &part.messages).map(|message| message.id.clone()).collect()
        };
        let all = ids(&whole);
        let half: String = whole.split_inclusive('\n').take(whole.lines().count() * 4 / 5).collect();
        let early = ids(&half);
        assert!(early.len() > 10 && early.len() < all.len());
        assert_eq!(all[..early.len()], early);
    }
}

#[test]
fn a_hostile_depth_of_nesting_is_survived() {
    let lists = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let objects = format!("{}1{}", r#"{"content":["#.repeat(100_000), "]}".repeat(100_000));
    for deep in [lists, objects] {
        let claude = format!(
            r#"{{"type":"user","uuid":"u","message":{{"role":"user","content":[{deep}]}},"toolUseResult":{deep}}}"#
        );
        let codex = format!(
            r#"{{"type":"response_item","payload":{{"type":"message","role":"user","content":[{deep}],"payload":{deep}}}}}"#
        );
        for (format, text) in FORMATS.into_iter().zip([claude, codex]) {
            let skipped = Skipped { record: 1, reason: "nested too deeply".to_owned() };
            assert_eq!(read(by_name(format).unwrap(), Input::from_text("log.jsonl", &text)), (vec![], vec![skipped]));
        }
    }
}

proptest! {
    #[test]
    fn a_log_cut_anywhere_keeps_what_stood_whole(format in prop::sample::select(&FORMATS[..]), share in 0.0..1.0_f64) {
        let bytes = std::fs::read(fixture(format)).unwrap();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let cut = (bytes.len() as f64 * share) as usize;
        let text = String::from_utf8_lossy(&bytes[..cut]);
        let (_, skipped) = read(by_name(format).unwrap(), Input::from_text("log.jsonl", &text));
        prop_assert!(skipped.len() <= 1);
    }

    #[test]
    fn damaged_bytes_never_panic(
        format in prop::sample::select(&FORMATS[..]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let mut bytes = std::fs::read(fixture(format)).unwrap();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        std::fs::write(&path, bytes).unwrap();
        let input = open(&path).unwrap();
        let _recognised = detect(&input).is_ok();
        let (seen, _) = read(by_name(format).unwrap(), input);
        prop_assert!(seen.iter().all(|part| part.messages.iter().all(|message| !message.text.is_empty())));
    }
}
