//! Property test: what an export contains comes back from an import byte for byte.

use proptest::prelude::*;

use super::{Exported, Gathered, ReviewPolicy, exported, import_as_is, parse_line};
use crate::memory::{
    Blocker, Episode, Evidence, ExtractionMethod, Memory, MemoryType, Namespace, Outcome, Pattern, Procedure, Relation,
    RelationType, Scope, Status, Structured, Tier, Usage,
};
use crate::store::testing::{clean, day, insert, memory_in, quote, write};
use crate::store::{Filter, Order, Store};

fn text() -> impl Strategy<Value = String> {
    "[a-zà-ü关注 .,:'\"\\\\-]{1,40}".prop_map(|text| format!("x {}", text.trim()))
}

fn maybe() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(text())
}

fn several() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(text(), 0..3)
}

fn structured() -> impl Strategy<Value = Option<Structured>> {
    let outcome = prop::sample::select(Outcome::ALL);
    prop_oneof![
        Just(None),
        (text(), text(), outcome, maybe(), several()).prop_map(|(situation, action, outcome, reasoning, learnings)| {
            Some(Structured::Episode(Episode { situation, action, outcome, reasoning, learnings }))
        }),
        (text(), text(), several(), several(), proptest::option::of(0.0..=1.0)).prop_map(
            |(name, description, steps, triggers, priority)| {
                Some(Structured::Procedure(Procedure { name, description, steps, triggers, priority }))
            }
        ),
        (text(), [maybe(), maybe(), maybe()], [maybe(), maybe(), maybe()], proptest::option::of(0.0..=1.0)).prop_map(
            |(description, [name, code_snippet, language], [framework, use_case, avoid_when], effectiveness)| {
                let pattern = Pattern {
                    description,
                    name,
                    code_snippet,
                    language,
                    framework,
                    use_case,
                    avoid_when,
                    effectiveness,
                };
                Some(Structured::Pattern { pattern })
            }
        ),
        (text(), several()).prop_map(|(name, languages)| {
            let profile = serde_json::json!({"name": name, "languages": languages});
            Some(Structured::Profile { profile: profile.as_object().unwrap().clone() })
        }),
        (maybe(), maybe()).prop_map(|(owner, until)| Some(Structured::Blocker { blocker: Blocker { owner, until } })),
    ]
}

fn any_memory() -> impl Strategy<Value = (Memory, Vec<Evidence>)> {
    let kinds = (
        prop::sample::select(MemoryType::ALL),
        prop::sample::select(Scope::ALL),
        prop::sample::select(&[Status::Active, Status::Superseded, Status::Expired, Status::Pending][..]),
        prop::sample::select(ExtractionMethod::ALL),
        prop::sample::select(Tier::ALL),
        any::<bool>(),
        prop::sample::select(&["global", "project/shop", "user/ana", "conversation/c-4"][..]),
    );
    let texts = (text(), text(), maybe(), maybe(), structured(), proptest::option::of((text(), maybe())));
    let days = || proptest::option::of(0..400_i64);
    let numbers = (0.0..=1.0, 0.0..=1.0, 0..20_u32, days(), days(), 0..400_i64);
    (kinds, texts, numbers, several(), several()).prop_map(|(kinds, texts, numbers, tags, quotes)| {
        let (memory_type, scope, status, extraction_method, tier, pinned, namespace) = kinds;
        let (title, content, summary, subject, structured, attribute) = texts;
        let (importance, confidence, access_count, begins, ends, used) = numbers;
        let mut memory = memory_in(&namespace.parse().unwrap(), &title, &content);
        (memory.claim.key, memory.claim.value) = attribute.map_or((None, None), |(key, value)| (Some(key), value));
        (memory.claim.valid_from, memory.source) = (begins.map(day), title);
        memory.claim.memory_type = memory_type;
        memory.claim.scope = scope;
        (memory.claim.summary, memory.claim.subject, memory.claim.structured) = (summary, subject, structured);
        (memory.claim.importance, memory.claim.confidence, memory.claim.tags) = (importance, confidence, tags);
        (memory.claim.valid_to, memory.claim.expires_at) = (ends.map(day), ends.map(|ends| day(ends + 1)));
        (memory.status, memory.extraction_method, memory.pinned) = (status, extraction_method, pinned);
        memory.usage = Usage {
            access_count,
            last_accessed_at: (access_count > 0).then(|| day(used)),
            tier,
            promotion_count: access_count / 3,
            last_promoted_at: (access_count > 2).then(|| day(used)),
        };
        (memory, quotes.iter().map(|text| quote(text)).collect())
    })
}

fn lines_of(store: &Store) -> Vec<String> {
    let all = Filter { statuses: Vec::new(), ..Filter::default() };
    let memories = store.list(&all, Order::Id, 99, 0).unwrap();
    memories.into_iter().map(|one| serde_json::to_string(&exported(store, one).unwrap()).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_export_of_any_memory_comes_back_byte_for_byte(
        memories in prop::collection::vec(any_memory(), 1..5),
        relation_type in prop::sample::select(RelationType::ALL),
    ) {
        let (from, to) = (Store::in_memory().unwrap(), Store::in_memory().unwrap());
        // Half of the memories have the words of the first, since ids alone distinguish memories of one file.
        let words = memories[0].0.claim.content.clone();
        let different: Vec<_> = memories
            .into_iter()
            .enumerate()
            .map(|(place, (mut memory, evidence))| {
                memory.claim.content = if place % 2 == 0 { words.clone() } else { format!("{words} n{place}") };
                (memory, evidence)
            })
            .collect();
        for (memory, evidence) in &different {
            write(&from, |writer| writer.insert(&clean(memory.clone()), &clean(evidence.clone())));
        }
        if let [(a, _), (b, _), ..] = &different[..] {
            let link = Relation { from: b.id.clone(), to: a.id.clone(), relation_type, reason: None, created_at: day(0) };
            write(&from, |writer| writer.relate(&link));
        }
        let lines = lines_of(&from);
        prop_assert_eq!(lines.len(), different.len());
        let global = Namespace::global();
        let read = |line: &String| parse_line(line, &global, day(500)).unwrap();
        // Random text may read like an order; whoever restores their own export vouches for it with `--trusted`.
        let review = ReviewPolicy::Nothing;
        let gathered = Gathered { memories: lines.iter().map(read).collect(), review, ..Gathered::default() };
        import_as_is(&to, gathered, &global, None, day(500)).unwrap();
        prop_assert_eq!(lines_of(&to), lines);
    }
}

#[test]
fn an_export_contains_every_field_that_it_reads() {
    let store = Store::in_memory().unwrap();
    insert(&store, &memory_in(&Namespace::global(), "Tea", "Ana drinks tea."));
    let line = lines_of(&store).remove(0);
    let read: Exported = serde_json::from_str(&line).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), line);
}
