use rotlog::names::archive_path;
use std::path::{Path, PathBuf};

#[test]
fn archive_paths() {
    assert_eq!(archive_path(Path::new("/var/log/app.log"), 7), PathBuf::from("/var/log/app-0007.log"));
    assert_eq!(archive_path(Path::new("/var/log/web.access.log"), 123), PathBuf::from("/var/log/web.access-0123.log"));
}
