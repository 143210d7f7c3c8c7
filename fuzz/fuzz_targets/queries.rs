//! What people and agents search for: any text is a query, and none is an error.
#![no_main]

use afterthought::guard::Guard;
use afterthought::memory::{Claim, ExtractionMethod, Memory, MemoryType, Namespace};
use afterthought::recall::Search;
use afterthought::store::{Filter, Store};
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static STORE: Store = {
        let store = Store::in_memory().unwrap();
        for content in ["The user drinks tea.", "C++ builds with bun-sqlite in a:b.", "用户关注数据库。", "Sie mag Äpfel \u{1f600}."] {
            let claim = Claim::new(MemoryType::Semantic, "fact", "Note", content);
            let memory = Memory::new(claim, Namespace::global(), "x", ExtractionMethod::Manual, Timestamp::UNIX_EPOCH);
            let clean = Guard::default().redact(memory).0;
            let none = Guard::default().redact(Vec::new()).0;
            store.write(None, Timestamp::UNIX_EPOCH, |w| w.insert(&clean, &none)).unwrap();
        }
        store
    };
}

fuzz_target!(|bytes: &[u8]| {
    let query = String::from_utf8_lossy(bytes);
    let filter = Filter::default();
    STORE.with(|store| Search::new(&query, &filter, Timestamp::UNIX_EPOCH).run(store).unwrap());
});
