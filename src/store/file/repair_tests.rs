use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::Loss;
use crate::memory::{Evidence, Memory, MemoryId};
use crate::store::testing::{clean, day, memory, quote, relation, write};
use crate::store::{Filter, NewVector, Order, Repaired, Store, StoreError, VectorModel};

const MEMORIES: usize = 500;
/// Size of a page in bytes.
const SIZE: usize = 4_096;

/// Pseudo-random numbers that are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// The use of a page in an undamaged file.
#[derive(Debug, Clone)]
struct Use {
    of: String,
    kind: String,
    cells: usize,
}

/// An undamaged store with all of its content.
struct Whole {
    folder: TempDir,
    bytes: Vec<u8>,
    memories: HashMap<MemoryId, (Memory, Vec<Evidence>)>,
    uses: BTreeMap<usize, Use>,
}

impl Whole {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("whole.db");
        let store = Store::open(&path).unwrap();
        let long = "and so on, as it was said at length, ".repeat(160);
        let all: Vec<Memory> = (0..MEMORIES)
            .map(|number| {
                let tail = if number % 50 == 7 { long.as_str() } else { "" };
                memory("Port", &format!("Service number {number} listens on port {}. {tail}", 20_000 + number))
            })
            .collect();
        write(&store, |w| {
            for (number, memory) in all.iter().enumerate() {
                w.insert(&clean(memory.clone()), &clean(vec![quote(&format!("it is port {}", 20_000 + number))]))?;
                if number % 9 == 1 {
                    w.relate(&relation(&memory.id, crate::memory::RelationType::Related, &all[number - 1].id))?;
                }
                if number % 11 == 3 {
                    w.set_pinned(&memory.id, true)?;
                }
            }
            Ok(())
        });
        let model = VectorModel { name: "m".into(), dimension: 8 };
        let waiting = store.without_vector(&model, None, MEMORIES).unwrap();
        let made: Vec<_> = waiting.iter().map(|of| NewVector { of, vector: &[1.0; 8] }).collect();
        write(&store, |w| w.put_vectors(&model, &made));
        store.conn.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        let memories = held(&store);
        assert_eq!((memories.len(), store.check().unwrap().flaws), (MEMORIES, Vec::new()));
        let uses = uses(&store);
        drop(store);
        let bytes = std::fs::read(&path).unwrap();
        Self { folder, bytes, memories, uses }
    }

    /// Writes the file with these pages changed.
    fn damaged(&self, name: &str, damage: &BTreeMap<usize, Vec<u8>>) -> PathBuf {
        let mut bytes = self.bytes.clone();
        for (page, with) in damage {
            bytes[(page - 1) * SIZE..page * SIZE].copy_from_slice(with);
        }
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn pages_of(&self, table: &str, kind: &str) -> Vec<usize> {
        let is_such = |(_, of): &(&usize, &Use)| of.of == table && of.kind == kind;
        self.uses.iter().filter(is_such).map(|(page, _)| *page).collect()
    }

    /// Compares the report of a repair with the original content and with the repaired file. Returns the number of
    /// memories.
    fn assert_saved(&self, path: &Path, repaired: &Repaired, damage: &BTreeMap<usize, Vec<u8>>, of: &str) -> usize {
        assert_eq!(repaired.left.flaws, [], "{of}");
        assert_eq!(std::fs::metadata(&repaired.backup).unwrap().len(), self.bytes.len() as u64, "{of}");
        let store = Store::open(path).unwrap();
        let now = held(&store);
        for (id, (memory, _)) in &now {
            assert_eq!(memory, &self.memories[id].0, "{of}: nothing is made up");
        }
        let loss = |table: &str| repaired.lost.iter().find(|loss| loss.table == table);
        assert_eq!(loss("memories").map_or(MEMORIES, |loss| loss.kept + loss.restored), now.len(), "{of}");
        let hit = |table: &str| -> Vec<&Use> {
            damage.keys().filter_map(|page| self.uses.get(page)).filter(|used| used.of == table).collect()
        };
        for table in ["memories", "evidence", "history"] {
            // Pages below a damaged inner page cannot be reached.
            if hit(table).iter().all(|used| used.kind != "internal") {
                let cells: usize = hit(table).iter().map(|used| used.cells.max(1)).sum();
                let all: usize = self.pages_of(table, "leaf").iter().map(|page| self.uses[page].cells).sum();
                let kept = loss(table).map_or(all, |loss| loss.kept);
                assert!(kept + cells >= all, "{of}: {kept} of {all} rows of {table}, {cells} on damaged pages");
            }
        }
        // If the history is complete, no memory is lost, whichever of its pages is damaged.
        if hit("history").is_empty() {
            assert_eq!(now.len(), MEMORIES, "{of}");
        }
        now.len()
    }
}

fn held(store: &Store) -> HashMap<MemoryId, (Memory, Vec<Evidence>)> {
    let any = Filter { statuses: Vec::new(), ..Filter::default() };
    let memories = store.list(&any, Order::Id, usize::MAX, 0).unwrap();
    memories
        .into_iter()
        .map(|memory| (memory.id.clone(), (memory.clone(), store.evidence(&memory.id).unwrap())))
        .collect()
}

fn uses(store: &Store) -> BTreeMap<usize, Use> {
    let mut statement = store.conn.prepare("SELECT pageno, name, pagetype, ncell FROM dbstat").unwrap();
    let rows = statement
        .query_map((), |row| Ok((row.get(0)?, Use { of: row.get(1)?, kind: row.get(2)?, cells: row.get(3)? })));
    rows.unwrap().map(Result::unwrap).collect()
}

/// Draws the bytes that overwrite a page: zeros, noise, noise in one half, or another page.
fn overwritten(whole: &Whole, page: usize, chance: &mut Chance) -> Vec<u8> {
    let own = &whole.bytes[(page - 1) * SIZE..page * SIZE];
    let mut noise = || u8::try_from(chance.below(256)).unwrap();
    let noisy: Vec<u8> = (0..SIZE).map(|_| noise()).collect();
    match chance.below(4) {
        0 => vec![0; SIZE],
        1 => noisy,
        2 => [&noisy[..SIZE / 2], &own[SIZE / 2..]].concat(),
        _ => {
            let other = chance.below(whole.bytes.len() / SIZE);
            whole.bytes[other * SIZE..(other + 1) * SIZE].to_vec()
        }
    }
}

#[test]
fn whatever_pages_are_overwritten_readable_rows_are_kept_and_nothing_is_made_up() {
    let whole = Whole::new();
    let pages = whole.bytes.len() / SIZE;
    let rounds = std::env::var("AFTERTHOUGHT_DAMAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    let (mut unopened, mut kept, mut complete) = (0, 0, 0);
    for seed in 0..rounds {
        let mut chance = Chance(seed);
        let count = 1 + chance.below(5);
        let damage: BTreeMap<usize, Vec<u8>> = (0..count)
            .map(|_| {
                let page = 1 + chance.below(pages);
                (page, overwritten(&whole, page, &mut chance))
            })
            .collect();
        let path = whole.damaged(&format!("{seed}.db"), &damage);
        let hit: Vec<_> = damage.keys().map(|page| (page, whole.uses.get(page))).collect();
        let of = format!("seed {seed}, {hit:?}");
        let is_of_schema = |page: &usize| whole.uses.get(page).is_some_and(|used| used.of == "sqlite_schema");
        match Store::repair_file(&path, day(1)) {
            Ok(repaired) => {
                let found = whole.assert_saved(&path, &repaired, &damage, &of);
                kept += found;
                complete += usize::from(found == MEMORIES);
            }
            Err(error) => {
                assert!(damage.keys().any(is_of_schema), "{of}: {error:?}");
                unopened += 1;
            }
        }
    }
    let opened = usize::try_from(rounds).unwrap() - unopened;
    println!("{rounds} files, {unopened} cannot be opened, {complete} of {opened} complete, {kept} memories kept");
}

#[test]
fn rows_of_a_damaged_page_come_from_the_history() {
    let whole = Whole::new();
    let zeros =
        |pages: &[usize]| -> BTreeMap<usize, Vec<u8>> { pages.iter().map(|page| (*page, vec![0; SIZE])).collect() };
    let (inner, leaves) = (whole.pages_of("memories", "internal"), whole.pages_of("memories", "leaf"));
    assert!(!inner.is_empty() && leaves.len() > 8);
    let repair = |name: &str, damage: &BTreeMap<usize, Vec<u8>>| {
        let path = whole.damaged(name, damage);
        let repaired = Store::repair_file(&path, day(1)).unwrap();
        whole.assert_saved(&path, &repaired, damage, name);
        repaired.lost
    };
    let loss = |kept, restored| Loss { table: "memories".into(), kept, restored };
    assert_eq!(repair("inner.db", &zeros(&inner[..1])), [loss(0, MEMORIES)]);
    let cells = whole.uses[&leaves[3]].cells;
    assert_eq!(repair("leaf.db", &zeros(&leaves[3..4])), [loss(MEMORIES - cells, cells)]);
    // If the history is also damaged, it restores no rows, because they may have been removed since.
    let history = whole.pages_of("history", "leaf");
    let lost = repair("both.db", &zeros(&[leaves[3], history[2]]));
    assert_eq!(lost.iter().find(|loss| loss.table == "memories"), Some(&loss(MEMORIES - cells, 0)));
}

#[test]
fn rows_between_a_damaged_page_and_a_damaged_last_page_are_read() {
    let whole = Whole::new();
    let leaves = whole.pages_of("history", "leaf");
    let damage = BTreeMap::from([leaves[5], leaves[leaves.len() - 1]].map(|page| (page, vec![0; SIZE])));
    let path = whole.damaged("last.db", &damage);
    let repaired = Store::repair_file(&path, day(1)).unwrap();
    whole.assert_saved(&path, &repaired, &damage, "the last page");
}

#[test]
fn a_file_that_cannot_be_opened_is_left_alone() {
    let whole = Whole::new();
    let damage = BTreeMap::from([(1, vec![0x5a; SIZE])]);
    let path = whole.damaged("first.db", &damage);
    let before = std::fs::read(&path).unwrap();
    let error = Store::repair_file(&path, day(1)).unwrap_err();
    assert!(matches!(error, StoreError::NotADatabase { .. }), "{error:?}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn what_is_no_store_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("diary.txt");
    std::fs::write(&path, "Dear diary, ".repeat(2_000)).unwrap();
    let error = Store::repair_file(&path, day(1)).unwrap_err();
    assert!(matches!(error, StoreError::NotADatabase { .. }), "{error:?}");
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("Dear diary"));
}
