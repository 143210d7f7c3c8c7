//! Random statements by people, stored as memories and as bare rows, and questions about these statements.

use std::collections::BTreeSet;
use std::path::Path;

use afterthought::guard::Guard;
use afterthought::memory::{Claim, Evidence, ExtractionMethod, Memory, MemoryId, MemoryType, Namespace};
use afterthought::store::{STOP_WORDS, Store, StoreError};
use jiff::Timestamp;
use rusqlite::{Connection, params};
use transcripts::MessageTime;

use super::random::Random;

/// Number of memories in a namespace.
pub const NAMESPACE: usize = 10_000;
/// Number of consecutive memories from one conversation.
const SESSION: usize = 25;
const QUERIES: usize = 200;
const WORDS: usize = 20_000;
/// Number of memories that one transaction writes.
pub const WRITTEN_AT_ONCE: usize = 20_000;
const NAMES: &[&str] = &[
    "Caroline", "Melanie", "Jon", "Gina", "John", "Maria", "Joanna", "Nate", "Tim", "Audrey", "Andrew", "James",
    "Deborah", "Jolene", "Evan", "Sam", "Calvin", "Dave", "Ana", "Ben",
];
const SYLLABLES: &[&str] =
    &["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "du", "fa", "gen", "hil", "jor", "pan", "qui"];

/// A statement that somebody made.
pub struct Line {
    pub namespace: usize,
    session: usize,
    name: &'static str,
    /// The statement, preceded by the speaker's name.
    pub text: String,
}

/// Returns random statements. A third to a half of the words are function words; the frequencies of the others follow
/// those of a natural language.
pub fn lines(count: usize) -> Vec<Line> {
    let mut random = Random::new(11);
    let namespaces = count.div_ceil(NAMESPACE);
    let shares = shares();
    (0..count)
        .map(|index| {
            let session = index / SESSION;
            let namespace = session % namespaces;
            let name = NAMES[(namespace * 2 + index % 2) % NAMES.len()];
            let length = random.between(8, 40);
            let words: Vec<String> = (0..length)
                .map(|_| match random.below(100) {
                    0..45 => random.pick(STOP_WORDS).to_owned(),
                    _ => word(draw(&shares, &mut random)),
                })
                .collect();
            Line { namespace, session, name, text: format!("{name}: {}", words.join(" ")) }
        })
        .collect()
}

/// Returns questions about the lines, each containing the speaker and a few words of one line.
pub fn queries(lines: &[Line]) -> Vec<(usize, String)> {
    let mut random = Random::new(13);
    let mut query = || {
        let line = &lines[random.below(lines.len())];
        let words = line.text.split(' ').skip(1).filter(|word| !STOP_WORDS.contains(word));
        let telling: Vec<&str> = words.collect();
        let wanted = random.between(2, 5);
        // Each word is used once, because FTS5 counts a repeated phrase twice.
        let chosen: BTreeSet<&str> =
            (0..wanted).filter(|_| !telling.is_empty()).map(|_| random.pick(&telling)).collect();
        let chosen: Vec<&str> = chosen.into_iter().collect();
        (line.namespace, format!("What did {} {}?", line.name, chosen.join(" ")))
    };
    (0..QUERIES).map(|_| query()).collect()
}

/// Returns cumulative word frequencies; the frequency of rank n is proportional to 1 / (n + 5).
fn shares() -> Vec<usize> {
    let mut sum = 0;
    (0..WORDS)
        .map(|rank| {
            sum += 100_000_000 / (rank + 6);
            sum
        })
        .collect()
}

fn draw(shares: &[usize], random: &mut Random) -> usize {
    let at = random.below(*shares.last().unwrap());
    shares.partition_point(|share| *share <= at)
}

fn word(rank: usize) -> String {
    let parts = [rank % 16, rank / 16 % 16, rank / 256 % 16, rank / 4096];
    let many = 2 + usize::from(rank >= 256) + usize::from(rank >= 4096);
    parts[..many].iter().map(|part| SYLLABLES[*part]).collect()
}

/// Returns the namespace with this number.
pub fn space(number: usize) -> Namespace {
    Namespace::project(&format!("p{number}")).unwrap()
}

/// Writes the lines as memories and returns their ids.
pub fn write(database: &Path, lines: &[Line]) -> Vec<String> {
    let (store, guard, now) = (Store::open(database).unwrap(), Guard::default(), Timestamp::now());
    let lines: Vec<(MemoryId, &Line)> = lines.iter().map(|line| (MemoryId::new(), line)).collect();
    let new = |(id, line): &(MemoryId, &Line)| {
        let claim = Claim::new(MemoryType::Semantic, "fact", "", &line.text);
        let memory = Memory::new(claim, space(line.namespace), "bench", ExtractionMethod::Auto, now);
        (guard.redact(Memory { id: id.clone(), ..memory }).0, guard.redact(vec![evidence(line)]).0)
    };
    for lines in lines.chunks(WRITTEN_AT_ONCE) {
        store.write::<_, StoreError>(None, now, |writer| writer.insert_all(lines, new)).unwrap();
    }
    lines.into_iter().map(|(id, _)| id.to_string()).collect()
}

fn evidence(line: &Line) -> Evidence {
    let said = Timestamp::from_second(1_700_000_000 + i64::try_from(line.session).unwrap() * 3_600).unwrap();
    Evidence {
        transcript: format!("bench:{}", line.session),
        messages: vec![format!("m{}", line.session)],
        quote: String::new(),
        speaker: Some(line.name.to_owned()),
        said_at: Some(MessageTime::logged(said)),
        content_hash: String::new(),
    }
}

/// Writes the lines as bare rows with an FTS5 index.
pub fn write_bare(database: &Path, lines: &[Line]) {
    let mut conn = Connection::open(database).unwrap();
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
         CREATE TABLE lines (seq INTEGER PRIMARY KEY, namespace INTEGER, text TEXT);
         CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'porter unicode61');",
    )
    .unwrap();
    for lines in lines.chunks(WRITTEN_AT_ONCE) {
        let transaction = conn.transaction().unwrap();
        for line in lines {
            let insert = "INSERT INTO lines (namespace, text) VALUES (?1, ?2)";
            let namespace = i64::try_from(line.namespace).unwrap();
            transaction.prepare_cached(insert).unwrap().execute(params![namespace, line.text]).unwrap();
            let index = "INSERT INTO words (rowid, text) VALUES (last_insert_rowid(), ?1)";
            transaction.prepare_cached(index).unwrap().execute([&line.text]).unwrap();
        }
        transaction.commit().unwrap();
    }
}
