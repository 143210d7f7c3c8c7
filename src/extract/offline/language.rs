//! The definitions of English and Chinese for the clause rules: cues, vetoes, and sentence frames.
//!
//! A cue is a pattern that is matched at the start of a clause. Its named groups capture the content of the clause: `v`
//! is the value, `over` is a less preferred value, `old` is a replaced value, and `do` and `when` are an instruction
//! and its condition.

use std::sync::LazyLock;

use jiff::civil::DateTime;
use regex::{Captures, Match, Regex, RegexSet};

use super::grammar::{alone, third_person};
use crate::text::language::{Language, detect_read};
use crate::text::pattern_set::PatternSet;
use crate::text::relative::{self, Dated};
use Act::{
    Decision, Declared, Dislike, Habit, Mention, NamedDecision, Preference, ProjectFact, Remember, SelfFact, Standing,
    Switch, Wish,
};

/// The function of a clause, which determines how it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// The speaker likes `v`, possibly more than `over`.
    Preference,
    /// The speaker dislikes `v`.
    Dislike,
    /// The speaker asks for `v` in general; recognised only if `v` is a known name.
    Wish,
    /// The speaker uses `v`; recognised only if `v` is a known name.
    Habit,
    /// The speaker decided in favour of `v`, possibly instead of `old`.
    Decision,
    /// The speaker decided in favour of `v`, in words that may also concern only the moment; recognised only if `v` is
    /// a known name.
    NamedDecision,
    /// The speaker changed from `old` to `v`.
    Switch,
    /// The project has `v`, as the value of the attribute that `what` names or that `v` belongs to.
    ProjectFact,
    /// The clause states `v` about the project in words that are clearly meant to last, even if `v` is not a known
    /// name.
    Declared,
    /// The speaker's own attribute, under this key.
    SelfFact(&'static str),
    /// A standing instruction: `do`, perhaps `when`.
    Standing,
    /// The speaker asks to remember `rest`.
    Remember,
    /// The clause mentions `rest`, which is kept only if it is meaningful on its own.
    Mention,
}

/// How a clause is recognised.
#[derive(Debug)]
pub(super) struct Cue {
    /// Pattern from the start of the clause, with the named groups that the act reads.
    pub(super) pattern: &'static str,
    /// The act that a matching clause represents.
    pub(super) act: Act,
    /// The confidence that the clause represents the act, from 0 to 1.
    pub(super) confidence: f64,
}

/// Returns a cue. `confidence` is in hundredths.
pub(super) const fn cue(act: Act, confidence: u8, pattern: &'static str) -> Cue {
    Cue { pattern, act, confidence: confidence as f64 / 100.0 }
}

/// All definitions of one language.
pub(super) struct Definition {
    /// Patterns of sentences that are never kept.
    pub(super) vetoes: &'static [&'static str],
    /// Pattern of a request to put `rest` into a file that every later session of an agent reads. An empty pattern
    /// matches nothing.
    pub(super) recorded: &'static str,
    /// Pattern of a request that is kept only if `lasting` matches it, too.
    pub(super) tasks: &'static str,
    /// Pattern of words about how the assistant should answer.
    pub(super) manner: &'static str,
    /// Pattern of words that make a request permanent.
    pub(super) lasting: &'static str,
    /// Pattern of words that make a request lasting even in the description of a task, in which "always" is about the
    /// task.
    pub(super) abiding: &'static str,
    /// Patterns that only a standing instruction may match.
    pub(super) conditions: &'static [&'static str],
    /// Words without meaning before a statement.
    pub(super) lead_in: &'static str,
    /// Pattern of the boundary between a clause and the next clause with its own subject. The group `next` is the start
    /// of the next clause.
    pub(super) clause_break: &'static str,
    /// Cues; the first one that matches is used.
    pub(super) cues: &'static [Cue],
    /// Patterns of words at which a captured value ends.
    pub(super) value_end: &'static str,
    /// Patterns of values that are not meaningful on their own.
    pub(super) empty_value: &'static str,
    /// Pattern of the subject of a fact about the project.
    pub(super) subject: &'static str,
    /// Pattern of words that may follow a word like "this" without referring to something outside the project.
    pub(super) own_ground: &'static str,
    /// Pattern of words that refer to something outside the sentence.
    pub(super) pointing: &'static str,
    /// Pattern of a clause about the work on a project.
    pub(super) about_project: &'static str,
    /// Parts of a project that have their own attributes, each with its name in a key.
    pub(super) parts: &'static [(&'static str, &'static str)],
    /// Pattern of an assistant's proposal, with the proposed action as `v`.
    pub(super) proposal: &'static str,
    /// Changes "we" and "our" of a household to "I" and "my".
    pub(super) alone: fn(&str) -> String,
    /// Pattern of a plain yes.
    pub(super) yes: &'static str,
    /// Replaces relative dates with absolute ones.
    pub(super) dates: fn(&str, Option<DateTime>) -> Dated,
    /// Changes a clause to the third person, or returns `None` if the change is not safe.
    pub(super) third_person: fn(&str, Option<&str>) -> Option<String>,
    /// The sentence frames of the language.
    pub(super) phrases: Phrases,
}

/// Sentence frames of a language, in which `{who}` and `{x}` are filled in.
pub(super) struct Phrases {
    pub(super) user: &'static str,
    pub(super) said: &'static str,
    pub(super) standing: &'static str,
    pub(super) wish: &'static str,
    pub(super) decided: &'static str,
    pub(super) agreed: &'static str,
    pub(super) unwanted: &'static str,
    pub(super) over: &'static str,
    pub(super) called: &'static str,
    pub(super) stop: &'static str,
}

/// A language with its patterns compiled.
pub(super) struct LanguageRules {
    pub(super) definition: &'static Definition,
    pub(super) vetoes: RegexSet,
    tasks: Regex,
    recorded: Option<Regex>,
    manner: Regex,
    lasting: Regex,
    abiding: Regex,
    pub(super) conditions: RegexSet,
    pub(super) lead_in: Regex,
    pub(super) clause_break: Regex,
    cues: PatternSet,
    pub(super) value_end: Regex,
    pub(super) empty_value: Regex,
    own_ground: Regex,
    pub(super) subject: Regex,
    pointing: Regex,
    pub(super) about_project: Regex,
    pub(super) parts: Vec<(Regex, &'static str)>,
    pub(super) proposal: Regex,
    pub(super) yes: Regex,
}

static ENGLISH: LazyLock<LanguageRules> = LazyLock::new(|| LanguageRules::new(&ENGLISH_DEFINITION));
static CHINESE: LazyLock<LanguageRules> = LazyLock::new(|| LanguageRules::new(&CHINESE_DEFINITION));

/// Returns the rules for the language of `sentence`, if there are clause rules for that language.
pub(super) fn of(sentence: &str) -> Option<&'static LanguageRules> {
    match detect_read(sentence, None)? {
        Language::Chinese => Some(&CHINESE),
        Language::English => Some(&ENGLISH),
        _ => None,
    }
}

impl LanguageRules {
    fn new(definition: &'static Definition) -> Self {
        let set = |patterns: &[&str]| {
            RegexSet::new(patterns.iter().map(|pattern| format!("(?i){pattern}"))).expect("the patterns are constants")
        };
        Self {
            vetoes: set(definition.vetoes),
            tasks: anywhere(definition.tasks),
            recorded: (!definition.recorded.is_empty()).then(|| anchored(definition.recorded)),
            manner: anywhere(definition.manner),
            lasting: anywhere(definition.lasting),
            abiding: anywhere(definition.abiding),
            conditions: set(definition.conditions),
            lead_in: anchored(definition.lead_in),
            clause_break: anywhere(definition.clause_break),
            cues: PatternSet::new(definition.cues.iter().map(|cue| at_start(cue.pattern))),
            value_end: anywhere(definition.value_end),
            empty_value: anchored(definition.empty_value),
            own_ground: anywhere(definition.own_ground),
            subject: anywhere(definition.subject),
            pointing: anywhere(definition.pointing),
            about_project: anywhere(definition.about_project),
            parts: definition.parts.iter().map(|&(pattern, name)| (anywhere(pattern), name)).collect(),
            proposal: anywhere(definition.proposal),
            yes: anchored(definition.yes),
            definition,
        }
    }

    /// Returns the first word of `text` that refers to something outside it. "This project" is not such a reference.
    pub(super) fn pointing<'t>(&self, text: &'t str) -> Option<Match<'t>> {
        self.pointing.find_iter(text).find(|found| !self.own_ground.is_match(&text[found.end()..]))
    }

    /// Returns `clause` as a statement of its speaker alone: "we both like" becomes "I like".
    pub(super) fn alone(&self, clause: &str) -> String {
        (self.definition.alone)(clause)
    }

    /// Returns what `text` asks to put into a file that every later session reads.
    pub(super) fn recorded<'t>(&self, text: &'t str) -> Option<&'t str> {
        let found = self.recorded.as_ref()?.captures(text)?;
        found.name("rest").map(|rest| rest.as_str())
    }

    /// Returns the cues that `text` begins with, in the order in which they are tried.
    pub(super) fn cues<'t>(&'static self, text: &'t str) -> impl Iterator<Item = (&'static Cue, Captures<'t>)> {
        let candidates = self.cues.candidates(text);
        candidates.filter_map(move |(place, pattern)| Some((&self.definition.cues[place], pattern.captures(text)?)))
    }

    /// Whether `text` is about how the assistant should answer, which is the same in every project.
    pub(super) fn is_manner(&self, text: &str) -> bool {
        self.manner.is_match(text)
    }

    /// Whether `text` says explicitly that it applies from now on, even in the description of a task.
    pub(super) fn is_abiding(&self, text: &str) -> bool {
        self.abiding.is_match(text)
    }

    /// Whether `text` is not a statement of the speaker.
    pub(super) fn forbids(&self, text: &str) -> bool {
        self.vetoes.is_match(text) || (self.tasks.is_match(text) && !self.lasting.is_match(text))
    }

    /// Whether `text` refers to something outside it.
    pub(super) fn points(&self, text: &str) -> bool {
        self.pointing(text).is_some()
    }
}

/// Compiles `pattern` for the start of a text, ignoring case. `(?-i:…)` makes case significant.
fn anchored(pattern: &str) -> Regex {
    Regex::new(&at_start(pattern)).expect("the patterns are constants")
}

fn at_start(pattern: &str) -> String {
    format!("(?i)^(?:{pattern})")
}

fn anywhere(pattern: &str) -> Regex {
    Regex::new(&format!("(?i){pattern}")).expect("the patterns are constants")
}

const ENGLISH_DEFINITION: Definition = Definition {
    vetoes: &[
        r"\?",
        r"^(?:do|does|did|is|are|was|can|could|would|should|will|shall|has|have|what|why|how|when did|where|who|which)\s+(?:i|we|you|it|they|he|she|there|the|this|that)\b",
        // Hypothetical.
        r"\b(?:suppose|imagine|what if|pretend|hypothetical(?:ly)?|let's say|assum(?:e|ing)|would have|could have|should have|i wish|as if|in theory|for the sake of argument|wouldn't|if only)\b",
        // Uncertain.
        r"\b(?:maybe|perhaps|might|not (?:really |quite |entirely |so )?sure|unsure|i think|i guess|i suppose|i believe|i bet|probably|possibly|i wonder|not certain|could be|may be|considering|thinking (?:of|about)|leaning|tempted|debating|undecided|supposedly|allegedly|apparently|i feel like|i'd guess|presumably|kinda|sorta|hopefully|hoping|planning (?:to|on)|plan to|would be|used to|someday|one day|not yet|haven't decided|on the fence|it depends|eventually)\b",
        r"\b(?-i:may)\b",
        // Jokes.
        r"\b(?:lol|lmao|rofl|haha\w*|hehe\w*|jk|j/k|just kidding|kidding|joking|yeah right|sarcasm|obviously not|totally not|said no one ever|oh sure|oh great|ha ha)\b|(?:^|\s)/s\b|[😂🤣😜🙃😏😉😝🤪]|;-?\)",
        r"(?-i:\b(?:LOVE|ADORE|HATE|SUCH)\b)|\b(?:so (?:generous|kind of them)|while we're at it|please send more|my (?:absolute )?favou?rite (?:hobby|pastime))\b|🙃",
        // Said by others, or about others.
        r"\b(?:he|she|they|someone|somebody|people|the (?:docs?|article|manual|readme|guide|blog|book)|(?:my|our|his|her|their|the) \w+|(?-i:[A-Z]\w+)) (?:just |always |once )?(?:said|says?|told|wrote|writes|claims|claimed|mentioned|thinks|thought|insists|suggested|suggests|recommends|recommended|asked|asks|argues)\b|\baccording to\b|\bquote\b",
        // Requests for work on a text that is not about the speaker.
        r"^(?:please |can you |could you )?(?:translate|summari[sz]e|rewrite|rephrase|proofread|paraphrase|draft|compose|generate|tell me|explain|describe|show me|give me|help me|say)\b",
        r"\b(?:role-?play|stay in character|in character|once upon a time|in this story|the protagonist|in the (?:story|novel|movie|film|game|book|poem|song|scene))\b",
        // Temporary.
        r"\b(?:for now|right now|at the moment|this time|just this once|for this (?:one|task|session|pr|file|commit|change|test|ticket|issue|bug|question|example|exercise|function|script)|temporar(?:y|ily)|in the meantime|until|tonight|this morning|this afternoon|this evening|just now|for today|in this (?:example|case|session|file|test|snippet))\b",
        // Secrets, and instructions to the rules themselves.
        r"\[redacted:|\bremember\b.*\b(?:password|passphrase|passcode|api[ _-]?key|secret|token|credential|private key|pin)s?\b",
        r"\b(?:password|passphrase|passcode|api[ _-]?key|secret(?: key)?|access (?:key|token)|auth token|token|credential|private key|ssh key|pin(?: code)?)s?\b\s*(?:is|are|was|=|:|for)",
        r"\b(?:my|our|the|admin|root|login) (?:\w+ )?(?:password|passphrase|passcode|api[ _-]?key|credential|private key)s?\b",
        r"\bignore (?:all |any |the |your )*(?:previous|prior|above|earlier)?\s*(?:instructions|rules)|system prompt|jailbreak|\bas an ai\b|\bmemor(?:y|ies) (?:system|store|pipeline)",
    ],
    recorded: r"(?:(?:can|could|would) you |please |now |also |let's |and )*(?:(?:update|change|edit|amend|extend) (?:the |our |my )?(?:\S*/)?@?`?(?:(?:claude|agents|gemini|conventions|memory|copilot-instructions)(?:\.local)?\.md|\.?(?:cursor|cline|windsurf)rules|(?:cursor |project |your )(?:rules|memory))`?(?: file)?(?: to (?:say|state|mention|note|include|reflect))? (?:that|with the fact that)\s|(?:add|put|write|note|record|save|document) (?:it |this |that |down )*(?:in|into|to) (?:the |our |my )?(?:\S*/)?@?`?(?:(?:claude|agents|gemini|conventions|memory|copilot-instructions)(?:\.local)?\.md|\.?(?:cursor|cline|windsurf)rules|(?:cursor |project |your )(?:rules|memory))`?(?: file)?(?:,? that|:)\s|(?:create|add|make|write) (?:a|another|the) (?:new )?(?:cursor |project |workspace |coding )?(?:rule|convention|guideline) (?:(?:that|which) (?:specif(?:y|ies)|says?|states?)(?: that)?|saying(?: that)?|stating(?: that)?|that|:)\s)(?P<rest>.{8,}?)\??$",
    tasks: r"^(?:please |can you |could you )?(?:correct|write)\b",
    manner: r"\b(?:answers?|repl(?:y|ies)|respon(?:d|ses?)|speak|talk|explain|explanations?)\b|\bcall me\b",
    lasting: r"\b(?:from now on|always|never|going forward|(?:before|after|in|for) (?:each|every|all))\b",
    abiding: r"\b(?:from now on|going forward|in (?:the )?future|from here on)\b",
    conditions: &[r"\b(?:if|unless|whether|in case|would|could|should)\b"],
    lead_in: r"(?:(?:ok(?:ay)?|perfect|awesome|excellent|amazing|brilliant|wonderful|yay|alright|all right|so|also|and|but|well|btw|by the way|hi|hey|hello|yes|yeah|yep|no|nope|sure|right|thanks|thank you|great|nice|cool|oh|ah|hmm|actually|anyway|anyways|basically|honestly|personally|in general|generally|in fact|just so you know|just fyi|as (?:i|you) (?:said|mentioned|know)|one more thing|another thing|to be clear|to clarify|for context|some context|context|background|quick note|update|correction|p\.?s\.?|plus|additionally|first(?:ly)?|second(?:ly)?|third(?:ly)?|finally|lastly|furthermore|moreover|in addition|similarly|likewise|specifically|now|remember|as for me|for me|good news|great news|first of all|heads up|speaking of which|in real life|in this (?:repo|repository|project|codebase)|after (?:some|much|a lot of) (?:discussion|thought|debate))(?:[\s,.:!;–—-]+|$))+",
    clause_break: r"(?:;|,|:|\s[–—-]{1,2}\s|,?\s(?:and|but|so|because|which is why))\s+(?:and\s+|but\s+|so\s+)?(?P<next>(?:(?:i|i'm|i've|we|we've|we're|my|our)|(?-i:\p{Lu})[\w-]+'s|(?-i:\p{Lu})\w+ (?:owns|leads|maintains)|keep (?:your|the)|run \S+ [^,;.]{3,60} (?:before|after) (?:each|every)|(?:since [\w ,]{4,20} )?(?-i:\p{Lu})[\w-]+ is (?:deployed|hosted)|[a-z]+ (?:reviews|questions|requests|tickets) go to)\s)|,?\s(?:and|but|so)\s+(?P<then>(?:please )?(?:always|never)\s)",
    cues: ENGLISH_CUES,
    value_end: r",?\s+(?:so not|because|since|as (?:it|they|that|i|we|the)\b|so that|so (?:i|we|it)\b|which|although|though|even though|due to|thanks to|after|when|whenever|while|where|but|except|given|and (?:i|we|it|he|she|they|that|my|our|am|have|had|got|just|then)\b)\b|[,;:]\s|\s[–—-]{1,2}\s|\s\(|[.!…]+\s*$",
    empty_value: r"(?:the (?:idea|way|fact|look|thought|sound|first|second|third|latter|former|other|last|new|old|same|one)|(?:it|this|that|these|those|them|you|your|how|what|when|where|why|who|him|her|his|their|its|one|both|either|neither|all|everything|something|anything|nothing|someone|everyone|here|there|option|seeing|hearing|being able|more|not|to (?:see|hear|think|say|believe|be|know|go with|point|thank|do (?:it|that|this))|your|another|a lot|a ton|tons|a bunch|loads|too|so|very|really|option \w+|a bit|such|any|some|much|most|quite|at|on|in|of|with|from|for|to)\b|\W*$)",
    subject: r"^(?:we|i)$|^our (?:\w+ )?(?:tests|stack|team|company|docs|scripts|jobs)$|\b(?:project|repo|repository|codebase|code|app|application|api|apis|backend|back-end|frontend|front-end|service|services|server|servers|website|site|stack|production|prod|staging|ci|pipeline|pipelines|worker|workers|cli|library|package|monorepo|platform|system|infrastructure|infra|dashboard|bot|extension|plugin|gateway|crate|binary|environment|deployment|microservices?)$",
    own_ground: r"^\s(?:project|repo|repository|codebase|app|application|service|api|package|library|workspace|monorepo|team|company)\b",
    pointing: r"\b(?:it|its|it's|this|that one|that's|these|those|them|they|they're|he|she|him|his|hers?|you|your|yours|you're|you've|here|there|the same|doing so|do so|above|below|following|such|the (?:former|latter|other|first|second) (?:one|option|approach|way)?)\b",
    about_project: r"`|\b(?:code|codebase|commit\w*|branch\w*|pull request|prs?|merg\w+|deploy\w*|test\w*|build\w*|releas\w+|migrat\w+|repo\w*|lint\w*|push\w*|changelog|endpoint|schema|api|ci|version\w*|module|function|class|script|docker\w*|config\w*|database|production|staging|package|dependenc\w+|ticket|sprint|type (?:check|hint|annotation)s?|services?|launch\w*|feature\w*|rollback\w*|sso|sign-on|incidents?|on-call|support|android|ios|app|page|imports?|docs?|docstrings?|(?:method|variable|argument|parameter|attribute|field|identifier|column|table) names?|methods|variables|decorators?|annotations?|assert(?:ions?| statements?)|try(?:[- ]except)? (?:statements?|blocks?)|naming|rebas\w+|squash\w*|force-push)\b",
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
        (r"(?:^|\s)(?:admin|dashboard|internal)\b", "admin"),
    ],
    proposal: r"^(?:so |ok(?:ay)?,? |then |great[,.] )?(?:shall|should|do you want (?:me|us) to|would you like (?:me|us) to|do we want to|want me to)\s*(?:we|i)? ?(?:then |just |also )?(?P<verb>use|go with|switch (?:the |our )?(?:\w+ ){1,3}to|switch to|move to|migrate to|adopt|pick|choose|standardi[sz]e on|stick with|deploy to|deploy on|host it on|host on|keep using) (?P<v>[^?]{2,150})\?$",
    yes: r"(?:(?:yes|yep|yeah|yup|sure|ok|okay|absolutely|definitely|agreed|correct|exactly|please do|go ahead|sounds good|do it|do that|let's do (?:that|it)|perfect|great|please|go for it|that works|works for me)[\s,.!]*){1,4}$",
    dates: relative::english,
    alone,
    third_person,
    phrases: Phrases {
        user: "The user",
        said: "{who} said: \"{x}\"",
        standing: "{who}'s standing instruction: \"{x}\"",
        wish: "{who} wants {x} to be used",
        decided: "{who} decided to {x}",
        agreed: "The team decided to {x} (proposed by the assistant, confirmed by {who})",
        unwanted: "{who} does not want {x} to be used",
        over: " rather than ",
        called: "{who} wants to be called {x}",
        stop: ".",
    },
};

#[rustfmt::skip]
const ENGLISH_CUES: &[Cue] = &[
    // Requests to remember something.
    cue(Remember, 90, r"(?:please |also |and )*(?:remember|keep in mind|bear in mind|don't forget|do not forget|make a note|take note|note for (?:later|the future|future reference)|for (?:future )?reference|for the record)(?:,|:| that|, that)+\s+(?:that )?(?P<rest>.{8,})"),
    cue(Remember, 85, r"(?:please |also )*(?:remember|don't forget|do not forget) (?P<rest>(?:i|i'm|we|we're|my|our)\b.{8,})"),
    cue(Mention, 80, r"(?:please |also )*(?:note|fyi|n\.?b\.?|important|reminder|you should know|just so you know)(?:,|:| that)*\s+(?P<rest>.{8,})"),
    // Standing instructions.
    cue(Standing, 85, r"(?:from now on|going forward|moving forward|from here on(?: out)?|in (?:the )?future),?\s+(?:please\s+|(?:i|we)(?:'d| would|'ll)? (?:want|need|like|expect) you to\s+)?(?P<do>.{6,})"),
    cue(Standing, 80, r"i(?:'d| would)? (?:want|need|like|expect) you to\s+(?P<do>(?:always |please )?(?P<verb>start|begin|end|prefix|suffix|name)\s[^;]{4,80}\bnames?\b[^;]{2,80})"),
    cue(Standing, 80, r"(?:please |also )*(?P<do>(?:always )?(?P<verb>start|begin|end|prefix|suffix)\s(?:all |any |each |every |your |the |our )*(?:[\w-]+ ){1,3}(?:names?|identifiers?)(?: names?)? with\s[^;]{2,120})"),
    cue(Standing, 80, r"(?P<do>(?:all |every |our |your )*(?:[\w-]+ ){1,3}names? (?:should|must|need to|have to) (?:always )?(?:start|begin|end|be|use|include|contain)\s[^;]{2,120})"),
    cue(Standing, 80, r"(?P<when>(?:when|whenever|while) (?:you're |you are |you )?(?:naming|name|defining|declaring|creating|writing)\s[^,]{3,60}),\s+(?:please\s+|make sure (?:to |you |that you )|ensure (?:that you |you )|remember to |be sure to |i(?:'d| would)? (?:want|need|like) you to )*(?P<do>(?:always |please )?(?P<verb>start|begin|end|include|use|add|prefix|suffix|name|stick|follow|put|write)\s.{4,})"),
    cue(Standing, 75, r"(?P<when>(?:for|in|to) (?:all|each|every|any|your)(?: of)? (?:the |our |your |new |python )*(?:[\w-]+ ){0,2}(?:functions?|methods?|class(?:es)?|variables?|modules?|arguments?|attributes?|names?|files?|tests?|commits?|endpoints?)),\s+(?:please |make sure to |be sure to |remember to |you should |i(?:'d| would)? (?:want|need|like) you to )*(?P<do>(?:always |also )?(?P<verb>start|begin|end|include|use|add|prefix|suffix|name|follow|put|write|document)\s.{4,})"),
    cue(Standing, 75, r"(?:please |also )*(?:remember to|don't forget to|be sure to|make sure to|i(?:'d| would)? (?:want|need|like|expect) you to)\s(?P<do>(?:always )?(?P<verb>add|include|use|write|import|annotate|document|keep|put)\s[^;?]{2,100}?\b(?:(?:to|in|for|with) (?:all|each|every|your)(?: of)? (?:the |your |new )*(?:[\w-]+ ){0,2}?(?:functions?|methods?|class(?:es)?|variables?|modules?|scripts|code|names|tests|commits?|files)|class names|function names|method names|variable names|attribute names|argument names)\b[^;?]*)"),
    cue(Standing, 75, r"(?:please |also )*(?:i(?:'d| would)? (?:want|need|like|expect) you to |make sure to |remember to |ensure that you |ensure you )(?P<do>always\s(?P<verb>[a-z-]+)\s.{4,})"),
    cue(Standing, 75, r"as a (?:general )?rule,?\s+(?:please\s+)?(?P<do>(?P<verb>[a-z-]+)\s.{4,})"),
    cue(Standing, 85, r"(?P<when>(?:whenever|every time|each time|any time|anytime)\s[^,]{4,120}),\s+(?:please\s+|always\s+|you (?:should|must|need to)\s+|make sure (?:to|you|that you)\s+)*(?P<do>.{4,})"),
    cue(Standing, 80, r"(?P<when>(?:before|after|when)\s(?:\w+ing)\s?[^,]{0,100}),\s+(?:please\s+)?(?P<do>(?:always|never|make sure|please|run|use|check|add|update|write|ask|open|create|rebase|bump|tag|commit|format|lint|test|verify|read|do not|don't|include|keep|prefer|confirm|restart|run|regenerate)\b.{4,})"),
    cue(Standing, 80, r"(?:please\s+)?(?P<do>(?:always|never)\s+(?P<verb>[a-z'-]+)\b.{3,})"),
    cue(Standing, 80, r"(?:please\s+)?(?P<do>(?:do not|don't) (?:ever|under any circumstances)\s+.{4,})"),
    cue(Standing, 75, r"(?:please\s+)?(?P<do>(?:do not|don't) (?P<verb>[a-z]+) .{3,120}?\b(?:without|unless|directly to)\b.{3,})"),
    cue(Standing, 75, r"(?:please\s+)?(?P<do>(?:make sure|be sure|ensure)(?: to| that you| you| that)?\s+(?:\w+\s+)?(?:always|never|every|each)\b.{4,})"),
    cue(Standing, 80, r"you (?:should|must|need to|have to)\s+(?P<do>(?:always|never)\s.{4,})"),
    cue(Standing, 75, r"(?P<do>you (?:should|must) (?:not|never) (?:be )?[a-z]+ .{4,})"),
    cue(Standing, 80, r"(?P<do>we (?:should|must|need to|have to) (?:always|never)\s.{4,})"),
    cue(Standing, 75, r"(?P<do>(?P<verb>[a-z-]+)\s[^,;]{3,80}), always$"),
    cue(Wish, 75, r"(?:please\s)?(?:do not use|don't use|avoid using)\s(?P<not>[^,;]{2,40})$"),
    cue(Standing, 80, r"i (?:want|need|expect|would like|'d like) you to\s+(?P<do>(?:always|never)\s.{4,})"),
    cue(Standing, 75, r"(?P<do>(?:all|every|each|any|no) (?:new |public )?(?:commits?|prs?|pull requests?|functions?|modules?|endpoints?|migrations?|tests?|branch(?:es)?|releases?|commit messages?|files?|components?|bug ?fix(?:es)?|features?|changes?|code)\s+(?:\w+\s+){0,3}?(?:must|should|needs? to|needs?|has to|have to)\s.{4,})"),
    cue(Standing, 75, r"(?P<do>(?:commit messages|pull requests|prs|branch names|doc comments|docstrings|(?:variable|column|table|function|class|test) names|timestamps|dates)\s(?:must|should|need|have to)\s.{4,})"),
    cue(Standing, 85, r"(?P<do>(?:please )?(?:keep|use|write|answer|reply|respond|talk|speak|call|put|add|run|name|format|avoid|stop|don't|do not|ask|explain|include)\s.{4,120}?)\s(?:from now on|going forward|from here on|in (?:the )?future)$"),
    cue(Standing, 85, r"(?:(?:our|the|a|new|one) )?(?:rule|convention|policy)(?: (?:for|of|in|on) (?:this|the|our|every|all) [\w-]+)?:\s(?P<do>.{6,})"),
    cue(Standing, 80, r"(?:please\s+)?(?P<do>(?P<verb>[a-z-]+)\s[^,;]{2,80}?)\s(?P<when>(?:before|after|on|for|with|in|at the end of) (?:each|every) (?:and every )?(?:single |git )?(?:commit|push|merge|release|deploy(?:ment)?|prs?|pull request|message|reply|answer|session|task|change|meeting|migration)\b[^,;]*)"),
    cue(Standing, 75, r"(?:please\s+)?(?P<do>(?:use|write|put|keep|prefer|name|cite|answer|format|do not use|don't use)\s[^,;]{2,80}?\s(?:(?:in|for|to|on|at|with) (?:(?:all|any) (?:the |new |our |my |your )*(?:commits?|commit messages|prs|pull requests|code|modules|tests|docs|documentation|answers|replies|messages|examples|projects|repos|services|e-?mails)|(?:anything|everything) (?:you|we) (?:write|send|do|make|create))\b|everywhere$)[^,;]*)"),
    cue(Standing, 80, r"(?:please\s+)?(?P<do>(?P<verb>keep|make) (?:your (?:answer|reply|response)|(?:your |the |all |all the )?(?:answers|replies|responses|explanations|summaries|release notes|commit messages|e-?mails|messages|functions|comments)) (?:short|brief|concise|simple|small|plain|formal|informal)\b[^,;:]*)"),
    cue(Standing, 75, r"(?P<when>when(?:ever)? (?:an?|any) (?:\w+ )?(?:job|build|deploy(?:ment)?|release|migration|review|pr|pull request|incident|alert|test|pipeline|customer)\s[^,]{4,60}),\s+(?:please\s+)?(?P<do>(?P<verb>[a-z-]+)\s.{4,})"),
    cue(Standing, 80, r"(?P<when>before you (?:ever )?(?:touch|change|edit|modify|commit|push|merge|deploy|release|delete|rename|publish|send|refactor|migrate|upgrade|promote|rebase|ship)\b[^,]{0,60}),\s+(?:please\s+)?(?:always\s+)?(?P<do>(?P<verb>[a-z-]+)\s.{3,})"),
    cue(Standing, 75, r"(?P<do>(?:unit |integration |e2e |end-to-end |new |all )*tests (?:must|should|need to|have to|may) (?:never |always |not |only )?(?:hit|use|cover|live|go|mock|avoid|be (?:named|written|deterministic|isolated)|run (?:in|against|with|without|on)|have|clean up|touch|call|stay)\s.{3,})"),
    cue(Standing, 75, r"(?P<do>(?:every|each|any|all) (?:[a-z-]+ )?(?:incidents?|outages?|deploy(?:ment)?s?|ind(?:ex|exes|ices)|secrets?|services?|documents?|invoices?|reports?|tickets?|dependenc(?:y|ies)|designs?|experiments?)\s(?:must|should|needs? to|needs?|has to|have to|may only|gets?)\s.{4,})"),
    cue(Standing, 75, r"(?P<do>we (?:always|never)\s+(?P<verb>[a-z-]+)\s.{3,})"),
    // Decisions.
    cue(Switch, 90, r"(?:i|we)(?:'ve| have)?\s(?:just |recently |finally |now |already |also |all |officially |yesterday |today |on [\d-]+ )*(?:moved|switched|migrated|changed|went|transitioned|converted|ported)\s(?:over )?(?:\w+ ){0,4}?from\s(?P<old>[^,.;]{2,80}?)\s(?:over )?to\s(?P<v>.{2,})"),
    cue(Switch, 85, r"(?:i|we)(?:'ve| have)?\s(?:just |recently |finally |now |already |also |all |officially |yesterday |today )*(?:replaced|swapped(?: out)?)\s(?P<old>[^,.;]{2,80}?)\s(?:with|for|by)\s(?P<v>.{2,})"),
    cue(NamedDecision, 90, r"(?:i|we)(?:'ve| have)?\s(?:just |recently |finally |now |already |also |all |officially |yesterday |today )*(?:moved|switched|migrated|changed|upgraded|transitioned|converted|ported)\s(?:over |everything |(?:the |our |my )?(?:\w+ ){0,3}?)?(?:to|onto)\s(?P<v>.{2,})"),
    cue(Switch, 85, r"(?:i|we)(?:'re| are|'ll| will| am|'m)\s(?:now |going to be )?(?:moving|switching|migrating|move|switch|migrate)\s(?:over )?(?:\w+ ){0,4}?from\s(?P<old>[^,.;]{2,80}?)\s(?:over )?to\s(?P<v>.{2,})"),
    cue(NamedDecision, 85, r"(?:i|we)(?:'re| are|'ll| will| am|'m)\s(?:now )?(?:moving|switching|migrating|move|switch|migrate)\s(?:over |everything |(?:the |our |my )?(?:\w+ ){0,3}?)?(?:to|onto)\s(?P<v>.{2,})"),
    cue(Declared, 80, r"(?P<what>(?-i:\p{Lu})[\w-]+) is (?P<v>the team's [\w -]{3,60})$"),
    cue(Declared, 80, r"(?:from now on|going forward|from here on(?: out)?),?\s+(?P<v>we (?:only )?(?:support|use|accept|build|deploy|test|target|release|ship|publish|review|run|store|keep|write|require)\s.{4,})"),
    cue(Declared, 85, r"(?:we|i)(?:'ve| have| are|'re)? (?:no longer support|stopped supporting|dropped support for|(?:now )?(?:dropping|ending) support for|(?:now )?dropping)\s(?P<v>(?-i:\p{Lu})[^,;]{1,60})"),
    cue(Declared, 80, r"we\s(?:only )?(?:store|log|keep|name|pin|version|format|serve|save|encode|write|sort|cache|tag|publish|send|render)\s(?:with |to |in |as |by )?(?P<v>[^,;]{2,60}, (?:not|never)\s[^,;:]{2,60})"),
    cue(Declared, 80, r"(?P<what>(?-i:\p{Lu})[\w-]+(?: (?-i:\p{Lu})[\w-]+)?|staging|production) moves? (?:from (?P<old>[^,;]{2,40}) )?to (?P<v>[^,;]{2,60}? (?:on|in) \d.{2,20})$"),
    cue(NamedDecision, 85, r"i(?:'ve| have)? decided (?:on|for) (?P<v>(?-i:\p{Lu})[\w.+-]+(?: for [^,;]{3,40})?)"),
    cue(Decision, 75, r"(?:for [^,;]{3,40},? )?we\s(?:really |also |explicitly |definitely |certainly )*(?:don't|do not|dont|do) (?:want|need)(?: to)?\s(?P<v>.{8,})"),
    cue(Decision, 75, r"let's\s(?:just |always )?(?P<do>(?:use|go with|stick (?:with|to)|keep|limit|call)\s(?P<v>[^,;]{2,60}? (?:instead of|rather than|and not|over)\s[^,;]{2,60}))$"),
    cue(Decision, 90, r"(?:i|we|the team)(?:'ve| have| has)?\s(?:explicitly |deliberately |intentionally |consciously |just |recently |finally |now |already |also |all |both |ultimately |collectively |yesterday |today )*(?:decided|agreed|settled|chose|chosen|opted|resolved|voted|committed|standardi[sz]ed)\s(?:(?:on |in )(?:the week of )?[\d-]{4,10},? )?(?:that (?:we|i)(?:'ll| will)?\s|not to\s|(?:to|on|for|upon|against)\s)?(?:be\s)?(?P<v>.{3,})"),
    cue(Decision, 85, r"(?:the|our|my) (?:final )?decision (?:is|was)(?: to| that we)?:?\s(?P<v>.{4,})"),
    cue(Decision, 80, r"(?:it's|it is|it was) (?:been )?(?:decided|agreed|settled)(?: that|: |, )\s?(?P<v>.{4,})"),
    cue(NamedDecision, 85, r"(?:we|i)(?:'ll| will|'re going to| are going to|'m going to|'re going| are going|'re)\s(?:just |now |definitely )?(?:go(?:ing)? with|use|us(?:e|ing)|adopt(?:ing)?|stick(?:ing)? (?:with|to)|stay(?:ing)? (?:with|on)|standardi[sz](?:e|ing) on|pick(?:ing)?)\s(?P<v>.{2,})"),
    cue(NamedDecision, 75, r"let's\s(?P<do>(?:just )?(?:go with|use|switch to|move to|migrate to|adopt|stick (?:with|to)|standardi[sz]e on|deploy (?:to|on)|host (?:it |this )?on)\s(?P<v>.{2,}))"),
    cue(NamedDecision, 85, r"(?:we|i)\s(?:picked|went with|adopted|selected|ended up (?:going with|choosing|using|with|on))\s(?P<v>.{2,})"),
    cue(NamedDecision, 80, r"(?:we|i)\s(?:dropped|ditched|abandoned|got rid of|no longer use|stopped using|don't use|are not using|aren't using|are no longer using)\s(?P<gone>.{2,})"),
    // Facts about the project.
    cue(ProjectFact, 85, r"(?P<what>(?:our|the|this) (?:[\w/.-]+ ){0,4}?(?:[\w/-]+))\s(?:is|are)\s(?:now |currently |still |always |set to |called |named )*(?:(?P<how>hosted on|hosted at|hosted in|deployed to|deployed on|deployed at|written in|built with|built on|built in|powered by|running on|based on|managed by|managed with|served from|at|on|in)\s)?(?P<v>[^\s].+)"),
    cue(ProjectFact, 85, r"(?P<what>(?:our|the|this) (?:[\w/.-]+ ){0,4}?(?:[\w/-]+))\s(?:now |currently |still |also |only )*(?P<how>uses|use|runs on|run on|runs|deploys to|deploys on|lives on|lives in|lives at|targets|requires|depends on|relies on|supports|stores)\s(?P<v>.{2,})"),
    cue(ProjectFact, 85, r"(?P<what>we)\s(?:now |currently |still |also |only |mainly |mostly |primarily |always |exclusively |all )*(?P<how>deploy (?:everything |it |the \w+ )?(?:to|on|via|with)|host (?:everything |it |the \w+ )?(?:on|with|at|in)|run (?:everything |it |the \w+ )?on|run|use|store \w+(?: \w+)? in|write (?:everything |the \w+ )?in|build (?:everything |the \w+ )?(?:with|on)|test with|lint with|format with|target|develop in|indent with|rely on|depend on)\s(?P<v>.{2,})"),
    cue(ProjectFact, 85, r"(?P<what>we)(?:'re| are)\s(?:now |currently |still |all )*(?P<how>on|hosted on|deployed on|deployed to|running on|running|using|hosting on|deploying to|deploying on)\s(?P<v>.{2,})"),
    cue(ProjectFact, 80, r"(?P<what>i)\s(?:now |currently |still |also )*(?P<how>deploy (?:everything |it |the \w+ )?(?:to|on)|host (?:everything |it |the \w+ )?(?:on|with|at))\s(?P<v>.{2,})"),
    cue(ProjectFact, 80, r"(?P<what>we (?:release|ship|deploy to production))\s(?P<v>(?:every|on|once|twice|weekly|monthly|daily|each)\b.*)"),
    cue(ProjectFact, 75, r"(?P<what>staging|production|prod|ci|the api|the repo|the frontend|the backend)\s(?:is|runs|lives|uses|deploys)\s(?:now |currently )?(?P<how>at |on |in |to )?(?P<v>.{2,})"),
    cue(ProjectFact, 85, r"(?:since [^,:]{4,20} )?(?P<what>(?-i:\p{Lu})[\w-]+(?:'s [a-z][\w -]{2,30})?)\s(?:now |currently |still )*(?P<how>uses|runs on|runs in|deploys to|deploys on|(?:is|are) (?:now |currently |still )?(?:deployed (?:on|to|at)|hosted (?:on|at|in|by)|running on|written in|built (?:with|on|in)|based on))\s(?P<v>.{2,})"),
    cue(ProjectFact, 85, r"(?P<what>(?-i:\p{Lu})[\w-]+'s [a-z][\w -]{2,30}?)\s(?:is|are)\s(?:now |currently |still )*(?P<v>.{2,})"),
    cue(Declared, 80, r"(?P<what>(?-i:\p{Lu})[\w-]+(?: [a-z]+)?|(?:the|our) [\w -]{3,30}?|staging|production)\s(?:lives|sits|is|runs|can be found) at\s(?P<v>`?(?:https?://|localhost|[\w-]+\.[\w.-]+:\d|[\w-]+\.(?:internal|local|example|dev|io|com|net|org)\b)\S*)$"),
    cue(Declared, 75, r"our (?:[a-z-]+ ){0,2}?(?:year|quarter|sprint|sprints|iteration|iterations|week|budget|stand-?up|retro|retrospective|lease|contract|support window|office hours)\s(?:starts?|begins?|ends?|closes?|opens?|runs?|is|are|last)\s(?:on|in|at|from|by)?\s?(?P<v>(?:(?:every|each|the)\s|\d|two|three|four|(?-i:\p{Lu})).{2,60})"),
    cue(ProjectFact, 80, r"we\s(?:now |currently |still |always )*(?P<how>build|deploy|test|format|lint|manage|bundle|host|monitor|serve|provision) (?:it|everything|all of it|them)\s(?:with|on|to|using|by|via)\s(?P<v>.{2,})"),
    // Preferences.
    cue(Preference, 90, r"(?:(?:for|in|with|on) [\w#+/ -]{2,30},? |[a-z][\w -]{2,30}: )?i(?:'d| would)?\s(?:(?:much|strongly|really|generally|usually|personally|always|definitely|still|also|now|typically|vastly|actually|greatly|tend to)\s)*(?:prefer|favou?r)\s(?:to (?:use|have|see|get|write|work with)\s|using\s|having\s|seeing\s)?(?P<v>[^,;]+?)(?:\s(?:over|to|rather than|instead of|than)\s(?P<over>[^,;]+?))?(?:[,:]\s.*)?[.!]*$"),
    cue(Preference, 90, r"my (?:(?:strong|personal|general|usual)\s)*preference (?:is|would be)(?: for| to use| to)?\s(?P<v>.{2,})"),
    cue(Preference, 85, r"my (?:all[- ]time )?favou?rite (?P<topic>[\w-]+(?: [\w-]+){0,3}?) (?:is|are)\s(?P<v>.{2,})"),
    cue(Preference, 80, r"i\s(?:(?:really|always|also|still|absolutely|generally|just|particularly|especially|usually|personally|do)\s)*(?:like|love|enjoy|adore)\s(?:to (?:use|work with|work in)\s|using\s|working with\s|working in\s)?(?P<v>[^,;]+)"),
    cue(Preference, 80, r"i'm (?:(?:really|also|very|such|quite)\s)*(?:(?:a )?(?:big|huge) fan of|fond of|keen on|passionate about)\s(?P<v>.{2,})"),
    cue(Dislike, 80, r"i (?:don't|do not|never) want (?:any )?(?P<v>[^,;]+? in (?:the |my |our |any |your )?(?:readme|code|codebase|commits?|commit messages?|docs|comments|output|answers?|responses|prs?|changelog)\b.*)"),
    cue(Dislike, 85, r"i(?:'m)?\s(?:(?:really|absolutely|also|just|generally|strongly|personally|still)\s)*(?:hate|dislike|can't stand|cannot stand|detest|despise|loathe|don't like|do not like|not a fan of|don't enjoy|don't care for|avoid)\s(?:to use\s|using\s)?(?P<v>.{2,})"),
    cue(Wish, 80, r"please\s(?:always )?(?:use|stick (?:to|with)|write)\s(?P<v>[^,;]{2,60}?)(?:\s(?:instead of|rather than|over|not)\s(?P<over>[^,;]+))?[.!]*$"),
    cue(Wish, 80, r"(?:always )?use\s(?P<v>(?:snake_case|camelCase|kebab-case|PascalCase|single quotes|double quotes|tabs|spaces|(?:2|4|two|four) spaces|conventional commits)\b[^,;]{0,60})$"),
    cue(Wish, 75, r"(?:use|stick (?:to|with))\s(?P<v>[^,;]{2,40}?)(?:,? (?:instead of|rather than|over|not)\s(?P<over>[^,;]{2,40}))[.!]*$"),
    cue(Preference, 75, r"i (?:want|like|need|expect) (?P<v>(?:short|concise|brief|detailed|direct|plain|terse)\s[^,;]*\b(?:answers?|replies|responses?|explanations?|summaries|commit messages)\b[^,;]*)"),
    cue(Preference, 80, r"we (?:both |all )(?:really )?(?:like|love|enjoy|prefer|adore)\s(?P<v>[^,;]+)"),
    cue(Dislike, 80, r"i find (?P<v>(?:[a-z-]+ ){1,4}?)(?:boring|annoying|tedious|confusing|distracting|ugly|irritating|exhausting)$"),
    cue(Preference, 80, r"i find (?P<v>(?:[a-z-]+ ){1,4}?)(?:useful|helpful|relaxing|motivating|fun|soothing|interesting)$"),
    // Facts about the speaker.
    cue(SelfFact("user.name"), 80, r"(?:i(?:'m| am)|this is)\s(?P<v>(?-i:\p{Lu}[\p{Ll}'’-]+(?: \p{Lu}[\p{Ll}'’-]+)?))(?:,\s.*)?[.!]*$"),
    cue(SelfFact("user.relatives"), 80, r"(?:my|our) (?:wife|husband|partner|son|daughter|brother|sister|mother|mom|mum|father|dad|girlfriend|boyfriend|fianc[ée]e?|kids?|children|sons|daughters|parents|grandmother|grandfather|niece|nephew|baby|cats?|dogs?)(?: (?-i:\p{Lu})\w+)? (?P<v>(?:(?:is|are) (?:an? \w+$|(?:severely )?allergic to |vegan|vegetarian|coeliac|celiac|diabetic|lactose[- ]intolerant|deaf|blind)|(?:can't|cannot|does not|doesn't|don't|do not) (?:have|eat|drink|tolerate) |(?:eats?|loves?|hates?|likes?) |has an? [\w ]+ allergy|turns \d|(?:goes|go) to (?:(?-i:\p{Lu})|school|kindergarten|university|college)|works (?:as|at|for) |lives in |stud(?:ies|y) ).{0,60})"),
    cue(SelfFact("user.responsibility"), 80, r"i(?:'m| am)?\s(?:(?:now|currently|also|mainly|mostly)\s)*(?:maintain|own|lead|look after|responsible for|in charge of|taking over|take over)\s(?P<v>(?:(?:the|our)\s(?:[\w-]+ ){0,4}?(?:service|app|api|team|project|library|module|repo|repository|backend|frontend|pipeline|platform|website|site|database|infrastructure|dashboard|integration|package|plugin|crate|page|store|cluster|releases?|rollout|onboarding|design system)|(?-i:\p{Lu})[\w-]+)\b.*)"),
    cue(SelfFact("user.responsibility"), 80, r"i (?:run|manage|head|lead|do|handle) (?P<v>(?:marketing|sales|engineering|support|operations|finance|hr|design|product|data|research|growth|recruiting|customer \w+|the [a-z ]{2,30}(?:team|department|group)) (?:at|for) (?-i:\p{Lu})[\w&-]+.*)"),
    cue(SelfFact("user.workplace"), 85, r"i (?:usually |mostly |mainly |always )?work (?:remotely )?from\s(?P<v>(?:home|(?-i:\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+){0,2})))(?:[,\s].*)?$"),
    cue(SelfFact("user.residence"), 85, r"we\s(?:(?:currently|now|still)\s)*(?:live|reside|are based)\sin\s(?P<v>(?-i:\p{Lu})[\p{L}'’-]*(?: (?-i:\p{Lu})[\p{L}'’-]*){0,2})(?:[,\s].*)?$"),
    cue(SelfFact("user.plan"), 80, r"(?:i|we)(?:'m|'re| am| are) moving to\s(?P<v>(?-i:\p{Lu})[\p{L}'’-]+(?: (?-i:\p{Lu})[\p{L}'’-]+){0,2}(?: (?:in|on|at|next|this)\b.*)?)$"),
    cue(SelfFact("user.plan"), 75, r"(?:i|we)(?:'ll| will) be (?:on|away|out|off|back)\s(?P<v>(?:(?:parental|maternity|paternity|sick|annual) leave|on holiday|holiday|vacation|from|the week of|on|in|next)\b.*\d.*)"),
    cue(SelfFact("user.plan"), 75, r"i start (?:work )?at (?P<v>(?-i:\p{Lu})\w+\b.*)"),
    cue(SelfFact("user.learning"), 80, r"i(?:'m| am)\s(?:currently |now |also )?(?:learning|studying for)\s(?P<v>(?:how to )?[\p{L}][\p{L}#+ -]{2,40}?)(?:\s(?:because|for|at|with|by|in|on|since|and)\b.*)?$"),
    cue(SelfFact("user.language_level"), 80, r"i(?:'m| am) (?:at|on|around) (?:level )?(?P<v>(?-i:[ABC][12])(?: level)?(?: in \w+)?)$"),
    cue(SelfFact("user.diet"), 85, r"(?:i|we) (?:don't|do not|never) (?:drink|smoke)(?P<v>(?: [\w-]+){0,5})"),
    cue(SelfFact("user.age"), 80, r"i (?:just )?turned (?P<v>[1-9]\d)(?:\s(?:on|in|last|this|today|yesterday|the)\b.*)?$"),
    cue(SelfFact("user.routine"), 75, r"i (?:usually |always |normally |generally )?(?:study|run|swim|train|meditate|work out|exercise|cycle|practi[cs]e|read|cook|walk|get up|wake up|go to (?:the gym|bed|work|yoga|church)|go (?:running|swimming|climbing|cycling)|do yoga|teach|play [\w ]+|volunteer) (?P<v>.{0,50}?\b(?:(?:every|each) (?:single |other |second )?(?:day|morning|afternoon|evening|night|week|weekend|month|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day|spring|summer|autumn|winter)|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|(?:once|twice|three times) a (?:day|week|month|year)|at \d+(?::\d\d)?(?: ?[ap]m)?$)\b.*)"),
    cue(SelfFact("user.routine"), 75, r"i have (?P<v>(?:an? |my )(?:[\w-]+ ){0,3}(?:call|meeting|class|lesson|appointment|session|stand-?up|rehearsal|training|shift)s? (?:[\w ]{0,40} )?(?:(?:every|each) (?:day|morning|evening|week|month|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|on (?:mon|tues|wednes|thurs|fri|satur|sun)days)\b.*)"),
    cue(SelfFact("user.transport"), 75, r"i (?:go|travel|commute|get around|come) (?P<v>(?:everywhere |to work |mostly |only )?by (?:bike|bicycle|car|train|bus|tram|metro|motorbike|ferry))\b.*"),
    cue(SelfFact("user.manager"), 85, r"my (?:direct )?(?:manager|boss|supervisor|team lead|line manager|advisor|tutor|doctor|dentist|landlord|therapist) is (?P<v>(?:Dr\.? |Prof\.? )?(?-i:\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+){0,2}))(?:(?:,| and)\s.*)?$"),
    cue(SelfFact("user.signature"), 80, r"i (?:always |usually )?sign (?:off )?(?:all )?my (?:e-?mails|messages|letters) (?:with|as)\s(?P<v>.{2,40})"),
    cue(SelfFact("user.writing"), 80, r"i (?:usually |always |mostly |normally |generally )?write (?:everything |my \w+ )?(?:in )?(?P<v>(?:(?:british|american|canadian|australian|plain|formal|simple) )?(?-i:English|German|French|Spanish|Italian|Portuguese|Dutch|Chinese|Japanese|Korean|Swedish|Polish|Russian))\b.*"),
    cue(SelfFact("user.budget"), 80, r"my (?:[a-z]+ )?budget (?:is|for [\w ]{3,30} is) (?P<v>[^,;]*\d[^,;]*)"),
    cue(SelfFact("user.schedule"), 85, r"my (?:work(?:ing)? )(?:week|hours|days|schedule) (?:is|are|runs?|run from|goes) (?P<v>.{4,})"),
    cue(SelfFact("user.possession"), 75, r"(?:i|we) (?:have|own|drive|ride|bought)\s(?P<v>an? (?:[a-z-]+ ){0,3}?(?:garden|balcony|car|bike|bicycle|motorbike|house|flat|apartment|boat|piano|guitar|violin|cello|van|truck|greenhouse|allotment|kiln|sewing machine|3d printer|telescope|(?:gas|induction|electric) (?:stove|hob|oven))(?: (?:in|with|that|near|on|at|from|called|named)\b[^,;]*)?)$"),
    cue(SelfFact("user.diet"), 85, r"(?:i|we) (?:don't|do not) (?P<v>drive|own a car|own a tv|cook)$"),
    cue(SelfFact("user.name"), 90, r"(?:my (?:full |first )?name is|my name's|please call me|you can call me|call me)\s(?P<v>(?-i:\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’.-]*){0,2}))"),
    cue(SelfFact("user.name"), 80, r"i(?:'m| am)\s(?P<v>(?-i:\p{Lu}[\p{Ll}'’-]+(?: \p{Lu}[\p{Ll}'’-]+)?)),\s(?:an?|the|and i)\s"),
    cue(SelfFact("user.pronouns"), 90, r"my pronouns are\s(?P<v>\w+/\w+(?:/\w+)?)"),
    cue(SelfFact("user.residence"), 85, r"i(?:'m| am)?\s(?:(?:currently|now|still)\s)*(?:live|living|reside|based|located)\s(?:(?:out )?(?:in|at|near|outside))\s(?P<v>(?:the )?(?-i:\p{Lu})[\p{L}'’. -]*?(?:, (?-i:\p{Lu})[\p{L}'’. -]*?)?)(?:\s(?:with|and|for|now|since|on|in|where|near|but|as|these days|at the)\b.*)?[.!]*$"),
    cue(SelfFact("user.residence"), 85, r"(?:i|we)(?:'ve| have)?\s(?:(?:just|recently|finally|now)\s)*(?:moved|relocated)(?: back)?\s(?:from (?P<old>(?-i:\p{Lu})[\p{L}' -]*?) )?(?:to|back to)\s(?P<v>(?-i:\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+){0,2}))(?:\s(?:on|in|around|with|for|from|at|to|last|this|yesterday|and|since|because|where)\b.*)?[.!]*$"),
    cue(SelfFact("user.employer"), 85, r"i\s(?:(?:currently|now|still)\s)*work\s(?:as an? (?P<role>[\w /-]{3,40}?) |(?:on|in) [^,.;]{3,40}? )?(?:at|for)\s(?P<v>(?-i:\p{Lu}[\w&.'’-]*(?: (?:\p{Lu}|&|of)[\w&.'’-]*){0,3}))(?:\s(?:as|in|on|and|doing|since|where|with)\b.*)?[.!]*$"),
    cue(SelfFact("user.employer"), 85, r"(?:i (?:just |recently )?(?:joined|started (?:working |a new job |a job )?at|got a job at|got hired (?:at|by))|my (?:new )?(?:employer|company) is(?: called)?)\s(?P<v>(?-i:\p{Lu}[\w&.'’-]*(?: (?:\p{Lu}|&)[\w&.'’-]*){0,3}))(?:\s(?:as|in|on|and|since|last|this)\b.*)?[.!]*$"),
    cue(SelfFact("user.former_employer"), 85, r"i(?:'ve)? (?:no longer work|don't work|quit my job|left my job|stopped working)(?: anymore)? (?:at|for)\s(?P<v>(?-i:\p{Lu}[\w&.'’-]*(?: (?:\p{Lu}|&)[\w&.'’-]*){0,3}))(?:\s(?:on|in|around|any ?more|since|last|because|after|to)\b.*)?[.!]*$"),
    cue(SelfFact("user.role"), 85, r"i(?:'ve been| was| got| just got| recently got| just became| became) (?:promoted to|made)\s(?:an? |the )?(?P<v>[\p{L}][\p{L} -]{2,40}?)(?:\s(?:at|for|in|on|last|this)\b.*)?[.!]*$"),
    cue(SelfFact("user.relatives"), 80, r"my (?:wife|husband|partner|son|daughter|brother|sister|mother|mom|mum|father|dad|girlfriend|boyfriend|fianc[ée]e?)(?: (?-i:\p{Lu})\w+)? (?P<v>(?:is an? \w+|works (?:as|at|for) |lives in ).{1,60})"),
    cue(SelfFact("user.role"), 85, r"(?:i (?:currently |now )?work as|my (?:job|role|title|job title|profession|occupation) is|i(?:'m| am) employed as)\s(?:an? |the )?(?P<v>[\p{L}][\p{L} /-]{2,50}?)(?:\s(?:at|for|in|with|and|on|from)\b.*)?[.!]*$"),
    cue(SelfFact("user.role"), 80, r"i(?:'m| am)\s(?:currently |now )?(?:an?|the)\s(?P<v>(?:[\p{L}-]+\s){0,4}?(?:engineer|developer|programmer|designer|manager|scientist|analyst|architect|student|teacher|professor|researcher|doctor|nurse|lawyer|writer|consultant|founder|ceo|cto|sre|devops|admin(?:istrator)?|freelancer|contractor|accountant|artist|musician|journalist|photographer|chef|translator|librarian|counsell?or|therapist|pharmacist|physicist|biologist|chemist|mathematician|economist|maintainer|intern|postdoc|tester|dancer|nutritionist|electrician|carpenter|pilot|veterinarian|dentist|psychologist|physiotherapist|barista|baker|gardener|firefighter|paramedic|midwife|social worker|plumber|mechanic|bus driver|waiter|illustrator|animator|singer|actor|composer|historian|linguist|geologist|astronomer|statistician|actuary|recruiter|bookkeeper|receptionist|farmer|tailor|welder|surveyor|judge|notary|optician|physician|surgeon|psychiatrist|p(?:a)?ediatrician|product owner|scrum master|tech lead|team lead))\b(?:\s(?:at|in|for|by|from|based|on|of|who|with|and|working)\b.*)?[.!]*$"),
    cue(SelfFact("user.experience"), 80, r"i(?:'ve| have)\s(?:been )?(?:(?:coding|programming|writing \S+|working (?:as|with|in) [^,.;]{2,40}|doing \S+|using \S+|teaching|painting|running|dancing)\s(?:for )?(?P<v>(?:over |about |around |almost |nearly )?(?:\d+|two|three|four|five|six|seven|eight|nine|ten|twenty|fifteen) years)|(?P<years>\d+\+? years of experience)).*"),
    cue(SelfFact("user.timezone"), 85, r"(?:my (?:time ?zone) is|i(?:'m| am) (?:in|on) (?:the )?(?:time ?zone )?)\s?(?P<v>(?-i:UTC|GMT|CET|CEST|EST|EDT|PST|PDT|CST|MST|JST|IST|BST|AEST|Europe/\w+|America/\w+|Asia/\w+|Australia/\w+|Africa/\w+|Pacific|Eastern|Central)(?:[+-]\d{1,2}(?::\d\d)?)?)(?: time(?: ?zone)?)?\b.*"),
    cue(SelfFact("user.language"), 85, r"(?:my (?:native|first|mother) (?:language|tongue) is|i(?:'m| am) a native speaker of|i (?:also |can )?speak)\s(?:fluent )?(?P<v>(?-i:English|German|French|Spanish|Italian|Portuguese|Dutch|Swedish|Danish|Norwegian|Finnish|Polish|Czech|Russian|Ukrainian|Turkish|Arabic|Hebrew|Hindi|Urdu|Bengali|Chinese|Mandarin|Cantonese|Japanese|Korean|Vietnamese|Thai|Greek|Hungarian|Romanian|Catalan|Swahili)(?:[^.;!]*))"),
    cue(SelfFact("user.origin"), 80, r"(?:i(?:'m| am) (?:originally )?from|i come from|i was born in|i grew up in|my home ?town is)\s(?P<v>(?-i:\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+){0,2}))(?:\s(?:in|originally)\b.*)?[.!]*$"),
    cue(SelfFact("user.birthday"), 85, r"(?:my birthday is|my birthday's|i was born)\s(?:on |in )?(?:the )?(?P<v>(?-i:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|\d{1,4})[\w ,./-]*)"),
    cue(SelfFact("user.age"), 80, r"i(?:'m| am)\s(?P<v>[1-9]\d)(?: years? old)[.!]*$"),
    cue(SelfFact("user.allergy"), 90, r"i(?:'m| am)\s(?:(?:severely|very|badly|mildly|also)\s)?allergic to\s(?P<v>.{2,60})"),
    cue(SelfFact("user.allergy"), 85, r"i have (?:a|an) (?:severe )?(?P<v>[\w ]{2,30}?) allergy"),
    cue(SelfFact("user.diet"), 90, r"i(?:'m| am)\s(?:(?:a|strictly|mostly|now|also)\s)*(?P<v>vegan|vegetarian|pescatarian|lactose[- ]intolerant|gluten[- ]free|celiac|coeliac|diabetic|halal|kosher)\b.*"),
    cue(SelfFact("user.diet"), 85, r"i (?:don't|do not|never) eat\s(?P<v>[\w ,]{3,40})"),
    cue(SelfFact("user.family"), 85, r"i\s(?:(?:also)\s)?(?:have|'ve got)\s(?P<v>(?:an?|one|two|three|four|five|\d)\s(?:[\w-]+ ){0,2}?(?:kids?|children|sons?|daughters?|brothers?|sisters?|siblings?|twins?|stepkids?|grandchildren|grandkids|wife|husband))\b.*"),
    cue(SelfFact("user.pet"), 85, r"i\s(?:(?:also|just|recently)\s)?(?:have|own|adopted|got)\s(?P<v>(?:an?|two|three|four|2|3|4)\s(?:[\w-]+ ){0,3}?(?:dogs?|cats?|puppy|puppies|kittens?|rabbits?|parrots?|hamsters?|horses?|turtles?|tortoises?|guinea pigs?|fish|snakes?|birds?)(?: (?:named|called) (?-i:\p{Lu})[\w ,&]+)?)\b.*"),
    cue(SelfFact("user.pet"), 85, r"my (?:dog|cat|puppy|kitten|rabbit|parrot|hamster|horse|turtle|pet)(?:'s name is| is (?:named|called))\s(?P<v>(?-i:\p{Lu})\w+)"),
    cue(SelfFact("user.family"), 85, r"my (?:wife|husband|partner|son|daughter|brother|sister|mother|mom|mum|father|dad|girlfriend|boyfriend|fianc[ée]e?)(?:'s name is| is (?:named|called))\s(?P<v>(?-i:\p{Lu})\w+)"),
    cue(SelfFact("user.marital_status"), 80, r"i(?:'m| am)\s(?P<v>married|single|divorced|engaged|widowed)\b(?: (?:with|to|and|for)\b.*)?[.!]*$"),
    cue(SelfFact("user.study"), 80, r"i(?:'m| am)?\s(?:(?:currently|now)\s)?(?:study|studying|majoring in|majored in|studied)\s(?P<v>[\p{L} ]{4,50}?)(?:\s(?:at|in|with|and|on)\b.*)?[.!]*$"),
    cue(SelfFact("user.os"), 80, r"(?:i(?:'m| am) on|i'm running|my (?:laptop|machine|computer|workstation) (?:runs|is running|is))\s(?:an? )?(?P<v>(?:macOS|Linux|Ubuntu|Debian|Fedora|NixOS|Arch Linux|Windows 1[01]|WSL2?|FreeBSD|Linux Mint)\b[^,;]*)"),
    // Who is responsible for what.
    cue(Declared, 75, r"(?P<what>(?-i:\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+)?)) (?:now )?(?:owns|leads|maintains|takes over|is taking over|is responsible for|is in charge of|looks after)\s(?P<v>the (?:[\w-]+ ){0,3}?(?:page|app|database|rollback|service|release|releases|rollout|team|project|module|api|backend|frontend|migration|pipeline|website|design|onboarding|platform|dashboard|infrastructure|incident|tests|docs)\b[^,;]*)"),
    cue(Declared, 75, r"(?P<what>[a-z]+ (?:reviews|questions|requests|issues|tickets|approvals)) (?:now )?go to\s(?P<v>(?-i:\p{Lu})[\p{L}'’-]+(?: (?-i:\p{Lu})[\p{L}'’-]+)?(?: now)?)$"),
    // What the speaker works with.
    cue(Habit, 75, r"i(?:'m)?\s(?:(?:mostly|usually|always|mainly|currently|now|still|also|primarily|generally|typically|only|normally)\s)*(?:use|using|work with|code in|write|program in|develop in|develop on|work in)\s(?P<v>.{2,})"),
    cue(Habit, 80, r"my (?:[\w-]+ )?(?P<what>editor|ide|os|operating system|shell|terminal|time ?zone|package manager|language|framework) (?:of choice )?is\s(?:now )?(?P<v>.{2,})"),
];

const CHINESE_DEFINITION: Definition = Definition {
    vetoes: &[
        r"[?？]|吗|呢[。！]?$|是不是|有没有|要不要|能不能|可不可以|会不会|好不好|怎么|怎样|为什么|为啥|什么|哪[个里些种儿]|多少|多久|多长|几个",
        r"如果|假如|假设|要是|倘若|万一|比如说|比方说|打个比方|的话",
        r"可能|也许|大概|或许|不确定|不一定|不知道|好像|似乎|考虑|打算|觉得|估计|应该是|想试试|在想|犹豫|说不定|以前|曾经|原本|本来",
        r"哈哈|嘿嘿|呵呵|开玩笑|逗你|说笑|才怪|[😂🤣😜🙃😏😉]|狗头|\[doge\]",
        r"[他她它]们?(?:说|讲|认为|提到|建议|觉得|喜欢)|(?:同事|朋友|老板|老师|妈妈|爸爸|文档|文章|书上|网上|有人)(?:说|讲|认为|提到|建议|写)|据说|听说",
        r"^(?:请|帮我|麻烦|能否)?(?:翻译|润色|改写|总结|概括|写一|编一|生成|解释|介绍)|故事里|小说里|剧本|扮演|游戏里|电影里",
        r"暂时|这次|这一次|先这样|临时|目前先|现在先|这个文件|这个例子|这个任务|这个问题|今晚|今早|待会",
        r"\[redacted:|(?:密码|口令|密钥|令牌|凭证|私钥|验证码|(?i:api[ _-]?key|token|secret))(?:是|为|：|:|=)|记住.*(?:密码|密钥|令牌)",
        r"忽略(?:之前|以上|所有|前面)|系统提示词",
    ],
    recorded: r"(?:请|帮我|麻烦|把以下|再)*(?:写进|写入|写到|加到|加进|加入|记到|记入|更新到?)\s*(?:`?(?:claude|agents|gemini|memory)\.md`?|(?:项目)?(?:规则|规范|记忆)(?:文件)?)[里中]?[，,：:\s]+(?P<rest>.{4,})",
    tasks: r"^请?写",
    manner: r"回答|回复|交流|解释|称呼",
    lasting: r"以后|每次|所有|一律|始终|总是",
    abiding: r"以后|今后|往后|从现在",
    conditions: &[r"除非|是否"],
    lead_in: r"(?:(?:另外|还有|对了|顺便说一下|顺便提一下|顺便一提|其实|然后|嗯+|好的?|哦|那个|你好|您好|大家好|嗨|补充一下|说明一下|谢谢|是的|对|不过|而且|所以|首先|其次|最后|总之|经过讨论|讨论之后|讨论后)[，,、。！!：:\s]+)+",
    clause_break: r"[，,；;]\s*(?:并且|而且|但是?|所以|另外|同时)?(?P<next>(?:(?:主要|目前|现在)?负责|在[^，。,的]{2,12}(?:做|当|工作|上班)|(?:今年|去年|\d{4}(?:-\d\d)?年?|最近)?开始学|有[一两二三四][个只条]|住在|方向是|研究方向|(?:生产|测试)?(?:数据库|后端|前端|缓存|消息队列|队列)(?:是|用)|[^，,。]{2,16}(?:一律|统一)(?:用|使用|返回|放|写|要)|(?:我们?|咱们)(?:的|叫|住|是|在|喜欢|更|不|讨厌|习惯|用|使用|决定|有|对|会|已经|从|部署|改|养|来自)))",
    cues: CHINESE_CUES,
    value_end: r"[，,；;。！!]|因为|所以|但是|不过|（|\(|而且|并且|之后|的时候",
    empty_value: r"(?:[这那它他她你您](?:个|些|样|种|里|们|的)?|一下|同意|知道|看看|试试|上面|下面|前者|后者|第[一二三四]|的|了|吧|啊|\W*$)",
    subject: r".",
    own_ground: r"^(?:一周|项目|仓库|代码库|系统|应用|服务)",
    pointing: r"[这那](?:个|些|样|种|里|边|么|次)?|[它他她]们?|你们?|您|前者|后者|上面|下面|以下|以上",
    about_project: r"`|代码|提交|分支|合并|部署|测试|构建|发布|上线|迁移|仓库|接口|函数|模块|脚本|配置|数据库|依赖|版本|文档|注释|变量|日志|(?:commit|PR|CI|API|git|lint|merge|push|review)",
    parts: &[
        (r"测试环境|预发|staging", "staging"),
        (r"本地|开发环境", "development"),
        (r"前端", "frontend"),
        (r"移动端|客户端|安卓|iOS", "mobile"),
        (r"数据分析|报表|数仓", "analytics"),
        (r"脚本|工具链", "tooling"),
        (r"后台管理|管理后台", "admin"),
    ],
    proposal: r"(?:^|[，。！])(?:要不要|是否|要)?(?:我们)?(?P<verb>使用|用|改用|换成|采用|迁移到|部署到|切换到)(?P<v>[^，。？?]{2,60}?)(?:作为[^，。？?]{2,20})?(?:可以吗|好吗|怎么样|如何|吗|行吗|，?好不好|，?可以吗)?[?？]$",
    yes: r"(?:(?:好的?|可以|行|没问题|同意|就这样|就这么办|就这么定了?|好的就这样|是的|对|嗯+|确定|没错|当然|ok)[，,。！!\s吧了]*){1,3}$",
    dates: relative::chinese,
    alone: str::to_owned,
    third_person: chinese_third_person,
    phrases: Phrases {
        user: "用户",
        said: "{who}说：“{x}”",
        standing: "{who}的长期要求：“{x}”",
        wish: "{who}希望使用{x}",
        decided: "{who}决定{x}",
        agreed: "团队决定{x}（由助手提议，{who}确认）",
        unwanted: "{who}不希望使用{x}",
        over: "而不是",
        called: "{who}希望被称为{x}",
        stop: "。",
    },
};

#[rustfmt::skip]
const CHINESE_CUES: &[Cue] = &[
    cue(Remember, 90, r"(?:请|帮我|麻烦你?|你?要|一定要)*(?:记住|记得|记一下|记下来?|别忘了|不要忘了|不要忘记|牢记|备忘)[，,：:\s]*(?P<rest>.{4,})"),
    // Standing instructions.
    cue(Standing, 85, r"(?:从现在(?:开始|起)|从今以后|今后|以后|往后)[，,]?\s*(?P<do>(?:都|请|不要|别|要|必须|一律|所有|每|用|只|回答|回复|提交|写)[^，,]{2,}.*)"),
    cue(Standing, 85, r"(?P<when>(?:每次|每当)[^，,]{2,60}?(?:之前|之后|以前|以后|时候|时|前|后)?)[，,]?\s*(?P<do>(?:都要?|请|先|必须|务必|一定要|记得|不要)[^，,].{2,})"),
    cue(Standing, 80, r"(?P<when>(?:提交|合并|部署|发布|上线|推送|修改|改动|写代码|重构|删除|回答|迁移|升级)[^，,]{0,30}?(?:之前|以前|前|之后|后|时))[，,]?\s*(?P<do>(?:都要?|请|先|必须|务必|一定要?|一律|不要|要).{3,})"),
    cue(Standing, 80, r"(?P<do>(?:请|你)?(?:总是|始终|务必|一律|永远不要|永远别|绝对不要|绝不要|千万不要|千万别|不要再|一定不要).{3,})"),
    cue(Standing, 75, r"(?P<do>(?:所有|每个|每次|任何)(?:的)?[^，,]{1,20}?(?:都)?(?:必须|不能|不得|不允许|都要|一律).{2,})"),
    cue(Standing, 75, r"(?P<do>(?:请)?(?:用|使用)(?:中文|英文|英语|简体中文|繁体中文|日语)(?:回答|回复|交流|写|来写|注释).*)"),
    // Decisions.
    cue(Switch, 90, r"(?:我们?|咱们|团队|项目)?(?:已经|刚刚?|最近|现在|最终|[\d-]+(?:那一周)?)*(?:把[^，。]{1,12})?从\s*(?P<old>[^，。到]{1,30}?)\s*(?:改用|换成|换到|迁移到|切换到|迁到|转到|搬到|切到|换为|升级到)了?\s*(?P<v>.{2,})"),
    cue(NamedDecision, 90, r"(?:我们?|咱们|团队|项目|数据库|后端|前端)(?:已经|刚刚?|最近|现在|最终|都|全部|[\d-]+(?:那一周)?)*(?:把[^，。]{1,12})?(?:改用|换成|换到|迁移到|切换到|迁到|转到|搬到|切到|换为|升级到|选定|选用|选择)了?\s*(?P<v>.{2,})"),
    cue(NamedDecision, 85, r"(?:把)(?:[^，。]{1,12})(?:改用|换成|换到|迁移到|切换到|迁到|切到|部署到)了?\s*(?P<v>.{2,})"),
    cue(Decision, 90, r"(?:我们?团队|我们?|咱们|团队|大家)(?:已经|刚刚?|最近|最终|最后|一致|都|开会|[\d-]+)*(?:决定|商定|确定|敲定|定下来|同意)了?(?:要|以后|今后)?[，,：:\s]*(?P<v>.{3,})"),
    cue(NamedDecision, 80, r"(?:那就?|就|还是|我们就|咱们就)(?P<do>(?:改用|用|采用|选|换成|部署到)\s*(?P<v>[^，。]{2,40}?))(?:吧|了)?$"),
    cue(NamedDecision, 80, r"(?:我们|咱们)(?:不再|已经不)(?:使用|用)(?P<gone>.{2,})"),
    // Facts about the project.
    cue(ProjectFact, 85, r"(?P<what>(?:我们的?|本|这个|咱们的?)?(?:项目|仓库|后端|前端|数据库|生产环境|测试环境|预发环境|服务|接口|网站|应用|系统|代码|生产数据库|主数据库|[^，。是用]{0,8}(?:部署平台|部署目标|包管理器|测试框架|默认分支|主分支|缩进|时区|框架|开发语言|编程语言|缓存|消息队列|数据库)))(?:现在|目前|都|一直|统一|主要)*(?P<how>用的?是|使用的?是|使用|用|采用|部署在|部署到|托管在|跑在|运行在|是|基于|在)\s*(?P<v>.{2,})"),
    cue(ProjectFact, 85, r"(?P<what>我们|咱们|团队)(?:现在|目前|都|一直|统一|主要|的)*(?P<how>用的?是|使用的?是|使用|用|采用|部署在|部署到|托管在|跑在|运行在)\s*(?P<v>.{2,})"),
    // Preferences.
    cue(Preference, 90, r"(?:比起|相比)(?P<over>[^，,]{1,20})[，,]\s*我(?:还是)?(?:更|比较|最)?(?:喜欢|偏好|倾向于?|偏爱)(?:使用|用)?\s*(?P<v>.{2,})"),
    cue(Preference, 90, r"我(?:个人)?(?:比较|更|最|一直|还是|很|非常|特别|真的|平时|也|都|一向)*(?:喜欢|偏好|倾向于?|偏爱|钟爱|热爱)(?:使用|用)?\s*(?P<v>.{2,}?)(?:(?:而不是|而非|不是|胜过|多于|超过)(?P<over>.+))?$"),
    cue(Preference, 85, r"我(?:一直|都|平时|比较|已经)*习惯了?(?:于|用|使用)?\s*(?P<v>.{2,})"),
    cue(Preference, 85, r"我(?:的)?偏好是\s*(?P<v>.{2,})"),
    cue(Preference, 85, r"我最喜欢的[^，。是]{1,12}是\s*(?P<v>.{2,})"),
    cue(Dislike, 85, r"我(?:个人)?(?:比较|最|一直|很|非常|特别|真的|也|都)*(?:讨厌|不喜欢|受不了|反感|厌恶|不爱|不太喜欢|不习惯)(?:使用|用)?\s*(?P<v>.{2,})"),
    cue(Wish, 80, r"(?:请|麻烦)(?:都|统一|尽量)?(?:用|使用)\s*(?P<v>[^，。]{2,30}?)(?:(?:而不是|不要用|别用|代替)(?P<over>.+))?$"),
    // Facts about the speaker.
    cue(SelfFact("user.name"), 90, r"(?:我叫|我的名字(?:是|叫)|我名叫|(?:请|你可以)?(?:叫|称呼)我)\s*(?P<v>[\p{Han}·]{2,6}|[A-Z][A-Za-z ]{1,30})$"),
    cue(SelfFact("user.residence"), 85, r"我(?:现在|目前|一直|家|们家)?(?:住在|定居在|住)\s*(?P<v>[\p{Han}A-Za-z ]{2,20})(?:[，,].*)?$"),
    cue(SelfFact("user.residence"), 85, r"我们?(?:已经|刚刚?|最近|[\d年月-]+(?:那一周)?)*(?:从(?P<old>[^，。到]{1,12}?))?(?:搬到|搬去|搬家到|移居到?)了?\s*(?P<v>[\p{Han}A-Za-z ]{2,15}?)了?$"),
    cue(SelfFact("user.role"), 85, r"我(?:现在|目前)?(?:是|担任|当)(?:一名|一个|一位|个|名|位)?\s*(?P<v>[^，。的]{0,12}?(?:工程师|程序员|开发者?|设计师|产品经理|项目经理|经理|老师|教师|教授|学生|研究生|博士生|医生|护士|律师|分析师|架构师|研究员|科学家|运维|测试|顾问|创始人|作家|记者|翻译|会计|厨师|自由职业者?))$"),
    cue(SelfFact("user.employer"), 85, r"我(?:现在|目前|就)?(?:在|就职于|任职于|供职于|加入了?)\s*(?P<v>[\p{Han}A-Za-z0-9 .&]{2,20}?)(?:公司)?(?:工作|上班|任职|做[^，。]{2,10}|当[^，。]{2,10})$"),
    cue(SelfFact("user.employer"), 85, r"我(?:已经|刚刚?|最近|[\d年月-]+)*(?:就职于|任职于|供职于|入职了?|加入了)\s*(?P<v>[\p{Han}A-Za-z0-9 .&]{2,20})$"),
    cue(SelfFact("user.birthday"), 90, r"我的?生日(?:是|在)\s*(?P<v>[^，。]{3,20})$"),
    cue(SelfFact("user.allergy"), 90, r"我对\s*(?P<v>[^，。]{1,15}?)(?:严重)?过敏$"),
    cue(SelfFact("user.diet"), 90, r"我(?:是|一直|现在)*(?P<v>素食者|素食主义者|吃素|纯素|不吃[^，。]{1,8}|乳糖不耐受)$"),
    cue(SelfFact("user.pet"), 85, r"我(?:家)?(?:养了?|有)\s*(?P<v>(?:一|两|二|三|四|\d)(?:只|条|匹|个)[^，。]{0,8}?(?:猫|狗|兔子|鹦鹉|仓鼠|乌龟|金鱼|鸟))$"),
    cue(SelfFact("user.family"), 85, r"我(?:家)?有\s*(?P<v>(?:一|两|二|三|四|\d)个(?:儿子|女儿|孩子|哥哥|姐姐|弟弟|妹妹|小孩|双胞胎))$"),
    cue(SelfFact("user.language"), 85, r"我(?:的母语是|会说|会讲|能说)\s*(?P<v>[^，。]{1,10}(?:语|文|话)[^，。]{0,10})$"),
    cue(SelfFact("user.origin"), 85, r"我(?:来自|出生在|出生于|的?老家(?:是|在)|的?家乡(?:是|在))\s*(?P<v>[\p{Han}A-Za-z]{2,12})$"),
    cue(SelfFact("user.timezone"), 85, r"我(?:的|所在的?)时区是\s*(?P<v>[^，。]{2,20})$"),
    cue(SelfFact("user.age"), 80, r"我今年\s*(?P<v>\d{1,2}|[一二三四五六七八九十]{1,3})岁了?$"),
    // What the speaker works with.
    cue(Habit, 75, r"我(?:平时|一般|通常|主要|一直|现在|都|目前|日常|工作中|的)*(?:用的?是|使用|用|编辑器是)\s*(?P<v>.{2,})"),
    cue(Standing, 80, r"(?P<when>(?:改|写|动|上线|合|发|推|部署|提交|修改|删)[^，,。]{1,20}?(?:之前|以前|前))[，,]?\s*(?P<do>(?:都|请|先|要|必须|务必|一定要?).{2,})"),
    cue(Standing, 80, r"(?P<when>[^，,。我]{2,16}的时候)[，,]?\s*(?P<do>(?:请|不要|别|要先|先|都要|务必|必须|尽量|避免|可以用).{2,})"),
    cue(Standing, 80, r"(?P<do>(?:不要|别|禁止|严禁)(?:直接|随便|随意|擅自|乱).{0,8}?(?:线上|生产|主分支|数据库|配置|密钥|提交|推送|合并|部署|`?(?:main|master|push|commit)).{0,30})"),
    cue(Standing, 80, r"(?:(?:以后|今后)[，,]?)?(?P<do>[^，,。我]{2,20}?(?:一律|都要|必须|都得|统一要|要先|得先)(?:用|使用|写|经过|先|加|跑|走|通过|由|附上|做|备份).*)"),
    cue(Declared, 80, r"(?:我们的?|咱们的?|所有|本)?(?P<what>[^，。我他她你]{1,12}?)(?:统一|一律)(?:返回|放在|存在|存放在|写在|命名为|以)(?P<v>.{2,})"),
    cue(Declared, 85, r"(?:(?:大家|我们|咱们|团队)(?:都|一致)?)同意(?P<v>.{3,})"),
    cue(Switch, 85, r"[^，。我]{2,10}?(?:模块|服务|系统|平台|应用|项目|网站|后台)(?:已经|刚刚?|最近|现在|[\d-]+)*从\s*(?P<old>[^，。到]{1,30}?)\s*(?:改用|换成|换到|迁移到|切换到|迁到|转到|搬到|切到|换为|升级到)了?\s*(?P<v>.{2,})"),
    cue(ProjectFact, 85, r"(?P<what>[^，。我他她用]{1,8}(?:服务|模块|系统|应用|网站|后台|平台|项目))(?:现在|目前|都|一直|统一|主要|已经)*(?P<how>用的?是|使用的?是|使用|用|采用|部署在|部署到|托管在|跑在|运行在|基于)\s*(?P<v>.{2,})"),
    cue(SelfFact("user.name"), 80, r"(?:大家好[，,])?我是\s*(?P<v>(?:阿|小|老)\p{Han}|[赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦许何吕施张孔曹严华金魏陶姜谢邹喻苏潘葛范彭郎鲁韦马苗方俞任袁柳史唐薛雷贺倪汤滕罗毕郝邬安常于傅齐康伍余顾孟黄穆萧尹姚邵汪毛米贝戴宋庞熊纪舒屈项祝董梁杜阮蓝席季贾路江颜郭梅林徐邱骆夏蔡田樊胡凌霍万柯卢莫房解应丁宣邓洪崔吉龚程邢陆荣翁曲段侯宁甘武刘叶白蒲赖卓乔温庄瞿阎习艾易廖曾沙关欧尤]\p{Han}{1,2})(?:[，,].*)?$"),
    cue(SelfFact("user.residence"), 85, r"我(?:们?一家|们)?(?:和|跟)[^，。]{1,8}?(?:一起)?(?:现在|目前)?住在\s*(?P<v>[\p{Han}A-Za-z ]{2,12})$"),
    cue(SelfFact("user.responsibility"), 80, r"我(?:现在|主要|目前|从?[\d-]+(?:那一周)?|也|开始|起)*负责\s*(?P<v>[^，。的]{2,16})$"),
    cue(SelfFact("user.role"), 80, r"我(?:现在|目前)?在[^，。的]{2,12}(?:做|当)(?:一名|一个)?\s*(?P<v>[^，。的]{1,10}(?:工程师|程序员|开发|设计师|产品经理|项目经理|经理|老师|教师|医生|护士|律师|分析师|架构师|研究员|运维|测试|顾问|记者|会计|厨师))$"),
    cue(SelfFact("user.study"), 80, r"我(?:现在|目前)?(?:在读|正在读|在念|读的是)\s*(?P<v>(?:[^，。的]{0,8})(?:博士|硕士|研究生|本科|大学|高中)[^，。]{0,6})$"),
    cue(SelfFact("user.field"), 80, r"我(?:的)?(?:研究)?方向是\s*(?P<v>[^，。的]{2,16})$"),
    cue(SelfFact("user.learning"), 80, r"我(?:最近|现在|正|今年|[\d-]+年?|也)*(?:在学|开始学|正在学)(?:习)?\s*(?P<v>[^，。]{1,12})$"),
    cue(SelfFact("user.family"), 85, r"我(?:家)?有\s*(?P<v>(?:一|两|二|三|四|\d)个[^，。]{0,6}?(?:儿子|女儿|孩子|哥哥|姐姐|弟弟|妹妹|小孩|双胞胎))$"),
    cue(SelfFact("user.relatives"), 80, r"我的?(?:家)?(?:妻子|老婆|丈夫|老公|女儿|儿子|孩子|妈妈|爸爸|母亲|父亲|姐姐|哥哥|弟弟|妹妹|女朋友|男朋友|奶奶|爷爷)\s*(?P<v>对[^，。]{1,12}过敏|不(?:吃|喝|能吃|能喝)[^，。]{1,10}|在[^，。]{2,12}(?:工作|上班|上学|读书)|是(?:一名|一个|位)?[^，。的]{2,10}|住在[^，。]{2,10}|今年[^，。]{1,4}岁|吃素)$"),
    cue(SelfFact("user.manager"), 80, r"我的?(?:导师|老板|上司|领导|经理|组长|主管)(?:是|叫)\s*(?P<v>\p{Han}{1,3}(?:教授|老师|总|博士|经理|主任)|[赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦许何吕施张孔曹严华金魏陶姜谢邹喻苏潘葛范彭郎鲁韦马苗方俞任袁柳史唐薛雷贺倪汤滕罗毕郝邬安常于傅齐康伍余顾孟黄穆萧尹姚邵汪毛米贝戴宋庞熊纪舒屈项祝董梁杜阮蓝席季贾路江颜郭梅林徐邱骆夏蔡田樊胡凌霍万柯卢莫房解应丁宣邓洪崔吉龚程邢陆荣翁曲段侯宁甘武刘叶白蒲赖卓乔温庄瞿阎习艾易廖曾沙关欧尤]\p{Han}{1,2}|[A-Z][A-Za-z ]{1,20})$"),
    cue(SelfFact("user.routine"), 75, r"我(?:一般|通常|都|平时)*(?P<v>每(?:天|周|个?月|晚|个?周[一二三四五六日末]|个?星期[一二三四五六日天])[^，。]{0,10}?(?:跑步|游泳|健身|锻炼|上课|学习|练|看书|读书|起床|睡觉|开会|值班|加班|骑车|散步|冥想|做饭|打球|瑜伽|远程|在家)[^，。]{0,4})$"),
    cue(SelfFact("user.possession"), 75, r"我(?:家)?(?:开的?是|开|骑的?是|有|买了)\s*(?P<v>一(?:辆|台|架|把|套|间)[^，。]{1,12}(?:车|琴|房|公寓|院子|吉他|电脑))$"),
    cue(SelfFact("user.writing"), 75, r"我(?:写|做|画|改)(?:论文|文章|报告|代码|笔记|图|简历|书|博客|周报)(?:一般|都|平时|主要)?(?:用|使用)\s*(?P<v>[^，。]{2,20})(?:[，,]不用.{1,12})?$"),
    cue(SelfFact("user.plan"), 75, r"我(?P<v>的(?:论文|毕业论文|报告|项目|签证|合同|房租)[^，。]{0,12}(?:月|号|日|\d{4}-\d\d)[^，。]{0,6}(?:交|截止|到期|答辩|提交|结束))$"),
    cue(Wish, 75, r"(?:请)?(?:不要|别|禁止)(?:再)?(?:使用|用)\s*(?P<not>[^，。]{2,30})$"),
];

/// Converts clauses with 我 and 我们 to clauses about `speaker` or the user, and about the team.
fn chinese_third_person(clause: &str, speaker: Option<&str>) -> Option<String> {
    let who = speaker.unwrap_or("用户");
    if ["你", "您", "自己", "我俩", "自我", "我国"].iter().any(|word| clause.contains(word)) {
        return None;
    }
    let team = clause
        .replace("咱们", "我们")
        .replace("我们团队", "我们")
        .replace("我们家", "我家")
        .replace("我们的", "团队的")
        .replace("我们", "团队");
    Some(team.replace('我', who).replace("这个项目", "项目").replace("本项目", "项目"))
}
