//! The terms that occur in case files and result files: types, states, decisions, languages, kinds of rows.

/// Declares enums with one spelling for each value, which both files and reports use.
macro_rules! vocabulary {
    ($($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal),+ $(,)? })+) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every value, in the order in which reports list them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

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
        /// A memory whose validity has ended.
        Expired = "expired",
        /// A memory in the inbox that waits for a person's decision.
        Pending = "pending",
    }
    /// Intended lifetime of a memory.
    Scope {
        /// The memory is kept until another memory replaces it.
        LongTerm = "long_term",
        /// The memory fades within days.
        ShortTerm = "short_term",
    }
    /// Relation between two memories.
    RelationType {
        /// Both memories independently state the same fact.
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
        /// The memory independently confirms a known memory.
        Support = "support",
    }
    /// Reason why two memories contradict each other.
    Conflict {
        /// The facts have changed.
        Changed = "changed",
        /// The older memory was wrong.
        Corrected = "corrected",
        /// Not resolved: a person has to decide.
        Conflict = "conflict",
    }
    /// How much a memory matters.
    #[derive(Default)]
    Importance {
        /// Information whose loss does harm: a lasting preference, a decision, a strict rule or a costly lesson.
        High = "high",
        /// Useful background.
        #[default]
        Medium = "medium",
        /// Minor information.
        Low = "low",
    }
    /// Reason why a memory must not be kept.
    ForbiddenKind {
        /// A key, token or password.
        Secret = "secret",
        /// An instruction to readers of the conversation, such as an agent.
        Injection = "injection",
        /// The assistant's claim or guess that nobody confirmed.
        AssistantClaim = "assistant-claim",
        /// A supposition.
        Hypothetical = "hypothetical",
        /// Part of a story or a game.
        Fiction = "fiction",
        /// Sarcasm or mockery.
        Sarcasm = "sarcasm",
        /// A fact about one person that was attributed to another.
        ThirdPartyMisattributed = "third-party-misattributed",
        /// A request for one occasion that was kept as a rule.
        OneOff = "one-off",
        /// Common knowledge.
        CommonKnowledge = "common-knowledge",
        /// Text that came from the memory and was not said in the conversation.
        Recalled = "recalled",
        /// A wrong absolute date.
        StaleDate = "stale-date",
        /// Example or test data.
        ExampleData = "example-data",
        /// Output of a tool.
        ToolOutput = "tool-output",
        /// A statement that the memory attributes to the wrong person.
        Misattributed = "misattributed",
        /// A statement that was denied.
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
        /// The program that manages the conversation.
        System = "system",
        /// Any other author.
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
        /// A single occasion versus a habit.
        OnceHabit = "once-habit",
        /// A plan versus an action that was carried out.
        Plan = "plan",
        /// A part versus the whole.
        PartWhole = "part-whole",
        /// Another role in the same event.
        Role = "role",
        /// Another order of the same steps.
        Order = "order",
        /// A value in addition to another value, not instead of it.
        ValueBeside = "value-beside",
        /// An exception to a rule.
        Exception = "exception",
        /// Another environment, such as staging instead of production.
        Surroundings = "surroundings",
        /// Another meaning of the same word.
        Homonym = "homonym",
        /// Another scope.
        Scope = "scope",
    }
    /// An action that a person performs on a memory.
    Action {
        /// Forgets a memory.
        Forget = "forget",
        /// Makes a memory active again.
        Restore = "restore",
        /// Pins a memory.
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
        /// The decision about an incoming memory, given one stored memory.
        Pair = "pair",
        /// The memories at the end of a stream of incoming memories.
        Stream = "stream",
        /// Memories that a query finds.
        Recall = "recall",
        /// Memories that a brief contains.
        Brief = "brief",
        /// Memories that a search finds for a question.
        Qa = "qa",
        /// `LoCoMo`: answers that the memories of a conversation retain.
        Retention = "retention",
        /// `LoCoMo`: questions that are answered by searching turns and memories.
        Locomo = "locomo",
        /// `LoCoMo`: memories compared with the observations of the file.
        LocomoObservations = "locomo-observations",
        /// `LoCoMo`, `REALTALK` and `BEAM`: questions that are answered by searching the turns in one particular way.
        LocomoSearch = "locomo-search",
        /// `LongMemEval`: sessions and turns found for a question.
        LongMemEval = "longmemeval",
        /// `HaluMem`: memories compared with the points of a user.
        HaluMem = "halumem",
        /// `HaluMem`: questions that are answered by searching the extracted memories.
        HaluMemQuestions = "halumem-questions",
        /// `HaluMem`: questions that are answered by searching a store of all points.
        HaluMemRetrieval = "halumem-retrieval",
        /// `MemoryCode`: memories compared with the instructions of a dialogue.
        MemoryCode = "memorycode",
        /// `PrecisionMemBench`: exact sets of beliefs that a query finds.
        PrecisionMemBench = "precisionmembench",
        /// `SWE-ContextBench`: sessions found for an issue.
        SweContextBench = "swe-contextbench",
        /// The closed loop: an agent's work on a task.
        Loop = "loop",
    }
    /// Relation of a task of the closed loop to its first session.
    TaskKind {
        /// The task depends on what the first session teaches.
        Lesson = "lesson",
        /// What the first session teaches is out of date or does not fit the task.
        Stale = "stale",
    }
    /// What the first session of a task teaches.
    Teaching {
        /// An option of a command.
        Flag = "flag",
        /// An order of steps.
        Order = "order",
        /// An approach that failed.
        FailedApproach = "failed_approach",
        /// A convention of the project.
        Convention = "convention",
        /// A decision that was revised.
        ChangeOfMind = "change_of_mind",
    }
    /// Experimental arm of the closed loop: the texts that the agent is shown. `evals/loop/PROTOCOL.md` defines the
    /// arms.
    Arm {
        /// Nothing.
        None = "none",
        /// Hooks that run before the first step.
        Preamble = "preamble",
        /// Hooks that run when the agent acts.
        Act = "act",
        /// All hooks.
        Both = "both",
        /// The lesson itself.
        Ceiling = "ceiling",
        /// All hooks, with a wrong memory.
        Harm = "harm",
        /// Control: all hooks, with three lessons of other tasks.
        Random = "random",
        /// Control: all hooks, with the lessons of all other tasks.
        All = "all",
        /// Control: all hooks, with the memories of another project.
        Other = "other",
        /// Control: the frame of the lesson without the lesson.
        NoHint = "no-hint",
    }
    /// A prepared solution of a task.
    Solution {
        /// The solution of an agent that knows the lesson.
        With = "with",
        /// The solution of an agent that knows nothing.
        Without = "without",
        /// The solution of an agent that follows the wrong memory.
        Wrong = "wrong",
    }
    /// A fault in the outcome of a pair.
    PairFault {
        /// The decision is not one of the correct decisions.
        Decision = "wrong decision",
        /// The contradiction has a wrong reason.
        Why = "wrong reason",
        /// The contradiction gives the wrong chronological order.
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
        /// No memory states a detail that occurs in only one of the two memories.
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
        /// The event has a memory of its own, although it should share one with another event.
        Apart = "wrongly apart",
        /// A relation is missing.
        Unlinked = "not linked",
        /// An action of a person could not be carried out.
        Act = "not done",
    }
}
