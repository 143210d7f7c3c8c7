//! The terms that occur in case files and result files: types, states, decisions, languages, kinds of rows.

/// Declares enums with one spelling for each value, which is used in both files and reports.
macro_rules! vocabulary {
    ($($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal),+ $(,)? })+) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every value, in the order in which reports list them.
            pub(crate) const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the spelling used in files and reports.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().copied().find(|value| value.as_str() == text);
                found.ok_or_else(|| format!("unknown {} {text:?}", stringify!($name)))
            }
        }
    )+ };
}
vocabulary! {
    /// Kind of memory.
    MemoryType {
        /// Facts, preferences and decisions.
        Semantic = "semantic",
        /// Events: a situation, an action and its outcome.
        Episodic = "episodic",
        /// Instructions, conventions and workflows.
        Procedural = "procedural",
    }
    /// State of a stored memory.
    Status {
        /// Search and briefs return it.
        Active = "active",
        /// A newer memory has replaced it.
        Superseded = "superseded",
        /// A person deleted it.
        Forgotten = "forgotten",
        /// Its time has run out.
        Expired = "expired",
        /// It waits in the inbox for a person.
        Pending = "pending",
    }
    /// Intended lifetime of a memory.
    Scope {
        /// It is kept until something replaces it.
        LongTerm = "long_term",
        /// It fades within days.
        ShortTerm = "short_term",
    }
    /// Relation between two memories.
    RelationType {
        /// Both say the same independently.
        Supports = "supports",
        /// Both cannot be true.
        Contradicts = "contradicts",
        /// One adds detail to the other.
        Refines = "refines",
        /// One has replaced the other.
        Supersedes = "supersedes",
        /// One was generalised from the other.
        DerivedFrom = "derived_from",
        /// Both are about the same subject.
        Related = "related",
    }
    /// Decision about a memory that arrives.
    Decision {
        /// It is new.
        Add = "add",
        /// It is an exact duplicate.
        Skip = "skip",
        /// It is combined with a known memory.
        Merge = "merge",
        /// It replaces a known memory with more detail.
        Refine = "refine",
        /// It contradicts a known memory.
        Contradict = "contradict",
        /// It confirms a known memory independently.
        Support = "support",
    }
    /// Reason why two memories contradict each other.
    Conflict {
        /// The world has changed.
        Changed = "changed",
        /// The older memory was wrong.
        Corrected = "corrected",
        /// Unresolved: a person has to decide.
        Conflict = "conflict",
    }
    /// How much a memory matters.
    #[derive(Default)]
    Importance {
        /// Missing it does harm; a lasting preference, decision, hard rule or costly lesson.
        High = "high",
        /// Useful background.
        #[default]
        Medium = "medium",
        /// Minor.
        Low = "low",
    }
    /// Why something must not be kept.
    ForbiddenKind {
        /// A key, token or password.
        Secret = "secret",
        /// An instruction to whoever reads the conversation.
        Injection = "injection",
        /// The assistant's claim or guess that nobody confirmed.
        AssistantClaim = "assistant-claim",
        /// A supposition.
        Hypothetical = "hypothetical",
        /// Part of a story or a game.
        Fiction = "fiction",
        /// Mockery.
        Sarcasm = "sarcasm",
        /// A fact about one person, kept of another.
        ThirdPartyMisattributed = "third-party-misattributed",
        /// A request for this once, kept as a rule.
        OneOff = "one-off",
        /// Known to everybody.
        CommonKnowledge = "common-knowledge",
        /// Recalled from the memory, not said.
        Recalled = "recalled",
        /// A wrong absolute date.
        StaleDate = "stale-date",
        /// Data of an example or a test.
        ExampleData = "example-data",
        /// Output of a tool.
        ToolOutput = "tool-output",
        /// Said by somebody else than the memory names.
        Misattributed = "misattributed",
        /// Something that was denied.
        Denied = "denied",
    }
    /// Language of a case.
    Language {
        /// English.
        En = "en",
        /// Chinese.
        Zh = "zh",
        /// Spanish.
        Es = "es",
        /// German.
        De = "de",
    }
    /// A reader's verdict on a memory that no gold memory matches.
    Ruling {
        /// True, and worth keeping.
        Kept = "kept",
        /// False, or not worth keeping.
        Wrong = "wrong",
    }
    /// Author of a message.
    #[derive(Default)]
    Role {
        /// A person.
        #[default]
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// A tool, of which this is the output.
        Tool = "tool",
        /// The program around the conversation.
        System = "system",
        /// Anybody else.
        Other = "other",
    }
    /// Why similarity alone would wrongly merge or retire; `evals/consolidation/README.md` explains each.
    Hard {
        /// Another person.
        Person = "person",
        /// Another number.
        Number = "number",
        /// Another unit.
        Unit = "unit",
        /// Another version.
        Version = "version",
        /// Another date.
        Date = "date",
        /// Another name.
        Name = "name",
        /// A negation.
        Negation = "negation",
        /// Another namespace.
        Namespace = "namespace",
        /// One occasion against a habit.
        OnceHabit = "once-habit",
        /// A plan against what was done.
        Plan = "plan",
        /// A part against the whole.
        PartWhole = "part-whole",
        /// Another role in the same event.
        Role = "role",
        /// Another order of the same steps.
        Order = "order",
        /// A value beside another one, not instead of it.
        ValueBeside = "value-beside",
        /// An exception to a rule.
        Exception = "exception",
        /// Other surroundings, such as staging and production.
        Surroundings = "surroundings",
        /// Another meaning of the same word.
        Homonym = "homonym",
        /// Another scope.
        Scope = "scope",
    }
    /// What a person does to a memory.
    Action {
        /// Forgets it.
        Forget = "forget",
        /// Makes it active again.
        Restore = "restore",
        /// Pins it.
        Pin = "pin",
        /// Rejects what waits in the inbox.
        Reject = "reject",
        /// Accepts what waits in the inbox.
        Accept = "accept",
    }
    /// Kind of the rows of a result file.
    Kind {
        /// Memories extracted from a conversation.
        Extraction = "extraction",
        /// The decision about a memory that arrives where another is known.
        Pair = "pair",
        /// The memories at the end of a stream of arrivals.
        Stream = "stream",
        /// Memories that a query finds.
        Recall = "recall",
        /// Memories that a brief contains.
        Brief = "brief",
        /// Memories found for a question.
        Qa = "qa",
        /// `LoCoMo`: answers left in the memories of a conversation.
        Retention = "retention",
        /// `LoCoMo`: questions to turns and memories.
        Locomo = "locomo",
        /// `LoCoMo`: memories compared with the observations of the file.
        LocomoObservations = "locomo-observations",
        /// `LoCoMo`: questions to one way of searching the turns.
        LocomoSearch = "locomo-search",
        /// `LongMemEval`: sessions and turns found for a question.
        LongMemEval = "longmemeval",
        /// `HaluMem`: memories compared with the points of a user.
        HaluMem = "halumem",
        /// `HaluMem`: questions to the extracted memories.
        HaluMemQuestions = "halumem-questions",
        /// `HaluMem`: questions to a store of all points.
        HaluMemRetrieval = "halumem-retrieval",
    }
    /// A fault in the outcome of a pair.
    PairFault {
        /// The decision is not among the right ones.
        Decision = "wrong decision",
        /// It contradicts for another reason.
        Why = "wrong reason",
        /// It contradicts with the order in time reversed.
        Late = "wrong order in time",
        /// A hard case was joined.
        FalseMerge = "false merge",
        /// A valid memory was retired.
        WrongRetirement = "wrongly retired",
        /// A contradiction was not found.
        MissedContradiction = "missed contradiction",
        /// The known fact should remain, and no memory states it.
        LostKnown = "known fact lost",
        /// The incoming fact should remain or wait, and no memory states it.
        LostIncoming = "incoming fact lost",
        /// No memory states a detail that only one of the two has.
        LostDetail = "detail lost",
    }
    /// A fault in the outcome of an event.
    StreamFault {
        /// It should be active or wait, and no memory rests on it.
        Lost = "lost",
        /// It should be gone or wait, and is active.
        Alive = "wrongly alive",
        /// It should be active or gone, and waits in the inbox.
        Waiting = "wrongly waiting",
        /// It shares a memory with an event of another one.
        Merged = "wrongly merged",
        /// It is apart from an event with which it should share a memory.
        Apart = "wrongly apart",
        /// A relation is missing.
        Unlinked = "not linked",
        /// A person's act could not be done.
        Act = "not done",
    }
}
