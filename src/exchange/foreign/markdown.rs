//! Markdown by its headings.

/// What stands under one heading, up to the next of any level.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    /// 1-based line of the heading; 1 for what stands before the first.
    pub line: usize,
    /// The number of `#`; 0 for what stands before the first heading.
    pub level: usize,
    /// The heading's text.
    pub heading: String,
    /// The text under it, trimmed.
    pub body: String,
}

/// Splits `text` at its headings; a `#` in a fenced block of code is none.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let mut found = vec![Section { line: 1, ..Section::default() }];
    let mut fence = None;
    for (number, line) in (1..).zip(text.lines()) {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        fence = match (fence, mark) {
            (None, mark) => mark,
            (Some(open), Some(mark)) if open == mark => None,
            (open, _) => open,
        };
        match heading(line).filter(|_| fence.is_none()) {
            Some((level, heading)) => {
                found.push(Section { line: number, level, heading: heading.to_owned(), body: String::new() });
            }
            None => {
                if let Some(section) = found.last_mut() {
                    section.body.extend([line, "\n"]);
                }
            }
        }
    }
    for section in &mut found {
        section.body = section.body.trim().to_owned();
    }
    found
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let text = line.get(level..)?.strip_prefix(' ')?.trim().trim_end_matches('#').trim();
    ((1..=6).contains(&level) && !text.is_empty()).then_some((level, text))
}

/// Returns `text` without the blocks that other programs put between `<!-- … -->` or `<NAME>` and `</NAME>`.
pub(super) fn without_blocks(text: &str, blocks: &[(&str, &str)]) -> String {
    let mut kept = text.to_owned();
    for (open, close) in blocks {
        while let Some(start) = kept.find(open) {
            let end = kept[start..].find(close).map_or(kept.len(), |at| start + at + close.len());
            kept.replace_range(start..end, "");
        }
    }
    kept
}

/// Returns the front matter of `text`, as lines of `key: value`, and what follows it.
pub(super) fn front_matter(text: &str) -> Option<(Vec<(&str, &str)>, &str)> {
    let rest = text.trim_start().strip_prefix("---\n")?;
    let (head, body) = rest.split_once("\n---")?;
    let pairs = head.lines().filter_map(|line| line.split_once(':')).map(|(key, value)| (key.trim(), value.trim()));
    Some((pairs.collect(), body.trim_start_matches('-').trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_part_the_text_but_not_in_code() {
        let found = sections("pre\n# Title\n## A ##\nx\n```sh\n# comment\n```\n#tag\n### B\n\ny\n");
        let parts: Vec<_> =
            found.iter().map(|part| (part.line, part.level, part.heading.as_str(), part.body.as_str())).collect();
        assert_eq!(
            parts,
            [(1, 0, "", "pre"), (2, 1, "Title", ""), (3, 2, "A", "x\n```sh\n# comment\n```\n#tag"), (9, 3, "B", "y")]
        );
    }

    #[test]
    fn injected_blocks_go_even_when_they_are_not_closed() {
        let blocks = [("<ctx>", "</ctx>"), ("<!--", "-->")];
        assert_eq!(without_blocks("a<ctx>b</ctx>c<!--d-->e", &blocks), "ace");
        assert_eq!(without_blocks("a<ctx>b", &blocks), "a");
    }
}
