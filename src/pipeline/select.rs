//! Which files, conversations and windows are wanted; what is not stays unread for a later run; pure.
//!
//! A conversation is wanted if it has a message in the range of time; of it, the windows that have one. Windows are cut
//! as if all were wanted, so that a later run with a wider range reads the others and none twice.

use std::path::{MAIN_SEPARATOR, Path};

use glob::{MatchOptions, Pattern};
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

use crate::memory::Namespace;
use transcripts::{Message, MessageTime, Transcript};

/// What is wanted; the default is everything.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only what was said at this time or later.
    pub since: Option<Timestamp>,
    /// Only what was said before this time.
    pub until: Option<Timestamp>,
    /// Where the clocks of logs stood that do not tell; UTC if unset.
    pub zone: Option<TimeZone>,
    /// Only these projects: names, or folders with all below them. Empty for any.
    pub projects: Vec<String>,
    /// The namespaces of those of them that go by a name which no log tells.
    pub namespaces: Vec<Namespace>,
    /// Neither files nor projects that match.
    pub exclude: Vec<Pattern>,
}

/// Why something was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// Its path or its project matches a pattern of those to leave out.
    Excluded,
    /// Nothing in it was said in the range of time.
    OutOfRange,
    /// There is a range of time, and it is not known when it was said.
    Undated,
    /// It belongs to none of the projects asked for.
    OtherProject,
}

const MATCHING: MatchOptions =
    MatchOptions { case_sensitive: false, require_literal_separator: true, require_literal_leading_dot: false };

impl Selection {
    /// Returns why a file is left out without being opened. A file that was last changed before the range has nothing
    /// in it.
    #[must_use]
    pub fn leaves_file(&self, path: &Path, changed_at: Option<Timestamp>) -> Option<LeftOut> {
        if self.excludes(&path.to_string_lossy()) {
            return Some(LeftOut::Excluded);
        }
        // Tools that pack files for others set the time to the epoch.
        let told = changed_at.filter(|at| at.as_second() > 86_400);
        let is_older = self.since.is_some_and(|since| told.is_some_and(|at| at < since));
        is_older.then_some(LeftOut::OutOfRange)
    }

    /// Returns why a conversation is left out, which belongs to `namespace`.
    #[must_use]
    pub fn leaves(&self, transcript: &Transcript, namespace: &Namespace) -> Option<LeftOut> {
        let project = transcript.project.as_deref().unwrap_or_default();
        if !project.is_empty() && self.excludes(project) {
            return Some(LeftOut::Excluded);
        }
        let is_wanted = |wanted: &String| is_project(wanted, project, &namespace.to_string());
        let is_known_by_name = self.namespaces.contains(namespace);
        if !self.projects.is_empty() && !is_known_by_name && !self.projects.iter().any(is_wanted) {
            return Some(LeftOut::OtherProject);
        }
        if self.since.is_none() && self.until.is_none() {
            return None;
        }
        let mut times = transcript.messages.iter().filter_map(|message| message.time).peekable();
        if times.peek().is_none() {
            return match transcript.created_at {
                Some(at) => (!self.is_in_range(at)).then_some(LeftOut::OutOfRange),
                None => Some(LeftOut::Undated),
            };
        }
        (!times.any(|time| self.holds(&time))).then_some(LeftOut::OutOfRange)
    }

    /// Returns the projects asked for by name, not those by folder: of a folder only what was said there is wanted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.projects.iter().map(String::as_str).filter(|text| !is_absolute(text))
    }

    /// Whether a window of a conversation that is wanted is wanted itself. One of unknown time goes with the others.
    #[must_use]
    pub fn takes(&self, messages: &[Message]) -> bool {
        let mut times = messages.iter().filter_map(|message| message.time).peekable();
        times.peek().is_none() || times.any(|time| self.holds(&time))
    }

    fn holds(&self, time: &MessageTime) -> bool {
        let at = match (&self.zone, time.offset_seconds) {
            // The reading of a clock somewhere; most logs were written where they are read.
            (Some(zone), None) => {
                let reading = Offset::UTC.to_datetime(time.at);
                zone.to_ambiguous_timestamp(reading).compatible().unwrap_or(time.at)
            }
            _ => time.at,
        };
        self.is_in_range(at)
    }

    fn is_in_range(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }

    /// Whether a path is left out: a pattern without `/` matches any part of it; another matches the path, its end, or
    /// a folder that it is in.
    fn excludes(&self, path: &str) -> bool {
        let path = path.replace('\\', "/");
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        self.exclude.iter().any(|pattern| {
            let text = pattern.as_str();
            if !text.trim_end_matches('/').contains('/') {
                return parts.iter().any(|part| matches(text.trim_end_matches('/'), part));
            }
            let root = if path.starts_with('/') { "/" } else { "" };
            let folders = (1..=parts.len()).map(|count| format!("{root}{}", parts[..count].join("/")));
            let whole = text.trim_end_matches('/');
            let anywhere = if whole.starts_with('/') { whole.to_owned() } else { format!("**/{whole}") };
            folders.into_iter().any(|folder| matches(whole, &folder) || matches(&anywhere, &folder))
        })
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    // The whole was parsed before, and no part of it is harder.
    Pattern::new(pattern).is_ok_and(|pattern| pattern.matches_with(text, MATCHING))
}

/// Whether `wanted` names the project of a conversation: its namespace, its folder or one above it, or its last name.
fn is_project(wanted: &str, project: &str, namespace: &str) -> bool {
    let plain = |text: &str| text.trim().trim_end_matches(['/', '\\']).replace('\\', "/");
    let (wanted, project) = (plain(wanted), plain(project));
    if wanted.is_empty() || wanted == namespace {
        return !wanted.is_empty();
    }
    if wanted.contains('/') {
        return project.strip_prefix(&wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    }
    let last = project.rsplit(['/', ':']).next().unwrap_or_default().trim_end_matches(".git");
    let id = namespace.strip_prefix("project/").unwrap_or_default();
    let is_hash = |digits: &str| digits.len() >= 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let name = id.rsplit_once('-').filter(|(_, digits)| is_hash(digits)).map_or(id, |(name, _)| name);
    [last, id, name].iter().any(|own| !own.is_empty() && own.to_lowercase() == wanted.to_lowercase())
}

/// Whether it is a folder's whole path, on this machine or on another.
fn is_absolute(text: &str) -> bool {
    text.starts_with(['/', '\\']) || text.get(1..3).is_some_and(|drive| drive == ":\\" || drive == ":/")
}

/// Returns the folder that a person means by a path, or the name as it is.
#[must_use]
pub fn named_project(text: &str, directory: &Path, home: Option<&Path>) -> String {
    let is_path = text == "." || text == ".." || text.contains('/') || text.contains(MAIN_SEPARATOR);
    if !is_path || text.starts_with("project/") {
        return text.to_owned();
    }
    let path = match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => directory.join(text),
    };
    // Dots are taken out where the folder is there; a repository's address stays as it is.
    let known = path.canonicalize().ok();
    let is_address = !text.starts_with(['.', '/', '~']) && known.is_none();
    if is_address { text.to_owned() } else { known.unwrap_or(path).to_string_lossy().into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transcripts::TimeSource;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn said(time: &str) -> Message {
        Message { time: Some(MessageTime::logged(at(time))), ..Message::user("x") }
    }

    fn talk(project: &str, messages: Vec<Message>) -> Transcript {
        Transcript { project: Some(project.to_owned()), messages, ..Transcript::default() }
    }

    fn excluding(pattern: &str) -> Selection {
        Selection { exclude: vec![Pattern::new(pattern).unwrap()], ..Selection::default() }
    }

    #[test]
    fn a_conversation_is_wanted_for_any_message_in_the_range() {
        let march = Selection {
            since: Some(at("2026-03-01T00:00:00Z")),
            until: Some(at("2026-04-01T00:00:00Z")),
            ..Selection::default()
        };
        let global = Namespace::global();
        let table: &[(&[&str], Option<LeftOut>)] = &[
            (&["2026-02-28T23:59:59Z"], Some(LeftOut::OutOfRange)),
            (&["2026-03-01T00:00:00Z"], None),
            (&["2026-02-01T00:00:00Z", "2026-03-15T00:00:00Z"], None),
            (&["2026-02-01T00:00:00Z", "2026-04-01T00:00:00Z"], Some(LeftOut::OutOfRange)),
            (&[], Some(LeftOut::Undated)),
        ];
        for (times, wanted) in table {
            let messages: Vec<_> = times.iter().map(|time| said(time)).collect();
            assert_eq!(march.leaves(&talk("", messages), &global), *wanted, "{times:?}");
        }
        assert_eq!(Selection::default().leaves(&talk("", Vec::new()), &global), None);
        let begun = Transcript { created_at: Some(at("2026-03-02T00:00:00Z")), ..Transcript::default() };
        assert_eq!(march.leaves(&begun, &global), None);
        assert!(march.takes(&[said("2026-02-01T00:00:00Z"), said("2026-03-02T00:00:00Z")]));
        assert!(!march.takes(&[said("2026-02-01T00:00:00Z")]) && march.takes(&[Message::user("undated")]));
    }

    #[test]
    fn a_clock_without_offset_is_read_where_the_person_is() {
        let reading = MessageTime { at: at("2026-03-01T08:00:00Z"), offset_seconds: None, source: TimeSource::Log };
        let message = Message { time: Some(reading), ..Message::user("x") };
        let tokyo = TimeZone::fixed(Offset::from_hours(9).unwrap());
        let since = Some(at("2026-03-01T00:00:00Z"));
        let here = Selection { since, zone: Some(tokyo), ..Selection::default() };
        assert!(!here.takes(std::slice::from_ref(&message)), "it was 23:00 of the day before in UTC");
        assert!(Selection { zone: None, ..here }.takes(&[message]));
    }

    #[test]
    fn projects_are_named_by_their_end_their_folder_or_their_namespace() {
        let namespace = Namespace::project("shop-1a2b3c").unwrap();
        let table = [
            ("shop", true),
            ("SHOP", true),
            ("shop-1a2b3c", true),
            ("project/shop-1a2b3c", true),
            ("/home/ana/shop", true),
            ("/home/ana/", true),
            ("/home/an", false),
            ("/home/ana/shop/web", false),
            ("ana", false),
            ("sho", false),
            ("", false),
        ];
        let named = Namespace::project("my-shop").unwrap();
        let selection = Selection { projects: vec!["my".to_owned()], ..Selection::default() };
        assert!(selection.leaves(&talk("", Vec::new()), &named).is_some(), "no part of a name is one");
        for (wanted, is_wanted) in table {
            let selection = Selection { projects: vec![wanted.to_owned()], ..Selection::default() };
            let left = selection.leaves(&talk("/home/ana/shop", Vec::new()), &namespace);
            assert_eq!(left.is_none(), is_wanted, "{wanted}");
        }
        let windows = talk("C:\\src\\Shop", Vec::new());
        let selection = |wanted: &str| Selection { projects: vec![wanted.to_owned()], ..Selection::default() };
        assert_eq!(selection("shop").leaves(&windows, &Namespace::global()), None);
        assert_eq!(selection("C:\\src").leaves(&windows, &Namespace::global()), None);
    }

    #[test]
    fn patterns_leave_out_parts_ends_and_whole_folders() {
        let path = "/home/ana/logs/secret-plan/2026/a.jsonl";
        let table = [
            ("secret-*", true),
            ("SECRET-*", true),
            ("secret", false),
            ("*.jsonl", true),
            ("*.json", false),
            ("logs/secret-plan", true),
            ("logs/*/2026", true),
            ("logs/*/a.jsonl", false),
            ("logs/**/a.jsonl", true),
            ("/home/ana/logs", true),
            ("/home/ana/logs/", true),
            ("/ana/logs", false),
            ("/home/ana/log", false),
        ];
        for (pattern, is_left) in table {
            let left = excluding(pattern).leaves_file(Path::new(path), None);
            assert_eq!(left, is_left.then_some(LeftOut::Excluded), "{pattern}");
        }
        let hidden = talk("/home/ana/secret-plan/web", Vec::new());
        assert_eq!(excluding("secret-*").leaves(&hidden, &Namespace::global()), Some(LeftOut::Excluded));
        assert_eq!(excluding("plan").leaves(&hidden, &Namespace::global()), None);
    }

    #[test]
    fn a_file_that_was_last_changed_before_the_range_is_not_opened() {
        let selection = Selection { since: Some(at("2026-03-01T00:00:00Z")), ..Selection::default() };
        let left = |changed: &str| selection.leaves_file(Path::new("a"), Some(at(changed)));
        assert_eq!(left("2026-02-01T00:00:00Z"), Some(LeftOut::OutOfRange));
        assert_eq!(left("2026-03-01T00:00:00Z"), None);
        assert_eq!(left("1970-01-01T00:00:00Z"), None, "no time at all");
        assert_eq!(selection.leaves_file(Path::new("a"), None), None);
    }

    #[test]
    fn a_path_is_told_from_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let named = |text: &str| named_project(text, folder.path(), Some(Path::new("/home/ana")));
        assert_eq!(named("."), real.to_string_lossy());
        assert_eq!(named("shop"), "shop");
        assert_eq!(named("~/none-such"), "/home/ana/none-such");
        assert_eq!(named("github.com/ana/shop"), "github.com/ana/shop");
        assert_eq!(named("project/shop-1a2b3c"), "project/shop-1a2b3c");
    }
}
