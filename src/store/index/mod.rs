//! Indexes of memories: words and letters for search, near claims for consolidation, and vectors for search by meaning.

pub(in crate::store) mod codes;
pub(in crate::store) mod letters;
pub(in crate::store) mod near;
pub(in crate::store) mod near_words;
pub(in crate::store) mod ranking;
pub(in crate::store) mod search;
pub(in crate::store) mod vectors;
pub(in crate::store) mod words;

#[cfg(test)]
mod near_tests;
#[cfg(test)]
mod search_tests;
#[cfg(test)]
mod words_tests;

/// Takes the next item that `admits` returns `true` for from each list in turn, until no list has another.
fn in_turn<T, const N: usize>(lists: [Vec<T>; N], mut admits: impl FnMut(&T) -> bool) -> Vec<T> {
    let (mut lists, mut taken) = (lists.map(Vec::into_iter), Vec::new());
    loop {
        let before = taken.len();
        for list in &mut lists {
            taken.extend(list.find(|item| admits(item)));
        }
        if taken.len() == before {
            return taken;
        }
    }
}

fn count(of: usize) -> f64 {
    u32::try_from(of).map_or(f64::MAX, f64::from)
}
