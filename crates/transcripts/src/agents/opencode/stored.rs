//! The folder `storage`: `session/<project>/<session>.json`, `message/<session>/<message>.json` and
//! `part/<message>/<part>.json`.

use std::collections::HashSet;

use serde_json::Value;

use super::session::{Said, Session};
use crate::json;
use crate::{Folder, MAX_RECORD_BYTES, Sink};

/// A folder whose names have been listed once, since an archive is searched through for each question.
struct Listing<'a> {
    folder: &'a Folder,
    names: Vec<String>,
}

pub(super) fn read(folder: &Folder, sink: &mut Sink<'_>) {
    let mut names = folder.all_files();
    names.sort();
    let listing = Listing { folder, names };
    let mut known = HashSet::new();
    for place in listing.below("session/") {
        let name = &listing.names[place];
        known.insert(stem(name));
        let Some(info) = listing.parsed(place, sink) else { continue };
        let origin = folder.path().join(name).display().to_string();
        let Some(mut session) = Session::new(&info, origin) else {
            sink.skip(place + 1, format!("{name}: a session without an id"));
            continue;
        };
        for place in listing.below(&format!("message/{}/", stem(name))) {
            let Some(info) = listing.parsed(place, sink) else { continue };
            let id = stem(&listing.names[place]);
            let below = listing.below(&format!("part/{id}/"));
            let parts = below.into_iter().filter_map(|place| listing.parsed(place, sink)).collect();
            session.take(Said { id, info: &info, parts }, sink);
        }
        session.finish(sink);
    }
    let is_orphan =
        |place: &usize| listing.names[*place].split('/').nth(1).is_some_and(|session| !known.contains(session));
    let orphans: Vec<_> = listing.below("message/").into_iter().filter(is_orphan).collect();
    if let Some(first) = orphans.first() {
        sink.skip(first + 1, format!("{} messages whose session is not there", orphans.len()));
    }
}

impl Listing<'_> {
    /// Returns the places of the JSON files whose names begin with `prefix`, in the order of their names.
    fn below(&self, prefix: &str) -> Vec<usize> {
        let start = self.names.partition_point(|name| name.as_str() < prefix);
        let count = self.names[start..].iter().take_while(|name| name.starts_with(prefix)).count();
        (start..start + count).filter(|place| self.names[*place].strip_suffix(".json").is_some()).collect()
    }

    /// Parses the file at `place`, or tells why it cannot be used.
    fn parsed(&self, place: usize, sink: &mut Sink<'_>) -> Option<Value> {
        let name = &self.names[place];
        let text = self.folder.open(name).and_then(|input| input.into_text(MAX_RECORD_BYTES));
        let reason = match text {
            Ok(Some(text)) => match json::parse(&text) {
                Ok((value, repaired)) => {
                    sink.repaired += usize::from(repaired);
                    return Some(value);
                }
                Err(error) => format!("{name}: invalid JSON at line {}", error.line()),
            },
            Ok(None) => format!("{name}: over the limit of {} MiB", MAX_RECORD_BYTES >> 20),
            Err(_) => format!("{name}: empty or not readable"),
        };
        sink.skip(place + 1, reason);
        None
    }
}

fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or_default();
    file.strip_suffix(".json").unwrap_or(file)
}
