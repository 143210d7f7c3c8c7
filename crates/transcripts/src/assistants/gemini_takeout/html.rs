//! HTML as text.

use std::sync::LazyLock;

use mail_parser::decoders::html::html_to_text;
use regex::{Captures, Regex};

/// Returns the words of `html`, a line for each paragraph, heading, list item and row.
#[must_use]
pub fn to_text(html: &str) -> String {
    static BLOCKS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)<(li|/li|/div|/h[1-6]|/tr|/pre|/blockquote|/ul|/ol|/td|/th)(?:\s[^<>]*)?>")
            .expect("the pattern is constant")
    });
    let marked = BLOCKS.replace_all(html, |found: &Captures<'_>| match found[1].to_lowercase().as_str() {
        "li" => "<br>- ",
        "/td" | "/th" => " ",
        _ => "<br>",
    });
    let text = html_to_text(&marked);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "-");
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_lines_and_entities_are_decoded() {
        let html = "<h3>Tea &amp; milk</h3><p>First <b>warm</b>\nthe pot.</p><ul><li>Assam</li><li><p>Ceylon</p></li></ul><table><tr><td>a</td><td>b</td></tr></table>a &lt; b";
        assert_eq!(to_text(html), "Tea & milk\nFirst warm the pot.\n- Assam\n- Ceylon\na b\na < b");
    }

    #[test]
    fn odd_markup_is_survived() {
        for odd in ["<", "<!--", "&", "&#xffffffff;", "<p", "a<b", "<li", "é&é;<é>", "&#0;"] {
            let _text = to_text(odd);
        }
    }
}
