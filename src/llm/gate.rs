//! Fewer calls at a time while a server is overloaded.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Lets calls in; half as many after each overload, one more after as many good answers as calls may be in flight.
#[derive(Debug)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    limit: usize,
    in_flight: usize,
    good_answers: usize,
}

impl Default for Gate {
    /// Returns a gate that stands open.
    fn default() -> Self {
        Self { state: Mutex::new(State { limit: usize::MAX, in_flight: 0, good_answers: 0 }), changed: Notify::new() }
    }
}

impl Gate {
    /// Returns a pass as soon as there is room.
    pub(super) async fn enter(&self) -> Pass<'_> {
        loop {
            // Made before the look at the state, so that no change between the two is missed.
            let changed = self.changed.notified();
            if self.try_enter() {
                return Pass { gate: self };
            }
            changed.await;
        }
    }

    fn try_enter(&self) -> bool {
        let mut state = self.state();
        let enters = state.in_flight < state.limit;
        state.in_flight += usize::from(enters);
        enters
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to have one call in flight, given back on drop.
pub(super) struct Pass<'a> {
    gate: &'a Gate,
}

impl Pass<'_> {
    /// Halves the calls that may be in flight, down to one.
    pub(super) fn narrow(&self) {
        let mut state = self.gate.state();
        state.limit = (state.in_flight / 2).max(1);
        state.good_answers = 0;
    }

    /// Counts a good answer.
    pub(super) fn widen(&self) {
        let mut state = self.gate.state();
        state.good_answers = state.good_answers.saturating_add(1);
        if state.good_answers >= state.limit {
            state.good_answers = 0;
            state.limit = state.limit.saturating_add(1);
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.gate.state().in_flight -= 1;
        self.gate.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn overload_halves_and_good_answers_widen_by_one() {
        let gate = Gate::default();
        let mut passes: Vec<_> = (0..8).map(|_| gate.enter().now_or_never().unwrap()).collect();
        passes[0].narrow();
        assert_eq!(gate.state().limit, 4);
        passes.truncate(4);
        assert!(gate.enter().now_or_never().is_none());
        passes.truncate(3);
        passes.push(gate.enter().now_or_never().unwrap());
        for _ in 0..4 {
            passes[0].widen();
        }
        assert_eq!(gate.state().limit, 5);
        passes.truncate(1);
        passes[0].narrow();
        assert_eq!(gate.state().limit, 1);
    }

    #[tokio::test]
    async fn a_waiting_call_is_let_in_when_another_ends() {
        let gate = Gate::default();
        let first = gate.enter().await;
        first.narrow();
        let (second, ()) = tokio::join!(gate.enter(), async { drop(first) });
        assert_eq!(gate.state().in_flight, 1);
        drop(second);
        assert_eq!(gate.state().in_flight, 0);
    }
}
