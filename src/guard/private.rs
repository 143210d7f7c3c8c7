//! What a person asked not to keep: `<private>…</private>`.

/// What stands where a private span stood.
pub const PRIVATE_MARKER: &str = "[private]";

const OPEN: &str = "<private>";
const CLOSE: &str = "</private>";

/// Replaces every private span of `text` by [`PRIVATE_MARKER`]; returns how many there were.
///
/// Tags are read in any case. A span that is never closed runs to the end of the text, and spans may be nested.
pub(super) fn take_out(text: &mut String) -> usize {
    if !text.contains('<') {
        return 0;
    }
    let lower = text.to_ascii_lowercase();
    if !lower.contains(OPEN) {
        return 0;
    }
    let (mut out, mut at, mut count) = (String::with_capacity(text.len()), 0, 0);
    while let Some(open) = lower[at..].find(OPEN).map(|open| at + open) {
        out.push_str(&text[at..open]);
        out.push_str(PRIVATE_MARKER);
        count += 1;
        at = end_of_span(&lower, open);
    }
    out.push_str(&text[at..]);
    *text = out;
    count
}

/// Returns the end of the span that opens at `open`, past the close of every span nested in it.
fn end_of_span(lower: &str, open: usize) -> usize {
    let (mut at, mut depth) = (open + OPEN.len(), 1);
    while depth > 0 {
        let Some(tag) = lower[at..].find("private>").map(|tag| at + tag) else { return lower.len() };
        at = tag + "private>".len();
        if lower[..at].ends_with(CLOSE) {
            depth -= 1;
        } else if lower[..at].ends_with(OPEN) {
            depth += 1;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(text: &str) -> (String, usize) {
        let mut text = text.to_owned();
        let count = take_out(&mut text);
        (text, count)
    }

    #[test]
    fn spans_go_and_the_rest_stays() {
        assert_eq!(
            without("a <private>x</private> b <PRIVATE>\ny\n</Private> 終"),
            ("a [private] b [private] 終".to_owned(), 2)
        );
        assert_eq!(without("nothing here < private"), ("nothing here < private".to_owned(), 0));
    }

    #[test]
    fn an_unclosed_span_runs_to_the_end() {
        assert_eq!(without("keep <private>my salary is 5\nand more"), ("keep [private]".to_owned(), 1));
    }

    #[test]
    fn a_nested_span_does_not_close_the_outer_one() {
        assert_eq!(
            without("a<private>b<private>c</private>d</private>e<private>f"),
            ("a[private]e[private]".to_owned(), 2)
        );
    }

    #[test]
    fn many_open_tags_are_read_in_one_pass() {
        let (text, count) = without(&"<private>".repeat(100_000));
        assert_eq!((text.as_str(), count), ("[private]", 1));
    }
}
