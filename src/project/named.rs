//! The name that a person gave the project of a folder, in the nearest settings file at or above it.

use std::path::Path;

use super::git::read;
use crate::config::PROJECT_FILE;

/// Longest name of a project, in bytes.
const MAX_NAME: usize = 100;

/// What the nearest settings file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// The name.
    pub(super) name: Option<String>,
    /// Why the file was ignored.
    pub(super) warning: Option<String>,
}

/// Reads the nearest settings file at or above `path`, but not in `home` or above it. Only its `project` counts: a
/// file that came with a repository sets nothing else here.
pub(super) fn nearest(path: &Path, home: Option<&Path>) -> Named {
    let homes = [home.map(Path::to_owned), home.and_then(|home| home.canonicalize().ok())];
    let below_home =
        |folder: &&Path| folder.parent().is_some() && !homes.iter().any(|home| home.as_deref() == Some(folder));
    let files = path.ancestors().take_while(below_home).map(|folder| folder.join(PROJECT_FILE));
    let Some((file, text)) = files.into_iter().find_map(|file| read(&file).map(|text| (file, text))) else {
        return Named::default();
    };
    match name_in(&text) {
        Ok(name) => Named { name, warning: None },
        Err(reason) => Named { name: None, warning: Some(format!("ignored {}: {reason}", file.display())) },
    }
}

fn name_in(text: &str) -> Result<Option<String>, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        format!("line {line}: {}", error.message())
    })?;
    match table.get("project") {
        None => Ok(None),
        Some(toml::Value::String(name)) => match checked(name) {
            Some(name) => Ok(Some(name)),
            None => Err(format!("project = {name:?} is no name; {ALLOWED}")),
        },
        Some(_) => Err("project must be a name in quotes".to_owned()),
    }
}

/// What the name of a project may be, for messages.
pub const ALLOWED: &str = "use up to 100 letters, digits and signs, without / and \\";

/// Returns the name if it can be one of a project.
#[must_use]
pub fn checked(name: &str) -> Option<String> {
    let name = name.trim();
    let sound = !name.is_empty() && name.len() <= MAX_NAME && !name.contains(['/', '\\']);
    (sound && !name.chars().any(char::is_control)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_the_project_is_read() {
        assert_eq!(name_in("project = \" Shop \"\nmodel = 3\nunheard = true"), Ok(Some("Shop".into())));
        assert_eq!(name_in("jobs = 2"), Ok(None));
        for (text, part) in [
            ("project = ", "line 1"),
            ("jobs = 2\nproject", "line 2"),
            ("project = 3", "in quotes"),
            ("project = ''", "is no name"),
            ("project = '../x'", "is no name"),
            ("project = \"a\\nb\"", "is no name"),
        ] {
            assert!(name_in(text).unwrap_err().contains(part), "{text}");
        }
    }
}
