//! Choosing, in the tree of a `ChatGPT` conversation, the one branch that was shown last.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::ingest::identity;

/// Returns the messages of the current branch, first to last; edited and regenerated siblings are left out.
///
/// The branch ends at `current_node`. Where that is missing or leads into a loop, it ends at the newest leaf.
#[must_use]
pub fn branch(conversation: &Value) -> Vec<&Value> {
    let Some(nodes) = conversation["mapping"].as_object() else { return Vec::new() };
    let current = conversation["current_node"].as_str().filter(|id| nodes.contains_key(*id));
    let path = match current.map(|id| path_to(nodes, id)) {
        Some((path, Ending::Root)) => path,
        Some((path, Ending::Loop)) => newest_leaf(nodes).map_or(path, |leaf| path_to(nodes, leaf).0),
        None => newest_leaf(nodes)
            .or_else(|| nodes.keys().next_back().map(String::as_str))
            .map_or_else(Vec::new, |leaf| path_to(nodes, leaf).0),
    };
    path.into_iter()
        .rev()
        .filter_map(|id| nodes.get(id))
        .map(|node| &node["message"])
        .filter(|m| m.is_object())
        .collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Root,
    Loop,
}

/// Walks from `id` up through the parents.
fn path_to<'a>(nodes: &'a Map<String, Value>, id: &'a str) -> (Vec<&'a str>, Ending) {
    let (mut path, mut visited, mut next) = (Vec::new(), HashSet::new(), Some(id));
    while let Some(id) = next {
        let Some(node) = nodes.get(id) else { break };
        if !visited.insert(id) {
            return (path, Ending::Loop);
        }
        path.push(id);
        next = node["parent"].as_str();
    }
    (path, Ending::Root)
}

/// Returns the leaf with the latest time, or the last of the deepest ones where none has a time.
fn newest_leaf(nodes: &Map<String, Value>) -> Option<&str> {
    let mut children: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut open: Vec<(&str, usize)> = Vec::new();
    for (id, node) in nodes {
        match node["parent"].as_str().filter(|parent| nodes.contains_key(*parent)) {
            Some(parent) => children.entry(parent).or_default().push(id),
            None => open.push((id, 0)),
        }
    }
    let order: HashMap<&str, usize> = nodes.keys().enumerate().map(|(place, id)| (id.as_str(), place)).collect();
    let mut newest = None;
    // Only what hangs from a root is reached, so a loop cannot be entered.
    while let Some((id, depth)) = open.pop() {
        if let Some(below) = children.get(id) {
            open.extend(below.iter().map(|child| (*child, depth + 1)));
        } else {
            let time = identity::instant(&nodes[id]["message"]["create_time"]);
            newest = newest.max(Some((time, depth, order[id], id)));
        }
    }
    newest.map(|(_, _, _, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn texts(current: Option<&str>, rows: &[(&str, Option<&str>, Option<f64>)]) -> Vec<String> {
        let nodes: Map<_, _> = rows
            .iter()
            .map(|(id, parent, time)| {
                ((*id).to_owned(), json!({"parent": parent, "message": {"id": id, "create_time": time}}))
            })
            .collect();
        let conversation = json!({"mapping": nodes, "current_node": current});
        branch(&conversation).iter().map(|message| message["id"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn the_current_branch_leaves_out_its_siblings() {
        let rows =
            [("a", None, None), ("b", Some("a"), Some(9.0)), ("c", Some("a"), Some(1.0)), ("d", Some("c"), None)];
        assert_eq!(texts(Some("d"), &rows), ["a", "c", "d"]);
    }

    #[test]
    fn without_a_usable_current_node_the_newest_leaf_ends_the_branch() {
        let rows =
            [("a", None, None), ("b", Some("a"), Some(9.0)), ("c", Some("a"), Some(1.0)), ("d", Some("c"), Some(2.0))];
        assert_eq!(texts(None, &rows), ["a", "b"]);
        assert_eq!(texts(Some("gone"), &rows), ["a", "b"]);
    }

    #[test]
    fn without_times_the_last_of_the_deepest_leaves_ends_the_branch() {
        let rows = [
            ("a", None, None),
            ("b", Some("a"), None),
            ("c", Some("a"), None),
            ("d", Some("c"), None),
            ("e", Some("b"), None),
        ];
        assert_eq!(texts(None, &rows), ["a", "b", "e"]);
    }

    #[test]
    fn loops_end() {
        let looped = [("a", Some("b"), None), ("b", Some("a"), None)];
        assert_eq!(texts(Some("b"), &looped), ["a", "b"]);
        assert_eq!(texts(None, &looped), ["a", "b"]);
        let beside = [("a", Some("a"), None), ("r", None, None), ("s", Some("r"), None)];
        assert_eq!(texts(Some("a"), &beside), ["r", "s"]);
    }
}
