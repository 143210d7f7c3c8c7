//! Tests with random histories of a store, in which certain invariants must be true after any sequence of steps.
//!
//! Each case is a list of steps. After a failure, proptest removes the steps that are not needed to reproduce it. Steps
//! refer to existing objects by number, so that every list of steps can be executed without preconditions.
//!
//! `PROPTEST_CASES` sets the number of cases for each property, for longer tests.

mod facts;
mod laws;
mod model;
mod order;
mod played;
mod rows;
mod steps;
mod story;

use proptest::prelude::*;

use self::played::Machine;
use self::rows::{State, difference};
use self::steps::{any_runs, any_steps};

/// Returns a number of cases that is low enough for every test run, unless the environment requests more.
fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { cases };
    ProptestConfig { cases, failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn whatever_happens_nothing_is_lost_revived_or_made_up(steps in any_steps()) {
        let mut machine = Machine::new();
        let mut before = State::default();
        for step in &steps {
            machine.step(step);
            before = laws::check(&machine, &before, step);
        }
        machine.import_of_itself_changes_nothing();
    }

    #[test]
    fn undoing_all_runs_from_the_last_leads_back_to_the_beginning(runs in any_runs()) {
        let mut machine = Machine::new();
        let beginning = machine.snapshot();
        for run in &runs {
            machine.run(run);
        }
        for run in machine.runs.clone().iter().rev() {
            let kept = machine.undo_run(run).map(|undone| undone.kept).unwrap_or_default();
            prop_assert_eq!(kept, vec![], "nothing is built on it any more\n{}", machine.story());
        }
        let left = difference(&beginning, &machine.snapshot());
        prop_assert!(left.is_empty(), "{:#?}\n{}", left, machine.story());
    }
}
