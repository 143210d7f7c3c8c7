//! Reasoning and tool calls that are written into an agent's words as `<think>` and `<tool-use>` blocks.

use crate::parts;
use crate::{Kind, Message, Role};

/// Splits an agent's `text` at the blocks that begin a line; a block without an end goes to the end of the text.
pub fn split(text: &str) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut rest = text;
    while let Some(place) = next_block(rest) {
        let block = &rest[place..];
        let (is_thought, end_mark) =
            if block.starts_with("<think>") { (true, "</think>") } else { (false, "</tool-use>") };
        let end = block.find(end_mark).map_or(block.len(), |end| end + end_mark.len());
        messages.push(Message::prose(Role::Assistant, without_rules(&rest[..place])));
        if is_thought {
            let thought = plain(&block[..end]);
            messages.push(Message { kind: Kind::Reasoning, ..Message::prose(Role::Assistant, thought) });
        } else {
            messages.extend(call(&block[..end]));
        }
        rest = &block[end..];
    }
    messages.push(Message::prose(Role::Assistant, without_rules(rest)));
    messages.retain(|message| !message.text.trim().is_empty());
    messages
}

/// Returns where the next block begins, which is at the start of a line.
fn next_block(text: &str) -> Option<usize> {
    let begins = |place: usize| place == 0 || text[..place].ends_with('\n');
    let is_block = |place: usize| ["<think>", "<tool-use "].iter().any(|mark| text[place..].starts_with(mark));
    text.match_indices("<t").map(|(place, _)| place).find(|place| begins(*place) && is_block(*place))
}

/// Takes off the rules that stand between a block and words.
fn without_rules(text: &str) -> String {
    let trimmed = text.trim();
    let trimmed = trimmed.strip_prefix("---\n").or(trimmed.strip_suffix("\n---")).unwrap_or(trimmed);
    if trimmed == "---" { String::new() } else { trimmed.trim().to_owned() }
}

/// Reads `<tool-use data-tool-name="Bash"><details><summary>…</summary>…`.
fn call(block: &str) -> [Message; 2] {
    let name = block.split_once("data-tool-name=\"").and_then(|(_, rest)| rest.split_once('"'));
    let name = name.map_or("tool", |(name, _)| name);
    let (head, body) = block.split_once("</summary>").unwrap_or((block, ""));
    let summary = plain(head).replace(['*', '`'], "");
    let told = summary.trim_start_matches("Tool use:").trim().trim_start_matches(name).trim_start_matches([' ', '•']);
    let body = plain(body);
    // Where the summary names the tool alone, the target is the first thing in the block.
    let first = body.lines().map(|line| line.trim().trim_matches('`')).find(|line| !line.is_empty());
    let target = if told.is_empty() { first.unwrap_or_default() } else { told };
    [
        Message { kind: Kind::ToolCall, ..Message::prose(Role::Assistant, parts::call_line(name, target)) },
        Message { kind: Kind::ToolResult, ..Message::prose(Role::Tool, body) },
    ]
}

/// Takes the tags of the block itself out of `text`.
fn plain(text: &str) -> String {
    let tags = ["<think>", "</think>", "</tool-use>", "<details>", "</details>", "<summary>", "</summary>"];
    let behind = text.strip_prefix("<tool-use").and_then(|rest| rest.split_once('>')).map_or(text, |(_, rest)| rest);
    tags.iter().fold(behind.to_owned(), |text, tag| text.replace(tag, "")).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_told_from_words() {
        let text = "<think><details><summary>Thought Process</summary>\nWhich test?</details></think>\n\n---\n\nI run it.\n\n<tool-use data-tool-type=\"shell\" data-tool-name=\"Bash\"><details>\n<summary>Tool use: **Bash**</summary>\n\n`pytest -q`\n\n```text\n1 failed\n```\n</details></tool-use>\n\n---\n\nIt says `<think>` here.\n\n<tool-use data-tool-type=\"read\" data-tool-name=\"read\">\n<details>\n<summary>Tool use: **read** • Read a.rs</summary>";
        let told: Vec<_> = split(text).into_iter().map(|one| (one.role, one.kind, one.text)).collect();
        let row = |role, kind, text: &str| (role, kind, text.to_owned());
        assert_eq!(
            told,
            [
                row(Role::Assistant, Kind::Reasoning, "Thought Process\nWhich test?"),
                row(Role::Assistant, Kind::Prose, "I run it."),
                row(Role::Assistant, Kind::ToolCall, "Bash pytest -q"),
                row(Role::Tool, Kind::ToolResult, "`pytest -q`\n\n```text\n1 failed\n```"),
                row(Role::Assistant, Kind::Prose, "It says `<think>` here."),
                row(Role::Assistant, Kind::ToolCall, "read Read a.rs"),
            ]
        );
        assert_eq!(split("Words.").len(), 1);
    }
}
