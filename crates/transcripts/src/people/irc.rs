//! IRC logs: lines such as `[10:02:33] <ana> hello`, lines of `WeeChat`, and records of a time, a nick and a text.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use jiff::SignedDuration;
use jiff::civil::Date;

use crate::message::dates::{Days, clock, month_of, printed, seconds_of};
use crate::message::identity;
use crate::message::speaker::{is_of_a_log, looks_like_account, looks_like_name};
use crate::{
    Assembler, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Record, Records, Role, Sink, TimeSource,
};

/// Number of lines that are examined to recognise a log.
const SAMPLED_LINES: usize = 200;

patterns! {
    STAMPED = r"^[\[(]?(?:(?P<date>\d{4}-\d\d-\d\d)[T ]|(?P<day>[A-Z][a-z]{2} {1,2}\d{1,2}|\d{1,2} [A-Z][a-z]{2}) )?(?P<clock>\d{1,2}:\d\d(?::\d\d)?)(?:\.\d{1,9})?(?P<zone>Z|[+-]\d\d:?\d\d)?[\])]?(?P<gap>[ \t]+)(?P<rest>\S.*)$";
    SAID = r"^<[ @+%&~!]?(?P<nick>[^\s<>!]{1,40})(?P<host>![^\s<>]{1,100})?>(?:[ \t](?P<words>.*))?$";
    ACTION = r"^\*[ \t]+(?P<nick>[^\s*:]{1,40})[ \t]+(?P<words>.+)$";
    TABBED = r"^[@+%&~!]?(?P<nick>[\p{L}_\[\]{}\\^`|][^\s\t]{0,40})\t(?P<words>.*)$";
    OPENED = r"(?i)^(?:---|\*{4}|session) (?:log opened|day changed|begin logging at|start:) ?(?P<date>.*)$";
    CLOSED = r"(?i)^(?:---|\*{4}|session) (?:log closed|ending logging at|close:|ident:)";
    NOTICE = r"^(?:\*\*\*|-!-|-->|<--|--|===|=!=|-\S{1,40}-)(?:\s|$)";
    DATED = r"(?:^|\D)(?P<date>(?:19|20)\d\d[-_.]?(?:0[1-9]|1[0-2])(?:[-_.]?(?:0[1-9]|[12]\d|3[01]))?(?:[T_-]\d{4,6})?)(?:\D|$)";
    ENDINGS = r"(?i)(?:\.(?:log|txt|irclog|weechatlog|gz|zst|xz|bz2))+$";
    RELAY = r"(?i)(?:^|[-_|])(?:relay(?:bot)?|(?:matter)?bridge(?:bot)?|gateway|sync-?bot|matterbot|teleirc)\d*(?:$|[-_|])";
    RELAYED = r"^(?:<[ @+%&~!]?(?P<marked>[^<>]{1,40})>|\[(?P<bracketed>[^\[\]]{1,40})\]|(?P<bare>[^\s:<>\[\]][^:<>\[\]]{0,39}):)[ \t]+(?P<words>\S(?s:.*))$";
    EVENT = r"(?i)\b(?:has (?:joined|quit|left|kicked|changed|set)|(?:joined|left) the channel$|is now known as|sets? mode|gives? (?:channel|voice)|removes? (?:channel|voice)|now talking|you are now|topic for|disconnected)\b|\b(?:joins|quits|parts): ";
}

/// Reads logs of IRC channels.
pub(crate) struct Irc;

impl Ingestor for Irc {
    named!("irc");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let lines: Vec<&str> = head.text.lines().map(str::trim_end).take(SAMPLED_LINES).collect();
        let filled = lines.iter().filter(|line| !line.is_empty()).count();
        // The log of a quiet day may contain a single record.
        if records_of(&lines) >= 2 || records_of(&lines) == 1 && filled == 3 {
            return true;
        }
        let entries: Vec<Entry<'_>> = lines.iter().filter_map(|line| entry(line)).collect();
        let said = || entries.iter().filter(|entry| entry.is_said);
        let nicks: HashSet<&str> = said().filter_map(|entry| entry.nick).filter(|nick| !is_of_a_log(nick)).collect();
        let is_table = said().all(|entry| entry.is_tabbed);
        let is_marked = entries.iter().any(|entry| !entry.is_said) || nicks.len() > 1 && said().count() > nicks.len();
        let has_sentences = said().filter(|entry| entry.words.trim().contains(' ')).count() * 2 >= said().count();
        let joins = entries.iter().filter(|entry| !entry.is_said && EVENT.is_match(entry.words)).count();
        let is_quiet = said().next().is_none() && joins >= 3;
        entries.len() * 4 >= filled * 3
            && (is_quiet
                || said().any(|entry| entry.nick.is_some_and(|nick| nicks.contains(nick)))
            && said().filter(|entry| entry.nick.is_some_and(is_of_a_log)).count() * 2 <= said().count()
            // Any table of times may contain tabs, so a nick must also occur repeatedly, or a line must report that
            // somebody joined.
            && (!is_table || is_marked && has_sentences))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let is_records = records_of(&input.head().lines().map(str::trim_end).collect::<Vec<_>>()) >= 1;
        let mut channel = Channel::new(&input);
        let mut records = Records::lines(input);
        while let Some(record) = records.next(sink)? {
            if is_records {
                channel.take_part(&record, sink);
            } else {
                channel.take_line(&record, sink);
            }
        }
        channel.say(sink);
        channel.attribute();
        channel.draft.finish(sink);
        Ok(())
    }
}

/// A line with a time.
#[derive(Default)]
struct Entry<'a> {
    date: Option<Date>,
    /// A day without a year: `Oct 29`.
    day: Option<&'a str>,
    clock: &'a str,
    zone: Option<&'a str>,
    /// The nick; `None` for a line that the program wrote.
    nick: Option<&'a str>,
    words: &'a str,
    is_said: bool,
    is_tabbed: bool,
}

fn entry(line: &str) -> Option<Entry<'_>> {
    let found = STAMPED.captures(line);
    let Some(found) = found else { return is_header(line).then(Entry::default) };
    let group = |name: &str| found.name(name).map(|group| group.as_str());
    let rest = group("rest")?;
    let entry = Entry {
        date: group("date").and_then(|date| date.parse().ok()),
        day: group("day"),
        clock: group("clock")?,
        zone: group("zone"),
        words: rest,
        ..Entry::default()
    };
    if let Some(said) = SAID.captures(rest) {
        let words = said.name("words").map_or("", |words| words.as_str());
        // A proxy that logs the whole address of a user also logs a character that shows whether the nick was
        // registered.
        let words = if said.name("host").is_some() { words.strip_prefix(['+', '-']).unwrap_or(words) } else { words };
        return Some(Entry { nick: said.name("nick").map(|nick| nick.as_str()), words, is_said: true, ..entry });
    }
    if NOTICE.is_match(rest) {
        return Some(entry);
    }
    if let Some(action) = ACTION.captures(rest) {
        let nick = action.name("nick").map(|nick| nick.as_str()).filter(|_| !EVENT.is_match(rest));
        let is_said = nick.is_some();
        return Some(Entry { nick, words: rest.trim_start_matches(['*', ' ', '\t']), is_said, ..entry });
    }
    let is_dated = entry.date.is_some() && group("gap") == Some("\t");
    let tabbed = TABBED.captures(rest).filter(|_| is_dated)?;
    let nick = tabbed.name("nick").map(|nick| nick.as_str());
    Some(Entry { nick, words: tabbed.name("words")?.as_str(), is_said: true, is_tabbed: true, ..entry })
}

fn is_header(line: &str) -> bool {
    OPENED.is_match(line) || CLOSED.is_match(line)
}

/// Returns the time in a line that opens a log or a day: `--- Log opened Sat Oct 29 00:00:10 2016`.
fn opened(line: &str) -> Option<MessageTime> {
    let day = printed(OPENED.captures(line)?.name("date")?.as_str())?.date();
    MessageTime::local(day.to_datetime(jiff::civil::Time::midnight()), TimeSource::Log)
}

/// Returns the number of `lines` that are times in seconds followed by a nick and a text.
fn records_of(lines: &[&str]) -> usize {
    let is_record = |three: &&[&str]| is_seconds(three[0]) && is_nick(three[1]) && !is_seconds(three[2]);
    let begins = lines.iter().find(|line| !line.is_empty()).is_some_and(|line| is_seconds(line));
    if begins { lines.windows(3).filter(is_record).count() } else { 0 }
}

fn is_seconds(line: &str) -> bool {
    (9..=10).contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_nick(line: &str) -> bool {
    (1..=40).contains(&line.len())
        && !line.contains(char::is_whitespace)
        && !line.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns the name of the channel of the log at `path`, without the date in the name of a daily file.
///
/// The name begins with `#`, or the file's name also contains a date; any other name may belong to several channels.
/// The name of the folder above precedes it, because several networks may have a channel of that name.
fn channel_of(path: &Path) -> Option<String> {
    let names = path.components().rev().map(|part| part.as_os_str().to_string_lossy().into_owned());
    let mut names = names.enumerate();
    while let Some((place, name)) = names.next() {
        let name = ENDINGS.replace(&name, "");
        let (bare, is_dated) = without_date(&name);
        let bare = bare.strip_prefix("irc.").unwrap_or(&bare);
        let has_network = bare.contains(".#") || bare.contains("_#");
        if bare.starts_with('#') || has_network || place == 0 && is_dated && bare.starts_with(char::is_alphabetic) {
            let above = names.map(|(_, name)| without_date(&name).0).find(|name| is_no_date(name));
            let network = above.filter(|name| !has_network && !is_general(name));
            let channel = network.map_or_else(|| bare.to_owned(), |network| format!("{network}.{bare}"));
            return Some(channel).filter(|_| !is_general(bare));
        }
        // A file named after its day is in the folder of its channel.
        if bare.chars().any(char::is_alphabetic) {
            return None;
        }
    }
    None
}

/// Returns `name` without the date that it contains, and whether it contains a date.
fn without_date(name: &str) -> (String, bool) {
    let date = DATED.captures(name).and_then(|found| found.name("date"));
    let bare = date.map_or_else(|| name.to_owned(), |date| format!("{}{}", &name[..date.start()], &name[date.end()..]));
    (bare.trim_matches(['-', '_', '.', ' ', '(', ')']).to_owned(), date.is_some())
}

/// Returns whether a folder's name, without a date, is more than a day, a month or a year.
fn is_no_date(name: &str) -> bool {
    let mut words = name.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.any(|word| month_of(word).is_none())
}

/// Returns whether `name` is a word that occurs in names of logs and of their folders, rather than the name of a
/// channel or a network.
fn is_general(name: &str) -> bool {
    const GENERAL: &[&str] = &["irc", "irclogs", "log", "logs", "chat", "channel", "downloads"];
    GENERAL.contains(&name.to_lowercase().as_str())
}

/// A line in which a relay repeats what a person said in another network.
struct Relayed<'a> {
    name: &'a str,
    words: &'a str,
    /// Whether only a colon follows the name. In IRC, people also address each other in this way.
    is_bare: bool,
}

fn relayed(words: &str) -> Option<Relayed<'_>> {
    let found = RELAYED.captures(words)?;
    let marked = found.name("marked").or_else(|| found.name("bracketed"));
    let name = marked.or_else(|| found.name("bare"))?.as_str().trim();
    let is_name = looks_like_name(name) || looks_like_account(name);
    is_name.then_some(Relayed { name, words: found.name("words")?.as_str(), is_bare: marked.is_none() })
}

/// The nicks that have spoken in a log.
#[derive(Default)]
struct Nicks {
    /// All nicks, in lower case.
    spoken: HashSet<String>,
    /// For each nick that could be a relay's, the number of its lines, and of those that have the form of a relay's.
    relays: HashMap<String, (usize, usize)>,
}

impl Nicks {
    fn add(&mut self, nick: &str, words: &str) {
        let nick = nick.to_lowercase();
        if RELAY.is_match(&nick) {
            let (all, formed) = self.relays.entry(nick.clone()).or_default();
            *all += 1;
            *formed += usize::from(relayed(words).is_some());
        }
        self.spoken.insert(nick);
    }

    /// Attributes the words of a relay to the person whom the relay names.
    ///
    /// The words are never attributed to somebody who speaks in the log, because anybody can choose the nick of a relay.
    fn attribute(&self, message: &mut Message) {
        let Some(nick) = message.speaker.as_ref().map(|nick| nick.to_lowercase()) else { return };
        let Some((all, formed)) = self.relays.get(&nick) else { return };
        let Some(line) = relayed(&message.text) else { return };
        let is_known = !line.is_bare || formed * 10 >= all * 9;
        if is_known && !self.spoken.contains(&line.name.to_lowercase()) {
            let (name, words) = (line.name.to_owned(), line.words.to_owned());
            (message.speaker, message.text) = (Some(name), words);
        }
    }
}

/// The state of a channel that is being read.
struct Channel {
    draft: Assembler,
    stem: String,
    /// The day in the file's name, or in the last line that marks the start of a day.
    day: Option<MessageTime>,
    days: Days,
    nicks: Nicks,
    /// The message that is being read, with the number of its line.
    open: Option<(usize, Message)>,
    /// Whether the last line was the time of a record, so that the next line is the nick.
    is_at_nick: bool,
    last_line: usize,
}

impl Channel {
    fn new(input: &Input) -> Self {
        let stem = input.stem();
        let mut draft = Assembler::new("irc", "", input.path.display().to_string());
        let day = identity::named_time(&stem).map(MessageTime::derived);
        draft.meta().title = Some(stem.clone());
        draft.meta().project = channel_of(&input.path);
        draft.meta().created_at = day.map(|day| day.at);
        let (days, nicks) = (Days::starting(day), Nicks::default());
        Self { draft, stem, day, days, nicks, open: None, is_at_nick: false, last_line: 0 }
    }

    fn take_line(&mut self, record: &Record, sink: &mut Sink<'_>) {
        let line = record.text.trim_end();
        if let Some(day) = opened(line) {
            (self.day, self.days) = (Some(day), Days::starting(Some(day)));
            return self.note(line, Some(day), record.number, sink);
        }
        match entry(line) {
            Some(entry) => {
                let time = self.time(&entry);
                match entry.nick {
                    Some(nick) => self.start(nick, entry.words, time, record.number, sink),
                    None => self.note(entry.words, time, record.number, sink),
                }
            }
            None if STAMPED.is_match(line) => self.note(line, self.day, record.number, sink),
            // A message continues on the next line only if an editor or a paste has split it.
            None => match &mut self.open {
                Some((_, message)) if message.kind == Kind::Prose => message.text.extend(["\n", line]),
                Some(_) | None => sink.skip(record.number, "not a line of a chat"),
            },
        }
    }

    /// Processes a line of a record: its time, its nick, or its text.
    fn take_part(&mut self, record: &Record, sink: &mut Sink<'_>) {
        let line = record.text.trim_end();
        let follows_blank = record.number > self.last_line + 1 || self.open.is_none();
        self.last_line = record.number;
        if let Some((_, message)) = self.open.as_mut().filter(|_| std::mem::take(&mut self.is_at_nick)) {
            message.speaker = Some(line.to_owned());
        } else if follows_blank && is_seconds(line) {
            let time = identity::instant(&line.parse::<i64>().unwrap_or(0).into()).map(MessageTime::logged);
            self.start("", "", time, record.number, sink);
            self.is_at_nick = true;
        } else if let Some((_, message)) = &mut self.open {
            let end = if message.text.is_empty() { "" } else { "\n" };
            message.text.extend([end, line]);
        } else {
            sink.skip(record.number, "not a line of a chat");
        }
    }

    fn time(&mut self, entry: &Entry<'_>) -> Option<MessageTime> {
        let since = clock_of_day(entry.clock)?;
        let year = self.day.map(|day| day.civil().year());
        let Some(date) = entry.date.or_else(|| day_of(entry.day?, year?)) else {
            return if entry.day.is_some() { None } else { self.days.time_of_day(since) };
        };
        let local = date.to_datetime(jiff::civil::Time::midnight()).checked_add(since).ok()?;
        let offset_seconds = entry.zone.and_then(|zone| if zone == "Z" { Some(0) } else { seconds_of(zone) });
        let time = MessageTime::local(local, TimeSource::Log)?;
        let at = time.at.checked_sub(SignedDuration::from_secs(offset_seconds.unwrap_or(0).into())).ok()?;
        Some(MessageTime { at, offset_seconds, ..time })
    }

    fn note(&mut self, text: &str, time: Option<MessageTime>, number: usize, sink: &mut Sink<'_>) {
        self.say(sink);
        self.open = Some((number, Message { time, ..Message::new(Role::Other, Kind::Context, text) }));
    }

    fn start(&mut self, nick: &str, words: &str, time: Option<MessageTime>, number: usize, sink: &mut Sink<'_>) {
        self.say(sink);
        self.open = Some((number, Message { speaker: Some(nick.to_owned()), time, ..Message::user(words) }));
    }

    /// Adds the message that was being read.
    fn say(&mut self, sink: &mut Sink<'_>) {
        let Some((number, message)) = self.open.take() else { return };
        // People use the same greetings every day, so the identity includes the time.
        let at = message.time.map(|time| time.at.to_string()).unwrap_or_default();
        let speaker = message.speaker.clone().unwrap_or_default();
        self.draft.name_after(&message, || identity::of_parts(&[&self.stem, &at, &speaker, &message.text]));
        if let Some(nick) = &message.speaker {
            self.nicks.add(nick, &message.text);
        }
        self.draft.hold(Message { id: number.to_string(), ..message });
        if self.draft.is_full() {
            self.attribute();
            self.draft.hand_over(sink);
        }
    }

    /// Attributes the words of relays in the part of the log that has been read.
    fn attribute(&mut self) {
        self.draft.meta().messages.iter_mut().for_each(|message| self.nicks.attribute(message));
    }
}

/// Reads `10:02` or `10:02:33`.
fn clock_of_day(text: &str) -> Option<SignedDuration> {
    // Two fields are hours and minutes here, but minutes and seconds in a recording.
    let full = if text.matches(':').count() == 1 { format!("{text}:00") } else { text.to_owned() };
    SignedDuration::try_from(clock(&full)?).ok()
}

/// Reads `Oct 29` or `29 Oct`.
fn day_of(text: &str, year: i16) -> Option<Date> {
    let (first, second) = text.split_once(' ')?;
    let (month, day) = if first.starts_with(char::is_alphabetic) { (first, second) } else { (second, first) };
    Date::new(year, month_of(month)?, day.trim().parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{read, sniffs};

    /// Formats each message as its time, its speaker and its text.
    fn pieces(name: &str, text: &str) -> Vec<(String, String, String)> {
        let (seen, _) = read(&Irc, name, text);
        let messages = seen.into_iter().flat_map(|transcript| transcript.messages);
        let time = |message: &Message| message.time.map(|time| time.at.to_string()).unwrap_or_default();
        messages.map(|one| (time(&one), one.speaker.unwrap_or_default(), one.text)).collect()
    }

    fn row(time: &str, speaker: &str, text: &str) -> (String, String, String) {
        (time.to_owned(), speaker.to_owned(), text.to_owned())
    }

    #[test]
    fn every_shape_names_who_spoke_and_when() {
        let rows = [
            ("#oven_20260114.log", "[10:02:33] <ana> It bakes.\n[10:02:40] *** Quits: rui", "2026-01-14T10:02:33Z"),
            (
                "#oven.2026-01-14.log",
                "10:02:33 <@ana> It bakes.\n10:02 -!- rui [~r@x] has quit",
                "2026-01-14T10:02:33Z",
            ),
            ("x", "--- Log opened Wed Jan 14 09:00:10 2026\n10:02 < ana> It bakes.", "2026-01-14T10:02:00Z"),
            ("x", "2026-01-14 10:02:33\tana\tIt bakes.\n2026-01-14 10:02:40\t-->\trui joined", "2026-01-14T10:02:33Z"),
            (
                "x",
                "2026-01-14T10:02:33+0200 <ana> It bakes.\n2026-01-14T10:02:40+0200 *** rui left",
                "2026-01-14T08:02:33Z",
            ),
            (
                "x",
                "**** BEGIN LOGGING AT Wed Jan 14 09:00:00 2026\n\nJan 14 10:02:33 <ana>\tIt bakes.\nJan 14 10:03:00 *\trui has joined #oven",
                "2026-01-14T10:02:33Z",
            ),
            ("x", "1768384953\nana\nIt bakes.\n\n1768384960\nrui\nYes.", "2026-01-14T10:02:33Z"),
        ];
        for (name, text, at) in rows {
            assert!(sniffs(&Irc, text), "{text}");
            let said = pieces(name, text).into_iter().find(|(_, speaker, _)| !speaker.is_empty());
            assert_eq!(said, Some(row(at, "ana", "It bakes.")), "{text}");
        }
    }

    #[test]
    fn what_the_program_says_is_nobodys_and_actions_are_somebodys() {
        let text = "[10:00] <ana> hm\n[10:01] * ana waves\n[10:02] * rui has joined #oven\n[10:03] -ChanServ- hello\n[10:04] === rui is now known as rui2\n[10:05] * rui joined the channel\n[10:06] * TOPIC: bread\n";
        let (seen, _) = read(&Irc, "x", text);
        let kinds: Vec<_> = seen[0].messages.iter().map(|one| (one.kind, one.speaker.as_deref())).collect();
        let (said, noted) = ((Kind::Prose, Some("ana")), (Kind::Context, None));
        assert_eq!(kinds, [said, said, noted, noted, noted, noted, noted]);
        assert_eq!(seen[0].messages[1].text, "ana waves");
    }

    #[test]
    fn the_logs_of_all_days_belong_to_one_channel() {
        for (path, channel) in [
            ("irc/#oven_20160806.log", Some("#oven")),
            ("irc/#oven_20160807.log.txt", Some("#oven")),
            ("irc/#oven_2016-08.txt", Some("#oven")),
            ("irc/2016-08-06/#oven.log", Some("#oven")),
            ("#oven/2016-08-06.log", Some("#oven")),
            ("#oven/2016/08/06.log", Some("#oven")),
            ("irc.libera.#oven.weechatlog", Some("libera.#oven")),
            ("irc.libera.#oven.2016-08-06.weechatlog", Some("libera.#oven")),
            ("libera/#oven_20160806.log", Some("libera.#oven")),
            ("logs/oftc/#oven_20160806.log", Some("oftc.#oven")),
            ("oftc/2016/August/#oven_20160806.log", Some("oftc.#oven")),
            ("oftc/#oven/2016/08/06.log", Some("oftc.#oven")),
            ("oftc/oven.2016-08-06.log", Some("oftc.oven")),
            ("oftc/irc.libera.#oven.weechatlog", Some("libera.#oven")),
            ("oftc/irc-2016-10-29.log", None),
            ("##rust-2016_08_06.log", Some("##rust")),
            ("oven.2016-08-06.log", Some("oven")),
            ("irc-2016-10-29.log", None),
            ("#oven/notes.log", None),
            ("oven.log", None),
            ("logs/2016-08-06.log", None),
        ] {
            assert_eq!(channel_of(Path::new(path)).as_deref(), channel, "{path}");
        }
    }

    #[test]
    fn what_a_relay_repeats_is_said_by_the_person_that_it_names() {
        let rows: &[(&str, &[(&str, &str)])] = &[
            (
                "oven-relay> Ana S: I bake.|oven-relay> Rui: Me too.|ana> rui: hm",
                &[("Ana S", "I bake."), ("Rui", "Me too."), ("ana", "rui: hm")],
            ),
            (
                "sync-bot> <rui> Me too.|relay2> [li_lei] And I.|sync-bot> see https://x.example",
                &[("rui", "Me too."), ("li_lei", "And I."), ("sync-bot", "see https://x.example")],
            ),
            // Somebody who often addresses others is no relay.
            (
                "x-relay> Lena: I bake.|x-relay> So do they.|x-relay> <Lena> I bake.",
                &[("x-relay", "Lena: I bake."), ("x-relay", "So do they."), ("Lena", "I bake.")],
            ),
            (
                "x-relay> Rui: I bake.|x-relay> <Rui> I bake.|rui> I do not.",
                &[("x-relay", "Rui: I bake."), ("x-relay", "<Rui> I bake."), ("rui", "I do not.")],
            ),
            (
                "bridget> lena: I bake.|bridget> <lena> I bake.|gatewayne> lena: I bake.",
                &[("bridget", "lena: I bake."), ("bridget", "<lena> I bake."), ("gatewayne", "lena: I bake.")],
            ),
        ];
        for (text, expected) in rows {
            let lines: Vec<_> = text.split('|').map(|line| format!("[10:00] <{line}\n")).collect();
            let said: Vec<_> = pieces("x", &lines.concat()).into_iter().map(|(_, nick, text)| (nick, text)).collect();
            let said: Vec<_> = said.iter().map(|(nick, text)| (nick.as_str(), text.as_str())).collect();
            assert_eq!(said, *expected, "{text}");
        }
    }

    #[test]
    fn midnight_and_a_new_day_are_noticed() {
        let text = "--- Log opened Wed Jan 14 23:00:00 2026\n23:59 < ana> one\n00:01 < ana> two\n--- Day changed Fri Jan 16 2026\n08:00 < ana> three\n";
        let times: Vec<_> = pieces("x", text).into_iter().filter(|one| one.1 == "ana").map(|one| one.0).collect();
        assert_eq!(times, ["2026-01-14T23:59:00Z", "2026-01-15T00:01:00Z", "2026-01-16T08:00:00Z"]);
        assert_eq!(pieces("x", "[10:00] <ana> one\n[10:01] <rui> two")[0].0, "");
    }

    #[test]
    fn a_quiet_day_is_a_log_too() {
        assert!(sniffs(&Irc, "1768384953\nana\nIt bakes.\n\n"));
        let quiet = "[10:00] *** Joins: ana (~a@x)\n".repeat(3);
        assert!(sniffs(&Irc, &quiet) && !sniffs(&Irc, &quiet.replace("Joins", "Starts")));
        assert_eq!(pieces("x", "1768384953\nana\n1768384960\n\n1768384970\nrui\nYes.")[0].2, "1768384960");
    }

    #[test]
    fn other_lines_with_times_are_no_chat() {
        for text in [
            "[10:02:33] <info> started\n[10:02:34] <warn> slow\n",
            "10:02:33 started\n10:02:34 stopped\n",
            "2026-01-14 10:02:33\t3.5\t7.1\n2026-01-14 10:02:34\t3.6\t7.2\n",
            "2026-01-14 10:02:33\tGET\t/index\n2026-01-14 10:02:34\tGET\t/about\n",
            "1768384953\n1768384954\n1768384955\n",
            "<ana> hi\n<rui> ho\n",
            "Notes.\n\nHe said:\n[10:00] <ana> hm\n",
            "",
        ] {
            assert!(!sniffs(&Irc, text), "{text}");
        }
    }
}
