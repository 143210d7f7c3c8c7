//! Details of an agent's actions, separate from the text of a message: the files and the command of a call, and how the
//! call ended.
//!
//! The text of a call is one short line for people and models. The exact details are stored separately, so that the
//! hash of a message does not depend on them.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::Json;
use crate::message::question::{Question, questions};

/// Maximum length of a stored command, in bytes.
const MAX_COMMAND_BYTES: usize = 2 << 10;
/// Maximum length of the text of a change that is searched for names, in bytes.
const MAX_CHANGE_BYTES: usize = 32 << 10;
/// Maximum number of names stored for one change.
const MAX_NAMES: usize = 40;
/// Maximum number of files stored for one call.
const MAX_FILES: usize = 60;

/// The effect of a tool call, or how the call ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Action {
    /// The id with which a result refers to its call.
    pub call: Option<String>,
    /// The shell command that was run.
    pub command: Option<String>,
    /// The folder in which the call was made.
    pub folder: Option<String>,
    /// The files that the call concerns.
    pub files: Vec<FileAction>,
    /// Functions, types and other names that a change defines, followed by names that it only mentions.
    pub names: Vec<String>,
    /// The text of the change that contains the names, truncated. It is not serialised: code that stores the names
    /// needs it only to leave out names that are parts of a secret.
    #[serde(skip)]
    pub change: String,
    /// The questions that the call asked the user. They are not serialised: only the assembler needs them, to read the
    /// answers from the call's result.
    #[serde(skip)]
    pub questions: Vec<Question>,
    /// Whether the call failed, if the log states it.
    pub failed: Option<bool>,
    /// The exit status of the command, if the log contains it.
    pub exit: Option<i32>,
}

/// A file, and how a call accessed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAction {
    /// The path as written in the log.
    pub path: String,
    /// The type of access.
    pub access: FileAccess,
}

/// How a call accessed a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileAccess {
    /// The file was read.
    Read,
    /// A part of the file was changed.
    Edited,
    /// The whole file was written.
    Written,
    /// The file was created.
    Created,
    /// The file was deleted.
    Deleted,
    /// The file was renamed to this path.
    Renamed(String),
}

/// Arguments that contain the path of a file.
const PATHS: &[&str] = &[
    "file_path", "filePath", "target_file", "targetFile", "TargetFile", "notebook_path", "absolute_path",
    "absolutePath", "relative_workspace_path", "path", "file", "filename",
];
/// Arguments that contain a command.
const COMMANDS: &[&str] = &["command", "cmd", "script", "commandLine", "CommandLine"];
/// Arguments that contain text to be written to a file.
const CHANGES: &[&str] = &[
    "old_string", "oldString", "old_str", "new_string", "newString", "new_str", "content", "contents", "file_text",
    "new_source", "code_edit", "diff", "newText", "replacement",
];

/// Returns the action of a call of `tool` with these arguments; `None` if the call neither runs a command, nor specifies
/// a file, nor asks the user.
pub(crate) fn of_call(tool: &str, arguments: &Value) -> Option<Action> {
    let questions = questions(tool, arguments);
    if !questions.is_empty() {
        return Some(Action { questions, ..Action::default() });
    }
    let parsed;
    let arguments = match arguments.as_str().map(serde_json::from_str::<Value>) {
        Some(Ok(value)) if value.is_object() => {
            parsed = value;
            &parsed
        }
        Some(_) => return patch(arguments.string()),
        None => arguments,
    };
    let name = tool.rsplit(['.', '/']).next().unwrap_or(tool).rsplit("__").next().unwrap_or(tool).to_lowercase();
    let mut action = Action::default();
    let subcommand = arguments["command"].string();
    // Anthropic's text editor puts a subcommand in the argument that contains a shell command in other tools.
    let is_editor = matches!(subcommand, "view" | "create" | "str_replace" | "insert" | "undo_edit" | "write")
        && !arguments["path"].is_null();
    let does = if is_editor { subcommand } else { name.as_str() };
    if !is_editor {
        action.command = COMMANDS.iter().find_map(|key| command(&arguments[*key]));
    }
    if let Some(text) = &action.command
        && let Some(patched) = patch(text)
    {
        return Some(Action { command: None, ..patched });
    }
    let changes = || CHANGES.iter().filter_map(|key| arguments[*key].text());
    if let Some(patched) =
        ["patch", "patchText", "input", "diff"].iter().find_map(|key| patch(arguments[*key].string()))
    {
        return Some(patched);
    }
    if action.command.is_none()
        && let Some(access) = access_of(does)
    {
        let paths = PATHS.iter().find_map(|key| arguments[*key].text());
        let listed = arguments["paths"].list().iter().filter_map(Value::as_str);
        let several = arguments["files"].list().iter().filter_map(|file| file["path"].as_str());
        for path in paths.into_iter().chain(listed).chain(several).take(MAX_FILES) {
            action.files.push(FileAction { path: path.to_owned(), access: access.clone() });
        }
        let target = ["new_path", "newPath", "destination"].iter().find_map(|key| arguments[*key].text());
        if let (FileAccess::Renamed(_), Some(target)) = (&access, target) {
            action.files.iter_mut().for_each(|file| file.access = FileAccess::Renamed(target.to_owned()));
        }
        let edits =
            arguments["edits"].list().iter().flat_map(|edit| CHANGES.iter().filter_map(|key| edit[*key].text()));
        if access != FileAccess::Read {
            action.set_change(changes().chain(edits));
        }
    }
    (action.command.is_some() || !action.files.is_empty()).then_some(action)
}

/// Arguments of searches that contain paths, or patterns of the names of files.
const SEARCHED: &[&str] =
    &["glob", "globs", "include", "include_pattern", "includePattern", "includes", "file_pattern"];

/// Returns the paths and patterns of files in the arguments of a call.
pub(crate) fn searched(arguments: &Value) -> Vec<String> {
    let each = |key: &&str| match &arguments[*key] {
        Value::String(path) => vec![path.clone()],
        other => other.list().iter().filter_map(Value::as_str).map(str::to_owned).collect(),
    };
    PATHS.iter().chain(SEARCHED).chain(&["paths"]).flat_map(each).take(MAX_FILES).collect()
}

/// Returns an action that records how the call with the id `call` ended.
pub(crate) fn of_result(call: Option<&str>, failed: Option<bool>, exit: Option<i64>) -> Option<Box<Action>> {
    let exit = exit.and_then(|code| i32::try_from(code).ok());
    let action = Action { call: call.map(str::to_owned), failed, exit, ..Action::default() };
    (action != Action::default()).then(|| Box::new(action))
}

/// Returns how a tool with this name accesses the file in its arguments.
fn access_of(tool: &str) -> Option<FileAccess> {
    let has = |words: &[&str]| words.iter().any(|word| tool.contains(word));
    // Searching for files and listing folders do not count as access to a file.
    if has(&["list", "glob", "search", "grep", "find", "todo", "lint", "fetch", "memory", "tree"]) {
        return None;
    }
    Some(if has(&["delete", "remove", "unlink"]) {
        FileAccess::Deleted
    } else if has(&["rename", "move"]) {
        FileAccess::Renamed(String::new())
    } else if tool == "create" || has(&["create_file", "createfile", "new_file", "newfile"]) {
        FileAccess::Created
    } else if tool == "write" || has(&["write_file", "writefile", "write_to_file", "file_write", "save"]) {
        FileAccess::Written
    } else if has(&["edit", "replace", "insert", "patch", "diff", "update", "change", "append", "write"]) {
        FileAccess::Edited
    } else if has(&["read", "view", "open", "cat"]) {
        FileAccess::Read
    } else {
        return None;
    })
}

/// Returns a command line, which may be a list of words. If a shell is called with a script, the script is the command
/// line.
fn command(value: &Value) -> Option<String> {
    let words: Vec<&str> = value.list().iter().filter_map(Value::as_str).collect();
    let text = match words.as_slice() {
        [] => value.as_str()?.to_owned(),
        [shell, flag, script] if shell.ends_with("sh") && flag.starts_with('-') && flag.ends_with('c') => {
            (*script).to_owned()
        }
        words => words.join(" "),
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text[..text.floor_char_boundary(MAX_COMMAND_BYTES)].to_owned())
}

/// Returns the action of a patch in the format of `apply_patch`; `None` for any other text.
pub(crate) fn patch(text: &str) -> Option<Action> {
    if !text.contains("*** Begin Patch") {
        return None;
    }
    let mut action = Action::default();
    for line in text.lines() {
        let file = |marker: &str| line.strip_prefix(marker).map(|path| path.trim().to_owned());
        let added = if let Some(path) = file("*** Add File: ") {
            Some((path, FileAccess::Created))
        } else if let Some(path) = file("*** Delete File: ") {
            Some((path, FileAccess::Deleted))
        } else {
            file("*** Update File: ").map(|path| (path, FileAccess::Edited))
        };
        if let Some((path, access)) = added.filter(|_| action.files.len() < MAX_FILES) {
            action.files.push(FileAction { path, access });
        } else if let (Some(to), Some(last)) = (file("*** Move to: "), action.files.last_mut()) {
            last.access = FileAccess::Renamed(to);
        }
    }
    let lines = text.lines().filter(|line| line.starts_with(['+', '-', '@'])).map(|line| &line[1..]);
    action.set_change(lines);
    (!action.files.is_empty()).then_some(action)
}

static DEFINED: LazyLock<Regex> = LazyLock::new(|| {
    let words = "def|class|fn|func|function|struct|enum|trait|interface|type|module|macro|object|record|protocol";
    Regex::new(&format!(r"\b(?:{words})\s+([A-Za-z_]\w{{2,60}})")).expect("the pattern is constant")
});
static MENTIONED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b[A-Za-z_]\w{4,60}\b").expect("the pattern is constant"));

/// A word in quotes, and a setting such as `KEY=value` or `key: value`.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    let quoted = r#""[^"\s]+"|'[^'\s]+'|`[^`\s]+`"#;
    let setting = r"(?m)^[ \t]*(?:export[ \t]+|-[ \t]+)?[\w.-]+(?:=|:[ \t]+|[ \t]=[ \t])[A-Za-z0-9_/+=~-]{6,}[ \t]*$";
    Regex::new(&format!("{quoted}|{setting}")).expect("the pattern is constant")
});

/// Returns a change without the values of settings and without words in quotes, because either may be a secret, which
/// can no longer be recognised once it is separated from its name. Words in quotes that are keys remain.
fn without_values(text: &str) -> Cow<'_, str> {
    VALUE.replace_all(text, |found: &Captures<'_>| {
        let whole = found.get_match();
        let is_key = text[whole.end()..].trim_start_matches([' ', '\t']).starts_with([':', ']']);
        if is_key && whole.as_str().starts_with(['"', '\'']) { whole.as_str().to_owned() } else { " ".to_owned() }
    })
}

impl Action {
    /// Sets the text of the change, and the names in it.
    fn set_change<'t>(&mut self, texts: impl Iterator<Item = &'t str>) {
        for text in texts {
            let left = MAX_CHANGE_BYTES.saturating_sub(self.change.len());
            self.change.extend([&text[..text.floor_char_boundary(left.min(text.len()))], "\n"]);
        }
        self.names = changed_names(&self.change);
    }
}

/// Returns the names that a change defines, followed by the compound names that it mentions, most frequent first.
#[must_use]
pub fn changed_names(change: &str) -> Vec<String> {
    let (mut found, mut counts): (Vec<String>, Vec<(String, usize)>) = (Vec::new(), Vec::new());
    let text = &*without_values(change);
    for name in DEFINED.captures_iter(text).map(|found| found[1].to_owned()) {
        if found.len() < MAX_NAMES && !found.contains(&name) {
            found.push(name);
        }
    }
    // A letter after a backslash belongs to an escape such as `\\n`, not to a name.
    let is_whole = |name: &regex::Match<'_>| !text[..name.start()].ends_with(['\\', '-']);
    for name in MENTIONED.find_iter(text).filter(is_whole).map(|name| name.as_str()).filter(|name| is_compound(name)) {
        match counts.iter().position(|(known, _)| known == name) {
            Some(place) => counts[place].1 += 1,
            None if counts.len() < 4 * MAX_NAMES => counts.push((name.to_owned(), 1)),
            None => {}
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (name, _) in counts {
        if found.len() < MAX_NAMES && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Returns whether a word is spelled like an identifier: `snake_case` or `camelCase`.
fn is_compound(word: &str) -> bool {
    let inner = word.trim_matches('_');
    if is_random(inner) {
        return false;
    }
    inner.contains('_')
        || inner.as_bytes().windows(2).any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase())
}

/// Returns whether a word is spelled like a random value: upper-case letters, lower-case letters and digits alternate.
fn is_random(word: &str) -> bool {
    let kind = |byte: u8| (byte.is_ascii_uppercase(), byte.is_ascii_digit());
    // A lower-case letter after an upper-case one does not count, because that sequence occurs in ordinary names.
    let changes =
        |two: &&[u8]| kind(two[0]) != kind(two[1]) && !(two[0].is_ascii_uppercase() && two[1].is_ascii_lowercase());
    word.len() >= 10 && word.as_bytes().windows(2).filter(changes).count() >= 6
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn files(action: &Action) -> Vec<(&str, FileAccess)> {
        action.files.iter().map(|file| (file.path.as_str(), file.access.clone())).collect()
    }

    #[test]
    fn calls_of_many_agents_are_read_by_what_they_do() {
        let table = [
            ("Read", json!({"file_path": "/a/b.rs", "offset": 3}), "/a/b.rs", FileAccess::Read),
            ("Edit", json!({"file_path": "b.rs", "old_string": "x", "new_string": "y"}), "b.rs", FileAccess::Edited),
            ("Write", json!({"file_path": "b.rs", "content": "x"}), "b.rs", FileAccess::Written),
            ("write_to_file", json!({"path": "b.rs", "content": "x"}), "b.rs", FileAccess::Written),
            ("replace_in_file", json!({"path": "b.rs", "diff": "x"}), "b.rs", FileAccess::Edited),
            ("developer__text_editor", json!({"command": "view", "path": "b.rs"}), "b.rs", FileAccess::Read),
            ("str_replace_editor", json!({"command": "str_replace", "path": "b.rs"}), "b.rs", FileAccess::Edited),
            ("edit", json!({"filePath": "b.rs", "oldString": "x"}), "b.rs", FileAccess::Edited),
            ("delete_file", json!({"target_file": "b.rs"}), "b.rs", FileAccess::Deleted),
            ("read_file", json!("{\"absolute_path\": \"/b.rs\"}"), "/b.rs", FileAccess::Read),
        ];
        for (tool, arguments, path, access) in table {
            let action = of_call(tool, &arguments).unwrap_or_else(|| panic!("{tool}"));
            assert_eq!(files(&action), [(path, access)], "{tool}");
        }
        assert_eq!(of_call("Glob", &json!({"pattern": "*.rs", "path": "src"})), None);
        assert_eq!(of_call("WebSearch", &json!({"query": "x"})), None);
        assert_eq!(searched(&json!({"pattern": "x", "path": "/a/.env", "globs": ["*.pem"]})), ["/a/.env", "*.pem"]);
        assert!(searched(&json!("text")).is_empty());
    }

    #[test]
    fn commands_are_kept_whole_and_a_shells_script_without_the_shell() {
        let command = |tool: &str, value: Value| of_call(tool, &value).and_then(|action| action.command);
        let long = format!("cargo test {}", "x ".repeat(200));
        assert_eq!(command("Bash", json!({"command": long})).as_deref(), Some(long.trim()));
        assert_eq!(command("shell", json!({"command": ["bash", "-lc", "ls -l"]})).as_deref(), Some("ls -l"));
        assert_eq!(command("exec_command", json!({"cmd": "ls"})).as_deref(), Some("ls"));
    }

    #[test]
    fn values_are_no_names() {
        let text = [
            "API_SECRET=\"EmnRYcUVnWloUKExHCAyKnxH\"",
            "DB_PASSWORD=KxQmVtLpWz",
            "  token: glpat-aTqMqtAFoBKsZGb",
            "password = 'KxQmVtLpWzb'",
            "export KEY=mNbVcXzAsDf",
            "# the old one was Kx7Qm2Vt9LpWz",
            "curl -H x-key-aBcDeFgHiJkL",
            "const loadRows = readAll(rowReader);",
            "let textDecoder: Decoder = makeDecoder(\"aBcDeFgHiJk\");",
            "row = {'user_name': 1, \"plan_id\": 'aBcDeFgHi'}",
        ];
        assert_eq!(
            changed_names(&text.join("\n")),
            ["API_SECRET", "loadRows", "readAll", "rowReader", "textDecoder", "makeDecoder", "user_name", "plan_id"]
        );
    }

    #[test]
    fn a_patch_names_its_files_and_what_it_defines() {
        let text = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@ def load\n-x\n+def load_rows():\n\
                    *** Add File: c.py\n+x\n*** Delete File: d.py\n*** End Patch";
        let action = of_call("apply_patch", &json!({ "input": text })).unwrap();
        let expected = [
            ("a.py", FileAccess::Renamed("b.py".into())),
            ("c.py", FileAccess::Created),
            ("d.py", FileAccess::Deleted),
        ];
        assert_eq!(files(&action), expected);
        assert_eq!(action.names, ["load", "load_rows"]);
        assert_eq!(of_call("shell", &json!({"command": ["apply_patch", text]})).unwrap().files.len(), 3);
    }
}
