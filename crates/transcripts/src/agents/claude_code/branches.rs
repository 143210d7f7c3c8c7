//! Which lines belong to a branch of the conversation that the user abandoned by rewinding.

use std::collections::HashMap;

use jiff::Timestamp;

/// One log line's place in the conversation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// Hash of the line's own id.
    pub(super) id: u64,
    /// Hash of the id of the line that it follows.
    pub(super) parent: Option<u64>,
    /// When the user typed it; `None` for lines that are no typed prompt.
    pub(super) typed_at: Option<Timestamp>,
}

/// Says of each node whether it lies on an abandoned branch.
///
/// Where several prompts typed at different times follow one line, the user rewound: the newest is kept, the others
/// go with all that follows them. Other forks are artefacts of parallel tools and of compaction, and stay. Order does
/// not matter, and neither cycles nor missing parents do.
pub(super) fn abandoned(nodes: &[Node]) -> Vec<bool> {
    let mut newest: HashMap<u64, Timestamp> = HashMap::new();
    let mut children: HashMap<u64, Vec<usize>> = HashMap::new();
    for (place, node) in nodes.iter().enumerate() {
        let Some(parent) = node.parent else { continue };
        children.entry(parent).or_default().push(place);
        if let Some(typed_at) = node.typed_at.filter(|_| parent != node.id) {
            let latest = newest.entry(parent).or_insert(typed_at);
            *latest = (*latest).max(typed_at);
        }
    }
    let is_older = |node: &Node| {
        let latest = node.parent.filter(|parent| *parent != node.id).and_then(|parent| newest.get(&parent));
        latest.zip(node.typed_at).is_some_and(|(latest, typed_at)| typed_at < *latest)
    };
    let mut dead = vec![false; nodes.len()];
    let mut open: Vec<usize> = (0..nodes.len()).filter(|place| is_older(&nodes[*place])).collect();
    while let Some(place) = open.pop() {
        if !std::mem::replace(&mut dead[place], true) {
            // Taking the list out makes each edge be followed once, however often an id repeats.
            open.extend(children.remove(&nodes[place].id).unwrap_or_default());
        }
    }
    dead
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: u64, parent: u64, typed_at: Option<i64>) -> Node {
        let parent = (parent > 0).then_some(parent);
        Node { id, parent, typed_at: typed_at.map(|second| Timestamp::from_second(second).unwrap()) }
    }

    #[test]
    fn the_older_branch_goes_with_all_that_follows_it() {
        let nodes = [
            node(1, 0, Some(1)),
            node(2, 1, None),
            node(3, 2, Some(3)),
            node(4, 3, None),
            node(5, 2, Some(5)),
            node(6, 5, None),
        ];
        assert_eq!(abandoned(&nodes), [false, false, true, true, false, false]);
    }

    #[test]
    fn forks_that_nobody_typed_and_replays_at_the_same_time_stay() {
        let nodes = [node(1, 0, Some(1)), node(2, 1, None), node(3, 1, None), node(4, 1, Some(9)), node(5, 1, Some(9))];
        assert_eq!(abandoned(&nodes), [false; 5]);
    }

    #[test]
    fn several_first_prompts_are_no_rewind() {
        assert_eq!(abandoned(&[node(1, 0, Some(1)), node(2, 0, Some(2))]), [false, false]);
    }

    #[test]
    fn a_node_that_follows_itself_is_not_its_own_sibling() {
        assert_eq!(abandoned(&[node(1, 1, Some(1)), node(2, 1, Some(2))]), [false, false]);
    }

    #[test]
    fn cycles_and_missing_parents_end() {
        let nodes = [node(1, 2, Some(1)), node(2, 1, None), node(3, 2, Some(2)), node(3, 3, None), node(4, 99, None)];
        assert_eq!(abandoned(&nodes), [true, true, true, true, false]);
    }
}
