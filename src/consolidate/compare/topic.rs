//! The content words of a claim in their order, compared with those of another claim.

use super::certainty::is_frame;
use super::features::Features;
use super::marks::is_generic;
use super::tokens::is_stop_word;
use super::view::View;
use crate::text::change::is_function_word;
use crate::text::normalise::comparable;
use crate::text::recent::RecentResults;
use crate::text::script::{Script, is_han, is_hiragana};
use crate::text::tokens::{is_listed, words};

/// A content word; in scripts without spaces, a run of characters that the other text contains or lacks as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) text: String,
    /// The word before it in the text, without articles and in its plain form; empty at the start.
    pub(super) before: String,
    /// Whether another content word stands immediately before it.
    pub(super) is_joined: bool,
    /// The number of words, other than articles, between it and the content word before it in the same piece of text;
    /// `None` if there is no such word.
    pub(super) gap: Option<usize>,
    /// Whether the other text contains the word or a form of it.
    pub(super) is_shared: bool,
    /// Whether it has a capital, as names do.
    pub(super) is_name: bool,
    /// The number of words; for a run of characters, half of their number.
    pub(super) weight: usize,
}

/// The words that a text is compared with.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    words: Vec<String>,
    text: String,
}

impl Vocabulary {
    /// Returns the words of all `texts`.
    pub(super) fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut vocabulary = Self::default();
        for text in texts {
            let text = comparable(text);
            vocabulary.words.extend(words(&text).into_iter().map(|word| word.text.to_lowercase()));
            vocabulary.text.push_str(&text);
            vocabulary.text.push('\n');
        }
        vocabulary
    }

    /// Returns the words of a claim: its content, its attribute and subject, and the words that were said.
    pub(super) fn of_claim(view: &View<'_>) -> Self {
        let claim = view.claim;
        let key = claim.key.as_deref().map(|key| key.replace(['_', '.'], " "));
        let aside = [key.as_deref(), claim.value.as_deref(), claim.subject.as_deref()];
        let quotes = view.quotes.iter().copied().filter(|quote| quote.len() <= MAX_QUOTE_BYTES);
        Self::of(std::iter::once(stated(&claim.content)).chain(aside.into_iter().flatten()).chain(quotes))
    }

    fn holds(&self, word: &str) -> bool {
        self.words.iter().any(|other| are_forms(word, other))
    }
}

/// Returns what was said, without the words that introduce it, as in `Ada said: "The port is 80."`.
pub(super) fn stated(content: &str) -> &str {
    const MARKS: [(&str, char); 4] = [(": \"", '"'), ("：“", '”'), (": „", '“'), (": « ", '»')];
    let content = content.trim();
    let inner = MARKS.iter().find_map(|(opening, closing)| {
        let at = content.find(opening).filter(|at| *at <= MAX_INTRODUCTION)?;
        content[at + opening.len()..].strip_suffix(*closing)
    });
    inner.unwrap_or(content)
}

/// Maximum length in bytes of the words that introduce what was said.
const MAX_INTRODUCTION: usize = 80;

/// Maximum length in bytes of a quotation whose words count as words of the claim. A longer one says other things too.
pub(super) const MAX_QUOTE_BYTES: usize = 160;

/// Whether two words are probably forms of one word.
pub(super) fn are_forms(word: &str, other: &str) -> bool {
    let common = word.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longer = word.chars().count().max(other.chars().count());
    word == other || (common >= 4 && longer - common <= 2) || (common >= 6 && longer - common <= 4)
}

/// Returns the content words of the `pieces` of a text, each compared with `other`. Pieces do not adjoin.
pub(super) fn terms<'t>(pieces: impl IntoIterator<Item = &'t str>, other: &Vocabulary) -> Vec<Term> {
    let mut found = Vec::new();
    for piece in pieces {
        let (mut is_joined, mut before, mut gap) = (false, String::new(), None);
        for word in words(piece) {
            let lower = word.text.to_lowercase();
            match word.script {
                Script::Han => {
                    wide_terms(&lower, other, is_joined, &mut found);
                    (is_joined, gap) = (false, None);
                }
                Script::Spaced | Script::Katakana | Script::Hangul if is_empty_word(&lower) => {
                    is_joined = false;
                    gap = gap.map(|gap: usize| gap + usize::from(!is_listed(ARTICLES, &lower)));
                }
                Script::Spaced | Script::Katakana | Script::Hangul => {
                    let is_shared = other.holds(&lower);
                    let (text, before) = (lower.clone(), before.clone());
                    let is_name = word.text.starts_with(char::is_uppercase);
                    found.push(Term { text, before, is_joined, gap, is_shared, is_name, weight: 1 });
                    (is_joined, gap) = (true, Some(0));
                }
            }
            if !is_listed(ARTICLES, &lower) {
                before = plain_preposition(lower);
            }
        }
    }
    found
}

/// Words before an interval.
pub(super) const OFTEN: &str = "cada every each jede jeden jedes chaque";

const ARTICLES: &str = "the a an el la los las lo un una der die das den dem des ein eine einen einem einer le les une";

/// Returns a preposition without the article that is written together with it.
fn plain_preposition(word: String) -> String {
    const JOINED: &[(&str, &str)] = &[
        ("al", "a"),
        ("del", "de"),
        ("im", "in"),
        ("ins", "in"),
        ("am", "an"),
        ("ans", "an"),
        ("zum", "zu"),
        ("zur", "zu"),
        ("beim", "bei"),
        ("vom", "von"),
        ("au", "à"),
        ("aux", "à"),
        ("du", "de"),
    ];
    JOINED.iter().find(|(joined, _)| *joined == word).map_or(word, |(_, plain)| (*plain).to_owned())
}

/// Whether a word says nothing about the topic: a function word, a word for the speaker, a number, or a date.
fn is_empty_word(lower: &str) -> bool {
    thread_local!(static RECENT: RecentResults<bool> = RecentResults::default());
    let examine = || {
        is_stop_word(lower)
            || is_function_word(lower)
            || is_frame(lower)
            || lower.chars().count() < 2
            || lower.starts_with(|c: char| c.is_ascii_digit())
            || !Features::of(lower).figures.is_empty()
    };
    RECENT.with(|recent| recent.get(lower, examine))
}

/// Characters and words in Chinese and Japanese that say nothing about the topic.
const WIDE_EMPTY: &str = "上个月 上个星期 下个月 去年 前年 今年 上周 昨天 前天 上月 月初 月底 年初 年底 春天 夏天 秋天 冬天 春季 夏季 秋季 冬季 用户 我们 咱们 一个 一次 已经 全部 完全 终于 当时 当初 起初 先前 之前 早就 的 了 着 是 在 把 被 都 就 已 也 很 和 与 对 从 到 将 \
    让 给 为 其 该 这 那 我 他 她 它 有 又 再 还 年 月 日 于 以 并 而 但 は が を の に で と も へ た て";

/// Splits a run of characters into parts that the other text contains or lacks.
fn wide_terms(run: &str, other: &Vocabulary, is_joined: bool, found: &mut Vec<Term>) {
    let chars: Vec<char> = run.chars().collect();
    let mut covered = vec![false; chars.len()];
    for start in 0..chars.len() {
        let reach = (start + 2..=chars.len())
            .take_while(|end| other.text.contains(chars[start..*end].iter().collect::<String>().as_str()))
            .last();
        if let Some(end) = reach {
            covered[start..end].fill(true);
        }
    }
    let (mut start, mut joined, mut end) = (0, is_joined, None::<usize>);
    while start < chars.len() {
        let length = covered[start..].iter().take_while(|one| **one == covered[start]).count();
        let text: String = chars[start..start + length].iter().collect();
        let is_shared = covered[start];
        let parts = without_empty(&text);
        let mut at = start;
        for part in &parts {
            let size = part.chars().count();
            at += (at..chars.len())
                .take_while(|from| !chars[*from..].starts_with(&part.chars().collect::<Vec<_>>()))
                .count();
            let between: String = end.map_or_else(String::new, |end| chars[end..at].iter().collect());
            let weight = part.chars().filter(|c| is_han(*c)).count().div_ceil(2).max(1);
            let is_joined = end.map_or(joined && at == 0, |_| between.is_empty());
            let gap = end.map(|_| between.chars().filter(|c| !"的那这该".contains(*c)).count());
            let before = if between.ends_with('的') { "的".to_owned() } else { String::new() };
            found.push(Term { text: part.clone(), before, is_joined, gap, is_shared, is_name: false, weight });
            at += size;
            end = Some(at);
            joined = false;
        }
        start += length;
    }
}

/// Returns the parts of a run of characters between words that say nothing about the topic.
fn without_empty(text: &str) -> Vec<String> {
    let mut rest = text.to_owned();
    for word in WIDE_EMPTY.split(' ') {
        rest = rest.replace(word, " ");
    }
    let is_part = |part: &&str| part.chars().filter(|c| !is_hiragana(*c)).count() >= 2;
    rest.split(' ').filter(is_part).map(str::to_owned).collect()
}

/// The total weight of the terms that `wanted` accepts.
pub(super) fn weight<'t>(terms: impl IntoIterator<Item = &'t Term>, wanted: impl Fn(&Term) -> bool) -> usize {
    terms.into_iter().filter(|term| wanted(term)).map(|term| term.weight).sum()
}

/// Whether a thing of both texts has a different word before it in each, as in "the payments service" and "the orders
/// service", or a different name after it, as in "room Oslo" and "room Lima".
pub(super) fn names_another_of_its_kind(ours: &[Term], theirs: &[Term], is_head_last: bool) -> bool {
    // A name with a number is usually a value: "grid square C4".
    let is_code = |text: &str| text.contains(|c: char| c.is_ascii_digit());
    let before =
        |terms: &[Term], at: usize| terms[at].is_joined.then(|| terms[at - 1].clone()).filter(|_| is_head_last);
    let after = |terms: &[Term], at: usize| {
        terms.get(at + 1).filter(|next| next.is_joined && next.is_name && !is_code(&next.text)).cloned()
    };
    ours.iter().enumerate().filter(|(_, term)| term.is_shared && !is_generic(&term.text)).any(|(at, term)| {
        let same = theirs.iter().enumerate().filter(|(_, other)| are_forms(&term.text, &other.text));
        let places: Vec<usize> = same.map(|(place, _)| place).collect();
        let differs = |beside: &dyn Fn(&[Term], usize) -> Option<Term>| {
            let mine = beside(ours, at).filter(|mine| !is_generic(&mine.text));
            mine.is_some_and(|mine| {
                places.iter().all(|place| {
                    beside(theirs, *place).is_some_and(|own| !own.is_shared && !are_forms(&own.text, &mine.text))
                })
            })
        };
        !places.is_empty()
            && (differs(&before) || differs(&|terms, at| after(terms, at).filter(|next| !next.is_shared)))
    })
}
