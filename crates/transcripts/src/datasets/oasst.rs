//! `OpenAssistant`: trees of messages by volunteers, whole or as flat rows, of which the path ranked best is read.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::Message;
use crate::chat::role_named;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Objects, Sink, identity};

/// Reads `OpenAssistant`.
pub struct Oasst;

impl Ingestor for Oasst {
    fn name(&self) -> &'static str {
        "oasst"
    }

    fn about(&self) -> &'static str {
        "OpenAssistant trees or flat messages; of each tree the replies that were ranked best"
    }

    fn rule(&self) -> &'static str {
        "objects with `message_tree_id`, and `prompt` with `replies`, or `message_id` with `text`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_row = |value: &Value| is_tree(value) || is_flat(value);
        head.objects().any(is_row) || head.most_lines(is_row)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut objects = Objects::of(input);
        // The rows of one tree stand together.
        let mut group: Vec<Value> = Vec::new();
        let (mut origin, mut ended) = (String::new(), HashSet::new());
        while let Some(object) = objects.next(sink)? {
            let tree = object.value["message_tree_id"].clone();
            if is_tree(&object.value) {
                read_tree(&object.value, object.origin, object.number, sink);
            } else if !is_flat(&object.value) {
                sink.skip(object.number, "neither a tree nor a message");
            } else if group.first().is_some_and(|first| first["message_tree_id"] == tree) {
                group.push(object.value);
            } else {
                ended.extend(read_group(&std::mem::take(&mut group), std::mem::take(&mut origin), object.number, sink));
                if tree.as_str().is_some_and(|tree| ended.contains(tree)) {
                    sink.skip(object.number, "a message of a tree whose rows ended further up");
                } else {
                    group.push(object.value);
                    origin = object.origin;
                }
            }
        }
        read_group(&group, origin, 0, sink);
        Ok(())
    }

    fn is_dataset(&self) -> bool {
        true
    }
}

fn is_tree(value: &Value) -> bool {
    value["message_tree_id"].is_string() && value["prompt"]["text"].is_string()
}

fn is_flat(value: &Value) -> bool {
    value["message_tree_id"].is_string() && value["message_id"].is_string() && value["text"].is_string()
}

/// Returns the best of `replies` that was not deleted; what was never ranked comes behind what was.
fn best<'a>(replies: impl Iterator<Item = &'a Value>) -> Option<&'a Value> {
    replies
        .filter(|reply| reply["deleted"] != true && reply["text"].is_string())
        .min_by_key(|reply| reply["rank"].as_u64().unwrap_or(u64::MAX))
}

fn read_tree(tree: &Value, origin: String, number: usize, sink: &mut Sink<'_>) {
    let mut path = Vec::new();
    let mut next = best(std::iter::once(&tree["prompt"]));
    while let Some(message) = next {
        path.push(message);
        next = message["replies"].as_array().and_then(|replies| best(replies.iter()));
    }
    hand_over(&tree["message_tree_id"], &path, origin, number, sink);
}

/// Reads the rows of one tree; returns its id.
fn read_group(rows: &[Value], origin: String, number: usize, sink: &mut Sink<'_>) -> Option<String> {
    let tree = rows.first()?["message_tree_id"].clone();
    let mut replies: HashMap<&str, Vec<&Value>> = HashMap::new();
    for row in rows {
        replies.entry(row["parent_id"].as_str().unwrap_or_default()).or_default().push(row);
    }
    let (mut path, mut seen) = (Vec::new(), HashSet::new());
    // The root is the row without a parent, or, where it is missing, the first row.
    let root = replies.get("").and_then(|roots| best(roots.iter().copied()));
    let mut next = root.or_else(|| best(rows.iter().take(1)));
    while let Some(message) = next.filter(|message| seen.insert(message["message_id"].as_str().unwrap_or_default())) {
        path.push(message);
        let below = message["message_id"].as_str().and_then(|id| replies.get(id));
        next = below.and_then(|below| best(below.iter().copied()));
    }
    hand_over(&tree, &path, origin, number.saturating_sub(1).max(1), sink);
    tree.as_str().map(str::to_owned)
}

fn hand_over(tree: &Value, path: &[&Value], origin: String, number: usize, sink: &mut Sink<'_>) {
    if path.is_empty() {
        return sink.skip(number, "a tree whose first message was deleted");
    }
    let mut draft = Assembler::new("oasst", tree.as_str().unwrap_or_default(), origin);
    draft.meta().created_at = path.first().and_then(|message| identity::instant(&message["created_date"]));
    for message in path {
        let text = |key: &str| message[key].as_str().unwrap_or_default();
        let said = Message {
            id: text("message_id").to_owned(),
            time: identity::stamp(&message["created_date"]),
            ..Message::prose(role_named(text("role")), text("text"))
        };
        draft.push(said, sink);
    }
    draft.finish(sink);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    fn row(id: &str, parent: Option<&str>, role: &str, rank: Option<u32>) -> Value {
        json!({"message_id": id, "parent_id": parent, "message_tree_id": "t1", "text": id, "role": role, "rank": rank,
            "deleted": false, "created_date": "2023-02-05T14:23:50.983374+00:00"})
    }

    fn expected() -> Vec<String> {
        ["User Prose t1", "Assistant Prose good", "User Prose more"].map(str::to_owned).to_vec()
    }

    #[test]
    fn the_best_path_of_a_tree_is_read() {
        let mut good = row("good", Some("t1"), "assistant", Some(0));
        good["replies"] = json!([row("more", Some("good"), "prompter", None)]);
        let mut gone = row("gone", Some("t1"), "assistant", Some(0));
        gone["deleted"] = json!(true);
        let mut root = row("t1", None, "prompter", None);
        root["replies"] = json!([row("bad", Some("t1"), "assistant", Some(1)), gone, good]);
        let tree = json!({"message_tree_id": "t1", "tree_state": "ready_for_export", "prompt": root});
        assert!(sniffs(&Oasst, &tree.to_string()));
        let (seen, _) = read(&Oasst, "x", &tree.to_string());
        assert_eq!((lines(&seen[0]), seen[0].external_id.as_str()), (expected(), "t1"));
    }

    #[test]
    fn flat_rows_make_the_same_tree_and_circles_end() {
        let rows = [
            row("t1", None, "prompter", None),
            row("bad", Some("t1"), "assistant", Some(2)),
            row("good", Some("t1"), "assistant", Some(0)),
            row("more", Some("good"), "prompter", None),
            row("good", Some("more"), "assistant", None),
        ];
        let text = rows.map(|row| row.to_string()).join("\n");
        assert!(sniffs(&Oasst, &text));
        let (seen, _) = read(&Oasst, "x", &text);
        assert_eq!(lines(&seen[0]), expected());
    }

    #[test]
    fn a_tree_may_be_hundreds_of_messages_deep() {
        let mut node = row("leaf", None, "assistant", None);
        for _ in 0..700 {
            let mut above = row("turn", None, "prompter", None);
            above["replies"] = json!([node]);
            node = above;
        }
        let (seen, skipped) = read(&Oasst, "x", &json!({"message_tree_id": "t1", "prompt": node}).to_string());
        assert_eq!((seen[0].messages.len(), skipped), (701, vec![]));
    }
}
