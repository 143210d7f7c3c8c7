//! Index of letters, which rules out memories for a literal search without reading their texts.
//!
//! For each memory, a row of bits records which runs of three bytes its texts contain. Each run sets one bit, and
//! several runs share a bit, so a memory that has all bits of the searched text may contain the text, but need not. The
//! bits do not reveal the text of a memory.

use rusqlite::{Connection, params};

use crate::store::StoreError;

/// Number of bytes for each memory.
// With 512 bits, one in three bits is set for a memory of typical length, so a word of seven letters excludes all but a
// few of a thousand memories.
const BYTES: usize = 64;
/// Length of a run, in bytes: one Chinese character, or three letters.
const RUN: usize = 3;
/// Minimum share of the memories that must be ruled out, as a divisor. Otherwise, reading all texts is faster.
const FEW: usize = 4;

/// The bits of a text.
pub(in crate::store) type Letters = [u8; BYTES];

/// Adds the bits of `text`.
fn add(text: &str, letters: &mut Letters) {
    for run in text.as_bytes().windows(RUN) {
        // The positions of the bits are part of existing files, so they must never change.
        let number = run.iter().fold(0_u32, |number, byte| (number << 8) | u32::from(normal(*byte)));
        let place = (number.wrapping_mul(0x9e37_79b1) >> 23) as usize;
        letters[place / 8] |= 1 << (place % 8);
    }
}

/// Returns the byte in the form that a literal search compares; see `holds`.
const fn normal(byte: u8) -> u8 {
    if byte.is_ascii_whitespace() { b' ' } else { byte.to_ascii_lowercase() }
}

/// Returns the bits of texts.
pub(in crate::store) fn letters_of(texts: &[&str]) -> Letters {
    let mut letters = [0; BYTES];
    texts.iter().for_each(|text| add(text, &mut letters));
    letters
}

/// Records the letters of a memory.
pub(in crate::store) fn put(conn: &Connection, seq: i64, letters: &Letters) -> Result<(), StoreError> {
    conn.prepare_cached("INSERT OR REPLACE INTO search_letters (seq, letters) VALUES (?1, ?2)")?
        .execute(params![seq, letters])?;
    Ok(())
}

/// Returns the rows of the memories that may contain `text` literally, in order; `None` if these are too many to be
/// worth a lookup, or if the text is too short.
pub(in crate::store) fn candidates(conn: &Connection, text: &str) -> Result<Option<Vec<i64>>, StoreError> {
    let mut wanted = [0; BYTES];
    add(text, &mut wanted);
    // Most bytes of the wanted bits are 0.
    let wanted: Vec<(usize, u8)> = wanted.into_iter().enumerate().filter(|(_, bits)| *bits > 0).collect();
    if wanted.is_empty() {
        return Ok(None);
    }
    let mut statement = conn.prepare_cached("SELECT seq, letters FROM search_letters ORDER BY seq")?;
    let (mut rows, mut all, mut found) = (statement.query(())?, 0, Vec::new());
    while let Some(row) = rows.next()? {
        all += 1;
        let letters = row.get_ref(1)?.as_blob().unwrap_or_default();
        // A damaged row rules nothing out.
        if wanted.iter().all(|(at, bits)| letters.get(*at).is_none_or(|own| own & bits == *bits)) {
            found.push(row.get(0)?);
        }
    }
    Ok((found.len() <= all / FEW).then_some(found))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::changeset::Action;
    use crate::store::testing::{clean, insert, memory, write};
    use crate::store::{Filter, Store};

    fn found(store: &Store, query: &str) -> Vec<String> {
        let hits = store.search_candidates(query, &Filter::default(), 50).unwrap();
        hits.into_iter().map(|hit| hit.memory.claim.content).collect()
    }

    /// Returns a store in which few memories contain any given text.
    fn store() -> Store {
        let store = Store::in_memory().unwrap();
        for number in 0..40 {
            insert(&store, &memory("", &format!("Row {number}.")));
        }
        store
    }

    #[test]
    fn parts_of_words_signs_and_emoji_are_found_literally() {
        let store = store();
        let texts =
            ["The zeppelin lands at noon.", "He says ¿qué? twice.", "用户关注A股科技板块。", "It ends with 🎈🎈."];
        texts.iter().for_each(|text| insert(&store, &memory("", text)));
        for (query, text) in [("eppel", 0), ("EPPELIN LAN", 0), ("¿qué?", 1), ("注A股科", 2), ("🎈🎈", 3), ("pp", 0)]
        {
            assert_eq!(found(&store, query), [texts[text]], "{query}");
        }
        assert_eq!(found(&store, "eppelx"), [""; 0]);
        let looked_up = store.read(|conn| {
            assert_eq!(candidates(conn, "eppel").unwrap(), Some(vec![41]), "the others are ruled out");
            assert_eq!(candidates(conn, "Row ").unwrap(), None, "most memories may contain it");
            assert_eq!(candidates(conn, "pp").unwrap(), None, "it is too short");
            Ok(())
        });
        assert!(looked_up.is_ok());
    }

    #[test]
    fn the_letters_of_a_changed_memory_are_those_of_its_new_text() {
        let store = store();
        let mut changed = memory("", "The zeppelin lands at noon.");
        insert(&store, &changed);
        changed.claim.content = "The airship lands at noon.".into();
        write(&store, |w| w.update(&clean(changed.clone()), Action::Update, None));
        assert_eq!((found(&store, "irshi").len(), found(&store, "eppel").len()), (1, 0));
        assert_eq!(store.check().unwrap().flaws, []);
    }

    proptest! {
        #[test]
        fn no_part_of_a_text_is_ruled_out(text in "[ -~茶é🎈\t\n]{0,60}", from in 0_usize..60, len in 0_usize..20) {
            let part: String = text.chars().skip(from).take(len).collect();
            let (mut whole, mut wanted) = ([0; BYTES], [0; BYTES]);
            add(&text, &mut whole);
            add(&part.to_ascii_uppercase(), &mut wanted);
            prop_assert!(whole.iter().zip(&wanted).all(|(own, bits)| own & bits == *bits));
        }
    }
}
