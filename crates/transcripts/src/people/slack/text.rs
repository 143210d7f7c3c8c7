//! The text of a message: mark-up with ids in it, or blocks of rich text, as people saw it.

use serde_json::Value;

use super::names::Names;

/// Deepest nesting of blocks that is read.
const MAX_DEPTH: usize = 32;

/// Returns `text` with names for ids, plain links and plain characters.
#[must_use]
pub fn plain(text: &str, names: &Names) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        let inside = &rest[open + 1..];
        // Typed angle brackets are escaped, so one without an end is no mark-up.
        let Some(close) = inside.find(['>', '<']).filter(|close| inside[*close..].starts_with('>')) else {
            shown.push_str(&rest[..=open]);
            rest = inside;
            continue;
        };
        shown.push_str(&rest[..open]);
        shown.push_str(&reference(&inside[..close], names));
        rest = &inside[close + 1..];
    }
    shown.push_str(rest);
    unescape(&shown)
}

fn unescape(text: &str) -> String {
    // The ampersand last, so that an escaped reference is decoded once only.
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Returns what people saw in place of `<inside>`.
fn reference(inside: &str, names: &Names) -> String {
    let (target, label) = inside.split_once('|').map_or((inside, ""), |(target, label)| (target, label.trim()));
    if let Some(id) = target.strip_prefix('@') {
        let name = names.person(id).map(|person| person.name.as_str());
        return format!("@{}", name.unwrap_or(if label.is_empty() { id } else { label }));
    }
    if let Some(id) = target.strip_prefix('#') {
        let title = names.channel_title(id).map(|title| title.trim_start_matches('#'));
        return format!("#{}", if label.is_empty() { title.unwrap_or(id) } else { label });
    }
    if let Some(command) = target.strip_prefix('!') {
        let word = command.split('^').next().unwrap_or_default();
        return if label.is_empty() { format!("@{word}") } else { label.to_owned() };
    }
    link(target, label)
}

/// Returns a link as its label with the address behind it, or as one of them where they say the same.
fn link(address: &str, label: &str) -> String {
    let bare = ["mailto:", "tel:"].into_iter().find_map(|scheme| address.strip_prefix(scheme)).unwrap_or(address);
    let short = ["https://", "http://"].into_iter().find_map(|scheme| bare.strip_prefix(scheme)).unwrap_or(bare);
    if label.is_empty() || label == bare || label == short || label == short.trim_end_matches('/') {
        bare.to_owned()
    } else {
        format!("{label} ({bare})")
    }
}

/// Returns the text of blocks, for messages whose own text is empty.
#[must_use]
pub fn of_blocks(blocks: &Value, names: &Names) -> String {
    let mut shown = String::new();
    for block in blocks.as_array().into_iter().flatten() {
        append(block, names, 0, &mut shown);
        end_line(&mut shown);
    }
    shown.trim().to_owned()
}

fn append(block: &Value, names: &Names, depth: usize, shown: &mut String) {
    if depth > MAX_DEPTH {
        return;
    }
    let text = |key: &str| block[key].as_str().unwrap_or_default();
    match text("type") {
        "text" => shown.push_str(text("text")),
        "link" => shown.push_str(&link(text("url"), text("text"))),
        "user" => shown.push_str(&reference(&format!("@{}", text("user_id")), names)),
        "channel" => shown.push_str(&reference(&format!("#{}", text("channel_id")), names)),
        "emoji" => shown.extend([":", text("name"), ":"]),
        "broadcast" => shown.extend(["@", text("range")]),
        "date" => shown.push_str(text("fallback")),
        "mrkdwn" | "plain_text" => shown.push_str(&plain(text("text"), names)),
        "section" | "header" => append(&block["text"], names, depth + 1, shown),
        "rich_text_list" => each(block, names, depth, shown, "- "),
        "rich_text_quote" => each_quoted(block, names, depth, shown),
        "rich_text" => each(block, names, depth, shown, ""),
        // Sections, code and whatever is new hold their pieces one behind the other.
        _ => {
            let elements = block["elements"].as_array();
            elements.into_iter().flatten().for_each(|element| append(element, names, depth + 1, shown));
        }
    }
}

/// Appends the elements of `block` on lines of their own.
fn each(block: &Value, names: &Names, depth: usize, shown: &mut String, bullet: &str) {
    for element in block["elements"].as_array().into_iter().flatten() {
        end_line(shown);
        shown.push_str(bullet);
        append(element, names, depth + 1, shown);
    }
    end_line(shown);
}

fn each_quoted(block: &Value, names: &Names, depth: usize, shown: &mut String) {
    let mut quoted = String::new();
    for element in block["elements"].as_array().into_iter().flatten() {
        append(element, names, depth + 1, &mut quoted);
    }
    end_line(shown);
    quoted.trim().lines().for_each(|line| shown.extend(["> ", line, "\n"]));
}

fn end_line(shown: &mut String) {
    if !shown.is_empty() && !shown.ends_with('\n') {
        shown.push('\n');
    }
}

/// Returns what an attachment shows: a preview of a link, a shared message, or what a bot has to say.
#[must_use]
pub fn of_attachment(attachment: &Value, names: &Names) -> String {
    let text = |key: &str| attachment[key].as_str().filter(|text| !text.trim().is_empty());
    let fields = attachment["fields"].as_array().into_iter().flatten().map(|field| {
        let (title, value) = (field["title"].as_str().unwrap_or_default(), field["value"].as_str().unwrap_or_default());
        format!("{title}: {value}")
    });
    let shown = ["pretext", "author_name", "title", "text"].into_iter().filter_map(text).map(str::to_owned);
    let mut lines: Vec<String> = shown.chain(fields).collect();
    if lines.is_empty() {
        lines.extend(text("fallback").map(str::to_owned));
    }
    let blocks = of_blocks(&attachment["blocks"], names);
    let lines = lines.iter().map(|line| plain(line, names));
    lines.chain((!blocks.is_empty()).then_some(blocks)).collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn mark_up_reads_as_people_saw_it() {
        let names = Names::default();
        let rows = [
            ("see <https://e.org/a|the plan> &amp; ask", "see the plan (https://e.org/a) & ask"),
            ("<https://e.org>", "https://e.org"),
            ("<http://e.org|e.org> <mailto:a@e.org|a@e.org>", "http://e.org a@e.org"),
            ("<#C1|general> <#C2> <@U1> <@U2|ana>", "#general #C2 @U1 @ana"),
            ("<!here> <!subteam^S1|@ops> <!date^1709287200^{date}|1 March>", "@here @ops 1 March"),
            ("1 &lt; 2 &amp;lt; <b", "1 < 2 &lt; <b"),
            ("a <b <https://e.org|x>", "a <b x (https://e.org)"),
        ];
        for (text, shown) in rows {
            assert_eq!(plain(text, &names), shown, "{text}");
        }
    }

    #[test]
    fn rich_text_keeps_lines_lists_and_quotes() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let section = |elements: Value| json!({"type": "rich_text_section", "elements": elements});
        let blocks = json!([{"type": "rich_text", "elements": [
            section(json!([text("Plan for "), {"type": "user", "user_id": "U1"}, {"type": "emoji", "name": "tada"}])),
            {"type": "rich_text_list", "elements": [section(json!([text("one")])), section(json!([text("two")]))]},
            {"type": "rich_text_quote", "elements": [text("old\nwords")]},
            {"type": "rich_text_preformatted", "elements": [text("x = 1")]},
        ]}]);
        let shown = "Plan for @U1:tada:\n- one\n- two\n> old\n> words\nx = 1";
        assert_eq!(of_blocks(&blocks, &Names::default()), shown);
    }
}
