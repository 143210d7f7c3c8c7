//! The digest of a task, and the words for finding the task.

use std::collections::{BTreeMap, BTreeSet};

use crate::memory::{TaskFile, TaskRecord};
use crate::text::code::code_words;

/// Maximum length of each field that is read, in bytes.
const GOAL_BYTES: usize = 4_000;
const REPORT_BYTES: usize = 2_000;
const REMARKS_BYTES: usize = 1_200;
const FILES_BYTES: usize = 900;
const SYMBOLS_BYTES: usize = 1_200;
const COMMANDS_BYTES: usize = 600;
const ERRORS_BYTES: usize = 900;
/// Maximum total size of the words of a digest in bytes; each word counts once, including the space after it.
const DIGEST_BYTES: usize = 2_048;
/// Maximum number and weight of the words of a task that no field contains.
const FURTHER_WORDS: usize = 80;
const FURTHER_WEIGHT: u32 = 2;
/// Size in bytes of a word in an index: the number and the weight of the word.
const WORD_BYTES: usize = 5;

/// Returns the texts of a task that are searched, with the weights of their words, the most useful texts first.
fn fields(record: &TaskRecord) -> [(u32, String); 7] {
    let report = record.report.as_ref().map_or("", |report| report.text.as_str());
    let changed = record.files.iter().filter(|file| file.is_changed()).map(|file| file.path.as_str());
    let read = record.files.iter().filter(|file: &&TaskFile| !file.is_changed()).map(|file| file.path.as_str());
    let commands = record.commands.iter().filter_map(|command| command.signature.as_deref());
    let mut known: Vec<&str> = Vec::new();
    let commands = commands.filter(|command| {
        let is_new = !known.contains(command);
        known.push(command);
        is_new
    });
    [
        (4, joined(changed.chain(read), FILES_BYTES)),
        (2, joined(record.symbols.iter().map(String::as_str), SYMBOLS_BYTES)),
        (2, clipped(&record.goal, GOAL_BYTES).to_owned()),
        (2, joined(record.errors.iter().map(|error| error.line.as_str()), ERRORS_BYTES)),
        (2, clipped(report, REPORT_BYTES).to_owned()),
        (2, joined(record.remarks.iter().map(|remark| remark.text.as_str()), REMARKS_BYTES)),
        (1, joined(commands, COMMANDS_BYTES)),
    ]
}

/// Returns the digest of a task: its words, up to 2 KB in total, with weights.
pub(super) fn digest(record: &TaskRecord) -> BTreeMap<String, u32> {
    let (mut weights, mut left): (BTreeMap<String, u32>, usize) = (BTreeMap::new(), DIGEST_BYTES);
    for (weight, text) in fields(record) {
        code_words(&text, |word| {
            if let Some(known) = weights.get_mut(word) {
                *known += weight;
            } else if left > word.len() {
                left -= word.len() + 1;
                weights.insert(word.to_owned(), weight);
            }
        });
    }
    weights
}

fn clipped(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit.min(text.len()))]
}

/// Joins as many texts as fit, with spaces between them.
fn joined<'t>(texts: impl Iterator<Item = &'t str>, limit: usize) -> String {
    let mut all = String::new();
    for text in texts {
        if !all.is_empty() && all.len() + text.len() >= limit {
            break;
        }
        all.extend([clipped(text, limit), " "]);
    }
    all
}

/// Returns the first of `words` that the digest does not contain.
pub(crate) fn further_words(record: &TaskRecord, words: impl Iterator<Item = u32>) -> Vec<u32> {
    let known: BTreeSet<u32> = digest(record).keys().map(|word| word_number(word)).collect();
    words.filter(|number| !known.contains(number)).take(FURTHER_WORDS).collect()
}

/// Returns the length of a task's digest with its further words, and the words in stored form.
pub(super) fn task_words(record: &TaskRecord) -> (u32, Vec<u8>) {
    let (mut numbers, mut length): (BTreeMap<u32, u32>, u32) = (BTreeMap::new(), 0);
    for (word, weight) in digest(record) {
        length += weight;
        *numbers.entry(word_number(&word)).or_default() += weight;
    }
    for number in record.words.iter().take(FURTHER_WORDS) {
        numbers.entry(*number).or_insert_with(|| {
            length += FURTHER_WEIGHT;
            FURTHER_WEIGHT
        });
    }
    let mut words = Vec::with_capacity(numbers.len() * WORD_BYTES);
    for (number, weight) in numbers {
        words.extend(number.to_le_bytes());
        words.push(u8::try_from(weight).unwrap_or(u8::MAX));
    }
    (length, words)
}

/// Returns the pairs of a word's number and weight, sorted by number.
pub(crate) fn stored_words(words: &[u8]) -> impl Iterator<Item = (u32, u8)> + '_ {
    words.chunks_exact(WORD_BYTES).map(|pair| (u32::from_le_bytes([pair[0], pair[1], pair[2], pair[3]]), pair[4]))
}

/// Returns the number of a word.
pub(crate) fn word_number(word: &str) -> u32 {
    let mut hash: u32 = 0x811c_9dc5;
    for byte in word.bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash
}
