//! Standing instructions: what is always or never to be done.

use std::sync::LazyLock;

use regex::Regex;

use super::build::{Finding, claim};
use super::language::{self, Compiled};
use super::product;
use super::read::{Hit, Voice};
use super::words::{capitalised, fill, title, who, words};
use crate::memory::{Audience, MemoryType, Procedure, Structured};

/// Returns the instruction that `hit` gives for good, or none where it is no order or leans on what was said before.
pub(super) fn standing(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let language = hit.language;
    let done = hit.found.name("do")?;
    let clause = without_chatter(hit.clause, done.start());
    let step = clause.get(done.start()..done.end().min(clause.len()))?.trim();
    let verb = hit.found.name("verb").map_or("", |verb| verb.as_str());
    let about_project = language.about_project.is_match(hit.clause) || !product::named(hit.clause).is_empty();
    // "When a job fails twice, send it to …" says itself what "it" is.
    let case = hit.found.name("when").map_or("", |when| when.as_str()).to_lowercase();
    let carried = [" a ", " an ", " any "].iter().any(|article| case.contains(article)) && step.contains(" it ");
    let ordered = match (verb, is_rule(step)) {
        ("", true) => true,
        ("", false) => is_order(step),
        (verb, _) => ORDERS.contains(&verb.to_lowercase().as_str()) && !step.to_lowercase().contains("set to"),
    };
    if !ordered || (voice.speaker.is_some() && !about_project) || (!carried && points_away(language, step)) {
        return None;
    }
    let phrases = &language.language.phrases;
    let order = without_courtesy(clause);
    let declared = step.to_lowercase().starts_with("we ");
    let content = if declared {
        words(language, clause, voice)
    } else {
        fill(phrases.standing, &[("{who}", &who(language, voice)), ("{x}", &order.replace('"', "'"))])
    };
    let away = hit.found.name("when").is_some_and(|when| points_away(language, when.as_str()));
    if away {
        return None;
    }
    let when = hit.found.name("when").map(|when| when.as_str().trim().to_owned());
    let workflow = when.is_some();
    let mut claim =
        claim(MemoryType::Procedural, if workflow { "workflow" } else { "convention" }, content, language, voice);
    claim.title = title(&order, language, voice);
    claim.importance = 0.8;
    claim.confidence = hit.confidence;
    claim.structured = Some(Structured::Procedure(Procedure {
        name: claim.title.clone(),
        description: order.clone(),
        steps: vec![capitalised(step)],
        triggers: when.into_iter().collect(),
        priority: None,
    }));
    Some(Finding {
        claim,
        audience: if about_project || declared { Audience::Project } else { Audience::User },
        since: None,
    })
}

/// Returns `clause` without the "please" that begins it, with a capital.
fn without_courtesy(clause: &str) -> String {
    let polite = clause.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("please "));
    capitalised(clause[if polite { 7 } else { 0 }..].trim_start_matches('请'))
}

/// Returns `clause` without what is only said about the instruction, such as "it's much faster on my laptop".
fn without_chatter(clause: &str, from: usize) -> &str {
    static CHATTER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)(?:[,:;]|\s[-–—])\s(?:it's|it is|that's|that is|this is|he's|he is|she's|she is|they're|they are|they|because|since|as it|i|i'm|i've|",
            r"i'd|my|we|we've|we're|thanks|thank you|please[,.:]?$|ok\??$|okay|so that's|otherwise it)\b|，(?:谢谢|因为|这样|不然)",
        ))
        .expect("the pattern is a constant")
    });
    let end = CHATTER.find_iter(clause).map(|found| found.start()).find(|&at| {
        let kept = clause.get(from..at).unwrap_or("");
        kept.split(' ').count() >= 2 || kept.chars().filter(|c| !c.is_ascii()).count() >= 4
    });
    clause[..end.unwrap_or(clause.len())].trim_end()
}

/// Whether `step` says what all things of a kind must be or do, as "PRs need two approvals" does.
fn is_rule(step: &str) -> bool {
    let lower = step.to_lowercase();
    [
        " must ",
        " should ",
        " need ",
        " needs ",
        " have to ",
        " has to ",
        " may ",
        " can ",
        " goes ",
        " go ",
        " always ",
        " never ",
        " gets ",
    ]
    .iter()
    .any(|verb| lower.contains(verb))
        && !["you ", "it ", "the ", "this "].iter().any(|start| lower.starts_with(start))
}

/// Verbs that begin an order; "always happy to", "never mind" and "by default, it returns" do not.
#[rustfmt::skip]
const ORDERS: &[&str] = &[
    "accept", "add", "answer", "append", "ask", "assume", "avoid", "backup", "be", "begin", "build", "bump", "call", "check", "cite", "clean",
    "close", "commit", "confirm", "consult", "convert", "copy", "create", "declare", "define", "delete", "deploy", "describe", "do",
    "document", "double-check", "embed", "end", "ensure", "escape", "explain", "export", "feed", "fetch", "fix", "follow", "force-push",
    "format", "generate", "give", "group", "handle", "hardcode", "hard-code", "import", "include", "indent", "inform", "inline", "install",
    "keep", "label", "leave", "let", "limit", "lint", "list", "log", "make", "mark", "measure", "mention", "merge", "migrate", "mock", "modify",
    "move", "name", "notify", "omit", "open", "order", "pass", "pin", "ping", "place", "prefer", "prefix", "preserve", "print", "propose",
    "provide", "publish", "push", "put", "quote", "raise", "read", "rebase", "refer", "regenerate", "release", "remove", "rename", "reply",
    "report", "respond", "restart", "return", "reuse", "review", "rewrite", "rotate", "round", "run", "save", "send", "separate", "show",
    "sign", "skip", "sort", "speak", "specify", "split", "squash", "squash-merge", "start", "state", "stick", "stop", "store", "suggest",
    "summarize", "switch", "tag", "talk", "tell", "test", "throw", "touch", "treat", "trust", "turn", "type", "update", "upgrade", "use",
    "validate", "verify", "wait", "warn", "wrap", "write", "edit", "change", "address", "deliver", "think", "search", "look", "set", "work",
    "exceed", "default", "restore", "rely", "cover", "record", "sanitize", "seed", "compile", "correct", "attach", "benchmark", "profile", "compare", "link",
];

/// Whether `step` is put as an order.
fn is_order(step: &str) -> bool {
    const SOFT: &[&str] = &[
        "please", "always", "never", "just", "only", "also", "you", "should", "must", "need", "have", "to", "don't",
        "ever", "not", "sure",
    ];
    if !step.is_ascii() && language::of(step).is_some_and(|language| language.language.phrases.stop != ".") {
        return true;
    }
    let words = step.split(' ').map(|word| word.trim_matches([',', ':']).to_lowercase());
    let mut words = words.skip_while(|word| SOFT.contains(&word.as_str()) || word == "do" || word == "make");
    words.next().is_some_and(|word| ORDERS.contains(&word.as_str()) || word == "no")
}

/// Whether an instruction leans on words outside of it: "always do it like this".
fn points_away(language: &Compiled, step: &str) -> bool {
    let Some(found) = language.pointing(step) else { return false };
    let last = step[found.end()..].trim_matches(['.', '!', ' ']).is_empty();
    let early = step[..found.start()].split(' ').count() <= 3;
    let lower = found.as_str().to_lowercase();
    let far = ["this", "these", "those", "that's", "here", "above", "below", "following"].contains(&lower.as_str());
    let own = ["you", "your", "you're", "yours"].contains(&lower.as_str());
    !own && (early || far || (last && lower == "that"))
}
