//! opencode sessions: `opencode.db`, the folder `storage` of earlier versions, and one session as `opencode export`
//! writes it. Each has the same three layers: a session, its messages, and their parts.

mod part;
mod rows;
mod session;
mod stored;

use serde_json::Value;

use self::session::{Said, Session};
use crate::{Folder, Head, IngestError, Ingestor, Input, Records, Sink, database};

/// The ingestor's name, stored with each transcript.
const NAME: &str = "opencode";

/// Reads opencode sessions.
pub struct OpenCode;

impl Ingestor for OpenCode {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "opencode sessions: opencode.db, the storage folder, and exported JSON"
    }

    fn rule(&self) -> &'static str {
        "SQLite with the tables `session`, `message` and `part`; a folder of these three; or JSON with `info` and `messages` of `info` and `parts`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let has = |column: &str| head.columns.iter().any(|there| there == column);
        let is_database = has("session.id") && has("message.data") && has("part.data");
        is_database || head.document.as_ref().is_some_and(is_export)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        if let Some(database) = database::of(&input)? {
            return rows::read(&database, &origin, sink);
        }
        let mut records = Records::elements(input);
        while let Some((number, export)) = records.next_json::<Value>(sink)? {
            let Some(mut session) = Session::new(&export["info"], origin.clone()) else {
                sink.skip(number, "a session without an id");
                continue;
            };
            for entry in export["messages"].as_array().into_iter().flatten() {
                let parts = entry["parts"].as_array().into_iter().flatten().cloned().collect();
                let id = entry["info"]["id"].as_str().unwrap_or_default();
                session.take(Said { id, info: &entry["info"], parts }, sink);
            }
            session.finish(sink);
        }
        Ok(())
    }

    fn sniff_folder(&self, folder: &Folder) -> bool {
        let is_session = |name: &String| name.rsplit('/').next().is_some_and(|file| file.starts_with("ses_"));
        ["session", "message", "part"].iter().all(|name| folder.has(name))
            && folder.folders("session").iter().any(|project| folder.files(project).iter().any(is_session))
    }

    fn read_folder(&self, folder: &Folder, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        stored::read(folder, sink);
        Ok(())
    }
}

fn is_export(document: &Value) -> bool {
    let is_entry = |entry: &Value| entry["info"]["role"].is_string() && entry["parts"].is_array();
    let messages = document["messages"].as_array();
    document["info"]["id"].is_string() && messages.is_some_and(|messages| messages.iter().take(50).any(is_entry))
}

#[cfg(test)]
mod tests;
