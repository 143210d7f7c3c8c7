//! Runs the program and measures the resources that it uses.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Pause between two readings of a process's resources.
const PAUSE: Duration = Duration::from_millis(3);
/// Clock ticks per second, which Linux reports to every program.
const TICKS: f64 = 100.0;

/// Resources that a process used. Processor time and memory are only known on Linux, and are zero elsewhere.
#[derive(Debug, Default)]
pub struct Used {
    /// Elapsed time from the start of the process to its end.
    pub wall: Duration,
    /// Processor time in user and system mode together.
    pub cpu: Duration,
    /// Peak memory, in MB of 2^20 bytes.
    pub peak_mb: f64,
    /// Output of the process.
    pub printed: String,
    /// Whether the process has ended.
    pub ended: bool,
}

/// Returns a command that runs the program with only those settings that its arguments specify.
pub fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_afterthought"));
    command.current_dir(folder).env_clear().env("HOME", folder).arg("--db").arg(folder.join("memories.db"));
    command
}

/// Runs `command` to its end and checks that it succeeds.
pub fn run(command: &mut Command, folder: &Path) -> Used {
    let printed = folder.join("printed");
    let started = Instant::now();
    let mut child = command.stdout(File::create(&printed).unwrap()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut used = watch(&mut child);
    used.wall = started.elapsed();
    let status = child.wait().unwrap();
    assert!(status.success(), "{command:?} ended with {status}");
    used.printed = std::fs::read_to_string(printed).unwrap();
    used
}

/// Reads the resources until the process has ended. All of its processor time is known then, because the process has
/// not been waited for yet.
fn watch(child: &mut Child) -> Used {
    let mut used = Used::default();
    while let Some(now) = used_by(&child.id().to_string()) {
        // A process that has ended reports no memory.
        used = Used { peak_mb: now.peak_mb.max(used.peak_mb), ..now };
        if used.ended {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    used
}

/// Returns the resources that a process has used so far, or `None` if they are unknown.
pub fn used_by(process: &str) -> Option<Used> {
    let folder = format!("/proc/{process}");
    let stat = std::fs::read_to_string(format!("{folder}/stat")).ok()?;
    // The name in parentheses may contain anything; the state and numbers follow it.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    let status = std::fs::read_to_string(format!("{folder}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
    Some(Used {
        cpu: Duration::from_secs_f64(ticks / TICKS),
        peak_mb: peak.map_or(0.0, |kib| kib.parse::<f64>().unwrap() / 1024.0),
        ended: fields[0] == "Z",
        ..Used::default()
    })
}
