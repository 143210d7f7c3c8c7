//! Slash commands of Claude Code, which refuses a prompt that begins with one that it does not know.
//!
//! Each is a file whose text is what the hook understands, so that it is done there, whether the hook is told what was
//! typed or what became of it.

use std::path::{Path, PathBuf};

use super::agents::Change;

/// Name, what it does, what follows it.
const COMMANDS: [(&str, &str, &str); 3] = [
    ("remember", "Remember something for later sessions", "what to remember"),
    ("recall", "Tell the model what is remembered about something", "what to look for"),
    ("forget", "Forget a memory", "id, or what it is about"),
];

/// Returns what has to be written to `folder`, or taken away; a file of the same name that is not ours is left alone.
pub(super) fn changes(folder: &Path, undo: bool) -> std::io::Result<Vec<Change>> {
    let mut changes = Vec::new();
    for (name, does, follows) in COMMANDS {
        let (path, text) = (folder.join(format!("{name}.md")), text(name, does, follows));
        let before = match std::fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let is_ours = before.as_deref().is_some_and(|before| before == text);
        match (undo, is_ours) {
            (false, false) if before.is_none() => changes.push(Change { path, before, after: Some(text) }),
            (true, true) => changes.push(Change { path, before, after: None }),
            (false | true, _) => {}
        }
    }
    Ok(changes)
}

/// Returns the files of these names that are somebody else's.
pub(super) fn foreign(folder: &Path) -> Vec<PathBuf> {
    let all =
        COMMANDS.iter().map(|(name, does, follows)| (folder.join(format!("{name}.md")), text(name, does, follows)));
    let others = all.filter(|(path, text)| std::fs::read_to_string(path).is_ok_and(|found| found != *text));
    others.map(|(path, _)| path).collect()
}

fn text(name: &str, does: &str, follows: &str) -> String {
    format!(
        "---\ndescription: {does} (afterthought)\nargument-hint: <{follows}>\ndisable-model-invocation: true\n---\n/{name} $ARGUMENTS\n"
    )
}
