//! Speed of searches, compared with a bare FTS5 query for any of the words.
//!
//! The store has 100,000 memories by default; `AFTERTHOUGHT_BENCH_MEMORIES=20000` sets another number.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use afterthought::search::Search;
use afterthought::store::{Filter, STOP_WORDS, Store};
use jiff::Timestamp;
use rusqlite::{Connection, params};
use rust_stemmers::{Algorithm, Stemmer};

use super::lines::{Line, NAMESPACE, WRITTEN_AT_ONCE, lines, queries, space, write, write_bare};
use super::process;
use super::report::{Goal, Report, Row, figure, ms};

const MEMORIES: usize = 100_000;
/// The reference of a search for words.
const OR_QUERY: &str = "bare FTS5 OR query";

/// Measures searches of one namespace and of the whole store.
pub fn measure(report: &mut Report) {
    let memories =
        std::env::var("AFTERTHOUGHT_BENCH_MEMORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(MEMORIES);
    let folder = tempfile::tempdir().unwrap();
    let filled = Filled::new(folder.path(), memories);
    filled.add_speed(report);
    for (row, goal) in [(filled.in_one(), 5.0), (filled.everywhere(), if memories <= MEMORIES { 15.0 } else { 60.0 })] {
        row.add(report, Some(goal));
    }
    filled.literally().add(report, Some(if memories <= MEMORIES { 80.0 } else { 200.0 }));
    filled.add_agreement(report);
}

/// A store and a bare FTS5 index with the same lines, and questions about them.
pub struct Filled {
    memories: usize,
    /// The store's file.
    pub file: PathBuf,
    store: Store,
    bare: Connection,
    queries: Vec<(usize, String)>,
    ids: Vec<String>,
    exhaustive: Exhaustive,
    /// Elapsed time of writing the memories.
    pub seconds: f64,
    /// Peak memory while writing, beyond the memory that was in use before, in MB.
    pub written_with: f64,
    /// For our memories and for bare rows: the number written per second, and the processor time for each in
    /// microseconds.
    speeds: [[f64; 2]; 2],
}

/// The name of the store's file, which the program looks for in its folder.
pub const FILE: &str = "memories.db";

impl Filled {
    /// Writes this many lines.
    pub fn new(folder: &Path, memories: usize) -> Self {
        let (file, bare) = (folder.join(FILE), folder.join("bare.db"));
        let lines = lines(memories);
        let before = memory_of_process(true);
        let (ids, own_time, own_cpu) = on_all_processors(|| write(&file, &lines));
        let written_with = memory_of_process(false) - before;
        let ((), bare_time, bare_cpu) = on_all_processors(|| write_bare(&bare, &lines));
        let bare = Connection::open(bare).unwrap();
        let speeds = [(own_time, own_cpu), (bare_time, bare_cpu)].map(|(time, processors)| {
            [figure(memories) / time.as_secs_f64(), processors.as_secs_f64() * 1e6 / figure(memories)]
        });
        let (store, queries) = (Store::open_read_only(&file).unwrap(), queries(&lines));
        let (exhaustive, seconds) = (Exhaustive::of(&lines), own_time.as_secs_f64());
        Self { memories, file, store, bare, queries, ids, exhaustive, seconds, written_with, speeds }
    }

    /// Reports how fast the memories were written.
    pub fn add_speed(&self, report: &mut Report) {
        let what = format!("{} memories written, at {WRITTEN_AT_ONCE} a transaction", self.memories);
        let [[own, own_cpu], [bare, bare_cpu]] = self.speeds;
        let row = Row::new(what, own, "a second").beside("rows and FTS5 alone", bare);
        report.add(row.goal(Goal::AtLeast(20_000.0)));
        report.add(Row::new("processor time of each", own_cpu, "µs").beside("rows and FTS5 alone", bare_cpu));
    }

    /// Times searches of the namespace to which each question refers.
    pub fn in_one(&self) -> Times {
        let search = |(namespace, query): &(usize, String)| self.found(query, &Filter::exactly(&[space(*namespace)]));
        let plain = |(namespace, query): &(usize, String)| {
            let sql = "SELECT words.rowid FROM words JOIN lines ON lines.seq = words.rowid
                       WHERE words MATCH ?1 AND namespace = ?2 ORDER BY bm25(words) LIMIT 10";
            count(&self.bare, sql, params![expression(query), i64::try_from(*namespace).unwrap()])
        };
        let what = format!("one namespace of {} within {}", NAMESPACE.min(self.memories), self.memories);
        Times { what, reference: OR_QUERY, own: times(&self.queries, search), bare: times(&self.queries, plain) }
    }

    /// Times searches of everything.
    pub fn everywhere(&self) -> Times {
        let search = |(_, query): &(usize, String)| self.found(query, &Filter::default());
        let plain = |(_, query): &(usize, String)| {
            let sql = "SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY bm25(words) LIMIT 10";
            count(&self.bare, sql, params![expression(query)])
        };
        let what = format!("whole store of {}", self.memories);
        Times { what, reference: OR_QUERY, own: times(&self.queries, search), bare: times(&self.queries, plain) }
    }

    /// Times searches for parts of words, as they are typed; the reference reads all texts.
    pub fn literally(&self) -> Times {
        let part = |(_, query): &(usize, String)| {
            let word = query.trim_end_matches('?').rsplit(' ').next()?;
            Some(word.get(1..)?.to_owned()).filter(|part| part.len() > 3)
        };
        let parts: Vec<String> = self.queries.iter().filter_map(part).collect();
        let sql = "SELECT seq FROM lines WHERE instr(lower(text), ?1) > 0 ORDER BY namespace, seq LIMIT 10";
        let own = times(&parts, |part| self.found(part, &Filter::default()));
        let bare = times(&parts, |part| count(&self.bare, sql, [part]));
        Times {
            what: format!("parts of words, whole store of {}", self.memories),
            reference: "every text read",
            own,
            bare,
        }
    }

    /// Searches in the same way as the command.
    fn found(&self, query: &str, filter: &Filter) -> usize {
        let search = Search { with_beside: true, ..Search::new(query, filter, Timestamp::now()) };
        search.run(&self.store).unwrap().len()
    }

    /// Reports how many of the first ten results of a search by words agree with exhaustive BM25 using our formula, and
    /// with an FTS5 query, which uses other stems and another weight for rare words.
    pub fn add_agreement(&self, report: &mut Report) {
        let exhaustive = self.agreement(|query| self.exhaustive.first_ten(query));
        let row = Row::new("share of the first ten of exhaustive BM25 that is found", exhaustive, "");
        report.add(row.goal(Goal::AtLeast(0.95)));
        let sql = "SELECT rowid - 1 FROM words WHERE words MATCH ?1 ORDER BY bm25(words, 2.0), rowid LIMIT 10";
        let fts5 = self.agreement(|query| {
            let mut statement = self.bare.prepare_cached(sql).unwrap();
            let found = statement.query_map([expression(query)], |row| row.get(0)).unwrap();
            found.map(Result::unwrap).collect()
        });
        report.add(Row::new("share of the first ten of FTS5 that is found", fts5, ""));
    }

    fn agreement(&self, first_ten: impl Fn(&str) -> Vec<usize>) -> f64 {
        let (mut same, mut all) = (0, 0);
        for (_, query) in &self.queries {
            let own = self.store.search_candidates(query, &Filter::default(), 10).unwrap();
            let own: BTreeSet<String> = own.into_iter().map(|hit| hit.memory.id.to_string()).collect();
            let expected = first_ten(query);
            all += expected.len();
            same += expected.into_iter().filter(|row| own.contains(&self.ids[*row])).count();
        }
        figure(same) / figure(all)
    }
}

/// Times of searches and of bare queries.
pub struct Times {
    what: String,
    reference: &'static str,
    own: Taken,
    bare: Taken,
}

/// The elapsed times of all searches in ascending order, and the average processor time.
struct Taken {
    each: Vec<Duration>,
    on_processor: Duration,
}

impl Times {
    /// Reports the median, the 95th and the 99th percentile; `goal` applies to the second of them.
    pub fn add(&self, report: &mut Report, goal: Option<f64>) {
        for (name, share) in [("p50", 50), ("p95", 95), ("p99", 99)] {
            let row = Row::new(format!("{}, {name}", self.what), self.own.at(share), "ms");
            let row = row.beside(self.reference, self.bare.at(share));
            report.add(match goal.filter(|_| share == 95) {
                Some(goal) => row.goal(Goal::AtMost(goal)),
                None => row,
            });
        }
        let row = Row::new(format!("{}, average processor time", self.what), ms(self.own.on_processor), "ms");
        report.add(row.beside(self.reference, ms(self.bare.on_processor)));
    }

    /// Returns the times in ms that [`Times::add`] reports, with their names.
    pub fn figures(&self) -> [(&'static str, f64); 3] {
        [("p50", 50), ("p95", 95), ("p99", 99)].map(|(name, share)| (name, self.own.at(share)))
    }
}

impl Taken {
    fn at(&self, share: usize) -> f64 {
        ms(self.each[(self.each.len() * share / 100).min(self.each.len() - 1)])
    }
}

fn times<T>(queries: &[T], mut ask: impl FnMut(&T) -> usize) -> Taken {
    // The first round loads the file into memory.
    queries.iter().take(5).for_each(|query| assert!(ask(query) > 0));
    // Elapsed time is used, because processor time is too coarse for one query.
    let clocked = |query| {
        let started = Instant::now();
        ask(query);
        started.elapsed()
    };
    let (mut each, all): (Vec<Duration>, Duration) = timed(|| queries.iter().map(clocked).collect());
    each.sort();
    Taken { each, on_processor: all / u32::try_from(queries.len()).unwrap_or(u32::MAX) }
}

fn count(conn: &Connection, sql: &str, values: impl rusqlite::Params) -> usize {
    conn.prepare_cached(sql).unwrap().query_map(values, |row| row.get::<_, i64>(0)).unwrap().count()
}

/// An index of the stems of every line that scores all lines: BM25 without shortcuts.
struct Exhaustive {
    numbers: HashMap<String, u32>,
    lines: Vec<Vec<u32>>,
    usual: f64,
}

impl Exhaustive {
    fn of(lines: &[Line]) -> Self {
        let mut numbers = HashMap::new();
        let lines: Vec<Vec<u32>> = lines
            .iter()
            .map(|line| {
                let number = |stem| {
                    let next = u32::try_from(numbers.len()).unwrap();
                    *numbers.entry(stem).or_insert(next)
                };
                stems(&line.text).into_iter().map(number).collect()
            })
            .collect();
        let usual = figure(lines.iter().map(Vec::len).sum()) / figure(lines.len());
        Self { numbers, lines, usual }
    }

    /// Returns the first ten lines, ranked by the formula in `docs/reference/search.md`; ties are ordered by row.
    fn first_ten(&self, query: &str) -> Vec<usize> {
        let asked: BTreeSet<u32> =
            telling(query).filter_map(|word| self.numbers.get(&stems(&word).concat()).copied()).collect();
        let times = |line: &[u32], stem| line.iter().filter(|one| **one == stem).count();
        let mut scores = vec![0.0; self.lines.len()];
        for stem in asked {
            let found: Vec<usize> = self.lines.iter().map(|line| times(line, stem)).collect();
            let (all, holders) = (figure(found.len()), figure(found.iter().filter(|found| **found > 0).count()));
            let rarity = ((all - holders + 0.5) / (holders + 0.5)).ln_1p();
            for ((score, line), found) in scores.iter_mut().zip(&self.lines).zip(found) {
                // The text is the content of the memory, which has a weight of 2.
                let weight = 2.0 * figure(found);
                let length = 0.25 + 0.75 * figure(line.len()) / self.usual;
                *score += rarity * weight * 2.2 / (weight + 1.2 * length);
            }
        }
        let mut best: Vec<usize> = (0..scores.len()).filter(|row| scores[*row] > 0.0).collect();
        best.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        best.truncate(10);
        best
    }
}

fn stems(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| stemmer.stem(&word.to_lowercase()).into_owned()).collect()
}

/// Returns the words of a query that the search uses.
fn telling(query: &str) -> impl Iterator<Item = String> {
    let words = query.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| !word.is_empty() && !STOP_WORDS.contains(&word.as_str()))
}

fn expression(query: &str) -> String {
    telling(query).map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ")
}

/// Returns the result of `work` and its processor time, or the elapsed time where processor time is unknown.
pub fn timed<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let (before, started) = (on_processor(), Instant::now());
    let result = work();
    let taken =
        before.zip(on_processor()).map_or_else(|| started.elapsed(), |(before, now)| now.saturating_sub(before));
    (result, taken)
}

/// Returns the result of `work`, the elapsed time, and the processor time of all threads of this process. The processor
/// time is only known on Linux, to a hundredth of a second.
fn on_all_processors<R>(work: impl FnOnce() -> R) -> (R, Duration, Duration) {
    let used = || process::used_by("self").map_or(Duration::ZERO, |used| used.cpu);
    let (before, started) = (used(), Instant::now());
    let result = work();
    (result, started.elapsed(), used().saturating_sub(before))
}

/// Returns the peak memory of this process in MB. If `anew` is set, resets the peak first, where the system allows it.
fn memory_of_process(anew: bool) -> f64 {
    if anew {
        // Only Linux supports this; elsewhere the figure is 0.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
    }
    process::used_by("self").map_or(0.0, |used| used.peak_mb)
}

/// Converts bytes to MB.
pub fn megabytes(bytes: u64) -> f64 {
    figure(usize::try_from(bytes / 1_000).unwrap()) / 1_000.0
}

fn on_processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}
