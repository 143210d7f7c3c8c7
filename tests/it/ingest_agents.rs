//! Tests of the logs of Claude Code and Codex, which grow while they are read.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use transcripts::Transcript;
use transcripts::{Ingestor, Input, Sink, Skipped, by_name};

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
            // Content of an unknown type is ignored at any nesting depth; content that would be kept is rejected if it
            // is nested too deeply.
            let (seen, skipped) = read(by_name(format).unwrap(), Input::from_text("log.jsonl", &text));
            assert_eq!(seen, vec![]);
            assert!(skipped.iter().all(|skipped| skipped.reason == "nested too deeply"), "{skipped:?}");
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
}
