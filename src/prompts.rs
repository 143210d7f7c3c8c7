//! The prompts of the program. Versions from a folder can replace them, to measure which version is better.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use minijinja::{Environment, Value, context};
use sha2::{Digest as _, Sha256};

use transcripts::hex;

use crate::memory::string_enum;

string_enum!(
    /// A prompt, spelled as its path below `prompts/`.
    Prompt, "a prompt", {
    /// The task of extraction.
    ExtractSystem = "extract/system.md",
    /// The conversations to extract from.
    ExtractUser = "extract/user.md",
    /// The request to correct an answer of extraction.
    ExtractRepair = "extract/repair.md",
    /// The request for the rest of a cut answer.
    ExtractContinue = "extract/continue.md",
    /// The task of consolidation.
    ConsolidateSystem = "consolidate/system.md",
    /// The memories to compare with each other.
    ConsolidateUser = "consolidate/user.md",
    /// The task of reflection.
    ReflectSystem = "consolidate/reflect.system.md",
    /// The episodes to reflect on.
    ReflectUser = "consolidate/reflect.user.md",
});

impl Prompt {
    /// Returns the program's own text of the prompt.
    const fn own(self) -> &'static str {
        match self {
            Self::ExtractSystem => include_str!("../prompts/extract/system.md"),
            Self::ExtractUser => include_str!("../prompts/extract/user.md"),
            Self::ExtractRepair => include_str!("../prompts/extract/repair.md"),
            Self::ExtractContinue => include_str!("../prompts/extract/continue.md"),
            Self::ConsolidateSystem => include_str!("../prompts/consolidate/system.md"),
            Self::ConsolidateUser => include_str!("../prompts/consolidate/user.md"),
            Self::ReflectSystem => include_str!("../prompts/consolidate/reflect.system.md"),
            Self::ReflectUser => include_str!("../prompts/consolidate/reflect.user.md"),
        }
    }

    /// Returns the text of the prompt that is in use.
    #[must_use]
    pub(crate) fn text(self) -> &'static str {
        OTHERS.get().and_then(|others| others.get(&self)).map_or(self.own(), String::as_str)
    }

    /// Renders the prompt with `values`, which are those of [`Self::sample`].
    pub(crate) fn render(self, values: Value) -> String {
        /// All prompts that are rendered, compiled once.
        static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
            let mut templates = Environment::new();
            for prompt in Prompt::ALL.iter().filter(|prompt| prompt.sample().is_some()) {
                let added = templates.add_template(prompt.as_str(), prompt.text());
                added.expect("the template is embedded, or was rendered when it was read");
            }
            templates
        });
        let template = TEMPLATES.get_template(self.as_str()).expect("only prompts with placeholders are rendered");
        template.render(values).expect("the template is embedded and a test renders it")
    }

    /// Returns the variables that a version of the prompt must show, because they contain the subject of the request.
    const fn needed(self) -> &'static [&'static str] {
        match self {
            Self::ExtractUser => &["sessions"],
            Self::ExtractRepair => &["errors"],
            Self::ConsolidateUser => &["memories", "questions"],
            Self::ReflectUser => &["groups"],
            Self::ExtractSystem | Self::ExtractContinue | Self::ConsolidateSystem | Self::ReflectSystem => &[],
        }
    }

    /// Returns an example of the values with which the prompt is rendered.
    fn sample(self) -> Option<Value> {
        match self {
            Self::ExtractSystem => Some(context! { categories => ["fact"] }),
            Self::ExtractUser => Some(context! {
                instructions => "Keep names.",
                known => [context! { category => "fact", content => "Ana lives in Porto." }],
                sessions => [context! { header => "# Session 1", context => ["[1] hi"], messages => ["[2] ho"] }],
            }),
            Self::ExtractRepair => Some(context! { errors => ["entry 2: importance is missing"], whole => false }),
            Self::ExtractContinue => Some(context! { last => "“A title”" }),
            Self::ConsolidateUser => Some(context! {
                memories => [context! { number => 1, time => "2026-01-01", from => "2026-01-02", attribute => "diet", text => "a", quote => "b" }],
                questions => [context! { number => 1, against => [2] }],
            }),
            Self::ReflectUser => Some(context! {
                groups => [context! { number => 1, episodes => [context! { day => "2026-01-01", text => "a" }] }],
            }),
            // These prompts are sent unchanged.
            Self::ConsolidateSystem | Self::ReflectSystem => None,
        }
    }

    /// Returns the error in `text` as a version of the prompt.
    fn fault(self, text: &str) -> Option<String> {
        if text.trim().is_empty() {
            return Some("it is empty".to_owned());
        }
        let sample = self.sample()?;
        let templates = Environment::new();
        let template = match templates.template_from_str(text) {
            Ok(template) => template,
            Err(error) => return Some(format!("it is not a valid template: {error}")),
        };
        // A misspelt variable is rendered as an empty text, so variables are checked before any request is sent.
        let used = template.undeclared_variables(false);
        // The template engine itself provides `loop`.
        let known = |name: &&String| sample.get_attr(name).is_ok_and(|value| !value.is_undefined());
        if let Some(unknown) = used.iter().find(|name| !known(name) && name.as_str() != "loop") {
            return Some(format!("it uses {unknown:?}, which is not a variable of this prompt"));
        }
        if let Some(missing) = self.needed().iter().find(|name| !used.contains(**name)) {
            return Some(format!("it does not use the required variable {missing:?}"));
        }
        template.render(sample).err().map(|error| format!("it cannot be rendered: {error}"))
    }
}

/// Versions of prompts that replace the program's own versions for the rest of the process.
static OTHERS: OnceLock<BTreeMap<Prompt, String>> = OnceLock::new();

/// The reason why a folder of prompts cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PromptError {
    /// A file cannot be read.
    #[error("cannot read {}; check the path and its permissions", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// The folder contains no prompt.
    #[error("no prompts in {}; copy the program's folder prompts/ and edit the copy", .path.display())]
    None {
        /// The folder.
        path: PathBuf,
    },
    /// A file is not a version of a prompt.
    #[error("{}: {reason}", .path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Description of the error.
        reason: String,
    },
    /// Another folder of prompts is already in use.
    #[error("another folder of prompts is already in use; a process can use only one")]
    Taken,
}

/// Reads the prompts of `folder`, which has the same structure as `prompts/`. Prompts that it does not contain are not
/// replaced.
///
/// # Errors
/// [`PromptError`] if the folder contains no prompts, or if a file is not a version of a prompt.
pub(crate) fn read(folder: &Path) -> Result<BTreeMap<Prompt, String>, PromptError> {
    // A misspelt file name would otherwise be ignored silently.
    for part in ["extract", "consolidate"] {
        for entry in fs::read_dir(folder.join(part)).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), format!("{part}/{}", entry.file_name().to_string_lossy()));
            let is_markdown = path.extension().is_some_and(|ending| ending == "md");
            if is_markdown && !Prompt::ALL.iter().any(|prompt| prompt.as_str() == name) {
                let names: Vec<&str> = Prompt::ALL.iter().map(|prompt| prompt.as_str()).collect();
                return Err(PromptError::Wrong {
                    path,
                    reason: format!("no prompt has this name; the names are {}", names.join(", ")),
                });
            }
        }
    }
    let mut found = BTreeMap::new();
    for &prompt in Prompt::ALL {
        let path = folder.join(prompt.as_str());
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(source) => return Err(PromptError::Read { path, source }),
        };
        if let Some(reason) = prompt.fault(&text) {
            return Err(PromptError::Wrong { path, reason });
        }
        found.insert(prompt, text);
    }
    if found.is_empty() { Err(PromptError::None { path: folder.to_owned() }) } else { Ok(found) }
}

/// Uses the prompts of `folder` for the rest of the process. Must be called before the first request.
///
/// # Errors
/// The errors of [`read`], and [`PromptError::Taken`] if another folder is already in use.
pub(crate) fn use_folder(folder: &Path) -> Result<(), PromptError> {
    OTHERS.set(read(folder)?).map_err(|_| PromptError::Taken)
}

/// Returns the SHA-256 of all prompts that are in use, in hex.
#[must_use]
pub(crate) fn hash() -> String {
    let mut hasher = Sha256::new();
    for &prompt in Prompt::ALL {
        for part in [prompt.as_str(), prompt.text()] {
            // The lengths are hashed, too, so that moving text from one part to the next changes the hash.
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    hex(&hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_one(file: &str, text: &str) -> Result<BTreeMap<Prompt, String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        read(folder.path()).map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
    }

    #[test]
    fn the_prompts_of_the_program_are_versions_of_themselves() {
        for &prompt in Prompt::ALL {
            assert_eq!(prompt.fault(prompt.own()), None, "{}", prompt.as_str());
        }
        let here = read(Path::new("prompts")).unwrap();
        assert!(Prompt::ALL.iter().all(|prompt| here[prompt] == prompt.own()));
        assert_eq!(hash().len(), 64);
    }

    #[test]
    fn a_version_that_asks_about_nothing_is_refused() {
        let table = [
            (
                "extract/user.md",
                "Say something.",
                "extract/user.md: it does not use the required variable \"sessions\"",
            ),
            (
                "extract/user.md",
                "{{ sessions }} {{ mood }}",
                "extract/user.md: it uses \"mood\", which is not a variable of this prompt",
            ),
            ("extract/system.md", " \n", "extract/system.md: it is empty"),
            ("extract/systen.md", "x", "extract/systen.md: no prompt has this name; the names are extract/system.md"),
            ("extract/system.md", "{% if %}", "extract/system.md: it is not a valid template: syntax error"),
            (
                "extract/system.md",
                "{{ categories | shout }}",
                "extract/system.md: it cannot be rendered: unknown filter",
            ),
        ];
        for (file, text, expected) in table {
            let error = read_one(file, text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        let good = read_one("consolidate/system.md", "{{ sent as it is }").unwrap();
        assert_eq!(good.keys().copied().collect::<Vec<_>>(), [Prompt::ConsolidateSystem]);
        assert!(read_one("readme.txt", "x").unwrap_err().starts_with("no prompts in"));
    }
}
