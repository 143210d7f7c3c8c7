//! How everything that reads a store grows with it: 10,000, 100,000 and 1,000,000 memories.
//!
//! Takes minutes and some 10 GB of the disk, so it is measured only where it is asked for by name.

use std::time::Instant;

use afterthought::config::MemorySettings;
use afterthought::lifecycle::{Rules, maintain};
use afterthought::recall::brief::{self, BriefRequest};
use afterthought::store::Store;
use jiff::Timestamp;

use super::lines::space;
use super::report::{Goal, Report, Row, figure, ms};
use super::search::Filled;

const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];
/// Briefs that are timed.
const BRIEFS: usize = 20;

/// Measures stores of each size, and how the times grow.
pub fn measure(report: &mut Report) {
    let mut before: Option<Vec<(&str, f64)>> = None;
    for size in SIZES {
        let now = measured(report, size);
        if let Some(before) = before {
            for ((what, from), (_, to)) in before.iter().zip(&now) {
                let what = format!("{what}: exponent of growth, {} to {size}", size / 10);
                report.add(Row::new(what, (to / from).log10(), "").goal(Goal::AtMost(1.0)));
            }
        }
        before = Some(now);
    }
}

/// Measures a store of so many memories, and returns the times whose growth is told.
fn measured(report: &mut Report, size: usize) -> Vec<(&'static str, f64)> {
    let folder = tempfile::tempdir().unwrap();
    let filled = Filled::new(folder.path(), size);
    filled.add_speed(report);
    let bytes = filled.file.metadata().unwrap().len();
    let kilobytes = figure(usize::try_from(bytes / 1_000).unwrap());
    report.add(Row::new(format!("{size}: file"), kilobytes / 1_000.0, "MB"));
    report.add(Row::new(format!("{size}: file, a memory"), kilobytes / figure(size), "KB"));
    let (one, all) = (filled.in_one(), filled.everywhere());
    let is_largest = SIZES.last() == Some(&size);
    one.add(report, is_largest.then_some(5.0));
    all.add(report, is_largest.then_some(60.0));
    filled.add_agreement(report);
    let (one, all, file) = (one.p95(), all.p95(), filled.file.clone());
    drop(filled);
    let store = Store::open(&file).unwrap();
    let told = brief(&store, size);
    report.add(Row::new(format!("{size}: brief of one namespace, p95"), told, "ms"));
    let kept = clocked(|| drop(maintain(&store, &Rules::default(), Timestamp::now()).unwrap()));
    report.add(Row::new(format!("{size}: maintain"), kept, "ms"));
    vec![("namespace, p95", one), ("whole store, p95", all), ("brief, p95", told), ("maintain", kept)]
}

fn brief(store: &Store, size: usize) -> f64 {
    let namespaces = size.div_ceil(super::lines::NAMESPACE);
    let settings = MemorySettings::default();
    let mut times: Vec<f64> = (0..BRIEFS)
        .map(|number| {
            let request = BriefRequest::of(&settings, vec![space(number % namespaces)], None);
            clocked(|| assert!(!brief::compose(store, &request, Timestamp::now()).unwrap().text.is_empty()))
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[BRIEFS * 95 / 100]
}

fn clocked(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    ms(started.elapsed())
}
