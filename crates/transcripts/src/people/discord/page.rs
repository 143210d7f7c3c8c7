//! A Discord channel exported to HTML.

use std::sync::LazyLock;

use regex::Regex;

use super::spelling::{counted, file_label, set_names};
use crate::message::{identity, parts};
use crate::people::html::{self, element};
use crate::{Assembler, Kind, Message, MessageTime, Role, Sink};

/// Returns whether `text` is the start of a page of the exporter.
pub(super) fn is_page(text: &str) -> bool {
    // The style rules at the beginning of a page also contain the names of the classes.
    text.trim_start().starts_with('<') && text.contains("chatlog__message-group") && text.contains("chatlog__timestamp")
}

/// Reads the page `text`.
pub(super) fn read(text: &str, origin: String, sink: &mut Sink<'_>) {
    let entries: Vec<String> = ["preamble__entry", "info__guild-name", "info__channel-name"]
        .into_iter()
        .flat_map(|class| html::without(text, class).1)
        .map(html::to_text)
        .collect();
    let mut draft = Assembler::new("discord", "", origin);
    let [guild, channel] = [entries.first(), entries.get(1)].map(|entry| entry.cloned().unwrap_or_default());
    set_names(&mut draft, &guild, &channel);
    let mut rest = text;
    while let Some(group) = element(rest, "chatlog__message-group") {
        rest = group.after;
        for (id, message) in group_messages(group.inner) {
            draft.name_after(&message, || identity::of_parts(&[&guild, &channel, &id]));
            draft.push(message, sink);
        }
    }
    draft.finish(sink);
}

/// Returns the messages of one author, each with the id under which it was sent.
fn group_messages(group: &str) -> Vec<(String, Message)> {
    let author = element(group, "chatlog__author")
        .or_else(|| element(group, "chatlog__author-name"))
        .or_else(|| element(group, "chatlog__system-notification-author"));
    let speaker = author.map(|author| html::to_text(author.inner)).filter(|name| !name.is_empty());
    let is_program =
        ["chatlog__bot-tag", "chatlog__author-tag"].into_iter().any(|class| element(group, class).is_some());
    let role = if is_program { Role::Other } else { Role::User };
    let mut messages = Vec::new();
    for sent in group.split("data-message-id=").skip(1) {
        let id: String = sent.trim_start_matches('"').chars().take_while(char::is_ascii_digit).collect();
        let time = counted(&id).map(MessageTime::logged);
        for (kind, mark, text) in contents(sent) {
            let id = if mark.is_empty() { id.clone() } else { format!("{id}/{mark}") };
            let speaker = speaker.clone();
            messages.push((id.clone(), Message { id, speaker, time, ..Message::new(role, kind, text) }));
        }
    }
    messages
}

/// Returns the contents of a sent message: the text, the files, and previews of linked pages.
fn contents(sent: &str) -> Vec<(Kind, &'static str, String)> {
    let shown = |class: &str| html::without(sent, class).1;
    let notice = shown("chatlog__system-notification-content").into_iter().map(|text| (Kind::Context, "", words(text)));
    let said = element(sent, "chatlog__content").map(|content| {
        let (kept, _) = html::without(content.inner, "chatlog__edited-timestamp");
        let inner = ["markdown", "chatlog__markdown-preserve"].into_iter().find_map(|class| element(&kept, class));
        (Kind::Prose, "", inner.map_or_else(|| words(&kept), |inner| words(inner.inner)))
    });
    let files = shown("chatlog__attachment").into_iter().map(|file| {
        let address =
            file.split(['"', ' ', '>']).map(|part| part.trim_start_matches("href=").trim_start_matches("src="));
        (Kind::Attachment, "file", file_label(address.into_iter().find_map(parts::address_name)))
    });
    let embeds = shown("chatlog__embed").into_iter().map(|embed| (Kind::Context, "embed", html::to_text(embed)));
    said.into_iter().chain(notice).chain(files).chain(embeds).collect()
}

/// Returns the typed text, in which line breaks are significant and emoji are images.
fn words(html: &str) -> String {
    static PICTURE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"<img\b[^>]*?\balt=(?:"([^"]*)"|([^\s">]+))[^>]*>"#).expect("the pattern is constant")
    });
    let named = PICTURE.replace_all(html.trim(), "$1$2");
    html::to_text(&named.replace('\n', "<br>"))
}

#[cfg(test)]
mod tests {
    use super::super::Discord;
    use crate::testing::{lines, read, sniffs};

    const OLD: &str = r#"<html><style>.chatlog__timestamp { } .chatlog__message-group { }</style><body><div class="info__guild-name">Makers</div><div class="info__channel-name">general</div><div class="chatlog">
<div class="chatlog__message-group"><span class="chatlog__author-name" title="ana#1234" data-user-id="9">Ana</span><span class="chatlog__timestamp">04-Mar-26 11:00 AM</span>
<div class="chatlog__message " data-message-id="1478695118438400000" id="message-1"><div class="chatlog__content"><span class="markdown"><span class="mention">@bo</span> one &amp; two
three <img class="emoji" alt="😂" title="joy"></span><span class="chatlog__edited-timestamp">(edited)</span></div></div>
<div class="chatlog__message " data-message-id="1478695118438400001"><div class="chatlog__content"><span class="markdown"></span></div><div class="chatlog__attachment"><a href="https://cdn.example/a/plan.png"><img src="x"></a></div><div class="chatlog__embed"><div class="chatlog__embed-text">Preview</div></div></div></div>
<div class="chatlog__message-group"><span class="chatlog__author-name">ci</span><span class="chatlog__bot-tag">BOT</span><div class="chatlog__message" data-message-id="1478695118438400002"><div class="chatlog__content"><span class="markdown">Built.</span></div></div></div></div></body></html>"#;

    const NEW: &str = "<html><div class=preamble__entry>Makers</div><div class=preamble__entry>Text / general</div><div class=chatlog><div class=chatlog__message-group><div id=chatlog__message-container-1478695118438400000 class=chatlog__message-container data-message-id=1478695118438400000><div class=chatlog__reply><div class=chatlog__reply-author>bo</div></div><span class=chatlog__author title=ana>Ana</span> <span class=chatlog__timestamp>x</span><div class=\"chatlog__content chatlog__markdown\"><span class=chatlog__markdown-preserve>one\ntwo</span></div></div><div class=chatlog__message-container data-message-id=1478695118438400009><span class=chatlog__system-notification-content>pinned a message</span></div></div></div></html>";

    #[test]
    fn both_generations_of_the_page_are_read() {
        assert!(sniffs(&Discord, OLD) && sniffs(&Discord, NEW) && !sniffs(&Discord, "<p>chatlog__message-group</p>"));
        let (seen, _) = read(&Discord, "x.html", OLD);
        assert_eq!(
            lines(&seen[0]),
            [
                "User Prose @bo one & two\nthree 😂", "User Attachment [image: plan.png]", "User Context Preview",
                "Other Prose Built.",
            ]
        );
        let first = &seen[0].messages[0];
        assert_eq!((first.id.as_str(), first.speaker.as_deref()), ("1478695118438400000", Some("Ana")));
        assert_eq!(first.time.unwrap().at.to_string(), "2026-03-04T10:06:29.062Z");
        let (new, _) = read(&Discord, "x.html", NEW);
        assert_eq!(lines(&new[0]), ["User Prose one\ntwo", "User Context pinned a message"]);
        for one in [&seen[0], &new[0]] {
            assert_eq!((one.title.as_deref(), one.project.as_deref()), (Some("general"), Some("Makers")));
        }
    }
}
