//! Tests of fault points outside runs: in backups, restoring, repairs, erasing, vectors and exports. If a process ends
//! at such a point, nothing is lost, and repeating the command has the same result. The fault points of batches are
//! tested in `batch`.

use std::collections::BTreeSet;
use std::fs;
use std::process::Output;
use std::time::Duration;

use afterthought::fault::POINTS;

use super::batch::PLACES as BATCH;
use super::campaign::ELSEWHERE;
use super::vectors::{self, Server as Vectors};
use super::world::{FACTS, Server, World};

const COPY: [&str; 3] = ["copy.begin", "copy.made", "copy.placed"];
const RESTORE: [&str; 2] = ["restore.begin", "restore.placed"];
const REPAIR: [&str; 3] = ["repair.begin", "repair.filled", "repair.placed"];
const SEAL: [&str; 3] = ["seal.begin", "seal.written", "seal.done"];
const VECTORS: [&str; 2] = ["vectors.asked", "vectors.kept"];
const EXPORT: [&str; 1] = ["export.page"];

#[test]
fn every_place_is_one_at_which_some_test_ends_a_process() {
    let here = [&COPY[..], &RESTORE, &REPAIR, &SEAL, &VECTORS, &EXPORT, &BATCH].concat();
    let known: BTreeSet<&str> = here.into_iter().collect();
    assert_eq!(known, ELSEWHERE.iter().copied().collect());
    assert!(ELSEWHERE.iter().all(|place| POINTS.contains(place)));
}

/// Ends a command at a fault point, which the command must reach.
fn ended_at(world: &World, place: &str, arguments: &[&str]) -> Output {
    let output = world.command(arguments).env("AFTERTHOUGHT_FAULT", place).output().unwrap();
    assert_eq!(output.status.code(), None, "{place} is met: {output:?}");
    output
}

fn assert_whole(world: &World, of: &str) {
    let checked = world.done(&["db", "check"]);
    assert_eq!(checked.status.code(), Some(0), "{of}: {checked:?}");
}

/// Returns a world with some memories.
fn lived() -> (Server, World) {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    world.session("first", 2, &FACTS[..4]);
    world.session("second", 5, &FACTS[4..]);
    world.good(&["run", "logs", "--window-tokens", "600"]);
    (server, world)
}

/// Returns the files next to the database whose names contain `part`.
fn named(world: &World, part: &str) -> Vec<String> {
    let names = fs::read_dir(world.path(".")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains(part)).collect();
    names.sort();
    names
}

#[test]
fn a_copy_is_whole_or_not_there_and_what_was_left_of_one_goes() {
    let (_server, world) = lived();
    let wanted = world.export();
    for place in COPY {
        ended_at(&world, place, &["db", "backup", "copy.db"]);
        assert_eq!(world.export(), wanted, "{place}");
        assert_whole(&world, place);
        if world.path("copy.db").exists() {
            assert_eq!(place, "copy.placed");
            fs::remove_file(world.path("copy.db")).unwrap();
        } else {
            assert_eq!(named(&world, "copy.db.").len(), 1, "{place}");
        }
        // Files that another process may still be writing are kept; files that no process can be writing are removed.
        for left in named(&world, ".new") {
            let file = fs::OpenOptions::new().write(true).open(world.path(&left)).unwrap();
            file.set_modified(std::time::SystemTime::now() - Duration::from_hours(2)).unwrap();
        }
        world.good(&["db", "backup", "copy.db"]);
        assert_eq!(named(&world, "copy.db"), ["copy.db"], "{place}");
        assert_eq!(world.good(&["--db", "copy.db", "export", "--all"]), wanted, "{place}");
        fs::remove_file(world.path("copy.db")).unwrap();
    }
}

#[test]
fn taking_a_copy_back_leaves_one_or_the_other() {
    let (_server, world) = lived();
    let former = world.export();
    world.good(&["db", "backup", "copy.db"]);
    world.good(&["remember", "The user drinks tea."]);
    let later = world.export();
    for place in [&RESTORE[..], &COPY].concat() {
        ended_at(&world, place, &["db", "restore", "copy.db"]);
        let now = world.export();
        assert!(now == former || now == later, "{place}");
        assert_eq!(now == former, place == "restore.placed", "{place}");
        assert_whole(&world, place);
        world.good(&["db", "restore", "copy.db"]);
        assert_eq!(world.export(), former, "{place}");
        // The previous content is in a copy, which is restored before the next fault point.
        let kept = named(&world, ".before-");
        let of_later = kept.iter().find(|name| world.good(&["--db", name, "export", "--all"]) == later);
        let of_later = of_later.unwrap_or_else(|| panic!("{place}: nothing is lost"));
        world.good(&["db", "restore", of_later]);
        assert_eq!(world.export(), later, "{place}");
    }
}

#[test]
fn mending_that_ends_anywhere_is_done_again() {
    let (_server, world) = lived();
    let wanted = world.memories();
    world.good(&["db", "maintain"]);
    let whole = fs::read(world.database()).unwrap();
    let of_memories = world
        .look(
            "SELECT pageno FROM dbstat WHERE name = 'memories' AND pagetype = 'leaf' ORDER BY pageno LIMIT 1",
            |row| row.get::<_, usize>(0),
        )
        .unwrap()[0];
    for place in REPAIR {
        let mut damaged = whole.clone();
        damaged[(of_memories - 1) * 4_096..of_memories * 4_096].fill(0x5a);
        world.forget();
        fs::write(world.database(), damaged).unwrap();
        ended_at(&world, place, &["db", "repair"]);
        let again = world.done(&["db", "repair"]);
        assert!(matches!(again.status.code(), Some(0 | 3)), "{place}: {again:?}");
        assert_eq!(world.memories(), wanted, "{place}: what was on the page is in the history");
        assert_whole(&world, place);
    }
}

#[test]
fn an_erasure_that_ends_anywhere_is_brought_to_its_end() {
    let holds = |world: &World| {
        let files = fs::read_dir(world.path(".")).unwrap().map(|entry| entry.unwrap().path());
        let stores = files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("memories.db"));
        stores.filter(|path| memchr::memmem::find(&fs::read(path).unwrap(), b"cedar").is_some()).count()
    };
    let (_server, world) = lived();
    world.good(&["db", "maintain"]);
    let whole = fs::read(world.database()).unwrap();
    assert!(holds(&world) > 0);
    let erase = ["memory", "forget", "--session", "first", "--yes"];
    world.good(&erase);
    let wanted = world.memories();
    assert_eq!(holds(&world), 0);
    for place in [&SEAL[..], &["write.begin", "write.commit", "write.done"]].concat() {
        world.forget();
        fs::write(world.database(), &whole).unwrap();
        ended_at(&world, place, &erase);
        assert_whole(&world, place);
        // Either nothing or everything has been erased, and the next maintenance clears the freed parts of the file.
        if world.memories() != wanted {
            assert!(["write.begin", "write.commit"].contains(&place), "{place}");
            world.good(&erase);
        }
        world.good(&["db", "maintain"]);
        assert_eq!(world.memories(), wanted, "{place}");
        assert_eq!(holds(&world), 0, "{place}");
    }
}

#[test]
fn vectors_that_are_there_are_not_asked_for_again() {
    for (place, again) in [("vectors.asked", 4), ("vectors.kept", 0)] {
        assert!(VECTORS.contains(&place));
        let (world, server) = (vectors::world(), Vectors::start());
        let output =
            vectors::with(&world, &server, &["db", "embed"]).env("AFTERTHOUGHT_FAULT", place).output().unwrap();
        assert_eq!(output.status.code(), None, "{place} is met: {output:?}");
        assert_eq!(server.taken().len(), 4);
        // The process that had the lease is dead, and its lease expires.
        let conn = rusqlite::Connection::open(world.database()).unwrap();
        conn.execute("UPDATE vector_lease SET until = 0", ()).unwrap();
        drop(conn);
        let output = vectors::with(&world, &server, &["db", "embed"]).output().unwrap();
        assert!(output.status.success(), "{place}: {output:?}");
        assert_eq!(server.taken().len(), again, "{place}: calls in flight alone are lost");
        let count = world.look("SELECT count(*) FROM vectors", |row| row.get::<_, usize>(0)).unwrap();
        assert_eq!(count, [4], "{place}");
        assert_whole(&world, place);
    }
}

#[test]
fn an_export_that_ends_early_has_whole_lines_and_changes_nothing() {
    let (_server, world) = lived();
    let wanted = world.export();
    let output = ended_at(&world, EXPORT[0], &["export", "--all"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(wanted.starts_with(&printed), "{printed}");
    assert!(printed.is_empty() || printed.ends_with('\n'));
    assert_eq!(world.export(), wanted);
}
