//! Telling text that a program wrote into the user's turn from what the user typed.

/// Tags around text that agents and their plug-ins put into a user's turn.
const INJECTED_TAGS: &[&str] = &[
    "system-reminder",
    "system_reminder",
    "system-instruction",
    "system_instruction",
    "environment_context",
    "environment_details",
    "user_instructions",
    "permissions instructions",
    "collaboration_mode",
    "turn_aborted",
    "hook_prompt",
    "hook_context",
    "session_context",
    "user_info",
    "current_datetime",
    "relevant_memories",
    "persisted-output",
    "task-notification",
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "skill",
    "subagent_notification",
];

/// Whether `text` is nothing but injected blocks; a block that is never closed reaches to the end.
pub fn is_only_injected(text: &str) -> bool {
    let mut rest = text.trim();
    let mut found = false;
    while let Some(after) = without_leading_block(rest) {
        rest = after.trim_start();
        found = true;
    }
    found && rest.is_empty()
}

/// Returns what follows the injected block that `text` begins with; `None` if it begins with none.
pub fn without_leading_block(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('<')?;
    let tag = INJECTED_TAGS.iter().find(|tag| {
        inner.strip_prefix(**tag).is_some_and(|after| after.starts_with(|c: char| c == '>' || c.is_whitespace()))
    })?;
    let close = format!("</{tag}>");
    Some(text.find(&close).map_or("", |place| &text[place + close.len()..]))
}

/// Returns what stands between `<tag>` and `</tag>`, trimmed.
pub fn between<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, after) = text.split_once(&format!("<{tag}>"))?;
    let inner = after.split_once(&format!("</{tag}>")).map_or(after, |(inner, _)| inner);
    Some(inner.trim())
}

/// Splits `/name argument`, a command to the program, into its name without the slash and its argument.
pub fn slash_command(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let (name, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let name = name.strip_prefix('/')?;
    let is_name =
        !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b':'));
    is_name.then(|| (name, argument.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_injected_texts_are_told_apart() {
        assert!(is_only_injected("<system-reminder>a</system-reminder>\n<ide_selection x=\"1\">b</ide_selection>"));
        assert!(is_only_injected("<permissions instructions>never closed"));
        assert!(!is_only_injected("<system-reminder>a</system-reminder> use tabs"));
        assert!(!is_only_injected("<skillful>a</skillful>"));
        assert!(!is_only_injected(""));
    }

    #[test]
    fn commands_are_told_from_paths_and_words() {
        assert_eq!(slash_command("/ask why  not?"), Some(("ask", "why  not?")));
        assert_eq!(slash_command(" /mcp:list "), Some(("mcp:list", "")));
        for other in ["/usr/lib is full", "/", "/ x", "把 x", "ask", ""] {
            assert_eq!(slash_command(other), None, "{other}");
        }
    }
}
