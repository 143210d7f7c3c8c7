//! Messages whose author asks that they are not kept: "don't keep that", "forget what I just said", "off the record".
//!
//! Only explicit wishes count. A wish concerns its own message or, if the message contains nothing else, the previous
//! message of the same person.

use std::collections::BTreeSet;

use transcripts::Message;

use super::offline::own_sentences;
use crate::text::pattern_set::HintedPattern;
use crate::text::script::is_han;

/// Number of people's messages before a wish that are searched for the speaker's previous message.
const MAX_BETWEEN: usize = 3;
/// Maximum numbers of words and of Chinese characters beside a wish in a message that contains nothing else.
const MAX_OTHER: [usize; 2] = [3, 6];

/// Words of which every wish contains at least one, in lower case.
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
    "记",
    "存",
    "忘",
    "ne retiens pas",
    "ne garde pas",
    "ne note pas",
    "ne mémorise pas",
    "n'enregistre pas",
    "oublie",
];

/// A sentence, in lower case, with a wish at its end or, for "off the record", also at its beginning.
static WISH: HintedPattern = HintedPattern::new(
    HINTS,
    concat!(
        r"(?x)(?:^|[,;:(–—]\s?|\b(?:but|and|so|please|just|ok|okay|also)\s)(?:please\s)?(?:",
        // English.
        r"(?:do\snot|don't|dont|never|let's\snot)\s(?:ever\s)?(?:",
        r"(?:remember|memori[sz]e)\s(?:this|that|it|any\sof\s(?:this|that|it)|what\si\s(?:just\s)?(?:said|\w+\syou|wrote))",
        r"|(?:keep|save|store|record|note|retain)\s(?:this|that|any\sof\s(?:this|that)|what\si\s(?:just\s)?(?:said|\w+\syou|wrote)|(?:this|that|my\slast)\smessage)(?:\sdown)?",
        r"|(?:keep|save|store|record|note|put)\sit\s(?:in|to|on)\s(?:your\s|the\s)?(?:memory|memories|record|records|notes)",
        r"|write\s(?:this|that|it)\sdown",
        r")(?:\s(?:in|to|on)\s(?:your\s|the\s)?(?:memory|memories|record|records|notes)|\sas\sa\smemory|\sanywhere|\sfor\slater)?(?:,?\splease)?\W*$",
        r"|(?:forget|disregard)\s(?:(?:what|everything|anything|all)\si(?:'ve|\shave)?\s(?:just\s)?(?:said|\w+\syou|wrote|mentioned)|(?:that\s)?i\s(?:ever\s)?(?:said|mentioned|\w+\syou)(?:\s(?:that|this|it|anything))?)(?:\s(?:just\snow|earlier|before))?(?:,?\splease)?\W*$",
        r"|(?:(?:this|that|it)(?:'s|\sis|\sstays)\s)?(?:strictly\s|all\s|just\s)?off\sthe\srecord(?:\W*$|\s?[,:–—])",
        // German.
        r"|(?:bitte\s)?(?:merke?|speichere?|notiere?|behalte?)\s(?:dir\s)?(?:das|dies)\s(?:bitte\s)?nicht\W*$",
        r"|(?:bitte\s)?(?:das|dies)\s(?:bitte\s)?nicht\s(?:merken|speichern|notieren|behalten|festhalten|aufschreiben)\W*$",
        r"|(?:bitte\s)?vergiss,?\s(?:bitte\s)?(?:alles,?\s)?was\sich\s(?:gerade\s|eben\s|vorhin\s)?(?:gesagt|geschrieben|erzählt)\shabe\W*$",
        // Spanish.
        r"|(?:por\sfavor,?\s)?no\s(?:guardes|recuerdes|anotes|memorices)\s(?:esto|eso|lo\sque\s(?:acabo\sde\sdecir|dije|he\sdicho))(?:\sen\s(?:tu|la)\smemoria)?\W*$",
        r"|(?:por\sfavor,?\s)?olvida\slo\sque\s(?:acabo\sde\sdecir|dije|he\sdicho|te\sdije|te\she\sdicho)\W*$",
        // French.
        r"|n(?:e\s|')(?:retiens|garde|note|mémorise|enregistre)\spas\s(?:ça|cela|ceci|ce\sque\sje\sviens\sde\sdire)\W*$",
        r"|oublie\sce\sque\sje\sviens\sde\sdire\W*$",
        r")",
        // Chinese.
        r"|(?:不要|别|请勿)(?:记住|记下来?|记录|保存|存下?来?|记)(?:这个|这条|这句话?|这件事|这些|这|(?:我?刚才?说?的)(?:话)?)\W*$",
        r"|(?:这个|这条|这句话?|这件事|这些|我?刚才?说的(?:话)?)(?:请)?(?:不要|别)(?:记住|记下来?|记录|保存|存下?来?|记)\W*$",
        r"|忘(?:掉|了|记)我刚才?说的(?:话)?\W*$",
    ),
);

/// Messages that must not be kept, by their index in the transcript.
#[derive(Debug, Default)]
pub(super) struct WithheldMessages(BTreeSet<usize>);

impl WithheldMessages {
    /// Returns the messages that their authors ask not to keep.
    pub(super) fn of(messages: &[Message]) -> Self {
        let mut withheld = BTreeSet::new();
        for (at, message) in messages.iter().enumerate().filter(|(_, message)| message.is_human()) {
            let Some(is_alone) = wish(&message.text) else { continue };
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
fn wish(text: &str) -> Option<bool> {
    let lower = text.to_lowercase().replace('’', "'");
    WISH.for_text(&lower)?;
    // Code and quotations are not the author's own words.
    let sentences: Vec<&str> = own_sentences(&lower);
    let is_wish =
        |sentence: &&str| !sentence.trim_end().ends_with(['?', '？']) && WISH.regex().is_match(sentence.trim());
    let found = sentences
        .iter()
        .find_map(|sentence| is_wish(sentence).then(|| WISH.regex().find(sentence.trim())).flatten())?;
    let rest = lower.replacen(found.as_str(), " ", 1);
    let words = rest.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
    let characters = rest.chars().filter(|c| is_han(*c)).count();
    Some(words <= MAX_OTHER[0] && characters <= MAX_OTHER[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn withheld(texts: &[&str]) -> Vec<usize> {
        let messages: Vec<Message> = texts
            .iter()
            .map(|text| text.strip_prefix("A: ").map_or_else(|| Message::user(*text), Message::assistant))
            .collect();
        WithheldMessages::of(&messages).indexes().collect()
    }

    #[test]
    fn a_wish_alone_concerns_the_message_before_it() {
        for wish in [
            "Don't keep that.",
            "Please don't remember this.",
            "Forget what I just said.",
            "Forget I said that, please.",
            "That's off the record.",
            "Don't save that to memory.",
            "Merk dir das bitte nicht.",
            "Vergiss, was ich gerade gesagt habe.",
            "No guardes eso.",
            "Olvida lo que acabo de decir.",
            "Ne retiens pas ça.",
            "不要记住这个。",
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
            "We will close the office in Turin, but please don't keep that.",
            "I was fired from my last job in May. Don't write that down.",
            "Ich verdiene 90.000 Euro im Jahr, bitte das nicht speichern.",
            "我的工资是九万，请不要记住这个。",
        ] {
            assert_eq!(withheld(&["I use tabs.", text]), [1], "{text}");
        }
    }

    #[test]
    fn words_about_files_and_other_people_are_no_wish() {
        for text in [
            "Don't keep that branch around.",
            "Don't save that file.",
            "Don't store passwords in the repository.",
            "Don't forget what I said about tabs.",
            "I don't remember that meeting at all.",
            "Is this off the record?",
            "He spoke off the record to the press about it.",
            "Forget the tests, ship it.",
            "Never write to that table.",
            "> Don't keep that.",
            "```\nDon't keep that.\n```",
            "不要保存这个文件。",
        ] {
            assert_eq!(withheld(&["I use tabs.", text]), [0_usize; 0], "{text}");
        }
    }
}
