//! The graph of memories linked with a memory, a subject or a project. The layout is computed here, so the same
//! memories always appear in the same places, and every node is a link.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value, json};

use super::analytics::rounded;
use super::visit::{Reply, Visit, namespaces, values_of};
use crate::api::{ApiError, Filter, Memories, Order};
use crate::memory::{Memory, MemoryId, MemoryType, Status};

/// Maximum number of nodes.
const MAX_NODES: usize = 300;
/// Maximum number of nodes for which all labels are shown; in larger graphs, a label appears when the mouse is over its
/// node.
const MAX_LABELLED: usize = 36;
/// Maximum length of a label, in characters.
const LABEL_CHARS: usize = 26;
/// Size of the drawing, in SVG units.
const WIDTH: f64 = 1000.0;
const MAX_HEIGHT: f64 = 960.0;
const MARGIN: f64 = 44.0;
/// Size of a label.
const LABEL_WIDTH: f64 = 230.0;
const LINE: f64 = 24.0;
/// Half of the width of the widest node, with a margin.
const NODE: f64 = 12.0;

/// Shows the memories linked with the memory, the subject or the project given in the URL.
pub(super) fn show(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let places = namespaces(memories)?;
    let any = Filter { statuses: Vec::new(), ..visit.filter() };
    let about = |subject: &str, filter: &Filter| {
        let filter = Filter { subject: Some(subject.to_owned()), ..filter.clone() };
        memories.list_memories(filter, Order::Importance, MAX_NODES, 0)
    };
    let (center, start) = if let Some(id) = visit.asked("memory") {
        let memory = memories.resolve(id)?;
        let mut start = vec![memory.clone()];
        if let Some(subject) = &memory.claim.subject {
            let same = Filter::exactly(std::slice::from_ref(&memory.namespace));
            start.extend(about(subject, &same)?.into_iter().filter(|other| other.id != memory.id).take(MAX_NODES / 4));
        }
        (Some(memory), start)
    } else if let Some(subject) = visit.asked("subject") {
        (None, about(subject, &any)?)
    } else {
        // Without a namespace, the last changed memories are used, which an index returns; sorting all memories by
        // importance would take too long.
        let order = if any.namespaces.is_empty() { Order::Updated } else { Order::Importance };
        let active = Filter { statuses: vec![Status::Active], ..any };
        (None, memories.list_memories(active, order, MAX_NODES / 2, 0)?)
    };
    let found = memories.neighbourhood(start, MAX_NODES - MAX_NODES / 6)?;
    let mut graph = Graph::default();
    for memory in &found.memories {
        graph.add(Some(memory), &memory.claim.title);
    }
    let at: HashMap<&MemoryId, usize> =
        found.memories.iter().enumerate().map(|(at, memory)| (&memory.id, at)).collect();
    let mut links = Vec::new();
    for relation in &found.relations {
        if let (Some(&from), Some(&to)) = (at.get(&relation.from), at.get(&relation.to)) {
            graph.edges.push(Edge { from, to, kind: relation.relation_type.as_str() });
            links.push(json!({
                "from": values_of(&found.memories[from]), "to": values_of(&found.memories[to]),
                "type": relation.relation_type.as_str(),
            }));
        }
    }
    graph.add_subjects(&found.memories);
    let total = graph.nodes.len();
    graph.leave_out_unlinked(center.as_ref());
    Ok(Reply::Page(
        "graph",
        json!({
            "namespaces": places, "namespace": visit.asked("namespace"), "subject": visit.asked("subject"),
            "center": center.as_ref().map(values_of), "graph": graph.drawn(center.as_ref()), "links": links,
            "rows": found.memories.iter().map(|memory| json!({"memory": values_of(memory)})).collect::<Vec<_>>(),
            "is_cut": found.is_cut, "most": MAX_NODES,
            "unlinked": total - graph.nodes.len(),
        }),
    ))
}

#[derive(Default)]
struct Graph<'m> {
    nodes: Vec<Node<'m>>,
    edges: Vec<Edge>,
}

/// A memory, or a subject that several memories share.
struct Node<'m> {
    memory: Option<&'m Memory>,
    label: &'m str,
}

struct Edge {
    from: usize,
    to: usize,
    /// The type of the link; `subject` for a link to a subject.
    kind: &'static str,
}

impl<'m> Graph<'m> {
    fn add(&mut self, memory: Option<&'m Memory>, label: &'m str) {
        self.nodes.push(Node { memory, label });
    }

    /// Adds a node for each subject that at least two memories share.
    fn add_subjects(&mut self, memories: &'m [Memory]) {
        let mut subjects: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, memory) in memories.iter().enumerate() {
            if let Some(subject) = memory.claim.subject.as_deref() {
                subjects.entry(subject).or_default().push(at);
            }
        }
        for (subject, members) in subjects.into_iter().filter(|(_, members)| members.len() > 1) {
            if self.nodes.len() >= MAX_NODES {
                break;
            }
            let hub = self.nodes.len();
            self.add(None, subject);
            self.edges.extend(members.into_iter().map(|from| Edge { from, to: hub, kind: "subject" }));
        }
    }

    /// Removes nodes without links, because a list shows isolated memories better than a graph.
    fn leave_out_unlinked(&mut self, center: Option<&Memory>) {
        let linked: HashSet<usize> = self.edges.iter().flat_map(|edge| [edge.from, edge.to]).collect();
        let is_center = |node: &Node<'_>| node.memory.map(|memory| &memory.id) == center.map(|center| &center.id);
        let mut places = HashMap::new();
        let nodes = std::mem::take(&mut self.nodes).into_iter().enumerate();
        let kept = nodes.filter(|(at, node)| linked.contains(at) || (center.is_some() && is_center(node)));
        for (at, node) in kept {
            places.insert(at, self.nodes.len());
            self.nodes.push(node);
        }
        for edge in &mut self.edges {
            (edge.from, edge.to) = (places[&edge.from], places[&edge.to]);
        }
    }

    /// Returns the shapes of the drawing.
    fn drawn(&self, center: Option<&Memory>) -> Value {
        let height = height(self.nodes.len());
        let mut places = layout(self.nodes.len(), &self.edges);
        let mut degrees = vec![0; self.nodes.len()];
        for edge in &self.edges {
            degrees[edge.from] += 1;
            degrees[edge.to] += 1;
        }
        let labels = labels(&self.nodes.iter().map(|node| node.label).collect::<Vec<_>>());
        let few = self.nodes.len() <= MAX_LABELLED;
        if few {
            part(&mut places, height);
        }
        let node = |(at, node): (usize, &Node<'_>)| {
            let (x, y) = places[at];
            let is_center = center.is_some_and(|center| node.memory.is_some_and(|memory| memory.id == center.id));
            let kind = node.memory.map(|memory| match memory.claim.memory_type {
                MemoryType::Semantic => "semantic",
                MemoryType::Episodic => "episodic",
                MemoryType::Procedural => "procedural",
            });
            let is_labelled = few || is_center || (node.memory.is_none() && degrees[at] > 2);
            json!({
                "x": rounded(x), "y": rounded(y), "kind": kind.unwrap_or("hub"), "title": node.label,
                "label": is_labelled.then(|| &labels[at]), "is_center": is_center,
                "is_left": is_left(x),
                "id": node.memory.map(|memory| memory.id.as_str()), "status": node.memory.map(|memory| memory.status.as_str()),
            })
        };
        let edge = |edge: &Edge| {
            let ((x1, y1), (x2, y2)) = (places[edge.from], places[edge.to]);
            json!({"x1": rounded(x1), "y1": rounded(y1), "x2": rounded(x2), "y2": rounded(y2), "kind": edge.kind})
        };
        json!({
            "width": WIDTH, "height": height, "nodes": self.nodes.iter().enumerate().map(node).collect::<Vec<_>>(),
            "edges": self.edges.iter().map(edge).collect::<Vec<_>>(),
        })
    }
}

/// Returns a position for each node: nodes repel each other, and edges attract, as in the method of Fruchterman and
/// Reingold. The initial positions are derived from the indices of the nodes, so the same graph always looks the same.
#[expect(clippy::cast_precision_loss, reason = "at most 300 nodes")]
fn layout(nodes: usize, edges: &[Edge]) -> Vec<(f64, f64)> {
    const ROUNDS: usize = 120;
    // A spiral with the golden angle spreads points evenly; the first node is in the middle.
    const GOLDEN_ANGLE: f64 = 2.399_963;
    let spread = (nodes.max(1) as f64).sqrt();
    let mut places: Vec<(f64, f64)> = (0..nodes)
        .map(|at| {
            let (radius, angle) = ((at as f64).sqrt() / spread, at as f64 * GOLDEN_ANGLE);
            (radius * angle.cos(), radius * angle.sin())
        })
        .collect();
    let ideal = 1.1 / spread;
    for round in 0..ROUNDS {
        let mut moves = vec![(0.0, 0.0); nodes];
        for a in 0..nodes {
            for b in a + 1..nodes {
                let (dx, dy) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
                let force = ideal * ideal / (dx * dx + dy * dy).max(1e-6);
                moves[a] = (moves[a].0 + dx * force, moves[a].1 + dy * force);
                moves[b] = (moves[b].0 - dx * force, moves[b].1 - dy * force);
            }
        }
        for edge in edges {
            let (dx, dy) = (places[edge.from].0 - places[edge.to].0, places[edge.from].1 - places[edge.to].1);
            let force = dx.hypot(dy) / ideal * 0.5;
            moves[edge.from] = (moves[edge.from].0 - dx * force, moves[edge.from].1 - dy * force);
            moves[edge.to] = (moves[edge.to].0 + dx * force, moves[edge.to].1 + dy * force);
        }
        // Steps become smaller, so that the positions converge.
        let longest = 0.2 * (1.0 - round as f64 / ROUNDS as f64) + 0.002;
        for (place, (dx, dy)) in places.iter_mut().zip(moves) {
            // Nodes without links would otherwise drift away.
            let (dx, dy) = (dx - place.0 * 0.06, dy - place.1 * 0.06);
            let scale = longest / dx.hypot(dy).max(longest);
            *place = (place.0 + dx * scale, place.1 + dy * scale);
        }
    }
    fitted(&places)
}

/// Scales positions to the size of the drawing.
fn fitted(places: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = places.iter().map(of);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)))
    };
    let ((left, right), (top, bottom)) = (range(|place| place.0), range(|place| place.1));
    let onto = |value: f64, (least, most): (f64, f64), size: f64| {
        let share = if most - least > 1e-9 { (value - least) / (most - least) } else { 0.5 };
        MARGIN + share * (size - 2.0 * MARGIN)
    };
    places
        .iter()
        .map(|(x, y)| (onto(*x, (left, right), WIDTH), onto(*y, (top, bottom), height(places.len()))))
        .collect()
}

/// Returns the height of the drawing, which is smaller for fewer nodes.
#[expect(clippy::cast_precision_loss, reason = "at most 300 nodes")]
fn height(nodes: usize) -> f64 {
    (160.0 + 22.0 * nodes as f64).min(MAX_HEIGHT)
}

/// Separates nodes whose labels would overlap.
fn part(places: &mut [(f64, f64)], height: f64) {
    const ROUNDS: usize = 80;
    for _ in 0..ROUNDS {
        for a in 0..places.len() {
            for b in a + 1..places.len() {
                let dy = places[a].1 - places[b].1;
                let ((left, right), (other_left, other_right)) = (extent(places[a].0), extent(places[b].0));
                if left < other_right && other_left < right && dy.abs() < LINE {
                    let step = (LINE - dy.abs()) / 2.0 * if dy < 0.0 { -1.0 } else { 1.0 };
                    places[a].1 = (places[a].1 + step).clamp(MARGIN, height - MARGIN);
                    places[b].1 = (places[b].1 - step).clamp(MARGIN, height - MARGIN);
                }
            }
        }
    }
}

/// Returns the horizontal extent of a node with its label.
fn extent(x: f64) -> (f64, f64) {
    if is_left(x) { (x - LABEL_WIDTH, x + NODE) } else { (x - NODE, x + LABEL_WIDTH) }
}

/// Returns whether the label is to the left of its node, so that it stays inside the drawing.
fn is_left(x: f64) -> bool {
    x > WIDTH * 0.62
}

/// Returns the label of each node. If two long texts begin alike, their labels contain the beginning and the end.
fn labels(texts: &[&str]) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for text in texts {
        *seen.entry(shortened(text)).or_default() += 1;
    }
    let label = |text: &&str| {
        let label = shortened(text);
        let chars: Vec<char> = text.chars().collect();
        if seen[&label] == 1 || chars.len() <= LABEL_CHARS {
            return label;
        }
        let (head, tail) = (LABEL_CHARS / 2 - 1, LABEL_CHARS / 2);
        chars[..head].iter().chain(['…'].iter()).chain(&chars[chars.len() - tail..]).collect()
    };
    texts.iter().map(label).collect()
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LABEL_CHARS {
        return text.to_owned();
    }
    text.chars().take(LABEL_CHARS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: usize, to: usize) -> Edge {
        Edge { from, to, kind: "related" }
    }

    #[test]
    fn a_graph_always_looks_the_same_and_fits() {
        let edges = [edge(0, 1), edge(1, 2), edge(3, 4)];
        let places = layout(6, &edges);
        assert_eq!(places, layout(6, &edges));
        for (x, y) in &places {
            assert!(
                (MARGIN - 0.1..=WIDTH - MARGIN + 0.1).contains(x)
                    && (MARGIN - 0.1..=height(6) - MARGIN + 0.1).contains(y)
            );
        }
        let distance = |a: usize, b: usize| (places[a].0 - places[b].0).hypot(places[a].1 - places[b].1);
        assert!(distance(0, 1) < distance(0, 4) && distance(3, 4) < distance(2, 3), "{places:?}");
        assert_eq!(layout(1, &[]), [(WIDTH / 2.0, height(1) / 2.0)]);
        assert!(layout(0, &[]).is_empty());
    }

    #[test]
    fn labels_do_not_cover_each_other() {
        let mut places = vec![(500.0, 300.0), (510.0, 300.0), (500.0, 310.0), (990.0, 300.0)];
        part(&mut places, MAX_HEIGHT);
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            assert!((places[a].1 - places[b].1).abs() > LINE - 1.0, "{places:?}");
        }
        assert_eq!(places[3], (990.0, 300.0));
        // The left node has its label on the right, and the right node on the left.
        let mut facing = vec![(400.0, 300.0), (700.0, 300.0)];
        part(&mut facing, MAX_HEIGHT);
        assert!((facing[0].1 - facing[1].1).abs() > LINE - 1.0, "{facing:?}");
    }

    #[test]
    fn labels_that_begin_alike_differ() {
        let texts =
            ["The project's API is now deployed on Heroku", "The project's API is now deployed on Fly.io", "Tea"];
        assert_eq!(labels(&texts), ["The project'…yed on Heroku", "The project'…yed on Fly.io", "Tea"]);
    }

    #[test]
    fn a_long_label_is_cut_between_characters() {
        assert_eq!(shortened("茶"), "茶");
        assert_eq!(shortened(&"茶".repeat(30)).chars().count(), LABEL_CHARS);
    }
}
