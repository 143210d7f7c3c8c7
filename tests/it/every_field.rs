//! Tests that a secret in any text field of any command, MCP tool, hook or import reaches no file.
//!
//! This file contains no list of fields. The commands and their options are taken from the generated reference, the
//! tools from the server's own list, and the fields of hooks and imports from real input, so a new field is tested
//! without a change here.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use super::desk::Desk;
use super::hooks;
use super::mcp::client::Piped;

/// Maximum duration of a command; a command that serves or watches is then ended.
const PATIENCE: Duration = Duration::from_secs(8);
/// Options with a file of the person's choice, whose name is intentionally part of the output.
const NAMES_OF_FILES: &[&str] = &["--db", "--config"];

/// Returns the secret, which is assembled here so that no scanner reports this file as a leak.
fn secret() -> String {
    format!("AKIA{}", "QZ7XWV5T3RPLKMNB")
}

fn sentence() -> String {
    format!("Deploys sign with {} since May.", secret())
}

/// A command from the reference, with placeholders for its arguments, and its options that take a value.
struct Documented {
    words: Vec<String>,
    arguments: Vec<(String, bool)>,
    options: Vec<(String, String)>,
}

fn documented() -> Vec<Documented> {
    let page = fs::read_to_string("docs/reference/commands.md").unwrap();
    page.split("\n## ").skip(1).filter_map(read_section).collect()
}

fn read_section(section: &str) -> Option<Documented> {
    let words: Vec<String> = section.lines().next()?.split(' ').skip(1).map(str::to_owned).collect();
    let usage = section.lines().find_map(|line| line.strip_prefix("Usage: afterthought "))?;
    if words.is_empty() || usage.ends_with("<COMMAND>") {
        return None;
    }
    let is_placeholder =
        |word: &&str| word.starts_with(['<', '[']) && !word.contains("OPTION") && !word.contains("COMMAND");
    let mut previous = "";
    let mut arguments = Vec::new();
    for word in usage.split(' ') {
        if is_placeholder(&word) && !previous.starts_with('-') {
            arguments.push((word.trim_matches(['<', '>', '[', ']', '.']).to_owned(), word.starts_with('<')));
        }
        previous = word;
    }
    let options = section.lines().filter_map(|line| {
        let line = line.trim_start();
        let at = line.find("--").filter(|_| line.starts_with('-'))?;
        let (name, rest) = line[at..].split_once(' ')?;
        let value = rest.strip_prefix('<')?.split_once('>')?.0;
        Some((name.to_owned(), value.to_owned()))
    });
    Some(Documented { words, arguments, options: options.collect() })
}

impl Documented {
    /// Returns calls of the command, each with the text in one place: an argument or an option.
    fn calls(&self, filler: impl Fn(&str) -> String, text: &str) -> Vec<Vec<String>> {
        let fill = |special: Option<usize>| -> Vec<String> {
            let wanted =
                self.arguments.iter().enumerate().filter(|(at, (_, required))| *required || special == Some(*at));
            wanted.map(|(at, (name, _))| if special == Some(at) { text.to_owned() } else { filler(name) }).collect()
        };
        let of_arguments = (0..self.arguments.len()).map(|at| [self.words.clone(), fill(Some(at))].concat());
        let of_options = self.options.iter().filter(|(name, _)| !NAMES_OF_FILES.contains(&name.as_str()));
        let of_options = of_options.map(|(name, _)| {
            let option = vec![name.clone(), text.to_owned()];
            [self.words.clone(), fill(None), option].concat()
        });
        of_arguments.chain(of_options).collect()
    }
}

/// Runs a command, ending it if it serves or waits, so that every call ends.
fn run_briefly(mut command: Command, input: &str) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // A command that reads no input may have ended before this is written.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the files and tables in the desk's folder that contain the secret, including compressed columns.
fn leaks(desk: &Desk) -> Vec<String> {
    let mut found = Vec::new();
    for file in files_below(&desk.path("")) {
        let bytes = fs::read(&file).unwrap();
        let in_tables =
            if bytes.starts_with(b"SQLite format 3\0") { leaks_of_database(&file) } else { BTreeSet::new() };
        if holds(&bytes) || !in_tables.is_empty() {
            found.push(format!("{} {in_tables:?}", file.file_name().unwrap().display()));
        }
    }
    found
}

fn leaks_of_database(file: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let database = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut names = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").unwrap();
    let tables: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    for table in tables {
        let Ok(mut all) = database.prepare(&format!("SELECT * FROM \"{table}\"")) else { continue };
        let columns = all.column_count();
        let mut rows = all.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                let (ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = row.get_ref(column).unwrap() else { continue };
                let mut plain = Vec::new();
                // Uncompressed columns were already examined together with the file.
                let _ = flate2::read::ZlibDecoder::new(bytes).read_to_end(&mut plain);
                if holds(bytes) || holds(&plain) {
                    found.insert(table.clone());
                }
            }
        }
    }
    found
}

/// The desk of a test, which is replaced after a leak so that each leaking field is reported separately.
struct Watched {
    desk: Desk,
    id: String,
    calls: usize,
    leaks: Vec<String>,
}

impl Watched {
    fn new() -> Self {
        let (desk, id) = desk();
        Self { desk, id, calls: 0, leaks: Vec::new() }
    }

    /// Examines every file after a call.
    fn look(&mut self, after: &dyn std::fmt::Debug) {
        self.calls += 1;
        let found = leaks(&self.desk);
        if !found.is_empty() {
            self.leaks.push(format!("{found:?} after {after:?}"));
            (self.desk, self.id) = desk();
        }
    }

    fn assert_clean(&self, least: usize) {
        assert_eq!(self.leaks, Vec::<String>::new());
        assert!(self.calls >= least, "only {} calls", self.calls);
    }
}

fn holds(bytes: &[u8]) -> bool {
    let secret = secret();
    memchr::memmem::find(bytes, secret.as_bytes()).is_some()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Returns a copy of `value` for each text in it, with this text replaced.
fn each_text_replaced(value: &Value, text: &str) -> Vec<Value> {
    match value {
        Value::String(_) => vec![text.into()],
        Value::Array(items) => {
            let one = |at: usize, new: Value| {
                let mut items = items.clone();
                items[at] = new;
                Value::Array(items)
            };
            let each = |(at, item)| each_text_replaced(item, text).into_iter().map(move |new| (at, new));
            items.iter().enumerate().flat_map(each).map(|(at, new)| one(at, new)).collect()
        }
        Value::Object(fields) => {
            let one = |name: &str, new: Value| {
                let mut fields = fields.clone();
                fields[name] = new;
                Value::Object(fields)
            };
            let each = |(name, field)| each_text_replaced(field, text).into_iter().map(move |new| (name, new));
            fields.iter().flat_map(each).map(|(name, new): (&String, Value)| one(name, new)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns a desk with a log and memories, and the ID of one of the memories.
fn desk() -> (Desk, String) {
    let desk = Desk::new();
    desk.write("logs/talk.json", fs::read("fixtures/chatgpt/conversations.json").unwrap());
    assert_eq!(desk.run(&["run", "logs", "-q", "--extractor", "rules"]).code, 0);
    let remembered = desk.json(&["remember", "The office closes at six.", "--tag", "hours", "--title", "Hours"]);
    let id = remembered[0]["id"].as_str().unwrap().to_owned();
    (desk, id)
}

#[test]
fn no_text_of_any_command_reaches_a_file() {
    let mut watched = Watched::new();
    let commands = documented();
    assert!(commands.len() > 40, "the reference lists the commands");
    for command in &commands {
        for text in [sentence(), secret()] {
            // Placeholders represent values that only the current desk knows, and are filled in last.
            for call in command.calls(|name| format!("<{name}>"), &text) {
                let run = watched.desk.json(&["runs", "list"])[0]["id"].as_str().unwrap().to_owned();
                let fill = |word: &String| match word.as_str() {
                    "<ID>" | "<IDS>" | "<TO>" | "<FROM>" => watched.id.clone(),
                    "<RUN>" => run.clone(),
                    "<RELATION>" => "related".to_owned(),
                    "<NUMBER>" => "1".to_owned(),
                    "<PATH>" | "<DIR>" => "logs".to_owned(),
                    word if word.starts_with('<') => "office".to_owned(),
                    word => word.to_owned(),
                };
                let words: Vec<String> = call.iter().map(fill).collect();
                run_briefly(watched.desk.command(&words.iter().map(String::as_str).collect::<Vec<_>>()), "");
                watched.look(&call);
            }
        }
    }
    watched.assert_clean(200);
}

#[test]
fn no_text_of_any_tool_reaches_a_file() {
    let mut watched = Watched::new();
    let id = watched.id.clone();
    let mut client = Piped::start(&watched.desk, &["--profile", "full"]);
    let tools = client.ask("tools/list", &json!({}))["result"]["tools"].as_array().unwrap().clone();
    for tool in &tools {
        let schema = &tool["inputSchema"];
        let Some(fields) = schema["properties"].as_object() else { continue };
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap()).collect();
        let usual = |name: &str| usual_value(schema, &fields[name], name, &id);
        for field in fields.keys() {
            for special in each_text_replaced(&usual(field), &sentence()) {
                let others = required.iter().filter(|name| *name != field);
                let mut arguments: serde_json::Map<String, Value> =
                    others.map(|name| ((*name).to_owned(), usual(name))).collect();
                arguments.insert(field.clone(), special);
                client.ask("tools/call", &json!({"name": tool["name"], "arguments": arguments}));
                watched.look(&(&tool["name"], &arguments));
            }
        }
    }
    assert!(client.end().1.success());
    watched.assert_clean(40);
}

/// Returns a value that fits a schema.
fn usual_value(schema: &Value, field: &Value, name: &str, id: &str) -> Value {
    if let Some(reference) = field["$ref"].as_str() {
        return usual_value(schema, schema.pointer(reference.trim_start_matches('#')).unwrap(), name, id);
    }
    if let Some(first) = field["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    if let Some(shapes) = field["anyOf"].as_array().or_else(|| field["oneOf"].as_array()) {
        return usual_value(schema, &shapes[0], name, id);
    }
    if let Some(value) = field.get("const") {
        return value.clone();
    }
    let kind = field["type"].as_str().or_else(|| field["type"][0].as_str()).unwrap_or("string");
    match kind {
        "integer" | "number" => 1.into(),
        "boolean" => true.into(),
        "array" => json!([usual_value(schema, &field["items"], name, id)]),
        "object" => {
            let fields = field["properties"].as_object().into_iter().flatten();
            fields.map(|(name, field)| (name.clone(), usual_value(schema, field, name, id))).collect()
        }
        _ if name == "id" || name.ends_with("_id") || name == "ids" => id.into(),
        _ if name == "category" => "fact".into(),
        _ => "The office closes at six.".into(),
    }
}

#[test]
fn no_text_that_a_hook_is_given_reaches_a_file() {
    let mut watched = Watched::new();
    for (agent, event, mut input) in hooks::recorded() {
        let around = json!({
            "session_id": "s1", "transcript_path": watched.desk.path("logs/talk.json"), "cwd": watched.desk.path(""),
            "prompt_id": "p1", "custom_instructions": "none",
        });
        for (name, value) in around.as_object().unwrap() {
            input.as_object_mut().unwrap().entry(name.clone()).or_insert(value.clone());
        }
        for special in each_text_replaced(&input, &sentence()) {
            run_briefly(watched.desk.command(&["hook", event, "--agent", agent]), &special.to_string());
            watched.look(&(event, &special));
        }
    }
    watched.assert_clean(60);
}

#[test]
fn no_text_of_an_import_reaches_a_file() {
    let mut watched = Watched::new();
    let import = |watched: &mut Watched, name: &str, text: &str, of: &str| {
        watched.desk.write(name, text);
        run_briefly(watched.desk.command(&["import", name, "--db", "other.db"]), "");
        fs::remove_file(watched.desk.path(name)).unwrap();
        watched.look(&of);
    };
    for line in watched.desk.run(&["export", "--all"]).json() {
        for special in each_text_replaced(&line, &sentence()).into_iter().chain(each_text_replaced(&line, &secret())) {
            import(&mut watched, "all.jsonl", &format!("{special}\n"), &special.to_string());
        }
    }
    for (name, text) in [
        ("CLAUDE.md", format!("# Rules\n\n- {}\n", sentence())),
        ("MEMORY.md", format!("## {}\n\n- {}\n", sentence(), sentence())),
        ("mem0.json", json!({"results": [{"memory": sentence(), "metadata": {"note": secret()}}]}).to_string()),
    ] {
        import(&mut watched, name, &text, name);
    }
    watched.assert_clean(100);
}
