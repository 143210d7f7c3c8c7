//! The activity of Gemini Apps in a Google Takeout: prompts and answers, newest first, without conversations.
//!
//! Names and verbs are in the language of the account. Consecutive entries at most half an hour apart are treated as
//! one conversation.

use jiff::civil::{Date, Time};
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use mail_parser::decoders::html::html_to_text;
use regex::Captures;
use serde_json::Value;

use crate::json::Json;
use crate::message::dates::{hour_of_day, named_offset};
use crate::message::identity;
use crate::message::parts::file_label;
use crate::{
    Assembler, Head, IngestError, Ingestor, Input, Kind, MAX_RECORD_BYTES, Message, MessageTime, Records, Role, Sink,
    TimeSource,
};

/// Reads the activity of Gemini Apps from a Google Takeout.
pub(crate) struct GeminiTakeout;

impl Ingestor for GeminiTakeout {
    named!("gemini-takeout");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_ours) || is_page(&head.text)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        if input.head().trim_start().starts_with('<') {
            let Some(text) = input.into_text(MAX_RECORD_BYTES)? else {
                sink.skip(1, format!("a page over the limit of {} MiB; export as JSON", MAX_RECORD_BYTES >> 20));
                return Ok(());
            };
            read(&text, origin, sink);
            return Ok(());
        }
        // The verb is in the language of the account and is not stored in a separate field.
        let verb = {
            let head = Head::of(&input);
            Verb::of(head.objects().filter(|entry| is_ours(entry)).filter_map(|entry| entry["title"].as_str()))
        };
        let mut conversations = Conversations { origin, verb, held: Vec::new() };
        let mut records = Records::elements(input);
        let (mut others, mut last) = (0_usize, 0);
        while let Some((number, entry)) = records.next_json::<Value>(sink)? {
            last = number;
            if !is_activity(&entry) {
                sink.skip(number, "not an activity entry: it has no `title` and no `time`");
            } else if is_ours(&entry) {
                conversations.add(activity(&entry, number), sink);
            } else {
                others += 1;
            }
        }
        conversations.hand_over(sink);
        if others > 0 {
            sink.skip(last, format!("entries of products other than Gemini: {others}"));
        }
        Ok(())
    }
}

fn is_activity(entry: &Value) -> bool {
    entry["title"].is_string() && entry["time"].is_string()
}

/// Returns whether `entry` belongs to Gemini Apps, whose name contains `Gemini` in every language.
fn is_ours(entry: &Value) -> bool {
    let names = entry["products"].list().iter().chain([&entry["header"]]).filter_map(Value::as_str);
    let is_gemini = |name: &str| name.contains("Gemini") || name == "Bard";
    is_activity(entry) && entry["products"].is_array() && names.into_iter().any(is_gemini)
}

fn activity(entry: &Value, number: usize) -> Activity {
    let answers = entry["safeHtmlItem"].list().iter().filter_map(|item| item["html"].as_str());
    let answer = answers.map(to_text).collect::<Vec<_>>().join("\n");
    let files = entry["attachedFiles"].list().iter().chain([&entry["imageFile"]]);
    Activity {
        number,
        title: entry["title"].string().to_owned(),
        answer: Some(answer).filter(|answer| !answer.trim().is_empty()),
        time: identity::stamp(&entry["time"]),
        files: files.filter_map(|file| file.as_str().or_else(|| file["name"].as_str())).map(str::to_owned).collect(),
    }
}

// Entries of an activity, and the conversations into which they are grouped.

/// Pause after which a new conversation begins.
const PAUSE: SignedDuration = SignedDuration::from_mins(30);
/// Maximum number of entries in one conversation, which limits memory use regardless of the times.
const MOST_ENTRIES: usize = 2_000;
/// Known verbs before a prompt.
const KNOWN_VERBS: &[&str] = &["Prompted ", "Asked ", "Said "];
/// Minimum number of titles from which a verb can be derived.
const ENOUGH_TITLES: usize = 5;
/// Number of titles from which the verb is derived.
const SAMPLED_TITLES: usize = 50;

/// One entry of an activity.
#[derive(Debug, Clone)]
struct Activity {
    /// 1-based index in the file.
    number: usize,
    /// The user's action: a verb followed by the prompt.
    title: String,
    /// Gemini's answer as text.
    answer: Option<String>,
    /// Time of the activity.
    time: Option<MessageTime>,
    /// Names of the files that were attached.
    files: Vec<String>,
}

/// The word or words before each prompt, in the language of the account.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Verb(Option<String>);

impl Verb {
    /// Derives the verb from the prefix that most of the first `titles` share.
    fn of<'a>(titles: impl Iterator<Item = &'a str>) -> Self {
        let titles: Vec<String> = titles.take(SAMPLED_TITLES).map(spaced).collect();
        let starting = |verb: &str| titles.iter().filter(|title| title.starts_with(verb)).count();
        let is_most = |count: usize| count > 0 && count * 5 >= titles.len() * 3;
        if let Some(known) = KNOWN_VERBS.iter().find(|verb| starting(verb) * 2 >= titles.len().max(1)) {
            return Self(Some((*known).to_owned()));
        }
        let mut verb = titles.iter().filter_map(|title| next_word(title, 0)).max_by_key(|verb| starting(verb));
        verb = verb.filter(|verb| titles.len() >= ENOUGH_TITLES && is_most(starting(verb)));
        // Words are added to a verb as long as all titles that begin with it continue in the same way.
        while let Some(known) = verb {
            let longer =
                titles.iter().find(|title| title.starts_with(known)).and_then(|title| next_word(title, known.len()));
            match longer {
                Some(longer) if starting(longer) == starting(known) => verb = Some(longer),
                Some(_) | None => break,
            }
        }
        Self(verb.map(str::to_owned))
    }

    /// Returns the prompt in `title`; `None` if the title does not begin with the verb.
    fn prompt(&self, title: &str) -> Option<String> {
        spaced(title).strip_prefix(self.0.as_deref()?).map(|prompt| prompt.trim().to_owned())
    }
}

/// Replaces non-breaking spaces with ordinary spaces.
fn spaced(text: &str) -> String {
    text.replace(['\u{a0}', '\u{202f}'], " ")
}

/// Returns the beginning of `title` up to the end of the word at `from`, including any spaces and colons after it.
fn next_word(title: &str, from: usize) -> Option<&str> {
    let rest = &title[from..];
    let end = rest.find([' ', ':', '：']).map(|at| from + at)?;
    let behind = title[end..].find(|c| ![' ', ':', '：'].contains(&c)).map_or(title.len(), |at| end + at);
    Some(&title[..behind])
}

/// Groups entries into conversations, keeping one conversation in memory at a time.
struct Conversations {
    origin: String,
    verb: Verb,
    held: Vec<Activity>,
}

impl Conversations {
    /// Adds the next entry of the file; the file may begin with the newest or with the oldest entry.
    fn add(&mut self, activity: Activity, sink: &mut Sink<'_>) {
        let goes_on = match (self.held.last().and_then(at), at(&activity)) {
            (Some(last), Some(next)) => last.duration_since(next).abs() <= PAUSE,
            (_, _) => false,
        };
        if !goes_on || self.held.len() >= MOST_ENTRIES {
            self.hand_over(sink);
        }
        self.held.push(activity);
    }

    /// Passes the last conversation to `sink`.
    fn hand_over(&mut self, sink: &mut Sink<'_>) {
        let mut entries = std::mem::take(&mut self.held);
        let is_ascending = entries.first().and_then(at) < entries.last().and_then(at);
        if !is_ascending {
            entries.reverse();
        }
        // Sorting is stable, so entries with the same time remain in file order.
        entries.sort_by_key(at);
        let Some(first) = entries.first() else { return };
        // Google assigns no id to a conversation, and the same prompt may occur on other days, so the identity includes
        // the time.
        let id = identity::of_parts(&[&at(first).map(|at| at.to_string()).unwrap_or_default(), &first.title]);
        let mut draft = Assembler::new("gemini-takeout", id, format!("{}#{}", self.origin, first.number));
        draft.meta().created_at = at(first);
        draft.extend(entries.iter().flat_map(|entry| self.messages(entry)), sink);
        draft.finish(sink);
    }

    /// Returns the prompt, its files and the answer. An entry that has no answer and does not begin with the verb is a
    /// note about the activity.
    fn messages(&self, entry: &Activity) -> Vec<Message> {
        let made = |role, kind, text: String| Message { kind, time: entry.time, ..Message::prose(role, text) };
        let is_note = self.verb.0.is_some() && entry.answer.is_none();
        let asked = match self.verb.prompt(&entry.title) {
            Some(prompt) => made(Role::User, Kind::Prose, prompt),
            None if is_note => made(Role::Other, Kind::Context, spaced(&entry.title)),
            None => made(Role::User, Kind::Prose, spaced(&entry.title)),
        };
        let files = entry.files.iter().map(|name| made(Role::User, Kind::Attachment, file_label("file", Some(name))));
        let answer = entry.answer.iter().map(|answer| made(Role::Assistant, Kind::Prose, answer.clone()));
        std::iter::once(asked).chain(files).chain(answer).collect()
    }
}

fn at(activity: &Activity) -> Option<Timestamp> {
    activity.time.map(|time| time.at)
}

// HTML as text.

/// Returns the text of `html`, with a line for each paragraph, heading, list item and table row.
fn to_text(html: &str) -> String {
    patterns! {
        BLOCKS = r"(?i)<(li|/li|/div|/h[1-6]|/tr|/pre|/blockquote|/ul|/ol|/td|/th)(?:\s[^<>]*)?>";
    }
    let marked = BLOCKS.replace_all(html, |found: &Captures<'_>| match found[1].to_lowercase().as_str() {
        "li" => "<br>- ",
        "/td" | "/th" => " ",
        _ => "<br>",
    });
    let text = html_to_text(&marked);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "-");
    lines.collect::<Vec<_>>().join("\n")
}

// The activity as an HTML page, which a Takeout contains unless JSON is requested.

/// Start of each entry.
const ENTRY: &str = "<div class=\"outer-cell";
/// Text that precedes the text of an entry.
const BODY: &str = "mdl-typography--body-1\">";
/// Text that follows the text of an entry.
const NEXT_CELL: &str = "<div class=\"content-cell";
/// Maximum length of a line that may be a date, in bytes.
const LONGEST_DATE: usize = 100;

/// Prefixes of the names of months in languages that use Latin letters.
const MONTHS: &str = "\
    jan|jän|ene|gen|oca feb|fév|fev|şub mar|mär|mrt|maa apr|avr|abr|nis may|mai|maj|mei|mag jun|juin|giu|haz \
    jul|juil|lug|tem aug|aoû|ago|ağu sep|set|eyl oct|okt|ott|out|eki nov|kas dec|dez|déc|dic|des|ara";
/// Names of time zones and their offsets in minutes; ambiguous names are left out.
const ZONES: &str = "\
    UTC=0 GMT=0 WET=0 WEST=60 BST=60 CET=60 MEZ=60 CEST=120 MESZ=120 EET=120 EEST=180 MSK=180 SGT=480 HKT=480 \
    JST=540 KST=540 AEST=600 AEDT=660 BRT=-180 EDT=-240 EST=-300 MDT=-360 MST=-420 PDT=-420 PST=-480";

/// Returns whether `head`, the start of a file, belongs to such a page with entries of Gemini Apps.
fn is_page(head: &str) -> bool {
    head.trim_start().starts_with('<') && head.split(ENTRY).skip(1).any(is_entry)
}

fn is_entry(entry: &str) -> bool {
    let (header, _) = entry.split_once(NEXT_CELL).unwrap_or((entry, ""));
    header.contains("Gemini") && header.contains("header-cell")
}

/// Reads the entries of the page in `text`.
fn read(text: &str, origin: String, sink: &mut Sink<'_>) {
    let mut entries = Vec::new();
    let mut others = 0_usize;
    for (index, entry) in text.split(ENTRY).enumerate().skip(1) {
        match cell_activity(entry, index) {
            Some(activity) if is_entry(entry) => entries.push(activity),
            Some(_) => others += 1,
            None => sink.skip(index, "an entry without text or date"),
        }
    }
    let verb = Verb::of(entries.iter().map(|entry| entry.title.as_str()));
    let mut conversations = Conversations { origin, verb, held: Vec::new() };
    for entry in entries {
        conversations.add(entry, sink);
    }
    conversations.hand_over(sink);
    if others > 0 {
        sink.skip(1, format!("entries of products other than Gemini: {others}"));
    }
}

/// Splits an entry: the prompt and the files are above its date, the answer is below.
fn cell_activity(entry: &str, number: usize) -> Option<Activity> {
    let (_, cell) = entry.split_once(BODY)?;
    let cell = cell.split_once(NEXT_CELL).map_or(cell, |(cell, _)| cell);
    let mut lines: Vec<&str> = Vec::new();
    let (mut rest, mut dated) = (cell, None);
    while let Some((line, behind)) = rest.split_once("<br>") {
        rest = behind;
        // A long line cannot be a date, and skipping it avoids a costly conversion from HTML to text.
        let words = if line.len() <= LONGEST_DATE { to_text(line) } else { String::new() };
        // A prompt may itself begin with a date; the date of an entry is never on the first line.
        if !lines.is_empty() && is_date(&words) {
            dated = Some(words);
            break;
        }
        lines.push(line);
    }
    let date = dated?;
    let is_file = |line: &&&str| line.trim_start().starts_with("-&nbsp;") || line.trim_start().starts_with("-\u{a0}");
    let files = lines.iter().filter(is_file).map(|line| to_text(line).trim_start_matches('-').trim().to_owned());
    let files: Vec<String> = files.filter(|name| !name.is_empty()).collect();
    let mut title: Vec<String> = lines.iter().filter(|line| !is_file(line)).map(|line| to_text(line)).collect();
    // A line with the number of files precedes the files.
    let count = files.len().to_string();
    if !files.is_empty() && title.len() > 1 {
        title.pop_if(|line| line.len() <= LONGEST_DATE && line.contains(&count));
    }
    Some(Activity {
        number,
        title: title.join("\n"),
        answer: Some(to_text(rest)).filter(|answer| !answer.is_empty()),
        time: written_time(&date),
        files,
    })
}

fn is_date(words: &str) -> bool {
    patterns! {
        CLOCK = r"\d{1,2}[:.]\d{2}[:.]\d{2}";
        YEAR = r"(?:^|[^0-9])20\d\d(?:[^0-9]|$)";
    }
    CLOCK.is_match(words) && YEAR.is_match(words)
}

/// Reads a date in the format of the pages, such as `Nov 3, 2025, 9:15:02 PM CET`.
fn written_time(words: &str) -> Option<MessageTime> {
    patterns! {
        PARTS = r"^(.+?)[,\s]+(\d{1,2})[:.](\d{2})[:.](\d{2})\s*([AaPp]\.?\s?[Mm]\.?)?\s*(\S*)$";
    }
    let words = words.replace(['\u{a0}', '\u{202f}'], " ");
    let found = PARTS.captures(words.trim())?;
    let number = |index: usize| found[index].parse::<i8>().ok();
    let hour = hour_of_day(number(2)?, found.get(5).map(|half| half.as_str()));
    let civil = date(&found[1])?.to_datetime(Time::new(hour, number(3)?, number(4)?, 0).ok()?);
    let offset_seconds = zone(&found[6]);
    let offset = Offset::from_seconds(offset_seconds.unwrap_or(0)).ok()?;
    Some(MessageTime { at: offset.to_timestamp(civil).ok()?, offset_seconds, source: TimeSource::Log })
}

/// Reads a date whose month is a word or a number.
fn date(words: &str) -> Option<Date> {
    let numbers: Vec<i16> =
        words.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
    let month = words.split(|c: char| !c.is_alphabetic()).find_map(|word| {
        let word = word.to_lowercase();
        MONTHS.split(' ').position(|starts| starts.split('|').any(|start| word.starts_with(start)))
    });
    let (year, month, day) = match (month.and_then(|index| i16::try_from(index + 1).ok()), &numbers[..]) {
        (Some(month), [year, day] | [day, year, ..]) if *year > 31 => (*year, month, *day),
        (None, [year, month, day]) if *year > 31 => (*year, *month, *day),
        (None, [day, month, year]) => (*year, *month, *day),
        _ => return None,
    };
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// Returns the offset in seconds of a time zone's name, or of `GMT+1` and `UTC-03:30`.
fn zone(name: &str) -> Option<i32> {
    if let Some((_, minutes)) = ZONES.split(' ').filter_map(|zone| zone.split_once('=')).find(|zone| zone.0 == name) {
        return minutes.parse::<i32>().ok().map(|minutes| minutes * 60);
    }
    // Pages in some languages contain a true minus sign.
    named_offset(&name.replace('\u{2212}', "-"))
}

#[cfg(test)]
mod tests {

    use serde_json::json;

    use super::*;
    use crate::testing::read_input;
    use crate::{Kind, Role, Transcript};

    fn read(text: &str) -> (Vec<Transcript>, Vec<String>) {
        let (seen, skipped) = read_input(&GeminiTakeout, Input::from_text("MyActivity.json", text));
        (seen, skipped.into_iter().map(|(_, reason)| reason).collect())
    }

    fn texts(text: &str) -> Vec<Vec<String>> {
        read(text).0.into_iter().map(|one| one.messages.into_iter().map(|message| message.text).collect()).collect()
    }

    fn entry(title: &str, minute: u32, answer: Option<&str>) -> Value {
        let mut entry = json!({"header": "Gemini Apps", "title": title, "time": format!("2026-01-02T10:{minute:02}:00.000Z"),
        "products": ["Gemini Apps"]});
        if let Some(answer) = answer {
            entry["safeHtmlItem"] = json!([{"html": answer}]);
        }
        entry
    }

    #[test]
    fn entries_half_an_hour_apart_are_conversations_in_the_order_of_speech() {
        let newest_first = json!([
            entry("Prompted three", 55, Some("<p>3</p>")),
            entry("Prompted two", 20, None),
            entry("Prompted one", 0, Some("<p>1</p>")),
        ]);
        assert_eq!(texts(&newest_first.to_string()), [vec!["three", "3"], vec!["one", "1", "two"]]);
        let mut oldest_first = newest_first.as_array().unwrap().clone();
        oldest_first.reverse();
        assert_eq!(texts(&json!(oldest_first).to_string()), [vec!["one", "1", "two"], vec!["three", "3"]]);
    }

    #[test]
    fn the_verb_is_learnt_in_any_language_and_what_lacks_it_is_no_prompt() {
        let prompts = ["plant beans", "when to sow", "who eats kale", "where is north", "why rain"];
        for verb in ["Eingegebener Prompt: ", "Prompt saisi\u{a0}: ", "送信したメッセージ: "] {
            let mut entries: Vec<Value> = (0_u32..)
                .zip(prompts)
                .map(|(minute, prompt)| entry(&format!("{verb}{prompt}"), minute, None))
                .collect();
            entries.push(entry("Canvas", 9, None));
            let (seen, _) = read(&json!(entries).to_string());
            let pieces: Vec<_> = seen[0].messages.iter().map(|message| (message.role, message.text.as_str())).collect();
            let mut expected: Vec<_> = prompts.iter().map(|prompt| (Role::User, *prompt)).collect();
            expected.push((Role::Other, "Canvas"));
            assert_eq!(pieces, expected, "{verb}");
        }
    }

    #[test]
    fn an_answered_entry_is_a_prompt_and_a_note_is_context() {
        let entries = json!([entry("Gave feedback", 1, None), entry("Prompted by fear?", 0, Some("No.")), 7]);
        let (seen, skipped) = read(&entries.to_string());
        let pieces: Vec<_> = seen[0].messages.iter().map(|message| (message.kind, message.text.as_str())).collect();
        assert_eq!(pieces, [(Kind::Prose, "by fear?"), (Kind::Prose, "No."), (Kind::Context, "Gave feedback")]);
        assert_eq!(skipped, ["not an activity entry: it has no `title` and no `time`"]);
    }

    #[test]
    fn entries_of_other_products_are_counted_and_no_activity_of_theirs_is_claimed() {
        let search = json!({"header": "Search", "title": "Searched for kale", "time": "2026-01-02T10:00:00Z", "products": ["Search"]});
        let (seen, skipped) = read(&json!([search, entry("Prompted a", 0, None), search]).to_string());
        assert_eq!((seen.len(), skipped), (1, vec!["entries of products other than Gemini: 2".to_owned()]));
        assert!(!GeminiTakeout.sniff(&Head::new(json!([search]).to_string().into(), true)));
    }

    #[test]
    fn a_conversation_keeps_its_identity_while_it_grows() {
        let one = json!([entry("Prompted a", 0, None)]).to_string();
        let two = json!([entry("Prompted b", 5, None), entry("Prompted a", 0, None)]).to_string();
        assert_eq!(read(&one).0[0].external_id, read(&two).0[0].external_id);
    }

    fn cell(product: &str, body: &str) -> String {
        format!(
            "<div class=\"outer-cell mdl-cell\"><div class=\"mdl-grid\"><div class=\"header-cell mdl-cell\"><p class=\"mdl-typography--title\">{product}<br></p></div><div class=\"content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1\">{body}</div><div class=\"content-cell mdl-cell mdl-typography--body-1 mdl-typography--text-right\"></div><div class=\"content-cell mdl-typography--caption\"><b>Products:</b><br>&emsp;{product}<br></div></div></div>"
        )
    }

    #[test]
    fn the_page_is_read_like_the_file() {
        let page = format!(
            "<html><head><style>p{{}}</style></head><body>{}{}{}{}</body></html>",
            cell(
                "Gemini Apps",
                "Prompted&nbsp;and in<br>the shade?<br>Jan 2, 2026, 10:05:00\u{202f}AM UTC<br><p>Then <b>ferns</b>.</p><ul><li>hardy</li></ul>"
            ),
            cell(
                "Gemini Apps",
                "Prompted&nbsp;what grows in sun?<br>Attached 1 file.<br>-&nbsp;<a href=\"b.jpg\">bed.jpg</a><br>Jan 2, 2026, 10:00:00\u{202f}AM UTC<br><p>Sage &amp; thyme.</p>"
            ),
            cell("Search", "Searched for kale<br>Jan 2, 2026, 10:00:00\u{202f}AM UTC<br>"),
            cell("Gemini Apps", "nothing here"),
        );
        assert!(GeminiTakeout.sniff(&Head::new(page.as_str().into(), true)));
        let (seen, skipped) = read(&page);
        let pieces: Vec<_> = seen[0].messages.iter().map(|message| (message.kind, message.text.as_str())).collect();
        let expected = [
            (Kind::Prose, "what grows in sun?"),
            (Kind::Attachment, "[file: bed.jpg]"),
            (Kind::Prose, "Sage & thyme."),
            (Kind::Prose, "and in\nthe shade?"),
            (Kind::Prose, "Then ferns.\n- hardy"),
        ];
        assert_eq!(pieces, expected);
        assert_eq!(skipped, ["an entry without text or date", "entries of products other than Gemini: 1"]);
        assert!(!GeminiTakeout.sniff(&Head::new(cell("Search", "Searched for Gemini<br>").into(), true)));
    }

    #[test]
    fn few_titles_in_a_language_that_is_not_known_are_prompts_as_they_stand() {
        let entries = json!([entry("Запрос: когда сеять", 0, None)]);
        let (seen, _) = read(&entries.to_string());
        assert_eq!((seen[0].messages[0].kind, seen[0].messages[0].text.as_str()), (Kind::Prose, "Запрос: когда сеять"));
    }
}

#[cfg(test)]
mod html_tests {
    use super::*;

    #[test]
    fn blocks_are_lines_and_entities_are_decoded() {
        let html = "<h3>Tea &amp; milk</h3><p>First <b>warm</b>\nthe pot.</p><ul><li>Assam</li><li><p>Ceylon</p></li></ul><table><tr><td>a</td><td>b</td></tr></table>a &lt; b";
        assert_eq!(to_text(html), "Tea & milk\nFirst warm the pot.\n- Assam\n- Ceylon\na b\na < b");
    }

    #[test]
    fn odd_markup_is_survived() {
        for odd in ["<", "<!--", "&", "&#xffffffff;", "<p", "a<b", "<li", "é&é;<é>", "&#0;"] {
            let _text = to_text(odd);
        }
    }
}

#[cfg(test)]
mod page_tests {
    use super::*;

    #[test]
    fn dates_are_read_as_pages_write_them() {
        let pieces = |words: &str| written_time(words).map(|time| (time.at.to_string(), time.offset_seconds));
        let rows = [
            ("Nov 3, 2025, 9:15:02\u{202f}PM CET", Some(("2025-11-03T20:15:02Z", Some(3_600)))),
            ("3 Nov 2025, 21:15:02 GMT", Some(("2025-11-03T21:15:02Z", Some(0)))),
            ("03.11.2025, 21:15:02 MEZ", Some(("2025-11-03T20:15:02Z", Some(3_600)))),
            ("3 de dez. de 2025, 08:05:09 GMT-03:00", Some(("2025-12-03T11:05:09Z", Some(-10_800)))),
            ("2025/11/03 21:15:02 JST", Some(("2025-11-03T12:15:02Z", Some(32_400)))),
            ("2025年11月3日 21:15:02 CST", Some(("2025-11-03T21:15:02Z", None))),
            ("12 août 2025, 12:00:00 AM", Some(("2025-08-12T00:00:00Z", None))),
            ("31 Nov 2025, 21:15:02 GMT", None),
            ("soon", None),
        ];
        for (words, expected) in rows {
            assert_eq!(pieces(words), expected.map(|(at, offset)| (at.to_owned(), offset)), "{words}");
        }
    }
}
