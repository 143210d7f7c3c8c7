//! English: vetoes and frames. The cues and the turn to the third person have files of their own.

use super::english_cues::CUES;
use super::english_grammar::{alone, third_person};
use super::language::{Language, Phrases};
use super::solution::english_past;
use crate::text::relative;

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
        r"(?-i:\b(?:LOVE|ADORE|HATE|SUCH)\b)|\b(?:so (?:generous|kind of them)|while we're at it|please send more|my (?:absolute )?favou?rite (?:hobby|pastime))\b|🙃",
        // Said by others, or of others.
        r"\b(?:he|she|they|someone|somebody|people|the (?:docs?|article|manual|readme|guide|blog|book)|(?:my|our|his|her|their|the) \w+|(?-i:[A-Z]\w+)) (?:just |always |once )?(?:said|says?|told|wrote|writes|claims|claimed|mentioned|thinks|thought|insists|suggested|suggests|recommends|recommended|asked|asks|argues)\b|\baccording to\b|\bquote\b",
        // Asked for, of a text that is not about the speaker.
        r"^(?:please |can you |could you )?(?:translate|summari[sz]e|rewrite|rephrase|proofread|paraphrase|draft|compose|generate|tell me|explain|describe|show me|give me|help me|say)\b",
        r"\b(?:role-?play|stay in character|in character|once upon a time|in this story|the protagonist|in the (?:story|novel|movie|film|game|book|poem|song|scene))\b",
        // For the moment.
        r"\b(?:for now|right now|at the moment|this time|just this once|for this (?:one|task|session|pr|file|commit|change|test|ticket|issue|bug|question|example|exercise|function|script)|temporar(?:y|ily)|in the meantime|until|tonight|this morning|this afternoon|this evening|just now|for today|in this (?:example|case|session|file|test|snippet))\b",
        // Secrets, and orders to the rules themselves.
        r"\[redacted:|\bremember\b.*\b(?:password|passphrase|passcode|api[ _-]?key|secret|token|credential|private key|pin)s?\b",
        r"\b(?:password|passphrase|passcode|api[ _-]?key|secret(?: key)?|access (?:key|token)|auth token|token|credential|private key|ssh key|pin(?: code)?)s?\b\s*(?:is|are|was|=|:|for)",
        r"\b(?:my|our|the|admin|root|login) (?:\w+ )?(?:password|passphrase|passcode|api[ _-]?key|credential|private key)s?\b",
        r"\bignore (?:all |any |the |your )*(?:previous|prior|above|earlier)?\s*(?:instructions|rules)|system prompt|jailbreak|\bas an ai\b|\bmemor(?:y|ies) (?:system|store|pipeline)",
    ],
    tasks: r"^(?:please |can you |could you )?(?:correct|write)\b",
    lasting: r"\b(?:from now on|always|never|going forward|(?:before|after|in|for) (?:each|every|all))\b",
    conditions: &[r"\b(?:if|unless|whether|in case|would|could|should)\b"],
    lead_in: r"(?:(?:ok(?:ay)?|perfect|awesome|excellent|amazing|brilliant|wonderful|yay|alright|all right|so|also|and|but|well|btw|by the way|hi|hey|hello|yes|yeah|yep|no|nope|sure|right|thanks|thank you|great|nice|cool|oh|ah|hmm|actually|anyway|anyways|basically|honestly|personally|in general|generally|in fact|just so you know|just fyi|as (?:i|you) (?:said|mentioned|know)|one more thing|another thing|to be clear|to clarify|for context|some context|context|background|quick note|update|correction|p\.?s\.?|plus|additionally|first|second|third|finally|as for me|for me|good news|great news|first of all|heads up|speaking of which|in real life|in this (?:repo|repository|project|codebase)|after (?:some|much|a lot of) (?:discussion|thought|debate))(?:[\s,.:!;–—-]+|$))+",
    clause_break: r"(?:;|,|:|\s[–—-]{1,2}\s|,?\s(?:and|but|so|because|which is why))\s+(?:and\s+|but\s+|so\s+)?(?P<next>(?:(?:i|i'm|i've|we|we've|we're|my|our)|(?-i:\p{Lu})[\w-]+'s|(?-i:\p{Lu})\w+ (?:owns|leads|maintains)|keep (?:your|the)|run \S+ [^,;.]{3,60} (?:before|after) (?:each|every)|(?:since [\w ,]{4,20} )?(?-i:\p{Lu})[\w-]+ is (?:deployed|hosted)|[a-z]+ (?:reviews|questions|requests|tickets) go to)\s)|,?\s(?:and|but|so)\s+(?P<then>(?:please )?(?:always|never)\s)",
    cues: CUES,
    value_end: r",?\s+(?:so not|because|since|as (?:it|they|that|i|we|the)\b|so that|so (?:i|we|it)\b|which|although|though|even though|due to|thanks to|after|when|whenever|while|where|but|except|given|and (?:i|we|it|he|she|they|that|my|our|am|have|had|got|just|then)\b)\b|[,;:]\s|\s[–—-]{1,2}\s|\s\(|[.!…]+\s*$",
    empty_value: r"(?:the (?:idea|way|fact|look|thought|sound|first|second|third|latter|former|other|last|new|old|same|one)|(?:it|this|that|these|those|them|you|your|how|what|when|where|why|who|him|her|his|their|its|one|both|either|neither|all|everything|something|anything|nothing|someone|everyone|here|there|option|seeing|hearing|being able|more|not|to (?:see|hear|think|say|believe|be|know|go with|point|thank|do (?:it|that|this))|your|another|a lot|a ton|tons|a bunch|loads|too|so|very|really|option \w+|a bit|such|any|some|much|most|quite|at|on|in|of|with|from|for|to)\b|\W*$)",
    subject: r"^(?:we|i)$|^our (?:\w+ )?(?:tests|stack|team|company|docs|scripts|jobs)$|\b(?:project|repo|repository|codebase|code|app|application|api|apis|backend|back-end|frontend|front-end|service|services|server|servers|website|site|stack|production|prod|staging|ci|pipeline|pipelines|worker|workers|cli|library|package|monorepo|platform|system|infrastructure|infra|dashboard|bot|extension|plugin|gateway|crate|binary|environment|deployment|microservices?)$",
    own_ground: r"^\s(?:project|repo|repository|codebase|app|application|service|api|package|library|workspace|monorepo|team|company)\b",
    pointing: r"\b(?:it|its|it's|this|that one|that's|these|those|them|they|they're|he|she|him|his|hers?|you|your|yours|you're|you've|here|there|the same|doing so|do so|above|below|following|such|the (?:former|latter|other|first|second) (?:one|option|approach|way)?)\b",
    about_project: r"`|\b(?:code|codebase|commit\w*|branch\w*|pull request|prs?|merg\w+|deploy\w*|test\w*|build\w*|releas\w+|migrat\w+|repo\w*|lint\w*|push\w*|changelog|endpoint|schema|api|ci|version\w*|module|function|class|script|docker\w*|config\w*|database|production|staging|package|dependenc\w+|ticket|sprint|type (?:check|hint|annotation)s?|services?|launch\w*|feature\w*|rollback\w*|sso|sign-on|incidents?|on-call|support|android|ios|app|page|imports?|docs?|docstrings?|rebas\w+|squash\w*|force-push)\b",
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
    problem: r"\b(?:fails?|failed|failing|crash(?:es|ed|ing)?|took (?:over |about |almost )?\d+ (?:minutes|hours)|breaks|broken|hangs?|times? out|timing out|timed out|(?:keeps?|kept) \w+ing|doesn't (?:work|build|compile|start|load|run|connect|render|update)|does not (?:work|build|compile|start)|isn't (?:working|loading|starting)|is not working|won't (?:start|build|compile|load|run|connect|open)|can't (?:connect|build|compile|install|start|log in|open|access)|cannot \w+|throws?|panics?|segfaults?|error(?:s|ing)?|exception|returns? (?:a )?(?:4\d\d|5\d\d|null|nothing)|(?:gets?|getting|got) (?:a |an |the )?(?:\w+ )?(?:error|4\d\d|5\d\d|exception|warning))\b",
    fixed: r"^(?:that was it\b|it(?:'s| is) (?:stable|fine|green|fast|solved|fixed) (?:now|again)|(?P<do>[^,.;]{3,120}?) (?:fixed|solved|resolved) (?:it|that|this|the (?:issue|problem|bug|error|crash|build))|(?:that|this|it|your (?:fix|change|suggestion)) (?:has |'s |totally |finally |really |actually )?(?:fixed|solved|resolved|worked|did the trick|does the trick|did it|helped)\b|(?:it|that|this|everything|the \w+(?: \w+)?) (?:is )?(?:works?|working|passes|builds|compiles|starts|runs) (?:fine |great |perfectly |correctly |again )*(?:now|again|after (?P<after>.{3,100}))|(?:works|working) (?:now|again|great|perfectly|like a charm|fine)|(?:the )?(?:fix|solution|root cause|cause|culprit|problem|issue) (?:was|turned out to be|ended up being)(?: that)? (?P<cause>.{4,200})|(?:turns out|turned out)(?: that)?,? (?P<turns>.{6,200})|(?:i|we) (?:fixed|solved|resolved) (?:it|that|this|the \w+) by (?P<by>.{4,200})|(?:all )?(?:fixed|solved|resolved)(?: now)?[.!]*$|(?:all )?tests (?:are )?(?:pass|passing|green)(?: now)?[.!]*$|it was (?P<was>(?:the|missing|because)\b.{4,200}))",
    failed: r"(?:i (?:already )?(?:tried|tested) (?P<do>.{4,150}?)(?:,? (?:but|and|yet) (?:it|that|this) (?:did(?:n't| not)|still (?:does|did)n't|doesn't|does not) (?:work|help|fix|solve|change|make)|,? (?:but|and) (?:it |that |this )?(?:still (?:fails|failed|crashes|broke)|no luck|to no avail|failed|made (?:it|things) worse))|(?P<what>(?-i:[A-Z])[a-z]+ing [^,.;]{3,100}?) (?:did(?:n't| not)) (?:work|help|fix (?:it|that|the \w+)|solve (?:it|that|the \w+))\b)",
    proposal: r"^(?:so |ok(?:ay)?,? |then |great[,.] )?(?:shall|should|do you want (?:me|us) to|would you like (?:me|us) to|do we want to|want me to)\s*(?:we|i)? ?(?:then |just |also )?(?P<verb>use|go with|switch (?:the |our )?(?:\w+ ){1,3}to|switch to|move to|migrate to|adopt|pick|choose|standardi[sz]e on|stick with|deploy to|deploy on|host it on|host on|keep using) (?P<v>[^?]{2,150})\?$",
    yes: r"(?:(?:yes|yep|yeah|yup|sure|ok|okay|absolutely|definitely|agreed|correct|exactly|please do|go ahead|sounds good|do it|do that|let's do (?:that|it)|perfect|great|please|go for it|that works|works for me)[\s,.!]*){1,4}$",
    dates: relative::english,
    alone,
    past: english_past,
    third_person,
    phrases: Phrases {
        user: "The user",
        said: "{who} said: \"{x}\"",
        standing: "{who}'s standing instruction: \"{x}\"",
        wish: "{who} wants {x} to be used",
        decided: "{who} decided to {x}",
        agreed: "The team decided to {x} (proposed by the assistant, confirmed by {who})",
        solved: "{problem}; {x}",
        solved_by: "{problem}; {x}, which solved it",
        solved_with: "{problem}; what solved it: \"{x}\"",
        error: "The error \"{x}\" came up",
        problem: "Problem: \"{x}\"",
        unwanted: "{who} does not want {x} to be used",
        over: " rather than ",
        assistant: "the assistant",
        called: "{who} wants to be called {x}",
        tried: "{who} tried {x}, which did not work",
        stop: ".",
    },
};
