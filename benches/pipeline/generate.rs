//! Randomly generated logs and texts of realistic sizes.

use std::fmt::Write as _;
use std::io::Write;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::random::Random;

const SUBJECTS: &[&str] = &["the parser", "the build", "our deploy", "the test suite", "the queue", "this page", "it"];
const VERBS: &[&str] = &["breaks on", "needs", "waits for", "should use", "now ignores", "still reads", "drops"];
const OBJECTS: &[&str] = &["empty lines", "the cache", "old sessions", "two more retries", "the config file", "UTF-8"];
const STATEMENTS: &[&str] = &[
    "I prefer tabs over spaces.",
    "We decided to use Postgres for the ledger.",
    "From now on, always run the linter before you commit.",
    "My name is Ana and I live in Porto.",
    "Remember that the staging server is called heron.",
    "Please never push to main on Fridays.",
];
const SYLLABLES: &[&str] =
    &["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "du", "fa", "gen", "hil", "jor", "pan", "qui"];

/// Returns one of about 4,000 meaningless words.
pub fn word(random: &mut Random) -> String {
    syllables(random, 3)
}

/// Returns a meaningless word of `count` syllables.
pub fn syllables(random: &mut Random, count: usize) -> String {
    (0..count).map(|_| random.pick(SYLLABLES)).collect()
}

/// Returns about `words` words of plain English sentences.
pub fn prose(random: &mut Random, words: usize) -> String {
    let mut text = String::new();
    let mut written = 0;
    while written < words {
        let (subject, verb, object) = (random.pick(SUBJECTS), random.pick(VERBS), random.pick(OBJECTS));
        let (noun, other) = (word(random), word(random));
        write!(text, "I think {subject} {verb} {object} when {noun} meets {other}. ").unwrap();
        written += 11;
    }
    text.trim_end().to_owned()
}

/// Returns at least `bytes` bytes that look like source code and tool output.
pub fn code(random: &mut Random, bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        let (name, other, number) = (word(random), word(random), random.below(900));
        let line = match random.below(5) {
            0 => format!("    let {name} = {other}.get(\"{name}\").map_or({number}, |value| value.len());\n"),
            1 => format!("src/{name}/{other}.rs:{number}:17: warning: unused variable `{name}`\n"),
            2 => format!("pub fn {name}_{other}(input: &str, limit: usize) -> Result<Vec<String>, Error> {{\n"),
            3 => format!("test {name}::tests::{other}_is_read_again ... ok ({number} ms)\n"),
            _ => format!("-rw-r--r--  1 ana ana {number}123 Mar  3 10:{:02} {name}-{other}.json\n", number % 60),
        };
        text.push_str(&line);
    }
    text
}

/// A coding-agent session that is generated message by message.
pub struct Session<'r> {
    random: &'r mut Random,
    id: String,
    project: String,
    parent: Option<String>,
    at: Timestamp,
    tools: Tools,
}

/// Amount of tool output in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    /// Three calls per turn, with outputs of 0.5 to 6 KB.
    Some,
    /// Eight calls per turn, with outputs of 2 to 40 KB.
    Mostly,
}

impl<'r> Session<'r> {
    /// Returns a session in `project` that begins in March 2026, on a different day for each `number`.
    pub fn new(random: &'r mut Random, number: usize, project: &str, tools: Tools) -> Self {
        let start = 1_772_366_400 + i64::try_from(number).unwrap() * 86_400;
        let id = format!("{:08x}-0000-4000-8000-000000000000", number + 1);
        Self {
            random,
            id,
            project: project.to_owned(),
            parent: None,
            at: Timestamp::from_second(start).unwrap(),
            tools,
        }
    }

    /// Writes one turn: the user's message, tool calls with outputs, and the assistant's answer. Returns the number of
    /// lines.
    pub fn turn(&mut self, out: &mut impl Write) -> usize {
        let asked = self.asked();
        self.line(out, "user", &json!(asked), None);
        let words = self.random.between(15, 60);
        let plan = prose(self.random, words);
        self.said(out, &plan);
        let calls = if self.tools == Tools::Mostly { 8 } else { 3 };
        (0..calls).for_each(|_| self.tool_use(out));
        let words = self.random.between(60, 220);
        let answer = prose(self.random, words);
        self.said(out, &answer);
        3 + 2 * calls
    }

    fn asked(&mut self) -> String {
        let words = self.random.between(12, 70);
        let asked = prose(self.random, words);
        if self.random.below(3) == 0 { format!("{} {asked}", self.random.pick(STATEMENTS)) } else { asked }
    }

    fn said(&mut self, out: &mut impl Write, text: &str) {
        self.line(out, "assistant", &json!([{"type": "text", "text": text}]), None);
    }

    fn tool_use(&mut self, out: &mut impl Write) {
        let (id, path) = (format!("toolu_{}", self.random.hex()), word(self.random));
        let call = json!([{"type": "tool_use", "id": id, "name": "Bash",
            "input": {"command": format!("cargo test {path} 2>&1 | tail -50"), "description": "Run the tests"}}]);
        self.line(out, "assistant", &call, None);
        let size = match self.tools {
            Tools::Some => self.random.between(500, 6_000),
            Tools::Mostly => self.random.between(2_000, 40_000),
        };
        let output = code(self.random, size);
        let answer = json!([{"type": "tool_result", "tool_use_id": id, "content": output}]);
        // The agent logs each output twice: once as sent to the model, and once as returned by the tool.
        let raw = json!({"stdout": output, "stderr": "", "interrupted": false, "isImage": false});
        self.line(out, "user", &answer, Some(raw));
    }

    fn line(&mut self, out: &mut impl Write, role: &str, content: &Value, tool_use_result: Option<Value>) {
        let uuid = format!("{}-{}", self.random.hex(), self.random.hex());
        self.at += jiff::SignedDuration::from_secs(i64::try_from(self.random.between(2, 20)).unwrap());
        let mut line = json!({
            "parentUuid": self.parent, "isSidechain": false, "userType": "external", "cwd": self.project,
            "sessionId": self.id, "version": "2.1.0", "gitBranch": "main", "type": role,
            "message": {"role": role, "content": content}, "uuid": uuid, "timestamp": self.at.to_string(),
        });
        if let Some(result) = tool_use_result {
            line["toolUseResult"] = result;
        }
        writeln!(out, "{line}").unwrap();
        self.parent = Some(uuid);
    }
}

/// Returns a session of at least `bytes` bytes.
pub fn session_text(seed: u64, bytes: usize, tools: Tools) -> String {
    let mut random = Random::new(seed);
    let (mut out, mut session) = (Vec::new(), Session::new(&mut random, 0, "/home/ana/shop", tools));
    while out.len() < bytes {
        session.turn(&mut out);
    }
    String::from_utf8(out).unwrap()
}
