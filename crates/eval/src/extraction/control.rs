//! Control extractors that must fail. A measure is useless if a control scores well on it.

use super::{Citation, Conversation, Message, Prediction};
use crate::text::sentences;
use crate::vocabulary::MemoryType;

/// An extractor that must fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Keeps nothing.
    Nothing,
    /// Keeps every sentence that anybody said.
    EverySentence,
    /// Keeps every sentence in which people talk about themselves.
    FirstPerson,
    /// Keeps invented facts, and sentences with changed numbers and the opposite meaning. None of the quotes occurs in
    /// the conversation.
    Invented,
}

/// Facts that nobody has stated, worded as confidently as real memories.
const INVENTED: &[&str] = &[
    "The user lives in Tarvelo and works at Ostrimont Foundry.",
    "The user prefers Wexler to every other tool.",
    "The project is deployed to the server quenimu on port 48211.",
    "The user has two brothers, Myrode and Thuluki.",
    "The team decided on 2031-11-07 to write everything in Pomdrift.",
    "The user is allergic to skarn and never eats it.",
];

/// Words with which people refer to themselves.
const FIRST_PERSON: &str = "i i'm i've i'll i'd me my mine we we're we've we'll us our ours yo mi mis nosotros nosotras \
    nuestro nuestra nuestros nuestras nos ich mich mir mein meine meinen meinem meiner wir uns unser unsere unseren \
    unserem unserer";

impl Control {
    /// Returns the memories that this control makes from `conversations`, in the order of the messages.
    pub fn extract(self, conversations: &[Conversation]) -> Vec<Prediction> {
        if self == Self::Invented {
            return invented(conversations);
        }
        let mut kept = Vec::new();
        for conversation in conversations {
            for message in conversation.messages.iter().filter(|message| self.reads(message)) {
                let said = sentences(&message.text).into_iter().filter(|sentence| self.keeps(sentence));
                kept.extend(said.map(|sentence| prediction(conversation, message, sentence)));
            }
        }
        kept
    }

    fn reads(self, message: &Message) -> bool {
        match self {
            Self::Nothing => false,
            Self::EverySentence => message.is_prose,
            Self::FirstPerson | Self::Invented => message.is_human(),
        }
    }

    fn keeps(self, sentence: &str) -> bool {
        match self {
            Self::Nothing | Self::Invented => false,
            Self::EverySentence => true,
            Self::FirstPerson => {
                // Phone keyboards insert a typographic apostrophe.
                let lower = sentence.to_lowercase().replace('\u{2019}', "'");
                let mut words =
                    lower.split(|one: char| !one.is_alphabetic() && one != '\'').filter(|word| !word.is_empty());
                // Chinese has no spaces between words, so the search is for the character itself.
                lower.contains('我') || words.any(|word| FIRST_PERSON.split_whitespace().any(|own| own == word))
            }
        }
    }
}

/// Returns a memory for each message of a person: alternately an invented fact, and the message's first sentence with
/// the opposite meaning.
fn invented(conversations: &[Conversation]) -> Vec<Prediction> {
    let mut kept: Vec<Prediction> = Vec::new();
    for conversation in conversations {
        for message in conversation.messages.iter().filter(|message| message.is_human()) {
            let number = kept.len();
            let reversed = sentences(&message.text).first().map(|sentence| reversed(sentence));
            let content = match reversed {
                // The two alternate, because a scorer may detect one kind and still accept the other.
                Some(reversed) if number % 2 == 1 => reversed,
                _ => INVENTED[number / 2 % INVENTED.len()].to_owned(),
            };
            kept.push(prediction(conversation, message, &content));
        }
    }
    kept
}

/// Returns `sentence` negated, with every digit replaced by another.
fn reversed(sentence: &str) -> String {
    // Adding 3 modulo 10 changes every digit, so no number survives by chance.
    let other = |one: char| one.to_digit(10).and_then(|digit| char::from_digit((digit + 3) % 10, 10)).unwrap_or(one);
    let changed: String = sentence.chars().map(other).collect();
    format!("It is not true that {changed}")
}

fn prediction(conversation: &Conversation, message: &Message, sentence: &str) -> Prediction {
    let citation = Citation {
        conversation: conversation.key.clone(),
        messages: vec![message.id.clone()],
        quote: sentence.to_owned(),
        speaker: message.speaker.clone(),
    };
    Prediction::new(MemoryType::Semantic, sentence, vec![citation])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::Role;

    #[test]
    fn each_control_keeps_what_its_name_says() {
        let said = |role: Role, text: &str, id: &str| Message {
            id: id.to_owned(),
            role,
            text: text.to_owned(),
            is_prose: true,
            speaker: None,
        };
        let messages = vec![
            said(Role::User, "I’m Ana. Fix it.", "1"),
            said(Role::Assistant, "I can. Done.", "2"),
            said(Role::User, "我用 pnpm。好的。Wir sparen.", "3"),
        ];
        let conversations = [Conversation { messages, ..Conversation::default() }];
        let kept = |control: Control| -> Vec<String> {
            control.extract(&conversations).into_iter().map(|one| one.content).collect()
        };
        assert_eq!(kept(Control::Nothing), Vec::<String>::new());
        assert_eq!(
            kept(Control::EverySentence),
            ["I’m Ana.", "Fix it.", "I can.", "Done.", "我用 pnpm。", "好的。", "Wir sparen."]
        );
        assert_eq!(
            kept(Control::Invented),
            [INVENTED[0], "It is not true that 我用 pnpm。"],
            "one half invented, one half reversed"
        );
        assert_eq!(reversed("At 19:30."), "It is not true that At 42:63.");
        assert_eq!(kept(Control::FirstPerson), ["I’m Ana.", "我用 pnpm。", "Wir sparen."]);
    }
}
