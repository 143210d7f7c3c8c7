//! Steps that change a store, as values that proptest can shrink. Their targets are chosen when they are executed.

use proptest::prelude::*;

use super::facts::{Fact, Focus, any_fact, any_focus};
use super::model::{Who, anybody};

/// The index of an existing object, modulo the number of objects.
pub type Pick = u8;

/// Steps that are executed as a run, which can be undone.
#[derive(Debug, Clone, PartialEq)]
pub enum Run {
    Take {
        facts: Vec<Fact>,
        who: Who,
    },
    /// A previous batch is processed again.
    Again {
        batch: Pick,
        who: Who,
    },
    Merge {
        from: u8,
        into: u8,
    },
    Accept(Pick),
    Reject(Pick),
    Expire,
    /// All memories are compared with each other, using the rules.
    Tidy,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Run(Run),
    /// A run is executed and then undone, and nothing remains of it.
    ThereAndBack(Run),
    Undo(Pick),
    Remember(Fact),
    Forget(Pick),
    Restore(Pick),
    Pin(Pick),
    Unpin(Pick),
    Reword(Pick, Fact),
    Export,
    /// The last export is imported unchanged, or consolidated with the existing memories.
    Import {
        consolidate: bool,
    },
    /// Lines in the format of another program are imported.
    ImportLines {
        facts: Vec<Fact>,
        consolidate: bool,
    },
    Purge {
        days: u8,
    },
}

fn any_batch(focus: Focus) -> impl Strategy<Value = Vec<Fact>> {
    prop::collection::vec(any_fact(focus), 1..6)
}

fn any_run(focus: Focus) -> impl Strategy<Value = Run> {
    prop_oneof![
        8 => (any_batch(focus), anybody()).prop_map(|(facts, who)| Run::Take { facts, who }),
        3 => (any::<Pick>(), anybody()).prop_map(|(batch, who)| Run::Again { batch, who }),
        2 => (0..3_u8, 0..3_u8).prop_map(|(from, into)| Run::Merge { from, into }),
        2 => any::<Pick>().prop_map(Run::Accept),
        1 => any::<Pick>().prop_map(Run::Reject),
        1 => Just(Run::Expire),
        2 => Just(Run::Tidy),
    ]
}

fn any_step(focus: Focus) -> impl Strategy<Value = Step> {
    prop_oneof![
        18 => any_run(focus).prop_map(Step::Run),
        3 => any_run(focus).prop_map(Step::ThereAndBack),
        5 => any::<Pick>().prop_map(Step::Undo),
        2 => any_fact(focus).prop_map(Step::Remember),
        4 => any::<Pick>().prop_map(Step::Forget),
        4 => any::<Pick>().prop_map(Step::Restore),
        2 => any::<Pick>().prop_map(Step::Pin),
        1 => any::<Pick>().prop_map(Step::Unpin),
        1 => (any::<Pick>(), any_fact(focus)).prop_map(|(which, fact)| Step::Reword(which, fact)),
        1 => Just(Step::Export),
        2 => any::<bool>().prop_map(|consolidate| Step::Import { consolidate }),
        1 => (any_batch(focus), any::<bool>()).prop_map(|(facts, consolidate)| Step::ImportLines { facts, consolidate }),
        1 => (0..20_u8).prop_map(|days| Step::Purge { days }),
    ]
}

pub fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    any_focus().prop_flat_map(|focus| prop::collection::vec(any_step(focus), 1..20))
}

pub fn any_runs() -> impl Strategy<Value = Vec<Run>> {
    any_focus().prop_flat_map(|focus| prop::collection::vec(any_run(focus), 1..12))
}
