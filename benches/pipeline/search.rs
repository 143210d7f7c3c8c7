//! How fast memories are found, beside a bare FTS5 query for any of the words.
//!
//! 100,000 memories by default; `AFTERTHOUGHT_BENCH_MEMORIES=1000000` measures with as many.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use afterthought::guard::Guard;
use afterthought::memory::{Claim, Evidence, ExtractionMethod, Memory, MemoryType, Namespace};
use afterthought::recall;
use afterthought::store::{Filter, STOP_WORDS, Store, StoreError};
use afterthought::transcript::MessageTime;
use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::random::Random;
use super::report::{Goal, Report, Row, figure, ms};

const MEMORIES: usize = 100_000;
/// Memories of one namespace.
const NAMESPACE: usize = 10_000;
/// Memories of one conversation in a row.
const SESSION: usize = 25;
const QUERIES: usize = 100;
const WORDS: usize = 20_000;
const WRITTEN_AT_ONCE: usize = 20_000;
const NAMES: &[&str] = &[
    "Caroline", "Melanie", "Jon", "Gina", "John", "Maria", "Joanna", "Nate", "Tim", "Audrey", "Andrew", "James",
    "Deborah", "Jolene", "Evan", "Sam", "Calvin", "Dave", "Ana", "Ben",
];
const SYLLABLES: &[&str] =
    &["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "du", "fa", "gen", "hil", "jor", "pan", "qui"];

/// Something that somebody said.
struct Line {
    namespace: usize,
    session: usize,
    name: &'static str,
    text: String,
}

/// Measures searches of one namespace and of the whole store.
pub fn measure(report: &mut Report) {
    let memories =
        std::env::var("AFTERTHOUGHT_BENCH_MEMORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(MEMORIES);
    let folder = tempfile::tempdir().unwrap();
    let (own, bare) = (folder.path().join("own.db"), folder.path().join("bare.db"));
    let lines = lines(memories);
    let (written, own_time) = timed(|| write(&own, &lines));
    let ((), bare_time) = timed(|| write_bare(&bare, &lines));
    let speed = |time: Duration| figure(memories) / time.as_secs_f64();
    report.add(
        Row::new(
            format!("{memories} memories written, at {WRITTEN_AT_ONCE} a transaction"),
            speed(own_time),
            "a second",
        )
        .beside("rows and FTS5 alone", speed(bare_time)),
    );
    let store = Store::open_read_only(&own).unwrap();
    let bare = Connection::open(&bare).unwrap();
    let queries = queries(&lines);
    add_namespace(report, &store, &bare, &queries, memories);
    add_whole(report, &store, &bare, &queries, memories);
    add_agreement(report, &store, &bare, &queries, &written);
}

fn add_namespace(report: &mut Report, store: &Store, bare: &Connection, queries: &[(usize, String)], memories: usize) {
    let search = |(namespace, query): &(usize, String)| {
        let filter = Filter::exactly(&[space(*namespace)]);
        recall::search(store, query, &filter, 10, Timestamp::now()).unwrap().len()
    };
    let plain = |(namespace, query): &(usize, String)| {
        let sql = "SELECT words.rowid FROM words JOIN lines ON lines.seq = words.rowid
                   WHERE words MATCH ?1 AND namespace = ?2 ORDER BY bm25(words) LIMIT 10";
        count(bare, sql, params![expression(query), i64::try_from(*namespace).unwrap()])
    };
    let what = format!("one namespace of {} within {memories}", NAMESPACE.min(memories));
    add(report, &what, 5.0, &times(queries, search), &times(queries, plain));
}

fn add_whole(report: &mut Report, store: &Store, bare: &Connection, queries: &[(usize, String)], memories: usize) {
    let search = |(_, query): &(usize, String)| {
        recall::search(store, query, &Filter::default(), 10, Timestamp::now()).unwrap().len()
    };
    let plain = |(_, query): &(usize, String)| {
        let sql = "SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY bm25(words) LIMIT 10";
        count(bare, sql, params![expression(query)])
    };
    let goal = if memories <= MEMORIES { 15.0 } else { 60.0 };
    add(report, &format!("whole store of {memories}"), goal, &times(queries, search), &times(queries, plain));
}

fn add(report: &mut Report, what: &str, goal: f64, own: &[Duration], bare: &[Duration]) {
    for (name, at) in [("p50", 50), ("p95", 95)] {
        let of = |times: &[Duration]| ms(times[(times.len() * at / 100).min(times.len() - 1)]);
        let row = Row::new(format!("{what}, {name}"), of(own), "ms").beside("bare FTS5 OR query", of(bare));
        report.add(if name == "p95" { row.goal(Goal::AtMost(goal)) } else { row });
    }
}

/// How many of the first ten by words are those of an FTS5 query that leaves nothing out.
fn add_agreement(report: &mut Report, store: &Store, bare: &Connection, queries: &[(usize, String)], ids: &[String]) {
    let sql = "SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY bm25(words, 2.0), rowid LIMIT 10";
    let (mut same, mut all) = (0, 0);
    for (_, query) in queries {
        let own = store.search_candidates(query, &Filter::default(), 10).unwrap();
        let own: BTreeSet<String> = own.into_iter().map(|hit| hit.memory.id.to_string()).collect();
        let mut statement = bare.prepare_cached(sql).unwrap();
        let found = statement.query_map([expression(query)], |row| row.get::<_, usize>(0)).unwrap();
        let found: Vec<String> = found.map(|row| ids[row.unwrap() - 1].clone()).collect();
        all += found.len();
        same += found.iter().filter(|id| own.contains(*id)).count();
    }
    let row = Row::new("the first ten of exhaustive BM25 among the first ten", figure(same) / figure(all), "of all");
    report.add(row.goal(Goal::AtLeast(0.95)));
}

fn times<T>(queries: &[T], mut ask: impl FnMut(&T) -> usize) -> Vec<Duration> {
    // The first round brings the file into memory.
    queries.iter().take(5).for_each(|query| assert!(ask(query) > 0));
    // By the clock: what is known of the processor is too coarse for one query.
    let clocked = |query| {
        let started = Instant::now();
        ask(query);
        started.elapsed()
    };
    let mut times: Vec<Duration> = queries.iter().map(clocked).collect();
    times.sort();
    times
}

/// Returns what `work` returns and its time on the processor where that is known, else all its time.
fn timed<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let (before, started) = (on_processor(), Instant::now());
    let result = work();
    let taken =
        before.zip(on_processor()).map_or_else(|| started.elapsed(), |(before, now)| now.saturating_sub(before));
    (result, taken)
}

fn on_processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

fn count(conn: &Connection, sql: &str, values: impl rusqlite::Params) -> usize {
    conn.prepare_cached(sql).unwrap().query_map(values, |row| row.get::<_, i64>(0)).unwrap().count()
}

fn expression(query: &str) -> String {
    let words = query.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let telling = words.filter(|word| !word.is_empty() && !STOP_WORDS.contains(&word.as_str()));
    telling.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ")
}

/// What people say: a third to a half of it words that tell little, the others as often as those of a language are.
fn lines(count: usize) -> Vec<Line> {
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

/// Questions about lines: who, and a few of the words.
fn queries(lines: &[Line]) -> Vec<(usize, String)> {
    let mut random = Random::new(13);
    let mut query = || {
        let line = &lines[random.below(lines.len())];
        let words = line.text.split(' ').skip(1).filter(|word| !STOP_WORDS.contains(word));
        let telling: Vec<&str> = words.collect();
        let wanted = random.between(2, 5);
        // Each word once: FTS5 counts a phrase that is asked for twice twice.
        let chosen: BTreeSet<&str> =
            (0..wanted).filter(|_| !telling.is_empty()).map(|_| random.pick(&telling)).collect();
        let chosen: Vec<&str> = chosen.into_iter().collect();
        (line.namespace, format!("What did {} {}?", line.name, chosen.join(" ")))
    };
    (0..QUERIES).map(|_| query()).collect()
}

/// The word of rank n comes in proportion to 1 / (n + 5).
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

fn space(number: usize) -> Namespace {
    Namespace::project(&format!("p{number}")).unwrap()
}

/// Writes the lines as memories and returns their ids.
fn write(database: &Path, lines: &[Line]) -> Vec<String> {
    let (store, guard, now) = (Store::open(database).unwrap(), Guard::default(), Timestamp::now());
    let mut ids = Vec::new();
    for lines in lines.chunks(WRITTEN_AT_ONCE) {
        let written: Result<(), StoreError> = store.write(None, now, |writer| {
            for line in lines {
                let claim = Claim::new(MemoryType::Semantic, "fact", "", &line.text);
                let memory = Memory::new(claim, space(line.namespace), "bench", ExtractionMethod::Auto, now);
                ids.push(memory.id.to_string());
                writer.insert(&guard.redact(memory).0, &guard.redact(vec![evidence(line)]).0)?;
            }
            Ok(())
        });
        written.unwrap();
    }
    ids
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

fn write_bare(database: &Path, lines: &[Line]) {
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
