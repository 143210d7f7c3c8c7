//! Whether a window is worth a call: does a person say anything in it?

use transcripts::{Kind, Message, Role};

/// Whether a person says anything that goes beyond "ok", "thanks" or "continue"; a window without it costs no call.
///
/// A bare "yes" or "no" counts where it answers a question of the assistant, or where what it answers is not among
/// `messages`.
#[must_use]
pub fn has_human_signal(messages: &[Message]) -> bool {
    let mut asked = true;
    for message in messages.iter().filter(|message| message.kind == Kind::Prose) {
        if message.is_human() {
            match weight(&message.text) {
                Weight::Words => return true,
                Weight::Answer if asked => return true,
                Weight::Answer | Weight::Nothing => {}
            }
        } else if message.role != Role::System {
            asked = message.text.contains(['?', '？']);
        }
    }
    false
}

enum Weight {
    /// Acknowledges, or says nothing at all.
    Nothing,
    /// Says yes or no, which is worth what was asked.
    Answer,
    /// Says something of its own.
    Words,
}

/// Words that only keep a conversation going.
const ACKNOWLEDGING: &str = "\
    ok okay okey k kk thanks thank you thx ty cheers continue go on ahead proceed next more please pls great nice cool \
    perfect good awesome lgtm hi hello hey hmm ah oh wow retry again try so much very well done keep going \
    danke weiter merci gracias continua continuer спасибо дальше ок продолжай 好 好的 \
    好吧 嗯 嗯嗯 谢谢 谢谢你 多谢 继续 请继续 可以 行 收到 了解 明白 明白了 你好 \
    不错 谢了 ありがとう ありがとうございます 続けて 続けてください 了解です \
    どうも 고마워 감사합니다 계속";

/// Words that answer a question.
const ANSWERING: &str = "\
    yes yep yeah yup y no nope n sure correct right exactly agreed not 是 是的 对 对的 没错 不 不是 \
    不用 不要 不行 没有 はい いいえ うん 네 아니요 ja nein oui non si sí да нет";

fn weight(text: &str) -> Weight {
    // An acknowledgement is short; this also keeps a pasted file from being taken apart.
    if text.len() > 200 {
        return Weight::Words;
    }
    let folded = text.to_lowercase();
    if folded.trim_start().starts_with('/') && folded.split_whitespace().count() == 1 {
        return Weight::Nothing;
    }
    let mut weight = Weight::Nothing;
    for word in folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if ANSWERING.split(' ').any(|one| one == word) {
            weight = Weight::Answer;
        } else if !ACKNOWLEDGING.split(' ').any(|one| one == word) {
            return Weight::Words;
        }
    }
    weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_are_no_signal() {
        for text in
            ["ok", "OK, thanks!", "continue", "👍", "好的", "谢谢！继续", "…", "/compact", "ありがとう。", "go on"]
        {
            assert!(!has_human_signal(&[Message::user(text)]), "{text}");
        }
        for text in ["use tabs", "ok but use tabs", "我住在杭州", "C++", "/fix the login", "42"] {
            assert!(has_human_signal(&[Message::user(text)]), "{text}");
        }
        assert!(!has_human_signal(&[Message::assistant("You live in Berlin.")]));
        assert!(!has_human_signal(&[Message { kind: Kind::Context, ..Message::user("Use tabs.") }]));
    }

    #[test]
    fn a_bare_yes_counts_where_something_was_asked() {
        let talk = |asked: &str, answer: &str| [Message::user("ok"), Message::assistant(asked), Message::user(answer)];
        assert!(has_human_signal(&talk("Shall I always use pnpm?", "yes")));
        assert!(has_human_signal(&talk("以后都用中文吗？", "不用")));
        assert!(!has_human_signal(&talk("Done.", "yes")));
        assert!(!has_human_signal(&talk("Shall I go on?", "thanks")));
        assert!(has_human_signal(&[Message::user("no")]));
    }
}
