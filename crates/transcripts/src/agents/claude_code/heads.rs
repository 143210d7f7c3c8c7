//! With which line each log of a folder begins: looked up once for all the logs in it, of which there may be thousands.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::Deserialize;

use super::session::hash;
use crate::lenient::Text;

/// How far into a log its first message is looked for, in bytes.
const FIRST_LINES_BYTES: u64 = 64 << 10;
/// How long what was found is believed; a log that was empty may have got its first line since.
const GOOD_FOR: Duration = Duration::from_mins(1);

/// The folder that was looked through last; the logs of one folder are read one after the other.
static LAST: Mutex<Option<Heads>> = Mutex::new(None);

/// The uuid of a line, and nothing else of it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Id {
    pub(super) uuid: Text,
}

/// The logs of a folder by the line that they begin with.
struct Heads {
    folder: PathBuf,
    changed_at: Option<SystemTime>,
    found_at: Instant,
    logs: HashMap<u64, Vec<PathBuf>>,
}

/// Returns the logs in `folder` whose first line with a uuid has this one, sorted.
pub(super) fn logs_that_begin_with(uuid: &str, folder: &Path) -> Vec<PathBuf> {
    let changed_at = folder.metadata().and_then(|data| data.modified()).ok();
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let is_good =
        |heads: &Heads| heads.folder == folder && heads.changed_at == changed_at && heads.found_at.elapsed() < GOOD_FOR;
    if !last.as_ref().is_some_and(is_good) {
        *last = Some(Heads {
            folder: folder.to_owned(),
            changed_at,
            found_at: Instant::now(),
            logs: logs_by_first_line(folder),
        });
    }
    last.as_ref().and_then(|heads| heads.logs.get(&hash(uuid)).cloned()).unwrap_or_default()
}

fn logs_by_first_line(folder: &Path) -> HashMap<u64, Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.path()).collect();
    paths.retain(|path| {
        path.extension().is_some_and(|ending| ending == "jsonl")
            && path.file_stem().is_some_and(|stem| uuid::Uuid::try_parse(&stem.to_string_lossy()).is_ok())
    });
    paths.sort();
    let mut logs: HashMap<u64, Vec<PathBuf>> = HashMap::new();
    for path in paths {
        if let Some(first) = first_uuid(&path) {
            logs.entry(hash(first)).or_default().push(path);
        }
    }
    logs
}

/// Returns the uuid of the first line that has one.
fn first_uuid(path: &Path) -> Option<String> {
    let reader = BufReader::new(File::open(path).ok()?.take(FIRST_LINES_BYTES));
    reader.split(b'\n').map_while(Result::ok).find_map(|line| serde_json::from_slice::<Id>(&line).ok()?.uuid.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_found_by_their_first_line_and_new_ones_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |digit: u8| folder.path().join(format!("1b7e44d0-90c3-4f7a-8a6e-6f1f0f6f7b0{digit}.jsonl"));
        let write = |path: &Path, uuid: &str| {
            let text = format!("{{\"type\":\"mode\"}}\n{{\"uuid\":\"{uuid}\"}}\n{{\"uuid\":\"z\"}}\n");
            std::fs::write(path, text).unwrap();
        };
        write(&path(2), "a");
        write(&path(1), "a");
        write(&path(3), "b");
        write(&folder.path().join("notes.jsonl"), "a");
        assert_eq!(logs_that_begin_with("a", folder.path()), [path(1), path(2)]);
        assert_eq!(logs_that_begin_with("z", folder.path()), Vec::<PathBuf>::new());
        // Times of folders may be counted in whole ticks of the clock.
        std::thread::sleep(Duration::from_millis(50));
        write(&path(4), "b");
        assert_eq!(logs_that_begin_with("b", folder.path()), [path(3), path(4)]);
    }
}
