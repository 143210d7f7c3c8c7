//! Lists of words and phrases with which formats recognise speakers and the text of programs.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The lists in `words.txt`: a line with the name in brackets, followed by one word or phrase per line.
static LISTS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let sections = include_str!("words.txt").split("\n[").filter_map(|section| section.split_once("]\n"));
    let words = |list: &'static str| list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    sections.map(|(name, list)| (name, words(list))).collect()
});

/// Returns the list called `name`.
pub(crate) fn list(name: &str) -> &'static [&'static str] {
    LISTS.get(name).expect("each list that is looked up is in the file")
}

/// Maps each word of several lists to the value of its list.
pub(crate) fn values<T: Copy>(lists: &[(&str, T)]) -> HashMap<&'static str, T> {
    lists.iter().flat_map(|(name, value)| list(name).iter().map(move |word| (*word, *value))).collect()
}
