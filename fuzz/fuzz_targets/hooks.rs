//! Hook input from agents, the events that handle it, and the settings files of agents.
#![no_main]

use afterthought::config::{Config, Partial};
use afterthought::serve::hook::{
    Agent, Event, HookCall, HookOutput, Input, MAX_CONTEXT, commands_in, handle, install, read_input, uninstall,
};
use afterthought_fuzz::{ELSEWHERE, assert_whole, folder, folders, now};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(settings) = serde_json::from_slice::<Value>(bytes) {
        installed(&settings);
    }
    let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let input = match (read_input(bytes), read_input(rest)) {
        (Ok(input), _) | (Err(_), Ok(input)) => input,
        (Err(error), Err(_)) => {
            assert!(error.to_string().len() < 200, "an error repeats nothing of the input");
            return;
        }
    };
    for text in [&input.session, &input.subagent, &input.source, &input.prompt].into_iter().flatten() {
        assert!(!text.trim().is_empty());
    }
    happened(input, usize::from(*first), bytes);
});

/// Checks that our hooks are installed once and removed without a trace.
fn installed(settings: &Value) {
    let clean = uninstall(settings);
    for &agent in Agent::ALL {
        let Ok(with) = install(settings, agent, "afterthought", true) else { continue };
        let ours = commands_in(&with);
        assert!(ours.len() >= agent.events().len() - 1, "{ours:?}");
        assert_eq!(install(&with, agent, "afterthought", true).unwrap(), with, "a second time changes nothing");
        let left = uninstall(&with).unwrap();
        assert!(commands_in(&left).is_empty());
        assert_eq!(uninstall(&left).unwrap(), left);
        let others = |settings: &Value| settings["hooks"].as_object().is_some_and(|hooks| !hooks.is_empty());
        // Uninstalling removes an empty list of hooks, which is equivalent.
        if let Some(clean) = clean.as_ref().ok().filter(|clean| others(clean)) {
            assert_eq!(&left["hooks"], &clean["hooks"], "others' hooks stay as they are");
        }
    }
}

/// Runs an event with this input in a separate store.
fn happened(input: Input, choice: usize, bytes: &[u8]) {
    // Logs that exist outside the test's folder are not part of the test.
    let is_outside = |path: &Option<std::path::PathBuf>| path.as_ref().is_some_and(|path| path.exists());
    if is_outside(&input.transcript) || is_outside(&input.subagent_transcript) || is_outside(&input.cwd) {
        return;
    }
    let folder = folder();
    let folders = folders(folder.path());
    let call = HookCall {
        agent: Agent::ALL[choice % Agent::ALL.len()],
        event: Event::ALL[choice / 2 % Event::ALL.len()],
        input,
        config: Config::load(&folders, folder.path(), None, &|_: &str| None, Partial::default()).unwrap(),
        vectors: None,
        subagents: choice % 3 == 0,
    };
    let event = call.event;
    let done = handle(&call, now(), &mut |answer: HookOutput| {
        let said = answer.json(event).to_string();
        let (HookOutput::Context(text) | HookOutput::Block(text)) = &answer;
        assert!(text.encode_utf16().count() <= MAX_CONTEXT, "{} bytes", text.len());
        assert!(!said.contains("zanzibar") || bytes.windows(8).any(|part| part == b"zanzibar"), "{ELSEWHERE}");
    });
    std::hint::black_box(done.is_ok());
    assert_whole(&folders.default_db);
}
