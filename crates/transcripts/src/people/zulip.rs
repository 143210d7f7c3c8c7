//! Zulip: topics stored by the archive tool, messages returned by the API, and pages of a static archive.

use std::collections::HashSet;

use serde_json::Value;

use crate::json::Json;
use crate::message::identity;
use crate::message::parts::unescaped;
use crate::people::html;
use crate::{
    Assembler, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Records, Role, Sink, TimeSource,
};

/// Classes of elements that show a linked page, which the person did not write.
const PREVIEWS: &[&str] = &["message_embed", "inline-preview-twitter", "message_inline_image"];

/// Reads Zulip topics.
pub(crate) struct Zulip;

impl Ingestor for Zulip {
    named!("zulip");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let of_api = head.document.as_ref().map_or(&[][..], |document| document["messages"].list());
        head.objects().chain(of_api.iter().take(1)).any(is_message) || is_page(&head.text)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut topic = Topic::new(&input);
        let start = input.head();
        if is_page(&start) {
            drop(start);
            let Some(text) = sink.whole_text(input, "text")? else { return Ok(()) };
            topic.read_page(&text, sink);
        } else {
            let is_array = start.trim_start().starts_with('[');
            drop(start);
            let mut records =
                if is_array { Records::elements(input) } else { Records::elements_of(input, &["messages"]) };
            while let Some((number, message)) = records.next_json::<Value>(sink)? {
                if !is_message(&message) {
                    sink.skip(number, "not a message: no `sender_full_name`, `content` and `timestamp`");
                    continue;
                }
                let time = identity::instant(&message["timestamp"]).map(MessageTime::logged);
                let id = message["id"].to_string();
                topic.add(&id, message["sender_full_name"].string(), time, message["content"].string(), sink);
            }
        }
        topic.draft.finish(sink);
        Ok(())
    }
}

fn is_message(value: &Value) -> bool {
    value["sender_full_name"].is_string() && value["content"].is_string() && value["timestamp"].is_number()
}

fn is_page(text: &str) -> bool {
    text.trim_start().starts_with('<') && text.contains("Zulip") && html::element(text, "comments").is_some()
}

/// The state of a topic that is being read.
struct Topic {
    draft: Assembler,
    stem: String,
    /// Ids of the messages; a page may contain a message twice.
    seen: HashSet<String>,
}

impl Topic {
    fn new(input: &Input) -> Self {
        let stem = readable(&input.stem());
        let mut draft = Assembler::new("zulip", "", input.path.display().to_string());
        draft.meta().title = Some(stem.clone());
        // The archive tool puts the topics of a stream into a folder such as `113-garden`.
        let folder = input.path.parent().and_then(|folder| folder.file_name()).unwrap_or_default().to_string_lossy();
        let stream = folder.split_once('-').filter(|(id, _)| id.bytes().all(|byte| byte.is_ascii_digit()));
        draft.meta().project = stream.map(|(_, name)| readable(name));
        Self { draft, stem, seen: HashSet::new() }
    }

    fn add(&mut self, id: &str, sender: &str, time: Option<MessageTime>, content: &str, sink: &mut Sink<'_>) {
        if !self.seen.insert(id.to_owned()) {
            return;
        }
        // Notices from Zulip and other programs have senders of this form.
        let role = if sender.ends_with(" Bot") { Role::Other } else { Role::User };
        let speaker = Some(sender.to_owned()).filter(|sender| !sender.is_empty());
        for (kind, text) in messages(content) {
            let id = match kind {
                Kind::Attachment => format!("{id}/reply"),
                Kind::Context => format!("{id}/embed"),
                _ => id.to_owned(),
            };
            let message = Message { id, time, speaker: speaker.clone(), ..Message::new(role, kind, text) };
            self.draft.name_after(&message, || identity::of_parts(&[&self.stem, &message.id]));
            self.draft.push(message, sink);
        }
    }

    fn read_page(&mut self, text: &str, sink: &mut Sink<'_>) {
        let heading = html::element(text, "header").map(|heading| html::to_text(heading.inner));
        self.draft.meta().title = heading.filter(|title| !title.is_empty()).or(self.draft.meta().title.take());
        let mut rest = text;
        let mut number = 0;
        while let Some(comment) = html::element(rest, "comment") {
            number += 1;
            rest = comment.after;
            let part = |class: &str| html::element(comment.inner, class).map_or("", |part| part.inner);
            let (author, about, words) = (html::to_text(part("author")), part("metadata"), part("text"));
            if author.is_empty() {
                sink.skip(number, "comment without an author");
                continue;
            }
            let id = about.split_once("name=\"").and_then(|(_, rest)| rest.split_once('"')).map(|(id, _)| id);
            let id = id.map_or_else(|| number.to_string(), str::to_owned);
            let time = identity::written_time(&html::to_text(about), TimeSource::Log);
            self.add(&id, &author, time, words, sink);
        }
    }
}

/// Decodes a name in which the archive tool wrote each special character as a dot and two digits: `what.20now.3F`.
fn readable(name: &str) -> String {
    unescaped(name, b".%")
}

/// Splits the content of a message into the text that it replies to, the sender's own text, and previews of linked
/// pages.
fn messages(content: &str) -> Vec<(Kind, String)> {
    let is_html = content.trim_start().starts_with('<') && content.contains("</");
    if !is_html {
        return own(content);
    }
    let (mut words, mut previews) = (content.to_owned(), Vec::new());
    for class in PREVIEWS {
        let (kept, removed) = html::without(&words, class);
        previews.extend(removed.into_iter().map(|preview| (Kind::Context, html::to_text(preview))));
        words = kept;
    }
    let mut messages = own(&html::to_text(&lines_kept(&words)));
    messages.extend(previews.into_iter().filter(|(_, text)| !text.is_empty()));
    messages
}

/// Marks the line breaks in code, because line breaks are significant only there.
fn lines_kept(html: &str) -> String {
    let (mut kept, mut rest) = (String::new(), html);
    while let Some((before, code)) = rest.split_once("<pre>") {
        let (code, after) = code.split_once("</pre>").unwrap_or((code, ""));
        kept.extend([before, "<pre>", &code.replace('\n', "<br>"), "</pre>"]);
        rest = after;
    }
    kept + rest
}

/// Separates quoted lines, and the line with the name of their author, from the sender's own text.
fn own(text: &str) -> Vec<(Kind, String)> {
    let (mut quoted, mut own): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for line in text.lines() {
        match line.strip_prefix("> ") {
            Some(quote) => {
                own.truncate(own.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |place| place + 1));
                // Zulip writes `Ana said:` above a quotation.
                let names = own.pop_if(|last| last.trim_end().ends_with(" said:"));
                quoted.extend(names);
                quoted.push(quote);
            }
            None => own.push(line),
        }
    }
    let quoted = quoted.join("\n");
    let mark = (!quoted.is_empty()).then(|| (Kind::Attachment, format!("[in reply to: {quoted}]")));
    mark.into_iter().chain([(Kind::Prose, own.join("\n"))]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    fn message(id: u64, sender: &str, content: &str) -> Value {
        json!({"id": id, "sender_full_name": sender, "timestamp": 1_768_384_953, "content": content})
    }

    #[test]
    fn topics_and_answers_of_the_api_are_read_alike() {
        let messages = json!([message(7, "Ana", "<p>It <b>bakes</b>.</p>"), message(8, "Rui", "Yes.")]);
        for text in [messages.to_string(), json!({"result": "success", "messages": messages}).to_string()] {
            assert!(sniffs(&Zulip, &text), "{text}");
            let (seen, skipped) = read(&Zulip, "12-bread.20club/what.20now.3F.json", &text);
            assert_eq!(lines(&seen[0]), ["User Prose It bakes.", "User Prose Yes."]);
            assert_eq!((seen[0].title.as_deref(), seen[0].project.as_deref()), (Some("what now?"), Some("bread club")));
            assert_eq!((seen[0].messages[0].speaker.as_deref(), skipped.len()), (Some("Ana"), 0));
        }
    }

    #[test]
    fn quotations_previews_and_programs_are_no_words_of_the_sender() {
        let quoting = "<p><span class=\"user-mention silent\">Ana</span> <a href=\"#x\">said</a>:</p>\n<blockquote>\n<p>We move.</p>\n</blockquote>\n<p>Why?</p>\n<pre>a\nb</pre><div class=\"message_embed\"><div>A page</div></div>";
        let text = json!([message(1, "Rui", quoting), message(2, "Notification Bot", "Moved.")]).to_string();
        let (seen, _) = read(&Zulip, "x.json", &text);
        assert_eq!(
            lines(&seen[0]),
            [
                "User Attachment [in reply to: Ana said:\nWe move.]",
                "User Prose Why?\n\na\nb",
                "User Context A page",
                "Other Prose Moved.",
            ]
        );
    }

    #[test]
    fn pages_are_read_and_what_they_repeat_is_not() {
        let comment = |id: u32, words: &str| {
            format!(
                "<div class=\"comment\"><a class=\"avatar\"></a><div class=\"content\"><a class=\"author\">Ana</a><div class=\"metadata\"><a name=\"{id}\"><div>2026-01-14 10:02:33</div></a></div><div class=\"text\"><p>{words}</p></div></div></div>"
            )
        };
        let page = format!(
            "<html><title>x</title><h1 class=\"ui header\">Bread - Club</h1><p>Zulip Archive</p><div class=\"ui comments messages\">{}{}{}</div></html>",
            comment(1, "one"),
            comment(1, "one"),
            comment(2, "two &amp; three")
        );
        assert!(sniffs(&Zulip, &page) && !sniffs(&Zulip, &page.replace("Zulip", "Blog")));
        let (seen, _) = read(&Zulip, "x.html", &page);
        assert_eq!(lines(&seen[0]), ["User Prose one", "User Prose two & three"]);
        assert_eq!(seen[0].title.as_deref(), Some("Bread - Club"));
        assert_eq!(seen[0].messages[0].time.unwrap().at.to_string(), "2026-01-14T10:02:33Z");
    }

    #[test]
    fn what_is_no_message_is_reported() {
        let text = json!([message(1, "Ana", "one"), {"id": 2}]).to_string();
        assert_eq!(read(&Zulip, "x.json", &text).1.len(), 1);
        assert!(!sniffs(&Zulip, "[{\"sender_full_name\": \"Ana\"}]"));
    }
}
