//! Keeps what was found in recent texts.

use std::cell::RefCell;
use std::collections::HashMap;

/// Maximum number of results.
const MAX_RESULTS: usize = 600;

/// Maximum size of a text whose result is kept. Claims are rarely longer.
const MAX_BYTES: usize = 2_000;

/// Results of a function whose only input is a text. A plan compares each claim with many others, so the function would
/// otherwise examine the same texts again and again.
pub(crate) struct RecentResults<T>(RefCell<HashMap<String, T>>);

impl<T> Default for RecentResults<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<T: Clone> RecentResults<T> {
    /// Returns the result for `text`, which `examine` finds if it is not known.
    pub(crate) fn get(&self, text: &str, examine: impl FnOnce() -> T) -> T {
        if let Some(known) = self.0.borrow().get(text) {
            return known.clone();
        }
        let result = examine();
        if text.len() > MAX_BYTES {
            return result;
        }
        let mut results = self.0.borrow_mut();
        if results.len() >= MAX_RESULTS {
            results.clear();
        }
        results.insert(text.to_owned(), result.clone());
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_examined_once_while_there_is_room() {
        let (recent, mut examined) = (RecentResults::default(), 0);
        let mut length = |text: &str| {
            recent.get(text, || {
                examined += 1;
                text.len()
            })
        };
        assert_eq!((length("a"), length("bc"), length("a")), (1, 2, 1));
        (0..MAX_RESULTS).for_each(|n| assert_eq!(length(&format!("{n:09}")), 9));
        assert_eq!(length("a"), 1);
        assert_eq!((examined, recent.0.borrow().len() <= MAX_RESULTS), (3 + MAX_RESULTS, true));
    }
}
