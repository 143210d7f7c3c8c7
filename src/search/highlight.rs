//! The part of a memory that shows why it was found.

use std::ops::Range;

use serde::Serialize;

/// Longest excerpt, in characters.
const MAX_CHARS: usize = 200;
/// Characters shown before the first word that was found.
const LEAD_CHARS: usize = 40;

/// An excerpt, and where in it the words of the query stand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Highlight {
    /// At most 200 characters of the memory's content, with `…` where it is cut.
    pub text: String,
    /// Ranges of bytes in `text`, ascending and apart.
    pub marks: Vec<Range<usize>>,
}

/// Returns the part of `content` around the first of the `words`, which are in lower case, with all of them marked.
#[must_use]
pub fn highlight(content: &str, words: &[String]) -> Highlight {
    let first = content.char_indices().map(|(at, _)| at).find(|at| longest_at(&content[*at..], words).is_some());
    let text = excerpt(content, first.unwrap_or(0));
    let mut marks: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.char_indices() {
        let free = marks.last().is_none_or(|mark| mark.end <= at);
        if let Some(len) = longest_at(&text[at..], words).filter(|_| free) {
            marks.push(at..at + len);
        }
    }
    Highlight { text, marks }
}

fn excerpt(content: &str, first: usize) -> String {
    let lead = content[..first].char_indices().rev().nth(LEAD_CHARS - 1).map_or(0, |(at, _)| at);
    let whole = content.chars().nth(MAX_CHARS).is_none();
    let start = if whole { 0 } else { lead };
    let end = content[start..].char_indices().nth(MAX_CHARS - 2).map_or(content.len(), |(at, _)| start + at);
    let (before, after) = (if start > 0 { "…" } else { "" }, if !whole && end < content.len() { "…" } else { "" });
    let end = if whole { content.len() } else { end };
    format!("{before}{}{after}", &content[start..end])
}

/// Returns the length in bytes of the longest word with which `text` begins.
fn longest_at(text: &str, words: &[String]) -> Option<usize> {
    words.iter().filter_map(|word| prefix_len(text, word)).max()
}

fn prefix_len(text: &str, word: &str) -> Option<usize> {
    let mut wanted = word.chars().peekable();
    let mut len = 0;
    for character in text.chars() {
        if wanted.peek().is_none() {
            break;
        }
        if !character.to_lowercase().all(|lower| wanted.next() == Some(lower)) {
            return None;
        }
        len += character.len_utf8();
    }
    (wanted.peek().is_none() && len > 0).then_some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(content: &str, words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let Highlight { text, marks } = highlight(content, &words);
        let mut shown = text.clone();
        for mark in marks.iter().rev() {
            shown.insert(mark.end, ']');
            shown.insert(mark.start, '[');
        }
        shown
    }

    #[test]
    fn words_are_marked_where_they_stand() {
        assert_eq!(marked("Deploy on Mondays, deploy early", &["deploy"]), "[Deploy] on Mondays, [deploy] early");
        assert_eq!(marked("在东京部署", &["东京"]), "在[东京]部署");
        assert_eq!(marked("ÉCOLE", &["école"]), "[ÉCOLE]");
        assert_eq!(marked("nothing here", &["deploy"]), "nothing here");
        assert_eq!(marked("", &["deploy"]), "");
        assert_eq!(marked("a", &[""]), "a");
    }

    #[test]
    fn a_long_text_is_cut_around_the_first_word() {
        let content = format!("{}needle{}", "x".repeat(300), "y".repeat(300));
        let shown = marked(&content, &["needle"]);
        assert!(shown.starts_with(&format!("…{}[needle]y", "x".repeat(40))), "{shown}");
        assert!(shown.ends_with("y…"), "{shown}");
        assert_eq!(shown.chars().count(), MAX_CHARS + 2, "{shown}");
    }
}
