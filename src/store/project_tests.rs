//! Tests of the placement of projects as more information becomes available.

use super::testing::{clean, day, insert, memory_in};
use super::{Alias, Filter, Order, Store, StoreError};
use crate::memory::Namespace;
use crate::project::{Identity, Machine, ProjectSighting, Remote};

const SHOP: &str = "git@github.com:ana/shop.git";

/// A folder that does not exist, which may appear in any log.
fn text(path: &str) -> ProjectSighting {
    let machine = Machine::default();
    machine.sight_path(path).unwrap()
}

/// The same folder, now with a repository or a name.
fn seen(path: &str, identity: Option<Identity>) -> ProjectSighting {
    let text = text(path);
    ProjectSighting { identity: identity.unwrap_or(text.identity), is_here: true, root: Some(path.to_owned()), ..text }
}

fn remote(address: &str) -> Option<Identity> {
    Identity::remote(&Remote::parse(address)?)
}

fn folder(path: &str) -> Option<Identity> {
    Identity::from_stored(&format!("folder:{path}"), "repo".into())
}

/// Places a project and stores the placement on a day; returns the namespace, and the namespace whose memories must be
/// moved into it.
fn place(store: &Store, sighting: &ProjectSighting, at: i64) -> (String, Option<String>) {
    let sighting = &clean(sighting.clone());
    let placement = store
        .write::<_, StoreError>(None, day(at), |w| {
            let placement = w.placement(sighting)?;
            w.remember_place(sighting, &placement)?;
            Ok(placement)
        })
        .unwrap();
    (placement.namespace.to_string(), placement.join.map(|join| join.to_string()))
}

fn learn(store: &Store, namespace: &str) {
    insert(store, &memory_in(&namespace.parse().unwrap(), "Tea", "The user drinks tea."));
}

#[test]
fn a_folder_without_a_repository_has_the_namespace_that_it_always_had() {
    let store = Store::in_memory().unwrap();
    assert_eq!(place(&store, &text("/nowhere/ana/shop"), 0), ("project/shop-7a1249".into(), None));
    assert_eq!(place(&store, &text("C:\\src\\Shop"), 0), ("project/Shop-14ea20".into(), None));
    assert_eq!(place(&store, &text("c:/src/shop/"), 0), ("project/Shop-14ea20".into(), None));
}

#[test]
fn spellings_of_a_folder_on_windows_that_earlier_versions_distinguished_become_one_project() {
    let store = Store::in_memory().unwrap();
    for (id, name, namespace) in
        [("text:C:\\src\\Shop", "Shop", "project/Shop-d95667"), ("text:c:\\src\\shop", "shop", "project/shop-14ea20")]
    {
        let namespace = namespace.parse().unwrap();
        store.write::<_, StoreError>(None, day(1), |w| w.put_project(id, name, &namespace, 0)).unwrap();
    }
    assert_eq!(
        place(&store, &text("C:\\src\\Shop"), 0),
        ("project/shop-14ea20".into(), Some("project/Shop-d95667".into()))
    );
    let store = Store::in_memory().unwrap();
    let namespace = "project/Shop-d95667".parse().unwrap();
    store.write::<_, StoreError>(None, day(1), |w| w.put_project("text:C:\\src\\Shop", "Shop", &namespace, 0)).unwrap();
    assert_eq!(place(&store, &text("C:\\src\\Shop"), 0), ("project/Shop-d95667".into(), None));
    assert_eq!(place(&store, &text("c:/src/shop"), 0), ("project/Shop-d95667".into(), None));
}

#[test]
fn a_stronger_identity_takes_over_and_a_weaker_one_changes_nothing() {
    let store = Store::in_memory().unwrap();
    let path = "/nowhere/shop";
    let (first, _) = place(&store, &text(path), 0);
    for identity in [folder("/nowhere/shop"), remote(SHOP), folder("/nowhere/shop"), remote(SHOP)] {
        assert_eq!(place(&store, &seen(path, identity), 1), (first.clone(), None));
    }
    assert_eq!(place(&store, &text(path), 1), (first.clone(), None), "deleted");
    assert_eq!(place(&store, &seen("/elsewhere/clone", remote(SHOP)), 2), (first, None));
}

#[test]
fn what_was_learnt_apart_is_joined_once_it_is_known_to_be_one() {
    let store = Store::in_memory().unwrap();
    let (shop, _) = place(&store, &seen("/a/shop", remote(SHOP)), 0);
    let (weak, _) = place(&store, &text("/b/shop"), 0);
    assert_ne!(weak, shop);
    assert_eq!(place(&store, &seen("/b/shop", remote(SHOP)), 1), (shop.clone(), Some(weak)));
    assert_eq!(place(&store, &seen("/b/shop", remote(SHOP)), 2), (shop, None), "only once");
}

#[test]
fn what_an_earlier_version_learnt_is_taken_over_once_and_by_one_project() {
    let store = Store::in_memory().unwrap();
    let old = text("/nowhere/workspace/shop").identity.namespaces().next().unwrap().to_string();
    learn(&store, &old);
    assert_eq!(place(&store, &seen("/nowhere/workspace/shop", remote(SHOP)), 0), (old.clone(), None));
    let other =
        ProjectSighting { path: None, ..seen("/nowhere/workspace/shop", remote("git@github.com:ben/shop.git")) };
    let (other, join) = place(&store, &other, 1);
    assert!(other != old && join.is_none(), "the memories are another project's now");
}

#[test]
fn another_repository_at_the_same_place_is_another_project() {
    let store = Store::in_memory().unwrap();
    let (shop, _) = place(&store, &seen("/nowhere/w", remote(SHOP)), 0);
    let blog = seen("/nowhere/w", remote("git@github.com:ana/blog.git"));
    assert_eq!(
        store.placement(&clean(blog.clone())).unwrap().before.map(|before| before.to_string()),
        Some(shop.clone())
    );
    let (blog, join) = place(&store, &blog, 5);
    assert!(blog != shop && join.is_none());
    let spelled =
        store.path_history("/nowhere/w").unwrap().into_iter().map(|(at, namespace)| (at, namespace.to_string()));
    assert_eq!(spelled.collect::<Vec<_>>(), [(day(0), shop), (day(5), blog.clone())]);
    assert_eq!(place(&store, &text("/nowhere/w"), 6).0, blog, "the folder is gone again");
}

#[test]
fn something_else_in_the_place_of_a_repository_is_told_by_its_mark_or_by_there_being_none() {
    let store = Store::in_memory().unwrap();
    let marked = |mark: &str, identity| ProjectSighting { mark: Some(mark.into()), ..seen("/nowhere/w", identity) };
    let (shop, _) = place(&store, &marked("1f", remote(SHOP)), 0);
    let lone = folder("/nowhere/w");
    assert_eq!(place(&store, &marked("1f", lone.clone()), 1).0, shop, "it lost its remote");
    let (other, join) = place(&store, &marked("2e", lone), 2);
    assert!(other != shop && join.is_none(), "another one was begun there");
    let (plain, join) = place(&store, &ProjectSighting { root: None, ..seen("/nowhere/w", None) }, 3);
    assert!(plain != shop && plain != other && join.is_none(), "{plain}");
}

#[test]
fn a_log_that_names_the_repository_of_a_folder_that_is_gone_speaks_for_the_others() {
    let claim = |address| ProjectSighting {
        path: None,
        root: None,
        is_here: false,
        is_claim: true,
        ..seen("/nowhere/w", remote(address))
    };
    let (shop, api) = (claim(SHOP), claim("git@github.com:ana/api.git"));
    let store = Store::in_memory().unwrap();
    let (named, _) = place(&store, &shop, 0);
    assert_eq!(place(&store, &text("/nowhere/w"), 0).0, named, "named first");
    let store = Store::in_memory().unwrap();
    let (unnamed, _) = place(&store, &text("/nowhere/w"), 0);
    assert_eq!(place(&store, &shop, 0), (unnamed.clone(), None), "named later");
    assert_eq!(place(&store, &text("/nowhere/w"), 1).0, unnamed);
    let (other, join) = place(&store, &api, 2);
    assert!(other != unnamed && join.is_none(), "another one in the same place");
    let store = Store::in_memory().unwrap();
    let (places, either) = ([&shop, &api].map(|one| place(&store, one, 0).0), place(&store, &text("/nowhere/w"), 0).0);
    assert!(!places.contains(&either), "two repositories say that they were there");
}

#[test]
fn a_worktree_brings_what_an_earlier_version_learnt_in_it() {
    let store = Store::in_memory().unwrap();
    let old = text("/nowhere/fix").identity.namespaces().next().unwrap().to_string();
    learn(&store, &old);
    let (shop, _) = place(&store, &seen("/nowhere/shop", folder("/nowhere/shop")), 0);
    let fix = ProjectSighting { root: Some("/nowhere/shop".into()), ..seen("/nowhere/fix", folder("/nowhere/shop")) };
    assert_eq!(place(&store, &fix, 1), (shop.clone(), Some(old)));
    // The repository has received a remote, and has been moved away from its worktree.
    assert_eq!(place(&store, &seen("/nowhere/shop", remote(SHOP)), 2), (shop.clone(), None));
    let other = ProjectSighting { path: Some("/nowhere/new".into()), ..fix };
    assert_eq!(place(&store, &other, 3).0, shop);
}

#[test]
fn a_name_counts_until_it_is_taken_away() {
    let store = Store::in_memory().unwrap();
    assert_eq!(place(&store, &seen("/nowhere/w", Identity::named("acme")), 0).0, "project/acme");
    assert_eq!(
        place(&store, &text("/nowhere/w"), 1).0,
        "project/acme",
        "a deleted folder still belongs to its project"
    );
    let (shop, join) = place(&store, &seen("/nowhere/w", remote(SHOP)), 2);
    assert!(shop.starts_with("project/shop-") && join.is_none(), "{shop}");
}

#[test]
fn a_person_outranks_a_remote_and_a_file_outranks_the_person() {
    let store = Store::in_memory().unwrap();
    let namespace: Namespace = "project/mine".parse().unwrap();
    store.write(None, day(0), |w| w.set_alias(Alias::Path("/nowhere/w".into()), &namespace)).unwrap();
    assert_eq!(place(&store, &seen("/nowhere/w/a", remote(SHOP)), 0).0, "project/mine");
    assert_eq!(place(&store, &text("/nowhere/w"), 0).0, "project/mine");
    assert_ne!(place(&store, &text("/nowhere/ws"), 0).0, "project/mine");
    assert_eq!(place(&store, &seen("/nowhere/w/a", Identity::named("acme")), 0).0, "project/acme");
    let elsewhere = ProjectSighting { path: None, ..seen("/nowhere/w/b", remote(SHOP)) };
    assert_eq!(place(&store, &elsewhere, 0).0, "project/mine", "the person means the folder of any machine");
    store.write(None, day(0), |w| w.set_alias(Alias::Name("beta".into()), &namespace)).unwrap();
    let (other, _) = place(&store, &seen("/x", Identity::named("beta")), 0);
    assert!(other.starts_with("project/beta-"), "the person gave the name to another project: {other}");
    assert_eq!(place(&store, &seen("/nowhere/w/c", Identity::named("beta")), 0).0, other, "one name, one project");
}

#[test]
fn merges_are_followed_however_they_are_chained() {
    let store = Store::in_memory().unwrap();
    let [a, b, c] = ["project/a", "project/b", "project/c"].map(|text| text.parse::<Namespace>().unwrap());
    store.write(None, day(0), |w| w.note_merge(&a, &b)).unwrap();
    store.write(None, day(0), |w| w.note_merge(&b, &c)).unwrap();
    assert_eq!(store.merged_into(&a).unwrap(), c);
    store.write(None, day(0), |w| w.note_merge(&c, &a)).unwrap();
    store.merged_into(&a).unwrap();
}

#[test]
fn a_project_is_found_by_all_that_it_is_known_by_and_candidates_are_named() {
    let store = Store::in_memory().unwrap();
    let (shop, _) = place(&store, &seen("/a/shop", remote(SHOP)), 0);
    let (other, _) = place(&store, &text("/b/shop"), 0);
    learn(&store, "project/manual");
    let label = shop.trim_start_matches("project/");
    for text in [&shop, label, "/a/shop/", "https://github.com/Ana/Shop", "github.com/ana/shop"] {
        assert_eq!(store.project(text).unwrap().namespace.to_string(), *shop, "{text}");
    }
    assert_eq!(store.project("manual").unwrap().memories, 1);
    assert!(matches!(store.project("nothing"), Err(StoreError::UnknownProject { .. })));
    assert!(matches!(store.project(""), Err(StoreError::UnknownProject { .. })));
    let error = store.project("Shop").unwrap_err().to_string();
    assert!(error.contains(label) && error.contains(other.trim_start_matches("project/")), "{error}");
}

#[test]
fn a_remote_that_was_chosen_for_its_digits_is_another_project() {
    let eve = remote("git@github.com:eve36445631/shop.git");
    let first = |identity: &Option<Identity>| identity.as_ref().unwrap().namespaces().next();
    assert_eq!(first(&eve), first(&remote(SHOP)), "found by trying");
    for (one, other) in [(remote(SHOP), eve.clone()), (eve, remote(SHOP))] {
        let store = Store::in_memory().unwrap();
        let (mine, _) = place(&store, &seen("/a/shop", one), 0);
        learn(&store, &mine);
        let (theirs, join) = place(&store, &seen("/b/shop", other), 1);
        assert!(theirs != mine && join.is_none(), "{theirs}");
    }
}

#[test]
fn a_name_from_a_file_never_takes_the_namespace_of_a_repository() {
    let store = Store::in_memory().unwrap();
    let (own, _) = place(&store, &seen("/nowhere/shop", remote(SHOP)), 0);
    let claimed = own.strip_prefix("project/").unwrap();
    let (other, join) = place(&store, &seen("/nowhere/foreign", Identity::named(claimed)), 1);
    assert!(other != own && other.starts_with(&own) && join.is_none(), "{other} {join:?}");
    assert_eq!(place(&store, &seen("/nowhere/shop", remote(SHOP)), 2).0, own);
    // Folders that choose the same name still share a project.
    assert_eq!(place(&store, &seen("/nowhere/acme/web", Identity::named("acme")), 3).0, "project/acme");
    assert_eq!(place(&store, &seen("/nowhere/acme/api", Identity::named("acme")), 4).0, "project/acme");
}

#[test]
fn a_project_whose_memories_are_all_forgotten_is_still_listed() {
    let store = Store::in_memory().unwrap();
    learn(&store, "project/old");
    let id = store.list(&Filter::default(), Order::Id, 1, 0).unwrap().remove(0).id;
    store.write::<_, StoreError>(None, day(1), |writer| writer.forget(&id, None).map(drop)).unwrap();
    assert_eq!(store.project("old").unwrap().memories, 0);
    assert_eq!(store.projects().unwrap().len(), 1);
}
