//! The environment of one user: a home folder, a working folder, and the real binary.

#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A folder that is the home folder, working directory and location of the memories; removed when it is dropped.
pub struct Desk {
    folder: tempfile::TempDir,
}

/// The result of a command, in which the path of this desk's folder is replaced with `DESK`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Desk {
    /// Returns an empty desk.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Returns the path of `name`, which may not exist.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, creating its folders.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Writes the settings file of a project in a folder, and trusts it.
    pub fn settings(&self, folder: &str, text: &str) {
        self.write(&format!("{folder}/afterthought.toml"), text);
        let trusted = self.run(&["project", "trust", &self.path(folder).to_string_lossy(), "--yes"]);
        assert_eq!(trusted.code, 0, "{trusted:?}");
    }

    /// Returns a command that runs the binary in this folder, without environment variables that could affect it.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_afterthought"));
        command.args(args).current_dir(self.folder.path()).env_clear().stdin(Stdio::null());
        command.env("OLLAMA_HOST", "127.0.0.1:9");
        command.envs(super::world::key_of_tests().map(|key| ("AFTERTHOUGHT_DB_KEY", key)));
        for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "APPDATA", "LOCALAPPDATA"] {
            command.env(name, self.folder.path());
        }
        // Windows needs these variables to find its libraries.
        for name in ["SystemRoot", "windir", "PATH"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }

    /// Runs `afterthought` with `args`.
    pub fn run(&self, args: &[&str]) -> Told {
        self.finish(self.command(args))
    }

    /// Runs `command` to its end.
    pub fn finish(&self, mut command: Command) -> Told {
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).unwrap();
            text.replace(&self.folder.path().display().to_string(), "DESK")
        };
        Told { code: status.code().unwrap(), out: text(stdout), err: text(stderr) }
    }

    /// Runs with `--json`, expects success, and returns the printed values.
    pub fn json(&self, args: &[&str]) -> Vec<Value> {
        let mut command = self.command(args);
        command.arg("--json");
        let told = self.finish(command);
        assert_eq!(told.code, 0, "{args:?}: {told:?}");
        told.json()
    }

    /// Returns the content and status of every memory, in the order in which they were learnt.
    pub fn memories(&self) -> Vec<(String, String)> {
        self.told_by(&["export", "--all", "-q"])
    }

    /// Returns the content and status of every memory in another database.
    pub fn memories_in(&self, database: &str) -> Vec<(String, String)> {
        self.told_by(&["export", "--all", "-q", "--db", database])
    }

    fn told_by(&self, args: &[&str]) -> Vec<(String, String)> {
        let text = |value: &Value, field: &str| value[field].as_str().unwrap().to_owned();
        let told = self.run(args);
        told.json().iter().map(|memory| (text(memory, "status"), text(memory, "content"))).collect()
    }
}

impl Told {
    /// Returns the lines of standard output as JSON.
    pub fn json(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
