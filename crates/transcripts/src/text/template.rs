//! Conversations in the templates that models are fed with, rewritten so that each speaker has a line of its own.

const OPEN: &str = "[INST]";
const CLOSE: &str = "[/INST]";

/// Rewrites a text of `[INST]` or `<|start_header_id|>` to lines of `<|im_start|>role`; `None` for any other text.
pub fn with_speaker_lines(text: &str) -> Option<String> {
    let start = text.trim_start();
    let start = ["<s>", "<|begin_of_text|>"].iter().find_map(|mark| start.strip_prefix(mark)).unwrap_or(start);
    if start.trim_start().starts_with(OPEN) && start.contains(CLOSE) {
        return Some(instructions(start));
    }
    let marked = start.trim_start().starts_with("<|start_header_id|>") && start.contains("<|end_header_id|>");
    marked.then(|| {
        let lines = start.replace("<|start_header_id|>", "\n<|im_start|>").replace("<|end_header_id|>", "\n");
        lines.replace("<|eot_id|>", "").replace("<|begin_of_text|>", "")
    })
}

fn instructions(text: &str) -> String {
    let mut lines = String::new();
    let mut say = |role: &str, words: &str| {
        let words = words.replace("</s>", "").replace("<s>", "");
        if !words.trim().is_empty() {
            lines.extend(["<|im_start|>", role, "\n", words.trim(), "\n"]);
        }
    };
    for turn in text.split(OPEN).skip(1) {
        let (asked, answer) = turn.split_once(CLOSE).unwrap_or((turn, ""));
        let system = asked.split_once("<<SYS>>").and_then(|(_, rest)| rest.split_once("<</SYS>>"));
        if let Some((system, asked)) = system {
            say("system", system);
            say("user", asked);
        } else {
            say("user", asked);
        }
        say("assistant", answer);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_template_gets_a_line_for_each_speaker() {
        let rows = [
            (
                "<s>[INST] hi [/INST] hello </s><s>[INST] bye [/INST]",
                "<|im_start|>user\nhi\n<|im_start|>assistant\nhello\n<|im_start|>user\nbye\n",
            ),
            (
                "[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nhi [/INST] hello",
                "<|im_start|>system\nBe brief.\n<|im_start|>user\nhi\n<|im_start|>assistant\nhello\n",
            ),
            ("<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|>", "\n<|im_start|>user\n\n\nhi"),
        ];
        for (text, expected) in rows {
            assert_eq!(with_speaker_lines(text).as_deref(), Some(expected), "{text}");
        }
        for other in ["Use [INST] and [/INST].", "[INST] never closed", "[1, 2]"] {
            assert_eq!(with_speaker_lines(other), None, "{other}");
        }
    }
}
