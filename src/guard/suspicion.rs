//! Reasons why a candidate waits for review by a person.

/// The reason why a candidate waits for review by a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suspicion {
    /// The candidate instructs the assistant to ignore its rules.
    Override,
    /// The candidate permits the assistant to act without asking.
    Authority,
    /// The candidate claims privileges for somebody.
    Rights,
    /// The candidate asks for something to be fetched and run repeatedly.
    RemoteCode,
    /// The candidate prescribes an answer.
    ScriptedAnswer,
    /// The candidate asks for something to be hidden from the user.
    Concealment,
    /// The candidate asks for data to be sent elsewhere.
    Exfiltration,
    /// The candidate gives instructions to the memory.
    MemoryOrder,
    /// A classifier, rather than a rule, finds an order.
    Order,
    /// The candidate is a rule from pasted text, a page or a tool, rather than from a participant of the conversation.
    PastedRule,
    /// The candidate is an order or a statement about the user, from a log that is part of a repository.
    Shipped,
    /// Every memory from this origin waits, whatever it says.
    Unreviewed,
}

impl Suspicion {
    /// Returns a short description for people.
    #[must_use]
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Override => "reads like an order to ignore rules",
            Self::Authority => "reads like permission to act without asking",
            Self::Rights => "claims rights for somebody",
            Self::RemoteCode => "would run downloaded code repeatedly",
            Self::ScriptedAnswer => "prescribes an answer",
            Self::Concealment => "would hide something from the user",
            Self::Exfiltration => "would send data elsewhere",
            Self::MemoryOrder => "reads like an order to the memory system",
            Self::Order => "may be an order to act against the user",
            Self::PastedRule => "is a rule in pasted or quoted text",
            Self::Shipped => "comes from a log that is part of a repository, so anybody may have written it",
            Self::Unreviewed => "has not been reviewed by a person yet",
        }
    }
}
