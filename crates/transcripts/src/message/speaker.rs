//! Recognising who speaks from what stands at the start of a line.

use crate::Role;

/// Words before a colon that head a note, a field or a log line rather than name a person.
const NO_NAMES: &str = "\
    pros cons before after good bad do don't expected actual given when then yes no old new left right wrong \
    correct advantages disadvantages benefits features overview details syntax options arguments required \
    optional added changed fixed removed security performance recommendation recommendations risk risks impact \
    evidence finding findings claim fallback scenario case cases a action actions address agenda also answer \
    assumption attendees author aside background bug caution cc changelog company conclusion context copyright \
    country critical date debug decision decisions default definition depends deprecated description email end \
    error example examples fact fatal file files first fix format from goal goals host hint http https id \
    important info input instructions issue key language last level license link links location meeting message \
    method minutes model name next note notes number objective output owner p parameters participants path phone \
    plan platform present price priority problem prompt ps purpose q question questions reason ref reference \
    remember requires response result results return returns rule score second see severity size solution source \
    start status step subject summary tags task time tip title to todo topic total trace type update url usage \
    user-agent value verdict version warn warning website why 注意 标题 日期 时间 地点 问题 答案 总结 结论 主题 作者 例如 说明 备注 monday \
    tuesday wednesday thursday friday saturday sunday today tomorrow yesterday";

/// What a program calls the weight of a line of its log.
const LEVELS: &str = "debug info notice warn warning error err fatal critical trace verbose severe";
/// What programs call their parts, and diaries the parts of a day.
const PROGRAMS: &str = "server database db worker scheduler backup mailer kernel daemon cron nginx systemd sshd http api \
    service process thread job task system main app application client cache queue logger monitor watchdog updater \
    installer build deploy morning noon afternoon evening night breakfast lunch dinner";

/// Labels that stand for a side of a conversation with an assistant, in lower case.
const SIDES: &[(Role, &[&str])] = &[
    (Role::User, &["user", "human", "you", "me", "用户", "使用者", "人类", "我", "你", "ユーザー"]),
    (
        Role::Assistant,
        &[
            "assistant",
            "ai",
            "bot",
            "chatgpt",
            "gpt",
            "gpt-4",
            "gpt-4o",
            "gpt-5",
            "claude",
            "gemini",
            "copilot",
            "agent",
            "ai assistant",
            "助手",
            "ai助手",
            "ai 助手",
            "助理",
            "机器人",
            "アシスタント",
        ],
    ),
    (Role::System, &["system", "developer", "系统"]),
    (Role::Tool, &["tool", "tool result", "工具"]),
];

/// Returns the side that `label` stands for, if it is no person's name.
#[must_use]
pub fn side(label: &str) -> Option<Role> {
    let label = label.trim().to_lowercase();
    SIDES.iter().find(|(_, labels)| labels.contains(&label.as_str())).map(|(role, _)| *role)
}

/// Whether `label` could be a person's name: up to five words, each capitalised, and not the head of a note; among
/// the words there may be pictures, and pronouns in brackets.
#[must_use]
pub fn looks_like_name(label: &str) -> bool {
    const PARTICLES: &[&str] = &["da", "de", "del", "der", "di", "dos", "el", "la", "of", "van", "von", "y"];
    let words: Vec<&str> = label.split_whitespace().collect();
    let is_word = |word: &str| {
        let starts =
            word.trim_start_matches(is_mark).starts_with(|c: char| c.is_alphabetic() && !c.is_lowercase() || c == '(');
        let numbered = words.len() > 1 && word.chars().all(|c| c.is_ascii_digit());
        let is_drawn = word.chars().all(is_picture);
        let is_pronouns = word.starts_with('(') && word.ends_with(')');
        let may_hold = |c: char| {
            c.is_alphanumeric() || is_mark(c) || is_picture(c) || "'’.-(),&・·".contains(c) || c == '/' && is_pronouns
        };
        (starts || numbered || is_drawn || PARTICLES.contains(&word)) && word.chars().all(may_hold)
    };
    let first = label.chars().find(|c| !is_mark(*c) && !is_picture(*c) && !c.is_whitespace());
    let first_is_letter = first.is_some_and(char::is_alphabetic);
    (1..=5).contains(&words.len()) && first_is_letter && !heads_a_note(label) && words.iter().copied().all(is_word)
}

fn heads_a_note(label: &str) -> bool {
    let label = label.to_lowercase();
    NO_NAMES.split(' ').any(|word| word == label)
}

/// Whether `label` could be the name of an account, in small letters: `luis`, `ana.silva`, `rui paz`.
///
/// So could the first words of a sentence, so it needs to come several times.
#[must_use]
pub fn looks_like_account(label: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(char::is_alphabetic)
            && word.chars().all(|c| c.is_alphanumeric() || is_mark(c) || "._-@'’".contains(c))
    };
    let words: Vec<&str> = label.split_whitespace().collect();
    (1..=2).contains(&words.len()) && !heads_a_note(label) && words.into_iter().all(is_word)
}

/// Whether `name` is what a program writes before the text of its log: `INFO`, `app.ERROR`, or a part of a program.
#[must_use]
pub fn is_of_a_log(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = name.split(['.', ' ', '[', ']', '-', '_', '/']).filter(|word| !word.is_empty());
    words.clone().next_back().is_some_and(|last| LEVELS.split(' ').any(|level| level == last))
        || words.any(|word| PROGRAMS.split(' ').any(|part| part == word))
}

/// Whether `c` combines with the letter before it, joins or parts letters, or steers the direction of writing.
#[must_use]
pub fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c) || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
}

/// Whether `c` belongs to a picture such as a flower, which people put behind their names.
#[must_use]
pub fn is_picture(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{fe0f}' | '\u{200d}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_the_heads_of_notes() {
        for name in [
            "Ana",
            "Luís",
            "Ana de la Cruz",
            "李雷",
            "Speaker 2",
            "Silva, Luís (Ext)",
            "O'Neil",
            "Jose\u{301}",
            "Mia 🌸",
            "🌟 Mia",
            "Mia❤\u{fe0f}",
            "Sol (she/her)",
            "علی\u{200c}رضا",
            "\u{200f}דנה לוי",
        ] {
            assert!(looks_like_name(name), "{name}");
        }
        for other in [
            "Note",
            "note",
            "https",
            concat!("TO", "DO"),
            "we should",
            "A very long label of many Words",
            "10",
            "注意",
            "key_name",
            "✅ 10",
            "🌸",
            "and/or",
            "",
        ] {
            assert!(!looks_like_name(other), "{other}");
        }
    }

    #[test]
    fn sides_are_known_in_any_case_and_three_languages() {
        let rows =
            [("USER", Some(Role::User)), ("用户", Some(Role::User)), ("助手", Some(Role::Assistant)), ("Ana", None)];
        for (label, expected) in rows {
            assert_eq!(side(label), expected, "{label}");
        }
    }

    #[test]
    fn accounts_have_small_letters_and_logs_have_levels_and_parts() {
        for name in ["luis", "ana.silva", "rui paz", "li_lei"] {
            assert!(looks_like_account(name) && !looks_like_name(name), "{name}");
        }
        for other in ["note", "and so we", "10", "see http://x", ""] {
            assert!(!looks_like_account(other), "{other}");
        }
        for part in ["INFO", "local.ERROR", "main [warn]", "Server", "Worker 1", "http-server", "Morning"] {
            assert!(is_of_a_log(part), "{part}");
        }
        for name in ["Ana Silva", "Dawn", "+351 912 345 678", "Info Desk Ana"] {
            assert!(!is_of_a_log(name), "{name}");
        }
    }
}
