//! A PostgreSQL server for tests, in a temporary folder and on a socket.
//!
//! Tests that need the server are skipped where PostgreSQL is not installed, unless `AFTERTHOUGHT_POSTGRES=required`.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a panic here is a failed test")]
#![allow(unreachable_pub, reason = "tests of the library and of the program share this file")]
#![allow(dead_code, reason = "not every test uses everything")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A server that ends with the process that started it.
pub struct Server {
    folder: TempDir,
    programs: PathBuf,
    process: Option<Child>,
}

/// The server that all tests of a process share, if PostgreSQL is installed.
pub fn shared() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(Server::start).as_ref()
}

impl Server {
    /// Starts a server; `None` if PostgreSQL is not installed.
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            let is_required = std::env::var("AFTERTHOUGHT_POSTGRES").is_ok_and(|value| value == "required");
            assert!(!is_required, "PostgreSQL is not installed");
            eprintln!("skipped: PostgreSQL is not installed");
            return None;
        };
        let folder = TempDir::with_prefix("afterthought-pg").unwrap();
        let mut server = Self { folder, programs, process: None };
        let made = server.as_other_user("chown -R nobody .").status().unwrap();
        assert!(made.success() || !is_root(), "cannot prepare a folder for PostgreSQL");
        let initdb = server.programs.join("initdb");
        let made = server
            .command(&initdb)
            .args(["-D", "data", "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        server.run();
        Some(server)
    }

    /// Starts the server process, which ends when this process ends.
    fn run(&mut self) {
        let options = "-k \"$PWD\" -h '' -c fsync=off -c max_connections=60 -c logging_collector=off";
        // The shell waits for the end of its input, which the system closes when this process ends for any reason.
        let script = format!(
            "'{}' -D data {options} >>log 2>&1 </dev/null & server=$!; cat >/dev/null; kill -INT $server; wait $server; \
             test -e keep || rm -rf \"$PWD\"",
            self.programs.join("postgres").display()
        );
        let mut command = self.command(Path::new("sh"));
        let process = command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        self.process = Some(process.spawn().unwrap());
        let begun = Instant::now();
        while !self.psql("postgres", "SELECT 1") {
            assert!(begun.elapsed() < Duration::from_secs(20), "PostgreSQL does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Stops the server and starts it again after `pause`. Open connections are lost.
    pub fn restart(&mut self, pause: Duration) {
        fs::write(self.folder.path().join("keep"), "").unwrap();
        let mut process = self.process.take().unwrap();
        drop(process.stdin.take());
        process.wait().unwrap();
        fs::remove_file(self.folder.path().join("keep")).unwrap();
        std::thread::sleep(pause);
        self.run();
    }

    /// Creates an empty database, and returns its address.
    pub fn database(&self) -> String {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("test{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        assert!(self.psql("postgres", &format!("CREATE DATABASE {name}")));
        format!("postgres:///{name}?user=postgres&host={}", self.folder.path().display())
    }

    /// Runs SQL in a database, and returns whether this succeeded.
    pub fn psql(&self, database: &str, sql: &str) -> bool {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-X", "-q", "-U", "postgres", "-h"]).arg(self.folder.path()).args(["-d", database, "-c", sql]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    /// Returns the rows of a query with one column of text without line breaks.
    pub fn rows(&self, database: &str, sql: &str) -> Vec<String> {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-X", "-q", "-A", "-t", "-U", "postgres", "-h"]).arg(self.folder.path());
        let output = command.args(["-d", database, "-c", sql]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// Returns a command that runs in the folder of the server, and not as root.
    fn command(&self, program: &Path) -> Command {
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(self.folder.path()).env("HOME", self.folder.path());
        command
    }

    fn as_other_user(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(self.folder.path()).stderr(Stdio::null());
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            drop(process.stdin.take());
            process.wait().unwrap();
        }
    }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout == b"0\n")
}

/// Returns the folder with the programs of PostgreSQL.
fn programs() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    let has = |folder: &PathBuf| ["initdb", "postgres", "psql"].iter().all(|name| folder.join(name).is_file());
    folders.into_iter().find(has)
}
