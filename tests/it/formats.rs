//! Tests of every format: golden transcripts of its fixtures, detection among all formats, and damaged files of every
//! kind.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use transcripts::Transcript;
use transcripts::{Found, Head, INGESTORS, Ingestor, Logs, Sink, by_name, detect, detect_folder, discover, open};

/// Formats that are so general that they may also recognise files of a format further up in the table.
const GENERAL: &[&str] = &["openai-chat", "plain"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Returns the logs in a format's folder: files, and folders that form one log as a whole.
fn fixtures(format: &str) -> Vec<PathBuf> {
    let folder = root().join(format);
    let found = discover(std::slice::from_ref(&folder));
    found
        .unwrap_or_else(|error| panic!("{format} needs a fixture: {error}"))
        .into_iter()
        .map(|Found { path, .. }| path)
        .collect()
}

fn read_into(logs: Logs, ingestor: &dyn Ingestor) -> (Vec<Transcript>, String) {
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    match logs {
        Logs::File(input) => ingestor.read(*input, &mut sink).unwrap(),
        Logs::Folder(folder) if ingestor.sniff_folder(&folder) => ingestor.read_folder(&folder, &mut sink).unwrap(),
        Logs::Folder(folder) => {
            for name in folder.all_files() {
                let input = folder.open(&name).unwrap();
                if ingestor.sniff(&Head::of(&input)) {
                    ingestor.read(input, &mut sink).unwrap();
                }
            }
        }
    }
    let skipped = sink.skipped.iter().fold(String::new(), |mut text, skipped| {
        writeln!(text, "skipped {}: {}", skipped.record, skipped.reason).unwrap();
        text
    });
    (seen, skipped)
}

/// Formats transcripts for people to check. Derived identities are kept, but folders and times of files are removed.
fn render(transcripts: &[Transcript], skipped: &str) -> String {
    let mut text = String::new();
    for one in transcripts {
        let origin = one.origin.rsplit('/').next().unwrap_or_default();
        let line = [&one.title, &one.project, &one.model].map(|field| field.as_deref().unwrap_or("-"));
        writeln!(text, "= {} ({origin}) title {} project {} model {}", one.key(), line[0], line[1], line[2]).unwrap();
        for message in &one.messages {
            let speaker = message.speaker.as_deref().unwrap_or("-");
            let time = message.time.map_or("-".to_owned(), |time| {
                let offset = time.offset_seconds.map_or("?".to_owned(), |seconds| format!("{:+}", seconds / 60));
                format!("{} {offset} {:?}", time.at, time.source)
            });
            writeln!(
                text,
                "[{}] {:?} {:?} {speaker} | {time}\n{}",
                message.id, message.role, message.kind, message.text
            )
            .unwrap();
        }
        text.push('\n');
    }
    text + skipped
}

#[test]
fn every_format_reads_its_fixtures_as_its_golden_transcript_says() {
    for ingestor in INGESTORS {
        let mut text = String::new();
        for path in fixtures(ingestor.name()) {
            let (seen, skipped) = read_into(Logs::open(&path).unwrap(), *ingestor);
            assert!(!seen.is_empty(), "{} holds no conversation", path.display());
            let name = path.strip_prefix(root()).unwrap().display();
            write!(text, "### {name}\n{}\n", render(&seen, &skipped)).unwrap();
        }
        // The modification time of a file changes at each checkout, and no scanner should mistake the fixtures'
        // invented token for a real one.
        let filters = [(r"\| \S+ \? File\n", "| (of the file)\n"), ("gh[p]_[A-Za-z0-9]{36}", "[token]")];
        insta::with_settings!({ filters => filters, description => ingestor.about() }, {
            insta::assert_snapshot!(ingestor.name(), text);
        });
    }
}

#[test]
fn every_fixture_is_told_apart_from_all_other_formats() {
    let mut confused = Vec::new();
    for owner in INGESTORS {
        for path in fixtures(owner.name()) {
            let (taker, claims): (Option<&str>, Vec<&str>) = match Logs::open(&path).unwrap() {
                Logs::File(input) => {
                    let head = Head::of(&input);
                    let claims = INGESTORS.iter().filter(|row| row.sniff(&head)).map(|row| row.name()).collect();
                    (detect(&input).ok().map(Ingestor::name), claims)
                }
                Logs::Folder(folder) if detect_folder(&folder).is_some() => {
                    let claims =
                        INGESTORS.iter().filter(|row| row.sniff_folder(&folder)).map(|row| row.name()).collect();
                    (detect_folder(&folder).map(Ingestor::name), claims)
                }
                Logs::Folder(_) => continue,
            };
            let others = claims.iter().filter(|name| **name != owner.name() && !GENERAL.contains(name)).count();
            if taker != Some(owner.name()) || others > 0 {
                confused.push(format!("{}: taken by {taker:?}, claimed by {claims:?}", path.display()));
            }
        }
    }
    assert_eq!(confused, Vec::<String>::new());
}

/// Returns the fixtures that are texts without carriage returns.
fn texts() -> Vec<(&'static dyn Ingestor, PathBuf, String)> {
    let of = |ingestor: &'static dyn Ingestor| {
        let text = move |path: PathBuf| std::fs::read_to_string(&path).ok().map(|text| (ingestor, path, text));
        fixtures(ingestor.name()).into_iter().filter(|path| path.is_file()).filter_map(text)
    };
    INGESTORS.iter().copied().flat_map(of).filter(|(_, _, text)| !text.contains('\r')).collect()
}

/// Writes a log, and returns its format and its transcripts.
fn written(path: &Path, text: &str) -> (Option<&'static str>, Vec<Transcript>) {
    std::fs::write(path, text).unwrap();
    let format = detect(&open(path).unwrap()).ok();
    let seen = format.map(|format| read_into(Logs::open(path).unwrap(), format).0);
    (format.map(Ingestor::name), seen.unwrap_or_default())
}

#[test]
fn a_log_with_the_line_ends_and_the_mark_of_windows_reads_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for (ingestor, path, text) in texts() {
        let path = folder.path().join(path.file_name().unwrap());
        let said = |text: &str| {
            let (format, seen) = written(&path, text);
            let words = seen.into_iter().flat_map(|one| one.messages);
            (format, words.map(|one| (one.role, one.kind, one.speaker, one.text)).collect::<Vec<_>>())
        };
        let expected = said(&text);
        assert_eq!(said(&text.replace('\n', "\r\n")), expected, "{}: {}", ingestor.name(), path.display());
        assert_eq!(said(&format!("\u{feff}{text}")), expected, "{} with a mark", ingestor.name());
        count += 1;
    }
    assert!(count > 60, "{count}");
}

#[test]
fn a_folder_of_windows_is_the_project_of_an_agents_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut agents = Vec::new();
    for (ingestor, path, text) in texts().into_iter().filter(|(ingestor, ..)| ingestor.family() == "agents") {
        let path = folder.path().join(path.file_name().unwrap());
        let (_, seen) = written(&path, &text);
        let project = seen.iter().find_map(|one| one.project.clone()).filter(|project| text.contains(project.as_str()));
        let Some(project) = project.filter(|project| project.starts_with('/')) else { continue };
        // A URL has another form: `file:///c%3A/Users/Ana/code/shop`.
        let text = text.replace(&format!("file://{project}"), "file:///c%3A/Users/Ana/code/shop");
        let is_json = path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl");
        let windows = if is_json { r"C:\\Users\\Ana\\code\\shop" } else { r"C:\Users\Ana\code\shop" };
        let (_, seen) = written(&path, &text.replace(&project, windows));
        let read = seen.iter().find_map(|one| one.project.clone()).unwrap_or_default();
        assert!([r"C:\Users\Ana\code\shop", "c:/Users/Ana/code/shop"].contains(&&*read), "{}: {read}", ingestor.name());
        agents.push(ingestor.name());
    }
    agents.dedup();
    assert!(agents.len() > 8, "{agents:?}");
}

#[test]
fn the_table_is_complete_and_its_words_are_for_people() {
    let folders = std::fs::read_dir(root()).unwrap().flatten().map(|entry| entry.file_name());
    for folder in folders.map(|name| name.to_string_lossy().into_owned()) {
        assert!(by_name(&folder).is_ok(), "fixtures/{folder} is not a format");
    }
    for (place, ingestor) in INGESTORS.iter().enumerate() {
        let name = ingestor.name();
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte.is_ascii_digit()), "{name}");
        assert!(INGESTORS[..place].iter().all(|other| other.name() != name), "{name} stands twice");
        assert!(!ingestor.about().is_empty() && !ingestor.rule().is_empty(), "{name} says nothing of itself");
    }
}

#[test]
fn every_family_is_fuzzed() {
    for ingestor in INGESTORS {
        let target = format!("fuzz/fuzz_targets/{}.rs", ingestor.family());
        assert!(Path::new(&target).exists(), "{} has no {target}", ingestor.name());
    }
}

#[test]
fn the_projects_own_documents_and_sources_are_claimed_by_nobody() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let walk = ["src", "tests/it", "Cargo.toml", "Cargo.lock", "README.md", "docs"].map(|name| manifest.join(name));
    let files = walk.iter().filter(|path| path.exists()).flat_map(|path| walkdir::WalkDir::new(path).into_iter());
    let sources = ["rs", "md", "toml", "lock"];
    for entry in files.map(Result::unwrap) {
        let ending = entry.path().extension().unwrap_or_default().to_string_lossy().into_owned();
        if entry.file_type().is_file() && sources.contains(&ending.as_str()) {
            let input = open(entry.path()).unwrap();
            let head = Head::of(&input);
            let claims: Vec<_> = INGESTORS.iter().filter(|row| row.sniff(&head)).map(|row| row.name()).collect();
            assert_eq!(claims, Vec::<&str>::new(), "{}", entry.path().display());
        }
    }
}

/// Returns the bytes of the fixtures that are single files.
fn samples() -> Vec<(&'static dyn Ingestor, Vec<u8>)> {
    let of = |ingestor: &'static dyn Ingestor| {
        let files = fixtures(ingestor.name()).into_iter().filter(|path| path.is_file());
        files.map(move |path| (ingestor, std::fs::read(path).unwrap()))
    };
    INGESTORS.iter().copied().flat_map(of).collect()
}

/// Writes `bytes` to a separate file, like the damaged log of a user.
fn on_disk(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Asks every format whether it recognises `bytes`.
fn ask_all(bytes: &[u8]) {
    let (_folder, path) = on_disk(bytes);
    let Ok(input) = open(&path) else { return };
    let head = Head::of(&input);
    let _claims = INGESTORS.iter().filter(|row| row.sniff(&head)).count();
}

/// Reads `bytes` in the format of `ingestor`, even if they are not in this format.
fn read_as(ingestor: &dyn Ingestor, bytes: &[u8]) {
    let (_folder, path) = on_disk(bytes);
    let Ok(input) = open(&path) else { return };
    let mut accept = |part: Transcript| {
        assert!(part.messages.iter().all(|message| !message.text.is_empty()));
    };
    // If a file cannot be read to its end, an error is allowed, but a panic is not.
    let _outcome = ingestor.read(input, &mut Sink::new(&mut accept));
}

fn survive(ingestor: &dyn Ingestor, bytes: &[u8]) {
    ask_all(bytes);
    read_as(ingestor, bytes);
}

#[test]
fn hostile_logs_are_survived_by_every_format() {
    let deep = format!("{}1{}", r#"{"content":["#.repeat(100_000), "]}".repeat(100_000));
    let rows = [
        "[".repeat(300_000),
        "{\"mapping\":".repeat(100_000),
        "[}]]}{\"messages\":[}".to_owned(),
        format!("WEBVTT\n\n00:01.000 --> 00:02.000\n{}", "<a".repeat(300_000)),
        format!("_**User ({})**_", " 1".repeat(300_000)),
        "**".repeat(300_000),
        format!(r#"[{{"role":"user","content":[{deep}]}}]"#),
        deep,
        "\n".repeat(300_000) + "x",
        "\u{200e}[".repeat(100_000),
        format!("1/2/24, 10:00 - Ana: {}", "a.pdf • b c ".repeat(20_000)),
        format!("Message-ID: <a>\nDate: x\nFrom: a\nContent-Type: text/html\n\n{}>", "<".repeat(200_000)),
    ];
    for text in &rows {
        ask_all(text.as_bytes());
        for ingestor in INGESTORS {
            read_as(*ingestor, text.as_bytes());
        }
    }
}

/// Returns the byte position at the fraction `share` of `bytes`.
fn cut(bytes: &[u8], share: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let cut = (bytes.len() as f64 * share) as usize;
    cut
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn logs_cut_at_any_byte_are_read_without_panic(share in 0.0..1.0_f64) {
        for (ingestor, bytes) in samples() {
            survive(ingestor, &bytes[..cut(&bytes, share)]);
        }
    }

    #[test]
    fn damaged_logs_are_read_without_panic(damage in prop::collection::vec((0.0..1.0_f64, any::<u8>()), 1..20)) {
        for (ingestor, mut bytes) in samples() {
            for (share, byte) in &damage {
                let place = cut(&bytes, *share);
                bytes[place] = *byte;
            }
            survive(ingestor, &bytes);
        }
    }

    #[test]
    fn logs_with_values_of_other_types_are_read_without_panic(
        places in prop::collection::vec(0.0..1.0_f64, 1..6),
        value in prop::sample::select(&["null", "[]", "{}", "-1", "1e400", "true", "\"\"", "\"9999-99-99\"", "[[{}]]"][..]),
    ) {
        for (ingestor, bytes) in samples() {
            let Ok(text) = String::from_utf8(bytes) else { continue };
            survive(ingestor, exchanged(&text, &places, value).as_bytes());
        }
    }

    #[test]
    fn any_text_is_read_by_any_format_without_panic(text in "(WEBVTT\n\n)?([a-zé<>*_#`:：{}\\[\\]\" \n-]|--> |User: |Ana: |00:01.000 |1/2/24, 10:00 - |#### |From x ){0,80}") {
        ask_all(text.as_bytes());
        for ingestor in INGESTORS {
            read_as(*ingestor, text.as_bytes());
        }
    }
}

/// Replaces some JSON values in `text` with `value`: those after the nearest colon that follows each of `places`.
fn exchanged(text: &str, places: &[f64], value: &str) -> String {
    let mut text = text.to_owned();
    for share in places {
        let from = text.floor_char_boundary(cut(text.as_bytes(), *share));
        let Some(colon) = text[from..].find("\":").map(|at| from + at + 2) else { continue };
        let rest = &text[colon..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<serde_json::Value>();
        if let Some(Ok(_)) = values.next() {
            let end = colon + values.byte_offset();
            text.replace_range(colon..end, value);
        }
    }
    text
}
