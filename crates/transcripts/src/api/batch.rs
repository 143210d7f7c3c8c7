//! Batches: a file of requests and a file of results, whose lines are matched by their `custom_id`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::Value;

use crate::message::exchange::{Conversation, answered, asked, own_id};
use crate::message::identity;
use crate::{Head, IngestError, Input, MAX_RECORD_BYTES, Message, Object, Objects, Sink, content_hash};

/// Maximum number of files in the same folder that are searched for the other half of a batch.
const MAX_SIBLINGS: usize = 64;

/// The content of a line of a batch.
pub(crate) enum Line<'a> {
    /// The body of a request.
    Request(&'a Value),
    /// The body of a reply.
    Reply(&'a Value),
    /// There is no reply, for the given reason.
    Failed(String),
}

/// Reads a vendor's line of a batch: its `custom_id`, and its content.
pub(crate) type ReadLine = fn(&Value) -> Option<(&str, Line<'_>)>;

/// The other half of a batch, if files in the same folder contain it.
#[derive(Default)]
struct Other {
    /// The request or reply with each id; `None` if several files contradict each other.
    halves: HashMap<String, Option<Half>>,
    bytes: usize,
}

struct Half {
    is_request: bool,
    messages: Vec<Message>,
    /// The model and the time stated in the other half.
    facts: Value,
}

/// Reads a file of a batch, joined with the other half if the other half is in the same folder.
///
/// A request and its reply form the same conversation with the same identity, whichever of the two files is read.
///
/// # Errors
/// The same errors as [`Objects::next`].
pub(crate) fn read(source: &'static str, line: ReadLine, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let other = Other::beside(&input, line);
    if other.bytes > MAX_RECORD_BYTES {
        sink.skip(1, format!("requests and results over {} MiB are not joined", MAX_RECORD_BYTES >> 20));
    }
    Objects::each(input, sink, |object, sink| match line(&object.value) {
        Some((id, pieces)) => join(source, &object, id, &pieces, &other, sink),
        None => sink.skip(object.number, "neither a batch request nor a result"),
    })
}

fn join(source: &str, object: &Object, custom_id: &str, pieces: &Line<'_>, other: &Other, sink: &mut Sink<'_>) {
    let half = other.halves.get(custom_id);
    if matches!(half, Some(None)) {
        sink.skip(
            object.number,
            "several files in the same folder have this `custom_id`, so the record is not joined with any of them",
        );
    }
    let half = half.and_then(Option::as_ref);
    let (mut question, mut answer, body) = match pieces {
        Line::Request(body) => (asked(body), Vec::new(), *body),
        Line::Reply(body) => (Vec::new(), answered(body), *body),
        Line::Failed(reason) => {
            sink.skip(object.number, reason.as_str());
            (Vec::new(), Vec::new(), &Value::Null)
        }
    };
    let is_request = matches!(pieces, Line::Request(_));
    match half {
        Some(half) if half.is_request && !is_request => question.clone_from(&half.messages),
        Some(half) if !half.is_request && is_request => answer.clone_from(&half.messages),
        Some(_) | None => {}
    }
    if question.is_empty() && answer.is_empty() {
        if !matches!(pieces, Line::Failed(_)) {
            sink.skip(object.number, "not a conversation: a request or result without messages");
        }
        return;
    }
    // An exchange has the same identity, whichever of the two files it is read from.
    let id = if question.is_empty() { own_id(&[body], &["id"]) } else { None };
    let id = id.unwrap_or_else(|| {
        let known = if question.is_empty() { &answer } else { &question };
        identity::of_parts(&[custom_id, &content_hash(known)])
    });
    // The reply contains the exact model name, and only the reply contains a time.
    let beside = half.map_or(&Value::Null, |half| &half.facts);
    let facts = if is_request { vec![beside, body] } else { vec![body, beside] };
    question.extend(answer);
    Conversation { source, id: Some(id), facts, messages: question }.hand_over(object, sink);
}

impl Other {
    /// Reads the other halves from files in the same folder, up to [`MAX_RECORD_BYTES`] of text.
    fn beside(input: &Input, line: ReadLine) -> Self {
        let mut other = Self::default();
        let wants_requests = {
            let head = Head::of(input);
            // A file with a single line is parsed as a document.
            !head.objects().chain(&head.lines).filter_map(line).any(|(_, pieces)| matches!(pieces, Line::Request(_)))
        };
        // A compressed file has an additional extension.
        let is_lines = |name: &String| name.to_ascii_lowercase().contains(".jsonl");
        for name in input.siblings().iter().filter(|name| is_lines(name)).take(MAX_SIBLINGS) {
            let Some(file) = input.sibling(name) else { continue };
            let head = Head::of(&file);
            let is_half = |value: &Value| {
                line(value).is_some_and(|(_, pieces)| matches!(pieces, Line::Request(_)) == wants_requests)
            };
            if head.objects().chain(&head.lines).any(is_half) {
                // `head` borrows the file, which is read further below.
                drop(head);
                other.collect(file, line, wants_requests);
            }
        }
        if other.bytes > MAX_RECORD_BYTES {
            other.halves.clear();
        }
        other
    }

    fn collect(&mut self, file: Input, line: ReadLine, wants_requests: bool) {
        // Faults in that file are reported when that file is read.
        let mut ignore = |_| {};
        let mut ignored = Sink::new(&mut ignore);
        let mut objects = Objects::of(file);
        while let Ok(Some(object)) = objects.next(&mut ignored) {
            let Some((id, pieces)) = line(&object.value) else { continue };
            let (is_request, body) = match pieces {
                Line::Request(body) => (true, body),
                Line::Reply(body) => (false, body),
                Line::Failed(_) => continue,
            };
            if is_request != wants_requests {
                continue;
            }
            let messages = if is_request { asked(body) } else { answered(body) };
            self.bytes += messages.iter().map(|message| message.text.len()).sum::<usize>();
            if self.bytes > MAX_RECORD_BYTES {
                return;
            }
            let pieces = ["model", "created", "created_at"].into_iter().map(|key| (key.to_owned(), body[key].clone()));
            let half = Half { is_request, messages, facts: Value::Object(pieces.collect()) };
            match self.halves.entry(id.to_owned()) {
                Entry::Vacant(place) => drop(place.insert(Some(half))),
                Entry::Occupied(mut place)
                    if place.get().as_ref().is_none_or(|known| known.messages != half.messages) =>
                {
                    place.insert(None);
                }
                Entry::Occupied(_) => {}
            }
        }
    }
}
