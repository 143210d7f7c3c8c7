use super::*;
use crate::{Role, Transcript};

fn read_as(name: &str, text: &str) -> (Vec<Transcript>, Vec<(usize, String)>) {
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    Mbox.read(Input::from_text(name, text), &mut sink).unwrap();
    let skipped = sink.skipped.iter().map(|skipped| (skipped.record, skipped.reason.clone())).collect();
    (seen, skipped)
}

/// Returns a mail for a mailbox: its headers, in addition to the common headers, and its text.
fn mail(id: &str, date: &str, headers: &str, text: &str) -> String {
    format!(
        "From x@e.org Thu Mar  5 10:00:00 2026\nMessage-ID: <{id}>\nDate: {date}\nFrom: Ana <ana@e.org>\n{headers}\n{text}\n\n"
    )
}

/// Returns the identity and texts of each thread.
fn outline(text: &str) -> Vec<(String, Vec<String>)> {
    let (seen, _) = read_as("a.mbox", text);
    let texts = |one: &Transcript| one.messages.iter().map(|message| message.text.clone()).collect();
    seen.iter().map(|one| (one.external_id.clone(), texts(one))).collect()
}

fn expected(rows: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    rows.iter().map(|(id, texts)| ((*id).to_owned(), texts.iter().map(|text| (*text).to_owned()).collect())).collect()
}

#[test]
fn threads_are_joined_and_ordered_by_time_wherever_they_stand() {
    let text = [
        mail("c", "Thu, 5 Mar 2026 12:00:00 +0000", "References: <a> <b>\n", "three"),
        mail("x", "Thu, 5 Mar 2026 09:00:00 +0000", "", "other"),
        mail("a", "Thu, 5 Mar 2026 10:00:00 +0000", "", "one"),
        // This mail was sent at 11:30 UTC, before the mail "three", although its clock shows a later time.
        mail("b", "Thu, 5 Mar 2026 13:30:00 +0200", "In-Reply-To: <a>\n", "two"),
    ]
    .concat();
    assert_eq!(outline(&text), expected(&[("a", &["one", "two", "three"]), ("x", &["other"])]));
}

#[test]
fn an_answer_whose_question_is_missing_is_known_by_it_all_the_same() {
    let answer = mail("b", "Thu, 5 Mar 2026 11:00:00 +0000", "References: <a>\n", "two");
    let question = mail("a", "Thu, 5 Mar 2026 10:00:00 +0000", "", "one");
    assert_eq!(outline(&answer), expected(&[("a", &["two"])]));
    assert_eq!(outline(&(answer + &question)), expected(&[("a", &["one", "two"])]));
}

#[test]
fn a_mail_that_connects_two_threads_joins_them() {
    let text = [
        mail("a", "Thu, 5 Mar 2026 10:00:00 +0000", "", "one"),
        mail("b", "Thu, 5 Mar 2026 11:00:00 +0000", "", "two"),
        mail("c", "Thu, 5 Mar 2026 12:00:00 +0000", "References: <a> <b>\n", "three"),
    ]
    .concat();
    assert_eq!(outline(&text), expected(&[("a", &["one", "two", "three"])]));
}

#[test]
fn gmail_decides_what_belongs_together() {
    let text = [
        mail("a", "Thu, 5 Mar 2026 10:00:00 +0000", "X-GM-THRID: 17\n", "one"),
        mail("b", "Thu, 5 Mar 2026 11:00:00 +0000", "X-GM-THRID: 18\nReferences: <a>\n", "new subject"),
        mail("c", "Thu, 5 Mar 2026 12:00:00 +0000", "X-GM-THRID: 17\n", "two"),
    ]
    .concat();
    assert_eq!(outline(&text), expected(&[("17", &["one", "two"]), ("18", &["new subject"])]));
}

#[test]
fn a_second_copy_is_left_out_and_what_was_put_aside_is_reported() {
    let date = "Thu, 5 Mar 2026 10:00:00 +0000";
    let text = [
        mail("a", date, "X-Gmail-Labels: Sent\n", "one"),
        mail("a", date, "X-Gmail-Labels: Inbox\n", "one"),
        mail("s", date, "X-Gmail-Labels: Spam,Unread\n", "won"),
        mail("d", date, "X-Gmail-Labels: Drafts\n", "half a thou"),
        mail("f", date, "X-Spam-Flag: YES\n", "won again"),
        "From x@e.org Thu Mar  5 10:00:00 2026\n\njust words\n\n".to_owned(),
    ]
    .concat();
    let (seen, skipped) = read_as("a.mbox", &text);
    assert_eq!((seen.len(), seen[0].messages.len()), (1, 1));
    let pieces = [
        (3, "marked as spam, so none of it is kept"),
        (4, "marked as a draft, so none of it is kept"),
        (5, "marked as spam, so none of it is kept"),
        (6, "not a mail message: it has no headers"),
    ];
    assert_eq!(skipped, pieces.map(|(number, reason)| (number, reason.to_owned())));
}

#[test]
fn the_senders_clock_is_kept_and_absurd_dates_are_no_time() {
    let time = |date: &str| {
        let (seen, _) = read_as("a.mbox", &mail("a", date, "", "one"));
        seen[0].messages[0].time.map(|time| (time.at.to_string(), time.offset_seconds))
    };
    assert_eq!(time("Thu, 5 Mar 2026 10:00:00 -0330"), Some(("2026-03-05T13:30:00Z".to_owned(), Some(-12_600))));
    assert_eq!(time("Thu, 5 Mar 2026 10:00:00 GMT"), Some(("2026-03-05T10:00:00Z".to_owned(), Some(0))));
    for absurd in ["soon", "Thu, 99 Mar 2026 10:00:00 +0000", "Thu, 5 Mar 9026 10:00:00 +0000", ""] {
        assert_eq!(time(absurd), None, "{absurd}");
    }
}

#[test]
fn what_machines_send_is_no_person_speaking() {
    let role = |headers: &str| {
        let (seen, _) = read_as("a.mbox", &mail("a", "Thu, 5 Mar 2026 10:00:00 +0000", headers, "one"));
        seen[0].messages[0].role
    };
    let rows = [
        ("", Role::User),
        ("List-Unsubscribe: <https://e.org>\nList-Post: <mailto:list@e.org>\n", Role::User),
        ("Auto-Submitted: no\n", Role::User),
        ("List-Unsubscribe: <https://e.org>\n", Role::Other),
        ("Auto-Submitted: auto-replied\n", Role::Other),
        ("Precedence: bulk\n", Role::Other),
    ];
    for (headers, expected) in rows {
        assert_eq!(role(headers), expected, "{headers}");
    }
    let machine = "Message-ID: <m>\nDate: Thu, 5 Mar 2026 10:00:00 +0000\nFrom: Shop <no-reply@e.org>\n\nPaid.\n";
    assert_eq!(read_as("a.eml", machine).0[0].messages[0].role, Role::Other);
}

#[test]
fn speakers_are_named_as_people_see_them() {
    let speaker = |from: &str| {
        let text = format!("Message-ID: <m>\nDate: Thu, 5 Mar 2026 10:00:00 +0000\nFrom: {from}\n\nHi\n");
        read_as("a.eml", &text).0[0].messages[0].speaker.clone().unwrap_or_default()
    };
    let rows = [
        ("=?UTF-8?Q?Lu=C3=ADs?= <l@e.org>", "Luís"),
        ("\"Silva, Ana\" <a@e.org>", "Silva, Ana"),
        ("'Ana Vos' via Sheds <sheds@lists.e.org>", "Ana Vos"),
        ("ana at e.org (Ana Vos)", "Ana Vos"),
        ("ana at e.org (=?ISO-8859-1?Q?J=F6rg?= Vos)", "Jörg Vos"),
        ("a@e.org", "a@e.org"),
        ("<a@e.org>", "a@e.org"),
    ];
    for (from, name) in rows {
        assert_eq!(speaker(from), name, "{from}");
    }
}

#[test]
fn archives_of_lists_are_split_and_dated_and_what_they_removed_is_nobodys() {
    let mail = |name: &str, second: u8, words: &str| {
        format!(
            "From {name} at e.org  Mon May  3 07:20:{second} 2004\nFrom: {name} at e.org ({name} Vos)\nDate: Mon May  3 07:20:{second} 2004\nSubject: [Sheds] paint\nMessage-ID: <{name}@e.org>\n\n{words}\n"
        )
    };
    let removed =
        "-------------- next part --------------\nAn HTML attachment was scrubbed...\nURL: http://e.org/attachment.htm";
    let bare = "Skipped content of type multipart/alternative";
    let text = [mail("ana", 24, &format!("Green.\n{removed}")), mail("bo", 30, &format!("Blue.\n{bare}"))].concat();
    let (seen, _) = read_as("2004-May.txt", &text);
    let said: Vec<_> = seen.iter().flat_map(|one| &one.messages).collect();
    let pieces: Vec<_> = said.iter().map(|one| (one.speaker.as_deref().unwrap(), one.text.as_str())).collect();
    assert_eq!(pieces, [("ana Vos", "Green."), ("bo Vos", "Blue.")]);
    let time = said[0].time.unwrap();
    assert_eq!((time.at.to_string().as_str(), time.offset_seconds), ("2004-05-03T07:20:24Z", None));
}

#[test]
fn a_quote_is_kept_above_the_first_mail_of_a_thread_alone() {
    let quote = "Yes.\n\nOn Wed, 4 Mar 2026 at 10:00, Luis wrote:\n> Tea?";
    let text = [
        mail("a", "Thu, 5 Mar 2026 10:00:00 +0000", "", quote),
        mail("b", "Thu, 5 Mar 2026 11:00:00 +0000", "References: <a>\n", "No.\n\nAna wrote:\n> Yes."),
    ]
    .concat();
    let (seen, _) = read_as("a.mbox", &text);
    let kinds: Vec<_> = seen[0].messages.iter().map(|message| (message.kind, message.text.as_str())).collect();
    let asked = "On Wed, 4 Mar 2026 at 10:00, Luis wrote:\nTea?";
    assert_eq!(kinds, [(Kind::Context, asked), (Kind::Prose, "Yes."), (Kind::Prose, "No.")]);
}

#[test]
fn a_mail_alone_is_known_by_its_own_id_and_one_of_no_words_by_its_subject() {
    let text = "Message-ID: <b>\nReferences: <a>\nDate: Thu, 5 Mar 2026 10:00:00 +0000\nFrom: Ana <a@e.org>\nSubject: Re: Lunch at one\n\n";
    let (seen, _) = read_as("b.eml", text);
    assert_eq!((seen[0].external_id.as_str(), seen[0].title.as_deref()), ("b", Some("Lunch at one")));
    assert_eq!(seen[0].messages[0].text, "Re: Lunch at one");
}

#[test]
fn mails_are_recognised_and_patches_and_notes_are_not() {
    let recognised = |text: &str| Mbox.sniff(&Head::new(text.to_owned().into(), true));
    let first = mail("a", "Thu, 5 Mar 2026 10:00:00 +0000", "Received: by e.org\n with SMTP\n", "one");
    assert!(recognised(&first));
    assert!(recognised(&first.replace('\n', "\r\n")));
    assert!(recognised(first.split_once('\n').unwrap().1));
    for text in [
        "From 4f3a2b1c Mon Sep 17 00:00:00 2001\nFrom: Ana <a@e.org>\nDate: Thu, 5 Mar 2026 10:00:00 +0000\nSubject: [PATCH] x\n\n---\n",
        "From: Ana\nDate: today\nMessage: x\n\ntext",
        "From: Ana\nnot a header\nDate: x\nMessage-ID: y\n",
        "From here on, no mail\n",
    ] {
        assert!(!recognised(text), "{text}");
    }
}
