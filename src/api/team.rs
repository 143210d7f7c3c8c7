//! Teams: their maintainers, the projects that belong to them, and the promotion of memories.
//!
//! A team has no server and no accounts. Its namespace is shared by `sync`, and a memory under the key [`MAINTAINERS`]
//! names the people who decide about its memories. These rules apply only to changes made with this program; anyone who
//! can write to a shared folder by other means can bypass them.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use super::{ApiError, Author, Memories, NamespaceSet, refuse_secret_namespace};
use crate::changeset::Action;
use crate::config::{GuardSettings, Treatment};
use crate::consolidate::compare::pair::{ClaimRelation, pair};
use crate::consolidate::compare::view::View;
use crate::exchange::fallback_category;
use crate::guard::{Guard, Redacted};
use crate::memory::{
    Claim, Evidence, ExtractionMethod, Memory, MemoryId, MemoryType, Namespace, Relation, RelationType, Status,
};
use crate::store::{Filter, PROMOTED_BY, RunId, RunStatus, StoreError, Writer};
use crate::text::normalise::{caseless, title_of};

/// The key of the memory that names the maintainers of a team.
const MAINTAINERS: &str = "team.maintainers";
const TEAMS: &str = "work with teams";
/// Minimum similarity of the names of two teams, between 0 and 1, at which an unknown name counts as misspelled.
const LIKE_TEAM: f64 = 0.6;

/// A team, with the information that this database has about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Team {
    /// The namespace of the team's memories.
    pub namespace: String,
    /// The names of the people who decide about its memories; if there are none, every member does.
    pub maintainers: Vec<String>,
    /// The projects that belong to the team on this machine.
    pub projects: Vec<String>,
    /// Number of memories that are waiting for a maintainer.
    pub waiting: usize,
}

/// The outcome of [`Memories::promote`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Promotion {
    /// The run, which can be undone; `None` if the team already has all of the memories.
    pub run: Option<RunId>,
    /// The name under which the memories were promoted.
    pub author: String,
    /// The memories of the team that were added: pending, or active if the author is a maintainer.
    pub promoted: Vec<Memory>,
    /// The memories of the team that already had the same words.
    pub known: Vec<Memory>,
    /// The kinds of secrets and personal data that were removed.
    pub removed: BTreeSet<&'static str>,
    /// Number of quotes that the team can read.
    pub quotes: usize,
}

/// Whether the quotes behind a memory are promoted with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuotePolicy {
    /// The team sees only the memory.
    Leave,
    /// The team also sees the quotes with their speakers.
    Share,
}

impl Memories {
    /// Returns the namespaces that are shown in a project: the project, its team and `global`.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn reach_of(&self, project: Namespace) -> Result<NamespaceSet, ApiError> {
        let teams = self.storage.as_store().map(|store| store.project_teams()).transpose()?.unwrap_or_default();
        let team = teams.into_iter().find(|(of, _)| *of == project).map(|(_, team)| team);
        Ok(NamespaceSet::of_project(project, team))
    }

    /// Assigns a project to a team, or, with `None`, removes it from its team, and returns whether that changed
    /// anything.
    ///
    /// # Errors
    /// [`ApiError`] if the namespace is not that of a team, or the database cannot be written.
    pub(crate) fn assign_team(&self, project: &Namespace, team: Option<&Namespace>) -> Result<bool, ApiError> {
        team.map_or(Ok(()), check_team)?;
        let store = self.ledger(TEAMS)?;
        Ok(store.write::<_, StoreError>(None, Timestamp::now(), |w| w.set_team(project, team))?)
    }

    /// Returns the teams that have memories or projects here, sorted by namespace.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn teams(&self) -> Result<Vec<Team>, ApiError> {
        let store = self.ledger(TEAMS)?;
        let assigned = store.project_teams()?;
        let mut teams: BTreeSet<Namespace> = assigned.iter().map(|(_, team)| team.clone()).collect();
        let stored = store.namespaces()?;
        teams.extend(stored.iter().filter_map(|name| name.parse().ok()).filter(Namespace::is_team));
        let mut found = Vec::new();
        for team in teams {
            let of_team = Filter { statuses: vec![Status::Pending], ..Filter::exactly(std::slice::from_ref(&team)) };
            let projects = assigned.iter().filter(|(_, other)| *other == team).map(|(project, _)| project.to_string());
            found.push(Team {
                maintainers: self.maintainers(&team)?,
                projects: projects.collect(),
                waiting: store.count(&of_team)?,
                namespace: team.to_string(),
            });
        }
        Ok(found)
    }

    /// Refuses a team that nobody has set up, if its name is like that of a known team.
    fn refuse_misspelled(&self, team: &Namespace) -> Result<(), ApiError> {
        let (team, known) = (team.to_string(), self.teams()?);
        if known.iter().any(|one| one.namespace == team) {
            return Ok(());
        }
        let likeness = |one: &Team| strsim::normalized_damerau_levenshtein(own_name(&one.namespace), own_name(&team));
        let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        match nearest.filter(|one| likeness(one) >= LIKE_TEAM) {
            Some(Team { namespace: near, .. }) => Err(ApiError::Invalid(format!(
                "nobody has set up {team}; did you mean {near}? `afterthought project team {} --maintainer PERSON` sets up \
                 a new team",
                own_name(&team)
            ))),
            None => Ok(()),
        }
    }

    /// Returns the maintainers of the team of a namespace, if only they can change its memories and the person at this
    /// machine is none of them.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn other_maintainers(&self, namespace: &Namespace) -> Result<Option<String>, ApiError> {
        match self.check_maintainer([namespace], Author::Person) {
            Err(ApiError::NotMaintainer { maintainers, .. }) => Ok(Some(maintainers)),
            checked => checked.map(|()| None),
        }
    }

    /// Returns the names of those who decide about the memories of a team, sorted.
    fn maintainers(&self, team: &Namespace) -> Result<Vec<String>, ApiError> {
        let records = self.ledger(TEAMS)?.by_key(team, MAINTAINERS)?.into_iter();
        // Two machines may have named maintainers at the same time; all of the people who were named count.
        let values = records.filter(|memory| memory.status == Status::Active).filter_map(|memory| memory.claim.value);
        let names: BTreeSet<String> = values.flat_map(|value| names_in(&value)).collect();
        Ok(names.into_iter().collect())
    }

    /// Names the maintainers of a team, in place of the previous ones. The record is a pinned memory of the team, so it
    /// reaches the other members like any other memory.
    ///
    /// # Errors
    /// [`ApiError::NotMaintainer`] if the team has maintainers and the caller is none.
    pub(crate) fn set_maintainers(&self, team: &Namespace, names: &[String]) -> Result<Vec<String>, ApiError> {
        check_team(team)?;
        self.check_maintainer([team], Author::Person)?;
        let names: BTreeSet<String> = names.iter().flat_map(|name| names_in(name)).collect();
        let names: Vec<String> = names.into_iter().collect();
        let (listed, label) = (names.join(", "), team.parts()[1..].join("/"));
        let content = format!("The maintainers of the team {label} are: {listed}.");
        let title = title_of(&content);
        let category = fallback_category(&self.config.categories.value);
        let claim = Claim {
            key: Some(MAINTAINERS.to_owned()),
            value: Some(listed),
            ..Claim::new(MemoryType::Semantic, category, title, content)
        };
        super::draft::refuse_secrets(claim.clone())?;
        let (store, now) = (self.ledger(TEAMS)?, Timestamp::now());
        store.write::<_, StoreError>(None, now, |w| {
            let mut records = w.by_key(team, MAINTAINERS)?.into_iter().filter(|one| one.status == Status::Active);
            if let Some(first) = records.next() {
                let claim = Claim { valid_from: first.claim.valid_from, ..claim };
                w.update(&w.redact(Memory { claim, pinned: true, ..first }), Action::Update, Some("by hand".into()))?;
            } else {
                let memory = Memory::new(claim, team.clone(), "project team", ExtractionMethod::Manual, now);
                w.insert(&w.redact(Memory { pinned: true, ..memory }), &w.redact(Vec::new()))?;
            }
            records.try_for_each(|other| {
                let why = Some("other maintainers were named".into());
                w.set_status(&other.id, Status::Superseded, Action::Supersede, why).map(drop)
            })
        })?;
        Ok(names)
    }

    /// Rejects changes to the memories of a team, unless the caller is one of its maintainers, or the team has none. An
    /// agent never changes the memories of a team, unless it acts for the owner of the memories.
    pub(super) fn check_maintainer<'n>(
        &self,
        namespaces: impl IntoIterator<Item = &'n Namespace>,
        author: Author,
    ) -> Result<(), ApiError> {
        let teams: BTreeSet<&Namespace> = namespaces.into_iter().filter(|namespace| namespace.is_team()).collect();
        let is_person = self.acts_as_person(author);
        for team in teams {
            let maintainers = self.maintainers(team)?;
            let person = if is_person { person() } else { None };
            if !is_person || !decides(&maintainers, person.as_deref()) {
                let who = if is_person { "not known by name" } else { "an agent" };
                return Err(ApiError::NotMaintainer {
                    team: team.to_string(),
                    maintainers: if maintainers.is_empty() { "its members".to_owned() } else { maintainers.join(", ") },
                    person: person.unwrap_or_else(|| who.to_owned()),
                });
            }
        }
        Ok(())
    }

    /// Whether an author decides about the memories of teams in the name of the person at this machine.
    pub(super) fn acts_as_person(&self, author: Author) -> bool {
        author == Author::Person || self.is_owner
    }

    /// Copies memories into the namespace of a team, as one run that [`Memories::undo`] reverses. The copies wait in the
    /// inbox for a maintainer, unless the author is one. Secrets and personal data of every kind are removed from them.
    /// Each copy is linked to its origin; the link leaves this machine only with both memories.
    ///
    /// # Errors
    /// [`ApiError`] if a memory is not active, belongs to a team, or was rejected by the team, or if nobody set up the team
    /// and its name is like that of another. Nothing is written then.
    pub(crate) fn promote(
        &self,
        ids: &[impl AsRef<str>],
        team: &Namespace,
        quotes: QuotePolicy,
    ) -> Result<Promotion, ApiError> {
        self.unconfined()?;
        check_team(team)?;
        let author = person().ok_or_else(|| {
            ApiError::Unusable("your name is not known; set it with `git config --global user.name NAME`".to_owned())
        })?;
        super::draft::refuse_secrets(author.clone())?;
        // Nobody else can write between the checks and the copies, and a refused promotion leaves no run behind.
        self.ledger(TEAMS)?.together(|| self.copy_to_team(ids, team, quotes, author))
    }

    fn copy_to_team(
        &self,
        ids: &[impl AsRef<str>],
        team: &Namespace,
        quotes: QuotePolicy,
        author: String,
    ) -> Result<Promotion, ApiError> {
        self.refuse_misspelled(team)?;
        let is_maintainer = self.maintainers(team)?.iter().any(|name| caseless(name) == caseless(&author));
        let (store, now) = (self.ledger(TEAMS)?, Timestamp::now());
        let (guard, mut copies) = (strict_guard(), Vec::new());
        let mut promotion = Promotion {
            run: None,
            author,
            promoted: Vec::new(),
            known: Vec::new(),
            removed: BTreeSet::new(),
            quotes: 0,
        };
        for id in ids {
            let origin = self.resolve(id.as_ref())?;
            refuse_promotion(&origin, team)?;
            let (claim, found) = guard.redact(origin.claim);
            if store.rejected_claim(team, &claim)?.is_some() {
                let reason = "the team rejected or forgot it; a maintainer can restore it";
                return Err(not_promoted(&origin.id, team, reason));
            }
            if let Some(known) = store.by_content(team, &claim.content)?.into_iter().next() {
                promotion.known.push(known);
                continue;
            }
            let evidence = if quotes == QuotePolicy::Share { store.evidence(&origin.id)? } else { Vec::new() };
            let (evidence, found_in_quotes) = guard.redact(evidence);
            promotion.removed.extend(found.into_keys().chain(found_in_quotes.into_keys()));
            promotion.quotes += evidence.len();
            let source = format!("{PROMOTED_BY}{}", promotion.author);
            let copy = Memory {
                status: Status::Pending,
                ..Memory::new(claim.into_inner(), team.clone(), source, ExtractionMethod::Manual, now)
            };
            copies.push((origin.id, copy, evidence));
        }
        if copies.is_empty() {
            return Ok(promotion);
        }
        let arguments =
            json!({ "ids": copies.iter().map(|(id, ..)| id).collect::<Vec<_>>(), "into": team.to_string() });
        let run = store.begin_run("promote", &arguments, now)?.id;
        store.write::<_, StoreError>(Some(&run), now, |w| {
            copies.iter().try_for_each(|(origin, copy, evidence)| {
                add_copy(w, origin, copy, evidence)?;
                if is_maintainer { w.accept(&copy.id).map(drop) } else { Ok(()) }
            })
        })?;
        store.finish_run(&run, RunStatus::Finished, &json!({ "promoted": copies.len() }), Timestamp::now())?;
        promotion.promoted = copies.iter().map(|(_, copy, _)| store.memory(&copy.id)).collect::<Result<_, _>>()?;
        promotion.run = Some(run);
        Ok(promotion)
    }
}

/// Writes a copy with its links: to its origin, to an earlier copy that it replaces, and to what it contradicts.
fn add_copy(
    w: &Writer<'_>,
    origin: &MemoryId,
    copy: &Memory,
    evidence: &Redacted<Vec<Evidence>>,
) -> Result<(), StoreError> {
    w.insert(&w.redact(copy.clone()), evidence)?;
    let link = |relation_type, to: &MemoryId| Relation {
        from: copy.id.clone(),
        to: to.clone(),
        relation_type,
        reason: None,
        created_at: w.now(),
    };
    let mut replaced = BTreeSet::new();
    for earlier in w.relations(origin)? {
        let is_copy = earlier.relation_type == RelationType::DerivedFrom && earlier.to == *origin;
        let known = if is_copy { w.find(&earlier.from)? } else { None };
        replaced.extend(
            known
                .filter(|known| known.namespace == copy.namespace && known.status == Status::Active)
                .map(|known| known.id),
        );
    }
    for known in copy.claim.key.as_deref().map_or(Ok(Vec::new()), |key| w.by_key(&copy.namespace, key))? {
        let relation = pair(&View::of(&copy.claim, &[]), &View::of(&known.claim, &[]), false).pairing;
        let is_opposed = matches!(relation, ClaimRelation::Opposed | ClaimRelation::Contested);
        if is_opposed && known.id != copy.id && known.status == Status::Active && !replaced.contains(&known.id) {
            w.relate(&link(RelationType::Contradicts, &known.id))?;
        }
    }
    for id in &replaced {
        w.relate(&link(RelationType::Refines, id))?;
    }
    w.relate(&link(RelationType::DerivedFrom, origin)).map(drop)
}

fn refuse_promotion(memory: &Memory, team: &Namespace) -> Result<(), ApiError> {
    let status = memory.status_at(Timestamp::now());
    if status != Status::Active {
        let remedy = "only active memories are promoted";
        return Err(ApiError::NotNow { id: memory.id.to_string(), status, remedy });
    }
    let reason = if memory.namespace.is_team() {
        "it belongs to a team, and cannot be promoted to another"
    } else if memory.claim.key.as_deref() == Some(MAINTAINERS) {
        "its key is reserved for the list of maintainers; see `afterthought project team --help`"
    } else {
        return Ok(());
    };
    Err(not_promoted(&memory.id, team, reason))
}

fn not_promoted(id: &MemoryId, team: &Namespace, reason: &str) -> ApiError {
    ApiError::Conflict(format!("memory {} cannot be promoted to {team}: {reason}", id.short()))
}

/// Rejects a namespace that does not belong to a team.
fn check_team(namespace: &Namespace) -> Result<(), ApiError> {
    refuse_secret_namespace(namespace)?;
    if namespace.is_team() {
        return Ok(());
    }
    Err(ApiError::Invalid(format!("{namespace} is not a team; write it like team/shop")))
}

/// Returns the name of a team without `team/`.
fn own_name(team: &str) -> &str {
    team.strip_prefix("team/").unwrap_or(team)
}

/// Returns a guard that also removes every kind of personal data, regardless of the settings, because others will read
/// the text.
pub(super) fn strict_guard() -> Guard {
    let redact = Treatment::Redact;
    Guard::new(&GuardSettings {
        cards: redact,
        ibans: redact,
        ids: redact,
        emails: redact,
        phones: redact,
        addresses: redact,
    })
}

/// Whether a person may decide about the memories of a team with these maintainers.
fn decides(maintainers: &[String], person: Option<&str>) -> bool {
    let is_named = |person: &str| maintainers.iter().any(|name| caseless(name) == caseless(person));
    maintainers.is_empty() || person.is_some_and(is_named)
}

/// Returns the names in a comma-separated list.
fn names_in(list: &str) -> Vec<String> {
    let plain = |name: &str| name.chars().filter(|c| !c.is_control()).take(80).collect::<String>().trim().to_owned();
    list.split(',').map(plain).filter(|name| !name.is_empty()).collect()
}

/// Returns the name of the person who uses this machine: the name in their commits, or otherwise their login name.
fn person() -> Option<String> {
    // Only the person's own settings are read, because those of a repository may come from somebody else.
    let git = Command::new("git").args(["config", "--global", "--get", "user.name"]).stdin(Stdio::null()).output();
    let named = git.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let login = || ["USER", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let name_in = |text: String| names_in(&text.replace(',', " ")).pop();
    named.and_then(name_in).or_else(|| login().and_then(name_in))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::api::{Order, Query, SearchRequest};
    use crate::memory::Scope;
    use crate::search::brief::BriefRequest;

    /// Namespaces in which the memories of the random stores are.
    const PLACES: [&str; 9] =
        ["global", "project/a", "project/b", "project/a/sub", "team/x", "team/y", "team/x/sub", "user/ana", "chat/one"];

    fn space(text: &str) -> Namespace {
        text.parse().unwrap()
    }

    /// Returns the place of a memory that these tests stored, which its content names.
    fn place_of(content: &str) -> &str {
        content.split_whitespace().last().unwrap().trim_end_matches('.')
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

        /// In a project, briefs, searches and lists show the user, the project and its team, and nothing else.
        #[test]
        fn a_project_shows_the_user_itself_and_its_team_and_nothing_else(
            places in prop::collection::vec((0_usize..9, 0.3_f64..1.0, any::<bool>()), 1..40),
            teams in prop::collection::vec((0_usize..2, 0_usize..3), 0..4),
            project in 0_usize..2,
        ) {
            let memories = Memories::open("memory:").unwrap();
            let store = memories.storage().as_store().unwrap();
            let projects = [space("project/a"), space("project/b")];
            for (of, team) in teams {
                let team = [Some(space("team/x")), Some(space("team/y")), None][team].clone();
                memories.assign_team(&projects[of], team.as_ref()).unwrap();
            }
            let team = store.project_teams().unwrap().into_iter().find(|(of, _)| *of == projects[project]);
            let mut expected: BTreeSet<String> = ["global".to_owned(), projects[project].to_string()].into();
            expected.extend(team.map(|(_, team)| team.to_string()));
            store.write::<_, StoreError>(None, Timestamp::now(), |w| {
                for (number, (place, importance, is_short)) in places.iter().enumerate() {
                    let content = format!("Quince number {number} grows in {}.", PLACES[*place]);
                    let scope = if *is_short { Scope::ShortTerm } else { Scope::LongTerm };
                    let claim = Claim::new(MemoryType::Semantic, "fact", title_of(&content), content);
                    let claim = Claim { importance: *importance, scope, ..claim };
                    let method = ExtractionMethod::Manual;
                    let memory = Memory::new(claim, space(PLACES[*place]), "test", method, Timestamp::now());
                    w.insert(&w.redact(memory), &w.redact(Vec::new()))?;
                }
                Ok(())
            }).unwrap();
            let stored: BTreeSet<String> = places.iter().map(|(place, ..)| PLACES[*place].to_owned()).collect();
            let wanted: BTreeSet<String> = stored.intersection(&expected).cloned().collect();

            let reach = memories.reach_of(projects[project].clone()).unwrap();
            let all = memories.list_memories(Filter::default(), Order::Id, 99, 0).unwrap();
            let memories = memories.within(reach);
            for query in [None, Some("quince".to_owned())] {
                let request = memories.brief_request(query).unwrap();
                let request = BriefRequest { max_tokens: 9_000, max_memories: None, ..request };
                let shown = memories.brief(&request).unwrap().shown;
                for one in &shown {
                    prop_assert!(wanted.contains(place_of(&one.memory.claim.content)), "{:?}", one.memory);
                }
            }
            let request = SearchRequest { text: "quince".into(), limit: 99, standing: 9, related: true, ..SearchRequest::default() };
            let found = memories.search(&request).unwrap();
            let searched: BTreeSet<String> =
                found.found.iter().chain(&found.standing).map(|one| one.memory.namespace.to_string()).collect();
            prop_assert_eq!(&searched, &wanted);
            let listed = memories.query_memories(&Query { limit: 99, ..Query::default() }).unwrap();
            let listed: BTreeSet<String> = listed.iter().map(|one| one.namespace.to_string()).collect();
            prop_assert_eq!(&listed, &wanted);
            for one in all {
                let is_reached = wanted.contains(&one.namespace.to_string());
                prop_assert_eq!(memories.get_memory(&one.id).unwrap().is_some(), is_reached);
            }
        }
    }

    #[test]
    fn an_agent_never_changes_the_memories_of_a_team() {
        let memories = Memories::open("memory:").unwrap();
        memories.assign_team(&space("project/a"), Some(&space("team/x"))).unwrap();
        let store = memories.storage().as_store().unwrap();
        let claim = Claim::new(MemoryType::Semantic, "fact", "Tea", "The team drinks tea.");
        let memory = Memory::new(claim, space("team/x"), "test", ExtractionMethod::Manual, Timestamp::now());
        let write = |w: &Writer<'_>| w.insert(&w.redact(memory.clone()), &w.redact(Vec::new()));
        store.write::<_, StoreError>(None, Timestamp::now(), write).unwrap();
        let id = memory.id.as_str();
        let reach = memories.reach_of(space("project/a")).unwrap();
        let memories = memories.within(reach);
        let change = crate::api::MemoryChange { importance: Some(0.9), ..crate::api::MemoryChange::default() };
        for error in [
            memories.update_memory(id, &change, Author::Agent).unwrap_err(),
            memories.forget(&[id], None, Author::Agent).unwrap_err(),
            memories.restore(&[id], crate::api::RivalPolicy::Keep, Author::Agent).unwrap_err(),
        ] {
            let said = error.to_string();
            assert!(said.starts_with("only its members can change memories of team/x, and you are an agent"), "{said}");
        }
        assert_eq!(memories.forget_where(Filter::default(), None, Author::Agent, false).unwrap(), []);
        assert_eq!(memories.get_memory(&memory.id).unwrap().unwrap().status, Status::Active);
        // What the agent stores belongs to the project.
        let draft =
            crate::api::MemoryDraft { author: Author::Agent, ..crate::api::MemoryDraft::new("Bo drinks mate.") };
        assert_eq!(memories.remember(&draft).unwrap().memory.unwrap().namespace, space("project/a"));
    }

    #[test]
    fn names_are_compared_without_case_and_a_list_is_read_tidily() {
        let maintainers = names_in(" Ana Lind,, Bo \u{7}Ek ,");
        assert_eq!(maintainers, ["Ana Lind", "Bo Ek"]);
        assert!(decides(&maintainers, Some("ana lind")) && decides(&[], None) && decides(&[], Some("Cy")));
        assert!(!decides(&maintainers, Some("Cy")) && !decides(&maintainers, None));
    }
}
