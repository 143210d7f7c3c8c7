//! Captions: what stands between two times, whose words it is, and what in it is markup.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::meeting::{Speech, merge};
use crate::speaker::{looks_like_account, looks_like_name};

/// Longest tag in a cue, in bytes; a `<` without an end within it is a character.
const LONGEST_TAG: usize = 300;
/// One in how many cues must name a speaker before a name that comes only once is taken for one.
const NAMED_CUES: usize = 20;
/// What stands in brackets for a noise rather than a name, in lower case.
const NOISES: &[&str] = &[
    "applause",
    "background noise",
    "blank_audio",
    "cheering",
    "crosstalk",
    "foreign",
    "foreign language",
    "inaudible",
    "laughing",
    "laughs",
    "laughter",
    "music",
    "no audio",
    "noise",
    "pause",
    "silence",
];

/// What stands between two times.
pub struct Cue<'a> {
    /// From the start of the recording.
    pub start: Duration,
    /// From the start of the recording.
    pub end: Duration,
    /// The lines as written, trimmed.
    pub lines: Vec<&'a str>,
}

/// Turns cues into what each speaker said; words of one speaker in neighbouring cues come as one speech.
pub fn speeches(cues: &[Cue<'_>]) -> Vec<Speech> {
    let is_rolling = cues.iter().flat_map(|cue| &cue.lines).any(|line| line.contains("<c>") && line.contains("<0"));
    let names = names(cues);
    let (mut speeches, mut previous): (Vec<Speech>, HashSet<String>) = (Vec::new(), HashSet::new());
    let mut current: Option<String> = None;
    for cue in cues {
        for (voice, text) in voices(&cue.lines.join("\n")) {
            let text = if is_rolling { unrolled(&text, &mut previous) } else { text };
            let turns = match voice {
                Some(voice) => vec![(Turn::Of(voice), text)],
                None => turns(&text, &names),
            };
            for (turn, text) in turns {
                let (is_turn, speaker) = match turn {
                    Turn::Of(name) => (true, Some(name)),
                    Turn::Another => (true, None),
                    // Where only changes of speaker are marked, a cue without a name goes on with the last one.
                    Turn::Same => (false, if names.is_empty() { None } else { current.take() }),
                };
                current.clone_from(&speaker);
                let text = squeeze(&text);
                if !text.is_empty() {
                    speeches.push(Speech { start: cue.start, end: cue.end, speaker, is_turn, text });
                }
            }
        }
    }
    merge(speeches)
}

/// Returns the lines of `text` that the cue before did not show already, and keeps these for the next.
fn unrolled(text: &str, previous: &mut HashSet<String>) -> String {
    let lines: Vec<String> = text.lines().map(squeeze).filter(|line| !line.is_empty()).collect();
    let fresh: Vec<&str> = lines.iter().map(String::as_str).filter(|line| !previous.contains(*line)).collect();
    let fresh = fresh.join("\n");
    *previous = lines.into_iter().collect();
    fresh
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Who speaks from a line on.
#[derive(Debug, PartialEq)]
enum Turn {
    Of(String),
    /// A dash or `>>` tells that it is not the one before.
    Another,
    Same,
}

/// Returns the names that stand before a colon, or in brackets before words, at the start of cues.
fn names(cues: &[Cue<'_>]) -> HashSet<String> {
    let mut seen: HashMap<&str, (usize, bool)> = HashMap::new();
    for cue in cues {
        for (place, line) in cue.lines.iter().enumerate().filter(|(_, line)| !line.starts_with("<v")) {
            if place > 0 && turn_mark(line).is_none() {
                continue;
            }
            let Some(named) = split_name(line) else { continue };
            let has_words = !named.words.trim().is_empty() || place + 1 < cue.lines.len();
            let is_account = !named.in_brackets && looks_like_account(named.name);
            if (is_account || looks_like_name(named.name)) && (!named.in_brackets || has_words && !is_noise(named.name))
            {
                let (count, in_brackets) = seen.entry(named.name).or_insert((0, named.in_brackets));
                *count += 1;
                *in_brackets &= named.in_brackets;
            }
        }
    }
    let marked: usize = seen.values().map(|(count, _)| count).sum();
    let is_usual = marked * NAMED_CUES >= cues.len();
    seen.retain(|name, (count, in_brackets)| {
        let is_name = looks_like_name(name);
        *count > 1 && (is_name || is_usual) || is_usual && is_name && !*in_brackets
    });
    seen.into_keys().map(str::to_owned).collect()
}

fn is_noise(name: &str) -> bool {
    NOISES.contains(&name.to_lowercase().as_str())
}

/// Returns what stands behind a mark of another speaker: `- `, `– ` or `>>`.
fn turn_mark(line: &str) -> Option<&str> {
    let marks = ["- ", "– ", "— ", ">>", "&gt;&gt;"];
    marks.iter().find_map(|mark| line.strip_prefix(mark)).map(|rest| rest.trim_start_matches('>').trim_start())
}

struct Named<'a> {
    name: &'a str,
    words: &'a str,
    in_brackets: bool,
}

/// Splits `Name: words`, `[Name] words`, `[Name]: words` or `(Name)`.
fn split_name(line: &str) -> Option<Named<'_>> {
    let line = turn_mark(line).unwrap_or(line);
    for (open, close) in [('(', ')'), ('[', ']')] {
        if let Some((name, words)) = line.strip_prefix(open).and_then(|rest| rest.split_once(close)) {
            return Some(Named { name: name.trim(), words: words.trim_start_matches(':'), in_brackets: true });
        }
    }
    let (name, words) = line.split_once([':', '：'])?;
    let is_spaced = words.is_empty() || words.starts_with(char::is_whitespace) || line[name.len()..].starts_with('：');
    (is_spaced && name.chars().count() <= 60).then(|| Named { name: name.trim(), words, in_brackets: false })
}

/// Splits the text of a cue at the lines that start another speaker's words.
fn turns(text: &str, names: &HashSet<String>) -> Vec<(Turn, String)> {
    let mut turns = vec![(Turn::Same, String::new())];
    for line in text.lines() {
        let words = match split_name(line).filter(|named| names.contains(named.name)) {
            Some(named) => {
                turns.push((Turn::Of(named.name.to_owned()), String::new()));
                named.words
            }
            None => match turn_mark(line) {
                Some(words) => {
                    turns.push((Turn::Another, String::new()));
                    words
                }
                None => line,
            },
        };
        turns.last_mut().into_iter().for_each(|(_, held)| held.extend([words, "\n"]));
    }
    // A name may stand alone in its cue, and the words in the next.
    turns.retain(|(turn, words)| *turn != Turn::Same || !words.is_empty());
    turns
}

/// Splits a cue at its voice tags, takes the other tags out and decodes entities.
fn voices(payload: &str) -> Vec<(Option<String>, String)> {
    let mut spans = vec![(None, String::new())];
    let mut rest = payload;
    while let Some(open) = rest.find(['<', '{']) {
        append(&mut spans, &rest[..open]);
        let inside = &rest[open + 1..];
        let near = &inside[..inside.floor_char_boundary(LONGEST_TAG)];
        let Some((tag, behind)) = tag(&rest[open..], near) else {
            append(&mut spans, &rest[open..=open]);
            rest = inside;
            continue;
        };
        if let Some(name) = tag.strip_prefix('v').filter(|name| name.starts_with([' ', '.', '\t'])) {
            let name = name.split_once(char::is_whitespace).map_or("", |(_, name)| name);
            let name = Some(decode(name.trim())).filter(|name| !name.is_empty());
            spans.push((name, String::new()));
        } else if tag == "/v" {
            spans.push((None, String::new()));
        }
        rest = behind;
    }
    append(&mut spans, rest);
    spans.retain(|(_, text)| !text.trim().is_empty());
    spans.into_iter().map(|(name, text)| (name, decode(&text))).collect()
}

/// Returns the tag that `text` starts with and what stands behind it: `<b>`, `<00:01.000>`, `</v>`, or `{\an8}`.
fn tag<'a>(text: &'a str, near: &'a str) -> Option<(&'a str, &'a str)> {
    let is_style = text.starts_with("{\\");
    let is_tag = text.starts_with('<') && near.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
    let close = near.find(if is_style { '}' } else { '>' }).filter(|_| is_style || is_tag)?;
    Some((&near[..close], &text[close + 2..]))
}

fn append(spans: &mut [(Option<String>, String)], text: &str) {
    spans.last_mut().into_iter().for_each(|(_, held)| held.push_str(text));
}

/// Decodes the character references that captions use.
fn decode(text: &str) -> String {
    const ENTITIES: &[(&str, &str)] = &[
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&nbsp;", " "),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&lrm;", ""),
        ("&rlm;", ""),
        // Last, so that an escaped reference is decoded once only.
        ("&amp;", "&"),
    ];
    ENTITIES.iter().fold(text.to_owned(), |text, (entity, character)| text.replace(entity, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(cues: &[&str]) -> Vec<(String, String)> {
        let clock = (0_u64..).map(Duration::from_secs);
        let cues: Vec<Cue<'_>> =
            clock.zip(cues).map(|(at, text)| Cue { start: at, end: at, lines: text.lines().collect() }).collect();
        speeches(&cues).into_iter().map(|speech| (speech.speaker.unwrap_or_default(), speech.text)).collect()
    }

    fn pairs(rows: &[(&str, &str)]) -> Vec<(String, String)> {
        rows.iter().map(|(speaker, text)| ((*speaker).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn every_spelling_of_a_speaker_is_understood() {
        let bracketed =
            ["[Ana] Hello.", "[Music]", "[Ana]: We ship.", "(Luís)\nFine.", "[Laughter] Yes.", "(Luís)\nOk."];
        assert_eq!(
            said(&bracketed),
            pairs(&[("Ana", "Hello. [Music] We ship."), ("Luís", "Fine. [Laughter] Yes. Ok.")])
        );
        assert_eq!(
            said(&["- Ana: Hi.\n- Luís: Hello.", "&gt;&gt; ANA: And you?", ">> I do not know."]),
            pairs(&[("Ana", "Hi."), ("Luís", "Hello."), ("ANA", "And you?"), ("", "I do not know.")])
        );
    }

    #[test]
    fn names_are_written_in_any_script_with_small_letters_and_with_pictures() {
        let cues = [
            "Ana: We ship.",
            "luis: I cannot.",
            "Mia 🌸: I test.",
            "علی\u{200c}رضا: من هستم.",
            "דנה לוי: כן",
            "luis: Ok.",
            "so: no.",
        ];
        let said = said(&cues);
        let expected = pairs(&[
            ("Ana", "We ship."),
            ("luis", "I cannot."),
            ("Mia 🌸", "I test."),
            ("علی\u{200c}رضا", "من هستم."),
            ("דנה לוי", "כן"),
            ("luis", "Ok. so: no."),
        ]);
        assert_eq!(said, expected);
    }

    #[test]
    fn dashes_part_speakers_whose_names_are_not_known() {
        assert_eq!(said(&["- Tea?\n- No.", "Thanks."]), pairs(&[("", "Tea?"), ("", "No. Thanks.")]));
    }

    #[test]
    fn one_word_before_a_colon_names_nobody_in_a_long_film() {
        let mut film = vec!["we go on"; 40];
        film[7] = "Look: a bird.";
        assert_eq!(said(&film).len(), 1);
        film.truncate(12);
        assert_eq!(said(&film)[1].0, "Look");
    }

    #[test]
    fn styles_are_no_words_and_lonely_brackets_are() {
        assert_eq!(said(&["{\\an8}<i>Up</i> {here} <3"]), pairs(&[("", "Up {here} <3")]));
    }
}
