//! How every operation that reads or writes a store scales: 10,000, 100,000 and 1,000,000 memories.
//!
//! The measurement takes minutes and about 10 GB of disk space, so it runs only if it is named on the command line.
//! `AFTERTHOUGHT_BENCH_SIZES=2000,20000` sets the sizes of the stores.

use std::path::Path;
use std::time::Instant;

use afterthought::config::MemorySettings;
use afterthought::search::brief::{self, BriefRequest};
use afterthought::store::Store;
use jiff::Timestamp;

use super::lines::{NAMESPACE, space};
use super::process;
use super::report::{Goal, Report, Row, figure, ms};
use super::search::{FILE, Filled, megabytes};

const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];
/// Number of briefs that are timed.
const BRIEFS: usize = 20;
/// The commands that are timed, with their arguments.
const COMMANDS: &[(&str, &[&str])] =
    &[("search", &["search", "cache", "bakeli"]), ("maintain", &["db", "maintain"]), ("check", &["db", "check"])];

/// A figure that grows with the store: its name, value and unit.
type Grown = (String, f64, &'static str);

/// Measures stores of each size, and the growth of the figures from size to size.
pub fn measure(report: &mut Report) {
    let sizes = sizes();
    let mut all: Vec<Vec<Grown>> = Vec::new();
    for size in &sizes {
        let started = Instant::now();
        all.push(measured(report, *size, sizes.last() == Some(size)));
        eprintln!("  {size} memories: done in {:.0} s", started.elapsed().as_secs_f64());
    }
    for (pair, sizes) in all.windows(2).zip(sizes.windows(2)) {
        let steps = (figure(sizes[1]) / figure(sizes[0])).log10();
        for ((what, from, unit), (_, to, _)) in pair[0].iter().zip(&pair[1]) {
            let what = format!("{what}, {} to {} memories: {from:.1} to {to:.1} {unit}, exponent", sizes[0], sizes[1]);
            report.add(Row::new(what, (to / from).log10() / steps, "").goal(Goal::AtMost(1.0)));
        }
    }
}

fn sizes() -> Vec<usize> {
    let named = std::env::var("AFTERTHOUGHT_BENCH_SIZES").unwrap_or_default();
    let named: Vec<usize> = named.split(',').filter_map(|size| size.trim().parse().ok()).collect();
    if named.is_empty() { SIZES.to_vec() } else { named }
}

/// Measures a store of this many memories, and returns the figures whose growth is reported.
fn measured(report: &mut Report, size: usize, is_largest: bool) -> Vec<Grown> {
    let folder = tempfile::tempdir().unwrap();
    eprintln!("  {size} memories: writing …");
    let filled = Filled::new(folder.path(), size);
    filled.add_speed(report);
    report.add(Row::new(format!("{size}: memory for writing, without that of the lines"), filled.written_with, "MB"));
    let megabytes = megabytes(filled.file.metadata().unwrap().len());
    report.add(Row::new(format!("{size}: file size per memory"), megabytes * 1_000.0 / figure(size), "KB"));
    eprintln!("  {size} memories: searching …");
    let (one, all) = (filled.in_one(), filled.everywhere());
    one.add(report, is_largest.then_some(5.0));
    all.add(report, is_largest.then_some(60.0));
    filled.add_agreement(report);
    let mut grown = vec![("writing all".to_owned(), filled.seconds * 1e3, "ms")];
    for (where_, times) in [("namespace", &one), ("whole store", &all)] {
        grown.extend(times.figures().map(|(name, value)| (format!("search, {where_}, {name}"), value, "ms")));
    }
    drop(filled);
    let mut told = vec![("file".to_owned(), megabytes, "MB")];
    eprintln!("  {size} memories: brief, search, maintain, check …");
    told.push(("brief of one namespace, p95".to_owned(), brief(&folder.path().join(FILE), size), "ms"));
    for (what, arguments) in COMMANDS {
        let used = process::run(process::program(folder.path()).args(*arguments), folder.path());
        told.push((format!("{what}, whole process"), ms(used.wall), "ms"));
        told.push((format!("{what}, peak memory"), used.peak_mb, "MB"));
    }
    for (what, value, unit) in &told {
        report.add(Row::new(format!("{size}: {what}"), *value, unit));
    }
    grown.extend(told);
    grown
}

fn brief(database: &Path, size: usize) -> f64 {
    let store = Store::open(database).unwrap();
    let namespaces = size.div_ceil(NAMESPACE);
    let settings = MemorySettings::default();
    // The first brief prepares what all briefs need, so it is not timed.
    let mut times: Vec<f64> = (0..=BRIEFS)
        .map(|number| {
            let request = BriefRequest::of(&settings, vec![space(number % namespaces)], None);
            let started = Instant::now();
            assert!(!brief::compose(&store, &request, Timestamp::now()).unwrap().text.is_empty());
            ms(started.elapsed())
        })
        .skip(1)
        .collect();
    times.sort_by(f64::total_cmp);
    times[BRIEFS * 95 / 100 - 1]
}
