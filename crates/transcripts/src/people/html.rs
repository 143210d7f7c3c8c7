//! Extracts the text of HTML, from emails and from pages of chat archives.

use mail_parser::decoders::html::add_html_token;

/// Elements whose content is not visible.
const HIDDEN: &[&str] = &["head", "style", "script", "template", "title"];
/// Elements that begin on a new line.
const BLOCKS: &[&str] = &[
    "p", "div", "br", "tr", "table", "ul", "ol", "li", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "pre",
    "section", "article", "header", "footer",
];
/// Maximum length of a character reference, in bytes.
const LONGEST_REFERENCE: usize = 32;

/// Returns the text of `html`: a line for each block, with `- ` before list items and `> ` before quotations.
pub(crate) fn to_text(html: &str) -> String {
    let mut page = Page::default();
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        page.append(&rest[..open]);
        let inside = &rest[open + 1..];
        // Word puts whole style sheets in comments.
        if let Some(comment) = inside.strip_prefix("!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        if !inside.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) {
            page.append("<");
            rest = inside;
            continue;
        }
        // If this bracket is not closed, no later bracket is closed either.
        let Some(close) = inside.find('>') else {
            page.append(&rest[open..]);
            rest = "";
            break;
        };
        rest = &inside[close + 1..];
        let name = tag_name(&inside[..close]);
        match HIDDEN.iter().find(|hidden| **hidden == name) {
            Some(hidden) => rest = behind_end(rest, hidden),
            None => page.tag(&name),
        }
    }
    page.append(rest);
    page.finish()
}

/// Returns the name of a tag in lower case, preceded by a slash for an end tag.
fn tag_name(inside: &str) -> String {
    let (slash, name) = inside.strip_prefix('/').map_or(("", inside), |name| ("/", name));
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    format!("{slash}{}", name[..end].to_ascii_lowercase())
}

/// Returns the text after the end tag of a hidden element.
fn behind_end<'a>(rest: &'a str, name: &str) -> &'a str {
    let mut ends = rest.match_indices("</").filter(|(place, _)| tag_name(&rest[place + 1..]) == format!("/{name}"));
    let Some((place, _)) = ends.next() else { return "" };
    rest[place..].find('>').map_or("", |end| &rest[place + end + 1..])
}

#[derive(Default)]
struct Page {
    lines: Vec<String>,
    line: String,
    quotes: usize,
}

impl Page {
    fn append(&mut self, text: &str) {
        for c in decode(text).chars() {
            if !c.is_whitespace() {
                self.line.push(c);
            } else if !self.line.ends_with([' ', '\n']) && !self.line.is_empty() {
                self.line.push(' ');
            }
        }
    }

    fn tag(&mut self, name: &str) {
        let is_end = name.starts_with('/');
        let bare = name.trim_start_matches('/');
        if matches!(bare, "td" | "th") {
            self.append(" ");
        }
        if !BLOCKS.contains(&bare) {
            return;
        }
        self.end_line();
        match (bare, is_end) {
            ("blockquote", false) => self.quotes += 1,
            ("blockquote", true) => self.quotes = self.quotes.saturating_sub(1),
            ("li", false) => self.line.push_str("- "),
            ("p", true) => self.lines.push(String::new()),
            _ => {}
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim();
        if !line.is_empty() && line != "-" {
            // The author wrote none of the nested quotations, so a single mark is enough.
            self.lines.push(format!("{}{line}", "> ".repeat(self.quotes.min(1))));
        }
    }

    fn finish(mut self) -> String {
        self.end_line();
        self.lines.join("\n").trim().to_owned()
    }
}

/// Decodes the character references of HTML; unknown references remain unchanged.
pub(crate) fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        decoded.push_str(&rest[..start]);
        rest = &rest[start..];
        let near = &rest[..rest.floor_char_boundary(LONGEST_REFERENCE)];
        let end = near.find(';').map_or(1, |end| end + 1);
        add_html_token(&mut decoded, &rest.as_bytes()[..end], false);
        rest = &rest[end..];
    }
    decoded + rest
}

/// Maximum length, in bytes, of a tag that is searched for the class of an element.
const LONGEST_TAG: usize = 2_000;

/// An element, and the text around it.
#[derive(Debug, PartialEq)]
pub(crate) struct Element<'a> {
    /// The part of the page before the element's opening tag.
    pub(crate) before: &'a str,
    /// The content of the element's opening tag.
    pub(crate) tag: &'a str,
    /// The content between the element's tags; the rest of the page if the element is not closed.
    pub(crate) inner: &'a str,
    /// The part of the page after the element's closing tag.
    pub(crate) after: &'a str,
}

/// Returns the first element of `html` that has the class `class`.
pub(crate) fn element<'a>(html: &'a str, class: &str) -> Option<Element<'a>> {
    html.match_indices(class).find_map(|(place, _)| {
        let is_word = html[..place].ends_with(['"', '\'', ' ', '='])
            && html[place + class.len()..].starts_with(['"', '\'', ' ', '>']);
        let near = html.floor_char_boundary(place.saturating_sub(LONGEST_TAG));
        let open = near + html[near..place].rfind('<').filter(|_| is_word)?;
        let tag = &html[open + 1..];
        let tag = &tag[..tag.find('>')?];
        // If a `>` precedes the class name, the tag has ended and the name is part of the text.
        if open + tag.len() < place || !tag.contains("class=") {
            return None;
        }
        let content = &html[open + tag.len() + 2..];
        let (inner, after) = closed(content, &tag_name(tag));
        Some(Element { before: &html[..open], tag, inner, after })
    })
}

/// Splits the text after an opening tag at the closing tag of the same element.
fn closed<'a>(content: &'a str, name: &str) -> (&'a str, &'a str) {
    let mut open = 1;
    for (place, _) in content.match_indices('<') {
        let tag = &content[place + 1..];
        match tag.strip_prefix('/').unwrap_or(tag).get(..name.len()) {
            Some(found) if found.eq_ignore_ascii_case(name) && tag_name(tag).trim_start_matches('/') == name => {}
            Some(_) | None => continue,
        }
        open = if tag.starts_with('/') { open - 1 } else { open + 1 };
        if open == 0 {
            return (&content[..place], tag.split_once('>').map_or("", |(_, after)| after));
        }
    }
    (content, "")
}

/// Returns `html` without the elements of `class`, and the contents of these elements.
pub(crate) fn without<'a>(html: &'a str, class: &str) -> (String, Vec<&'a str>) {
    let (mut kept, mut removed, mut rest) = (String::new(), Vec::new(), html);
    while let Some(found) = element(rest, class) {
        kept.push_str(found.before);
        removed.push(found.inner);
        rest = found.after;
    }
    (kept + rest, removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_become_lines_and_quotes_are_marked() {
        let rows = [
            ("<html><head><title>x</title></head><body><p>One<br>two</p><p>three</p>", "One\ntwo\n\nthree"),
            ("<div>a &amp; b&nbsp;&#8211; &#x263a; &unknown;</div>", "a & b – ☺ &unknown;"),
            ("<ul><li>milk</li><li>tea</li></ul>", "- milk\n- tea"),
            (
                "Yes<blockquote class=q><div>Shall we?</div><blockquote>old</blockquote></blockquote>Ana",
                "Yes\n> Shall we?\n> old\nAna",
            ),
            ("<STYLE>p{}</STYLE>a<!-- <p>no</p> -->b<script>if (1 < 2) {}</script >c", "abc"),
            ("1 < 2 and <b>bold</b>", "1 < 2 and bold"),
            ("open <b", "open <b"),
            ("<table><tr><td>a</td><td>b</td></tr></table>", "a b"),
        ];
        for (html, text) in rows {
            assert_eq!(to_text(html), text, "{html}");
        }
    }

    #[test]
    fn elements_are_found_by_their_class_and_end_at_their_own_tag() {
        let page = "<p>text</p><div id=a class=\"big text\"><div>one</div> two</div><i class=text>three</i>";
        let found = element(page, "text").unwrap();
        assert_eq!((found.before, found.inner), ("<p>text</p>", "<div>one</div> two"));
        assert_eq!(element(found.after, "text").unwrap().inner, "three");
        assert_eq!(element("<b class=text>open <b>x</b>", "text").unwrap().inner, "open <b>x</b>");
        assert_eq!(element("<p class=context>x</p> class=text>", "text"), None);
        assert_eq!(without(page, "text"), ("<p>text</p>".to_owned(), vec!["<div>one</div> two", "three"]));
    }

    #[test]
    fn hostile_pages_end_soon() {
        for html in [
            "<".repeat(200_000),
            "<style>".repeat(50_000),
            "&".repeat(200_000),
            "<!--".repeat(100_000),
            "</style".repeat(50_000),
        ] {
            assert!(to_text(&html).len() <= html.len());
            assert!(without(&html, "text").1.is_empty());
        }
        for tag in ["text", "text ", "<b class=text>"] {
            assert!(without(&tag.repeat(20_000), "text").1.len() <= 1);
        }
    }
}
