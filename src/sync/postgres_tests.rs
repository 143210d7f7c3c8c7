//! Machines that share memories through a PostgreSQL server.

use super::postgres::{LogPlace, PostgresLog};
use super::testing::Machine;
use super::*;
use crate::memory::Status;
use crate::postgresql::Connection;
use crate::postgresql::testing::{Server, shared};
use crate::store::testing::{day, memory, memory_in};

fn machine(address: &str, name: &str) -> Machine {
    Machine::with(Store::in_memory().unwrap(), address, name, &["project/*"])
}

/// Two machines that share an empty database.
fn two(server: &Server) -> (String, Machine, Machine) {
    let address = server.database();
    let (a, b) = (machine(&address, "desk"), machine(&address, "laptop"));
    (address, a, b)
}

fn every_byte(address: &str) -> String {
    let mut connection = Connection::new(address, Duration::ZERO).unwrap();
    let sql = "SELECT name || convert_from(bytes, 'UTF8') FROM afterthought.log_items ORDER BY name, seq";
    let rows = connection.with(|client| client.query(sql, &[])).unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect()
}

#[test]
fn memories_travel_through_a_server_and_other_namespaces_leave_no_byte() {
    let Some(server) = shared() else { return };
    let (address, a, b) = two(server);
    a.insert(&memory("Tea", "The shop sells tea."));
    b.insert(&memory("Milk", "The shop sells milk."));
    for machine in [&a, &b] {
        machine.insert(&memory_in(&"global".parse().unwrap(), "Quokka", "The zanzibar quokka is a secret."));
    }
    for machine in [&a, &b, &a] {
        machine.sync();
    }
    assert_eq!((a.contents().len(), b.contents()), (3, a.contents()));
    assert_eq!((a.sync().sent, b.sync().received), (0, 0));
    let bytes = every_byte(&address).to_lowercase();
    assert!(bytes.contains("sells tea") && bytes.contains("sells milk") && !bytes.contains("quokka"), "{bytes}");
}

#[test]
fn a_copied_database_continues_under_a_name_of_its_own_and_a_long_log_becomes_a_snapshot() {
    let Some(server) = shared() else { return };
    let (address, a, b) = two(server);
    a.insert(&memory("Tea", "The shop sells tea."));
    a.sync();
    let copy = Machine { store: a.store.copy_in_memory().unwrap(), target: a.target };
    for number in 0..ITEMS_BEFORE_SNAPSHOT {
        a.insert(&memory("Milk", &format!("The shop sells milk in bottle {number}.")));
        a.sync();
    }
    copy.insert(&memory("Salt", "The shop sells salt."));
    assert!(copy.sync().notes.iter().any(|note| note.contains("continues as desk-")));
    a.sync();
    b.sync();
    copy.sync();
    assert_eq!((a.contents(), b.contents()), (copy.contents(), copy.contents()));
    let name = target_of(&a.store, a.target).unwrap().device;
    let mut log = PostgresLog::new(&address, LogPlace::Machines, Duration::ZERO).unwrap();
    let head = log.head(&name).unwrap().unwrap();
    assert!(head.snapshot.is_some_and(|seq| head.seq - seq < 5), "{head:?}");
    assert!(log.get_snapshot(&name).unwrap().is_some());
}

#[test]
fn a_server_that_restarts_or_lost_an_item_loses_no_change() {
    let Some(mut server) = Server::start() else { return };
    let (address, a, b) = two(&server);
    a.insert(&memory("Tea", "The shop sells tea."));
    a.sync();
    server.restart(Duration::ZERO);
    b.sync();
    assert_eq!(b.contents(), a.contents());
    // A connection that stays open over a restart is opened again, if there is time for it.
    let mut log = PostgresLog::new(&address, LogPlace::Machines, Duration::from_secs(30)).unwrap();
    assert_eq!(log.heads().unwrap().len(), 1);
    server.restart(Duration::ZERO);
    assert_eq!(log.heads().unwrap().len(), 1);
    a.insert(&memory("Milk", "The shop sells milk."));
    a.sync();
    a.insert(&memory("Salt", "The shop sells salt."));
    a.sync();
    let mut connection = Connection::new(&address, Duration::ZERO).unwrap();
    let damage = "UPDATE afterthought.log_items SET bytes = 'x' WHERE seq = 2";
    connection.with(|client| client.execute(damage, &[])).unwrap();
    let report = b.sync();
    assert!(report.problems.iter().any(|problem| problem.contains("change 2")), "{report:?}");
    assert_eq!(b.contents(), [("The shop sells tea.".to_owned(), Status::Active)]);
    synchronise(&a.store, a.target, Extent::Whole, day(1)).unwrap();
    b.sync();
    assert_eq!((b.contents(), b.contents().len()), (a.contents(), 3));
    drop(server);
    let error = a.try_sync().unwrap_err().to_string();
    assert!(error.contains("nothing was lost"), "{error}");
}
