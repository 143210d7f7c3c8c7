//! Settings of a person, of a project, and of the environment.
#![no_main]

use afterthought::config::{Config, Folders, Partial};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (user, project) = (folder.path().join("user.toml"), folder.path().join("afterthought.toml"));
    let written = if bytes.len() % 2 == 0 { &user } else { &project };
    std::fs::write(written, bytes).unwrap();
    let folders = Folders { user_file: user, default_db: folder.path().join("m.db") };
    let environment = |name: &str| (bytes.len() % 3 == 0 && name.starts_with("AFTERTHOUGHT_")).then(|| text.clone());
    std::hint::black_box(Config::load(&folders, folder.path(), None, &environment, Partial::default()).is_ok());
});
