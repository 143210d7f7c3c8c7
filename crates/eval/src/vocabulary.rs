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
        /// A memory that search and briefs return.
        Active = "active",
        /// A memory that a newer one has replaced.
        Superseded = "superseded",
        /// A memory that a person deleted.
        Forgotten = "forgotten",
        /// A memory whose time has run out.
        Expired = "expired",
        /// A memory that waits in the inbox for a person.
        Pending = "pending",
    }
    /// Intended lifetime of a memory.
    Scope {
        /// The memory is kept until something replaces it.
        LongTerm = "long_term",
        /// The memory fades within days.
        ShortTerm = "short_term",
    }
    /// Relation between two memories.
    RelationType {
        /// Both memories say the same independently.
        Supports = "supports",
        /// The two memories cannot both be true.
        Contradicts = "contradicts",
        /// One memory adds detail to the other.
        Refines = "refines",
        /// One memory has replaced the other.
        Supersedes = "supersedes",
        /// One memory was generalised from the other.
        DerivedFrom = "derived_from",
        /// Both memories are about the same subject.
        Related = "related",
    }
    /// Decision about an incoming memory.
    Decision {
        /// The memory is new.
        Add = "add",
        /// The memory is an exact duplicate.
        Skip = "skip",
        /// The memory is combined with a known memory.
        Merge = "merge",
        /// The memory replaces a known memory with more detail.
        Refine = "refine",
        /// The memory contradicts a known memory.
        Contradict = "contradict",
        /// The memory confirms a known memory independently.
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
        /// Something whose loss does harm: a lasting preference, decision, hard rule or costly lesson.
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
        /// A fact about one person that was attributed to another.
        ThirdPartyMisattributed = "third-party-misattributed",
        /// A request for one occasion that was kept as a rule.
        OneOff = "one-off",
        /// Known to everybody.
        CommonKnowledge = "common-knowledge",
        /// Text that was recalled from the memory and not said.
        Recalled = "recalled",
        /// A wrong absolute date.
        StaleDate = "stale-date",
        /// Data of an example or a test.
        ExampleData = "example-data",
        /// Output of a tool.
        ToolOutput = "tool-output",
        /// Something said by a person other than the one that the memory names.
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
        /// A tool whose output the message contains.
        Tool = "tool",
        /// The program around the conversation.
        System = "system",
        /// Anybody else.
        Other = "other",
    }
    /// The reason why similarity alone would wrongly merge or retire a memory; `evals/consolidation/README.md` explains
    /// each.
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
        /// A single occasion compared with a habit.
        OnceHabit = "once-habit",
        /// A plan compared with what was done.
        Plan = "plan",
        /// A part compared with the whole.
        PartWhole = "part-whole",
        /// Another role in the same event.
        Role = "role",
        /// Another order of the same steps.
        Order = "order",
        /// A value in addition to another one, not instead of it.
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
    /// An action of a person on a memory.
    Action {
        /// Forgets it.
        Forget = "forget",
        /// Makes a memory active again.
        Restore = "restore",
        /// Pins it.
        Pin = "pin",
        /// Rejects a memory in the inbox.
        Reject = "reject",
        /// Accepts a memory in the inbox.
        Accept = "accept",
    }
    /// Kind of the rows of a result file.
    Kind {
        /// Memories extracted from a conversation.
        Extraction = "extraction",
        /// The decision about an incoming memory when another is stored.
        Pair = "pair",
        /// The memories at the end of a stream of incoming memories.
        Stream = "stream",
        /// Memories that a query finds.
        Recall = "recall",
        /// Memories that a brief contains.
        Brief = "brief",
        /// Memories found for a question.
        Qa = "qa",
        /// `LoCoMo`: answers that the memories of a conversation retain.
        Retention = "retention",
        /// `LoCoMo`: questions for which turns and memories are searched.
        Locomo = "locomo",
        /// `LoCoMo`: memories compared with the observations of the file.
        LocomoObservations = "locomo-observations",
        /// `LoCoMo`: questions for which the turns are searched in one way.
        LocomoSearch = "locomo-search",
        /// `LongMemEval`: sessions and turns found for a question.
        LongMemEval = "longmemeval",
        /// `HaluMem`: memories compared with the points of a user.
        HaluMem = "halumem",
        /// `HaluMem`: questions for which the extracted memories are searched.
        HaluMemQuestions = "halumem-questions",
        /// `HaluMem`: questions for which a store of all points is searched.
        HaluMemRetrieval = "halumem-retrieval",
    }
    /// A fault in the outcome of a pair.
    PairFault {
        /// The decision is not among the right ones.
        Decision = "wrong decision",
        /// The contradiction has a wrong reason.
        Why = "wrong reason",
        /// The contradiction has the wrong order in time.
        Late = "wrong order in time",
        /// The two memories of a hard case were joined.
        FalseMerge = "false merge",
        /// A valid memory was retired.
        WrongRetirement = "wrongly retired",
        /// A contradiction was not found.
        MissedContradiction = "missed contradiction",
        /// The known fact should remain, but no memory states it.
        LostKnown = "known fact lost",
        /// The incoming fact should remain or wait, but no memory states it.
        LostIncoming = "incoming fact lost",
        /// No memory states a detail that only one of the two has.
        LostDetail = "detail lost",
    }
    /// A fault in the outcome of an event.
    StreamFault {
        /// The event should be active or waiting, but no memory is based on it.
        Lost = "lost",
        /// The event should be gone or waiting, but is active.
        Alive = "wrongly alive",
        /// The event should be active or gone, but waits in the inbox.
        Waiting = "wrongly waiting",
        /// The event shares a memory with an event of another group.
        Merged = "wrongly merged",
        /// The event is separate from another event with which it should share a memory.
        Apart = "wrongly apart",
        /// A relation is missing.
        Unlinked = "not linked",
        /// An action of a person could not be carried out.
        Act = "not done",
    }
}
