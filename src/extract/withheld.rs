//! Messages whose author asks that they are not kept: "don't keep that", "forget what I just said", "off the record".
//!
//! Only explicit wishes count, because a wish that was recognised wrongly loses memories. A wish is a whole sentence, or
//! the clause that ends one. It concerns its own message or, if the message contains nothing else, also the previous
//! message of the same person. In sessions of coding agents, "don't save that" is about a file, so these sessions need
//! words such as "in your memory".

use std::cell::LazyCell;
use std::collections::BTreeSet;

use transcripts::{Kind, Message};

use super::Span;
use super::offline::sentence::own_sentences;
use crate::text::pattern_set::HintedPattern;
use crate::text::tokens::is_listed;

/// Number of people's messages before a wish that are searched for the speaker's previous message.
const MAX_BETWEEN: usize = 10;
/// Number of messages after a window in which wishes about the window are looked for.
const MAX_AHEAD: usize = 2 * MAX_BETWEEN;
/// Length, in bytes, of the longest message that is searched for a wish.
const MAX_BYTES: usize = 2_000;
/// Words that may stand beside a wish in a message that contains nothing else.
const FILLERS: &str =
    "ok okay oh hey sorry please thanks thank you actually bitte danke por favor gracias merci 谢谢 请";

const HINTS: &[&str] = &[
    "off the record",
    "remember",
    "memori",
    "keep",
    "save",
    "store",
    "record",
    "note",
    "write",
    "forget",
    "disregard",
    "merk",
    "speicher",
    "notier",
    "behalt",
    "vergiss",
    "guardes",
    "recuerdes",
    "anotes",
    "memorices",
    "olvida",
    "retiens",
    "garde",
    "mémorise",
    "enregistre",
    "oublie",
    "记",
    "存",
    "忘",
];

/// A sentence, in lower case, that contains a wish about the text beside it.
static WISH: HintedPattern = HintedPattern::new(
    HINTS,
    concat!(
        r"(?x)(?:^(?:(?:please|ok|okay|oh|sorry|actually|also|and|but),?\s)*(?:do\snot|don't|dont|let's\snot)\s(?:keep|save|store|record|note|retain|write)",
        r"|[,;:–—]\s?(?:(?:but|and|so)\s)?(?:please\s(?:do\snot|don't)\s(?:keep|save|store|record|note|retain|write)|(?:do\snot|don't)\skeep))",
        r"\s(?:this|that|any\sof\s(?:this|that)|what\si\s(?:just\s)?said)(?:\s(?:message|down|anywhere))?(?:,?\s(?:please|thanks|thank\syou))?\W*$",
        r"|^(?:bitte\s)?(?:speichere?|notiere?|behalte?)\s(?:dir\s)?(?:das|dies)\s(?:bitte\s)?nicht(?:,?\s(?:bitte|danke))?\W*$",
        r"|(?:^|,\s)(?:bitte\s(?:das|dies)|(?:das|dies)\sbitte)\snicht\s(?:merken|speichern|notieren|behalten|aufschreiben)\W*$",
        r"|^(?:por\sfavor,?\s)?no\s(?:guardes|anotes)\s(?:esto|eso)(?:,?\s(?:por\sfavor|gracias))?\W*$",
        r"|^n(?:e\s|')(?:garde|note|enregistre)\spas\s(?:ça|cela|ceci)(?:,?\s(?:s'il\ste\splaît|s'il\svous\splaît|merci))?\W*$",
        r"|(?:^(?:请|麻烦)?|[，,]\s?(?:请|麻烦))(?:不要|别|请勿)(?:记录|保存|存下?来?)(?:这个|这条|这句话?|这件事|这些|这)(?:[，,]?谢谢)?\W*$",
    ),
);

/// A sentence, in lower case, that contains a wish which can only be about memory.
static EXPLICIT_WISH: HintedPattern = HintedPattern::new(
    HINTS,
    concat!(
        r"(?x)(?:^|[,;:–—]\s?|\b(?:but|and|so|please)\s)(?:do\snot|don't|dont|never)\s(?:ever\s)?(?:keep|save|store|record|note|put|retain|write|remember)\s(?:this|that|it|any\sof\s(?:this|that))(?:\sdown)?",
        r"\s(?:(?:in|to|into)\syour\s(?:memory|memories|notes)|as\sa\smemory)(?:,?\s(?:please|thanks|thank\syou))?\W*$",
        r"|\bplease\s(?:do\snot|don't)\s(?:remember|memori[sz]e)\s(?:this|that|any\sof\s(?:this|that)|what\si\s(?:just\s)?said)(?:,?\s(?:thanks|thank\syou))?\W*$",
        r"|^(?:do\snot|don't)\s(?:remember|memori[sz]e)\s(?:this|that),?\splease\W*$",
        r"|(?:^|\b(?:this|that|it)(?:'s|\sis|\sstays)\s)(?:strictly\s|all\s|just\s)?off\sthe\srecord(?:\W*$|\s?[,:–—-])",
        r"|^(?:bitte\s)?merke?\sdir\s(?:das|dies)\s(?:bitte\s)?nicht(?:,?\s(?:bitte|danke))?\W*$",
        r"|^(?:por\sfavor,?\s)?no\s(?:recuerdes|memorices)\s(?:esto|eso)(?:,?\s(?:por\sfavor|gracias))?\W*$",
        r"|^n(?:e\s|')(?:retiens|mémorise)\spas\s(?:ça|cela|ceci)(?:,?\s(?:s'il\ste\splaît|s'il\svous\splaît|merci))?\W*$",
        r"|(?:^(?:请|麻烦)?|[，,]\s?(?:请|麻烦))(?:不要|别|请勿)(?:记住|记下来?|记)(?:这个|这条|这句话?|这件事|这些|这|我刚才?说的(?:话)?)(?:[，,]?谢谢)?\W*$",
    ),
);

/// A sentence, in lower case, that takes back what its author said before. It counts only if the message contains nothing
/// else: beside other statements, "forget what I said" introduces a correction, which must be kept.
static TAKEN_BACK: HintedPattern = HintedPattern::new(
    HINTS,
    concat!(
        r"(?x)^(?:(?:please|ok|okay|oh|sorry|actually),?\s)*(?:forget|disregard)\s(?:what\si(?:'ve|\shave)?\s(?:just\s)?(?:said|mentioned|wrote)|(?:that\s)?i\s(?:ever\s)?(?:said|mentioned)\s(?:that|this|it|anything))",
        r"(?:\s(?:just\snow|earlier|before))?(?:,?\s(?:please|thanks|thank\syou))?\W*$",
        r"|^(?:bitte\s)?vergiss,?\s(?:bitte\s)?was\sich\s(?:gerade\s|eben\s|vorhin\s)?(?:gesagt|geschrieben|erzählt)\shabe(?:,?\s(?:bitte|danke))?\W*$",
        r"|^(?:por\sfavor,?\s)?olvida\slo\sque\s(?:acabo\sde\sdecir|dije|he\sdicho|te\sdije|te\she\sdicho)(?:,?\s(?:por\sfavor|gracias))?\W*$",
        r"|^oublie\sce\sque\sje\sviens\sde\sdire(?:,?\s(?:s'il\ste\splaît|merci))?\W*$",
        r"|^(?:请)?忘(?:掉|了)我刚才?说的(?:话)?\W*$",
    ),
);

/// Messages that must not be kept, by their index in the transcript.
#[derive(Debug, Default)]
pub(super) struct WithheldMessages(BTreeSet<usize>);

impl WithheldMessages {
    /// Returns the messages that their authors ask not to keep, as far as wishes in `span` and shortly after it show.
    pub(super) fn of(messages: &[Message], span: Span) -> Self {
        // Few messages contain the words of a wish, so most windows need not search the whole transcript.
        let has_tools = LazyCell::new(|| messages.iter().any(|message| message.kind == Kind::ToolCall));
        let mut withheld = BTreeSet::new();
        let end = messages.len().min(span.end.saturating_add(MAX_AHEAD));
        let searched = messages[..end].iter().enumerate().skip(span.start);
        for (at, message) in searched.filter(|(_, message)| message.is_human() && message.text.len() <= MAX_BYTES) {
            let Some(is_alone) = wish(&message.text, || *has_tools) else { continue };
            withheld.insert(at);
            if is_alone {
                let before = messages[..at].iter().enumerate().rev().filter(|(_, before)| before.is_human());
                let mut before = before.take(MAX_BETWEEN);
                withheld.extend(before.find(|(_, before)| before.speaker == message.speaker).map(|(at, _)| at));
            }
        }
        Self(withheld)
    }

    /// Whether the message at an index must not be kept.
    pub(super) fn contains(&self, at: usize) -> bool {
        self.0.contains(&at)
    }

    /// Returns the indexes of the messages.
    pub(super) fn indexes(&self) -> impl Iterator<Item = usize> {
        self.0.iter().copied()
    }
}

/// Returns whether a message with a wish contains nothing else; `None` if it contains no wish.
fn wish(text: &str, has_tools: impl FnOnce() -> bool) -> Option<bool> {
    let lower = text.to_lowercase().replace('’', "'");
    WISH.for_text(&lower)?;
    // Code and quotations are not the author's own words.
    let sentences: Vec<&str> = own_sentences(&lower).into_iter().map(str::trim).collect();
    let found = |patterns: &[&HintedPattern]| {
        sentences.iter().filter(|one| !one.ends_with(['?', '？'])).find_map(|sentence| {
            patterns.iter().find_map(|pattern| pattern.regex().find(sentence)).map(|found| found.as_str())
        })
    };
    let is_alone = |found: &str| {
        let rest = lower.replacen(found, " ", 1);
        rest.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).all(|word| is_listed(FILLERS, word))
    };
    let both = [&EXPLICIT_WISH, &WISH];
    if let Some(found) = found(if has_tools() { &both[..1] } else { &both }) {
        return Some(is_alone(found));
    }
    found(&[&TAKEN_BACK]).filter(|found| is_alone(found)).map(|_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn withheld(texts: &[&str]) -> Vec<usize> {
        let message = |text: &&str| match text.split_at(3) {
            ("A: ", rest) => Message::assistant(rest),
            ("T: ", rest) => Message { kind: Kind::ToolCall, ..Message::assistant(rest) },
            _ => Message::user(*text),
        };
        let messages: Vec<Message> = texts.iter().map(message).collect();
        WithheldMessages::of(&messages, Span { context_start: 0, start: 0, end: messages.len() }).indexes().collect()
    }

    #[test]
    fn a_wish_alone_concerns_the_message_before_it() {
        for wish in [
            "Don't keep that.",
            "Please don't remember this.",
            "Please don't save that, thanks.",
            "Forget what I just said.",
            "Sorry, forget I said that, please.",
            "That's off the record.",
            "Don't save that to your memory.",
            "Merk dir das bitte nicht.",
            "Merk dir das nicht, bitte.",
            "Vergiss, was ich gerade gesagt habe.",
            "No guardes eso, por favor.",
            "Olvida lo que acabo de decir.",
            "Ne retiens pas ça, s'il te plaît.",
            "请不要记住这个，谢谢。",
            "忘掉我刚才说的话。",
        ] {
            let texts = ["I use tabs.", "My salary is 90,000.", "A: Noted.", wish, "I live in Porto."];
            assert_eq!(withheld(&texts), [1, 3], "{wish}");
        }
    }

    #[test]
    fn a_wish_beside_other_words_concerns_its_own_message() {
        for text in [
            "Off the record: we will close the office in Turin.",
            "Off the record - we will close the office in Turin.",
            "We will close the office in Turin, but please don't keep that.",
            "I earn 90,000, don't keep that.",
            "I was fired from my last job in May. Don't write that down.",
            "Ich verdiene 90.000 Euro im Jahr, bitte das nicht speichern.",
            "我的工资是九万，请不要记住这个。",
        ] {
            assert_eq!(withheld(&["I use tabs.", text]), [1], "{text}");
        }
    }

    #[test]
    fn corrections_and_words_about_other_things_are_no_wish() {
        for text in [
            "Forget what I said earlier. We always deploy on Mondays.",
            "I live in Lisbon now, forget what I said.",
            "Ahora vivo en Sevilla, olvida lo que dije.",
            "Correction: forget I said Porto.",
            "Sorry, don't remember that.",
            "I set up the VPN there once, but don't remember it.",
            "My boss always says: don't write that down.",
            "The file is huge, so never keep that in memory.",
            "Tokens come from the vault, so never write it down.",
            "Wenn der Nutzer abbricht, speichere das nicht.",
            "不要忘了我刚才说的话。",
            "你忘了我刚才说的话。",
            "请分别记录这些。",
            "Don't keep that branch around.",
            "Don't store passwords in the repository.",
            "Don't forget what I said about tabs.",
            "I don't remember that meeting at all.",
            "Is this off the record?",
            "He spoke off the record to the press about it.",
            "Forget the tests, ship it.",
            "> Don't keep that.",
            "```\nDon't keep that.\n```",
            "不要保存这个文件。",
        ] {
            assert_eq!(withheld(&["I use tabs.", text]), [0_usize; 0], "{text}");
        }
    }

    #[test]
    fn with_tools_a_wish_must_be_about_memory() {
        let said = |wish| withheld(&["I use tabs.", "T: Write notes.md", wish]);
        assert_eq!(said("Please don't save that."), [0_usize; 0]);
        assert_eq!(said("Please don't save that to your memory."), [0, 2]);
    }
}
