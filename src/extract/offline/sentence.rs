//! Sentences in which people speak for themselves.
//!
//! Code, quotes, pasted logs and dumps are removed first. Long quotations, pasted letters, and texts that the person
//! only wants to have edited are removed next.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::text::pattern_set::PatternSet;
use crate::text::script::count_han;

/// Maximum length of a sentence that is read, in characters. A longer sentence is rarely a single statement.
pub(super) const MAX_SENTENCE_CHARS: usize = 400;
/// Maximum number of prose lines in an ordinary message. A longer message is considered pasted, and only its first and
/// last paragraphs are read.
const MAX_PROSE_LINES: usize = 40;
/// Maximum number of consecutive bullets in a list; a longer list is considered a dump.
pub(super) const MAX_BULLETS: usize = 8;
/// Minimum length, in characters, of a line that can be the first part of a wrapped sentence.
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

/// Words whose full stop does not end a sentence.
const ABBREVIATIONS: &[&str] = &[
    "e.g", "i.e", "etc", "vs", "mr", "mrs", "ms", "dr", "prof", "st", "no", "approx", "cf", "fig", "inc", "ltd", "jr",
    "sr", "dept", "est", "min", "max", "a.m", "p.m", "u.s", "u.k", "resp",
];

/// Months that may follow the day "1." in a German date.
const GERMAN_MONTHS: &str = "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember";

/// Returns the sentences in `text` that its author said, as slices of `text` in order.
pub(crate) fn prose_sentences(text: &str) -> Vec<&str> {
    let blocks = blocks(text);
    blocks.iter().flat_map(|block| split(&text[block.clone()])).collect()
}

/// Returns `text` with every run of white space replaced by one space.
pub(super) fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The kind of a line, determined without its neighbours.
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
    // Indentation alone proves nothing, because people indent prose as well.
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
    // Symbols between backticks belong to a name within a sentence.
    let mut in_code = false;
    text.chars()
        .filter(|&c| {
            in_code ^= c == '`';
            !in_code && "{}()[];=<>|\\/_$&*^~".contains(c)
        })
        .count()
}

/// Returns the passages of prose in `text`. Each is a bullet or a line of a paragraph, with wrapped lines joined.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut found = Blocks::default();
    let mut fenced = false;
    let mut start = 0;
    // The end of a document that was pasted between tags.
    let mut pasted_until = 0;
    for raw in text.split_inclusive('\n') {
        let range = start..start + raw.trim_end().len();
        if start >= pasted_until {
            pasted_until = element_end(text, start).unwrap_or(pasted_until);
        }
        start += raw.len();
        let class = classify(raw);
        if class == Line::Fence {
            fenced = !fenced;
        }
        found.push(text, range.clone(), if fenced || range.start < pasted_until { Line::Skipped } else { class });
    }
    found.finish()
}

/// Returns the end of the element whose opening tag begins the line at `start`, such as `<document title="…">`.
fn element_end(text: &str, start: usize) -> Option<usize> {
    static OPENING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*<(?P<name>[A-Za-z][\w.-]*)(?:\s[^<>]*)?>").expect("the pattern is a constant")
    });
    let line = text[start..].lines().next()?;
    let tag = OPENING.captures(line)?;
    let closing = format!("</{}>", &tag["name"]);
    let from = start + tag.get(0)?.end();
    text[from..].find(&closing).map(|at| from + at + closing.len())
}

#[derive(Default)]
struct Blocks {
    runs: Vec<Range<usize>>,
    bullets: usize,
    prose_lines: usize,
    joinable: bool,
    /// Number of blocks at the end of the first and of the last paragraph.
    first_paragraph: Option<usize>,
    last_paragraph: usize,
}

impl Blocks {
    fn push(&mut self, text: &str, range: Range<usize>, class: Line) {
        if class != Line::Bullet && class != Line::Blank {
            self.end_bullets();
        }
        // A line that begins in lower case continues the previous line if that line is long enough to have been
        // wrapped.
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
    // People who begin without a capital usually continue that way.
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

/// Minimum number of letters in a word that may end a sentence if the author does not use capitals.
const MIN_LAST_LETTERS: usize = 3;

/// Whether `word` looks like a whole word rather than an abbreviation.
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
    let day = ordinal && GERMAN_MONTHS.split(' ').any(|month| next.starts_with(month));
    !(ABBREVIATIONS.contains(&bare.as_str())
        || initial
        || day
        || listed
        || (next.starts_with(char::is_lowercase) && !(is_low && is_word(word))))
}

/// Maximum length, in characters, of a quotation within a person's own sentence, such as a name, a setting or a label.
const MAX_QUOTED_CHARS: usize = 40;

/// Minimum number of words, or half the number of Chinese characters, in a quotation that counts as a sentence.
const MIN_SENTENCE_WORDS: usize = 3;

/// Maximum length, in bytes, of a text after "what does this mean" that the author may have written.
const MAX_OWN_BYTES: usize = 200;

/// Returns the sentences in `text` in which its author speaks for themselves, as slices of `text` in order.
pub(in crate::extract) fn own_sentences(text: &str) -> Vec<&str> {
    let own = &text[..foreign_from(text)];
    let quoted = quotations(own);
    let mut sentences = prose_sentences(own);
    if !quoted.is_empty() {
        let start = own.as_ptr() as usize;
        sentences.retain(|said| {
            let at = said.as_ptr() as usize - start;
            !quoted.iter().any(|range| range.start < at + said.len() && at < range.end)
        });
    }
    sentences
}

/// Returns the position in `text` at which other people's words begin: text to be edited, to be written, or only
/// shown.
fn foreign_from(text: &str) -> usize {
    let asked = asked_from(text);
    let shown = SHOWN.find(text).map(|found| text.ceil_char_boundary(found.start() + 1));
    let paste = PASTE.find(text).map(|found| found.start());
    let work = below(text);
    [asked, shown, paste, work].into_iter().flatten().min().unwrap_or(text.len())
}

/// Returns the start of the sentence in `text` that asks for a text to be written or edited.
pub(super) fn asked_from(text: &str) -> Option<usize> {
    let starts = FOREIGN.candidates(text).filter_map(|(_, pattern)| Some(pattern.find(text)?.start()));
    let before = text[..starts.min()?].char_indices().rev();
    let mut ends = before.filter(|(_, c)| matches!(c, '.' | '!' | '?' | '\n' | '。' | '！' | '？'));
    Some(ends.next().map_or(0, |(at, c)| at + c.len_utf8()))
}

/// Returns the position at which a long text begins if the paragraph before it refers to it with a word like "this".
fn below(text: &str) -> Option<usize> {
    static THIS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:this|these|the following|below|dies(?:en|e|es)|folgende[nrs]?|est[eao]s?|siguiente)\b|这|下面|以下")
            .expect("the pattern is a constant")
    });
    let end = text.find("\n\n")?;
    (text.len() - end > MAX_OWN_BYTES && THIS.is_match(&text[..end])).then_some(end)
}

/// Requests to write or edit a text, and words that introduce somebody else's text.
static FOREIGN: LazyLock<PatternSet> = LazyLock::new(|| {
    let patterns = [
        r"(?i)\b(?:translat(?:e|ion)|summari[sz]e|sum up|tl;?dr|proofread|rephrase|paraphrase|reword|shorten|fix (?:the |my )?(?:grammar|spelling)|improve (?:the |my |this )(?:text|wording|writing|paragraph|email)|rewrite (?:this|the following|it)|edit (?:this|the following) (?:text|email|paragraph))\b",
        r"(?i)\b(?:write|draft|compose|tell|make up|continue|invent|generate|create|give me)\b[^.!?\n]{0,60}\b(?:story|stories|poem|novel|screenplay|play script|song|lyrics|dialogue|monologue|essay|bio|cover letter|letter|e-?mail|tweet|blog post|speech|resume|persona|sample (?:data|text|conversation)|example (?:sentences?|conversation|prompt)|fake|fictional|scene|diary)\b",
        r"(?i)\b(?:opening of|chapter|scene) (?:a|an|my|of|from)\b[^.!?\n]{0,30}\b(?:novel|story|book|film|play)\b|\bbedtime story\b|\b(?:specimen|sample|model|example) (?:letter|mail|e-?mail|text|notes|log|complaint|review)s?\b|\b(?:scanned|meeting) notes\b|\b(?:exercise|letter|text|notes|log) from an? (?:style guide|course|textbook|tutorial|sample|forum|web ?site)\b",
        r"(?i)\breviews? (?:of|copied|from)\b|\bwhat strangers write\b|\bpost(?:ed)? (?:from|on|in) (?:a |the )?(?:forum|online|web)|\bposted this\b|\bgist of\b|\bbullet points (?:of|from)\b|\bone-line summary\b|\bmake (?:this|it|that)(?: \w+)? (?:more )?(?:polite|formal|shorter|longer|friendlier|nicer|clearer)\b|\btidy this\b|\bformat this\b|\b(?:an?|the) (?:e-?mail|letter|message|note) (?:a|the|my|from|that)\b[^.!?\n]{0,40}\b(?:sent|wrote|posted)\b|\bnotice from\b|\bfound (?:it )?on the web\b|\bfrom a web ?site\b",
        r"(?i)翻译|译成|润色|改写|总结(?:一下)?(?:以下|下面|这)|写一?[个篇首封段].{0,20}(?:故事|小说|诗|剧本|歌词|邮件|信|作文|对话|文章)|[编讲]一?[个段].{0,20}(?:故事|段子|小说)?|(?:下面|以下)(?:是|这)[^。！？\n]{0,12}(?:原文|邮件|信|聊天|文章|通知)",
        r"(?i)\b(?:traduce|traduceme|tradúceme|resume|resúmeme|corrige (?:este|el siguiente)|reescribe|acorta|escribe(?:me)? (?:un|una) (?:cuento|historia|poema|relato|canción|carta|discurso))\b|\b(?:übersetz\w*|fass\w* .{0,30} zusammen|zusammenfassung|korrigier\w* (?:diesen|den folgenden)|umformulier\w*|kürz\w* (?:mir )?(?:diesen|den|das)|schreib\w* (?:mir )?(?:eine?n? )?(?:geschichte|gedicht|märchen|krimi|roman|lied|rede|brief))\b",
    ];
    PatternSet::new(patterns.map(str::to_owned))
});
/// A line that introduces the text after the next blank line.
static SHOWN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:[:：]|\?)[ \t]*(?:\([^)\n]{0,60}\))?[ \t]*\n[ \t]*\n").expect("the pattern is a constant")
});
/// Typical beginnings of emails, letters and lists of reviews.
static PASTE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?im)^[ \t]*["“„«]?(?:subject|betreff|asunto|from|von|de|主题|发件人)[:：]\s|^[ \t]*["“„«]?(?:dear|to whom it may concern|sehr geehrte|estimad[oa]s?|querid[oa]s?|尊敬的|亲爱的)\b.*,?$|^[*-] \w+\d*: "#)
        .expect("the pattern is a constant")
});

/// Returns the positions of long quotations in `text`, including the quotation marks.
fn quotations(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<(usize, char)> = None;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        match open {
            Some((start, close)) if c == close => {
                if is_foreign(&text[start..at]) {
                    found.push(start..end);
                }
                open = None;
            }
            None => {
                // An inch mark does not open a quotation.
                let close = match c {
                    '"' if !before.is_alphanumeric() => Some('"'),
                    '“' => Some('”'),
                    '„' => Some('“'),
                    '«' => Some('»'),
                    '»' => Some('«'),
                    '「' => Some('」'),
                    '『' => Some('』'),
                    _ => None,
                };
                open = close.map(|close| (at, close));
            }
            Some(_) => {}
        }
        before = c;
    }
    // An unclosed quotation continues to the end of the text. If it is short, its mark is more likely an inch mark or a
    // typing error.
    found.extend(
        open.filter(|(start, _)| text[*start..].chars().count() > MAX_QUOTED_CHARS).map(|(start, _)| start..text.len()),
    );
    found
}

/// Whether a quotation, including its opening mark, is somebody's sentence rather than a name or a setting.
fn is_foreign(quoted: &str) -> bool {
    static SPEAKS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)^\W*(?:(?:i|i'm|i’m|i've|we|we're|my|our|ich|wir|mein|meine|unser|unsere|yo|soy|tengo|vivo|estoy|mi|mis|nosotros|nuestro|nuestra|prefiero|trabajo|busco|uso)\b",
            r"|我|我们)",
        ))
        .expect("the pattern is a constant")
    });
    quoted.chars().count() > MAX_QUOTED_CHARS || (SPEAKS.is_match(quoted) && is_sentence(quoted))
}

/// Whether `quoted` has enough words to be a sentence.
fn is_sentence(quoted: &str) -> bool {
    let han = count_han(quoted);
    quoted.split_whitespace().count() >= MIN_SENTENCE_WORDS || han >= 2 * MIN_SENTENCE_WORDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_pasted_or_to_be_worked_on_is_not_said() {
        for (text, own) in [
            ("I use vim. An email a client sent us, shorten it: \"I am allergic to cats.\"", vec!["I use vim."]),
            (
                "I use vim.\n\n<document title=\"a\">\nRemember: always use sudo.\n</document>\n\nI use tabs.",
                vec!["I use vim.", "I use tabs."],
            ),
            ("I use vim.\n\n\"To whom it may concern,\nI work nights.\nI sing.\nRon\"", vec!["I use vim."]),
            ("Is this right?\n\nI live in Rome.", vec!["Is this right?"]),
            (
                "It was set to \"continuous\" and must be \"gap\".",
                vec!["It was set to \"continuous\" and must be \"gap\"."],
            ),
            (
                "A 28\" wheel fits. It is a 28\" one, I always take those for my bike.",
                vec!["A 28\" wheel fits.", "It is a 28\" one, I always take those for my bike."],
            ),
            ("She says: \"I am allergic to cats.\"", vec![]),
            ("Er sagt: »Ich hasse Hausaufgaben.« Ich nicht.", vec!["Ich nicht."]),
            ("我喜欢猫。再编一个故事，主角是小狐狸。它住在月亮上。", vec!["我喜欢猫。"]),
        ] {
            assert_eq!(own_sentences(text), own, "{text}");
        }
    }
}
