use std::io::Write as _;
use std::path::Path;

use serde_json::json;

use super::*;
use crate::Transcript;

fn fixture() -> Folder {
    Folder::directory(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/slack/harbour-lights"))
}

fn read_folder(folder: &Folder) -> (Vec<Transcript>, Vec<String>) {
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    Slack.read_folder(folder, &mut sink).unwrap();
    let skipped = sink.skipped.iter().map(|skipped| format!("{} {}", skipped.record, skipped.reason)).collect();
    (seen, skipped)
}

/// Writes an export of one channel and reads it.
fn read_days(days: &[(&str, Value)]) -> (Vec<Transcript>, Vec<String>) {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("dev")).unwrap();
    std::fs::write(place.path().join("channels.json"), r#"[{"id":"C1","name":"dev"}]"#).unwrap();
    for (day, posts) in days {
        std::fs::write(place.path().join(format!("dev/{day}.json")), posts.to_string()).unwrap();
    }
    let folder = Folder::directory(place.path());
    assert!(Slack.sniff_folder(&folder));
    read_folder(&folder)
}

fn post(ts: &str, text: &str, thread: Option<&str>) -> Value {
    let mut post = json!({"type": "message", "user": "U1", "text": text, "ts": ts});
    thread.into_iter().for_each(|thread| post["thread_ts"] = json!(thread));
    post
}

fn outline(seen: &[Transcript]) -> Vec<(String, Vec<String>)> {
    let texts = |one: &Transcript| one.messages.iter().map(|message| message.text.clone()).collect();
    seen.iter().map(|one| (one.external_id.clone(), texts(one))).collect()
}

#[test]
fn the_zip_of_an_export_reads_like_its_folder() {
    let (plain, place) = (fixture(), tempfile::tempdir().unwrap());
    let path = place.path().join("Harbour Lights export.zip");
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    for name in plain.all_files() {
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        zip.start_file(&name, options).unwrap();
        zip.write_all(&std::fs::read(plain.path().join(&name)).unwrap()).unwrap();
    }
    zip.finish().unwrap();
    let packed = Folder::archive(&path).unwrap();
    assert!(Slack.sniff_folder(&plain) && Slack.sniff_folder(&packed));
    let without_origin = |folder: &Folder| {
        let (seen, skipped) = read_folder(folder);
        let seen: Vec<_> = seen.into_iter().map(|one| Transcript { origin: String::new(), ..one }).collect();
        (seen, skipped)
    };
    let (seen, skipped) = without_origin(&plain);
    assert_eq!((seen.len(), skipped.len()), (4, 1));
    assert_eq!(without_origin(&packed), (seen, skipped));
}

#[test]
fn a_thread_is_joined_over_days_and_stands_apart_from_its_channel() {
    let (opener, answer) = ("1772700000.000100", "1772900000.000100");
    let mut opened = post(opener, "which?", Some(opener));
    opened["reply_count"] = json!(1);
    opened["latest_reply"] = json!(answer);
    let (seen, skipped) = read_days(&[
        ("2026-03-05", json!([post("1772700001.000100", "b", None), opened])),
        ("2026-03-07", json!([post(answer, "this one", Some(opener)), post(answer, "this one", Some(opener))])),
        ("2026-03-08", json!([post("1772960000.000100", "c", None), post("1772960001.000100", "late", Some(opener))])),
    ]);
    let expected = [
        ("C1:1772700000.000100", vec!["which?", "this one"]),
        ("C1", vec!["b", "c"]),
        ("C1:1772700000.000100~2", vec!["late"]),
    ];
    let expected =
        expected.map(|(id, texts)| (id.to_owned(), texts.into_iter().map(str::to_owned).collect::<Vec<_>>()));
    assert_eq!((outline(&seen), skipped), (expected.to_vec(), vec![]));
}

#[test]
fn messages_are_put_in_the_order_of_their_stamps_and_a_grown_channel_keeps_its_ids() {
    let first = json!([post("1772700000.000200", "b", None), post("1772700000.000100", "a", None)]);
    let second = json!([post("1772800000.000100", "c", None)]);
    let (early, _) = read_days(&[("2026-03-05", first.clone())]);
    let (later, _) = read_days(&[("2026-03-05", first), ("2026-03-06", second)]);
    assert_eq!(outline(&later), [("C1".to_owned(), vec!["a".to_owned(), "b".to_owned(), "c".to_owned()])]);
    assert_eq!(early[0].messages[..], later[0].messages[..2]);
}

#[test]
fn damaged_days_and_records_are_told_by_their_file_and_cost_nothing_else() {
    let (seen, skipped) = read_days(&[
        ("2026-03-05", json!([7, {"type": "message"}, {"ts": "soon"}, post("1772700000.000100", "a", None)])),
        ("2026-03-06", json!("")),
        ("2026-03-07", json!([post("1772900000.000100", "b", None)])),
    ]);
    assert_eq!(outline(&seen), [("C1".to_owned(), vec!["a".to_owned(), "b".to_owned()])]);
    let expected = [
        "1 dev/2026-03-05.json: no message: it has no `ts`",
        "2 dev/2026-03-05.json: no message: it has no `ts`",
        "3 dev/2026-03-05.json: its `ts` is no time",
        "1 dev/2026-03-06.json: no message: it has no `ts`",
    ];
    assert_eq!(skipped, expected);
}

#[test]
fn people_of_one_name_are_told_apart() {
    let place = tempfile::tempdir().unwrap();
    let users = r#"[{"id":"U1","profile":{"display_name":"sam"}},{"id":"U2","profile":{"display_name":"sam"}}]"#;
    std::fs::write(place.path().join("users.json"), users).unwrap();
    let mut ignore = |_| {};
    let names = Names::of(&Folder::directory(place.path()), &mut Sink::new(&mut ignore)).unwrap();
    assert_eq!(["U1", "U2"].map(|id| names.person(id).unwrap().name.as_str()), ["sam (U1)", "sam (U2)"]);
}

#[test]
fn other_folders_of_days_are_not_taken() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("notes")).unwrap();
    std::fs::write(place.path().join("channels.json"), "[]").unwrap();
    std::fs::write(place.path().join("notes/2026-03-05.json"), r#"[{"mood":"fine"}]"#).unwrap();
    let folder = Folder::directory(place.path());
    assert!(!Slack.sniff_folder(&folder));
    let post = json!([post("1772700000.000100", "a", None)]).to_string();
    std::fs::write(place.path().join("notes/2026-03-06.json"), post).unwrap();
    assert!(Slack.sniff_folder(&folder));
}

#[test]
fn a_day_alone_is_recognised_and_known_by_its_first_message() {
    let recognised = |text: &str| Slack.sniff(&Head::new(text.to_owned().into(), true));
    let text = json!([post("1772700000.000100", "a", None)]).to_string();
    assert!(recognised(&text));
    assert!(!recognised(r#"[{"type":"message","ts":"soon","role":"user"}]"#));
    assert!(!recognised(&post("1772700000.000100", "a", None).to_string()));
    let id = |text: &str| {
        let mut seen = Vec::new();
        let mut accept = |transcript: Transcript| seen.push(transcript.external_id);
        Slack.read(Input::from_text("2026-03-05.json", text), &mut Sink::new(&mut accept)).unwrap();
        seen.remove(0)
    };
    let grown = json!([post("1772700000.000100", "a", None), post("1772700001.000100", "b", None)]).to_string();
    assert_eq!((id(&text).len(), id(&text)), (32, id(&grown)));
}
