//! One session while it is read, and where it was taken back.

use serde_json::Value;

use super::NAME;
use super::part::{MessageHead, messages_of};
use crate::agents::turn;
use crate::{Assembler, Sink, identity};
use crate::{Kind, Message, Role};

/// How the titles begin that a session has until it gets one of its own.
const PLACEHOLDER_TITLES: &[&str] = &["New session - ", "Child session - "];

/// A message and its parts.
pub(super) struct Said<'a> {
    pub(super) id: &'a str,
    pub(super) info: &'a Value,
    pub(super) parts: Vec<Value>,
}

/// A session; what follows the place to which it was taken back is left out.
pub(super) struct Session {
    draft: Assembler,
    is_sub_agents: bool,
    /// The message, and perhaps the part of it, from which on all is undone.
    undone_from: Option<(String, Option<String>)>,
    is_undone: bool,
}

impl Session {
    /// Starts the session that `info` describes; `None` if that names none.
    pub(super) fn new(info: &Value, origin: String) -> Option<Self> {
        let id = turn::text(&info["id"])?;
        let parent = turn::text(&info["parentID"]);
        let identity = parent.map_or_else(|| id.to_owned(), |parent| format!("{parent}/{id}"));
        let mut draft = Assembler::new(NAME, identity, origin);
        let is_own = |title: &&str| !PLACEHOLDER_TITLES.iter().any(|start| title.starts_with(start));
        let meta = draft.meta();
        meta.title = turn::text(&info["title"]).filter(is_own).map(str::to_owned);
        meta.project = turn::text(&info["directory"]).map(str::to_owned);
        meta.created_at = identity::instant(&info["time"]["created"]);
        let revert = &info["revert"];
        let undone_from = turn::text(&revert["messageID"])
            .map(|message| (message.to_owned(), turn::text(&revert["partID"]).map(str::to_owned)));
        Some(Self { draft, is_sub_agents: parent.is_some(), undone_from, is_undone: false })
    }

    /// Adds the next message.
    pub(super) fn take(&mut self, said: Said<'_>, sink: &mut Sink<'_>) {
        let Some(parts) = self.kept(said.id, said.parts) else { return };
        if self.draft.meta().model.is_none() {
            let model = turn::text(&said.info["modelID"]).or_else(|| turn::text(&said.info["model"]["modelID"]));
            self.draft.meta().model = model.map(str::to_owned);
        }
        let head = MessageHead::of(said.id, said.info);
        let mut messages: Vec<_> = parts.iter().flat_map(|part| messages_of(part, &head)).collect();
        if let Some(error) = turn::text(&said.info["error"]["data"]["message"]) {
            let failed = turn::message(Role::System, Kind::Context, error);
            messages.push(Message { id: said.id.to_owned(), time: head.time, ..failed });
        }
        if self.is_sub_agents {
            turn::of_sub_agent(&mut messages);
        }
        for message in messages {
            self.draft.push(message, sink);
        }
    }

    /// Returns the parts that were not taken back.
    fn kept(&mut self, id: &str, mut parts: Vec<Value>) -> Option<Vec<Value>> {
        if self.is_undone {
            return None;
        }
        if let Some((message, part)) = &self.undone_from
            && message == id
        {
            self.is_undone = true;
            let part = part.as_deref()?;
            let first = parts.iter().position(|one| one["id"] == part).unwrap_or(parts.len());
            parts.truncate(first);
        }
        Some(parts)
    }

    pub(super) fn finish(self, sink: &mut Sink<'_>) {
        self.draft.finish(sink);
    }
}
