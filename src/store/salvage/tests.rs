use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::Loss;
use super::pages::{Pages, SIZE};
use crate::memory::{Evidence, Memory, MemoryId};
use crate::store::samples::{clean, day, memory, quote, relation, write};
use crate::store::{Filter, NewVector, Order, Repaired, Store, StoreError, VectorModel};

const MEMORIES: usize = 500;

/// Chance that is the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// What every page of a whole file is for.
#[derive(Debug, Clone)]
struct Use {
    of: String,
    kind: String,
    cells: usize,
}

/// A whole store, and all that it holds.
struct Whole {
    folder: TempDir,
    bytes: Vec<u8>,
    memories: HashMap<MemoryId, (Memory, Vec<Evidence>)>,
    uses: BTreeMap<usize, Use>,
    /// How many rows every table has.
    rows: HashMap<String, usize>,
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
        let (uses, rows) = (uses(&store), rows(&store));
        drop(store);
        let bytes = std::fs::read(&path).unwrap();
        Self { folder, bytes, memories, uses, rows }
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

    /// Holds everything that a repair says against what there was, and what is there now.
    fn assert_saved(&self, path: &Path, repaired: &Repaired, damage: &BTreeMap<usize, Vec<u8>>, of: &str) {
        assert_eq!(repaired.left.flaws, [], "{of}");
        assert_eq!(std::fs::metadata(&repaired.backup).unwrap().len(), self.bytes.len() as u64, "{of}");
        let store = Store::open(path).unwrap();
        let now = held(&store);
        for (id, (memory, _)) in &now {
            assert_eq!(memory, &self.memories[id].0, "{of}: nothing is made up");
        }
        let loss = |table: &str| repaired.lost.iter().find(|loss| loss.table == table);
        assert_eq!(loss("memories").map_or(MEMORIES, |loss| loss.kept + loss.restored), now.len(), "{of}");
        for loss in &repaired.lost {
            let (there, rows) = (loss.kept + loss.restored, self.rows[&loss.table]);
            assert!(loss.lost.map_or(there <= rows, |lost| there + lost == rows), "{of}: {loss:?} of {rows}");
        }
        let first_is_damaged = damage.contains_key(&1);
        for table in ["memories", "evidence", "history"] {
            let hit: Vec<&Use> =
                damage.keys().filter_map(|page| self.uses.get(page)).filter(|u| u.of == table).collect();
            let is_lost_below = first_is_damaged && hit.iter().any(|used| used.kind == "internal");
            let cells: usize = hit.iter().filter(|used| used.kind != "internal").map(|used| used.cells.max(1)).sum();
            let all: usize = self.pages_of(table, "leaf").iter().map(|page| self.uses[page].cells).sum();
            let kept = loss(table).map_or(all, |loss| loss.kept);
            let schema_is_hit = damage.keys().any(|page| self.uses.get(page).is_some_and(|u| u.of == "sqlite_schema"));
            if !is_lost_below && !schema_is_hit {
                assert!(kept + cells >= all, "{of}: {kept} of {all} rows of {table}, {cells} on damaged pages");
            }
        }
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

fn rows(store: &Store) -> HashMap<String, usize> {
    let tables = super::tables::tables(&store.conn).unwrap();
    let count =
        |name: &str| store.conn.query_row(&format!("SELECT count(*) FROM \"{name}\""), (), |row| row.get(0)).unwrap();
    tables.into_iter().map(|table| (table.name.clone(), count(&table.name))).collect()
}

/// Draws what a page is overwritten with: nothing, noise, half of it noise, or another page.
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
fn whatever_pages_are_overwritten_the_others_are_kept_and_every_number_is_right() {
    let whole = Whole::new();
    let pages = whole.bytes.len() / SIZE;
    let rounds = std::env::var("AFTERTHOUGHT_DAMAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
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
        let repaired = Store::repair_file(&path, day(1)).unwrap_or_else(|error| panic!("{of}: {error}"));
        whole.assert_saved(&path, &repaired, &damage, &of);
    }
}

#[test]
fn rows_below_a_damaged_page_are_found_and_those_on_it_come_from_the_history() {
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
    let loss = |kept, lost, restored| Loss { table: "memories".into(), kept, lost: Some(lost), pages: 1, restored };
    assert_eq!(repair("inner.db", &zeros(&inner[..1])), [loss(MEMORIES, 0, 0)]);
    let cells = whole.uses[&leaves[3]].cells;
    let lost = repair("leaf.db", &zeros(&leaves[3..4]));
    assert_eq!(lost, [loss(MEMORIES - cells, 0, cells)]);
    // Where the history is damaged, too, nothing that may have been removed since is taken from it.
    let history = whole.pages_of("history", "leaf");
    let lost = repair("both.db", &zeros(&[leaves[3], history[2]]));
    assert_eq!(lost.iter().find(|loss| loss.table == "memories"), Some(&loss(MEMORIES - cells, cells, 0)));
}

#[test]
fn a_first_page_that_is_gone_takes_nothing_with_it() {
    let whole = Whole::new();
    let damage = BTreeMap::from([(1, vec![0x5a; SIZE])]);
    let path = whole.damaged("first.db", &damage);
    let repaired = Store::repair_file(&path, day(1)).unwrap();
    whole.assert_saved(&path, &repaired, &damage, "the first page");
    assert_eq!(held(&Store::open(&path).unwrap()).len(), MEMORIES);
}

#[test]
fn a_list_of_tables_that_is_damaged_takes_no_memory_with_it() {
    let whole = Whole::new();
    for page in whole.pages_of("sqlite_schema", "leaf") {
        let damage = BTreeMap::from([(page, vec![0; SIZE])]);
        let path = whole.damaged(&format!("{page}.db"), &damage);
        let repaired = Store::repair_file(&path, day(1)).unwrap();
        whole.assert_saved(&path, &repaired, &damage, &format!("page {page} of the list"));
        assert_eq!(held(&Store::open(&path).unwrap()).len(), MEMORIES, "{page}");
    }
}

#[test]
fn what_was_removed_does_not_come_back_from_free_pages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let store = Store::open(&path).unwrap();
    let all: Vec<Memory> = (0..400).map(|number| memory("Tea", &format!("Zanzibar oolong number {number}."))).collect();
    write(&store, |w| all.iter().try_for_each(|one| w.insert(&clean(one.clone()), &clean(Vec::new()))));
    // As a purge leaves it, but for what is overwritten.
    let conn = &store.conn;
    conn.execute_batch(
        "PRAGMA secure_delete = OFF; DELETE FROM history; DELETE FROM memories WHERE seq > 40;
         PRAGMA wal_checkpoint(TRUNCATE)",
    )
    .unwrap();
    let inner: usize = conn
        .query_row("SELECT min(pageno) FROM dbstat WHERE name = 'memories' AND pagetype = 'internal'", (), |row| {
            row.get(0)
        })
        .unwrap();
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    let holds = |bytes: &[u8]| bytes.windows(21).any(|part| part == b"Zanzibar oolong numbe" as &[u8]);
    bytes[(inner - 1) * SIZE..inner * SIZE].fill(0);
    assert!(holds(&bytes));
    std::fs::write(&path, bytes).unwrap();
    Store::repair_file(&path, day(1)).unwrap();
    let numbers: HashSet<String> =
        held(&Store::open(&path).unwrap()).into_values().map(|(memory, _)| memory.claim.content).collect();
    assert!(numbers.len() <= 40, "{}", numbers.len());
    assert!(numbers.iter().all(|text| all[..40].iter().any(|one| one.claim.content == *text)));
}

#[test]
fn what_is_in_the_log_alone_is_read_as_far_as_it_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let store = Store::open(&path).unwrap();
    crate::store::samples::insert(&store, &memory("Tea", "Ana drinks tea."));
    let log = folder.path().join("m.db-wal");
    assert!(std::fs::metadata(&log).unwrap().len() > 0);
    let (copy, copied_log) = (folder.path().join("copy.db"), folder.path().join("copy.db-wal"));
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(&log, &copied_log).unwrap();
    let pages = Pages::open(&copy, &copied_log).unwrap();
    let count: u32 = store.conn.query_row("PRAGMA page_count", (), |row| row.get(0)).unwrap();
    assert_eq!(pages.count(), count);
    store.conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(store);
    let whole = Pages::open(&path, &log).unwrap();
    for number in 1..=count {
        assert_eq!(pages.page(number), whole.page(number), "page {number}");
    }
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
