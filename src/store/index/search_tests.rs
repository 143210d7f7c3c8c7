//! Tests of word search: results of queries, and that no query causes an error.

use super::search::has_inner_word;
use crate::changeset::Action;
use crate::memory::{ExtractionMethod, Memory, Namespace, Status};
use crate::store::terms::Stems;
use crate::store::testing::{clean, day, insert, memory, memory_in, quote, shop, write};
use crate::store::{Filter, Likeness, NamespaceSubtree, Store, StoreError};
use crate::text::tokens::Query;
use proptest::prelude::*;

fn found(store: &Store, query: &str) -> Vec<String> {
    let hits = store.search_candidates(query, &Filter::default(), 10).unwrap();
    hits.into_iter().map(|hit| hit.memory.claim.title).collect()
}

fn stored(texts: &[(&str, &str)]) -> Store {
    let store = Store::in_memory().unwrap();
    for (title, content) in texts {
        insert(&store, &memory(title, content));
    }
    store
}

#[test]
fn names_with_signs_are_found_as_they_are_written() {
    let store = stored(&[
        ("bun", "The project uses bun-sqlite for storage."),
        ("cpp", "The engine is written in C++."),
        ("letters", "Plan C has no pluses."),
        ("sharp", "The editor plugin is written in C#, not F#."),
        ("map", "The route is spelled a:b in the config."),
        ("snake", "Call foo_bar before the loop."),
        ("dotenv", "Secrets are read from .env at start."),
        ("node", "The server runs node.js 22."),
        ("path", "The schema lies in src/store/schema.sql."),
        ("scope", "Import it from @acme/ui-kit."),
        ("version", "The team pinned tokio to 1.54.0."),
        ("flag", "Pass --no-verify only in emergencies."),
        ("mail", "Reports go to ops@example.com."),
        ("accent", "Das Büro ist in der Königstraße."),
        ("emoji", "Release posts end with 🎉 in the channel."),
        ("quote", "The user's motto is \"less is more\"."),
    ]);
    let table = [
        ("bun-sqlite", "bun"),
        ("sqlite", "bun"),
        ("C++", "cpp"),
        ("c++", "cpp"),
        ("(C++)", "cpp"),
        ("C#", "sharp"),
        ("F#", "sharp"),
        ("a:b", "map"),
        ("foo_bar", "snake"),
        ("bar", "snake"),
        (".env", "dotenv"),
        ("node.js", "node"),
        ("node", "node"),
        ("src/store/schema.sql", "path"),
        ("schema.sql", "path"),
        ("@acme/ui-kit", "scope"),
        ("ui-kit", "scope"),
        ("1.54.0", "version"),
        ("--no-verify", "flag"),
        ("ops@example.com", "mail"),
        ("buro", "accent"),
        ("BÜRO", "accent"),
        ("🎉", "emoji"),
        ("user's", "quote"),
        ("\"less is more\"", "quote"),
        ("what is the emergency flag?", "flag"),
        ("pinning", "version"),
    ];
    for (query, title) in table {
        assert_eq!(found(&store, query).first().map(String::as_str), Some(title), "{query}");
    }
    assert_eq!(found(&store, "C++"), ["cpp"], "the letter alone is not the language");
}

#[test]
fn writing_without_spaces_is_found_by_its_words() {
    let store = stored(&[
        ("focus", "用户关注A股科技板块。"),
        ("deploy", "生产环境部署在东京的服务器上"),
        ("tokyo", "ユーザーは東京に住んでいる。"),
        ("mixed", "团队使用bun-sqlite做缓存，端口是8080"),
        ("fullwidth", "数据库是ＰｏｓｔｇｒｅＳＱＬ１６"),
        ("korean", "사용자는 서울에서 일합니다."),
        ("thai", "ผู้ใช้อาศัยอยู่ในกรุงเทพ"),
        ("one", "他姓王"),
        ("rare", "𠮷野家で食べる"),
    ]);
    let table = [
        ("关注", "focus"),
        ("A股", "focus"),
        ("部署", "deploy"),
        ("部署在哪里", "deploy"),
        ("东京", "deploy"),
        ("東京", "tokyo"),
        ("東京に住む", "tokyo"),
        ("ユーザー", "tokyo"),
        ("缓存", "mixed"),
        ("bun-sqlite", "mixed"),
        ("使用 bun", "mixed"),
        ("8080", "mixed"),
        ("postgresql16", "fullwidth"),
        ("서울", "korean"),
        ("กรุงเทพ", "thai"),
        ("王", "one"),
        ("𠮷野", "rare"),
        ("𠮷", "rare"),
    ];
    for (query, title) in table {
        assert_eq!(found(&store, query).first().map(String::as_str), Some(title), "{query}");
    }
    assert_eq!(found(&store, "大阪"), [""; 0]);
}

/// Queries with syntax of FTS5, SQL and shells, with punctuation alone, and with misleading text.
const HOSTILE: &[&str] = &[
    "",
    " ",
    "\t\n\r",
    "\0",
    "\0\0tea",
    "te\0a",
    "\"",
    "\"\"",
    "\"\"\"",
    "'",
    "''",
    "`",
    "tea\"",
    "\"tea",
    "'tea",
    "tea'--",
    "tea; DROP TABLE memories",
    "*",
    "**",
    "tea*",
    "*tea",
    "^tea",
    "tea^2",
    "-tea",
    "--",
    "---",
    "+tea",
    "tea + coffee",
    "tea - coffee",
    "AND",
    "OR",
    "NOT",
    "NEAR",
    "AND OR NOT",
    "NOT tea",
    "tea NOT",
    "tea AND",
    "AND tea",
    "tea OR",
    "NEAR(tea coffee)",
    "NEAR(tea coffee, 2)",
    "NEAR/2",
    "(",
    ")",
    "()",
    ")(",
    "((tea",
    "tea))",
    "title:tea",
    "title : tea",
    "{title content}:tea",
    "{title",
    "content:",
    ":",
    "::",
    "-title:tea",
    "a:b",
    "%",
    "_",
    "%%",
    "100%",
    "under_score",
    "\\",
    "\\\\",
    "a\\b",
    "[",
    "]",
    "{",
    "}",
    "{}",
    "<",
    ">",
    "<tea>",
    "&",
    "|",
    "||",
    "tea|coffee",
    "~",
    "!",
    "!tea",
    "?",
    "???",
    "@",
    "#",
    "$",
    "$1",
    "?1",
    ":name",
    "@name",
    "=",
    "tea=1",
    ",",
    ";",
    ".",
    "..",
    "...",
    "/",
    "//",
    "…",
    "，",
    "。",
    "「」",
    "🎉",
    "👩‍👩‍👧‍👦",
    "\u{200b}",
    "\u{feff}",
    "\u{202e}tea",
    "e\u{301}",
    "\u{301}",
    "\u{301}\u{301}",
    "\u{fffd}",
    "\u{10ffff}",
    "\u{e000}",
    "ﷺ",
    "ß",
    "İ",
    "ǅ",
    "½",
    "①",
    "٣",
    "zq",
    "zqtz2bz",
    "rank",
    "rowid",
    "memory_words",
    "bm25(memory_words)",
];

#[test]
fn a_function_word_that_is_a_name_ranks_its_memory_first() {
    let store = stored(&[
        ("funds", "用户关注股市和基金，每周看一次股票。"),
        ("hk", "用户持有港股，主要是股息高的股。"),
        ("a", "用户的大部分资金在A股，其余是债券和黄金。"),
        ("us", "用户不买美股。"),
        ("vitamin c", "The user takes vitamin C every morning."),
        ("vitamin d", "The user takes vitamin D in winter, a small dose of the vitamin."),
        ("vitamin a", "On the advice of a doctor, the user avoids large doses of vitamin A."),
        ("vitamins", "Vitamins and minerals are bought online, vitamin and mineral packs monthly."),
    ]);
    for (query, expected) in [("A股", "a"), ("a股市场", "a"), ("vitamin A", "vitamin a"), ("Vitamin A", "vitamin a")]
    {
        assert_eq!(found(&store, query).first().map(String::as_str), Some(expected), "{query}");
    }
    assert_ne!(found(&store, "a vitamin").first().map(String::as_str), Some("vitamin a"));
}

#[test]
fn hostile_queries_are_only_text() {
    let store = stored(&[("tea", "The user drinks tea AND coffee."), ("percent", "It grew by 100% under_score a\\b.")]);
    let long = "tea ".repeat(100_000);
    let wide = "部署".repeat(50_000);
    let solid = "x".repeat(200_000);
    let table = || HOSTILE.iter().copied().chain([long.as_str(), &wide, &solid]);
    assert!(table().count() >= 80, "{}", table().count());
    for query in table() {
        let shown: String = query.chars().take(20).collect();
        let filter = Filter { text: Some(query.to_owned()), ..Filter::default() };
        store.search_candidates(query, &Filter::default(), 10).unwrap_or_else(|error| panic!("{shown:?}: {error:?}"));
        store.list(&filter, crate::store::Order::Updated, 10, 0).unwrap_or_else(|error| panic!("{shown:?}: {error:?}"));
        let likeness = Likeness { namespace: &shop(), text: query, key: Some(query), subject: Some(query) };
        store.neighbours(&likeness, 5).unwrap_or_else(|error| panic!("{shown:?}: {error:?}"));
    }
    for query in ["te\0a tea", "tea; DROP TABLE memories", "NEAR(tea coffee)", "title:tea", &long] {
        assert_eq!(found(&store, query).first().map(String::as_str), Some("tea"));
    }
    for query in ["%", "100%", "_", "\\"] {
        assert_eq!(found(&store, query), ["percent"], "{query}");
    }
    for query in ["", " \n", "\0", "???"] {
        assert_eq!(found(&store, query), [""; 0], "{query:?}");
    }
    assert_eq!(found(&store, "the"), ["tea"], "a query of stop words alone is looked up");
    assert_eq!(found(&store, "offe"), ["tea"], "a part of a word is found by its letters");
    let within = store.search_candidates("offe", &Filter::exactly(&[shop()]), 10).unwrap();
    assert_eq!(within.len(), 1, "also in one namespace");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_text_that_contains_a_query_contains_its_inner_words(
        text in "[a-c]{0,2}(?:(?:[ ./'_,+-]|'s |the|a's|1)[a-cB]{0,2}){0,9}", from in 0_usize..30, len in 0_usize..30,
    ) {
        let part = &text[from.min(text.len())..(from + len).min(text.len())];
        let asked = Query::of(part);
        if has_inner_word(part, &asked) {
            let mut stems = Stems::new();
            let indexed = stems.of(&[(4, &text)]).weights;
            let known = |sought| stems.sought(sought, 0).iter().any(|term| indexed.iter().any(|(one, _)| one == term));
            prop_assert!(asked.sought.iter().any(known), "{part:?} in {text:?}");
        }
    }

    #[test]
    fn no_query_is_an_error(query in "\\PC{0,60}|[ -~]{0,60}|[\"'*^():{}+\\-a-zA-Z东京 \\x00]{0,40}") {
        thread_local!(static STORE: Store = stored(&[("tea", "The user drinks tea in 东京.")]));
        STORE.with(|store| store.search_candidates(&query, &Filter::default(), 5)).unwrap();
    }

    #[test]
    fn what_was_stored_is_found_by_its_own_text(text in "[a-zA-Z0-9东京部署é]{1,12}([ .+#:_/-][a-zA-Z0-9东京部署é]{1,12}){0,3}") {
        let store = stored(&[("it", &text)]);
        prop_assert_eq!(found(&store, &text), ["it"]);
    }
}

#[test]
fn one_namespace_never_leaks_into_another() {
    let store = Store::in_memory().unwrap();
    let spaces = ["project/shop", "project/shop/api", "project/shop2", "project/shop-old", "global"];
    let spaces = spaces.map(|text| text.parse::<Namespace>().unwrap());
    for namespace in &spaces {
        insert(&store, &memory_in(namespace, &namespace.to_string(), "The user drinks tea."));
    }
    let titles = |within: Vec<NamespaceSubtree>| {
        let filter = Filter { namespaces: within, ..Filter::default() };
        let mut titles: Vec<_> = store
            .search_candidates("tea", &filter, 10)
            .unwrap()
            .into_iter()
            .map(|hit| hit.memory.claim.title)
            .collect();
        let listed = store.list(&filter, crate::store::Order::Id, 10, 0).unwrap();
        assert_eq!(listed.len(), titles.len());
        assert_eq!(store.count(&filter).unwrap(), titles.len());
        titles.sort();
        titles
    };
    assert_eq!(titles(vec![NamespaceSubtree::Exactly(shop())]), ["project/shop"]);
    assert_eq!(titles(vec![NamespaceSubtree::Under(shop())]), ["project/shop", "project/shop/api"]);
    let both = vec![NamespaceSubtree::Exactly(shop()), NamespaceSubtree::Exactly(Namespace::global())];
    assert_eq!(titles(both), ["global", "project/shop"]);
    assert_eq!(titles(vec![]).len(), 5);
    let likeness = Likeness { namespace: &shop(), text: "The user drinks tea.", key: None, subject: None };
    assert_eq!(store.neighbours(&likeness, 10).unwrap().len(), 1);
}

#[test]
fn only_the_status_asked_for_is_found() {
    let store = stored(&[("tea", "The user drinks tea.")]);
    let id = store.list(&Filter::default(), crate::store::Order::Id, 1, 0).unwrap().remove(0).id;
    store.write(None, day(1), |w| w.set_status(&id, Status::Forgotten, Action::Forget, None)).unwrap();
    assert_eq!(found(&store, "tea"), [""; 0]);
    let filter = Filter { statuses: vec![Status::Forgotten], ..Filter::default() };
    assert_eq!(store.search_candidates("tea", &filter, 5).unwrap().len(), 1);
    store.write(None, day(2), |w| w.set_status(&id, Status::Active, Action::Restore, None)).unwrap();
    assert_eq!(found(&store, "tea"), ["tea"]);
}

#[test]
fn an_update_is_found_by_its_new_words_only() {
    let store = stored(&[("drink", "The user drinks tea.")]);
    let mut changed = store.list(&Filter::default(), crate::store::Order::Id, 1, 0).unwrap().remove(0);
    changed.claim.content = "The user drinks coffee.".into();
    store.write(None, day(1), |w| w.update(&clean(changed.clone()), Action::Update, None)).unwrap();
    assert_eq!(found(&store, "tea"), [""; 0]);
    assert_eq!(found(&store, "coffee"), ["drink"]);
    let added = store.write(None, day(1), |w| w.add_evidence(&changed.id, &clean(vec![quote("an espresso, please")])));
    assert_eq!(added.unwrap(), 1);
    assert_eq!(found(&store, "espresso"), ["drink"]);
}

#[test]
fn neighbours_are_the_same_words_the_same_attribute_and_similar_words_in_turn() {
    let store = Store::in_memory().unwrap();
    let keyed = |title: &str, content: &str| {
        let mut memory = memory(title, content);
        memory.claim.key = Some("user.residence".into());
        memory
    };
    let all: Vec<Memory> = vec![
        memory("same", "“The user lives in Berlin!”"),
        keyed("attribute", "She moved to Paris."),
        memory("similar", "The user likes living in Berlin."),
        memory("other", "Deployment happens on Mondays."),
    ];
    for memory in &all {
        insert(&store, memory);
    }
    store.write(None, day(0), |w| w.set_status(&all[1].id, Status::Pending, Action::Update, None)).unwrap();
    let near = |limit| {
        let text = "The user lives in Berlin.";
        let likeness = Likeness { namespace: &shop(), text, key: Some("user.residence"), subject: None };
        let found = store.neighbours(&likeness, limit).unwrap();
        found.into_iter().map(|memory| memory.claim.title).collect::<Vec<_>>()
    };
    assert_eq!(near(10), ["same", "attribute", "similar"]);
    assert_eq!(near(2), ["same", "attribute"]);
    assert_eq!(near(0), [""; 0]);
}

#[test]
fn filters_narrow_a_list() -> Result<(), StoreError> {
    let store = Store::in_memory()?;
    let mut tagged = memory("tagged", "One.");
    tagged.claim.tags = vec!["a".into(), "b".into()];
    tagged.claim.importance = 0.9;
    tagged.created_at = day(5);
    let mut subject = memory("subject", "Two.");
    subject.claim.subject = Some("auth".into());
    subject.claim.category = "decision".into();
    subject.claim.expires_at = Some(day(3));
    subject.claim.valid_from = Some(day(-9));
    subject.claim.valid_to = Some(day(-5));
    for memory in [&tagged, &subject] {
        insert(&store, memory);
    }
    write(&store, |w| w.add_evidence(&subject.id, &clean(vec![quote("Said again later.")])));
    let titles = |filter: Filter| {
        let found = store.list(&filter, crate::store::Order::Id, 10, 0).unwrap();
        found.into_iter().map(|memory| memory.claim.title).collect::<Vec<_>>()
    };
    let any = Filter::default;
    let table = [
        (Filter { tags: vec!["a".into(), "b".into()], ..any() }, vec!["tagged"]),
        (Filter { tags: vec!["a".into(), "c".into()], ..any() }, vec![]),
        (Filter { categories: vec!["decision".into(), "task".into()], ..any() }, vec!["subject"]),
        (Filter { subject: Some("auth".into()), ..any() }, vec!["subject"]),
        (Filter { source: Some("manual".into()), ..any() }, vec!["tagged", "subject"]),
        (Filter { source: Some("jsonl:talk-1".into()), ..any() }, vec!["subject"]),
        (Filter { min_importance: Some(0.8), ..any() }, vec!["tagged"]),
        (Filter { created_from: Some(day(5)), ..any() }, vec!["tagged"]),
        (Filter { created_before: Some(day(5)), ..any() }, vec!["subject"]),
        (Filter { valid_at: Some(day(-6)), ..any() }, vec!["subject"]),
        (Filter { valid_at: Some(day(6)), ..any() }, vec!["tagged"]),
        (Filter { unexpired_at: Some(day(3)), ..any() }, vec!["tagged"]),
        (Filter { expired_at: Some(day(3)), ..any() }, vec!["subject"]),
        (Filter { pinned: Some(true), ..any() }, vec![]),
        (Filter { text: Some("tWO".into()), ..any() }, vec!["subject"]),
        (Filter { statuses: vec![], ..any() }, vec!["tagged", "subject"]),
    ];
    for (filter, expected) in table {
        assert_eq!(titles(filter.clone()), expected, "{filter:?}");
    }
    Ok(())
}

#[test]
fn only_sources_that_somebody_gave_are_searched() -> Result<(), StoreError> {
    let store = Store::in_memory()?;
    let sources = [
        ("given", "docs/Deploy-Guide.md", ExtractionMethod::Manual),
        ("program", "hook:deploy-guide", ExtractionMethod::Manual),
        ("log", "claude-code:deploy-guide", ExtractionMethod::Auto),
    ];
    for (id, source, method) in sources {
        let mut memory = memory(id, &format!("Text of {id}."));
        memory.source = source.to_owned();
        memory.extraction_method = method;
        insert(&store, &memory);
    }
    assert_eq!(found(&store, "deploy guide"), ["given"]);
    assert_eq!(found(&store, "DEPLOY"), ["given"]);
    assert_eq!(found(&store, "deploy elsewhere"), [""; 0], "all words are in the source");
    Ok(())
}

#[test]
fn the_punctuation_between_tags_is_not_searched() {
    let store = Store::in_memory().unwrap();
    let mut tagged = memory("tagged", "One.");
    tagged.claim.tags = vec!["db, cache".into(), "say \"hi\"".into()];
    insert(&store, &tagged);
    insert(&store, &memory("other", "Two."));
    assert_eq!(found(&store, "["), [""; 0]);
    assert_eq!(found(&store, "\",\""), [""; 0]);
    assert_eq!(found(&store, ","), ["tagged"]);
    assert_eq!(found(&store, "\""), ["tagged"]);
}

#[test]
fn the_gains_of_the_words_make_the_score() {
    let store = stored(&[
        ("tea", "The user drinks green tea and bought a green pot."),
        ("pot", "The pot is blue."),
        ("rust", "The user writes Rust."),
    ]);
    let hits = store.word_hits("Which green pot did the user buy?", &Filter::default(), 9).unwrap();
    assert_eq!(hits.len(), 3);
    for hit in &hits {
        assert_eq!(hit.gains.len(), 4, "green, pot, user and buy: {hit:?}");
        let sum: f64 = hit.gains.iter().copied().map(f64::from).sum();
        assert!((sum - hit.score).abs() < 1e-5, "{hit:?}");
    }
    assert!(hits[0].gains.iter().all(|gain| *gain > 0.0), "`bought` counts as `buy`: {hits:?}");
    let literal = store.word_hits("een te", &Filter::default(), 9).unwrap();
    assert!(
        literal.iter().all(|hit| hit.score.abs() < 1e-9 && hit.gains.is_empty()) && literal.len() == 1,
        "{literal:?}"
    );
}
