//! Lists of words and phrases with which formats recognise speakers and the text of programs.

use std::collections::HashMap;
use std::sync::LazyLock;

static LISTS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| sections(include_str!("words.txt")));

/// Returns the sections of `text`: a line with the name in brackets, followed by the lines of the section.
pub(crate) fn sections(text: &'static str) -> HashMap<&'static str, Vec<&'static str>> {
    let sections = text.split("\n[").filter_map(|section| section.split_once("]\n"));
    let filled =
        |lines: &'static str| lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    sections.map(|(name, lines)| (name, filled(lines))).collect()
}

/// Returns the list called `name`.
pub(crate) fn list(name: &str) -> &'static [&'static str] {
    LISTS.get(name).expect("each list that is looked up is in the file")
}

/// Maps each word of several lists to the value of its list.
pub(crate) fn values<T: Copy>(lists: &[(&str, T)]) -> HashMap<&'static str, T> {
    lists.iter().flat_map(|(name, value)| list(name).iter().map(move |word| (*word, *value))).collect()
}
