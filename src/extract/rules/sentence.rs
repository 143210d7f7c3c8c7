//! What a person wrote themselves, cut into sentences: no code, no quotes, no pasted logs, no dumps.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Longest sentence that is read, in characters; a longer one is hardly one statement.
pub(super) const MAX_SENTENCE_CHARS: usize = 400;
/// Lines of prose beyond which a message looks pasted, and only its first and last paragraph are read.
const MAX_PROSE_LINES: usize = 40;
/// Bullets in a row beyond which a list is a dump.
pub(super) const MAX_BULLETS: usize = 8;
/// Shortest line, in characters, that can be the first part of a wrapped sentence.
const MIN_WRAPPED_CHARS: usize = 55;

static MACHINE_LINE: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d?:\d\d",
        r"\[?\d\d?:\d\d:\d\d",
        r"\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|NOTICE)\b",
        r"(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d",
        r"at \S+ ?\(|at \S+:\d",
        r#"File ""#,
        r"Traceback ",
        r"\d+: +0x",
        r"\d* *\|",
        r"-->",
        r"(?:\+\+\+|---|@@|===|\*\*\*)",
        r"diff --git",
        r"index [0-9a-f]{7}",
        r"[+-] ?\S.*[;{}()=]\s*$",
        r"[$%❯➜#]",
        r"<[/!?A-Za-z]",
        r"[{}\[\]]",
        r"(?:error|warning|note|help)(?:\[\w+\])?:",
        r"(?:npm|pnpm|yarn|cargo|git|curl|docker|kubectl|pip|sudo|cd|import|from|const|let mut|def|fn|func|public|class|return|SELECT|INSERT)\b[^.!?,']*[;{}/=]",
        r"\w*(?:Error|Exception|Warning): ",
        r"thread '",
        r"\S+\.\w+:\d+",
    ];
    Regex::new(&format!(r"^\s*(?:{})", forms.join("|"))).expect("the pattern is a constant")
});
static BULLET: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(?:[-*•·]|\d{1,3}[.)、])\s*").expect("the pattern is a constant"));

/// Words before a full stop that do not end a sentence.
const ABBREVIATIONS: &[&str] = &[
    "e.g", "i.e", "etc", "vs", "mr", "mrs", "ms", "dr", "prof", "st", "no", "approx", "cf", "fig", "inc", "ltd", "jr",
    "sr", "dept", "est", "min", "max", "a.m", "p.m", "u.s", "u.k", "resp",
];

/// Months that may follow the day "1." of a German date.
const GERMAN_MONTHS: &[&str] = &[
    "Januar",
    "Jänner",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
];

/// Returns the sentences of `text` that its author said, as slices of `text` in order.
pub(super) fn said(text: &str) -> Vec<&str> {
    let blocks = blocks(text);
    blocks.iter().flat_map(|block| split(&text[block.clone()])).collect()
}

/// Returns `text` with every run of white space as one space.
pub(super) fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first line of `text` that reports an error, as tools print it.
pub(super) fn error_line(text: &str) -> Option<&str> {
    static ERROR: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:error(?:\[\w+\])?: |\w*(?:Error|Exception): |thread '.*' panicked|ERROR\b|fatal: |panic: )")
            .expect("the pattern is a constant")
    });
    text.lines().map(str::trim).find(|line| line.len() <= 300 && ERROR.is_match(line))
}

/// What a line is, judged alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Blank,
    Fence,
    Skipped,
    Bullet,
    Prose,
}

fn classify(line: &str) -> Line {
    let trimmed = line.trim();
    let code_indent = (line.starts_with("    ") || line.starts_with('\t')) && symbols(trimmed) * 12 > trimmed.len();
    if trimmed.is_empty() {
        Line::Blank
    } else if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
        Line::Fence
    } else if trimmed.starts_with(['>', '＞']) || code_indent || is_machine(trimmed) {
        Line::Skipped
    } else if BULLET.is_match(line) {
        Line::Bullet
    } else {
        Line::Prose
    }
}

fn is_machine(trimmed: &str) -> bool {
    MACHINE_LINE.is_match(trimmed) || symbols(trimmed) * 6 > trimmed.chars().count()
}

fn symbols(text: &str) -> usize {
    let mut in_code = false;
    text.chars()
        .filter(|&c| {
            in_code ^= c == '`';
            !in_code && "{}()[];=<>|\\/_$&*^~".contains(c)
        })
        .count()
}

/// Returns the runs of prose of `text`: a bullet or a paragraph line each, wrapped lines joined.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut found = Blocks::default();
    let mut fenced = false;
    let mut start = 0;
    for raw in text.split_inclusive('\n') {
        let range = start..start + raw.trim_end().len();
        start += raw.len();
        let class = classify(raw);
        if class == Line::Fence {
            fenced = !fenced;
        }
        found.push(text, range, if fenced { Line::Skipped } else { class });
    }
    found.finish()
}

#[derive(Default)]
struct Blocks {
    runs: Vec<Range<usize>>,
    bullets: usize,
    prose_lines: usize,
    joinable: bool,
    /// Number of blocks when the first and when the last paragraph ended.
    first_paragraph: Option<usize>,
    last_paragraph: usize,
}

impl Blocks {
    fn push(&mut self, text: &str, range: Range<usize>, class: Line) {
        if class != Line::Bullet && class != Line::Blank {
            self.end_bullets();
        }
        let wrapped = self.joinable && class == Line::Prose && text[range.clone()].starts_with(char::is_lowercase);
        self.joinable = false;
        match class {
            Line::Blank | Line::Fence | Line::Skipped => {
                if class == Line::Blank && !self.runs.is_empty() {
                    self.first_paragraph.get_or_insert(self.runs.len());
                    self.last_paragraph = self.runs.len();
                }
                return;
            }
            Line::Bullet => {
                self.bullets += 1;
                let marker = BULLET.find(&text[range.clone()]).map_or(0, |found| found.end());
                self.runs.push(range.start + marker..range.end);
            }
            Line::Prose if wrapped => {
                if let Some(last) = self.runs.last_mut() {
                    last.end = range.end;
                }
            }
            Line::Prose => self.runs.push(range.clone()),
        }
        self.prose_lines += 1;
        let line = &text[range];
        let open = !line.ends_with(['.', '!', '?', ':', '。', '！', '？', '：', ';', '；']);
        self.joinable = open && line.chars().count() >= MIN_WRAPPED_CHARS;
    }

    fn end_bullets(&mut self) {
        if self.bullets > MAX_BULLETS {
            let kept = self.runs.len().saturating_sub(self.bullets);
            self.runs.truncate(kept);
            self.last_paragraph = self.last_paragraph.min(kept);
        }
        self.bullets = 0;
    }

    fn finish(mut self) -> Vec<Range<usize>> {
        self.end_bullets();
        if self.prose_lines > MAX_PROSE_LINES {
            let count = self.runs.len();
            let head = self.first_paragraph.unwrap_or(0).min(count);
            let tail = if self.last_paragraph < count { self.last_paragraph } else { count };
            if head > MAX_BULLETS || count - tail > MAX_BULLETS {
                return Vec::new();
            }
            self.runs = (0..head).chain(tail.max(head)..count).map(|at| self.runs[at].clone()).collect();
        }
        self.runs
    }
}

fn split(block: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut in_code = false;
    let code = block.matches('`').count().is_multiple_of(2);
    // Who begins without a capital goes on so.
    let is_low = block.starts_with(char::is_lowercase);
    let mut chars = block.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '`' && code {
            in_code = !in_code;
        }
        if in_code || !is_terminal(c) {
            continue;
        }
        let mut end = at + c.len_utf8();
        while let Some(&(next_at, next)) = chars.peek() {
            if !(is_terminal(next) || CLOSERS.contains(next)) {
                break;
            }
            end = next_at + next.len_utf8();
            chars.next();
        }
        if ends_sentence(&block[start..at + c.len_utf8()], c, &block[end..], is_low) {
            sentences.push(block[start..end].trim());
            start = end;
        }
    }
    sentences.push(block[start..].trim());
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

const CLOSERS: &str = "\"')]”’»«」』）】*";

const fn is_terminal(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…' | '。' | '！' | '？' | '；')
}

/// Fewest letters of a word that may end a sentence of somebody who writes no capitals.
const MIN_LAST_LETTERS: usize = 3;

/// Whether `word` is no shortened one, as far as its letters tell.
fn is_word(word: &str) -> bool {
    word.chars().count() >= MIN_LAST_LETTERS && word.chars().all(char::is_alphanumeric)
}

fn ends_sentence(before: &str, terminal: char, rest: &str, is_low: bool) -> bool {
    if matches!(terminal, '。' | '！' | '？' | '；') {
        return true;
    }
    let Some(next) = rest.chars().next() else { return true };
    if !next.is_whitespace() {
        return terminal != '.' && !next.is_ascii();
    }
    if terminal != '.' {
        return true;
    }
    let word = before.trim_end_matches('.').rsplit(char::is_whitespace).next().unwrap_or("");
    let bare = word.trim_start_matches(['(', '"', '“']).to_lowercase();
    let initial = word.chars().count() == 1 && word.starts_with(char::is_uppercase) && word != "I";
    let next = rest.trim_start();
    let ordinal = word.len() <= 2 && !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    // "To close: 1. count, 2. lock" is one sentence.
    let introduced = before.trim_end_matches('.').strip_suffix(word).unwrap_or("").trim_end();
    let listed = ordinal && introduced.ends_with([':', ',', ';', '：']);
    let day = ordinal && GERMAN_MONTHS.iter().any(|month| next.starts_with(month));
    !(ABBREVIATIONS.contains(&bare.as_str())
        || initial
        || day
        || listed
        || (next.starts_with(char::is_lowercase) && !(is_low && is_word(word))))
}
