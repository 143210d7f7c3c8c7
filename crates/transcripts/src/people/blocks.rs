//! Transcripts in which a line with name and time stands above each paragraph: `Ana Silva   0:12`.

use std::time::Duration;

use super::meeting::{Speech, clock};
use crate::speaker::{is_mark, is_picture};

/// Longest name, in characters.
const LONGEST_NAME: usize = 60;
/// Most words of a name.
const MOST_WORDS: usize = 6;

/// The line above a paragraph.
#[derive(Debug, Clone, PartialEq)]
pub struct Caption<'a> {
    /// 0-based line.
    pub line: usize,
    /// The name as written.
    pub name: &'a str,
    /// From the start of the meeting.
    pub at: Duration,
}

/// Returns the lines of `lines` that are a name, two spaces or a tab, and a time.
pub fn captions<'a>(lines: &[&'a str]) -> Vec<Caption<'a>> {
    lines.iter().enumerate().filter_map(|(line, text)| caption(line, text)).collect()
}

fn caption(line: usize, text: &str) -> Option<Caption<'_>> {
    let text = text.trim_end();
    let (head, time) = text.rsplit_once(char::is_whitespace)?;
    let name = head.trim_end();
    // What `rsplit_once` took was one white space more.
    let gap = &text[name.len()..text.len() - time.len()];
    let is_apart = gap.contains('\t') || gap.chars().count() >= 2;
    let is_guest = name.starts_with('(') && name.contains(") ");
    let is_name = (is_guest || name.starts_with(|c: char| c.is_alphanumeric() || is_picture(c) || is_mark(c)))
        && name.chars().any(char::is_alphabetic)
        && name.chars().count() <= LONGEST_NAME
        && name.split_whitespace().count() <= MOST_WORDS
        && !name.ends_with(['.', '?', '!', ':', ',', ';']);
    let at = clock(time).filter(|_| is_apart && is_name && !time.contains([',', '.']))?;
    Some(Caption { line, name, at })
}

/// Whether `captions` stand in time's order, each above words of its own, as in a transcript and not in a list.
pub fn are_turns(captions: &[Caption<'_>], lines: &[&str]) -> bool {
    let has_words = |caption: &Caption<'_>| {
        let next = lines[caption.line + 1..].iter().find(|line| !line.trim().is_empty());
        next.is_some_and(|line| self::caption(0, line).is_none())
    };
    let without_words = captions.iter().filter(|caption| !has_words(caption)).count();
    captions.windows(2).all(|pair| pair[0].at <= pair[1].at) && without_words * 10 <= captions.len()
}

/// Returns the paragraphs under `captions`, the last ending before line `end`.
pub fn speeches(captions: &[Caption<'_>], lines: &[&str], end: usize) -> Vec<Speech> {
    let until = |place: usize| captions.get(place + 1).map_or(end, |next| next.line);
    let texts = captions.iter().enumerate().map(|(place, caption)| {
        let from = (caption.line + 1).min(until(place));
        (caption, lines[from..until(place)].join("\n").trim().to_owned())
    });
    texts
        .filter(|(_, text)| !text.is_empty())
        .map(|(caption, text)| Speech {
            start: caption.at,
            end: caption.at,
            speaker: Some(caption.name.to_owned()),
            is_turn: true,
            text,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_time_well_apart_are_a_caption() {
        let rows = [
            ("Ana Silva  0:12", Some(("Ana Silva", 12))),
            ("Silva, Luís (Guest)\t1:02:05 ", Some(("Silva, Luís (Guest)", 3_725))),
            ("Speaker 2   00:00", Some(("Speaker 2", 0))),
            ("🌟 Mia   0:12", Some(("🌟 Mia", 12))),
            ("\u{200f}שירה כהן   0:20", Some(("\u{200f}שירה כהן", 20))),
            ("(Guest) Rui   0:25", Some(("(Guest) Rui", 25))),
            ("श्रीनिवास रामानुजन अयंगर सुब्रमण्यम   0:40", Some(("श्रीनिवास रामानुजन अयंगर सुब्रमण्यम", 40))),
            ("• Milk  0:12", None),
            ("🌟  0:12", None),
            ("Ana Silva 0:12", None),
            ("It began, as I said,  0:12", None),
            ("we met there at about the time of  0:12", None),
            ("Ana  12", None),
            ("  0:12", None),
        ];
        for (text, expected) in rows {
            let told = caption(0, text).map(|caption| (caption.name, caption.at.as_secs()));
            assert_eq!(told, expected, "{text}");
        }
    }

    #[test]
    fn a_list_of_songs_is_no_transcript() {
        let songs = ["First song  2:05", "Second song  3:18", "Third song  3:20"];
        assert!(!are_turns(&captions(&songs), &songs));
        let talk = ["Ana  0:05", "Hello.", "Luís  0:09", "Hi."];
        assert!(are_turns(&captions(&talk), &talk));
    }
}
