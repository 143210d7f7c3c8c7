//! Memories that somebody has chosen, spelled as a brief.

use super::line::line;
use super::render::{between, closing, ending, heading, opening};
use super::request::{BriefRequest, Format, Quotas, Section};
use crate::memory::{Memory, Scope};

/// Returns the memories fenced as a brief, in the order given within their sections: the pinned ones, the long-term and
/// the short-term ones. No memory gives no text.
#[must_use]
pub fn spell(memories: &[Memory], format: Format) -> String {
    let section = |memory: &&Memory| match memory.claim.scope {
        _ if memory.pinned => Section::Standing,
        Scope::LongTerm => Section::LongTerm,
        Scope::ShortTerm => Section::ShortTerm,
    };
    let of = |wanted| memories.iter().filter(move |memory| section(memory) == wanted);
    let count = |wanted| of(wanted).count();
    let [standing, long_term, short_term] = Section::ALL.map(count);
    let request =
        BriefRequest { format, quotas: Quotas { standing, long_term, short_term }, ..BriefRequest::default() };
    let mut text = String::new();
    for wanted in Section::ALL.into_iter().filter(|wanted| count(*wanted) > 0) {
        let is_first = text.is_empty();
        if is_first {
            text.push_str(&opening(format));
        }
        text.push_str(&heading(wanted, &request, is_first));
        let lines: Vec<String> = of(wanted).map(|memory| line(memory, format)).collect();
        text.push_str(&lines.join(between(format)));
        text.push_str(&ending(wanted, format));
    }
    if text.is_empty() { text } else { text + &closing(0, format) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::samples::memory;

    #[test]
    fn chosen_memories_stand_in_their_sections_in_the_order_given() {
        let mut memories =
            [memory("Bees", "Bo keeps bees."), memory("Tea", "Ana drinks tea."), memory("Ill", "Eve is ill.")];
        memories[1].pinned = true;
        memories[2].claim.scope = Scope::ShortTerm;
        let text = spell(&memories, Format::Compact);
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} is not in {text}"));
        let order = ["<afterthought-memory>", "(top 1)", "Ana drinks", "Bo keeps", "Eve is", "</afterthought-memory>"];
        assert!(order.map(at).is_sorted(), "{text}");
        let json: serde_json::Value = serde_json::from_str(&spell(&memories, Format::Json)).unwrap();
        assert_eq!(json["memories"].as_object().unwrap().len(), 3, "{json}");
        assert_eq!(spell(&[], Format::Compact), "");
    }
}
