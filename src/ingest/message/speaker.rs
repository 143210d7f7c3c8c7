//! Recognising who speaks from what stands at the start of a line.

use crate::transcript::Role;

/// Words before a colon that head a note, a field or a log line rather than name a person.
const NO_NAMES: &[&str] = &[
    "pros",
    "cons",
    "before",
    "after",
    "good",
    "bad",
    "do",
    "don't",
    "expected",
    "actual",
    "given",
    "when",
    "then",
    "yes",
    "no",
    "old",
    "new",
    "left",
    "right",
    "wrong",
    "correct",
    "advantages",
    "disadvantages",
    "benefits",
    "features",
    "overview",
    "details",
    "syntax",
    "options",
    "arguments",
    "required",
    "optional",
    "added",
    "changed",
    "fixed",
    "removed",
    "security",
    "performance",
    "recommendation",
    "recommendations",
    "risk",
    "risks",
    "impact",
    "evidence",
    "finding",
    "findings",
    "claim",
    "fallback",
    "scenario",
    "case",
    "cases",
    "a",
    "action",
    "actions",
    "address",
    "agenda",
    "also",
    "answer",
    "assumption",
    "attendees",
    "author",
    "aside",
    "background",
    "bug",
    "caution",
    "cc",
    "changelog",
    "company",
    "conclusion",
    "context",
    "copyright",
    "country",
    "critical",
    "date",
    "debug",
    "decision",
    "decisions",
    "default",
    "definition",
    "depends",
    "deprecated",
    "description",
    "email",
    "end",
    "error",
    "example",
    "examples",
    "fact",
    "fatal",
    "file",
    "files",
    "first",
    "fix",
    "format",
    "from",
    "goal",
    "goals",
    "host",
    "hint",
    "http",
    "https",
    "id",
    "important",
    "info",
    "input",
    "instructions",
    "issue",
    "key",
    "language",
    "last",
    "level",
    "license",
    "link",
    "links",
    "location",
    "meeting",
    "message",
    "method",
    "minutes",
    "model",
    "name",
    "next",
    "note",
    "notes",
    "number",
    "objective",
    "output",
    "owner",
    "p",
    "parameters",
    "participants",
    "path",
    "phone",
    "plan",
    "platform",
    "present",
    "price",
    "priority",
    "problem",
    "prompt",
    "ps",
    "purpose",
    "q",
    "question",
    "questions",
    "reason",
    "ref",
    "reference",
    "remember",
    "requires",
    "response",
    "result",
    "results",
    "return",
    "returns",
    "rule",
    "score",
    "second",
    "see",
    "severity",
    "size",
    "solution",
    "source",
    "start",
    "status",
    "step",
    "subject",
    "summary",
    "tags",
    "task",
    "time",
    "tip",
    "title",
    "to",
    "todo",
    "topic",
    "total",
    "trace",
    "type",
    "update",
    "url",
    "usage",
    "user-agent",
    "value",
    "verdict",
    "version",
    "warn",
    "warning",
    "website",
    "why",
    "注意",
    "标题",
    "日期",
    "时间",
    "地点",
    "问题",
    "答案",
    "总结",
    "结论",
    "主题",
    "作者",
    "例如",
    "说明",
    "备注",
];

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

/// Whether `label` could be a person's name: up to five words, each capitalised, and not the head of a note.
#[must_use]
pub fn looks_like_name(label: &str) -> bool {
    const PARTICLES: &[&str] = &["da", "de", "del", "der", "di", "dos", "el", "la", "of", "van", "von", "y"];
    let words: Vec<&str> = label.split_whitespace().collect();
    let is_word = |word: &str| {
        let starts = word.starts_with(|c: char| c.is_alphabetic() && !c.is_lowercase() || c == '(');
        let numbered = words.len() > 1 && word.chars().all(|c| c.is_ascii_digit());
        (starts || numbered || PARTICLES.contains(&word))
            && word.chars().all(|c| c.is_alphanumeric() || is_mark(c) || "'’.-(),&・·".contains(c))
    };
    let first_is_letter = label.starts_with(|c: char| c.is_alphabetic());
    let heads_a_note = NO_NAMES.contains(&label.to_lowercase().as_str());
    (1..=5).contains(&words.len()) && first_is_letter && !heads_a_note && words.iter().copied().all(is_word)
}

/// Whether `c` combines with the letter before it.
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_the_heads_of_notes() {
        for name in ["Ana", "Luís", "Ana de la Cruz", "李雷", "Speaker 2", "Silva, Luís (Ext)", "O'Neil", "Jose\u{301}"]
        {
            assert!(looks_like_name(name), "{name}");
        }
        for other in [
            "Note",
            "note",
            "https",
            "TODO",
            "we should",
            "A very long label of many Words",
            "10",
            "注意",
            "key_name",
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
}
