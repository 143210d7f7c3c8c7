use super::*;
use crate::Transcript;

fn read_as(name: &str, text: &str) -> (Vec<Transcript>, usize) {
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    WhatsApp.read(Input::from_text(name, text), &mut sink).unwrap();
    let skipped = sink.skipped.len();
    (seen, skipped)
}

/// Returns time, kind, speaker and text of each message.
fn pieces(text: &str) -> Vec<String> {
    let (seen, _) = read_as("WhatsApp Chat with Test.txt", text);
    let messages = seen.iter().flat_map(|transcript| &transcript.messages);
    let line = |message: &Message| {
        let time = message.time.map_or("no time".to_owned(), |time| time.civil().to_string());
        assert!(message.time.is_none_or(|time| time.offset_seconds.is_none()), "a phone's clock has no known zone");
        let speaker = message.speaker.as_deref().unwrap_or("-");
        format!("{time} {:?} {speaker}: {}", message.kind, message.text.replace('\n', " / "))
    };
    messages.map(line).collect()
}

fn is_recognised(text: &str) -> bool {
    WhatsApp.sniff(&Head::new(text.into(), true))
}

#[test]
fn an_american_export_of_android_reads_month_first() {
    let text = "3/5/26, 9:25\u{202f}PM - Messages and calls are end-to-end encrypted. Tap to learn more.\n\
        3/5/26, 9:26\u{202f}PM - Nora: Did you book\nthe hall?\n\nFor June.\n\
        3/6/26, 12:01\u{202f}AM - Theo: <Media omitted>\n\
        3/6/26, 12:02\u{202f}PM - Theo: Yes <This message was edited>\n";
    assert!(is_recognised(text));
    assert_eq!(
        pieces(text),
        [
            "2026-03-05T21:25:00 Context -: Messages and calls are end-to-end encrypted. Tap to learn more.",
            "2026-03-05T21:26:00 Prose Nora: Did you book / the hall? /  / For June.",
            "2026-03-06T00:01:00 Attachment Theo: [media]",
            "2026-03-06T12:02:00 Prose Theo: Yes",
        ]
    );
}

#[test]
fn a_german_export_of_ios_reads_day_first_and_loses_its_marks() {
    let text = "\u{200e}[05.03.26, 21:25:15] Chor: \u{200e}Nachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.\r\n\
        [05.03.26, 21:25:40] ~\u{a0}Jörg: Probe um 19:30: bitte pünktlich\r\nNoten mitbringen\r\n\
        \u{200e}[05.03.26, 21:26:02] Meike: \u{200e}<Anhang: 00000003-PHOTO-2026-03-05-21-26-02.jpg>\r\n\
        [04.04.26, 08:00:00] Meike: \u{200e}Diese Nachricht wurde gelöscht.\r\n";
    assert!(is_recognised(text));
    assert_eq!(
        pieces(text),
        [
            "2026-03-05T21:25:15 Context -: Nachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.",
            "2026-03-05T21:25:40 Prose Jörg: Probe um 19:30: bitte pünktlich / Noten mitbringen",
            "2026-03-05T21:26:02 Attachment Meike: [image: 00000003-PHOTO-2026-03-05-21-26-02.jpg]",
            "2026-04-04T08:00:00 Context Meike: [message deleted]",
        ]
    );
}

#[test]
fn a_spanish_export_reads_the_afternoon() {
    let text = "5/3/26, 1:55 p.\u{a0}m. - Lucía: ¿Compramos el vino?\n\
        5/3/26, 11:10 p.\u{a0}m. - Iván: <Multimedia omitido>\n\
        6/3/26, 12:30 a.\u{a0}m. - Iván: Sí, el tinto\n";
    assert!(is_recognised(text));
    assert_eq!(
        pieces(text),
        [
            "2026-03-05T13:55:00 Prose Lucía: ¿Compramos el vino?",
            "2026-03-05T23:10:00 Attachment Iván: [media]",
            "2026-03-06T00:30:00 Prose Iván: Sí, el tinto",
        ]
    );
}

#[test]
fn a_chinese_export_reads_year_first_and_halves_of_the_day() {
    let text = "2026/3/5 下午9:25 - 消息和通话已进行端到端加密。\n\
        2026/3/5 下午9:26 - 林小雨: 周六去爬山吗？\n带上午饭\n\
        2026/3/6 上午12:03 - 周航: 去，我开车\n\
        2026/3/6 上午12:04 - 周航: <省略多媒体文件>\n\
        2026/3/6 中午12:30 - 林小雨: 此消息已删除\n";
    assert!(is_recognised(text));
    assert_eq!(
        pieces(text),
        [
            "2026-03-05T21:25:00 Context -: 消息和通话已进行端到端加密。",
            "2026-03-05T21:26:00 Prose 林小雨: 周六去爬山吗？ / 带上午饭",
            "2026-03-06T00:03:00 Prose 周航: 去，我开车",
            "2026-03-06T00:04:00 Attachment 周航: [media]",
            "2026-03-06T12:30:00 Context 林小雨: [message deleted]",
        ]
    );
}

#[test]
fn a_line_with_another_shape_of_date_goes_on_with_the_message() {
    let text = "[13/06/2025, 21:25:15] Ana: Log:\n2026-04-29 10:30:00 server: up\n13/06/25, 21:26 - Ana: pasted\n[13/06/2025, 21:27:00] Luís: ok\n";
    assert!(is_recognised(text), "a bracket alone does not make it JSON");
    assert_eq!(
        pieces(text),
        [
            "2025-06-13T21:25:15 Prose Ana: Log: / 2026-04-29 10:30:00 server: up / 13/06/25, 21:26 - Ana: pasted",
            "2025-06-13T21:27:00 Prose Luís: ok",
        ]
    );
}

#[test]
fn logs_of_programs_are_not_recognised() {
    for text in [
        "2026-03-05 21:25:15 INFO: started\n2026-03-05 21:25:16 ERROR: stopped\n",
        "[2026-03-05 21:25:15] local.ERROR: boom\n[2026-03-05 21:25:16] local.INFO: fine\n",
        "2026-03-05 21:25:15 - app.main: started\n2026-03-05 21:25:16 - app.db: stopped\n",
        "2026-03-04 10:02:33 - Database: connected.\n2026-03-04 10:02:34 - Server: ready.\n",
        "[2026-03-04 10:02:33] Server: started.\n[2026-03-04 10:02:34] Worker: took a job.\n",
        "[04/03/2026 10:02:33] Scheduler: started.\n[04/03/2026 10:02:34] Worker 1: took a job.\n",
        "3/4/2026 10:02:33 AM - Backup: started.\n3/4/2026 10:22:33 AM - Mailer: sent.\n",
        "04.03.2026, 10:02 - Morning: a run.\n05.03.2026, 19:10 - Evening: read.\n",
        "Notes\n3/6/26, 21:25 - Ana: x\n3/6/26, 21:26 - Ben: x\n",
    ] {
        assert!(!is_recognised(text), "{text}");
    }
}

#[test]
fn text_before_the_first_header_is_reported() {
    let (seen, skipped) = read_as("a.txt", "Exported\n3/6/26, 21:25 - Ana: x\n");
    assert_eq!((seen[0].messages.len(), skipped), (1, 1));
    assert_eq!(read_as("a.txt", "nothing at all\n"), (vec![], 1));
}

#[test]
fn the_assistant_of_the_program_is_no_person() {
    let (seen, _) = read_as("a.txt", "3/16/26, 21:25 - Ana: @Meta AI tea?\n3/16/26, 21:25 - Meta AI: Try mint.\n");
    assert_eq!(seen[0].messages.iter().map(|message| message.role).collect::<Vec<_>>(), [Role::User, Role::Assistant]);
}

#[test]
fn a_chat_keeps_identity_and_ids_while_it_grows_and_where_its_zone_or_copy_differs() {
    let early = "3/15/26, 21:25 - Ana: hi\n3/15/26, 21:26 - Luís: hey\n";
    let later = format!("{early}3/16/26, 08:00 - Ana: tea?\n");
    let moved = later.replace("21:2", "18:2");
    let of = |name: &str, text: &str| {
        let (seen, _) = read_as(name, text);
        let ids: Vec<String> = seen[0].messages.iter().map(|message| message.id.clone()).collect();
        (seen[0].external_id.clone(), seen[0].title.clone().unwrap(), ids)
    };
    let (id, title, ids) = of("WhatsApp Chat with Luís.txt", early);
    assert_eq!((title.as_str(), ids.as_slice()), ("Luís", ["1".to_owned(), "2".to_owned()].as_slice()));
    for (name, text) in [("WhatsApp Chat with Luís (2).txt", later.as_str()), ("WhatsApp Chat with Luís.txt", &moved)]
    {
        let (other, _, grown) = of(name, text);
        assert_eq!((&other, &grown[..2]), (&id, ids.as_slice()), "{name}");
    }
}

#[test]
fn the_zip_of_an_export_reads_like_the_chat_in_it_and_gives_its_name() {
    use std::io::Write as _;
    let text = "\u{200e}[05/03/26, 21:25:15] Allotment: \u{200e}Messages and calls are end-to-end encrypted.\r\n\
        [15/03/26, 21:25:40] Ana: The beans are in\r\n";
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("WhatsApp Chat - Allotment.zip");
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    for (name, bytes) in [("00000002-PHOTO.jpg", b"\xff\xd8\xff".as_slice()), ("_chat.txt", text.as_bytes())] {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
    let input = crate::Folder::archive(&path).unwrap().open("_chat.txt").unwrap();
    assert!(WhatsApp.sniff(&Head::of(&input)));
    let mut seen = Vec::new();
    let mut accept = |transcript: Transcript| seen.push(transcript);
    WhatsApp.read(input, &mut Sink::new(&mut accept)).unwrap();
    let (alone, _) = read_as("_chat.txt", text);
    assert_eq!(seen[0].title.as_deref(), Some("Allotment"));
    assert_eq!((&seen[0].external_id, &seen[0].messages), (&alone[0].external_id, &alone[0].messages));
}
