//! How much faster several workers are than one.
//!
//! The suite checks a loose limit. For the figures, use `AFTERTHOUGHT_MEASURE=1 cargo test --features scale --test it scale::measured -- --nocapture`.

use std::time::Instant;

use super::*;

#[test]
fn four_workers_are_several_times_as_fast_as_one() {
    let Some(server) = server::shared() else { return };
    let is_measured = std::env::var_os("AFTERTHOUGHT_MEASURE").is_some();
    let (namespaces, delay) = if is_measured { (16, 3_000) } else { (4, 1_500) };
    let time = |workers: usize| {
        let crew = Crew::new(server, namespaces, Duration::from_millis(delay));
        crew.fill();
        let begun = Instant::now();
        crew.work(workers);
        begun.elapsed()
    };
    let (one, four) = (time(1), time(4));
    let ratio = one.as_secs_f64() / four.as_secs_f64();
    eprintln!(
        "{namespaces} namespaces, {delay} ms a reply: {one:?} with one worker, {four:?} with four, {ratio:.2} times"
    );
    assert!(ratio > if is_measured { 3.6 } else { 1.2 }, "{ratio}");
}
