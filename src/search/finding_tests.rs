//! Tests of search: the results of queries, and that no query causes an error.

use proptest::prelude::*;

use super::{Found, QueryFit, Search, search};
use crate::memory::{Evidence, Memory, Namespace};
use crate::store::testing::{clean, day, insert, memory, quote, write};
use crate::store::{Filter, NamespaceSubtree, Order, Store};

/// Memories in one store, each with the queries that must return it as the first result.
const TABLE: &[(&str, &[&str])] = &[
    ("The project uses bun-sqlite for storage.", &["bun-sqlite", "bun sqlite", "BUN-SQLITE", "\"bun-sqlite\""]),
    ("The engine is written in C++20 and C++.", &["C++", "c++", "(C++)", "is it C++?", "C++20"]),
    ("The editor plugin is written in C#, not F#.", &["C#", "f#"]),
    ("Iterators come from std::sync::mpsc in the worker.", &["std::sync", "std::sync::mpsc", "mpsc", "sync::mpsc"]),
    ("The borrow checker stops with E0382 in parser.rs.", &["E0382", "error E0382", "e0382", "parser.rs"]),
    ("Call foo_bar before the main loop.", &["foo_bar", "foo_bar()", "FOO_BAR"]),
    ("The route is spelled a:b in the config.", &["a:b", "route a:b"]),
    ("Secrets are read from .env.local at start.", &[".env.local", ".env.local file"]),
    ("The server runs node.js 22 behind nginx.", &["node.js", "Node.js 22", "nginx"]),
    ("The schema lies in src/store/schema.sql.", &["src/store/schema.sql", "schema.sql", "store/schema.sql"]),
    ("Import widgets from @acme/ui-kit.", &["@acme/ui-kit", "ui-kit", "acme"]),
    ("Tokio is pinned to 1.54.0 because of a leak.", &["1.54.0", "tokio 1.54.0", "tokio"]),
    ("Pass --no-verify only in emergencies.", &["--no-verify", "no-verify", "emergency"]),
    ("Reports go to ops@example.com every Friday.", &["ops@example.com", "report"]),
    ("Set RUST_LOG=debug to see the retries.", &["RUST_LOG", "RUST_LOG=debug", "retry"]),
    ("The macro is called vec![] in the examples.", &["vec![]", "vec!"]),
    ("The endpoint is GET /api/v2/users?active=1.", &["/api/v2/users", "api/v2", "users?active=1"]),
    ("Release posts end with 🎉 in the channel.", &["🎉", "🎉 posts"]),
    ("The on-call rota is marked with 👩‍🚒.", &["👩‍🚒", "rota"]),
    ("The user's motto is \"less is more\".", &["\"less is more\"", "motto", "user's motto"]),
    ("Das Büro ist in der Königstraße und nicht am Markt.", &["Büro", "buro", "KÖNIGSTRASSE", "Königstraße"]),
    ("Die Häuser der Siedlung werden im Herbst gestrichen.", &["Haus", "Häusern", "Siedlungen"]),
    ("Les journaux sont livrés chaque matin dans la boîte.", &["journal", "journaux", "boite"]),
    ("La usuaria prefiere las reuniones por la mañana.", &["reunión", "reuniones", "manana", "mañanas"]),
    ("Il gruppo preferisce le riunioni di lunedì e non di venerdì.", &["riunione", "venerdi"]),
    ("De gebruiker heeft een hekel aan vergaderingen.", &["vergadering", "gebruikers"]),
    ("Пользователь любит книги и не любит газеты.", &["книга", "газета", "КНИГИ"]),
    ("The team bought two laptops for the wives of Linz.", &["buy", "buying a laptop", "wife"]),
    ("She deployed the billing services twice.", &["deploying", "deployment", "billing service"]),
    ("用户关注A股科技板块。", &["关注", "A股", "科技", "用户关注什么"]),
    ("生产环境部署在东京的服务器上", &["部署", "部署在哪里", "东京", "生产环境", "服务器"]),
    ("ユーザーは大阪に住んでいる。", &["大阪", "大阪に住む", "ユーザー"]),
    ("团队使用drizzle-orm做缓存，端口是8080", &["缓存", "drizzle-orm", "8080", "端口", "团队使用"]),
    ("数据库是ＰｏｓｔｇｒｅＳＱＬ１６", &["postgresql16", "数据库"]),
    ("사용자는 서울에서 일합니다.", &["서울", "사용자"]),
    ("ผู้ใช้อาศัยอยู่ในกรุงเทพ", &["กรุงเทพ"]),
    ("他姓王，茅台酒厂的工程师", &["王", "茅台", "工程师"]),
    ("𠮷野家で食べる", &["𠮷野", "𠮷"]),
];

fn store() -> Store {
    let store = Store::in_memory().unwrap();
    for (content, _) in TABLE {
        insert(&store, &memory("", content));
    }
    store
}

#[test]
fn every_query_of_the_table_finds_its_memory_first() {
    let store = store();
    let queries = || TABLE.iter().flat_map(|(content, queries)| queries.iter().map(move |query| (*query, *content)));
    assert!(queries().count() >= 80, "{}", queries().count());
    let first = |query: &str| {
        search(&store, query, &Filter::default(), 5, day(1))
            .unwrap()
            .first()
            .map(|found| found.memory.claim.content.clone())
    };
    let wrong: Vec<_> = queries().filter(|(query, content)| first(query).as_deref() != Some(*content)).collect();
    assert_eq!(wrong, []);
}

#[test]
fn what_nobody_said_is_not_found() {
    let store = store();
    for query in ["大阪城公園前駅", "kubernetes", "E0499", "zig++", "高雄", "🎈"] {
        let found = search(&store, query, &Filter::default(), 3, day(1)).unwrap();
        let exact = found.iter().filter(|found| found.fit.words > 0.999 && found.matched.len() > 1).count();
        assert_eq!(exact, 0, "{query}: {found:?}");
    }
    assert_eq!(search(&store, "kubernetes", &Filter::default(), 3, day(1)).unwrap(), []);
}

/// Pattern for the pieces of hostile queries: syntax of FTS5, SQL, shells and regular expressions, and unusual
/// characters.
const HOSTILE: &str = "([ -~]{0,12}|\"|'|`|\\*|\\^|\\(|\\)|:|\\{|\\}|\\[|\\]|%|_|\\\\|\\x00|\\x1b|--|;|/\\*| AND | OR | NOT | NEAR/2 |NEAR\\(|title:|content:|memory_words|1=1|\\u{202e}|\\u{200b}|\\u{feff}|\\u{301}|🎉|👩‍🚒|关注|東京|서울|ﷺ|İ|ß|½|٣|C\\+\\+|a:b|\\PC{0,8}){0,9}";

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_query_is_an_error(query in HOSTILE, limit in 0_usize..5, offset in 0_usize..40, order in 0_usize..4) {
        thread_local!(static STORE: Store = store());
        let order = [None, Some(Order::Updated), Some(Order::Importance), Some(Order::Used)][order];
        let filter = Filter { text: (offset == 7).then(|| query.clone()), ..Filter::default() };
        let asked = Search { limit, offset, order, ..Search::new(&query, &filter, day(1)) };
        let found: Vec<Found> = STORE.with(|store| asked.run(store)).unwrap();
        prop_assert!(found.len() <= limit);
        for found in found {
            let fit = &found.fit;
            let shares =
                [found.score.total, found.score.relevance, fit.words, fit.conversation, fit.speaker, fit.date];
            prop_assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{found:?}");
            for mark in &found.highlight.marks {
                prop_assert!(found.highlight.text.is_char_boundary(mark.start) && found.highlight.text.is_char_boundary(mark.end));
            }
        }
    }
}

#[test]
fn pages_follow_each_other_without_gap() {
    let store = Store::in_memory().unwrap();
    for number in 0..30 {
        insert(&store, &memory("", &format!("Tea number {number} is served.")));
    }
    let filter = Filter::default();
    let page = |offset, limit| -> Vec<Memory> {
        let found = Search { limit, offset, ..Search::new("tea", &filter, day(1)) }.run(&store).unwrap();
        found.into_iter().map(|found| found.memory).collect()
    };
    let all = page(0, 30);
    assert_eq!(all.len(), 30);
    assert_eq!([page(0, 7), page(7, 13), page(20, 10)].concat(), all);
    assert_eq!(page(30, 5), []);
}

#[test]
fn those_found_come_in_the_order_asked_for() {
    let store = Store::in_memory().unwrap();
    for (number, importance) in [0.2, 0.9, 0.5].into_iter().enumerate() {
        let mut tea = memory(&number.to_string(), "The user drinks tea.");
        tea.claim.importance = importance;
        tea.updated_at = day(3 - i64::try_from(number).unwrap());
        insert(&store, &tea);
    }
    let filter = Filter::default();
    let titles = |order| {
        let found = Search { order, ..Search::new("tea", &filter, day(9)) }.run(&store).unwrap();
        found.into_iter().map(|found| found.memory.claim.title).collect::<Vec<_>>()
    };
    assert_eq!(titles(Some(Order::Importance)), ["1", "2", "0"]);
    assert_eq!(titles(Some(Order::Updated)), ["0", "1", "2"]);
}

#[test]
fn neighbours_of_another_namespace_are_not_found() {
    use crate::store::testing::{clean, memory_in, quote, write};
    let store = Store::in_memory().unwrap();
    let other: Namespace = "project/other".parse().unwrap();
    let shop: Namespace = "project/shop".parse().unwrap();
    let lines = [(&shop, "Which tea do you like?"), (&other, "A secret of another project."), (&shop, "Assam.")];
    for (namespace, text) in lines {
        let memory = memory_in(namespace, text, text);
        write(&store, |writer| writer.insert(&clean(memory), &clean(vec![quote(text)])));
    }
    let contents = |within: Vec<NamespaceSubtree>| {
        let filter = Filter { namespaces: within, ..Filter::default() };
        let asked = Search { limit: 5, with_beside: true, ..Search::new("tea", &filter, day(1)) };
        let found = asked.run(&store).unwrap();
        found.into_iter().map(|found| found.memory.claim.content).collect::<Vec<_>>()
    };
    assert_eq!(contents(vec![NamespaceSubtree::Exactly(shop)]), ["Which tea do you like?"]);
    assert_eq!(contents(vec![]), ["Which tea do you like?", "A secret of another project."]);
    let plain = search(&store, "tea", &Filter::default(), 5, day(1)).unwrap();
    assert_eq!(plain.len(), 1, "what holds no word of the query comes only where it is asked for");
}

/// Stores `contents` as memories of one conversation, one message each, said one after the other.
fn insert_conversation(store: &Store, name: &str, contents: &[&str]) {
    for (place, content) in contents.iter().enumerate() {
        let evidence =
            Evidence { transcript: name.into(), messages: vec![format!("m{place}")], speaker: None, ..quote(content) };
        write(store, |w| w.insert(&clean(memory("", content)), &clean(vec![evidence])));
    }
}

fn fit_of(store: &Store, query: &str, content: &str) -> QueryFit {
    let found = search(store, query, &Filter::default(), 20, day(1)).unwrap();
    found.into_iter().find(|found| found.memory.claim.content == content).unwrap().fit
}

#[test]
fn other_results_from_a_conversation_raise_a_memory() {
    let store = Store::in_memory().unwrap();
    let apart = ["The pottery class was full.", "It rained.", "The train was late.", "A class on pottery begins."];
    insert_conversation(&store, "jsonl:a", &apart);
    insert_conversation(&store, "jsonl:b", &["The pottery class is long."]);
    insert_conversation(&store, "jsonl:c", &["The class was long."]);
    let (beside, alone) =
        (fit_of(&store, "pottery class", apart[0]), fit_of(&store, "pottery class", "The pottery class is long."));
    let other = fit_of(&store, "pottery class", apart[3]);
    // The mean of one score and 0 counts half, no word is missing, and two of the four results are from this conversation.
    assert!((beside.conversation - 0.5 * 0.5 * other.words / 2.0).abs() < 1e-9, "{beside:?}");
    assert!(beside.total > alone.total && alone.conversation == 0.0, "{beside:?} {alone:?}");
}

#[test]
fn words_that_only_other_results_from_the_conversation_contain_count() {
    let store = Store::in_memory().unwrap();
    insert_conversation(&store, "jsonl:a", &["The pottery class was full.", "It rained.", "Her teacher is Ilka."]);
    insert_conversation(&store, "jsonl:b", &["The piano class was full.", "It rained.", "His teacher is Bela."]);
    let told: Vec<_> = search(&store, "pottery teacher", &Filter::default(), 9, day(1)).unwrap();
    let place = |content: &str| told.iter().position(|found| found.memory.claim.content == content).unwrap();
    assert!(place("Her teacher is Ilka.") < place("His teacher is Bela."), "{told:?}");
    let [pottery, ilka] = ["The pottery class was full.", "Her teacher is Ilka."]
        .map(|content| fit_of(&store, "pottery teacher", content));
    // Of the three results, two are from this conversation. Each of them contains the word that the other lacks.
    let expected = |other: &QueryFit| f64::midpoint(other.words / 2.0, other.words) / 3.0;
    assert!((ilka.conversation - expected(&pottery)).abs() < 1e-6, "{ilka:?}");
    assert!((pottery.conversation - expected(&ilka)).abs() < 1e-6, "{pottery:?}");
}

#[test]
fn a_question_passes_its_score_to_the_reply_of_somebody_else() {
    let fits = |speakers: [&str; 2], asked: &str| {
        let store = Store::in_memory().unwrap();
        for (place, (speaker, content)) in speakers.into_iter().zip([asked, "Assam, of course."]).enumerate() {
            let messages = vec![format!("m{place}")];
            let evidence = Evidence { messages, speaker: Some(speaker.to_owned()), ..quote(content) };
            write(&store, |w| w.insert(&clean(memory("", content)), &clean(vec![evidence])));
        }
        let filter = Filter::default();
        let with_beside = Search { with_beside: true, ..Search::new("tea", &filter, day(1)) };
        let found = with_beside.run(&store).unwrap();
        // A reply that is no result takes nothing over.
        let alone = fit_of(&store, "tea", asked).neighbours;
        (found.into_iter().map(|found| found.fit.neighbours).collect::<Vec<_>>(), alone)
    };
    assert_eq!(fits(["Ana", "Ben"], "Which tea do you like?"), (vec![-1.0, 2.0], 0.0));
    assert_eq!(fits(["Ana", "Ben"], "Which tea? [a photo of a cup]"), (vec![-1.0, 2.0], 0.0));
    assert_eq!(fits(["Ana", "Ana"], "Which tea do you like?"), (vec![0.0, 1.0], 0.0), "nobody else replied");
    assert_eq!(fits(["Ana", "Ben"], "What a tea! I like tea."), (vec![0.0, 1.0], 0.0), "not a question");
}

#[test]
fn an_old_memory_that_matches_better_comes_before_a_recent_one() {
    let store = Store::in_memory().unwrap();
    let mut recent = memory("recent", "The user drinks coffee in the kitchen.");
    recent.updated_at = day(720);
    for memory in [&recent, &memory("old", "The user drinks green tea in the kitchen.")] {
        insert(&store, memory);
    }
    let found = search(&store, "green tea in the kitchen", &Filter::default(), 2, day(720)).unwrap();
    let titles: Vec<_> = found.iter().map(|found| found.memory.claim.title.as_str()).collect();
    assert_eq!(titles, ["old", "recent"], "{found:?}");
}

#[test]
fn a_conversation_with_all_results_raises_none_of_them() {
    let store = Store::in_memory().unwrap();
    insert_conversation(&store, "import", &["Tea is green.", "It rained.", "Rust is fast.", "Tea is black."]);
    assert!(fit_of(&store, "tea", "Tea is green.").conversation.abs() < 1e-9);
}

#[test]
fn a_memory_two_places_away_counts_half_as_much_as_a_neighbour() {
    let store = Store::in_memory().unwrap();
    insert_conversation(&store, "jsonl:a", &["Tea is green.", "It rained.", "Tea is black."]);
    let fit = fit_of(&store, "tea", "Tea is green.");
    assert!((fit.neighbours - 0.5 * fit_of(&store, "tea", "Tea is black.").words).abs() < 1e-9, "{fit:?}");
}
