//! What a message answers, where that is not the message right before it.

use std::collections::{HashMap, VecDeque};

use crate::{Kind, Message, Role};

/// Messages back to which a reply is followed.
const REMEMBERED: usize = 2_000;
/// Longest part of the answered message that is shown, in characters.
const SHOWN_CHARS: usize = 80;

/// The last messages of a conversation, as they are shown above a reply to them.
#[derive(Default)]
pub struct Replies {
    shown: HashMap<String, String>,
    order: VecDeque<String>,
}

impl Replies {
    /// Notes that `message` was said.
    pub fn note(&mut self, message: &Message) {
        let line = message.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut start: String = line.chars().take(SHOWN_CHARS).collect();
        if start.len() < line.len() {
            start.push('…');
        }
        let shown = format!("[in reply to {}: {start}]", message.speaker.as_deref().unwrap_or("somebody"));
        if self.shown.insert(message.id.clone(), shown).is_none() {
            self.order.push_back(message.id.clone());
        }
        if self.order.len() > REMEMBERED {
            let oldest = self.order.pop_front();
            oldest.and_then(|id| self.shown.remove(&id));
        }
    }

    /// Returns the placeholder that stands before an answer of `speaker` to the message called `id`; none if that is
    /// the last one, since then nothing is unclear.
    ///
    /// It is no context: as such it would forbid memories of what the answered message really says.
    pub fn mark(&self, id: &str, speaker: Option<&str>) -> Option<Message> {
        if id.is_empty() || self.order.back().is_some_and(|last| last == id) {
            return None;
        }
        let shown =
            self.shown.get(id).cloned().unwrap_or_else(|| "[in reply to a message that is not here]".to_owned());
        let speaker = speaker.map(str::to_owned);
        Some(Message { kind: Kind::Attachment, speaker, ..Message::prose(Role::User, shown) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_shows_the_start_of_an_earlier_message_only() {
        let mut replies = Replies::default();
        for (id, text) in [("1", "We ship on\nMonday."), ("2", "ok")] {
            let speaker = Some("Ana".to_owned());
            replies.note(&Message { id: id.to_owned(), speaker, ..Message::user(text) });
        }
        let shown = |id: &str| replies.mark(id, Some("Luís")).map(|mark| (mark.kind, mark.text));
        assert_eq!(shown("1"), Some((Kind::Attachment, "[in reply to Ana: We ship on Monday.]".to_owned())));
        assert_eq!(shown("2"), None);
        assert_eq!(shown(""), None);
        assert_eq!(shown("9"), Some((Kind::Attachment, "[in reply to a message that is not here]".to_owned())));
    }

    #[test]
    fn long_messages_are_cut_and_old_ones_forgotten() {
        let mut replies = Replies::default();
        for number in 0..=REMEMBERED {
            replies.note(&Message { id: number.to_string(), ..Message::user("é".repeat(200)) });
        }
        assert_eq!(replies.shown.len(), REMEMBERED);
        assert!(replies.mark("0", None).unwrap().text.contains("not here"));
        assert!(replies.mark("7", None).unwrap().text.ends_with("é…]"));
    }
}
