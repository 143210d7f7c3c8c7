//! Tests that memories from the offline rules contain only words of the conversation and of the sentence frames.
#![allow(clippy::unwrap_used, reason = "a fixture that cannot be read fails the test")]

use std::collections::BTreeSet;
use std::path::Path;

use afterthought::extract::{Span, Task, offline};
use afterthought::guard::Guard;
use afterthought::memory::Candidate;
use transcripts::Transcript;
use transcripts::{Logs, Sink, detect, detect_folder, discover};

/// Words of the sentence frames, and forms that "I", "we", "our" and irregular verbs are converted to.
const FRAME: &str = "the user user's team team's project project's assistant assistant's standing instruction said wants \
    to be used called does not is has was did will goes decided proposed by confirmed and which did work solved it what \
    problem error came up tried could would were on in of week rather than failed broke hung returned threw kept got stopped written uses \
    el usuario dijo der nutzer sagte";
/// The same for Chinese, by character.
const CHINESE_FRAME: &str =
    "用户团队的长期要求说希望使用被称为决定由助手提议确认问题解决办法了出现错误试过没有用那一周年月项目而不是";

fn words(text: &str) -> Vec<String> {
    let text = text.replace('’', "'").to_lowercase();
    let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '\''));
    parts.map(|word| word.trim_matches('\'').to_owned()).filter(|word| !word.is_empty()).collect()
}

const fn is_han(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}')
}

/// Returns whether `word` is `said`, possibly in another person or tense.
fn is_form_of(word: &str, said: &str) -> bool {
    let ending = |word: &str, said: &str| {
        word.strip_prefix(said).is_some_and(|rest| matches!(rest, "s" | "es" | "'s" | "ed" | "d"))
    };
    word == said
        || ending(word, said)
        || said.strip_suffix('y').is_some_and(|stem| word.strip_prefix(stem) == Some("ies"))
        || said.strip_suffix("es").or_else(|| said.strip_suffix('s')).is_some_and(|stem| ending(word, stem))
}

/// Returns the words in a candidate's content that nobody said.
fn foreign(found: &Candidate) -> Vec<String> {
    let quotes: String = found.evidence.iter().map(|piece| piece.quote.clone() + "\n").collect();
    let speakers = found.evidence.iter().filter_map(|piece| piece.speaker.as_deref()).collect::<Vec<_>>().join(" ");
    let said: BTreeSet<String> = words(&quotes).into_iter().chain(words(&speakers)).collect();
    let frame: BTreeSet<&str> = FRAME.split_whitespace().collect();
    let content = &found.claim.content;
    let times = || found.evidence.iter().filter_map(|piece| piece.said_at);
    // This allows "last year (2025)" in 2026, because relative dates are spelled out.
    let is_last_year = |word: &str| {
        content.contains(&format!("last year ({word})"))
            && times().any(|time| word.parse() == Ok(time.civil().year() - 1))
    };
    let known = |word: &str| {
        word.chars().all(|c| c.is_ascii_digit()) && content.contains(&format!("{word}-"))
            || content.contains(&format!("-{word}"))
            || is_last_year(word)
            || frame.contains(word)
            || said.iter().any(|said| is_form_of(word, said))
    };
    words(content)
        .into_iter()
        .flat_map(|word| if word.chars().any(is_han) { word.chars().map(String::from).collect() } else { vec![word] })
        .filter(|word| match word.chars().next() {
            Some(c) if is_han(c) => !quotes.contains(c) && !speakers.contains(c) && !CHINESE_FRAME.contains(c),
            Some(c) if c.is_ascii_digit() && quotes.chars().any(is_han) => false,
            _ => !known(word),
        })
        .collect()
}

fn fixtures() -> Vec<Transcript> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    for found in discover(&[root]).unwrap() {
        match Logs::open(&found.path).unwrap() {
            // A file that only accompanies a log, such as the metadata of a task, is not a separate log.
            Logs::File(input) => {
                if let Ok(ingestor) = detect(&input) {
                    ingestor.read(*input, &mut sink).unwrap();
                }
            }
            Logs::Folder(folder) => {
                if let Some(ingestor) = detect_folder(&folder) {
                    ingestor.read_folder(&folder, &mut sink).unwrap();
                }
            }
        }
    }
    seen
}

#[test]
fn each_word_of_a_memory_was_said_and_each_quote_stands_in_its_message() {
    let mut count = 0;
    for transcript in fixtures() {
        let transcript = Guard::default().clean_transcript(transcript).0.into_inner();
        let span = Span { context_start: 0, start: 0, end: transcript.messages.len() };
        let task = Task { transcript: &transcript, span, known: &[], instructions: None, categories: &[] };
        for found in offline::extract(&task).candidates {
            count += 1;
            assert_eq!(foreign(&found), Vec::<String>::new(), "{:?} {:?}", found.claim.content, found.evidence);
            for piece in &found.evidence {
                let message = transcript.messages.iter().find(|message| piece.messages.contains(&message.id)).unwrap();
                assert!(message.text.contains(&piece.quote), "{:?}", piece.quote);
            }
            let title = &found.claim.title;
            assert!((2..=60).contains(&title.chars().count()), "{title:?}");
        }
    }
    assert!(count >= 50, "only {count} memories");
}
