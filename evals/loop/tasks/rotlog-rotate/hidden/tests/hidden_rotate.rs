use std::fs::{self, OpenOptions};
use std::io::Write;

#[test]
fn daemons_keep_their_file() {
    let dir = std::env::temp_dir().join(format!("rotlog-hidden-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let (log, archive) = (dir.join("app.log"), dir.join("old.log"));
    let mut daemon = OpenOptions::new().create(true).append(true).open(&log).unwrap();
    daemon.write_all(b"one\n").unwrap();
    rotlog::rotate::rotate(&log, &archive).unwrap();
    assert_eq!(fs::read(&log).unwrap(), b"");
    daemon.write_all(b"two\n").unwrap();
    assert_eq!(fs::read(&archive).unwrap(), b"one\n");
    assert_eq!(fs::read(&log).unwrap(), b"two\n");
    fs::remove_dir_all(&dir).unwrap();
}
