//! Cursor's `state.vscdb`: the conversations of all projects in one key-value table.
//!
//! A conversation, which Cursor calls a composer, is one row that lists its messages, the bubbles, each in a row of its
//! own; older versions keep the bubbles inside the composer, and the oldest keep chats in tabs in another table.

mod bubble;
mod composer;
mod tabs;

use super::turn;
use crate::database::{self, Database};
use crate::{Head, IngestError, Ingestor, Input, Sink};

/// The ingestor's name, stored with each transcript.
const NAME: &str = "cursor";
/// Under which the oldest versions keep all chats.
const TABS_KEY: &str = "workbench.panel.aichat.view.aichat.chatdata";

/// Reads Cursor's conversations.
pub struct Cursor;

impl Ingestor for Cursor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Cursor's state.vscdb"
    }

    fn rule(&self) -> &'static str {
        "SQLite with the table `cursorDiskKV`, or with `ItemTable` that holds the chat panel's data"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let has = |name: &str| head.tables.iter().any(|table| table == name);
        has("cursorDiskKV") || has("ItemTable") && head.text.contains(TABS_KEY)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let Some(database) = database::of(&input)? else {
            let reason = "it is no SQLite database".to_owned();
            return Err(IngestError::Database { path: input.path, reason });
        };
        let source = Source {
            origin: input.path.display().to_string(),
            project: workspace(&input),
            has_table: !database.columns("cursorDiskKV").is_empty(),
            database,
        };
        if source.has_table {
            source.database.require("cursorDiskKV", &["key", "value"])?;
            composer::read_all(&source, sink)?;
        }
        if !source.has_table || !source.database.columns("ItemTable").is_empty() {
            source.database.require("ItemTable", &["key", "value"])?;
            tabs::read_all(&source, sink)?;
        }
        Ok(())
    }
}

/// The database, and what is known of all that is in it.
struct Source {
    database: Database,
    origin: String,
    /// The folder of the workspace whose database it is; none for that of all workspaces.
    project: Option<String>,
    has_table: bool,
}

/// Returns the folder that stands in the file beside the database of one workspace.
fn workspace(input: &Input) -> Option<String> {
    let text = input.sibling("workspace.json")?.into_text(1 << 20).ok()??;
    let (value, _) = crate::json::parse::<serde_json::Value>(&text).ok()?;
    let address = value["folder"].as_str().or_else(|| value["workspace"].as_str())?;
    Some(turn::folder_path(address))
}

#[cfg(test)]
mod tests;
