//! Words that would steer: orders to the assistant or to the memory itself, and claims about what the user may do.
//!
//! What a conversation says is data. A claim that reads like an order is kept for a person to judge, never recalled.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;

use super::steering_hints::NEEDED;
use super::{Redact, steering_words as words};
use crate::memory::{Candidate, MemoryType};

/// Why a candidate waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspicion {
    /// It tells the assistant to set its rules aside.
    Override,
    /// It gives the assistant leave to act unasked.
    Authority,
    /// It claims rights for somebody.
    Rights,
    /// It has something fetched and run again and again.
    RemoteCode,
    /// It lays down what to answer.
    ScriptedAnswer,
    /// It has something kept from the user.
    Concealment,
    /// It has data sent away.
    Exfiltration,
    /// It gives orders to the memory.
    MemoryOrder,
    /// It is a rule that somebody pasted, a page or a tool said, and nobody in the conversation.
    PastedRule,
}

impl Suspicion {
    /// Returns it in a few words, for people.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Override => "reads like an order to set rules aside",
            Self::Authority => "reads like leave to act unasked",
            Self::Rights => "claims rights for somebody",
            Self::RemoteCode => "would have fetched code run again and again",
            Self::ScriptedAnswer => "lays down what to answer",
            Self::Concealment => "would keep something from the user",
            Self::Exfiltration => "would have data sent away",
            Self::MemoryOrder => "reads like an order to the memory",
            Self::PastedRule => "is a rule in pasted or quoted text",
        }
    }
}

/// A pattern, which is compiled when a text first holds what it needs.
struct Row {
    kind: Suspicion,
    pattern: &'static str,
    /// Groups of literals of [`Table::literals`]; a text that it matches holds one of each.
    needed: Vec<Vec<usize>>,
    compiled: OnceLock<Regex>,
}

struct Table {
    rows: Vec<Row>,
    literals: AhoCorasick,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let patterns = words::PATTERNS.iter().flat_map(|(kind, patterns)| patterns.iter().map(move |one| (*kind, *one)));
    let (mut literals, mut places) = (Vec::new(), HashMap::new());
    let mut place = |literal: &'static str| {
        *places.entry(literal).or_insert_with(|| {
            literals.push(literal);
            literals.len() - 1
        })
    };
    let rows = patterns.zip(NEEDED).map(|((kind, pattern), groups)| {
        let needed = groups.iter().map(|group| group.iter().map(|literal| place(literal)).collect()).collect();
        Row { kind, pattern, needed, compiled: OnceLock::new() }
    });
    let rows = rows.collect();
    // The fastest to build; texts are short.
    let kind = Some(AhoCorasickKind::NoncontiguousNFA);
    let literals = AhoCorasick::builder().kind(kind).build(&literals).expect("the literals are few and short");
    Table { rows, literals }
});

impl Table {
    /// Returns the patterns that may match `text`, in their order.
    fn candidates(&self, text: &str) -> impl Iterator<Item = (Suspicion, &Regex)> {
        let mut holds = vec![false; self.literals.patterns_len()];
        for found in self.literals.find_overlapping_iter(&folded(text)) {
            holds[found.pattern().as_usize()] = true;
        }
        let may_match = move |row: &&Row| row.needed.iter().all(|group| group.iter().any(|literal| holds[*literal]));
        self.rows.iter().filter(may_match).map(|row| (row.kind, row.compiled()))
    }
}

impl Row {
    fn compiled(&self) -> &Regex {
        let compile = || Regex::new(&format!("(?i){}", self.pattern)).expect("the tests compile every pattern");
        self.compiled.get_or_init(compile)
    }
}

/// Returns the text with letters that a pattern takes for one another made one.
fn folded(text: &str) -> String {
    // Of the letters of the patterns, only the long s has a third form that is no capital.
    text.to_lowercase().replace('ſ', "s")
}

/// Returns why `candidate` must not be stored as something to go by; `None` for nearly everything that people say.
#[must_use]
pub fn suspicion(candidate: &Candidate) -> Option<Suspicion> {
    let (mut texts, mut claim) = (Vec::new(), candidate.claim.clone());
    claim.edit_texts(&mut |text| texts.push(std::mem::take(text)));
    texts.extend(candidate.evidence.iter().map(|evidence| evidence.quote.clone()));
    let found = texts.iter().find_map(|text| steers(text));
    found.or_else(|| (candidate.is_pasted && is_rule(candidate)).then_some(Suspicion::PastedRule))
}

/// Whether somebody is to go by it, rather than to know it.
fn is_rule(candidate: &Candidate) -> bool {
    let claim = &candidate.claim;
    claim.memory_type == MemoryType::Procedural
        || matches!(claim.category.as_str(), "convention" | "preference" | "workflow" | "pattern" | "profile")
}

/// Returns what `text` would steer. A phrase that is quoted where its sentence speaks of a defence is only mentioned.
#[must_use]
pub fn steers(text: &str) -> Option<Suspicion> {
    let text = plain(text);
    let mut found = TABLE.candidates(&text).filter_map(|(kind, pattern)| Some((kind, pattern.find(&text)?)));
    let is_meant = |kind: Suspicion, start: usize, end: usize| {
        let is_allowed = kind == Suspicion::Authority && is_safeguard(&text[..end]);
        !is_allowed && !is_mentioned(&text, start, end)
    };
    found.find(|(kind, found)| is_meant(*kind, found.start(), found.end())).map(|(kind, _)| kind)
}

/// What asks to be asked: "never push without asking".
static SAFEGUARD: LazyLock<Regex> = LazyLock::new(|| {
    let safeguard = concat!(
        r"(?i)(?:\b(?:never|not|nunca|jamás|no)|n't)\s(?:to |be |se |le |me |ever )*",
        r"(?:run|execut|approv|merg|deploy|delet|push|install|perform|apply|act|ejecut|borr|elimin|despleg|despliegu|instal|aprob|aprueb|hac|hag)\w*\b",
        r"(?P<what>.{0,60})\b(?:without|sin)\b",
        r"|^[^.]{0,40}\b(?:nie|niemals)\b(?P<was>(?: [^ ]+){0,4}) ohne\b",
    );
    Regex::new(safeguard).expect("the pattern is constant and a test compiles it")
});

/// Whether the last clause of `text` forbids to act without being told to.
fn is_safeguard(text: &str) -> bool {
    let clause = &text[text.rfind(['.', '!', '?', ';', ':', ',']).map_or(0, |end| end + 1)..];
    let Some(found) = SAFEGUARD.captures(clause) else { return false };
    let between =
        found.name("what").or_else(|| found.name("was")).map_or("", |between| between.as_str()).to_lowercase();
    let goes_on = [" but ", " and ", " then ", " aber ", " und ", " sondern ", " pero ", " y ", " sino "];
    let forgets = ["vergiss", "vergess", "zöger", "scheu"];
    !goes_on.iter().any(|word| between.contains(word))
        && !forgets.iter().any(|word| clause.to_lowercase().contains(word))
}

/// Returns the text without what hides words from a pattern: invisible characters, runs of space.
fn plain(text: &str) -> String {
    let is_invisible = |c: &char| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '*' | '_');
    let seen: String = text.chars().filter(|c| !is_invisible(c)).map(|c| if c == '’' { '\'' } else { c }).collect();
    seen.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_mentioned(text: &str, start: usize, end: usize) -> bool {
    let quotes = ['"', '`', '“', '”', '„', '«', '»', '「', '」', '\''];
    // A pattern may begin with the quote itself.
    let (before, after) = (&text[..start], &text[end..]);
    let opens = before.trim_end().ends_with(quotes) || text[start..end].starts_with(quotes);
    let closes = after.chars().take(40).any(|c| quotes.contains(&c)) || text[start..end].ends_with(quotes);
    let before = before.to_lowercase();
    opens && closes && words::DEFENCES.iter().any(|word| before.contains(word))
}

/// Whether `quote` stands in a part of `text` that its writer took from elsewhere: a fenced block, quoted lines, or
/// what follows an announcement such as `the page says:`.
#[must_use]
pub fn is_pasted(text: &str, quote: &str) -> bool {
    let Some(at) = text.find(quote) else { return false };
    let before = &text[..at];
    let in_fence = before.matches("\n```").count() + usize::from(before.starts_with("```"));
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    let quoted_line = text[line..].trim_start().starts_with("> ");
    let announced = text[..line].trim_end().to_lowercase();
    let same_line = text[line..at].to_lowercase();
    in_fence % 2 == 1
        || quoted_line
        || words::ANNOUNCING.iter().any(|word| {
            announced.lines().next_back().is_some_and(|last| last.ends_with(':') && last.contains(word))
                || same_line.contains(word) && same_line.contains(':')
        })
}
