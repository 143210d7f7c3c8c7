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

/// Logs, and the statements in each.
const LOGS: usize = 24;
const STATEMENTS: usize = 40;

/// Waits for the end of a process, and returns its processor time in user and system mode.
#[cfg(target_os = "linux")]
fn processor_time(mut child: Child) -> Duration {
    /// Clock ticks per second, which Linux reports to every program.
    const TICKS: f64 = 100.0;
    let path = format!("/proc/{}/stat", child.id());
    // A process that has ended keeps its figures until it is waited for.
    let used = loop {
        let text = std::fs::read_to_string(&path).unwrap();
        let fields: Vec<&str> = text.rsplit_once(") ").unwrap().1.split(' ').collect();
        if fields[0] == "Z" {
            break fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
    Duration::from_secs_f64(used / TICKS)
}

#[test]
#[cfg(target_os = "linux")]
fn a_worker_needs_hardly_more_processor_time_than_a_run() {
    let Some(server) = server::shared() else { return };
    let is_measured = std::env::var_os("AFTERTHOUGHT_MEASURE").is_some();
    let logs = if is_measured { LOGS } else { 3 };
    let model = Server::start(Duration::ZERO);
    let (world, address) = (World::new(Some(&model)), server.database());
    std::fs::write(world.path("settings.toml"), SETTINGS).unwrap();
    for log in 0..logs {
        let facts: Vec<Fact> = (0..STATEMENTS)
            .map(|at| (FACTS[at % FACTS.len()].0, u32::try_from(20_000 + log * STATEMENTS + at).unwrap()))
            .collect();
        world.session(&format!("log{log:02}"), 1 + u32::try_from(log).unwrap(), &facts);
    }
    let spawn = |arguments: &[&str]| {
        let mut command = world.command(&[arguments, &["--config", "settings.toml", "--quiet"]].concat());
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
    };
    let run = processor_time(spawn(&["run", "logs", "--namespace", "team/t0", "--db", "single.db"]));
    let asked = model.windows();
    let fill = processor_time(spawn(&["run", "logs", "--namespace", "team/t0", "--queue", &address]));
    let worker = processor_time(spawn(&["serve", "worker", "--queue", &address, "--once", "--cache", "cache"]));
    assert_eq!(model.windows(), 2 * asked, "a worker sends as many requests as a run");
    let (messages, ratio) = (logs * STATEMENTS * 2, worker.as_secs_f64() / run.as_secs_f64());
    #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
    let each = |time: Duration| time.as_secs_f64() * 1e3 / messages as f64;
    eprintln!(
        "{messages} messages in {logs} logs: {:.3} ms of processor time a message in a run, {:.3} ms in a worker, {ratio:.2} \
         times, and {:.3} ms to fill the queue",
        each(run),
        each(worker),
        each(fill),
    );
    assert!(ratio < if is_measured { 1.2 } else { 3.0 }, "{ratio}");
}
