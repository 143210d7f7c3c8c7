//! One call's worth of questions: every memory is shown once, under a number.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::Offset;
use minijinja::{Environment, Value, context};

use super::reply::{entries, schema};
use super::{MAX_CANDIDATES, MAX_MEMORIES, MAX_REST};
use crate::consolidate::compare::features::Features;
use crate::consolidate::decide::order::When;
use crate::consolidate::plan::{Answer, Answers, Question, Surrounded};
use crate::guard::Guard;
use crate::llm::{ReplySchema, Request, Turn, TurnRole};
use crate::memory::{Claim, Evidence, MemoryId};
use crate::prompts::Prompt;

/// Tokens that the answer about one candidate takes at most, with room to spare.
const TOKENS_A_CANDIDATE: u32 = 90;

/// Longest text of one memory shown, in characters.
const MAX_SHOWN: usize = 600;

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    templates
        .add_template("user", Prompt::ConsolidateUser.text())
        .expect("the template is embedded, or was rendered when it was read");
    templates
});

/// One call's worth of questions, with the numbers that memories are given in it.
pub(super) struct Sheet<'a> {
    questions: &'a [Question],
    cases: &'a [Surrounded],
    /// What is shown, by number from 1.
    shown: Vec<Shown>,
    numbers: BTreeMap<&'a MemoryId, usize>,
}

/// A memory or candidate as it is shown.
struct Shown {
    attribute: Option<String>,
    /// The day.
    time: Option<String>,
    text: String,
    quote: Option<String>,
}

impl<'a> Sheet<'a> {
    /// Spreads `questions` over as few sheets as they fit on, in their order.
    pub(super) fn fill(cases: &'a [Surrounded], questions: &'a [Question]) -> Vec<Self> {
        let (mut sheets, mut start, mut shown) = (Vec::new(), 0, BTreeSet::new());
        for (index, question) in questions.iter().enumerate() {
            let ids: BTreeSet<&MemoryId> = mentioned(cases, question).collect();
            let many = index - start >= MAX_CANDIDATES && questions.len() - index > MAX_REST;
            let full = many || shown.union(&ids).count() > MAX_MEMORIES;
            if full && index > start {
                sheets.push(Self::new(cases, &questions[start..index]));
                (start, shown) = (index, BTreeSet::new());
            }
            shown.extend(ids);
        }
        if start < questions.len() {
            sheets.push(Self::new(cases, &questions[start..]));
        }
        sheets
    }

    fn new(cases: &'a [Surrounded], questions: &'a [Question]) -> Self {
        let mut sheet = Self { cases, questions, shown: Vec::new(), numbers: BTreeMap::new() };
        for question in questions {
            for known in &question.known {
                let memory = &known.memory;
                sheet.show(&memory.id, || Shown::of(&memory.claim, &known.evidence, Some(memory.created_at)));
            }
            let case = &cases[question.index];
            let candidate = &case.incoming.candidate;
            // Without evidence there is no time to show: when the plan is made says nothing.
            sheet.show(&case.id, || Shown::of(&candidate.claim, &candidate.evidence, None));
        }
        sheet.in_order_of_time()
    }

    /// Numbers what is shown anew, so that memories of one day stand together below it.
    fn in_order_of_time(mut self) -> Self {
        let mut order: Vec<usize> = (0..self.shown.len()).collect();
        order.sort_by(|a, b| self.shown[*a].time.cmp(&self.shown[*b].time));
        let mut numbers = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, before)| numbers[*before] = at + 1);
        self.numbers.values_mut().for_each(|number| *number = numbers[*number - 1]);
        let mut shown: Vec<Option<Shown>> = self.shown.into_iter().map(Some).collect();
        self.shown = order.into_iter().filter_map(|before| shown[before].take()).collect();
        self
    }

    /// Returns two sheets of half the questions each, the first last; `None` for a single question.
    pub(super) fn halves(&self) -> Option<[Self; 2]> {
        let (first, second) = self.questions.split_at(self.questions.len() / 2);
        (!first.is_empty()).then(|| [Self::new(self.cases, second), Self::new(self.cases, first)])
    }

    /// Returns a sheet of the questions from the first one that `answers` leaves open; `None` if that is none or all.
    pub(super) fn unanswered(&self, answers: &Answers) -> Option<Self> {
        let from = self.questions.iter().position(|question| !answers.contains_key(&question.index))?;
        (from > 0).then(|| Self::new(self.cases, &self.questions[from..]))
    }

    fn show(&mut self, id: &'a MemoryId, shown: impl FnOnce() -> Shown) {
        if !self.numbers.contains_key(id) {
            self.shown.push(shown());
            self.numbers.insert(id, self.shown.len());
        }
    }

    pub(super) fn request(&self, guard: &Guard) -> Request {
        let candidates = u32::try_from(self.questions.len()).unwrap_or(u32::MAX);
        Request {
            system: guard.redact(Prompt::ConsolidateSystem.text().to_owned()).0,
            turns: vec![Turn { role: TurnRole::User, text: guard.redact(self.render()).0 }],
            schema: ReplySchema { name: "relations".into(), schema: schema() },
            max_completion_tokens: candidates.saturating_mul(TOKENS_A_CANDIDATE).saturating_add(200),
        }
    }

    fn render(&self) -> String {
        let memories = self.shown.iter().enumerate().map(|(index, shown)| shown.value(index + 1));
        let questions = self.questions.iter().map(|question| {
            let against: Vec<usize> = question.known.iter().map(|known| self.numbers[&known.memory.id]).collect();
            context! { number => self.numbers[&self.cases[question.index].id], against }
        });
        let values = context! {
            memories => memories.collect::<Vec<_>>(),
            questions => questions.collect::<Vec<_>>(),
        };
        let template = TEMPLATES.get_template("user").expect("the template is added above");
        template.render(values).expect("the template is embedded and a test renders it")
    }

    /// Reads the relations that can be used: of a candidate that was asked about, to a memory it is held against.
    pub(super) fn read(&self, text: &str) -> Answers {
        let mut answers = Answers::new();
        for entry in entries(text) {
            let asked = self.questions.iter().find(|one| self.numbers[&self.cases[one.index].id] == entry.memory);
            let Some(question) = asked else { continue };
            let about = || question.known.iter().map(|known| &known.memory.id);
            let to = match entry.to {
                Some(number) => about().find(|id| self.numbers[id] == number),
                None => about().next().filter(|_| question.known.len() == 1),
            };
            if to.is_none() && !entry.is_unrelated() {
                continue;
            }
            let answer = answers
                .entry(question.index)
                .or_insert_with(|| Answer { about: about().cloned().collect(), named: Vec::new() });
            if let Some(to) = to.filter(|_| !entry.is_unrelated()) {
                answer.named.push((to.clone(), entry.named()));
            }
        }
        answers
    }
}

fn mentioned<'a>(cases: &'a [Surrounded], question: &'a Question) -> impl Iterator<Item = &'a MemoryId> {
    question.known.iter().map(|known| &known.memory.id).chain([&cases[question.index].id])
}

impl Shown {
    fn of(claim: &Claim, evidence: &[Evidence], written_at: Option<Timestamp>) -> Self {
        let at = When::of(claim, evidence, written_at.unwrap_or(Timestamp::UNIX_EPOCH)).at;
        // Days are those of the clock by which they were said.
        let clock = evidence.first().and_then(|piece| piece.said_at?.offset_seconds).unwrap_or(0);
        let clock = Offset::from_seconds(clock).unwrap_or(Offset::UTC);
        let attribute = claim.key.as_deref().map(|key| match &claim.value {
            Some(value) => one_line(&format!("{key} = {value}")),
            None => one_line(key),
        });
        let at = at.filter(|at| *at != Timestamp::UNIX_EPOCH);
        Self {
            attribute,
            time: at.map(|at| clock.to_datetime(at).strftime("%Y-%m-%d").to_string()),
            text: one_line(&claim.content),
            quote: turning_words(claim, evidence),
        }
    }

    fn value(&self, number: usize) -> Value {
        let Self { attribute, time, text, quote } = self;
        let time = time.as_deref().unwrap_or("no date");
        context! { number, attribute, time, text, quote }
    }
}

/// What was really said, where it speaks of a change or a correction and the claim does not.
fn turning_words(claim: &Claim, evidence: &[Evidence]) -> Option<String> {
    let turns = |text: &str| Features::of(text).cue.is_some();
    let quote = evidence.iter().map(|piece| piece.quote.as_str()).find(|quote| turns(quote))?;
    (!turns(&claim.content)).then(|| one_line(quote))
}

/// Puts a text on one line, cut short, so that it cannot pose as another line or close the fence.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("</", "< /");
    match line.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidate::tests::testing::{incoming, known};

    #[test]
    fn a_last_few_questions_get_no_sheet_of_their_own() {
        let against = known("old", "The shop is in Riga.");
        let surrounded = |index: usize| Surrounded {
            incoming: incoming(&format!("The shop is in street {index}.")),
            id: MemoryId::from_stored(format!("new-{index}")),
            known: vec![against.clone()],
            rejected: Vec::new(),
            settled: None,
        };
        let cases: Vec<Surrounded> = (0..320).map(surrounded).collect();
        let question = |index| Question { index, known: vec![against.clone()], closeness: 1.0, open: true };
        for (count, expected) in [
            (1, vec![1]),
            (150, vec![150]),
            (165, vec![165]),
            (166, vec![150, 16]),
            (315, vec![150, 165]),
            (316, vec![150, 150, 16]),
        ] {
            let questions: Vec<Question> = (0..count).map(question).collect();
            let sheets = Sheet::fill(&cases, &questions);
            let sizes: Vec<usize> = sheets.iter().map(|sheet| sheet.questions.len()).collect();
            assert_eq!(sizes, expected);
        }
    }
}
