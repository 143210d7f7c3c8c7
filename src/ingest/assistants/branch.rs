//! Choosing, in a conversation that was edited or regenerated, the one branch that was shown last.

use std::collections::HashMap;

use jiff::Timestamp;

/// One message of a conversation that may branch.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    /// Its id; of two with the same one the later counts.
    pub id: &'a str,
    /// The message that it follows; one that is not there makes this a first message.
    pub parent: Option<&'a str>,
    /// When it was said.
    pub time: Option<Timestamp>,
}

/// Returns the places in `nodes` of the branch that was shown last, first message first.
///
/// The branch ends at `current`. Where that is missing or leads into a loop, it ends at the newest leaf, or at the last
/// of the deepest ones where none has a time.
#[must_use]
pub fn shown(nodes: &[Node<'_>], current: Option<&str>) -> Vec<usize> {
    let places: HashMap<&str, usize> = nodes.iter().enumerate().map(|(place, node)| (node.id, place)).collect();
    let parents: Vec<Option<usize>> =
        nodes.iter().map(|node| node.parent.and_then(|id| places.get(id).copied())).collect();
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Root,
    Loop,
}

/// Walks from `end` up through the parents.
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

/// Returns the leaf with the latest time, or the last of the deepest ones where none has a time.
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
    // Only what hangs from a root is reached, so a loop cannot be entered.
    while let Some((place, depth)) = open.pop() {
        if children[place].is_empty() {
            newest = newest.max(Some((nodes[place].time, depth, place)));
        }
        open.extend(children[place].iter().map(|child| (*child, depth + 1)));
    }
    newest.map(|(_, _, place)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (&'static str, Option<&'static str>, Option<i64>);

    fn ids(current: Option<&str>, rows: &[Row]) -> Vec<&'static str> {
        let node = |row: &Row| Node {
            id: row.0,
            parent: row.1,
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
    fn loops_end_and_nothing_comes_of_nothing() {
        let looped = [("a", Some("b"), None), ("b", Some("a"), None)];
        assert_eq!(ids(Some("b"), &looped), ["a", "b"]);
        assert_eq!(ids(None, &looped), ["a", "b"]);
        let beside = [("a", Some("a"), None), ("r", None, None), ("s", Some("r"), None)];
        assert_eq!(ids(Some("a"), &beside), ["r", "s"]);
        assert!(ids(None, &[]).is_empty());
    }
}
