//! Reasons for which a candidate waits for a person.

/// Why a candidate waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspicion {
    /// It instructs the assistant to ignore its rules.
    Override,
    /// It permits the assistant to act without asking.
    Authority,
    /// It claims privileges for somebody.
    Rights,
    /// It asks for something to be fetched and run repeatedly.
    RemoteCode,
    /// It prescribes an answer.
    ScriptedAnswer,
    /// It asks for something to be hidden from the user.
    Concealment,
    /// It asks for data to be sent elsewhere.
    Exfiltration,
    /// It gives instructions to the memory.
    MemoryOrder,
    /// It is a rule from pasted text, a page or a tool, and not from anybody in the conversation.
    PastedRule,
}

impl Suspicion {
    /// Returns a short description for people.
    #[must_use]
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Override => "reads like an order to set rules aside",
            Self::Authority => "reads like leave to act unasked",
            Self::Rights => "claims rights for somebody",
            Self::RemoteCode => "would have fetched code run again and again",
            Self::ScriptedAnswer => "lays down what to answer",
            Self::Concealment => "would keep something from the user",
            Self::Exfiltration => "would have data sent away",
            Self::MemoryOrder => "reads like an order to the memory",
            Self::PastedRule => "is a rule in pasted or quoted text",
        }
    }
}
