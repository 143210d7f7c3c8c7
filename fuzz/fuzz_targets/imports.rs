//! Imports our own exports into a store: exported memories are the same after an import, and a second import changes
//! nothing.
#![no_main]

use afterthought::consolidate::{SavedPlan, apply_saved};
use afterthought::exchange::{Counts, Gathered, exported, import_as_is, parse_line};
use afterthought::memory::Namespace;
use afterthought::store::{Filter, Order, Store};
use afterthought_fuzz::{assert_whole, folder, now, small_store};
use libfuzzer_sys::fuzz_target;

/// Imports JSON lines.
fn import(store: &Store, text: &str) -> Counts {
    let read = text.lines().filter_map(|line| parse_line(line, &Namespace::global(), now()).ok());
    let gathered = Gathered { memories: read.collect(), ..Gathered::default() };
    import_as_is(store, gathered, &Namespace::global(), None, now()).expect("it can be written")
}

fn export(store: &Store) -> Vec<String> {
    let memories = store.list(&Filter { statuses: Vec::new(), ..Filter::default() }, Order::Id, usize::MAX, 0).expect("it can be read");
    let one = |memory| serde_json::to_string(&exported(store, memory).expect("it can be read")).expect("JSON");
    let mut lines: Vec<String> = memories.into_iter().map(one).collect();
    lines.sort();
    lines
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let folder = folder();
    let path = small_store(folder.path());
    let store = Store::open(&path).unwrap();
    if let Ok(plan) = SavedPlan::parse(&text) {
        let run = store.begin_run("apply", &serde_json::Value::Null, now()).unwrap().id;
        std::hint::black_box(apply_saved(&store, &plan, &run, now()).is_ok());
    }
    let counts = import(&store, &text);
    let first = export(&store);
    if counts.added + counts.changed > 0 {
        let again = import(&store, &first.join("\n"));
        assert_eq!((again.added, again.changed), (0, 0), "what is there is known");
        assert_eq!(export(&store), first);
    }
    drop(store);
    assert_whole(&path);
});
