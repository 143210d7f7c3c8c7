//! Tests of eight processes that read and write one database: no process reports an error, and nothing is lost.
//!
//! In the suite, the processes run for some seconds. To start a longer run, use `AFTERTHOUGHT_SHARED_SECONDS=300 cargo
//! test --test it shared_file -- --nocapture`.

use afterthought::changeset::Action;
use afterthought::guard::Guard;
use afterthought::memory::{Claim, ExtractionMethod, Memory, MemoryType, Namespace, Status};
use afterthought::store::{Filter, JobEnd, JobRequest, Order, Store, StoreError};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PROCESSES: usize = 8;
const PLACE: &str = "AFTERTHOUGHT_SHARED_PLACE";

fn seconds() -> f64 {
    std::env::var("AFTERTHOUGHT_SHARED_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3.0)
}

fn timed(waits: &mut Vec<u64>, errors: &mut Vec<String>, write: impl FnOnce() -> Result<(), StoreError>) {
    let started = Instant::now();
    let ended = write();
    waits.push(u64::try_from(started.elapsed().as_micros()).unwrap());
    errors.extend(ended.err().map(|error| format!("{error:?}")));
}

/// One of the eight processes; does nothing unless a folder to work in is set.
#[test]
fn worker() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    let store = Store::open(&place).unwrap();
    let space: Namespace = "project/shared".parse().unwrap();
    let (begun, mut waits, mut errors, mut added, mut reads) = (Instant::now(), Vec::new(), Vec::new(), 0, 0);
    let mut number = 0_u32;
    while begun.elapsed().as_secs_f64() < seconds() {
        number += 1;
        let content = format!("Process {} counts to {number}.", std::process::id());
        let memory = Memory::new(
            Claim::new(MemoryType::Semantic, "fact", "Count", content),
            space.clone(),
            "test",
            ExtractionMethod::Manual,
            Timestamp::now(),
        );
        let id = memory.id.clone();
        let memory = Guard::default().redact(memory).0;
        let none = Guard::default().redact(Vec::new()).0;
        timed(&mut waits, &mut errors, || {
            store.write(None, Timestamp::now(), |w| w.insert(&memory, &none))?;
            added += 1;
            Ok(())
        });
        match number % 4 {
            0 => timed(&mut waits, &mut errors, || {
                store.write(None, Timestamp::now(), |w| {
                    w.set_status(&id, Status::Expired, Action::Expire, None).map(drop)
                })
            }),
            1 => timed(&mut waits, &mut errors, || {
                let request = JobRequest {
                    kind: "extract".into(),
                    key: format!("k{}", number % 20),
                    agent: "test".into(),
                    path: "p".into(),
                    project: None,
                    watermark: i64::from(number),
                    not_before: Timestamp::now(),
                };
                store.enqueue(&request, Timestamp::now())?;
                if let Some(held) = store.claim_job(Timestamp::now())? {
                    store.finish_job(&held, JobEnd::Done, Timestamp::now())?;
                }
                Ok(())
            }),
            _ => {}
        }
        let read = store
            .search_candidates("counts process", &Filter::default(), 5)
            .and_then(|_| store.list(&Filter::exactly(std::slice::from_ref(&space)), Order::Updated, 5, 0));
        reads += 2;
        if let Err(error) = read {
            errors.push(format!("{error:?}"));
        }
    }
    println!("WORKED {}", json!({"waits": waits, "errors": errors, "added": added, "reads": reads}));
}

#[test]
fn eight_processes_share_a_file_and_none_meets_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("memories.db");
    let workers: Vec<_> = (0..PROCESSES)
        .map(|_| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "shared_file::worker", "--nocapture"]).env(PLACE, &place);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let (mut waits, mut added, mut reads) = (Vec::new(), 0, 0);
    for worker in workers {
        let output = worker.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find_map(|line| Some(line.split_once("WORKED ")?.1));
        let told: Value = serde_json::from_str(line.unwrap_or_else(|| panic!("{text} {:?}", output.stderr))).unwrap();
        assert_eq!(told["errors"], json!([]));
        waits.extend(told["waits"].as_array().unwrap().iter().map(|wait| wait.as_u64().unwrap()));
        added += told["added"].as_u64().unwrap();
        reads += told["reads"].as_u64().unwrap();
    }
    waits.sort_unstable();
    let at = |share: usize| Duration::from_micros(waits[(waits.len() - 1) * share / 1000]);
    eprintln!(
        "{PROCESSES} processes, {} s: {} writes and {reads} reads, 0 errors; a write waits p50 {:?}, p99 {:?}, p99.9 {:?}, max {:?}",
        seconds(),
        waits.len(),
        at(500),
        at(990),
        at(999),
        at(1000)
    );
    let store = Store::open(&place).unwrap();
    let all = Filter { statuses: Vec::new(), ..Filter::default() };
    assert_eq!(store.count(&all).unwrap() as u64, added, "nothing is lost");
    assert_eq!(store.check().unwrap().flaws, []);
}
