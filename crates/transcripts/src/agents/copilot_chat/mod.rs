//! Chat sessions of VS Code: one JSON document, as it is stored and as "Export Chat…" writes it, or the log of changes
//! that newer versions keep, which is replayed into such a document.

mod changes;
mod request;

use serde_json::Value;

use self::changes::Replay;
use super::turn;
use crate::{Assembler, Folder, Head, IngestError, Ingestor, Input, Records, Sink, identity};
use crate::{Message, MessageTime, TimeSource};

/// The ingestor's name, stored with each transcript.
const NAME: &str = "copilot-chat";

/// Reads chat sessions of VS Code.
pub struct CopilotChat;

impl Ingestor for CopilotChat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "GitHub Copilot chat in VS Code: stored sessions and exported chats"
    }

    fn rule(&self) -> &'static str {
        "JSON with `requests` and a `requesterUsername`, `responderUsername` or `sessionId`; or JSONL of changes with `kind` 0 to 3"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_log = head.any_line(changes::is_start) && head.most_lines(changes::is_change);
        is_log || head.document.as_ref().is_some_and(|one| is_session(one) || changes::is_start(one))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        let file = File { stem: input.stem(), project: workspace(&input), origin };
        if Head::of(&input).document.as_ref().is_some_and(is_session) {
            let mut records = Records::elements(input);
            while let Some((number, session)) = records.next_json::<Value>(sink)? {
                read_session(&file, &session, number, sink);
            }
            return Ok(());
        }
        let mut records = Records::lines(input);
        let mut replay = Replay::default();
        while let Some((number, change)) = records.next_json::<Value>(sink)? {
            if let Err(reason) = replay.apply(change) {
                sink.skip(number, reason);
            }
        }
        read_session(&file, &replay.finish(), 1, sink);
        Ok(())
    }
}

fn is_session(document: &Value) -> bool {
    let names = ["requesterUsername", "responderUsername", "sessionId"];
    let is_request = |request: &Value| request["requestId"].is_string() || request.get("message").is_some();
    let requests = document["requests"].as_array();
    requests.is_some_and(|requests| requests.iter().take(50).all(is_request))
        && names.iter().any(|key| document[*key].is_string())
}

/// What is known of a session from outside.
struct File {
    stem: String,
    origin: String,
    project: Option<String>,
}

/// Returns the workspace of which the session is, which stands in a file one folder further up.
fn workspace(input: &Input) -> Option<String> {
    let folder = input.path.parent().filter(|_| !input.is_in_archive())?;
    let above = folder.parent().filter(|_| folder.ends_with("chatSessions"))?;
    let text = Folder::directory(above).open("workspace.json").ok()?.into_text(1 << 20).ok()??;
    let (value, _) = crate::json::parse::<Value>(&text).ok()?;
    let address = value["folder"].as_str().or_else(|| value["workspace"].as_str())?;
    Some(turn::folder_path(address))
}

fn read_session(file: &File, session: &Value, number: usize, sink: &mut Sink<'_>) {
    let Some(requests) = session["requests"].as_array() else {
        return sink.skip(number, "a session without requests");
    };
    let mut draft = Assembler::new(NAME, file.stem.as_str(), file.origin.as_str());
    let meta = draft.meta();
    let title = ["customTitle", "computedTitle", "name"].into_iter().find_map(|key| turn::text(&session[key]));
    meta.title = title.map(str::to_owned);
    meta.project.clone_from(&file.project);
    meta.created_at = identity::instant(&session["creationDate"]);
    let mut before = meta.created_at.map(MessageTime::logged);
    let mut own_id = turn::text(&session["sessionId"]).map(str::to_owned);
    if let Some(id) = &own_id {
        draft.set_external_id(id.as_str());
    }
    for request in requests.iter().filter(|request| !request::is_taken_back(request)) {
        let model = turn::text(&request["modelId"]).map(str::to_owned);
        draft.meta().model = draft.meta().model.take().or(model);
        let stamped = turn::time(&request["timestamp"]);
        before = stamped.or(before);
        let derived = before.map(|time| MessageTime { source: TimeSource::Derived, ..time });
        for said in request::messages_of(request) {
            let time = if said.is_asked { stamped.or(derived) } else { derived };
            let message = Message { time, ..said.message };
            if own_id.is_none() && !message.text.trim().is_empty() {
                // An export names no session, but its requests have ids that no other session repeats.
                let first = turn::text(&request["requestId"]).map(|id| identity::of_parts(&[id]));
                let id = first.unwrap_or_else(|| identity::of_file(&file.stem, &message));
                draft.set_external_id(id.as_str());
                own_id = Some(id);
            }
            draft.push(message, sink);
        }
    }
    draft.finish(sink);
}

#[cfg(test)]
mod tests;
