//! Tests of conversations among people, from the downloaded file to dates, speakers and order.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use transcripts::{Input, Logs, Sink, detect, detect_folder};
use transcripts::{Message, Transcript};

/// Writes `text` as a file called `name`.
fn file(name: &str, text: &str) -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(name);
    std::fs::write(&path, text).unwrap();
    (place, path)
}

/// Packs `files` into an archive called `name`.
fn archive(name: &str, files: &[(&str, String)]) -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(name);
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    for (name, text) in files {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    (place, path)
}

/// Opens the file or folder at `path`, detects the format, and reads everything.
fn read(path: &Path) -> (Vec<&'static str>, Vec<Transcript>, Vec<String>) {
    let (mut formats, mut seen) = (Vec::new(), Vec::new());
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    let mut take = |input: Input, sink: &mut Sink<'_>| {
        let Ok(ingestor) = detect(&input) else { return };
        formats.push(ingestor.name());
        ingestor.read(input, sink).unwrap();
    };
    match Logs::open(path).unwrap() {
        Logs::File(input) => take(*input, &mut sink),
        Logs::Folder(folder) => match detect_folder(&folder) {
            Some(ingestor) => {
                formats.push(ingestor.name());
                ingestor.read_folder(&folder, &mut sink).unwrap();
            }
            None => folder.all_files().iter().for_each(|name| take(folder.open(name).unwrap(), &mut sink)),
        },
    }
    let skipped = sink.skipped.into_iter().map(|skipped| skipped.reason).collect();
    (formats, seen, skipped)
}

/// Formats a message for a person to check: the time on the writer's clock, the offset of this clock, and the writer.
fn line(message: &Message) -> String {
    let mut line = String::new();
    match message.time {
        Some(time) => write!(line, "{}", time.civil().strftime("%F %H:%M:%S")).unwrap(),
        None => line.push_str("no time"),
    }
    let offset = message.time.and_then(|time| time.offset_seconds);
    line.push_str(&offset.map_or(" ?".to_owned(), |seconds| format!(" {:+}", seconds / 3_600)));
    let speaker = message.speaker.as_deref().unwrap_or("-");
    write!(line, " {:?} {:?} {speaker}: {}", message.role, message.kind, message.text.replace('\n', " / ")).unwrap();
    line
}

fn lines(transcript: &Transcript) -> Vec<String> {
    transcript.messages.iter().map(line).collect()
}

/// Reads the single chat at `path`; the export does not contain the time zone of the phone's clock.
fn chat(path: &Path) -> (String, Vec<String>) {
    let (formats, mut seen, skipped) = read(path);
    assert_eq!((formats, seen.len(), skipped), (vec!["whatsapp"], 1, vec![]));
    let one = seen.remove(0);
    (one.title.clone().unwrap_or_default(), lines(&one))
}

fn post(user: &str, ts: &str, text: &str) -> Value {
    json!({"type": "message", "user": user, "ts": ts, "text": text, "team": "T1"})
}

#[test]
fn a_slack_archive_comes_out_with_names_clocks_and_threads_in_order() {
    let users = json!([
        {"id": "U1", "name": "nadia.b", "tz_offset": 3600, "profile": {"display_name": "Nadia", "real_name": "Nadia Berg"}},
        {"id": "U2", "name": "kofi", "tz_offset": -18000, "profile": {"display_name": "", "real_name": "Kofi Mensah"}},
        {"id": "UB", "name": "gatebot", "is_bot": true, "profile": {"real_name": "Gate Bot"}}]);
    let channels = json!([{"id": "C1", "name": "orchard", "members": ["U1", "U2"]}]);
    let mut opener = post("U1", "1772442000.000200", "<@U2> which trees &amp; when?");
    opener["thread_ts"] = json!("1772442000.000200");
    opener["reply_count"] = json!(1);
    let mut answer = post("U2", "1772528400.000300", "The pears, on Friday");
    answer["thread_ts"] = json!("1772442000.000200");
    // Within a second, the digits after the point determine the order, and a float would round them away.
    let first_day = json!([
        post("U2", "1772442060.000010", "second"),
        {"type": "message", "subtype": "channel_join", "user": "U2", "ts": "1772441990.000100", "text": "<@U2> has joined"},
        post("U1", "1772442060.000009", "first"),
        opener,
    ]);
    let mut shared = post("U1", "1772528500.000400", "");
    shared["attachments"] = json!([{"author_name": "Kofi Mensah", "text": "I sold the van", "is_share": true}]);
    let second_day = json!([
        answer,
        {"type": "message", "subtype": "bot_message", "bot_id": "B1", "username": "gate", "ts": "1772528450.000100", "text": "Gate open"},
        shared,
    ]);
    let (_place, path) = archive(
        "Orchard Slack export Mar 1 2026 - Mar 4 2026.zip",
        &[
            ("users.json", users.to_string()),
            ("channels.json", channels.to_string()),
            ("orchard/2026-03-03.json", second_day.to_string()),
            ("orchard/2026-03-02.json", first_day.to_string()),
        ],
    );
    let (formats, mut seen, skipped) = read(&path);
    seen.sort_by(|a, b| a.external_id.cmp(&b.external_id));
    assert_eq!((formats, skipped), (vec!["slack"], vec![]));
    let named: Vec<_> =
        seen.iter().map(|one| (one.external_id.as_str(), one.title.as_deref(), one.project.as_deref())).collect();
    let thread = ("C1:1772442000.000200", Some("#orchard"), Some("orchard"));
    assert_eq!(named, [("C1", Some("#orchard"), Some("orchard")), thread]);
    assert_eq!(
        lines(&seen[0]),
        [
            "2026-03-02 10:01:00 +1 User Prose Nadia: first",
            "2026-03-02 04:01:00 -5 User Prose Kofi Mensah: second",
            "2026-03-03 09:00:50 +0 Other Prose gate: Gate open",
            "2026-03-03 10:01:40 +1 User Context -: Kofi Mensah / I sold the van",
        ]
    );
    assert_eq!(
        lines(&seen[1]),
        [
            "2026-03-02 10:00:00 +1 User Prose Nadia: @Kofi Mensah which trees & when?",
            "2026-03-03 04:00:00 -5 User Prose Kofi Mensah: The pears, on Friday",
        ]
    );
}

#[test]
fn an_american_chat_of_android_has_the_month_first() {
    let text = "3/4/26, 11:58\u{202f}PM - Messages and calls are end-to-end encrypted. Learn more.\n\
        3/4/26, 11:58\u{202f}PM - Dana created group \"Trail crew\"\n\
        3/4/26, 11:59\u{202f}PM - Dana: Who brings the saw?\nAnd gloves: two pairs.\n\
        3/5/26, 12:00\u{202f}AM - Maria \"Mia\" Lopez: I do\n\
        3/5/26, 12:10\u{202f}PM - Dana changed the group name from \"Trail crew\" to \"Trail crew: 2026\"\n\
        3/5/26, 12:11\u{202f}PM - +1 555 0100: <Media omitted>\n";
    let (_place, path) = file("WhatsApp Chat with Trail crew.txt", text);
    assert_eq!(
        chat(&path),
        (
            "Trail crew".to_owned(),
            [
                "2026-03-04 23:58:00 ? System Context -: Messages and calls are end-to-end encrypted. Learn more.",
                "2026-03-04 23:58:00 ? System Context -: Dana created group \"Trail crew\"",
                "2026-03-04 23:59:00 ? User Prose Dana: Who brings the saw? / And gloves: two pairs.",
                "2026-03-05 00:00:00 ? User Prose Maria \"Mia\" Lopez: I do",
                "2026-03-05 12:10:00 ? System Context -: Dana changed the group name from \"Trail crew\" to \"Trail crew: 2026\"",
                "2026-03-05 12:11:00 ? User Attachment +1 555 0100: [media]",
            ]
            .map(str::to_owned)
            .to_vec()
        )
    );
}

#[test]
fn a_german_chat_of_ios_in_its_archive_has_the_day_first() {
    let text = "\u{200e}[05.03.26, 21:25:15] Ruderclub: \u{200e}Nachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.\r\n\
        [05.03.26, 21:26:11] ~\u{a0}Jörg: Boot 2 hat ein Leck\r\nbitte nicht nehmen\r\n\
        \u{200e}[06.03.26, 07:00:00] Meike: \u{200e}Bild weggelassen\r\n\
        [02.04.26, 08:00:59] Meike: Danke\r\n";
    let (_place, path) = archive("WhatsApp Chat - Ruderclub.zip", &[("_chat.txt", text.to_owned())]);
    let told = [
        "2026-03-05 21:25:15 ? System Context -: Nachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.",
        "2026-03-05 21:26:11 ? User Prose Jörg: Boot 2 hat ein Leck / bitte nicht nehmen",
        "2026-03-06 07:00:00 ? User Attachment Meike: [image]",
        "2026-04-02 08:00:59 ? User Prose Meike: Danke",
    ];
    assert_eq!(chat(&path), ("Ruderclub".to_owned(), told.map(str::to_owned).to_vec()));
}

#[test]
fn a_british_chat_without_a_day_over_twelve_is_read_by_what_falls() {
    let text = "28/02/2026, 09:00 - Asha: Tea at ours?\n01/03/2026, 09:05 - Owen: Gladly\n02/03/2026, 00:10 - Asha: Four o'clock\n";
    let (_place, path) = file("WhatsApp Chat with Asha.txt", text);
    let told = [
        "2026-02-28 09:00:00 ? User Prose Asha: Tea at ours?",
        "2026-03-01 09:05:00 ? User Prose Owen: Gladly",
        "2026-03-02 00:10:00 ? User Prose Asha: Four o'clock",
    ];
    assert_eq!(chat(&path).1, told);
    // The same text without its first line: no number exceeds twelve, but the day changes and the month does not.
    let (_place, path) = file("WhatsApp Chat with Asha.txt", text.split_once('\n').unwrap().1);
    assert_eq!(chat(&path).1, told[1..]);
}

#[test]
fn a_chinese_chat_has_the_year_first_and_the_parts_of_its_day() {
    let text = "2026/3/4 上午12:05 - 消息和通话都进行端到端加密。\n\
        2026/3/4 凌晨1:06 - 林小雨: 周六去爬山吗？\n带上午饭\n\
        2026/3/4 中午12:30 - 周航: 好的：我开车\n\
        2026/3/14 晚上11:05 - 林小雨: <省略多媒体文件>\n";
    let (_place, path) = file("与山友的 WhatsApp 聊天.txt", text);
    let told = [
        "2026-03-04 00:05:00 ? System Context -: 消息和通话都进行端到端加密。",
        "2026-03-04 01:06:00 ? User Prose 林小雨: 周六去爬山吗？ / 带上午饭",
        "2026-03-04 12:30:00 ? User Prose 周航: 好的：我开车",
        "2026-03-14 23:05:00 ? User Attachment 林小雨: [media]",
    ];
    assert_eq!(chat(&path), ("山友".to_owned(), told.map(str::to_owned).to_vec()));
}

#[test]
fn chats_written_from_right_to_left_and_in_other_digits_are_read() {
    let hebrew = "\u{200f}[4.3.2026, 22:02:15] דנה: \u{200f}\u{200e}ההודעות והשיחות מוצפנות מקצה לקצה.\n\
        \u{200f}[4.3.2026, 22:02:30] דנה: אני גרה בחיפה\n\
        \u{200f}[13.3.2026, 22:03:30] ~ יוסי: \u{200f}\u{200e}התמונה הושמטה\n";
    let (_place, path) = file("_chat.txt", hebrew);
    let told = chat(&path).1;
    assert!(told[0].starts_with("2026-03-04 22:02:15 ? System Context -: "), "{told:?}");
    assert_eq!(
        told[1..],
        ["2026-03-04 22:02:30 ? User Prose דנה: אני גרה בחיפה", "2026-03-13 22:03:30 ? User Attachment יוסי: [image]"]
    );
    let arabic = "\u{200f}٤\u{200f}/٣\u{200f}/٢٠٢٦، ١٠:٠٣ م - سارة: أسكن في عمان.\n\
        \u{200f}٤\u{200f}/٣\u{200f}/٢٠٢٦، ١٠:٠٤ م - علي: <تم استبعاد الوسائط>\n\
        \u{200f}٥\u{200f}/٣\u{200f}/٢٠٢٦، ٩:٠٤ ص - علي: تم حذف هذه الرسالة\n";
    let (_place, path) = file("سارة.txt", arabic);
    assert_eq!(
        chat(&path).1,
        [
            "2026-03-04 22:03:00 ? User Prose سارة: أسكن في عمان.",
            "2026-03-04 22:04:00 ? User Attachment علي: [media]",
            "2026-03-05 09:04:00 ? User Context علي: [message deleted]",
        ]
    );
}

#[test]
fn a_conversation_keeps_its_identity_and_ids_as_it_grows() {
    let chat = "3/4/26, 9:58 PM - Dana: Who brings the saw?\n3/4/26, 9:59 PM - Mia: I do.\n";
    let call = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Dana>Who brings the saw?</v>\n\n00:02.000 --> 00:03.000\n<v Mia>I do.</v>\n\n";
    let zoom = "10:02:33\t From Dana to Everyone:\n\tWho brings the saw?\n10:02:50\t From Mia to Everyone:\n\tI do.\n";
    let notes = "Dana: Who brings the saw?\nMia: I do.\nDana: Good.\nMia: At nine.\n";
    let grown = [
        ("WhatsApp Chat with Dana.txt", chat, "3/13/26, 9:59 PM - Dana: Good.\n"),
        ("call.vtt", call, "00:04.000 --> 00:05.000\n<v Dana>Good.</v>\n"),
        ("meeting_saved_chat.txt", zoom, "10:03:00\t From Dana to Everyone:\n\tGood.\n"),
        ("notes.txt", notes, "Rui: I come too.\nDana: Fine.\n"),
    ];
    let ids = |name: &str, text: &str| {
        let (_place, path) = file(name, text);
        let (_, mut seen, _) = read(&path);
        let one = seen.remove(0);
        let said: Vec<_> = one.messages.iter().map(|message| (message.id.clone(), message.text.clone())).collect();
        (one.external_id, said)
    };
    for (name, text, more) in grown {
        let (before, after) = (ids(name, text), ids(name, &format!("{text}{more}")));
        assert_eq!(before.0, after.0, "{name}");
        assert!(after.1.len() > before.1.len() && after.1.starts_with(&before.1), "{name}: {after:?}");
    }
}

#[test]
fn documents_that_look_like_conversations_are_none() {
    let documents = [
        ("server.log", "2026-03-04 10:02:33 - Database: connected.\n2026-03-04 10:02:34 - Server: ready.\n"),
        ("jobs.log", "[04/03/2026 10:02:33] Scheduler: started.\n[04/03/2026 10:02:34] Worker 1: took a job.\n"),
        ("app.log", "10:02:33\tINFO:\tStarted\n10:02:34\tWARN:\tSlow\n"),
        ("httpd.log", "127.0.0.1 - - [04/Mar/2026:10:02:33 +0100] \"GET / HTTP/1.1\" 200 12\n"),
        (
            "diary.txt",
            "04.03.2026, 10:02 - Morning: a run.\n05.03.2026, 10:10 - Morning: a rest.\n06.03.2026, 19:00 - Evening: read.\n",
        ),
        ("agenda.txt", "00:00:00\nIntro: the host welcomes all.\n00:05:00\nDemo: Ana shows the parser.\n"),
        ("race.txt", "Results\n\nAna Silva   0:12\nwon the lap\nRui Paz   0:19\nfell\n"),
        ("songs.txt", "Aurora  3:12\nBlue Hour  4:05\nCinder  4:40\n"),
        ("faq.md", "# FAQ\n\nQ: What is it?\nA: A tool.\n\nQ: Is it free?\nA: Yes.\n"),
        ("minutes.md", "Decision: We ship.\nOwner: Ana.\nDecision: We wait.\nOwner: Rui.\n"),
        (
            "play.txt",
            "ACT I\nSCENE 1. A street.\n\nBORIS: The night is cold.\nCLARA: It is.\nBORIS: I have no sword.\nCLARA: I have wits.\n",
        ),
        ("welcome.eml", "From: {{sender}}\nTo: {{to}}\nSubject: Welcome\nDate: {{date}}\n\nHello {{name}},\n"),
        (
            "fix.patch",
            "From 3f73e26aa00b3f73e26aa00b3f73e26aa00b1234 Mon Sep 17 00:00:00 2001\nFrom: Ana <ana@example.org>\nDate: Wed, 4 Mar 2026 10:02:33 +0100\nSubject: [PATCH] Fix\n\n---\n",
        ),
        ("week.csv", "date,who\n2026-03-04 10:02,Ana: x\n2026-03-05 10:02,Ana: y\n"),
        (
            "novel.txt",
            "Chapter 3\n\n“I never said that,” said Marta.\n\nPaul looked up: she was gone.\n\n“You did,” he said. “On Tuesday: at the fair.”\n",
        ),
    ];
    for (name, text) in documents {
        let (_place, path) = file(name, text);
        assert_eq!(read(&path).0, [""; 0], "{name}");
    }
}
