//! Prompt histories: what a person typed to an agent over many sessions, without the answers.

use std::collections::{HashMap, HashSet};

use crate::Message;
use crate::{Assembler, Input, Sink};

/// A prompt in a history.
pub struct Prompt<'a> {
    /// The session in which it was typed.
    pub session: &'a str,
    /// What the session's own log would be named by.
    pub key: &'a str,
    /// The folder in which it was typed.
    pub project: Option<&'a str>,
    /// The words.
    pub message: Message,
}

/// Collects the prompts of each session that has no log of its own any more.
pub struct Prompts {
    source: &'static str,
    origin: String,
    /// What the logs beside the history are named by.
    logged: HashSet<String>,
    index: HashMap<String, usize>,
    open: Vec<Assembler>,
    /// The first prompt that was left to the session's own log, and how many there were.
    passed: Option<(usize, usize)>,
}

impl Prompts {
    /// Starts to read the history `input` of the agent `source`; beside it are logs named by `logged`.
    #[must_use]
    pub fn new(source: &'static str, input: &Input, logged: HashSet<String>) -> Self {
        let origin = input.path.display().to_string();
        Self { source, origin, logged, index: HashMap::new(), open: Vec::new(), passed: None }
    }

    /// Adds a prompt, unless it stands in the session's own log too.
    pub fn take(&mut self, number: usize, prompt: Prompt<'_>, sink: &mut Sink<'_>) {
        let Prompt { session, key, project, message } = prompt;
        if self.logged.contains(key) {
            let (_, count) = self.passed.get_or_insert((number, 0));
            *count += 1;
            return;
        }
        let place = *self.index.entry(session.to_owned()).or_insert_with(|| {
            self.open.push(Assembler::new(self.source, format!("prompts/{session}"), self.origin.as_str()));
            self.open.len() - 1
        });
        let draft = &mut self.open[place];
        let meta = draft.meta();
        meta.project = meta.project.take().or(project.map(str::to_owned));
        draft.push(message, sink);
    }

    /// Hands over what is left, and tells what was left to other logs.
    pub fn finish(self, sink: &mut Sink<'_>) {
        if let Some((number, count)) = self.passed {
            let reason = format!("{count} prompts from here on belong to sessions whose own logs are kept beside this");
            sink.skip(number, reason);
        }
        for draft in self.open {
            draft.finish(sink);
        }
    }
}
