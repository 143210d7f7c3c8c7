//! `PrecisionMemBench`: 35 beliefs in scopes, and queries with the exact set of beliefs that a search should return.
//!
//! ```text
//! beliefs ─▶ memories ─▶ search ─▶ exact set
//!                     ├▶ import --consolidate ─▶ search ─▶ exact set
//!                     └▶ FTS5 over the active ones in scope ─▶ exact set, as a baseline
//! ```
//!
//! As in the published harness, pinned beliefs are not results, because an agent sees them anyway, and a relation is
//! followed by its participants. The 12 turns of the session cases are not measured. Nothing may be tuned on this set.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use super::published::{FINAL, read_part, unusable};
use crate::EvalError;
use crate::files::CaseMemory;
use crate::results::{Row, float};
use crate::vocabulary::{Kind, Status};

/// File of the beliefs.
const BELIEFS: &str = "fixtures/beliefs.seed.json";
/// File of the cases.
const CASES: &str = "fixtures/retrieval.cases.json";
/// Number of beliefs that a case without a budget may return, including pinned ones.
pub const LIMIT: usize = 20;
/// The user of a case that names none.
const USER: &str = "test-user";

/// The beliefs and the cases.
#[derive(Debug)]
pub struct Beliefs {
    beliefs: Vec<Belief>,
    /// The cases that list all beliefs to return.
    pub cases: Vec<BeliefCase>,
}

#[derive(Debug, Deserialize)]
struct Belief {
    #[serde(rename = "_id")]
    id: String,
    user_id: String,
    #[serde(rename = "type")]
    kind: String,
    canonical_name: String,
    aliases: Vec<String>,
    content: String,
    scope: Vec<String>,
    pinned: bool,
    superseded_by: Option<String>,
    resolved_at: Option<String>,
    #[serde(default)]
    participants: Vec<String>,
}

/// A query, and the beliefs to return.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BeliefCase {
    case_id: String,
    category: String,
    #[serde(default = "test_user")]
    user_id: String,
    scope: Vec<String>,
    /// The query; it may be empty.
    pub query: String,
    #[serde(default)]
    budget: Budget,
    expect: Expected,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Budget {
    max_beliefs: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expected {
    relevant_beliefs: Option<ExpectedBeliefs>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExpectedBeliefs {
    should_only_include: Option<BTreeSet<String>>,
}

fn test_user() -> String {
    USER.to_owned()
}

/// Returns whether `folder` contains this data set.
pub(super) fn is_precisionmembench(folder: &Path) -> bool {
    folder.join(BELIEFS).is_file()
}

/// Reads the beliefs, and the cases that list all beliefs to return, from the data set in `folder`.
///
/// # Errors
/// [`EvalError::Read`] if a file cannot be read, or [`EvalError::DataSet`] with the invalid file.
pub fn read(folder: &Path) -> Result<Beliefs, EvalError> {
    let beliefs: Vec<Belief> = read_part(&folder.join(BELIEFS))?;
    let mut cases: Vec<BeliefCase> = read_part(&folder.join(CASES))?;
    cases.retain(|case| case.expected().is_some());
    let known = |id: &&String| beliefs.iter().any(|belief| belief.id == **id);
    if let Some(id) = cases.iter().filter_map(BeliefCase::expected).flatten().find(|id| !known(id)) {
        return Err(unusable(&folder.join(CASES), format!("{BELIEFS} has no belief {id}")));
    }
    if cases.is_empty() {
        return Err(unusable(&folder.join(CASES), "no case lists the beliefs to return"));
    }
    Ok(Beliefs { beliefs, cases })
}

/// Returns the path of the namespace of a scope such as `domain:code`.
fn namespace(user: &str, scope: &str) -> String {
    format!("{user}/{}", scope.replace(':', "/"))
}

impl Belief {
    /// The names of a belief, as the published harness writes them.
    fn title(&self) -> String {
        let aliases = self.aliases.iter().flat_map(|alias| [" ", alias]).collect::<String>();
        format!("{}{aliases}", self.canonical_name.replace('_', " "))
    }

    fn status(&self) -> Status {
        match (&self.superseded_by, &self.resolved_at) {
            (Some(_), _) => Status::Superseded,
            (None, Some(_)) => Status::Expired,
            (None, None) => Status::Active,
        }
    }

    fn is_in(&self, case: &BeliefCase) -> bool {
        self.user_id == case.user_id && self.scope.iter().any(|scope| case.scope.contains(scope))
    }

    /// Returns whether an agent sees the belief in every conversation of the case's scopes.
    fn is_shown_anyway(&self, case: &BeliefCase) -> bool {
        self.pinned && self.kind != "open_question" && self.status() == Status::Active && self.is_in(case)
    }
}

impl BeliefCase {
    fn expected(&self) -> Option<&BTreeSet<String>> {
        self.expect.relevant_beliefs.as_ref()?.should_only_include.as_ref()
    }

    /// Returns the paths of the namespaces to search.
    pub fn namespaces(&self) -> Vec<String> {
        self.scope.iter().map(|scope| namespace(&self.user_id, scope)).collect()
    }
}

impl Beliefs {
    /// Returns the beliefs as memories, in the order of the file.
    pub fn memories(&self) -> Vec<CaseMemory> {
        let memory = |belief: &Belief| CaseMemory {
            id: belief.id.clone(),
            title: Some(belief.title()),
            content: belief.content.clone(),
            namespace: belief.scope.first().map(|scope| namespace(&belief.user_id, scope)),
            status: Some(belief.status()),
            pinned: belief.pinned,
            ..CaseMemory::default()
        };
        self.beliefs.iter().map(memory).collect()
    }

    /// Returns the texts that the baseline of `case` searches: content, names and content of the active beliefs in scope.
    pub fn texts(&self, case: &BeliefCase) -> Vec<(String, String)> {
        let searched = self.beliefs.iter().filter(|belief| belief.is_in(case) && belief.status() == Status::Active);
        searched.map(|belief| (belief.content.clone(), format!("{} {}", belief.title(), belief.content))).collect()
    }

    /// Scores the results of each way of searching for the query of `case`: for each result, best first, the contents of
    /// the beliefs on which it is based.
    pub fn score(&self, case: &BeliefCase, ways: &[(&str, Vec<Vec<String>>)]) -> Row {
        let mut row = Row {
            split: FINAL.to_owned(),
            phenomena: vec![case.category.clone()],
            about: case.query.clone(),
            ..Row::new(Kind::PrecisionMemBench, &case.case_id)
        };
        let empty = BTreeSet::new();
        let expected = case.expected().unwrap_or(&empty);
        for (way, results) in ways {
            let found = self.returned(case, results);
            let right = float(found.intersection(expected).count());
            let mut add = |name: &str, value: f64| row.mean(&format!("{way}{name}"), value);
            // Nothing that is expected and found has no precision, but something in place of nothing has a precision of 0.
            if !(found.is_empty() && expected.is_empty()) {
                add("precision", right / float(found.len().max(1)));
            }
            if expected.is_empty() {
                add("empty kept", f64::from(u8::from(found.is_empty())));
            } else {
                add("recall", right / float(expected.len()));
                add("exact", f64::from(u8::from(found == *expected)));
            }
            add("returned", float(found.len()));
        }
        row
    }

    /// Returns the ids of the beliefs that count as returned.
    fn returned(&self, case: &BeliefCase, results: &[Vec<String>]) -> BTreeSet<String> {
        let shown = self.beliefs.iter().filter(|belief| belief.is_shown_anyway(case)).count();
        let most = case.budget.max_beliefs.unwrap_or(LIMIT);
        let counts = |belief: &&Belief| !belief.is_shown_anyway(case) && case.budget.max_beliefs != Some(0);
        let found = results.iter().flatten();
        let found = found.filter_map(|content| self.beliefs.iter().find(|one| one.content == *content)).filter(counts);
        let found: Vec<&Belief> = found.collect();
        let participants = found.iter().flat_map(|belief| &belief.participants);
        let participants = participants.filter_map(|id| self.beliefs.iter().find(|one| one.id == *id));
        let participants = participants.filter(|one| one.is_in(case)).filter(counts);
        let mut returned = BTreeSet::new();
        for belief in found.iter().copied().chain(participants) {
            if returned.len() < most.saturating_sub(shown) {
                returned.insert(belief.id.clone());
            }
        }
        returned
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::super::PublicSet;
    use super::*;

    fn belief(id: &str, name: &str, content: &str, fields: Value) -> Value {
        let mut belief = json!({"_id": id, "user_id": USER, "type": "entity", "canonical_name": name, "aliases": ["KT"], "content": content,
            "scope": ["domain:kites"], "pinned": false, "superseded_by": null, "resolved_at": null});
        let Value::Object(fields) = fields else { panic!("fields") };
        belief.as_object_mut().unwrap().extend(fields);
        belief
    }

    fn case(expected: &Value, fields: Value) -> Value {
        let mut case = json!({"caseId": "c", "category": "Alias resolution", "scope": ["domain:kites"], "query": "the KT tail",
            "expect": {"relevantBeliefs": expected}});
        let Value::Object(fields) = fields else { panic!("fields") };
        case.as_object_mut().unwrap().extend(fields);
        case
    }

    fn write(folder: &Path, cases: &Value) {
        let beliefs = json!([
            belief("b-tail", "kite_tail", "The tail is silk.", json!({})),
            belief("b-old", "kite_tail_old", "The tail was paper.", json!({"superseded_by": "b-tail"})),
            belief("b-line", "kite_line", "The line is hemp.", json!({"pinned": true})),
            belief(
                "b-needs",
                "tail_needs_line",
                "The tail needs the line.",
                json!({"type": "relation", "participants": ["b-tail", "b-sea"]})
            ),
            belief("b-sea", "sea", "The sea is near.", json!({"scope": ["domain:sea"]}))
        ]);
        fs::create_dir_all(folder.join("fixtures")).unwrap();
        fs::write(folder.join(BELIEFS), beliefs.to_string()).unwrap();
        fs::write(folder.join(CASES), cases.to_string()).unwrap();
    }

    #[test]
    fn pinned_beliefs_are_no_results_and_relations_bring_their_participants() {
        let folder = tempfile::tempdir().unwrap();
        let only = |ids: &[&str]| json!({"shouldOnlyInclude": ids});
        let small = json!({"budget": {"maxBeliefs": 2}});
        write(
            folder.path(),
            &json!([
                case(&only(&["b-tail", "b-needs"]), json!({})),
                case(&only(&[]), json!({})),
                case(&only(&["b-tail"]), small),
                case(&json!({"mustExclude": ["b-old"]}), json!({}))
            ]),
        );
        assert_eq!(PublicSet::of(folder.path()), Some(PublicSet::PrecisionMemBench));
        let set = read(folder.path()).unwrap();
        let [pair, none, one] = &set.cases[..] else { panic!("the last case lists no set") };
        assert_eq!(pair.namespaces(), ["test-user/domain/kites"]);
        let memories = set.memories();
        assert_eq!(
            (memories[0].title.as_deref(), memories[1].status),
            (Some("kite tail KT"), Some(Status::Superseded))
        );
        assert_eq!(set.texts(pair).len(), 3);
        let found = |contents: &[&str]| contents.iter().map(|content| vec![(*content).to_owned()]).collect::<Vec<_>>();
        let figures = |case: &BeliefCase, contents: &[&str]| {
            let row = set.score(case, &[("", found(contents))]);
            ["precision", "recall", "exact", "empty kept", "returned"]
                .map(|name| row.measures.get(name).map(|one| one.numerator))
        };
        let line = ["The line is hemp.", "The tail needs the line."];
        assert_eq!(figures(pair, &line), [Some(1.0), Some(1.0), Some(1.0), None, Some(2.0)]);
        assert_eq!(figures(pair, &["The line is hemp."]), [Some(0.0), Some(0.0), Some(0.0), None, Some(0.0)]);
        assert_eq!(figures(none, &["The line is hemp."]), [None, None, None, Some(1.0), Some(0.0)]);
        assert_eq!(figures(none, &["The tail is silk."]), [Some(0.0), None, None, Some(0.0), Some(1.0)]);
        assert_eq!(figures(one, &["The tail is silk.", "The tail needs the line."])[4], Some(1.0));
    }

    #[test]
    fn an_unusable_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &json!([case(&json!({"shouldOnlyInclude": ["b-moon"]}), json!({}))]));
        let error = || read(folder.path()).unwrap_err().to_string();
        assert!(
            error().contains("retrieval.cases.json: fixtures/beliefs.seed.json has no belief b-moon"),
            "{}",
            error()
        );
        fs::write(folder.path().join(CASES), "[]").unwrap();
        assert!(error().contains("no case lists the beliefs to return; obtain the data set again"), "{}", error());
        fs::remove_file(folder.path().join(CASES)).unwrap();
        assert!(error().contains("retrieval.cases.json; check the path"), "{}", error());
    }
}
