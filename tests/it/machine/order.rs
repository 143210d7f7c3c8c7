//! Tests that the final state does not depend on the order or the batches in which memories were learnt.

use std::collections::BTreeSet;

use afterthought::consolidate::IncomingClaim;
use afterthought::consolidate::compare::key::canonical;
use afterthought::memory::{Memory, Status};
use proptest::prelude::*;

use super::config;
use super::facts::{Fact, MASCOT, RESIDENCE, TOPICS, place};
use super::model::Who;
use super::played::Machine;

/// How it is known when a value was true.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Time {
    /// By the time of the statement.
    Said,
    /// By words about the start of validity; all statements are made on the same day.
    Since,
}

/// Values of one key, each with the day on which it is true, in the order in which they are learnt.
#[derive(Debug, Clone)]
struct Stream {
    topic: u8,
    time: Time,
    /// Day, value, wording, and whether the statement is certain.
    arrivals: Vec<(u8, u8, u8, bool)>,
    /// Number of facts in a batch.
    size: usize,
    who: Who,
}

/// Generates streams in which the start of a value is stated once, or in chronological order: repeating a current value
/// does not reveal whether there was another value in between.
fn any_stream(topic: u8, who: impl Strategy<Value = Who>) -> impl Strategy<Value = Stream> {
    let said = (Just(Time::Said), any_values(), Just(Order::Any));
    let since = (Just(Time::Since), any_values(), prop_oneof![Just(Order::Any), Just(Order::OfTime)]);
    let told = prop_oneof![said, since].prop_flat_map(|(time, mut values, order)| {
        if (time, order) == (Time::Since, Order::Any) {
            let mut told = BTreeSet::new();
            values.retain(|(_, value, ..)| told.insert(*value));
        }
        let arrivals = if order == Order::Any { Just(values).prop_shuffle().boxed() } else { Just(values).boxed() };
        (Just(time), arrivals)
    });
    (told, 1..6_usize, who).prop_map(move |((time, arrivals), size, who)| Stream { topic, time, arrivals, size, who })
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    Any,
    OfTime,
}

fn any_values() -> impl Strategy<Value = Vec<(u8, u8, u8, bool)>> {
    let values = prop::collection::btree_map(0..12_u8, (0..3_u8, 0..3_u8, any::<bool>()), 2..6);
    values.prop_map(|values| {
        values.into_iter().map(|(day, (value, wording, sure))| (day, value, wording, sure)).collect()
    })
}

impl Stream {
    fn facts(&self) -> Vec<Fact> {
        let fact = |&(on, value, wording, is_sure): &(u8, u8, u8, bool)| {
            let (day, since) = match self.time {
                Time::Said => (on, None),
                Time::Since => (12, Some(12 - on)),
            };
            Fact {
                place: 0,
                topic: self.topic,
                value,
                wording,
                talk: on,
                day,
                is_dated: true,
                since,
                has_key: true,
                is_sure,
                expires: None,
                replaces: None,
            }
        };
        self.arrivals.iter().map(fact).collect()
    }

    fn play(&self) -> Machine {
        let mut machine = Machine::new();
        for batch in self.facts().chunks(self.size) {
            let incoming: Vec<IncomingClaim> = batch.iter().map(|fact| fact.incoming(place(0))).collect();
            machine.take(incoming, self.who);
        }
        machine
    }

    /// Returns the value that is true last.
    fn last(&self) -> &'static str {
        let (_, value, ..) = self.arrivals.iter().max().unwrap();
        TOPICS[usize::from(self.topic)].values[usize::from(*value)]
    }
}

/// Returns the current values of a key.
fn held(machine: &Machine, key: &str) -> Vec<String> {
    let holds = |memory: &Memory| {
        matches!(memory.status, Status::Active | Status::Pending)
            && memory.claim.key.as_deref().map(canonical) == Some(canonical(key))
    };
    let found = machine.memories().into_iter().filter(holds);
    found.map(|memory| memory.claim.value.unwrap_or_default()).collect()
}

fn ends_with_the_last(stream: &Stream) {
    let machine = stream.play();
    let key = TOPICS[usize::from(stream.topic)].key.unwrap();
    assert_eq!(held(&machine, key), [stream.last()], "{}", machine.story());
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn one_value_at_a_time_ends_with_the_last_by_the_rules(stream in any_stream(RESIDENCE, Just(Who::Nobody))) {
        ends_with_the_last(&stream);
    }

    #[test]
    fn one_value_at_a_time_ends_with_the_last_by_a_faithful_model(
        stream in any_stream(RESIDENCE, Just(Who::Faithful)),
    ) {
        ends_with_the_last(&stream);
    }

    #[test]
    fn an_open_attribute_ends_with_the_last_by_a_faithful_model(stream in any_stream(MASCOT, Just(Who::Faithful))) {
        ends_with_the_last(&stream);
    }
}
