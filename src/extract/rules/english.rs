//! English: vetoes, frames, and the turn to the third person. The cues are in their own table.

use std::sync::LazyLock;

use regex::Regex;

use super::date;
use super::english_cues::CUES;
use super::language::{Language, Phrases};

pub(super) const ENGLISH: Language = Language {
    vetoes: &[
        r"\?",
        r"^(?:do|does|did|is|are|was|can|could|would|should|will|shall|has|have|what|why|how|when did|where|who|which)\s+(?:i|we|you|it|they|he|she|there|the|this|that)\b",
        // Supposed.
        r"\b(?:suppose|imagine|what if|pretend|hypothetical(?:ly)?|let's say|assum(?:e|ing)|would have|could have|should have|i wish|as if|in theory|for the sake of argument|wouldn't|if only)\b",
        // Not sure.
        r"\b(?:maybe|perhaps|might|not (?:really |quite |entirely |so )?sure|unsure|i think|i guess|i suppose|i believe|i bet|probably|possibly|i wonder|not certain|could be|may be|considering|thinking (?:of|about)|leaning|tempted|debating|undecided|supposedly|allegedly|apparently|i feel like|i'd guess|presumably|kinda|sorta|hopefully|hoping|planning (?:to|on)|plan to|would be|used to|someday|one day|not yet|haven't decided|on the fence|it depends|eventually)\b",
        r"\b(?-i:may)\b",
        // In jest.
        r"\b(?:lol|lmao|rofl|haha\w*|hehe\w*|jk|j/k|just kidding|kidding|joking|yeah right|sarcasm|obviously not|totally not|said no one ever|oh sure|oh great|ha ha)\b|(?:^|\s)/s\b|[😂🤣😜🙃😏😉😝🤪]|;-?\)",
        // Said by others, or of others.
        r"\b(?:he|she|they|someone|somebody|people|the (?:docs?|article|manual|readme|guide|blog|book)|(?:my|our|his|her|their|the) \w+|(?-i:[A-Z]\w+)) (?:just |always |once )?(?:said|says?|told|wrote|writes|claims|claimed|mentioned|thinks|thought|insists|suggested|suggests|recommends|recommended|asked|asks|argues)\b|\baccording to\b|\bquote\b",
        // Asked for, of a text that is not about the speaker.
        r"^(?:please |can you |could you )?(?:translate|summari[sz]e|rewrite|rephrase|proofread|paraphrase|correct|draft|compose|write|generate|tell me|explain|describe|show me|give me|help me|say)\b",
        r"\b(?:role-?play|stay in character|in character|once upon a time|in this story|the protagonist|in the (?:story|novel|movie|film|game|book|poem|song|scene))\b",
        // For the moment.
        r"\b(?:for now|right now|at the moment|this time|just this once|for this (?:one|task|session|pr|file|commit|change|test|ticket|issue|bug|question|example|exercise|function|script)|temporar(?:y|ily)|in the meantime|until|tonight|this morning|this afternoon|this evening|just now|for today|in this (?:example|case|session|file|test|snippet))\b",
        // Secrets, and orders to the rules themselves.
        r"\[redacted:|\bremember\b.*\b(?:password|passphrase|passcode|api[ _-]?key|secret|token|credential|private key|pin)s?\b",
        r"\b(?:password|passphrase|passcode|api[ _-]?key|secret(?: key)?|access (?:key|token)|auth token|token|credential|private key|ssh key|pin(?: code)?)s?\b\s*(?:is|are|was|=|:|for)",
        r"\b(?:my|our|the|admin|root|login) (?:\w+ )?(?:password|passphrase|passcode|api[ _-]?key|credential|private key)s?\b",
        r"\bignore (?:all |any |the |your )*(?:previous|prior|above|earlier)?\s*(?:instructions|rules)|system prompt|jailbreak|\bas an ai\b|\bmemor(?:y|ies) (?:system|store|pipeline)",
    ],
    conditions: &[r"\b(?:if|unless|whether|in case|would|could|should)\b"],
    lead_in: r"(?:(?:ok(?:ay)?|alright|all right|so|also|and|but|well|btw|by the way|hi|hey|hello|yes|yeah|yep|no|nope|sure|right|thanks|thank you|great|nice|cool|oh|ah|hmm|actually|anyway|anyways|basically|honestly|personally|in general|generally|in fact|just so you know|just fyi|as (?:i|you) (?:said|mentioned|know)|one more thing|another thing|to be clear|to clarify|for context|some context|context|background|quick note|update|correction|p\.?s\.?|plus|additionally|first|second|third|finally|as for me|for me|good news|great news|first of all|heads up|speaking of which|after (?:some|much|a lot of) (?:discussion|thought|debate))(?:[\s,.:!;–—-]+|$))+",
    clause_break: r"(?:;|,|\s[–—-]{1,2}\s|,?\s(?:and|but|so|because|which is why))\s+(?:and\s+|but\s+|so\s+)?(?P<next>(?:i|i'm|i've|we|we've|we're|my|our)\s)",
    cues: CUES,
    value_end: r",?\s+(?:because|since|as (?:it|they|that|i|we|the)\b|so that|so (?:i|we|it)\b|which|although|though|even though|due to|thanks to|after|when|whenever|while|where|but|except|given|and (?:i|we|it|that|my|our|am|have|had|got|just|then)\b)\b|[,;:]\s|\s[–—-]{1,2}\s|\s\(|[.!…]+\s*$",
    empty_value: r"(?:the (?:idea|way|fact|look|thought|sound|first|second|third|latter|former|other|last|new|old|same|one)|(?:it|this|that|these|those|them|you|your|how|what|when|where|why|who|him|her|his|their|its|one|both|either|neither|all|everything|something|anything|nothing|someone|everyone|here|there|option|seeing|hearing|being able|more|not|to (?:see|hear|think|say|believe|be|know|go with|point|thank|do (?:it|that|this))|your|another|a lot|too|so|very|really|option \w+|a bit|such|any|some|much|most|quite|at|on|in|of|with|from|for|to)\b|\W*$)",
    own_ground: r"^\s(?:project|repo|repository|codebase|app|application|service|api|package|library|workspace|monorepo|team|company)\b",
    pointing: r"\b(?:it|its|it's|this|that one|that's|these|those|them|they|they're|he|she|him|his|hers?|you|your|yours|you're|you've|here|there|the same|doing so|do so|above|below|following|such|the (?:former|latter|other|first|second) (?:one|option|approach|way)?)\b",
    about_project: r"`|\b(?:code|codebase|commit\w*|branch\w*|pull request|prs?|merg\w+|deploy\w*|test\w*|build\w*|releas\w+|migrat\w+|repo\w*|lint\w*|push\w*|changelog|endpoint|schema|api|ci|version\w*|module|function|class|script|docker\w*|config\w*|database|production|staging|package|dependenc\w+|ticket|sprint|type (?:check|hint|annotation)s?|imports?|docs?|docstrings?|rebas\w+|squash\w*|force-push)\b",
    parts: &[
        (r"\b(?:staging)\b", "staging"),
        (r"\b(?:dev|development|locally|local)\b", "development"),
        (r"\b(?:tests|testing|test (?:database|environment|suite))\b", "test"),
        (r"\b(?:frontend|front-end|front end|web app|website|client)\b", "frontend"),
        (r"\b(?:mobile|ios|android)\b", "mobile"),
        (r"\b(?:analytics|reporting|data warehouse)\b", "analytics"),
        (r"\b(?:docs|documentation)\b", "docs"),
        (r"\b(?:scripts?|tooling|cli)\b", "tooling"),
        (r"\b(?:worker|cron|jobs?|batch)\b", "jobs"),
        (r"\b(?:admin|dashboard|internal)\b", "admin"),
    ],
    problem: r"\b(?:fails?|failed|failing|crash(?:es|ed|ing)?|breaks|broken|hangs?|times? out|timing out|timed out|(?:keeps?|kept) \w+ing|doesn't (?:work|build|compile|start|load|run|connect|render|update)|does not (?:work|build|compile|start)|isn't (?:working|loading|starting)|is not working|won't (?:start|build|compile|load|run|connect|open)|can't (?:connect|build|compile|install|start|log in|open|access)|cannot \w+|throws?|panics?|segfaults?|error(?:s|ing)?|exception|returns? (?:a )?(?:4\d\d|5\d\d|null|nothing)|(?:gets?|getting|got) (?:a |an |the )?(?:\w+ )?(?:error|4\d\d|5\d\d|exception|warning))\b",
    fixed: r"^(?:(?P<do>[^,.;]{3,120}?) (?:fixed|solved|resolved) (?:it|that|this|the (?:issue|problem|bug|error|crash|build))|(?:that|this|it|your (?:fix|change|suggestion)) (?:has |'s |totally |finally |really |actually )?(?:fixed|solved|resolved|worked|did the trick|does the trick|did it|helped)\b|(?:it|that|this|everything|the \w+(?: \w+)?) (?:is )?(?:works?|working|passes|builds|compiles|starts|runs) (?:fine |great |perfectly |correctly |again )*(?:now|again|after (?P<after>.{3,100}))|(?:works|working) (?:now|again|great|perfectly|like a charm|fine)|(?:the )?(?:fix|solution|root cause|cause|culprit|problem|issue) (?:was|turned out to be|ended up being)(?: that)? (?P<cause>.{4,200})|(?:turns out|turned out)(?: that)?,? (?P<turns>.{6,200})|(?:i|we) (?:fixed|solved|resolved) (?:it|that|this|the \w+) by (?P<by>.{4,200})|(?:all )?(?:fixed|solved|resolved)(?: now)?[.!]*$|(?:all )?tests (?:are )?(?:pass|passing|green)(?: now)?[.!]*$|it was (?P<was>(?:the|missing|because)\b.{4,200}))",
    failed: r"(?:i (?:already )?(?:tried|tested) (?P<do>.{4,150}?)(?:,? (?:but|and|yet) (?:it|that|this) (?:did(?:n't| not)|still (?:does|did)n't|doesn't|does not) (?:work|help|fix|solve|change|make)|,? (?:but|and) (?:it |that |this )?(?:still (?:fails|failed|crashes|broke)|no luck|to no avail|failed|made (?:it|things) worse))|(?P<what>(?-i:[A-Z])[a-z]+ing [^,.;]{3,100}?) (?:did(?:n't| not)) (?:work|help|fix (?:it|that|the \w+)|solve (?:it|that|the \w+))\b)",
    proposal: r"^(?:so |ok(?:ay)?,? |then |great[,.] )?(?:shall|should|do you want (?:me|us) to|would you like (?:me|us) to|do we want to|want me to)\s*(?:we|i)? ?(?:then |just |also )?(?P<verb>use|go with|switch to|move to|migrate to|adopt|pick|choose|standardi[sz]e on|stick with|deploy to|deploy on|host it on|host on|keep using) (?P<v>[^?]{2,150})\?$",
    yes: r"(?:(?:yes|yep|yeah|yup|sure|ok|okay|absolutely|definitely|agreed|correct|exactly|please do|go ahead|sounds good|do it|do that|let's do (?:that|it)|perfect|great|please|go for it|that works|works for me)[\s,.!]*){1,4}$",
    dates: date::english,
    third_person,
    phrases: Phrases {
        user: "The user",
        said: "{who} said: \"{x}\"",
        standing: "{who}'s standing instruction: \"{x}\"",
        wish: "{who} wants {x} to be used",
        decided: "{who} decided to {x}",
        agreed: "The team decided to {x} (proposed by the assistant, confirmed by {who})",
        solved: "Problem: \"{problem}\" Solved by: {x}",
        unwanted: "{who} does not want {x} to be used",
        over: " rather than ",
        called: "{who} wants to be called {x}",
        tried: "{who} tried {x}, which did not work",
        stop: ".",
    },
};

/// Present-tense verbs that follow "I" or "we" in statements worth keeping.
const VERBS: &[&str] = &[
    "accept",
    "add",
    "agree",
    "allow",
    "answer",
    "ask",
    "avoid",
    "believe",
    "build",
    "call",
    "care",
    "check",
    "code",
    "come",
    "commit",
    "cook",
    "cover",
    "deploy",
    "design",
    "develop",
    "dislike",
    "do",
    "document",
    "drink",
    "drive",
    "eat",
    "enforce",
    "enjoy",
    "expect",
    "feel",
    "find",
    "follow",
    "freeze",
    "get",
    "go",
    "hate",
    "have",
    "host",
    "keep",
    "know",
    "lead",
    "learn",
    "like",
    "live",
    "loathe",
    "look",
    "love",
    "maintain",
    "make",
    "manage",
    "mean",
    "measure",
    "merge",
    "name",
    "need",
    "own",
    "pin",
    "plan",
    "play",
    "practice",
    "prefer",
    "program",
    "publish",
    "push",
    "read",
    "rebase",
    "rely",
    "release",
    "require",
    "review",
    "run",
    "sell",
    "ship",
    "sleep",
    "speak",
    "spend",
    "squash",
    "start",
    "stay",
    "stick",
    "stop",
    "store",
    "study",
    "support",
    "swim",
    "tag",
    "take",
    "target",
    "teach",
    "tend",
    "test",
    "think",
    "track",
    "train",
    "travel",
    "try",
    "type",
    "understand",
    "use",
    "value",
    "version",
    "volunteer",
    "walk",
    "want",
    "wear",
    "work",
    "write",
];
/// Verbs that after "and" can hardly be anything else.
const JOINED_VERBS: &[&str] = &["work", "live", "prefer", "use", "speak", "have", "hate", "run", "deploy", "write"];
/// Past forms that do not end in "ed", and words that stay as they are in the third person.
const UNCHANGED: &[&str] = &[
    "ate",
    "became",
    "began",
    "bought",
    "broke",
    "brought",
    "built",
    "came",
    "can",
    "can't",
    "cannot",
    "chose",
    "could",
    "couldn't",
    "did",
    "didn't",
    "found",
    "gave",
    "got",
    "grew",
    "had",
    "hadn't",
    "joined",
    "kept",
    "knew",
    "learnt",
    "led",
    "left",
    "made",
    "met",
    "must",
    "mustn't",
    "ran",
    "sold",
    "spent",
    "spoke",
    "taught",
    "took",
    "was",
    "wasn't",
    "went",
    "will",
    "won't",
    "would",
    "wrote",
    "should",
    "shouldn't",
    "set",
    "put",
    "quit",
    "cut",
    "agreed",
];
const ADVERBS: &[&str] = &[
    "absolutely",
    "all",
    "already",
    "also",
    "always",
    "both",
    "currently",
    "definitely",
    "even",
    "finally",
    "generally",
    "just",
    "mainly",
    "mostly",
    "much",
    "never",
    "no",
    "normally",
    "now",
    "often",
    "only",
    "personally",
    "primarily",
    "rarely",
    "really",
    "recently",
    "simply",
    "still",
    "strongly",
    "strictly",
    "typically",
    "usually",
    "longer",
    "actually",
    "officially",
    "exclusively",
    "tend",
    "today",
    "then",
    "kind",
    "together",
];

static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"`[^`]*`|"[^"]*"|“[^”]*”|[A-Za-z][A-Za-z'’-]*|[^A-Za-z`"“]+|."#).expect("the pattern is a constant")
});

/// Turns "I" and "we" clauses into ones about the user, or `speaker`, and the team.
fn third_person(clause: &str, speaker: Option<&str>) -> Option<String> {
    let who = speaker.map_or_else(|| "the user".to_owned(), str::to_owned);
    let mut out = String::with_capacity(clause.len() + 16);
    // Whether the next word is a verb of the person just named.
    let mut verb = false;
    // Whether a present-tense verb was turned, so that one after "and" is turned too.
    let mut turned = false;
    let mut after_and = false;
    let words = WORDS.find_iter(clause).map(|found| found.as_str());
    for word in words {
        if !word.starts_with(|c: char| c.is_ascii_alphabetic()) {
            out.push_str(word);
            turned &= !word.contains([',', ';', ':']) || word.trim() == ",";
            continue;
        }
        let plain = word.replace('’', "'");
        let lower = plain.to_lowercase();
        let joined = std::mem::take(&mut after_and);
        if let Some(subject) = subject(&plain, &lower, &who) {
            out.push_str(&subject.0?);
            verb = subject.1;
            turned = true;
        } else if verb && !ADVERBS.contains(&lower.as_str()) {
            out.push_str(&third_person_verb(&lower, &plain)?);
            verb = false;
        } else if joined && turned && JOINED_VERBS.contains(&plain.as_str()) {
            out.push_str(&third_person_verb(&lower, &plain)?);
        } else {
            after_and = lower == "and" || lower == "but";
            out.push_str(word);
        }
    }
    (!verb).then(|| tidy(&out))
}

/// Returns what stands for a pronoun, and whether a verb follows; the text is `None` where nothing safe does.
fn subject(word: &str, lower: &str, who: &str) -> Option<(Option<String>, bool)> {
    let text = |text: String| Some((Some(text), false));
    let named = |verb| Some((Some(who.to_owned()), verb));
    match (word, lower) {
        ("I" | "i", _) => named(true),
        ("I'm" | "i'm" | "Im" | "im", _) => text(format!("{who} is")),
        ("I've" | "i've" | "Ive" | "ive", _) => text(format!("{who} has")),
        (_, "i'll") => text(format!("{who} will")),
        (_, "we") => Some((Some("the team".to_owned()), true)),
        (_, "we're") => text("the team is".to_owned()),
        (_, "we've") => text("the team has".to_owned()),
        (_, "we'll") => text("the team will".to_owned()),
        (_, "my") => text(format!("{who}'s")),
        (_, "me") => text(who.to_owned()),
        (_, "us") if word != "US" => text("the team".to_owned()),
        (_, "our") => text("the project's".to_owned()),
        (
            _,
            "i'd" | "we'd" | "mine" | "myself" | "ours" | "ourselves" | "let's" | "you" | "your" | "you're" | "yours",
        ) => Some((None, false)),
        _ => None,
    }
}

fn third_person_verb(lower: &str, word: &str) -> Option<String> {
    match lower {
        "am" | "are" => Some("is".to_owned()),
        "were" => Some("was".to_owned()),
        "have" => Some("has".to_owned()),
        "don't" => Some("does not".to_owned()),
        "haven't" => Some("has not".to_owned()),
        "aren't" => Some("is not".to_owned()),
        "weren't" => Some("was not".to_owned()),
        _ if UNCHANGED.contains(&lower) => Some(word.to_owned()),
        _ if VERBS.contains(&lower) => Some(conjugate(lower)),
        _ if lower.ends_with("ed") && lower.len() > 3 => Some(word.to_owned()),
        _ => lower.strip_prefix("squash-").or_else(|| lower.strip_prefix("force-")).map(|_| format!("{word}s")),
    }
}

fn conjugate(verb: &str) -> String {
    if verb.ends_with(['s', 'x', 'z', 'o']) || verb.ends_with("sh") || verb.ends_with("ch") {
        return format!("{verb}es");
    }
    match verb.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        Some(_) | None => format!("{verb}s"),
    }
}

fn tidy(text: &str) -> String {
    text.replace("this project", "the project")
        .replace("This project", "The project")
        .replace("this repo", "the repo")
        .replace("This repo", "The repo")
        .replace("the project's team", "the team")
        .replace("The project's team", "The team")
        .replace("the project's project", "the project")
        .replace("the project's repo", "the repo")
        .replace("the project's codebase", "the codebase")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_turned_to_the_third_person() {
        for (clause, expected) in [
            ("I prefer tabs", "the user prefers tabs"),
            ("I'm vegetarian", "the user is vegetarian"),
            ("I really don't like mocks", "the user really does not like mocks"),
            ("I live in Berlin and work at Siemens", "the user lives in Berlin and works at Siemens"),
            ("my wife and I moved to Lisbon", "the user's wife and the user moved to Lisbon"),
            ("we deploy our API with `my script`", "the team deploys the project's API with `my script`"),
            ("We're on Postgres", "the team is on Postgres"),
            ("I rely on tries", "the user relies on tries"),
            ("we always squash-merge", "the team always squash-merges"),
        ] {
            assert_eq!(third_person(clause, None).as_deref(), Some(expected));
        }
        assert_eq!(third_person("I love my dog", Some("Ana")).as_deref(), Some("Ana loves Ana's dog"));
    }

    #[test]
    fn what_cannot_be_turned_safely_is_not() {
        for clause in ["I'd go there", "I flurb daily", "that book is mine", "I like your idea"] {
            assert_eq!(third_person(clause, None), None, "{clause}");
        }
    }
}
