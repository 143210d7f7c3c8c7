//! Tests of the resources that a process uses: it keeps few files open at a time and leaves no processes behind.

#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::world::World;

/// Runs the binary with at most `files` open files.
fn with_few_files(world: &World, files: u32, arguments: &[&str]) -> std::process::Output {
    let command = world.command(arguments);
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(world.path("")).arg("-c").arg(format!("ulimit -n {files} && exec \"$0\" \"$@\""));
    shell.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn thousands_of_logs_are_read_with_few_files_open() {
    let world = World::new(None);
    for number in 0..5_000 {
        let line = format!(
            "{{\"type\":\"user\",\"sessionId\":\"s{number}\",\"cwd\":\"/p\",\"uuid\":\"{number}\",\"isSidechain\":false,\
             \"parentUuid\":null,\"timestamp\":\"2026-03-01T09:00:00.000Z\",\
             \"message\":{{\"role\":\"user\",\"content\":\"ok\"}}}}\n"
        );
        fs::write(world.path(&format!("logs/{number}.jsonl")), line).unwrap();
    }
    let output = with_few_files(&world, 64, &["run", "logs", "--extractor", "rules", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    let summary: serde_json::Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    assert_eq!((&summary["files"]["read"], &summary["files"]["failed"]), (&5_000.into(), &0.into()), "{summary}");
}

/// Returns the number of processes that have this folder in their environment.
#[cfg(target_os = "linux")]
fn processes_of(world: &World) -> usize {
    let home = format!("HOME={}", world.path("").display());
    let home = home.trim_end_matches('/');
    let is_ours = |entry: fs::DirEntry| {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == home.as_bytes())
    };
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .filter(|entry| entry.path().exists())
        .map(is_ours)
        .filter(|ours| *ours)
        .count()
}

#[cfg(target_os = "linux")]
#[test]
fn hooks_leave_no_process_behind() {
    let world = World::new(None);
    fs::write(world.path("settings.toml"), "extractor = \"rules\"").unwrap();
    let mut most = 0;
    for number in 0..50 {
        let log = world.path(&format!("logs/{number}.jsonl"));
        let line = format!(
            "{{\"type\":\"user\",\"sessionId\":\"s{number}\",\"cwd\":\"/p\",\"uuid\":\"{number}\",\"isSidechain\":false,\
             \"parentUuid\":null,\"timestamp\":\"2026-03-01T09:00:00.000Z\",\
             \"message\":{{\"role\":\"user\",\"content\":\"I prefer tea number {number}.\"}}}}\n"
        );
        fs::write(&log, line).unwrap();
        let mut command = world.command(&["--config", "settings.toml", "hook", "session-end"]);
        let mut hook = command.stdin(Stdio::piped()).spawn().unwrap();
        let input = serde_json::json!({
            "session_id": format!("s{number}"), "transcript_path": log, "cwd": world.path(""), "hook_event_name": "SessionEnd",
            "reason": "exit",
        });
        hook.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        assert!(hook.wait().unwrap().success());
        most = most.max(processes_of(&world));
    }
    // Each finished hook has started at most one worker, and any further worker exits immediately.
    assert!(most <= 8, "{most} processes at a time");
    let begun = Instant::now();
    while processes_of(&world) > 0 && begun.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(processes_of(&world), 0, "all of them have ended");
    let jobs = world.good(&["runs", "queue", "--all", "--json"]);
    assert_eq!(jobs.lines().count(), 50, "and every session is in the list: {jobs}");
}
