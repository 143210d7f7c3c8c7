//! Memory use as logs grow.

use std::io::BufWriter;
use std::path::Path;

use super::generate::{Session, Tools};
use super::process::{self, Used};
use super::random::Random;
use super::report::{Goal, Report, Row};

/// Sizes of the logs; the first is the reference for the second.
const MEGABYTES: [usize; 2] = [100, 300];

/// Measures runs of the offline rules on a log of 100 MB and on one of 300 MB.
pub fn measure(report: &mut Report) {
    let [small, large] = MEGABYTES.map(run);
    let [small_size, large_size] = MEGABYTES;
    report.add(
        Row::new(format!("peak memory, {large_size} MB"), large.peak_mb, "MB")
            .goal(Goal::AtMost(1.1 * small.peak_mb))
            .beside(format!("{small_size} MB"), small.peak_mb),
    );
    let speed = |used: &Used, megabytes: usize| super::report::figure(megabytes) / used.wall.as_secs_f64();
    report.add(
        Row::new(format!("whole run with the rules, {large_size} MB"), speed(&large, large_size), "MB/s")
            .beside(format!("{small_size} MB"), speed(&small, small_size)),
    );
}

fn run(megabytes: usize) -> Used {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("long.jsonl");
    write_log(&log, megabytes * 1_000_000);
    let mut command = process::program(folder.path());
    command.args(["--json", "--quiet", "run", "--extractor", "rules"]).arg(&log);
    process::run(&mut command, folder.path())
}

fn write_log(path: &Path, bytes: usize) {
    let mut random = Random::new(8);
    let mut out = BufWriter::new(Counted { file: std::fs::File::create(path).unwrap(), bytes: 0 });
    let mut session = Session::new(&mut random, 0, "/home/ana/shop", Tools::Mostly);
    while out.get_ref().bytes < bytes {
        session.turn(&mut out);
    }
}

/// A file, and the number of bytes written to it.
struct Counted {
    file: std::fs::File,
    bytes: usize,
}

impl std::io::Write for Counted {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(buffer)?;
        self.bytes += written;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
