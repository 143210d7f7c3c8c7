//! Memories that forbid a command: "Never push to main" forbids `git push origin main`, and "The team uses pnpm, not npm"
//! forbids `npm install`. The functions perform no I/O.
//!
//! A prohibition applies if the command contains all of its words apart from function words, and calls one of them as a
//! program or as an action of a program. A word that the command lacks, such as a folder, may be what the prohibition is
//! about.

use std::sync::LazyLock;

use regex::Regex;
use rust_stemmers::{Algorithm, Stemmer};

use super::shell::{arguments, commands};
use crate::text::negation;
use crate::text::pattern_set::pattern;
use crate::text::script::is_han;
use crate::text::shell::{INTERPRETERS, called, signature};
use crate::text::tokens::{is_listed, is_stop};

/// Maximum number of words in a prohibition; a longer one describes more than a command.
const MAX_WORDS: usize = 8;
/// Maximum number of words of a command that are compared.
const MAX_ARGUMENTS: usize = 60;
/// Maximum number of calls of programs in a command line that are compared.
const MAX_CALLS: usize = 20;
/// Maximum depth of scripts inside a command, as in `bash -c 'ssh host "…"'`.
const MAX_DEPTH: usize = 3;

/// Verbs for calling a program. Before the name of a program, they are no part of what is forbidden.
const CALLING: &str = "\
    call calling employ execute executing invoke invoking perform run running ran runs start starting switch trigger \
    type use used uses using utilise utilize hacer hagas haga ejecutar ejecutes usar uses utilizar verwende verwenden \
    benutze benutzen nutze nutzen führe ausführen";
/// Words that make no difference to which command is forbidden.
const IGNORED: &str = "\
    again against any anyone anybody anymore anything back blindly direct directly ever here into just longer manually more only ourselves \
    nobody onto please right simply straight there through via within yourself these those all allow allowed want \
    not no never dont cannot ne pas jamais plus rien nicht nie niemals niemand gegen kein keine keinen nunca \
    an auf auf das dem den der die direkt einen in ins nach mehr zu zum \
    al con contra directamente nadie el en la las los más se un una le les sur du des de";
/// Nouns that only say what kind of thing another word of the prohibition names, as in "the main branch".
const KINDS: &str = "\
    base branch branches cli cluster code codebase command commands container database databases db environment \
    environments machine manager package packages program project repo repository script scripts server servers system \
    tool tools";
/// Nouns for what a program works on anyway, by program.
const IMPLIED: &[(&str, &str)] = &[
    ("git", "branch branches remote repo repository"),
    ("npm pnpm yarn bun pip pip3 uv poetry cargo", "dependency dependencies module modules package packages"),
    ("docker podman", "container containers"),
    ("kubectl helm", "cluster"),
];
/// Words with the same meaning, one set a line. The first ones are forms of commands and of options.
const SAME: &[&str] = &[
    "rm delete remove erase unlink",
    "install add i",
    "uninstall remove rm",
    "mv move rename",
    "cp copy",
    "force -f",
    "global globally -g",
    "root sudo",
    "prod production produktion",
    "env environment",
    "db database",
    "repo repository",
    "dev development",
];
/// Names of environments, which are also recognised inside the name of a server or a variable.
const ENVIRONMENTS: &str = "prod production staging";
/// Programs whose names are common words, so that a sentence must say that it means the program.
const COMMON_WORDS: &str = "\
    at black cat check code convert coverage cut date file find flask go head history install join just kill less link \
    look make mix more node open patch screen script sort split strip tail task test time top touch tree wait watch \
    which who yes";
/// Programs and builtins that only prepare the commands after them.
const PREPARING: &str = "cd export set source . pushd popd";
/// Programs that run the program that their first argument names.
const LAUNCHERS: &str = "bunx npx pipx uvx";

/// Subjects of descriptions that show which programs the person uses, as in "the team does not use npm".
const SUBJECTS: &str = "\
    agent agents app codebase company developers everyone i machine monorepo organisation organization people person \
    project projects repo repos repository team teams they user users we workspace you";
/// Nouns after the name of a program that refer to the program itself, as in "no npm commands".
const CALLS: &str = "call calls cli command commands tool tools";

/// The words of `SAME` and their stems, without short ones, each with its set.
static SAME_STEMS: LazyLock<Vec<(String, &str)>> = LazyLock::new(|| {
    let words = SAME.iter().flat_map(|set| set.split(' ').map(move |word| (word, *set)));
    words.filter(|(word, _)| word.len() > 2).map(|(word, set)| (stem(word), set)).collect()
});

/// What Chinese words for actions and targets are called in commands; longer words come first.
const CHINESE: &[(&str, &str)] = &[
    ("主分支", "main"),
    ("推送", "push"),
    ("提交", "commit"),
    ("合并", "merge"),
    ("部署", "deploy"),
    ("发布", "publish"),
    ("安装", "install"),
    ("删除", "delete"),
    ("迁移", "migrate"),
    ("强制", "force"),
    ("测试", "test"),
    ("构建", "build"),
    ("生产", "production"),
    ("数据库", "database"),
    ("变基", "rebase"),
    ("全局", "global"),
];
/// Chinese words that make no difference to which command is forbidden, separated by spaces.
const CHINESE_IGNORED: &str = "直接 使用 运行 执行 允许 应该 可以 任何 随意 任意 私自 分支 环境 命令 仓库 我们 不 要 能 得 准 许 可 应 该 再 往 向 \
    到 在 上 中 里 对 用 跑 把 将 给 去 的 了 是 会 禁 止 别 勿 绝 严 切 而 从";

/// Words after which a condition follows, so that the text before them forbids nothing in general.
const CONDITIONS: &str = "\
    without unless until till while when whenever if before after except ohne außer bevor wenn sin excepto salvo cuando sans sauf";
/// Further words after which a reason or the alternative follows.
const REASONS: &str = "because since but instead always even however rather sondern weil sino porque";
/// Negations that forbid nothing.
const OTHER_DENIALS: &str = "without none nothing neither ohne sin nada nichts sans 没 未 非 無 无";
/// The beginning of a sentence that is a condition.
static CONDITIONED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*(?:if|unless|until|while|when|whenever|before|after|wenn|bevor|cuando)\b"));
/// Words that begin another instruction after "and".
static RESTART: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:always|never|do|don't|use|please|instead|only|open|prefer|then)$"));
/// Phrases that forbid what follows without a negation.
static AGAINST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"\b(?:instead of|rather than|in place of|avoid|refrain from|forbidden to|prohibited to|not allowed to|not permitted to)\s",
        r"|\b(?:statt|anstatt|anstelle von|vermeide|en lugar de|en vez de|evita|au lieu de|plutôt que)\s|代替|避免|禁用",
    ))
});
/// A request to stop an action. "Stop docker" is an order to call a program.
static STOP: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bstop\s+([a-z-]+ing)\b"));
/// Phrases that forbid what precedes them.
static FORBIDDEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:(?:is|are)(?: strictly)? (?:forbidden|prohibited|banned|disallowed|off[- ]limits|not allowed|not permitted)|(?:ist|sind) verboten|está prohibido)\b",
    )
});
/// The end of a text before a negation that describes something instead of forbidding it.
static DESCRIBES: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(?:do|does|did|is|was|were|are|am|has|have|had|would|could|will|it's|that's)\s*$"));
/// The end of a text before "do not" that gives an order.
static ORDERS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:^|[,;:—–(]|\b(?:we|you|i|they|agents|and|but|please|so|to))\s*do\s*$"));

/// A plural subject before "don't", which describes it.
static PLURAL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:^|[,;:]|\band)\s*(?:the|our|its|these|those)\s+(?:[\w-]+\s+){0,3}[\w-]+s\s*$"));
/// Words between the subject of a description and its negation.
static AUXILIARY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?:\s*\b(?:do|does|did|is|was|were|are|am|has|have|had|would|could|will|also|still|just|\w+ly))*\s*$")
});

/// A simple command: a program, what it is asked to do, and its other words.
#[derive(Debug)]
struct Call {
    /// Names of the program, and of the program that it runs.
    programs: Vec<String>,
    /// The names of the program and of its action, in pieces.
    actions: Vec<String>,
    /// All words, and the pieces of words such as `HEAD:main`.
    words: Vec<String>,
}

/// A command, prepared for comparison with memories.
#[derive(Debug)]
pub(super) struct CommandWords {
    calls: Vec<Call>,
}

/// A word of a prohibition: the alternatives of which the command must contain one, as in "push or merge".
#[derive(Debug, Clone, PartialEq, Eq)]
struct Essential(Vec<String>);

/// An action that a memory forbids.
#[derive(Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each field is a separate finding")]
struct Prohibition {
    words: Vec<Essential>,
    /// Whether the text marks the first word as the name of a program, by quoting it or by a verb such as "use".
    is_named: bool,
    /// Whether the text only states that something is not done, as in "the build does not run the tests".
    is_description: bool,
    /// Whether a condition limits what is forbidden, as in "never commit without running the tests".
    is_conditional: bool,
    /// Whether the text denies that something exists whose name is that of a program and a noun, as in "no git
    /// repository".
    is_absence: bool,
}

impl Prohibition {
    /// Returns the prohibition, limited by a condition if `is_conditional`.
    fn under(self, is_conditional: bool) -> Self {
        Self { is_conditional: self.is_conditional || is_conditional, ..self }
    }
}

impl CommandWords {
    /// Returns the words of a command line.
    pub(super) fn of(command: &str) -> Self {
        let mut calls = Vec::new();
        gather(command, 0, &mut calls);
        Self { calls }
    }

    /// Returns the words with which memories about the command are searched.
    pub(super) fn query(&self) -> String {
        let mut words: Vec<&str> = Vec::new();
        let synonyms =
            |word: &str| SAME.iter().filter(|set| is_listed(set, word)).flat_map(|set| set.split(' ')).collect();
        for call in &self.calls {
            let actions: Vec<&str> = call.actions.iter().flat_map(|word| -> Vec<&str> { synonyms(word) }).collect();
            words.extend(call.actions.iter().chain(&call.words).map(String::as_str).chain(actions));
        }
        words.retain(|word| !word.starts_with('-') && !is_stop(word));
        let mut seen = std::collections::HashSet::new();
        words.retain(|word| seen.insert(*word));
        words.join(" ")
    }

    /// Returns the names of the programs that are called.
    pub(super) fn programs(&self) -> String {
        let names: Vec<&str> = self.calls.iter().flat_map(|call| &call.programs).map(String::as_str).collect();
        names.join(" ")
    }

    /// Returns whether a text forbids the command. Unless the memory `is_standing`, that is, unless it is an instruction
    /// by its category, the text must forbid a program by name.
    pub(super) fn is_forbidden_by(&self, content: &str, is_standing: bool) -> bool {
        let prohibitions = prohibitions(content);
        prohibitions.iter().any(|one| self.calls.iter().any(|call| call.is_meant(one, is_standing)))
    }
}

/// Adds the calls of a command line, including those in a script that a shell runs.
fn gather(command: &str, depth: usize, calls: &mut Vec<Call>) {
    for part in commands(command) {
        if calls.len() >= MAX_CALLS {
            break;
        }
        let part = part.trim();
        let Some((program, _)) = called(part).filter(|(program, _)| !is_listed(PREPARING, program)) else { continue };
        let words = arguments(part);
        if matches!(program, "bash" | "sh" | "zsh" | "dash") && depth < MAX_DEPTH {
            let is_script = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
            if let Some(script) = words.iter().position(is_script).and_then(|at| words.get(at + 1)) {
                gather(script, depth + 1, calls);
                continue;
            }
        }
        calls.extend(Call::of(part, program, &words));
    }
}

impl Call {
    fn of(part: &str, program: &str, words: &[String]) -> Option<Self> {
        // The words of a command that only reads, such as `grep`, are what it looks for.
        let name = signature(part);
        let is_lookup = name.is_none();
        let name = name.unwrap_or_else(|| program.to_owned()).to_lowercase();
        let named: Vec<&str> = name.split(' ').collect();
        let mut programs = vec![named[0].to_owned()];
        // `pip3` and `python3.12` are called by their names without versions as well.
        let plain = named[0].trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        programs.extend((plain.len() > 1 && plain != named[0]).then(|| plain.to_owned()));
        let runs_other = INTERPRETERS.contains(&program) || is_listed(LAUNCHERS, program) || named.len() > 2;
        programs.extend(named.iter().skip(1).filter(|_| runs_other).map(|&word| word.to_owned()));
        let has_action = named.len() > 1 && !runs_other;
        let mut actions: Vec<String> = programs.clone();
        let plain: Vec<&String> = words.iter().take(MAX_ARGUMENTS).filter(|word| is_plain(word)).collect();
        actions.extend(named.iter().skip(1).flat_map(|word| pieces(word)));
        if !is_lookup && !has_action {
            // Without a known action, the next word is probably one, as in `prisma migrate deploy`.
            let is_word = |word: &&&String| !word.starts_with('-') && !word.contains(['/', '.', '=']);
            let is_new = |word: &&&String| !named.contains(&word.to_lowercase().as_str());
            let next = plain.iter().filter(is_word).filter(is_new).map(|word| word.to_lowercase());
            actions.extend(next.take(1).flat_map(|word| pieces(&word)));
        }
        let mut all = actions.clone();
        for word in plain {
            let word = word.to_lowercase();
            all.extend(word.split([':', '=', ',', '+', '@']).map(|piece| piece.trim_start_matches('-').to_owned()));
            all.extend(pieces(&word).into_iter().filter(|piece| is_listed(ENVIRONMENTS, piece)));
            all.push(word);
        }
        all.retain(|word| !word.is_empty());
        actions.retain(|word| !word.is_empty());
        (!programs[0].is_empty()).then_some(Self { programs, actions, words: all })
    }

    /// Returns whether a prohibition is about this call.
    fn is_meant(&self, prohibition: &Prohibition, is_standing: bool) -> bool {
        let words: Vec<&Essential> = prohibition.words.iter().filter(|word| !self.is_implied(word)).collect();
        let Some(first) = words.first() else { return false };
        let is_program = first.0.iter().any(|word| self.programs.contains(word));
        // The kind of something may be missing, as in "the production database", but not in "drop the database".
        let is_kind = |word: &Essential| word.0.iter().all(|word| is_listed(KINDS, word));
        let missing: Vec<&Essential> = words.iter().copied().filter(|word| !self.contains(word)).collect();
        let is_whole = match missing[..] {
            [] => true,
            [one] => is_kind(one) && (words.len() > 2 || words.len() == 2 && is_program),
            _ => false,
        };
        if !is_whole {
            return false;
        }
        let is_own = |word: &Essential| word.0.iter().any(|word| self.programs.contains(word));
        if prohibition.is_conditional && words.iter().filter(|word| !is_own(word)).count() < 2 {
            return false;
        }
        // A missing package says nothing about its manager.
        if prohibition.is_absence
            && let [program, noun, ..] = &prohibition.words[..]
            && is_own(program)
            && !noun.0.iter().any(|word| is_listed(CALLS, word))
            && !self.contains(noun)
        {
            return false;
        }
        if words.len() == 1
            && is_program
            && !prohibition.is_named
            && first.0.iter().all(|word| is_listed(COMMON_WORDS, word))
        {
            return false;
        }
        let is_action = words.iter().any(|word| word.0.iter().any(|word| has(&self.actions, word)));
        is_program || is_standing && !prohibition.is_description && is_action
    }

    fn contains(&self, word: &Essential) -> bool {
        word.0.iter().any(|word| has(&self.words, word))
    }

    fn is_implied(&self, word: &Essential) -> bool {
        let of_program = |(programs, _): &&(&str, &str)| is_listed(programs, &self.programs[0]);
        let mut implied = IMPLIED.iter().filter(of_program).map(|(_, nouns)| nouns);
        implied.any(|nouns| word.0.iter().all(|word| is_listed(nouns, word))) && !self.contains(word)
    }
}

/// Returns whether a word of a command is not a text, such as a message of a commit.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && !word.contains(char::is_whitespace)
}

fn pieces(word: &str) -> Vec<String> {
    let pieces = word.split(|letter: char| !letter.is_alphanumeric()).filter(|piece| !piece.is_empty());
    pieces.map(str::to_lowercase).collect()
}

/// Returns whether `words` contain `word`, in any of its forms or as a synonym.
fn has(words: &[String], word: &str) -> bool {
    let is_known = |sought: &str| words.iter().any(|one| is_same(one, sought));
    if is_known(word) || SAME.iter().any(|set| is_listed(set, word) && set.split(' ').any(is_known)) {
        return true;
    }
    // The singular may be in a set: `globals`, `deleting`.
    let root = stem(word);
    if SAME_STEMS.iter().any(|(one, set)| *one == root && set.split(' ').any(is_known)) {
        return true;
    }
    let cut = pieces(word);
    !word.starts_with('-') && cut.len() > 1 && cut.iter().all(|piece| is_known(piece))
}

fn is_same(one: &str, other: &str) -> bool {
    let is_cluster = |option: &str, sought: &str| {
        let letters = |word: &str| {
            word.len() > 1 && word.starts_with('-') && word[1..].bytes().all(|byte| byte.is_ascii_alphabetic())
        };
        letters(option) && letters(sought) && sought[1..].chars().all(|letter| option[1..].contains(letter))
    };
    one == other
        || is_cluster(one, other)
        // A stem begins like its word.
        || one.len() > 2
            && other.len() > 2
            && one.as_bytes()[0] == other.as_bytes()[0]
            && is_letters(one)
            && is_letters(other)
            && stem(one) == stem(other)
}

fn is_letters(word: &str) -> bool {
    word.chars().all(char::is_alphabetic)
}

/// Returns the stem of an English word, or of an English verb with a German ending, as in "pushen".
fn stem(word: &str) -> String {
    let stemmer = Stemmer::create(Algorithm::English);
    let stemmed = stemmer.stem(word).into_owned();
    stemmed.strip_suffix("en").filter(|rest| rest.len() > 2).map_or(stemmed.clone(), str::to_owned)
}

/// Returns what a text forbids.
fn prohibitions(content: &str) -> Vec<Prohibition> {
    let folded = spaced(&content.to_lowercase());
    let mut found = Vec::new();
    for sentence in sentences(&negation::plain(&folded)) {
        for denial in negation::denials(sentence) {
            let (before, denied) = (&sentence[..denial.start], &sentence[denial.clone()]);
            if is_listed(OTHER_DENIALS, denied) {
                continue;
            }
            let describes = denied == "not" && DESCRIBES.is_match(before) && !ORDERS.is_match(before)
                || denied.ends_with("n't") && !matches!(denied, "don't" | "mustn't" | "shouldn't" | "can't")
                || denied == "don't" && PLURAL.is_match(before) && !is_subject(before);
            // What the tests or a script do says nothing about which programs are wanted.
            if describes && !is_subject(before) {
                continue;
            }
            let is_none = denied == "no" || denied.starts_with("kein");
            let one = prohibition(&sentence[denial.start..], describes, is_none);
            found.extend(one.map(|one| one.under(CONDITIONED.is_match(before))));
        }
        found.extend(
            AGAINST.find_iter(sentence).filter_map(|phrase| prohibition(&sentence[phrase.end()..], false, false)),
        );
        let stops = STOP.captures_iter(sentence).filter_map(|found| {
            let (whole, action) = (found.get(0)?, found.get(1)?);
            let before = sentence[..whole.start()].trim_end();
            // "Do not stop using docker" requires what follows.
            let is_denied = ["not", "n't", "never"].iter().any(|denial| before.ends_with(denial));
            let is_name = is_listed(ENVIRONMENTS, action.as_str()) || action.as_str().ends_with("thing");
            (!is_denied && !is_name).then_some(action)
        });
        found.extend(stops.filter_map(|action| prohibition(&sentence[action.start()..], false, false)));
        if let Some(phrase) = FORBIDDEN.find(sentence) {
            let scope = &sentence[..phrase.start()];
            let scope = scope.rsplit([',', ';', ':']).next().unwrap_or(scope);
            let rest = sentence[phrase.end()..].split_whitespace().next().unwrap_or_default();
            found.extend(prohibition(scope, false, false).map(|one| one.under(is_listed(CONDITIONS, rest))));
        }
    }
    found
}

/// Returns whether the text before a negation ends with a subject whose habits show which programs are wanted.
fn is_subject(before: &str) -> bool {
    let subject = AUXILIARY.replace(before, "");
    subject.split_whitespace().next_back().is_some_and(|word| is_listed(SUBJECTS, word))
}

/// Returns the text with spaces between Chinese and other letters, and with plain punctuation.
fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    let mut was_chinese = false;
    for letter in text.chars() {
        let is_chinese = is_han(letter);
        if is_chinese != was_chinese {
            spaced.push(' ');
        }
        was_chinese = is_chinese;
        match letter {
            '，' => spaced.push_str(", "),
            '、' => spaced.push_str(" or "),
            '。' | '！' | '？' => spaced.push_str(". "),
            '；' => spaced.push_str("; "),
            '：' => spaced.push_str(": "),
            _ => spaced.push(letter),
        }
    }
    spaced
}

/// Splits a text at the ends of sentences. A full stop inside a name such as `package.json` ends none.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let ends = |(at, letter): (usize, char)| {
            let next = rest[at + letter.len_utf8()..].chars().next();
            let is_end =
                letter == '\n' || matches!(letter, '.' | '!' | '?' | ';') && next.is_none_or(char::is_whitespace);
            is_end.then_some(at + letter.len_utf8())
        };
        let end = rest.char_indices().find_map(ends).unwrap_or(rest.len());
        let (sentence, after) = rest.split_at(end);
        rest = after;
        Some(sentence)
    })
}

/// Reads what is forbidden from the text after a negation, up to the end of its clause. `is_none` if the negation denies
/// that something exists.
fn prohibition(clause: &str, is_description: bool, is_none: bool) -> Option<Prohibition> {
    let (mut words, mut is_named, mut joins, mut calls) = (Vec::<Essential>::new(), false, false, false);
    let (mut is_conditional, mut is_absence, mut first_at) = (false, false, 0);
    let raw: Vec<&str> = clause.split_whitespace().collect();
    let ends_item = |word: &str| word.ends_with(',');
    for (at, &token) in raw.iter().enumerate() {
        let is_quoted = token.starts_with(['`', '"', '“', '«']);
        let word =
            token.trim_matches(|letter: char| !(letter.is_alphanumeric() || matches!(letter, '-' | '.' | '/' | '_')));
        let word = word.trim_end_matches(['.', '-']).trim_matches('_');
        if word.is_empty() {
            // A dash or another sign ends the clause.
            if words.is_empty() && at == 0 {
                continue;
            }
            break;
        }
        let is_condition = is_listed(CONDITIONS, word);
        if (is_condition || is_listed(REASONS, word)) && !words.is_empty() {
            is_conditional = is_condition;
            break;
        }
        let is_dash = matches!(token, "-" | "–" | "—");
        if is_dash {
            break;
        }
        let next = raw.get(at + 1).copied().unwrap_or_default();
        match word {
            "and" | "und" | "y" if RESTART.is_match(next) => break,
            "or" | "nor" | "oder" | "o" | "ou" | "或" => {
                joins = !words.is_empty();
                continue;
            }
            _ => {}
        }
        for word in translated(word) {
            let is_calling = is_listed(CALLING, &word) && words.is_empty() && !is_quoted;
            calls |= is_calling;
            if is_calling || is_listed(IGNORED, &word) || is_stop(&word) || word.ends_with("n't") {
                continue;
            }
            is_named |= words.is_empty() && (is_quoted || calls);
            let alternatives = word.split('/').filter(|part| !part.is_empty()).map(str::to_owned);
            let is_choice = word.matches('/').count() == 1 && !word.starts_with(['.', '/']) && words.is_empty();
            let new: Vec<String> = if is_choice { alternatives.collect() } else { vec![word] };
            if let Some(last) = words.last_mut().filter(|_| std::mem::take(&mut joins)) {
                last.0.extend(new);
            } else {
                match words.len() {
                    0 => first_at = at,
                    1 => is_absence = is_none && at == first_at + 1,
                    _ => {}
                }
                words.push(Essential(new));
            }
        }
        if token.ends_with([',', ';', ':', '.', '!', '?', ')', '—', '–']) {
            // In "npm, yarn or bun", the comma separates alternatives.
            let lists =
                |word: &str| ends_item(word) || matches!(raw.get(at + 2), Some(&("or" | "nor" | "oder" | "或")));
            if words.is_empty() || !(ends_item(token) && words.len() == 1 && !next.is_empty() && lists(next)) {
                if words.is_empty() && ends_item(token) && at < 2 {
                    continue;
                }
                is_conditional = ends_item(token) && is_listed(CONDITIONS, next);
                break;
            }
            joins = true;
        }
    }
    (!words.is_empty() && words.len() <= MAX_WORDS).then_some(Prohibition {
        words,
        is_named,
        is_description,
        is_conditional,
        is_absence,
    })
}

/// Returns a word, or for Chinese text the words that commands contain instead. Text that is not understood remains, so
/// that no command contains it.
fn translated(word: &str) -> Vec<String> {
    if !word.starts_with(is_han) {
        return vec![word.to_owned()];
    }
    let (mut words, mut rest) = (Vec::new(), word);
    while let Some(letter) = rest.chars().next() {
        if let Some((chinese, english)) = CHINESE.iter().find(|(chinese, _)| rest.starts_with(chinese)) {
            words.push((*english).to_owned());
            rest = &rest[chinese.len()..];
        } else if let Some(ignored) = CHINESE_IGNORED.split_whitespace().find(|ignored| rest.starts_with(ignored)) {
            if matches!(ignored, "使用" | "运行" | "执行" | "用" | "跑") && words.is_empty() {
                words.push("use".to_owned());
            }
            rest = &rest[ignored.len()..];
        } else {
            words.push(rest.to_owned());
            rest = &rest[rest.len().min(letter.len_utf8() * rest.chars().count())..];
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forbids(content: &str, command: &str) -> bool {
        CommandWords::of(command).is_forbidden_by(content, true)
    }

    #[test]
    fn a_prohibition_applies_to_commands_with_all_of_its_words() {
        let table = [
            ("Never push to main, always open a pull request", "git push origin main"),
            ("Do not ever push to main directly", "cd shop && git push origin HEAD:main"),
            ("Don't push or merge to main.", "git push -u origin main"),
            ("Pushing directly to the main branch is not allowed.", "git push origin main"),
            ("It is forbidden to push to main.", "bash -lc 'git push origin main'"),
            ("Direct pushes to main are forbidden", "git push origin main"),
            ("Nobody pushes to main.", "git push origin main"),
            ("Never run the migrations against the production database", "pnpm db:migrate --env production"),
            ("Never run the migrations against the production database", "APP_ENV=prod npx prisma migrate deploy"),
            ("Never run migrations on production — ask Ana first", "python manage.py migrate --database=production"),
            ("Do not install packages globally", "npm install -g typescript"),
            ("Avoid force pushing to shared", "git push --force origin shared"),
            ("Never use npm, yarn or bun here", "bun add zod"),
            ("Never delete node_modules", "rm -rf node_modules"),
            ("Do not use `cargo run`", "cargo run -q"),
            ("Never use npm run build", "npm run build"),
            ("Do not use make.", "make all"),
            ("Niemals auf main pushen", "git push origin main"),
            ("不要直接推送到 main 分支", "git push origin main"),
            ("禁止在生产数据库上运行迁移", "pnpm db:migrate --env production"),
            ("Never use npm", "yes | npm install"),
            ("Stop using docker", "docker compose up"),
            ("Please stop pushing to main", "git push origin main"),
            ("Never push to main without a review", "git push origin main"),
            ("The developers don't push to main", "git push origin main"),
            ("Never push to main", "cat > a.sh <<'EOF'\nmake\nEOF\ngit push origin main"),
        ];
        let silent: Vec<_> = table.iter().filter(|(content, command)| !forbids(content, command)).collect();
        assert_eq!(silent, [&("", ""); 0]);
    }

    #[test]
    fn a_program_that_another_one_replaced_is_forbidden_by_any_memory() {
        let table = [
            ("The team uses pnpm, not npm.", "npm install zod", true),
            ("The team uses pnpm, not npm.", "cd web && sudo npm ci", true),
            ("The team uses pnpm, not npm.", "pnpm install zod", false),
            ("The team uses pnpm, not npm.", "npx tsc", false),
            ("The shop uses uv instead of pip", "pip3 install httpx", true),
            ("The shop uses uv instead of pip", "python3 -m pip install httpx", true),
            ("Tests run with vitest rather than jest", "npx jest src/a.test.ts", true),
            ("There is no Docker on this machine", "docker compose up", true),
            ("No docker, please", "docker compose up", true),
            ("The team does not use npm", "npm test", true),
            ("The project doesn't use docker", "docker compose up", true),
            ("The tests do not use docker", "docker compose up", false),
            ("The tests don't use docker", "docker compose up", false),
            ("The deploy script does not call git", "git status", false),
            ("There is no git repository here", "git status", false),
            ("There is no npm package for it", "npm install zod", false),
            ("Es gibt kein npm Paket dafür", "npm install zod", false),
            ("No npm commands, please", "npm install zod", true),
            ("Stop docker before the upgrade", "docker compose up", false),
            ("Please stop using docker", "docker compose up", true),
            ("Do not stop using docker", "docker compose up", false),
            ("项目用 pnpm，不用 npm。", "npm install zod", true),
            ("Use pnpm add, not npm install", "npm install zod", true),
            ("Use pnpm add, not npm install", "npm test", false),
            ("There is no time for that.", "time cargo test", false),
            ("The release is not just a tag", "just release", false),
            ("git push does not run the tests", "npm test", false),
            ("Ana pushed to main, which was not planned", "git push origin main", false),
        ];
        for (content, command, expected) in table {
            assert_eq!(CommandWords::of(command).is_forbidden_by(content, false), expected, "{content} | {command}");
        }
    }

    #[test]
    fn conventions_are_silent_before_ordinary_commands() {
        let conventions = [
            "Never push to main, always open a pull request",
            "Do not use `cargo run` in CI",
            "Never run the migrations against the production database",
            "The team uses pnpm, not npm.",
            "Do not commit generated files in src/gen.",
            "Never test against the live payment provider",
            "Do not make changes to the public API without a review",
            "No emojis in commit messages",
            "git commit does not run the tests, so they are run by hand",
            "Never delete the database or its backups",
            "We do not build on Fridays; releases go out on Tuesdays, not later",
            "Never force push, and do not rebase shared branches",
            "Do not install anything with Homebrew on the build machine",
            "Never commit without running the tests",
            "Never run git commit before the tests pass",
            "Never merge if CI is red",
            "If CI is red, never merge",
            "Do not rebase, unless the branch is yours",
            "Committing is forbidden while the build is red",
            "Stop docker before the upgrade",
            "The tests do not use docker",
            "There is no git repository here",
        ];
        let commands = [
            "git status",
            "git push origin feature/main-page",
            "git push -u origin fix-login",
            "git commit -m 'Push to main later, not now'",
            "git checkout main && git pull origin main",
            "git merge main",
            "git rebase main",
            "git log main..HEAD --oneline",
            "git reset --hard HEAD~1",
            "git branch -d old",
            "pnpm install",
            "pnpm test",
            "pnpm db:migrate --env staging",
            "pnpm db:migrate",
            "pnpm build && pnpm lint",
            "cargo build --release",
            "cargo test -p shop",
            "cargo run",
            "make release",
            "rm -rf build",
            "rg 'npm install' docs",
            "echo 'never push to main'",
            "cat .env.production",
            "docker compose up -d",
            "docker build -t shop .",
            "kubectl get pods -n production",
            "python3 scripts/load.py --all",
            "curl https://api.example.com/main",
            "psql -h localhost shop -c 'select 1'",
            "npx tsc --noEmit",
            "cat > notes.md <<'EOF'\nnpm install\ngit push origin main\nEOF",
            "",
        ];
        let mut noisy = Vec::new();
        for command in commands {
            let words = CommandWords::of(command);
            noisy.extend(conventions.iter().filter(|one| words.is_forbidden_by(one, true)).map(|one| (command, *one)));
        }
        assert_eq!(noisy, []);
    }

    #[test]
    fn only_the_first_calls_of_a_command_line_are_compared() {
        let words = CommandWords::of(&"git status\n".repeat(1_000));
        assert_eq!(words.calls.len(), MAX_CALLS);
        let body = "git push origin main\n".repeat(1_000);
        assert_eq!(CommandWords::of(&format!("cat > a <<EOF\n{body}EOF")).calls.len(), 1);
    }
}
