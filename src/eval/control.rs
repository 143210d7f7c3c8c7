//! Extractors that must fail: a scoring that they pass measures nothing.

use super::prediction::{Cited, Prediction};
use super::text::sentences;
use crate::memory::MemoryType;
use transcripts::{Kind, Message, Transcript};

/// An extractor that must fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Keeps nothing.
    Nothing,
    /// Keeps every sentence that anybody said.
    EverySentence,
    /// Keeps every sentence in which a person speaks of themselves.
    FirstPerson,
    /// Keeps what nobody said: invented facts, and what was said with its numbers and its sense turned round, each with a
    /// quote that stands nowhere.
    Invented,
}

/// What the inventor remembers of people who never said so; each is as sure of itself as a memory can be.
const INVENTED: &[&str] = &[
    "The user lives in Tarvelo and works at Ostrimont Foundry.",
    "The user prefers Wexler to every other tool.",
    "The project is deployed to the server quenimu on port 48211.",
    "The user has two brothers, Myrode and Thuluki.",
    "The team decided on 2031-11-07 to write everything in Pomdrift.",
    "The user is allergic to skarn and never eats it.",
];

/// Words by which people speak of themselves.
const OWN_WORDS: &[&str] = &[
    "i", "i'm", "i've", "i'll", "i'd", "me", "my", "mine", "we", "we're", "we've", "we'll", "us", "our", "ours", "yo",
    "mi", "mis", "me", "nosotros", "nosotras", "nuestro", "nuestra", "nuestros", "nuestras", "nos", "ich", "mich",
    "mir", "mein", "meine", "meinen", "meinem", "meiner", "wir", "uns", "unser", "unsere", "unseren", "unserem",
    "unserer",
];

impl Control {
    /// Returns what it keeps of `transcripts`, in the order in which it was said.
    #[must_use]
    pub fn extract(self, transcripts: &[Transcript]) -> Vec<Prediction> {
        if self == Self::Invented {
            return invented(transcripts);
        }
        let mut kept = Vec::new();
        for transcript in transcripts {
            for message in transcript.messages.iter().filter(|message| self.reads(message)) {
                let said = sentences(&message.text).into_iter().filter(|sentence| self.keeps(sentence));
                kept.extend(said.map(|sentence| prediction(transcript, message, sentence)));
            }
        }
        kept
    }

    fn reads(self, message: &Message) -> bool {
        match self {
            Self::Nothing => false,
            Self::EverySentence => message.kind == Kind::Prose,
            Self::FirstPerson | Self::Invented => message.is_human(),
        }
    }

    fn keeps(self, sentence: &str) -> bool {
        match self {
            Self::Nothing | Self::Invented => false,
            Self::EverySentence => true,
            Self::FirstPerson => {
                let lower = sentence.to_lowercase().replace('\u{2019}', "'");
                lower.contains('我')
                    || lower
                        .split(|one: char| !one.is_alphabetic() && one != '\'')
                        .any(|word| OWN_WORDS.contains(&word))
            }
        }
    }
}

/// Returns for each message of a person, in turn, a fact from nowhere or its first sentence turned round.
fn invented(transcripts: &[Transcript]) -> Vec<Prediction> {
    let mut kept: Vec<Prediction> = Vec::new();
    for transcript in transcripts {
        for message in transcript.messages.iter().filter(|message| message.is_human()) {
            let number = kept.len();
            let told = sentences(&message.text).first().map(|sentence| turned_round(sentence));
            let content = match told {
                Some(turned) if number % 2 == 1 => turned,
                _ => INVENTED[number / 2 % INVENTED.len()].to_owned(),
            };
            kept.push(prediction(transcript, message, &content));
        }
    }
    kept
}

/// Returns `sentence` with every digit another and denied.
fn turned_round(sentence: &str) -> String {
    let other = |one: char| one.to_digit(10).and_then(|digit| char::from_digit((digit + 3) % 10, 10)).unwrap_or(one);
    let turned: String = sentence.chars().map(other).collect();
    format!("It is not true that {turned}")
}

fn prediction(transcript: &Transcript, message: &Message, sentence: &str) -> Prediction {
    let cited = Cited {
        transcript: transcript.key(),
        messages: vec![message.id.clone()],
        quote: sentence.to_owned(),
        speaker: message.speaker.clone(),
    };
    Prediction::new(MemoryType::Semantic, sentence, vec![cited])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_keep_what_they_say() {
        let said = |message: Message, id: &str| Message { id: id.to_owned(), ..message };
        let messages = vec![
            said(Message::user("I’m Ana. Fix it."), "1"),
            said(Message::assistant("I can. Done."), "2"),
            said(Message::user("我用 pnpm。好的。Wir sparen."), "3"),
        ];
        let transcripts = [Transcript { messages, ..Transcript::default() }];
        let kept = |control: Control| -> Vec<String> {
            control.extract(&transcripts).into_iter().map(|one| one.content).collect()
        };
        assert_eq!(kept(Control::Nothing), Vec::<String>::new());
        assert_eq!(
            kept(Control::EverySentence),
            ["I’m Ana.", "Fix it.", "I can.", "Done.", "我用 pnpm。", "好的。", "Wir sparen."]
        );
        assert_eq!(
            kept(Control::Invented),
            [INVENTED[0], "It is not true that 我用 pnpm。"],
            "half from nowhere, half turned round"
        );
        assert_eq!(turned_round("At 19:30."), "It is not true that At 42:63.");
        assert_eq!(kept(Control::FirstPerson), ["I’m Ana.", "我用 pnpm。", "Wir sparen."]);
    }
}
