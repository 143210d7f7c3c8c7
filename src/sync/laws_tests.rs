//! Laws of synchronisation: whatever machines do, and in whatever order files arrive, all end with the same rows.
//!
//! Each machine has a folder of its own, and files are copied from one folder to another one at a time, as programs such
//! as Syncthing do. The clocks of the machines are years apart. `PROPTEST_CASES` sets the number of histories for a
//! longer campaign.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use super::files::LOGS;
use super::*;
use crate::store::{Act, Scope, World, any_act, cases};

#[derive(Debug, Clone)]
enum Step {
    Act(Act),
    /// Erases a memory, or everything from a conversation.
    Erase(u8),
    EraseTalk(u8),
    Sync,
    /// One file of another machine arrives.
    Arrive(u8, u8),
    /// Everything that was applied arrives again.
    Again,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => any_act().prop_map(Step::Act),
        1 => any::<u8>().prop_map(Step::Erase),
        1 => (0..6_u8).prop_map(Step::EraseTalk),
        5 => Just(Step::Sync),
        6 => (any::<u8>(), any::<u8>()).prop_map(|(from, file)| Step::Arrive(from, file)),
        1 => Just(Step::Again),
    ]
}

struct Machine {
    world: World,
    folder: TempDir,
    target: i64,
}

impl Machine {
    fn new(number: i64, namespaces: &[&str]) -> Self {
        let (store, folder) = (Store::in_memory().unwrap(), TempDir::new().unwrap());
        // The clocks are years apart.
        let world = World { store, runs: Vec::new(), day: number * 1000 };
        let address = folder.path().to_str().unwrap().to_owned();
        let target = testing::add_target(&world.store, &address, namespaces, "machine", world.now()).unwrap();
        Self { world, folder, target }
    }

    fn sync(&self) -> SyncReport {
        synchronise(&self.world.store, self.target, Extent::Changes, self.world.now()).unwrap()
    }

    fn device(&self) -> String {
        target_of(&self.world.store, self.target).unwrap().device
    }

    fn files(&self) -> BTreeSet<PathBuf> {
        files_below(&self.folder.path().join(LOGS))
    }
}

fn files_below(root: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for folder in std::fs::read_dir(root).unwrap() {
        let folder = folder.unwrap().path();
        for file in std::fs::read_dir(&folder).unwrap() {
            found.insert(file.unwrap().path().strip_prefix(root).unwrap().to_owned());
        }
    }
    found
}

/// Copies a file of the log of `from`, or deletes files that the machine has deleted.
fn copy(from: &Machine, to: &Machine, which: Option<u8>) {
    let own = testing::log_of(&from.device());
    let (here, there) = (from.files(), to.files());
    let missing: Vec<&PathBuf> = here.difference(&there).filter(|path| path.starts_with(&own)).collect();
    let gone: Vec<&PathBuf> = there.difference(&here).filter(|path| path.starts_with(&own)).collect();
    let (source, destination) = (from.folder.path().join(LOGS), to.folder.path().join(LOGS));
    let pick = |paths: &[&PathBuf]| match which {
        Some(which) => {
            paths.get(usize::from(which) % paths.len().max(1)).map(|path| (*path).clone()).into_iter().collect()
        }
        None => paths.iter().map(|path| (*path).clone()).collect::<Vec<_>>(),
    };
    for path in pick(&missing) {
        std::fs::create_dir_all(destination.join(&own)).unwrap();
        std::fs::copy(source.join(&path), destination.join(&path)).unwrap();
    }
    for path in pick(&gone) {
        std::fs::remove_file(destination.join(path)).unwrap();
    }
}

/// Returns one line for each synchronised row, without its uses.
fn rows(store: &Store) -> BTreeSet<String> {
    let patterns = NamespacePatterns::new(&["project/*".to_owned()]).unwrap();
    let mut lines = BTreeSet::new();
    store
        .write::<_, SyncError>(None, jiff::Timestamp::UNIX_EPOCH, |w| {
            for id in w.memories_to_collect(0, None)? {
                for row in collect::rows_of(w, &id, &patterns)?.into_values() {
                    lines.insert(serde_json::to_string(&row).unwrap());
                }
            }
            Ok(())
        })
        .unwrap();
    lines
}

fn step(machines: &mut [Machine], at: usize, step: &Step) {
    match step {
        Step::Act(act) => machines[at].world.act(act),
        Step::Erase(which) => {
            let world = &machines[at].world;
            if let Some(id) = world.pick(*which, |_| true) {
                world.store.erase(&Scope::Memory(id), world.now()).unwrap();
            }
        }
        Step::EraseTalk(talk) => {
            let world = &machines[at].world;
            world.store.erase(&Scope::Session(format!("talk-{talk}")), world.now()).unwrap();
        }
        Step::Sync => {
            machines[at].sync();
        }
        Step::Arrive(from, file) => {
            let from = usize::from(*from) % machines.len();
            if from != at {
                copy(&machines[from], &machines[at], Some(*file));
            }
        }
        Step::Again => {
            let machine = &machines[at];
            let start = |w: &Writer<'_>| {
                for place in w.sync_peers(machine.target)? {
                    w.put_sync_peer(machine.target, &SyncPlace { seq: 0, hash: String::new(), ..place })?;
                }
                Ok::<_, SyncError>(())
            };
            machine.world.store.write(None, machine.world.now(), start).unwrap();
        }
    }
}

/// Delivers everything until no machine sends anything more.
fn settle(machines: &[Machine]) {
    for _ in 0..12 {
        let sent: usize = machines.iter().map(|machine| machine.sync().sent).sum();
        for (at, from) in machines.iter().enumerate() {
            for (to_at, to) in machines.iter().enumerate() {
                if at != to_at {
                    copy(from, to, None);
                }
            }
        }
        let received: usize = machines.iter().map(|machine| machine.sync().received).sum();
        if sent == 0 && received == 0 {
            return;
        }
    }
    panic!("the machines do not come to rest");
}

fn check(count: usize, steps: &[(u8, Step)]) {
    let mut machines: Vec<Machine> =
        (0..count).map(|number| Machine::new(i64::try_from(number).unwrap(), &["project/*"])).collect();
    for (at, one) in steps {
        let at = usize::from(*at) % count;
        step(&mut machines, at, one);
    }
    settle(&machines);
    let first = rows(&machines[0].world.store);
    for machine in &machines {
        let own = rows(&machine.world.store);
        let (less, more): (Vec<_>, Vec<_>) = (first.difference(&own).collect(), own.difference(&first).collect());
        assert!(less.is_empty() && more.is_empty(), "missing: {less:#?}\nin excess: {more:#?}");
        assert_eq!(machine.world.store.check().unwrap().flaws, vec![]);
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn machines_end_with_the_same_rows(
        count in 3..6_usize,
        steps in prop::collection::vec((any::<u8>(), any_step()), 1..40),
    ) {
        check(count, &steps);
    }

    /// The same with a key; there is no phrase of the memories in any file.
    #[cfg(feature = "age")]
    #[test]
    fn machines_with_a_key_end_with_the_same_rows(
        count in 3..6_usize,
        steps in prop::collection::vec((any::<u8>(), any_step()), 1..40),
    ) {
        testing::with_key(|| check(count, &steps));
    }
}
