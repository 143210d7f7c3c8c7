//! Tests that compare the estimate of a run's cost with the requests that the run then sends.

#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

use std::time::Duration;

use afterthought::tokens;
use serde_json::Value;

use super::desk::Desk;
use super::sources::session;
use super::world::{FACTS, RUN, Server, World};

fn last(printed: &str) -> Value {
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

fn estimate(world: &World, extra: &[&str]) -> Value {
    last(&world.good(&[RUN, &["--estimate"], extra].concat()))
}

/// Counts the tokens of a received request: its messages, and the schema of the answer.
fn tokens_of(body: &str) -> usize {
    let body: Value = serde_json::from_str(body).unwrap();
    let messages = body["messages"].as_array().unwrap().iter();
    let texts: usize = messages.map(|message| tokens::count(message["content"].as_str().unwrap())).sum();
    texts + tokens::count(&body["response_format"]["json_schema"]["schema"].to_string())
}

/// Compares an estimate with the subsequent run: windows and calls must be exact, tokens within one percent.
fn hold(world: &World, server: &Server) -> Value {
    let told = estimate(world, &[]);
    let asked = server.count();
    let done = last(&world.good(RUN));
    let sent: Vec<_> = server.asked().split_off(asked).into_iter().filter(|one| !one.facts.is_empty()).collect();
    for field in ["total", "known", "no_signal"] {
        assert_eq!(told["windows"][field], done["windows"][field], "{field}");
    }
    for field in ["transcripts", "messages", "files", "filtered"] {
        assert_eq!(told[field], done[field], "{field}");
    }
    assert_eq!(told["windows"]["new"], sent.len(), "{told:#}");
    assert_eq!(told["llm_calls"], sent.len(), "{told:#}");
    let counted: usize = sent.iter().map(|one| tokens_of(&one.body)).sum();
    let guessed = usize::try_from(told["prompt_tokens"].as_u64().unwrap()).unwrap();
    assert!(guessed.abs_diff(counted) * 100 <= counted, "{guessed} estimated, {counted} sent");
    told
}

#[test]
fn an_estimate_is_what_the_run_then_sends() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    world.session("early", 2, &FACTS[..5]);
    world.session("late", 9, &FACTS[5..7]);
    let told = hold(&world, &server);
    assert_eq!((&told["completion_tokens_from"], &told["cost"]), (&"assumed".into(), &Value::Null));
    world.append("late", 9, 2, &FACTS[7..]);
    let told = hold(&world, &server);
    assert_eq!((&told["windows"]["known"], &told["llm_calls"]), (&4.into(), &1.into()), "{told:#}");
    assert_eq!(estimate(&world, &[])["llm_calls"], 0);
    world.session("third", 12, &[("iris", 12909)]);
    let told = hold(&world, &server);
    assert_eq!((&told["completion_tokens_from"], &told["completion_tokens"]), (&"ledger".into(), &10.into()));
}

#[test]
fn an_estimate_sends_and_writes_nothing() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    world.session("early", 2, &FACTS[..5]);
    estimate(&world, &[]);
    assert_eq!((server.count(), world.database().exists()), (0, false));
    world.good(RUN);
    let (export, asked) = (world.export(), server.count());
    world.session("late", 9, &FACTS[5..]);
    estimate(&world, &[]);
    assert_eq!((world.export(), server.count()), (export, asked));
    assert_eq!(world.look("SELECT count(*) FROM runs", |row| row.get::<_, u64>(0)).unwrap(), [1]);
}

#[test]
fn what_a_plan_has_paid_for_costs_nothing() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    world.session("early", 2, &FACTS[..5]);
    world.good(&["runs", "plan", "logs", "--window-tokens", "600", "--json"]);
    let told = estimate(&world, &[]);
    assert_eq!((&told["llm_calls"], &told["prompt_tokens"]), (&0.into(), &0.into()), "{told:#}");
    assert_eq!(told["cached_replies"], told["windows"]["new"]);
}

#[test]
fn without_a_key_the_price_of_the_default_model_is_told() {
    let desk = Desk::new();
    let words = "We decided to deploy the shop with Fly.io from now on, because Heroku became too expensive.";
    desk.write("logs/a.jsonl", session("a", 2, "/home/ana/shop", &[words]));
    let run = ["run", "logs", "--estimate"];
    let told = desk.run(&run);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.out.contains("1 call to the model (0 answered by stored replies), "), "{}", told.out);
    assert!(told.out.contains("1000 a reply, an assumption"), "{}", told.out);
    assert!(told.out.contains("about $0.00") && told.out.contains("gpt-5-mini"), "{}", told.out);
    assert!(told.err.contains("no model is configured, so this estimate is for gpt-5-mini"), "{}", told.err);
    let unknown = desk.run(&[&run[..], &["--model", "house-blend"]].concat());
    assert!(unknown.out.contains("the price of house-blend is not known; set it with --price "), "{}", unknown.out);
    let priced = desk.json(&[&run[..], &["--model", "house-blend", "--price", "1000000,0"]].concat());
    let dollars_and_tokens = ["cost", "prompt_tokens"].map(|name| priced[0][name].as_f64().unwrap());
    assert!((dollars_and_tokens[0] - dollars_and_tokens[1]).abs() < 0.1, "{dollars_and_tokens:?}");
    let rules = desk.json(&[&run[..], &["--extractor", "rules"]].concat());
    assert_eq!((&rules[0]["llm_calls"], &rules[0]["cost"]), (&0.into(), &0.0.into()));
    assert!(desk.run(&[&run[..], &["--extractor", "rules"]].concat()).out.contains("no call"));
}
