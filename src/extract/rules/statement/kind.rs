//! Kinds of statements that last, and how each is kept.

use crate::memory::MemoryType;

/// What a statement is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// What is always or never to be done.
    Rule,
    /// Steps in their order, for a case that is named.
    Steps,
    /// What was decided or agreed.
    Decision,
    /// What must be, cannot be, or is allowed only in part.
    Limit,
    /// Illness, medicine, diet.
    Health,
    /// Family, friends, colleagues, animals.
    People,
    /// Who does what.
    Role,
    /// What happened in somebody's life or work.
    Event,
    /// What will happen, on a day that is named.
    Plan,
    /// What a trouble came from, or what ended it.
    Cause,
    /// What did not help.
    Vain,
    /// What somebody likes, or cannot bear.
    Taste,
    /// What is so now and was not before.
    Change,
    /// How things are called, written, laid out.
    Form,
    /// Who the speaker is, and what they have and do.
    Own,
    /// Where and what things of the work are.
    Fact,
}

/// How a kind is kept.
pub(super) struct Shelf {
    pub(super) memory_type: MemoryType,
    pub(super) category: &'static str,
    pub(super) importance: f64,
    /// Whether it is the speaker's own matter even where the work is talked of.
    pub(super) personal: bool,
}

/// Names of the sections of a table.
const NAMES: &[(&str, Kind)] = &[
    ("rule", Kind::Rule),
    ("steps", Kind::Steps),
    ("decision", Kind::Decision),
    ("limit", Kind::Limit),
    ("health", Kind::Health),
    ("people", Kind::People),
    ("role", Kind::Role),
    ("event", Kind::Event),
    ("plan", Kind::Plan),
    ("cause", Kind::Cause),
    ("vain", Kind::Vain),
    ("taste", Kind::Taste),
    ("change", Kind::Change),
    ("form", Kind::Form),
    ("own", Kind::Own),
    ("fact", Kind::Fact),
];

impl Kind {
    /// Returns the kind whose section has this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|&(_, kind)| kind)
    }

    /// Whether a statement of this kind says something only where it names a thing: "we always have fun" does not.
    pub(super) const fn must_name(self) -> bool {
        matches!(
            self,
            Self::Rule
                | Self::Change
                | Self::Decision
                | Self::Taste
                | Self::Limit
                | Self::Event
                | Self::Role
                | Self::Fact
                | Self::Own
        )
    }

    /// Whether a few words are enough to say something of this kind: "Maeve hates lilies".
    pub(super) const fn is_plain(self) -> bool {
        matches!(self, Self::Own | Self::Fact | Self::Health | Self::People | Self::Taste)
    }

    /// Returns how statements of this kind are kept.
    pub(super) fn shelf(self) -> Shelf {
        let shelf = |memory_type, category, importance, personal| Shelf { memory_type, category, importance, personal };
        match self {
            Self::Rule | Self::Form => shelf(MemoryType::Procedural, "convention", 0.8, false),
            Self::Steps => shelf(MemoryType::Procedural, "workflow", 0.8, false),
            Self::Decision => shelf(MemoryType::Semantic, "decision", 0.8, false),
            Self::Limit => shelf(MemoryType::Semantic, "project", 0.8, false),
            Self::Health => shelf(MemoryType::Semantic, "fact", 0.9, true),
            Self::People | Self::Own => shelf(MemoryType::Semantic, "fact", 0.6, true),
            Self::Role | Self::Fact => shelf(MemoryType::Semantic, "project", 0.6, false),
            Self::Event => shelf(MemoryType::Episodic, "fact", 0.6, true),
            Self::Plan => shelf(MemoryType::Episodic, "fact", 0.7, false),
            Self::Cause => shelf(MemoryType::Episodic, "solution", 0.7, false),
            Self::Vain => shelf(MemoryType::Episodic, "mistake", 0.6, false),
            Self::Taste => shelf(MemoryType::Semantic, "preference", 0.7, true),
            Self::Change => shelf(MemoryType::Semantic, "fact", 0.7, false),
        }
    }
}
