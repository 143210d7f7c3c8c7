//! Shared parts of reading exports: fields, default times of messages, and the branch that was shown last.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use serde_json::Value;

use crate::{Kind, Message, Role, Sink};

/// Returns the role and the kind of the messages with a given `role`; `None` for an unknown role.
pub(crate) fn role_and_kind(role: &Value) -> Option<(Role, Kind)> {
    Some(match role.as_str()? {
        "user" => (Role::User, Kind::Prose),
        "assistant" => (Role::Assistant, Kind::Prose),
        "system" => (Role::System, Kind::Context),
        "tool" => (Role::Tool, Kind::ToolResult),
        _ => return None,
    })
}

/// Returns the messages with the given `role`; a tool result always gets the role of the tool.
pub(crate) fn messages(role: Role, said: impl IntoIterator<Item = (Kind, String)>) -> Vec<Message> {
    let role_of = |kind| if kind == Kind::ToolResult { Role::Tool } else { role };
    said.into_iter().map(|(kind, text)| Message::new(role_of(kind), kind, text)).collect()
}

// Finds the branch that was shown last in a conversation that was edited or regenerated.

/// One message of a conversation that may have branches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node<'a> {
    /// Id of the message, or an empty string; if several messages have the same id, a reply follows the last such
    /// message before it.
    pub(crate) id: &'a str,
    /// The id of the message that this message follows.
    pub(crate) parent: Option<&'a str>,
    /// The index of the message that this message follows if `parent` does not exist. A message with neither is a first
    /// message.
    pub(crate) before: Option<usize>,
    /// Time of the message.
    pub(crate) time: Option<Timestamp>,
}

/// Returns the indices in `nodes` of the branch that was shown last, in order.
///
/// The branch ends at `current`. If `current` is missing or leads into a cycle, the branch ends at the newest leaf or,
/// if no leaf has a time, at the last of the deepest leaves.
pub(crate) fn shown(nodes: &[Node<'_>], current: Option<&str>) -> Vec<usize> {
    let (places, parents) = (places(nodes), parents(nodes));
    let newest = || newest_leaf(nodes, &parents).or(nodes.len().checked_sub(1));
    let current = current.and_then(|id| places.get(id).copied());
    let (mut path, ending) = current.or_else(newest).map_or((Vec::new(), Ending::Root), |end| path_to(&parents, end));
    if ending == Ending::Loop
        && let Some(leaf) = newest_leaf(nodes, &parents)
    {
        path = path_to(&parents, leaf).0;
    }
    path.reverse();
    path
}

/// Returns the messages of the branch that was shown last, which ends at `current`, and reports how many turns of the
/// user are on other branches; `is_users` returns whether a message comes from the user.
pub(crate) fn branch<'a, T: Copy>(
    messages: &[T],
    node: impl Fn(usize, T) -> Node<'a>,
    current: &Value,
    is_users: impl Fn(T) -> bool,
    (number, sink): (usize, &mut Sink<'_>),
) -> Vec<T> {
    let nodes: Vec<Node<'_>> = messages.iter().enumerate().map(|(place, message)| node(place, *message)).collect();
    let path = shown(&nodes, current.as_str());
    if path.len() < nodes.len() {
        let kept: HashSet<usize> = path.iter().copied().collect();
        // A message that is repeated on another branch is not lost.
        let named: HashSet<&str> = path.iter().map(|place| nodes[*place].id).filter(|id| !id.is_empty()).collect();
        let is_left = |place: &usize| !kept.contains(place) && !named.contains(nodes[*place].id);
        let left = (0..nodes.len()).filter(is_left).filter(|place| is_users(messages[*place])).count();
        if left > 0 {
            sink.skip(number, format!("turns of the user on branches that are no longer shown: {left}"));
        }
    }
    path.into_iter().map(|place| messages[place]).collect()
}

/// Returns the last index of each id.
fn places<'a>(nodes: &[Node<'a>]) -> HashMap<&'a str, usize> {
    let named = nodes.iter().enumerate().filter(|(_, node)| !node.id.is_empty());
    named.map(|(place, node)| (node.id, place)).collect()
}

/// Returns, for each message, the index of the message that it follows.
fn parents(nodes: &[Node<'_>]) -> Vec<Option<usize>> {
    let all = places(nodes);
    let mut earlier: HashMap<&str, usize> = HashMap::new();
    let mut parents = Vec::with_capacity(nodes.len());
    for (place, node) in nodes.iter().enumerate() {
        let named = node.parent.and_then(|id| earlier.get(id).or_else(|| all.get(id)).copied());
        parents.push(named.or(node.before));
        if !node.id.is_empty() {
            earlier.insert(node.id, place);
        }
    }
    parents
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Root,
    Loop,
}

/// Follows the parents from `end` up to the root.
fn path_to(parents: &[Option<usize>], end: usize) -> (Vec<usize>, Ending) {
    let (mut path, mut visited, mut next) = (Vec::new(), vec![false; parents.len()], Some(end));
    while let Some(place) = next {
        if std::mem::replace(&mut visited[place], true) {
            return (path, Ending::Loop);
        }
        path.push(place);
        next = parents[place];
    }
    (path, Ending::Root)
}

/// Returns the leaf with the latest time or, if no leaf has a time, the last of the deepest leaves.
fn newest_leaf(nodes: &[Node<'_>], parents: &[Option<usize>]) -> Option<usize> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (place, parent) in parents.iter().enumerate() {
        match parent {
            Some(parent) => children[*parent].push(place),
            None => open.push((place, 0)),
        }
    }
    let mut newest = None;
    // The walk reaches only descendants of a root, so it cannot enter a cycle.
    while let Some((place, depth)) = open.pop() {
        if children[place].is_empty() {
            newest = newest.max(Some((nodes[place].time, depth, place)));
        }
        open.extend(children[place].iter().map(|child| (*child, depth + 1)));
    }
    newest.map(|(_, _, place)| place)
}

#[cfg(test)]
mod branch_tests {
    use super::*;

    type Row = (&'static str, Option<&'static str>, Option<i64>);

    fn ids(current: Option<&str>, rows: &[Row]) -> Vec<&'static str> {
        let node = |row: &Row| Node {
            id: row.0,
            parent: row.1,
            before: None,
            time: row.2.map(|seconds| Timestamp::from_second(seconds).unwrap()),
        };
        let nodes: Vec<_> = rows.iter().map(node).collect();
        shown(&nodes, current).into_iter().map(|place| rows[place].0).collect()
    }

    #[test]
    fn the_current_branch_leaves_out_its_siblings() {
        let rows = [("a", None, None), ("b", Some("a"), Some(9)), ("c", Some("a"), Some(1)), ("d", Some("c"), None)];
        assert_eq!(ids(Some("d"), &rows), ["a", "c", "d"]);
    }

    #[test]
    fn without_a_usable_end_the_newest_leaf_ends_the_branch() {
        let rows = [("a", None, None), ("b", Some("a"), Some(9)), ("c", Some("a"), Some(1)), ("d", Some("c"), Some(2))];
        assert_eq!(ids(None, &rows), ["a", "b"]);
        assert_eq!(ids(Some("gone"), &rows), ["a", "b"]);
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
        assert_eq!(ids(None, &rows), ["a", "b", "e"]);
    }

    #[test]
    fn a_message_that_comes_twice_or_without_an_id_hides_no_other() {
        let rows = [("a", None, None), ("b", Some("a"), None), ("a", Some("b"), None), ("d", Some("a"), None)];
        let node = |row: &Row| Node { id: row.0, parent: row.1, before: None, time: None };
        assert_eq!(shown(&rows.iter().map(node).collect::<Vec<_>>(), None), [0, 1, 2, 3]);
        let unnamed = |place: usize| Node { id: "", parent: None, before: place.checked_sub(1), time: None };
        assert_eq!(shown(&[unnamed(0), unnamed(1), unnamed(2)], None), [0, 1, 2]);
        let lost = Node { id: "c", parent: Some("gone"), before: Some(1), time: None };
        assert_eq!(shown(&[node(&rows[0]), node(&rows[1]), lost], Some("c")), [0, 1, 2]);
    }

    #[test]
    fn what_the_user_said_on_other_branches_is_reported() {
        let rows = [("a", None), ("b", Some("a")), ("c", Some("a")), ("x", Some("gone")), ("c", Some("a"))];
        let places: Vec<usize> = (0..rows.len()).collect();
        let node = |_, place: usize| Node { id: rows[place].0, parent: rows[place].1, before: None, time: None };
        let mut accept = |_| {};
        let mut sink = Sink::new(&mut accept);
        assert_eq!(branch(&places, node, &"c".into(), |_| true, (7, &mut sink)), [0, 4]);
        let pieces: Vec<_> = sink.skipped.iter().map(|skipped| (skipped.record, skipped.reason.as_str())).collect();
        assert_eq!(pieces, [(7, "turns of the user on branches that are no longer shown: 2")]);
        sink.skipped.clear();
        branch(&places, node, &"c".into(), |_| false, (7, &mut sink));
        assert!(sink.skipped.is_empty());
    }

    #[test]
    fn loops_end_and_nothing_comes_of_nothing() {
        let looped = [("a", Some("b"), None), ("b", Some("a"), None)];
        assert_eq!(ids(Some("b"), &looped), ["a", "b"]);
        assert_eq!(ids(None, &looped), ["a", "b"]);
        let beside = [("a", Some("a"), None), ("r", None, None), ("s", Some("r"), None)];
        assert_eq!(ids(Some("a"), &beside), ["r", "s"]);
        assert!(ids(None, &[]).is_empty());
    }
}
