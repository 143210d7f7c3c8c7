//! Tests of the index of near claims.

use proptest::prelude::*;

use crate::changeset::Action;
use crate::memory::{Claim, Memory, MemoryType, Namespace, Status};
use crate::store::testing::{day, insert, memory, memory_in, shop};
use crate::store::{Around, Filter, Store};

fn around(store: &Store, claim: &Claim, keys: &[&str], limit: usize) -> Vec<String> {
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    let found = store.around(&Around { namespace: &shop(), claim, keys: &keys }, limit).unwrap();
    found.into_iter().map(|memory| memory.claim.title).collect()
}

fn claim(content: &str) -> Claim {
    Claim::new(MemoryType::Semantic, "fact", "", content)
}

fn titled(title: &str, content: &str) -> Memory {
    memory(title, content)
}

#[test]
fn what_says_the_same_is_found_however_it_is_put() {
    let store = Store::in_memory().unwrap();
    for (title, content) in [
        ("one", "The team deploys the billing service to Fly.io every Friday."),
        ("two", "用户把数据库部署在东京的服务器上"),
        ("three", "Das Büro der Firma liegt in der Königstraße."),
        ("four", "The engine is written in C++."),
    ] {
        insert(&store, &titled(title, content));
    }
    let table = [
        ("Every Friday the billing service is deployed to Fly.io by the team", "one"),
        ("Deployment of billing services happens on Fridays", "one"),
        ("ＴＨＥ ＴＥＡＭ ＤＥＰＬＯＹＳ ＢＩＬＬＩＮＧ", "one"),
        ("东京的服务器上部署了用户的数据库", "two"),
        ("Die Firma hat ihr BURO an der Konigstraße", "three"),
        ("c++ it is", "four"),
    ];
    for (text, title) in table {
        assert_eq!(around(&store, &claim(text), &[], 10).first().map(String::as_str), Some(title), "{text}");
    }
    assert_eq!(around(&store, &claim("Cats sleep."), &[], 10), [""; 0]);
    assert_eq!(
        around(&store, &claim("It is what it is."), &[], 10),
        [""; 0],
        "words of every sentence bring nothing up"
    );
}

#[test]
fn keys_are_found_in_every_spelling_and_their_words_without_a_key() {
    let store = Store::in_memory().unwrap();
    let mut keyed = titled("keyed", "She moved to Paris.");
    keyed.claim.key = Some("User.Home-City".into());
    keyed.claim.value = Some("Paris, Texas".into());
    insert(&store, &keyed);
    assert_eq!(around(&store, &claim("Nothing alike."), &["user.residence", "user.home_city"], 10), ["keyed"]);
    assert_eq!(around(&store, &claim("Nothing alike."), &["user.home"], 10), [""; 0]);
    assert_eq!(around(&store, &claim("The family lives in Texas."), &[], 10), ["keyed"]);
    let mut valued = claim("Nothing alike.");
    valued.value = Some("Texas".into());
    assert_eq!(around(&store, &valued, &[], 10), ["keyed"]);
}

#[test]
fn another_namespace_is_never_found() {
    let store = Store::in_memory().unwrap();
    let spaces = ["project/shop", "project/shop/api", "project/shop2", "global"];
    for namespace in spaces.map(|text| text.parse::<Namespace>().unwrap()) {
        let mut memory = memory_in(&namespace, &namespace.to_string(), "The user drinks tea.");
        (memory.claim.subject, memory.claim.key) = (Some("tea".into()), Some("user.drink".into()));
        insert(&store, &memory);
    }
    let tea = Claim { subject: Some("tea".into()), ..claim("The user drinks tea.") };
    assert_eq!(around(&store, &tea, &["user.drink"], 10), ["project/shop"]);
    let id = store.list(&crate::store::Filter::default(), crate::store::Order::Id, 1, 0).unwrap().remove(0).id;
    let elsewhere: Namespace = "project/elsewhere".parse().unwrap();
    store.write(None, day(1), |w| w.set_namespace(&id, &elsewhere, "moved".into())).unwrap();
    assert_eq!(around(&store, &tea, &["user.drink"], 10), [""; 0]);
    let there = Around { namespace: &elsewhere, claim: &claim("tea"), keys: &[] };
    assert_eq!(store.around(&there, 10).unwrap().len(), 1, "it is filed where it is now");
}

#[test]
fn what_waits_takes_no_place_and_what_is_over_is_not_found() {
    let store = Store::in_memory().unwrap();
    let all: Vec<Memory> = (0..30).map(|at| titled(&format!("tea {at}"), "The user drinks green tea.")).collect();
    for memory in &all {
        insert(&store, memory);
    }
    let set = |memories: &[Memory], status| {
        for memory in memories {
            store.write(None, day(1), |w| w.set_status(&memory.id, status, Action::Update, None)).unwrap();
        }
    };
    set(&all[..20], Status::Pending);
    set(&all[20..25], Status::Superseded);
    let found = around(&store, &claim("Green tea is drunk."), &[], 10);
    let active = found.iter().filter(|title| all[25..].iter().any(|memory| memory.claim.title == **title)).count();
    assert_eq!((active, found.len()), (5, 10), "{found:?}");
}

#[test]
fn words_that_stand_everywhere_are_found_together() {
    let store = Store::in_memory().unwrap();
    store
        .write::<_, crate::store::StoreError>(None, day(0), |w| {
            let numbered = |at: usize| match at % 3 {
                0 => format!("Server {at} is fast"),
                1 => format!("Server {at} is red"),
                _ => format!("A red car {at}"),
            };
            for at in 0..3_300 {
                let text = if at == 1_700 { "red fast server".to_owned() } else { numbered(at) };
                w.insert(
                    &crate::store::testing::clean(titled(&text, &text)),
                    &crate::store::testing::clean(Vec::new()),
                )?;
            }
            Ok(())
        })
        .unwrap();
    for _ in 0..2 {
        let found = around(&store, &claim("The fast server is red."), &[], 10);
        assert!(found.len() >= 10 && found[0] == "red fast server", "{found:?}");
    }
}

/// Writes the contents of a store to a file in the form used by an earlier version.
fn write_as_before(store: &Store, path: &std::path::Path, version: usize) {
    let before = crate::store::file::schema::of_version(path, version);
    before.execute("ATTACH ?1 AS now", [store.path.to_str().unwrap()]).unwrap();
    for table in ["memories", "memory_usage", "evidence"] {
        let names = format!("SELECT group_concat(name) FROM pragma_table_info('{table}', 'main')");
        let names: String = before.query_row(&names, (), |row| row.get(0)).unwrap();
        before.execute(&format!("INSERT INTO main.{table} ({names}) SELECT {names} FROM now.{table}"), ()).unwrap();
    }
}

#[test]
fn a_file_of_before_is_filed_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    // Earlier versions did not encrypt.
    let store = Store::open_with(&folder.path().join("now.db"), &crate::store::file::keys::Keys::Only(None)).unwrap();
    insert(&store, &titled("tea", "The user drinks tea."));
    let path = folder.path().join("before.db");
    write_as_before(&store, &path, 10);
    let store = Store::open(&path).unwrap();
    assert_eq!(around(&store, &claim("Tea is drunk."), &[], 10), ["tea"]);
    assert_eq!(store.search_candidates("drinking", &Filter::default(), 5).unwrap().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_finds_itself_or_nothing(text in "\\PC{0,60}|[\"'*^():{}+\\-a-zA-Z东京 \\x00]{0,40}") {
        let store = Store::in_memory().unwrap();
        insert(&store, &titled("it", &text));
        let found = around(&store, &claim(&text), &[&text], 10);
        prop_assert_eq!(found, ["it"]);
    }
}

#[test]
fn what_a_transaction_has_written_is_close_within_it_and_gone_with_it() {
    let store = Store::in_memory().unwrap();
    let tea = claim("The user drinks green tea.");
    let asked = Around { namespace: &shop(), claim: &tea, keys: &[] };
    let failed: Result<(), crate::store::StoreError> = store.write(None, day(0), |w| {
        w.insert(
            &crate::store::testing::clean(memory("one", "The user drinks green tea.")),
            &crate::store::testing::clean(Vec::new()),
        )?;
        assert_eq!(w.around(&asked, 5)?.len(), 1);
        w.insert(
            &crate::store::testing::clean(memory("two", "Green tea it is.")),
            &crate::store::testing::clean(Vec::new()),
        )?;
        Err(crate::store::StoreError::UnknownMemory { id: "none".into() })
    });
    assert!(failed.is_err());
    assert_eq!(around(&store, &tea, &[], 5), [""; 0]);
    insert(&store, &memory("three", "The user drinks green tea."));
    assert_eq!(around(&store, &tea, &[], 5), ["three"]);
}
