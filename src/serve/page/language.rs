//! The languages of the page, each with its catalogue of texts.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::http::{HeaderMap, header};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::access::cookies;
use crate::memory::string_enum;

/// The cookie that stores the person's choice.
pub(super) const COOKIE: &str = "afterthought_language";

string_enum!(
    /// A language of the page, spelled as its code in `Accept-Language`.
    Language, "a language", {
    English = "en",
    Chinese = "zh",
});

type Catalogue = BTreeMap<String, String>;

static ENGLISH: LazyLock<Catalogue> = LazyLock::new(|| catalogue(include_str!("languages/en.toml")));
static CHINESE: LazyLock<Catalogue> = LazyLock::new(|| catalogue(include_str!("languages/zh.toml")));
/// Descriptions of settings in Chinese; the English descriptions come from the program.
static CHINESE_SETTINGS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    toml::from_str(include_str!("languages/zh-settings.toml")).expect("the catalogues are checked by tests")
});
/// Chinese translations of stored reasons, which are English sentences.
static CHINESE_REASONS: LazyLock<Catalogue> = LazyLock::new(|| catalogue(include_str!("languages/zh-reasons.toml")));
/// Messages of errors in Chinese.
static CHINESE_ERRORS: LazyLock<Catalogue> = LazyLock::new(|| catalogue(include_str!("languages/zh-errors.toml")));
/// Reports of evaluations in Chinese.
static CHINESE_EVALS: LazyLock<Catalogue> = LazyLock::new(|| catalogue(include_str!("languages/zh-evals.toml")));

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Span {
    /// The text of the part.
    pub text: String,
    /// Whether the part is content, such as the name of a case, rather than words of the program.
    pub is_content: bool,
}

impl Span {
    pub(super) fn words(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_content: false }
    }

    pub(super) fn content(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_content: true }
    }
}

impl Language {
    /// Returns the language's code for the attribute `lang`, which browsers also use to choose glyphs.
    pub(super) const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-Hans",
        }
    }

    /// Returns the language that the person chose, or otherwise the first language that the browser accepts.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let chosen = cookies(headers).find(|(name, _)| *name == COOKIE).and_then(|(_, code)| code.parse().ok());
        chosen.or_else(|| accepted(headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok()?)).unwrap_or(Self::English)
    }

    /// Returns the text that has this key.
    pub(super) fn text(self, key: &str) -> Option<&'static str> {
        let catalogue = match self {
            Self::English => &*ENGLISH,
            Self::Chinese => &*CHINESE,
        };
        catalogue.get(key).map(String::as_str)
    }

    /// Returns the reason for a change in this language. A reason given by a person is not translated.
    pub(super) fn reason(self, stored: &str) -> String {
        if self == Self::English {
            return stored.to_owned();
        }
        let said = |part: &str| translated(&CHINESE_REASONS, part);
        // Some reasons contain the separator.
        said(stored).unwrap_or_else(|| {
            stored.split("; ").map(|part| said(part).unwrap_or_else(|| part.to_owned())).collect::<Vec<_>>().join("；")
        })
    }

    /// Returns the message of an error in this language.
    pub(super) fn error(self, message: &str) -> String {
        let said = if self == Self::English { None } else { translated(&CHINESE_ERRORS, message) };
        said.unwrap_or_else(|| message.to_owned())
    }

    /// Returns text of an evaluation report in this language; `None` if there is no translation.
    pub(super) fn evaluation(self, text: &str) -> Option<Vec<Span>> {
        if self == Self::English { Some(vec![Span::words(text)]) } else { evaluated(text) }
    }

    /// Returns the description of a setting; `None` if the program's own description is in this language.
    pub(super) fn about_setting(self, key: &str) -> Option<&'static str> {
        if self == Self::English { None } else { CHINESE_SETTINGS.get(key).map(String::as_str) }
    }

    /// Returns a time in the format `date.{form}`, in the time zone of this machine; a time in a conversation is in the
    /// conversation's time zone.
    pub(super) fn time(self, at: &str, form: &str) -> String {
        let form = self.text(&format!("date.{form}")).unwrap_or("%Y-%m-%d");
        let civil = |at: &str| at.parse::<DateTime>().map(|at| at.strftime(form).to_string());
        let by_clock = |at: Timestamp| at.to_zoned(TimeZone::system()).strftime(form).to_string();
        at.parse().map(by_clock).or_else(|_| civil(at)).unwrap_or_else(|_| at.to_owned())
    }

    /// Returns the key of the plural form for `count`; Chinese has only one form.
    pub(super) const fn plural(self, count: i64) -> &'static str {
        match self {
            Self::English if count == 1 => "one",
            Self::English | Self::Chinese => "other",
        }
    }
}

/// Returns the known language with the highest weight in `Accept-Language`, the first if several have the same weight.
fn accepted(list: &str) -> Option<Language> {
    let weighted = list.split(',').filter_map(|entry| {
        let mut parts = entry.split(';');
        let name = parts.next()?.trim();
        let weight = parts.find_map(|part| part.trim().strip_prefix("q=")?.parse().ok()).unwrap_or(1.0);
        let language = name.split('-').next()?.to_ascii_lowercase().parse().ok()?;
        (weight > 0.0).then_some((weight, language))
    });
    let weighted: Vec<(f64, Language)> = weighted.collect();
    // For equal weights, `max_by` returns the last.
    weighted.into_iter().rev().max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, language)| language)
}

/// Returns the text of a catalogue whose keys are patterns.
fn translated(catalogue: &Catalogue, part: &str) -> Option<String> {
    if let Some(known) = catalogue.get(part) {
        return Some(known.clone());
    }
    let (text, values) = fitting(catalogue, part)?;
    let text = values.iter().fold(text.to_owned(), |text, (name, value)| {
        // Some values are themselves words or messages of the program.
        let known = CHINESE_REASONS.get(*value).cloned();
        let known = known.or_else(|| CHINESE.get(&format!("status.{value}")).cloned());
        let known = known.or_else(|| translated(&CHINESE_ERRORS, value));
        text.replace(&format!("{{{name}}}"), known.as_deref().unwrap_or(value))
    });
    Some(text)
}

/// Returns text of a report in Chinese. A text without a translation may be a list whose parts have one.
fn evaluated(text: &str) -> Option<Vec<Span>> {
    if let Some(known) = CHINESE_EVALS.get(text) {
        return Some(vec![Span::words(known)]);
    }
    if let Some((said, values)) = fitting(&CHINESE_EVALS, text) {
        let span = |(at, piece): (usize, &str)| {
            // Every second piece is the name of a value.
            let value = values.iter().find(|(name, _)| at % 2 == 1 && *name == piece).map(|(_, value)| *value);
            match value {
                None => vec![Span::words(piece)],
                Some(value) if piece.starts_with(|first: char| first.is_ascii_uppercase()) => {
                    vec![Span::content(value)]
                }
                Some(value) => {
                    let own = CHINESE_EVALS.get(&format!("{piece}: {value}")).map(|own| vec![Span::words(own)]);
                    let own = own.or_else(|| evaluated(value));
                    own.unwrap_or_else(|| vec![Span::words(Language::Chinese.reason(value))])
                }
            }
        };
        return Some(said.split(['{', '}']).enumerate().flat_map(span).collect());
    }
    let (separator, joint) =
        [("; ", "；"), (", ", "，")].into_iter().find(|(separator, _)| text.contains(separator))?;
    let parts: Vec<_> = text.split(separator).map(|part| (part, evaluated(part))).collect();
    parts.iter().any(|(_, known)| known.is_some()).then(|| {
        let part = |(part, known): (&str, Option<Vec<Span>>)| known.unwrap_or_else(|| vec![Span::words(part)]);
        parts.into_iter().map(part).collect::<Vec<_>>().join(&Span::words(joint))
    })
}

/// Returns the text of the pattern that fits `part`, with the values of its placeholders by name. If several patterns
/// fit, the one with the most literal text is used.
fn fitting<'c, 'p>(catalogue: &'c Catalogue, part: &'p str) -> Option<(&'c str, Vec<(&'c str, &'p str)>)> {
    let fitting = catalogue.iter().filter_map(|(pattern, text)| Some((pattern, text, values_in(pattern, part)?)));
    let (_, text, values) = fitting.max_by_key(|(pattern, ..)| own_length(pattern))?;
    Some((text, values))
}

/// Returns the length of a pattern without its placeholders.
fn own_length(pattern: &str) -> usize {
    pattern.split('{').map(|part| part.split_once('}').map_or(part, |(_, after)| after).len()).sum()
}

/// Returns the values in `part` of the placeholders of `pattern`, by name; `None` if `part` does not match.
fn values_in<'c, 'p>(pattern: &'c str, part: &'p str) -> Option<Vec<(&'c str, &'p str)>> {
    let (head, mut rest) = pattern.split_once('{')?;
    let (mut part, mut values) = (part.strip_prefix(head)?, Vec::new());
    while let Some((name, after)) = rest.split_once('}') {
        let (between, next) = after.split_once('{').unwrap_or((after, ""));
        let (value, left) = if between.is_empty() { (part, "") } else { part.split_once(between)? };
        // A placeholder with a name of one letter matches a number.
        if matches!(name.as_bytes(), [b'a'..=b'z']) && value.contains(' ') {
            return None;
        }
        values.push((name, value));
        (part, rest) = (left, next);
    }
    part.is_empty().then_some(values)
}

/// Reads a catalogue; templates spell its keys as `table.name`.
fn catalogue(text: &str) -> Catalogue {
    fn collect(prefix: &str, table: toml::Table, into: &mut Catalogue) {
        for (name, value) in table {
            let key = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
            match value {
                toml::Value::Table(table) => collect(&key, table, into),
                toml::Value::String(text) => drop(into.insert(key, text)),
                _ => {}
            }
        }
    }
    let mut catalogue = Catalogue::new();
    collect("", text.parse().expect("the catalogues are checked by tests"), &mut catalogue);
    catalogue
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Files whose reasons are printed or logged, and never stored with a memory.
    const ELSEWHERE: [&str; 2] = ["api/exchange.rs", "pipeline/consolidate.rs"];

    #[test]
    fn the_browser_chooses_until_the_person_does() {
        let choose = |accepted: &str, cookie: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_LANGUAGE, accepted.parse().unwrap());
            headers.insert(header::COOKIE, cookie.parse().unwrap());
            Language::of(&headers).as_str()
        };
        for (accepted, cookie, chosen) in [
            ("", "", "en"),
            ("fr, zh-CN;q=0.9, en;q=0.8", "", "zh"),
            ("en-GB,zh", "", "en"),
            ("zh;q=0, en;q=0.1", "", "en"),
            ("fr", "", "en"),
            ("en", "a=b; afterthought_language=zh", "zh"),
            ("zh", "afterthought_language=xx", "zh"),
        ] {
            assert_eq!(choose(accepted, cookie), chosen, "{accepted:?} {cookie:?}");
        }
    }

    #[test]
    fn all_languages_have_the_same_texts_with_the_same_places() {
        let keys = |catalogue: &Catalogue| catalogue.keys().cloned().collect::<Vec<_>>();
        assert!(ENGLISH.len() > 100, "{}", ENGLISH.len());
        assert_eq!(keys(&ENGLISH), keys(&CHINESE));
        let places = |text: &str| {
            let mut places: Vec<String> =
                text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect();
            places.sort();
            places
        };
        for (key, text) in &*ENGLISH {
            assert_eq!(places(text), places(&CHINESE[key]), "{key}");
            assert!(!text.trim().is_empty() && !CHINESE[key].trim().is_empty(), "{key}");
        }
    }

    #[test]
    fn stored_reasons_are_said_in_chinese() {
        let said = |stored| Language::Chinese.reason(stored);
        assert_eq!(said("the same words"), "用词相同");
        assert_eq!(
            said("it contradicts part of the known memory; the rest could not be separated"),
            "与其中一部分矛盾；其余部分无法分开"
        );
        assert_eq!(said("says the opposite; the known memory is pinned"), "说法相反；已知的那条已置顶");
        assert_eq!(said("project/a was merged into project/b"), "project/a 已并入 project/b");
        assert_eq!(said("3 values of one attribute"), "同一属性的 3 个值");
        assert_eq!(said("Ana said so"), "Ana said so");
        assert_eq!(Language::English.reason("the same words"), "the same words");
    }

    fn read(path: &str) -> String {
        let text = std::fs::read_to_string(format!("{}/src/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        text.split("#[cfg(test)]").next().unwrap().to_owned()
    }

    /// Returns the production code of the modules that store reasons, file by file.
    fn writers() -> Vec<(String, String)> {
        let root = format!("{}/src", env!("CARGO_MANIFEST_DIR"));
        let mut files = Vec::new();
        for folder in ["api", "consolidate", "exchange", "guard", "lifecycle", "pipeline", "project", "store"] {
            for entry in walkdir::WalkDir::new(format!("{root}/{folder}")).sort_by_file_name() {
                let path = entry.unwrap().path().display().to_string();
                let path = path.strip_prefix(&format!("{root}/")).unwrap().to_owned();
                if Path::new(&path).extension().is_some_and(|end| end == "rs") && !path.contains("test") {
                    files.push((path.clone(), read(&path)));
                }
            }
        }
        files
    }

    #[test]
    fn every_reason_that_is_stored_is_known_in_chinese() {
        // Reasons are arguments of writes, fields of changes, or variables on the way there.
        let stored = regex::Regex::new(
            r#"(?:reason: (?:Some\()?|reason = (?:Some\()?|why = |Some\()"([a-z]+ [a-z ,;']+[a-z])"(?:\.into\(\)|\.to_owned\(\)|;| \}| else)"#,
        )
        .unwrap();
        let by_author = regex::Regex::new(r#""(by [a-z ]+)"|\.rewrite\([^;"]*"([a-z ]+)"\)"#).unwrap();
        let (mut found, mut missing) = (0, Vec::new());
        for (path, text) in writers().iter().filter(|(path, _)| !ELSEWHERE.contains(&path.as_str())) {
            for captures in stored.captures_iter(text).chain(by_author.captures_iter(text)) {
                found += 1;
                let reason = captures.get(1).or_else(|| captures.get(2)).unwrap().as_str();
                if Language::Chinese.reason(reason) == reason {
                    missing.push(format!("{path}: {reason}"));
                }
            }
        }
        assert_eq!(missing, Vec::<String>::new());
        assert!(found > 20, "{found}");
    }

    #[test]
    fn no_reason_is_translated_that_nothing_stores() {
        let sources: String = writers().into_iter().map(|(_, text)| text).collect();
        for key in CHINESE_REASONS.keys() {
            let longest = key.split(['{', '}']).step_by(2).max_by_key(|part| part.len()).unwrap();
            assert!(sources.contains(longest.trim()), "{key}");
        }
    }

    #[test]
    fn every_error_is_known_in_chinese() {
        let message = regex::Regex::new(r#"(?s)#\[error\(\s*"((?:[^"\\]|\\.)*)""#).unwrap();
        let continued = regex::Regex::new(r"\\\s*\n\s*").unwrap();
        let (place, mut found) = (regex::Regex::new(r"\{(\w*)(?::\?)?\}").unwrap(), Vec::new());
        for path in [
            "api/error.rs",
            "store/error.rs",
            "config/setting.rs",
            "llm/mod.rs",
            "llm/fault.rs",
            "postgresql/mod.rs",
            "scale/mod.rs",
        ] {
            for text in message.captures_iter(&read(path)) {
                let (mut places, mut unnamed) = (Vec::<String>::new(), 0);
                // A long message continues on the next line.
                let text = continued.replace_all(&text[1], "");
                let key = place.replace_all(&text, |name: &regex::Captures<'_>| {
                    unnamed += usize::from(name[1].is_empty());
                    let name = if name[1].is_empty() { unnamed.to_string() } else { name[1].to_owned() };
                    // A value that occurs twice has two places in the message.
                    places.push(name.clone());
                    if places.iter().filter(|one| **one == name).count() > 1 {
                        "{again}".to_owned()
                    } else {
                        format!("{{{name}}}")
                    }
                });
                // Some errors only repeat what a server says.
                if own_length(&key) > 0 {
                    found.push(key.into_owned());
                }
            }
        }
        // The remedies of errors, and the reasons why a window was not read.
        for (path, pattern) in [
            ("llm/fault.rs", r#"Verdict::Permanent\("([^"]+)"\)"#),
            (
                "extract/llm/mod.rs",
                r#"(?s)(?:\bfail\(\s*(?:&view, )?|reason = |unrepaired\(view, answer, )"((?:[^"\\]|\\.)*)""#,
            ),
        ] {
            let texts = read(path);
            let texts = regex::Regex::new(pattern)
                .unwrap()
                .captures_iter(&texts)
                .map(|text| text[1].to_owned())
                .collect::<Vec<_>>();
            assert!(texts.len() > 3, "{path}: {texts:?}");
            found.extend(texts.iter().map(|text| continued.replace_all(text, "").into_owned()));
        }
        assert!(found.len() > 70, "{found:?}");
        let missing: Vec<&String> = found.iter().filter(|key| !CHINESE_ERRORS.contains_key(*key)).collect();
        assert_eq!(missing, Vec::<&String>::new());
        // Most errors of the API are described where they occur, so the names of their places may differ.
        let described = r#"(?s)::(?:Invalid|Conflict|Unusable)\(\s*(?:format!\(\s*)?"((?:[^"\\]|\\.)*)""#;
        let (described, shape) =
            (regex::Regex::new(described).unwrap(), |key: &str| place.replace_all(key, "{}").into_owned());
        let known: BTreeSet<String> = CHINESE_ERRORS.keys().map(|key| shape(key)).collect();
        let mut shapes = BTreeSet::new();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let files = ["api", "serve"].into_iter().flat_map(|folder| walkdir::WalkDir::new(source.join(folder)));
        for file in
            files.map(Result::unwrap).filter(|file| file.path().extension().is_some_and(|ending| ending == "rs"))
        {
            let text = read(file.path().strip_prefix(&source).unwrap().to_str().unwrap());
            shapes.extend(described.captures_iter(&text).map(|text| shape(&continued.replace_all(&text[1], ""))));
        }
        assert!(shapes.len() > 25, "{shapes:?}");
        assert_eq!(shapes.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new());
        let is_stale = |key: &&String| key.contains("; ") && !found.contains(key) && !shapes.contains(&shape(key));
        assert_eq!(CHINESE_ERRORS.keys().filter(is_stale).collect::<Vec<_>>(), Vec::<&String>::new());
        let said = |message| Language::Chinese.error(message);
        assert_eq!(
            said("memory 3fa2 is not in the inbox; see `afterthought inbox list`"),
            "记忆 3fa2 不在收件箱中；参见 `afterthought inbox list`"
        );
        assert_eq!(said("memory 3fa2 is forgotten; restore it first"), "记忆 3fa2 的状态是“已遗忘”；请先恢复它");
        assert_eq!(said("something else"), "something else");
        let unreachable = "http://127.0.0.1:9/v1: is the server running? no connection (Connection refused) after 3 \
                           attempts; try again later (finished work is kept)";
        assert_eq!(
            said(unreachable),
            "http://127.0.0.1:9/v1：服务器是否在运行？无法连接（Connection refused），已尝试 3 次；请稍后重试（已完成的工作会保留）"
        );
        assert_eq!(
            said("openai: status 401: wrong key; check OPENAI_API_KEY"),
            "openai：状态 401：wrong key；请检查 OPENAI_API_KEY"
        );
    }

    #[test]
    fn every_reason_of_the_decisions_is_known_in_chinese() {
        let literal = regex::Regex::new(r#""([a-z]+ [a-z ,;']+[a-z])""#).unwrap();
        let decisions = [
            "guard/suspicion.rs",
            "lifecycle/retention.rs",
            "consolidate/decide/ruling.rs",
            "consolidate/decide/mod.rs",
            "consolidate/decide/named.rs",
        ];
        let mut found = 0;
        for path in decisions {
            for reason in literal.captures_iter(&read(path)) {
                found += 1;
                assert_ne!(Language::Chinese.reason(&reason[1]), reason[1], "{path}");
            }
        }
        // Comparisons state why two memories agree or not, and decisions add to this text.
        let compared = regex::Regex::new(r#"(?:[A-Z]\w+::\w+, |=> |&str = )"([a-z]+ [a-z ,;']+[a-z])""#).unwrap();
        let added = regex::Regex::new(r#"format!\("\{\w*\}; ([a-z ]+)""#).unwrap();
        for (path, pattern) in ["pair", "ended", "outdated"]
            .map(|name| (format!("consolidate/compare/{name}.rs"), &compared))
            .into_iter()
            .chain(decisions.map(|path| (path.to_owned(), &added)))
        {
            for reason in pattern.captures_iter(&read(&path)) {
                found += 1;
                assert_ne!(Language::Chinese.reason(&reason[1]), reason[1], "{path}");
            }
        }
        assert!(found > 50, "{found}");
    }

    /// Returns the production code of the evaluation, and its list of measures.
    fn evaluation_sources() -> String {
        let root = format!("{}/crates/eval/src", env!("CARGO_MANIFEST_DIR"));
        let paths =
            walkdir::WalkDir::new(&root).sort_by_file_name().into_iter().map(|entry| entry.unwrap().into_path());
        let files = paths.filter(|path| {
            let is_code = path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs");
            is_code || path.ends_with("measures.txt")
        });
        files
            .map(|path| read(&format!("../{}", path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display())))
            .collect()
    }

    #[test]
    fn every_measure_and_finding_of_an_evaluation_is_known_in_chinese() {
        let sources = evaluation_sources();
        let patterns = [
            (r"(?m)^(?:share|fault|number|count) +([^:]+): (.+)$", 200),
            (r#"row\.fault\(\s*"([^"]+)""#, 15),
            (r#"row\.fault\([^;]*, "([a-z]+ [^"]+)"\)"#, 8),
            (r#"(?:why = |why =\s+if [^{]*\{\s*|why = if [^{]*\{\s*|\} else \{\s*)"([a-z]+ [a-z ]+ [a-z ]+)""#, 6),
            (r#"Some\(\("([a-z]+)", "#, 4),
        ];
        let mut found: Vec<String> = Vec::new();
        for (pattern, least) in patterns {
            let before = found.len();
            let pattern = regex::Regex::new(pattern).unwrap();
            for captures in pattern.captures_iter(&sources) {
                found.extend(captures.iter().skip(1).flatten().map(|text| text.as_str().to_owned()));
            }
            assert!(found.len() >= before + least, "{pattern}: {:?}", &found[before..]);
        }
        // Names of values, such as kinds of rows and faults.
        let named = regex::Regex::new(r#"(?m)^        [A-Z]\w+ = "([a-z -]+)",$"#).unwrap();
        let table = |name: &str| {
            let from = sources.find(&format!("    {name} {{\n")).unwrap_or_else(|| panic!("{name}"));
            sources[from..].split("\n    }").next().unwrap().to_owned()
        };
        for name in [
            "MemoryType",
            "Decision",
            "Conflict",
            "Importance",
            "ForbiddenKind",
            "Kind",
            "TaskKind",
            "Arm",
            "PairFault",
            "StreamFault",
        ] {
            let values = table(name);
            found.extend(named.captures_iter(&values).map(|value| value[1].to_owned()));
        }
        // This name is the same in every language.
        found.retain(|name| name != "F1");
        let missing: Vec<&String> = found.iter().filter(|text| evaluated(text).is_none()).collect();
        assert_eq!(missing, Vec::<&String>::new());
    }

    #[test]
    fn reports_of_evaluations_are_said_in_chinese() {
        let said = |text: &str| -> String {
            let spans = Language::Chinese.evaluation(text).unwrap();
            spans
                .into_iter()
                .map(|Span { text, is_content }| if is_content { format!("[{text}]") } else { text })
                .collect()
        };
        for (text, chinese) in [
            ("dev: recall by rules 2: 1 case", "[dev]：检索，[rules 2]，1 个用例"),
            (
                "3 calls, 5 prompt tokens, $0.01, 2.0 s in total; 1 ms (p50), 4 ms (p95) per case",
                "3 次请求，输入 5 个词元，$0.01，共 2.0 秒；每个用例 1 毫秒（p50），4 毫秒（p95）",
            ),
            (
                "expected contradict (changed, late) or add, got skip: the same words",
                "期望矛盾（事实变了，来得较晚）或新增，得到跳过：用词相同",
            ),
            ("4 right, 1 forbidden one-off", "4 条正确，1 条禁止（一次性要求）"),
        ] {
            assert_eq!(said(text), chinese);
        }
        assert_eq!(Language::Chinese.evaluation("The user sings."), None);
    }

    #[test]
    fn no_text_of_an_evaluation_is_translated_that_no_report_contains() {
        let sources = evaluation_sources() + &read("cli/eval/consolidation/mod.rs");
        let spaced = regex::Regex::new(r"\\\s*\n\s*").unwrap().replace_all(&sources, "").replace('_', " ");
        for key in CHINESE_EVALS.keys() {
            let parts = key.split(['{', '}']).step_by(2).flat_map(|part| part.split([':', ',', ';', '(', ')']));
            let longest = parts.map(str::trim).max_by_key(|part| part.len()).unwrap();
            let longest = longest.strip_suffix('s').filter(|_| key.starts_with('{')).unwrap_or(longest);
            let is_short = longest.chars().filter(|one| one.is_alphabetic()).count() < 4;
            assert!(is_short || spaced.contains(longest), "{key}");
        }
    }

    #[test]
    fn every_setting_is_explained_in_chinese() {
        let mut keys: Vec<&str> = crate::config::Config::documentation().iter().map(|one| one.key).collect();
        keys.sort_unstable();
        assert_eq!(CHINESE_SETTINGS.keys().collect::<Vec<_>>(), keys);
        for info in crate::config::Config::documentation() {
            let code = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
            let (mut own, mut chinese) = (code(info.about), code(&CHINESE_SETTINGS[info.key]));
            own.sort();
            chinese.sort();
            assert_eq!(own, chinese, "{}", info.key);
        }
    }

    #[test]
    fn no_text_was_left_untranslated() {
        // The names of the program, its commands and formats are the same in every language.
        let same: Vec<&str> =
            ENGLISH.iter().filter(|(key, text)| CHINESE[*key] == **text).map(|(key, _)| &**key).collect();
        assert_eq!(same, ["language.en", "language.zh", "layout.name"]);
    }
}
