//! Hooks in the settings of agents. These functions perform no I/O; other settings keep their values and order.

use serde_json::{Map, Value, json};

use super::{Agent, Event};

/// Timeout of a hook in the agent's settings, in seconds; each hook ends by itself long before that.
const TIMEOUT: u64 = 5;
/// Maximum timeout, in seconds, that agents allow at the end of a session.
const TIMEOUT_AT_END: u64 = 3;
/// Name of the program, which distinguishes our hooks from others.
const PROGRAM: &str = "afterthought";

/// The reason why settings are not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A value that should contain hooks has the wrong type.
    #[error("{part} is not {kind}; fix it, or move the file away")]
    Shape {
        /// The part of the settings.
        part: String,
        /// The required type.
        kind: &'static str,
    },
}

/// One of our hooks in the settings of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The agent's spelling of the event.
    pub event: String,
    /// The tools that the hook applies to.
    pub matcher: Option<String>,
    /// The command.
    pub command: String,
    /// The program that the command calls.
    pub program: String,
}

/// Returns `settings` with a hook for each event of `agent`, replacing our existing hooks. `program` is the command
/// line that calls the program, with its options, quoted for a shell.
///
/// # Errors
/// [`SettingsError`] if the part that contains hooks cannot be understood.
pub fn install(settings: &Value, agent: Agent, program: &str, subagents: bool) -> Result<Value, SettingsError> {
    let wanted: Vec<(Event, Value)> = agent
        .events()
        .iter()
        .filter(|event| subagents || **event != Event::SubagentStop)
        .map(|event| (*event, group(agent, *event, program, subagents)))
        .collect();
    let mut clean = uninstall(settings)?;
    // Installing again must not move our hooks after other hooks.
    if is_installed(settings, &wanted) {
        return Ok(settings.clone());
    }
    let root = clean.as_object_mut().ok_or_else(|| shape("the file", "an object"))?;
    let hooks = root.entry("hooks").or_insert_with(|| Value::Object(Map::new()));
    let hooks = hooks.as_object_mut().ok_or_else(|| shape("hooks", "an object"))?;
    for (event, group) in wanted {
        let groups = hooks.entry(event.wire()).or_insert_with(|| Value::Array(Vec::new()));
        groups.as_array_mut().ok_or_else(|| shape(&format!("hooks.{}", event.wire()), "a list"))?.push(group);
    }
    Ok(clean)
}

/// Returns `settings` without our hooks, and without lists that contained nothing else.
///
/// # Errors
/// [`SettingsError`] if the part that contains hooks cannot be understood.
pub fn uninstall(settings: &Value) -> Result<Value, SettingsError> {
    let mut settings = settings.clone();
    let root = settings.as_object_mut().ok_or_else(|| shape("the file", "an object"))?;
    let Some(hooks) = root.get_mut("hooks") else { return Ok(settings) };
    let hooks = hooks.as_object_mut().ok_or_else(|| shape("hooks", "an object"))?;
    let mut emptied = Vec::new();
    for (event, groups) in hooks.iter_mut() {
        let groups = groups.as_array_mut().ok_or_else(|| shape(&format!("hooks.{event}"), "a list"))?;
        let before = groups.len();
        for group in groups.iter_mut() {
            if let Some(commands) = group.get_mut("hooks").and_then(Value::as_array_mut) {
                let had = commands.len();
                commands.retain(|hook| !is_ours(hook));
                // A group that was already empty is not ours to remove.
                if commands.is_empty() && had > 0 {
                    *group = Value::Null;
                }
            }
        }
        groups.retain(|group| !group.is_null());
        if groups.is_empty() && before > 0 {
            emptied.push(event.clone());
        }
    }
    // `shift_remove` keeps the order of the other keys, unlike `remove`.
    for event in &emptied {
        hooks.shift_remove(event);
    }
    if hooks.is_empty() && !emptied.is_empty() {
        root.shift_remove("hooks");
    }
    Ok(settings)
}

/// Returns our hooks in `settings`, in order; none if the settings have an unknown structure.
#[must_use]
pub fn commands_in(settings: &Value) -> Vec<Installed> {
    let events = settings["hooks"].as_object().into_iter().flatten();
    let groups = events
        .flat_map(|(event, groups)| groups.as_array().into_iter().flatten().map(move |group| (event.clone(), group)));
    groups
        .flat_map(|(event, group)| {
            let matcher = group["matcher"].as_str().map(str::to_owned);
            let ours = group["hooks"].as_array().into_iter().flatten().filter(|hook| is_ours(hook));
            ours.map(move |hook| {
                let command = hook["command"].as_str().unwrap_or_default().to_owned();
                let program = first_word(&command);
                Installed { event: event.clone(), matcher: matcher.clone(), command, program }
            })
        })
        .collect()
}

fn is_installed(settings: &Value, wanted: &[(Event, Value)]) -> bool {
    let there = commands_in(settings);
    let is_there = |(event, group): &(Event, Value)| {
        there.iter().any(|one| {
            one.event == event.wire()
                && one.matcher.as_deref() == group["matcher"].as_str()
                && Some(one.command.as_str()) == group["hooks"][0]["command"].as_str()
        })
    };
    there.len() == wanted.len() && wanted.iter().all(is_there)
}

fn group(agent: Agent, event: Event, program: &str, subagents: bool) -> Value {
    let format = if agent == Agent::ClaudeCode { String::new() } else { format!(" --format {}", agent.as_str()) };
    let subagents = if subagents { " --subagents" } else { "" };
    let command = format!("{program} hook {}{format}{subagents}", event.as_str());
    let timeout = if event == Event::SessionEnd { TIMEOUT_AT_END } else { TIMEOUT };
    let hooks = json!([{"type": "command", "command": command, "timeout": timeout}]);
    match event.tools() {
        Some(tools) => json!({"matcher": tools, "hooks": hooks}),
        None => json!({"hooks": hooks}),
    }
}

fn is_ours(hook: &Value) -> bool {
    // The last match is used, because the path of the program may contain the same word.
    let Some((program, rest)) = hook["command"].as_str().and_then(|command| command.rsplit_once(" hook ")) else {
        return false;
    };
    let event = rest.split_whitespace().next().unwrap_or_default();
    program.contains(PROGRAM) && event.parse::<Event>().is_ok()
}

/// Returns the first word of a command as a shell parses it.
fn first_word(command: &str) -> String {
    let (mut word, mut quote) = (String::new(), None);
    let mut letters = command.trim_start().chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            // On Windows, a backslash separates the folders of a path.
            (None, '\\') if !cfg!(windows) => word.extend(letters.next()),
            (None, letter) if letter.is_whitespace() => break,
            (_, letter) => word.push(letter),
        }
    }
    word
}

fn shape(part: &str, kind: &'static str) -> SettingsError {
    SettingsError::Shape { part: part.to_owned(), kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Value {
        json!({
            "model": "opus",
            "hooks": {
                "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}]}],
                "Notification": [{"hooks": [{"type": "command", "command": "say hook stop"}]}],
            },
            "z": [1, {"a": null}],
        })
    }

    #[test]
    fn what_is_there_is_kept_and_taking_ours_out_gives_it_back() {
        for before in [own(), json!({}), json!({"a": 1, "hooks": {}})] {
            for agent in Agent::ALL.iter().copied() {
                let after = install(&before, agent, "/opt/afterthought", false).unwrap();
                assert_eq!(
                    commands_in(&after).len(),
                    agent.events().iter().filter(|one| **one != Event::SubagentStop).count()
                );
                assert_eq!(install(&after, agent, "/opt/afterthought", false).unwrap().to_string(), after.to_string());
                let back = uninstall(&after).unwrap();
                let expected = if before == json!({"a": 1, "hooks": {}}) { json!({"a": 1}) } else { before.clone() };
                assert_eq!(back.to_string(), expected.to_string(), "in the same order");
            }
        }
    }

    #[test]
    fn a_program_that_moved_takes_the_place_of_the_one_before() {
        let old = install(&own(), Agent::ClaudeCode, "/old/afterthought", false).unwrap();
        let new = install(&old, Agent::ClaudeCode, "'/new place/afterthought' --db /m.db", true).unwrap();
        let installed = commands_in(&new);
        assert_eq!(installed.len(), Agent::ClaudeCode.events().len());
        assert!(installed.iter().all(|one| one.program == "/new place/afterthought"), "{installed:?}");
        assert!(new.to_string().contains("hook stop --subagents"));
        assert_eq!(uninstall(&new).unwrap(), own());
    }

    #[test]
    fn a_group_that_is_shared_with_others_stays() {
        let shared = json!({"hooks": {"Stop": [{"hooks": [
            {"type": "command", "command": "other"},
            {"type": "command", "command": "afterthought hook stop"},
        ]}]}});
        let expected = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "other"}]}]}});
        assert_eq!(uninstall(&shared).unwrap(), expected);
    }

    #[test]
    fn what_cannot_be_understood_is_left_alone() {
        for (settings, part) in [
            (json!([]), "the file is not an object"),
            (json!({"hooks": []}), "hooks is not an object"),
            (json!({"hooks": {"Stop": {}}}), "hooks.Stop is not a list"),
        ] {
            let error = install(&settings, Agent::Codex, "afterthought", false).unwrap_err().to_string();
            assert!(error.starts_with(part), "{error}");
            assert_eq!(commands_in(&settings), []);
        }
    }
}
