//! What is heard in a text: the cues of the lexicon, and the words that are left without them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::lexicon::{CUES, Cue, NEVER};
use super::text::{Script, Word};

/// What the cues of a text tell, and the words that are left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each cue is heard or not, independently")]
pub(in crate::consolidate) struct Heard {
    /// Number of cues that turn the claim round.
    pub(in crate::consolidate) negations: usize,
    /// `Once` was heard.
    pub(in crate::consolidate) once: bool,
    /// `Habit` was heard.
    pub(in crate::consolidate) habit: bool,
    /// `Except` was heard.
    pub(in crate::consolidate) except: bool,
    /// `Planned` was heard.
    pub(in crate::consolidate) planned: bool,
    /// `Changed` or `Ended` was heard.
    pub(in crate::consolidate) changed: bool,
    /// `Corrected` was heard.
    pub(in crate::consolidate) corrected: bool,
    /// `Actually` was heard.
    pub(in crate::consolidate) actually: bool,
    /// `Also` was heard.
    pub(in crate::consolidate) also: bool,
    /// People named by what they are to the user.
    pub(in crate::consolidate) people: BTreeSet<&'static str>,
    /// Surroundings named.
    pub(in crate::consolidate) settings: BTreeSet<&'static str>,
    /// Numbers and days in words.
    pub(in crate::consolidate) figures: BTreeSet<&'static str>,
    /// The text without grammar-like cues, words separated by spaces.
    pub(in crate::consolidate) rest: String,
}

/// The compiled table: one automaton, and the cue of each of its patterns.
struct Ear {
    automaton: AhoCorasick,
    cues: Vec<(Cue, bool)>,
}

static EAR: LazyLock<Ear> = LazyLock::new(|| {
    let (mut patterns, mut cues) = (Vec::new(), Vec::new());
    let never = NEVER.split('|').map(|text| (Cue::Negate, true, text));
    let listed = CUES.iter().flat_map(|(cue, texts)| texts.split('|').map(move |text| (*cue, false, text)));
    for (cue, always, text) in listed.chain(never) {
        patterns.push(pattern(text.trim()));
        cues.push((cue, always));
    }
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(&patterns)
        .expect("the table is far below the automaton's size limit");
    Ear { automaton, cues }
});

/// Words of spaced scripts are matched whole; Han and kana stand inside their run; Korean begins a word.
fn pattern(cue: &str) -> String {
    let run = super::text::words(cue);
    match run.first().map(|word| word.script) {
        Some(Script::Han | Script::Katakana) => run.into_iter().map(|word| word.text).collect::<Vec<_>>().join("  "),
        Some(Script::Hangul) if needs_whole_word(cue) => wrap(cue),
        Some(Script::Hangul) => cue.split(' ').collect::<Vec<_>>().join("  "),
        Some(Script::Spaced) | None => cue.split(' ').map(wrap).collect(),
    }
}

/// Korean cues of one syllable are common inside of other words; the negations that end a verb are not.
fn needs_whole_word(cue: &str) -> bool {
    cue.chars().count() == 1 && !matches!(cue, "않" | "없" | "못")
}

fn wrap(word: &str) -> String {
    format!(" {word} ")
}

/// Listens to `words` and returns what their cues tell.
pub(in crate::consolidate) fn hear(words: &[Word]) -> Heard {
    let text: String = words.iter().map(|word| wrap(&word.text.to_lowercase())).collect();
    let text = &without_contrast(&text);
    let (mut heard, mut end, mut given) = (Heard::default(), 0, false);
    for found in EAR.automaton.find_iter(text) {
        let (cue, always) = EAR.cues[found.pattern().as_usize()];
        heard.rest.push_str(&text[end..found.start()]);
        heard.rest.push(' ');
        // What is denied in the reason is not the claim: `left, because nobody came`.
        given |= cue == Cue::Reason && found.start() > 0;
        if !(given && matches!(cue, Cue::Negate)) {
            heard.note(cue, &text[found.start()..found.end()]);
            heard.habit |= always;
        }
        end = found.end();
    }
    heard.rest.push_str(&text[end..]);
    heard
}

/// Takes out the first word of `not X but Y`, which denies X and not the claim.
fn without_contrast(text: &str) -> String {
    const PAIRS: &[(&str, &str)] = &[
        (" is  not ", " but "),
        (" ist  nicht ", " sondern "),
        (" nicht ", " sondern "),
        (" no  es ", " sino "),
        ("不是", "而是"),
        ("不是", ",是"),
        ("ではなく", ""),
        ("じゃなく", ""),
        ("이 아니라", ""),
        ("가 아니라", ""),
    ];
    let mut text = text.to_owned();
    for (denial, turn) in PAIRS {
        if let Some(at) = text.find(denial).filter(|at| text[at + denial.len()..].contains(turn)) {
            text.replace_range(at..at + denial.len(), "  ");
        }
    }
    text
}

impl Heard {
    fn note(&mut self, cue: Cue, found: &str) {
        match cue {
            Cue::Neutral => self.rest.push_str(found),
            Cue::Negate => self.negations += 1,
            Cue::Against(word) => {
                self.negations += 1;
                self.rest.push_str(word);
            }
            Cue::Means(word) => self.rest.push_str(word),
            Cue::Once => self.once = true,
            Cue::Habit => self.habit = true,
            Cue::Except => self.except = true,
            Cue::Planned => self.planned = true,
            Cue::Changed => self.changed = true,
            Cue::Ended => {
                self.changed = true;
                self.negations += 1;
            }
            Cue::Corrected => self.corrected = true,
            Cue::Actually => self.actually = true,
            Cue::Person(name) => {
                self.people.insert(name);
                // One name for `妈妈` and `母亲`.
                self.rest.push(' ');
                self.rest.push_str(name);
            }
            Cue::Setting(name) => {
                self.settings.insert(name);
                self.rest.push_str(found);
            }
            Cue::Reason => {}
            Cue::Also => self.also = true,
            // Its unit, if it has one, follows in the text.
            Cue::Figure(name) if name.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.rest.push(' ');
                self.rest.push_str(name);
            }
            Cue::Figure(name) => {
                self.figures.insert(name);
            }
        }
        self.rest.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::words;
    use super::*;

    fn heard(text: &str) -> Heard {
        hear(&words(text))
    }

    #[test]
    fn negation_is_heard_in_every_language_and_idioms_are_not() {
        let rows = [
            ("The user does not drink coffee", 1),
            ("The user can't stand coffee", 1),
            ("The user can't stop drinking coffee", 0),
            ("The user no longer drinks coffee", 1),
            ("The user stopped drinking coffee", 1),
            ("The user hates coffee", 1),
            ("The user never drinks coffee", 1),
            ("The user doesn't hate coffee", 2),
            ("The target is not Heroku but Fly.io", 0),
            ("用户不喝咖啡", 1),
            ("用户没有车", 1),
            ("用户觉得这家店不错", 0),
            ("用户讨厌咖啡", 1),
            ("用户别人的车", 0),
            ("不是柏林而是慕尼黑", 0),
            ("ユーザーはコーヒーを飲まない", 1),
            ("ユーザーはコーヒーを飲みません", 1),
            ("ユーザーはテストを書かなければならない", 0),
            ("사용자는 커피를 마시지 않는다", 1),
            ("사용자는 안전 검사를 한다", 0),
            ("El usuario no bebe café", 1),
            ("El usuario ya no bebe café", 1),
            ("Der Nutzer trinkt keinen Kaffee", 1),
            ("Der Nutzer trinkt nicht mehr Kaffee", 1),
        ];
        for (text, negations) in rows {
            assert_eq!(heard(text).negations, negations, "{text}");
        }
    }

    #[test]
    fn scope_plans_people_and_change_are_heard() {
        assert!(heard("用户每天跑步").habit && !heard("用户每天跑步").once);
        assert!(heard("The user skipped lunch yesterday").once);
        assert!(heard("El usuario siempre cena tarde").habit);
        assert!(heard("The user never eats meat").habit);
        assert!(heard("用户打算搬到柏林").planned);
        assert!(heard("Runs tests except on Windows").except);
        assert_eq!(heard("用户的姐姐住在柏林").people, BTreeSet::from(["sister.elder"]));
        assert_eq!(heard("Die Schwester wohnt in Berlin").people, BTreeSet::from(["sister"]));
        assert!(heard("사용자는 이제 서울에 산다").changed);
        assert!(heard("実は東京に住んでいる").actually);
        assert_eq!(heard("Left the club because nobody came").negations, 0);
        assert_eq!(heard("standup on Fridays").figures, heard("周五开会").figures);
    }

    #[test]
    fn every_cue_is_found_where_it_stands_alone() {
        for (cue, texts) in CUES {
            for text in texts.split('|').map(str::trim) {
                let found = EAR.automaton.find(&heard_form(text)).unwrap_or_else(|| panic!("{text}"));
                assert_eq!(EAR.cues[found.pattern().as_usize()].0, *cue, "{text}");
            }
        }
    }

    fn heard_form(text: &str) -> String {
        words(text).iter().map(|word| wrap(&word.text.to_lowercase())).collect()
    }
}
