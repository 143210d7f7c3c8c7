//! Questions that an agent asks through a tool, and the user's answers, which logs contain only in the tool's result.
//!
//! Agents differ in the names of the tool, in its arguments and in the result, which is either JSON or a sentence that
//! quotes each question with its answer.

use serde_json::Value;

use crate::Message;
use crate::json::Json;
use crate::message::question::{Question, asks};

/// Returns each answered question as a message of the agent, followed by the user's answer.
///
/// The result contains no answer if the user declined, did not respond in time, or was never asked.
pub(crate) fn conversation(questions: &[Question], result: &str) -> Vec<Message> {
    let answers = answers(questions, result.trim());
    let mut answers: Vec<_> = answers.into_iter().filter(|(_, answer)| is_of_user(answer)).collect();
    answers.dedup();
    answers
        .into_iter()
        .flat_map(|(place, answer)| [Message::assistant(questions[place].shown()), Message::user(answer)])
        .collect()
}

/// Returns whether the user gave the answer, rather than the program in the user's place.
fn is_of_user(answer: &str) -> bool {
    let placeholders = ["", "Unanswered", "(no option selected)", "(notes only)", "(Image attached)"];
    let programs = ["The user is not available to respond", "The user is replying to the terminal"];
    !placeholders.contains(&answer) && !programs.iter().any(|one| answer.starts_with(one))
}

/// Returns the answers with the positions of their questions.
fn answers(questions: &[Question], result: &str) -> Vec<(usize, String)> {
    if let Ok(found) = serde_json::from_str::<Value>(result) {
        return match found["output"].text() {
            Some(inner) => answers(questions, inner),
            None => structured(questions, &found["answers"]),
        };
    }
    let alone = ["The user responded:", "User responded:", "The user selected:", "User selected:"];
    if let Some(words) = alone.iter().find_map(|start| result.strip_prefix(start)) {
        return questions.first().map(|asked| (0, asked.plain(words))).into_iter().collect();
    }
    let sections = ["User has provided the following answers:"];
    if let Some(text) = sections.iter().find_map(|start| result.strip_prefix(start)) {
        return quoted(questions, text, |asked, name| {
            vec![format!("**{name}**:")].into_iter().filter(|_| asked.text != name).collect()
        });
    }
    let sentences = ["User has answered your questions:", "Your questions have been answered:", "The user answered:"];
    match sentences.iter().find_map(|start| result.strip_prefix(start)) {
        Some(text) => quoted(questions, text, |asked, name| {
            let is_text = asked.text == name;
            [format!("\"{name}\"="), format!("\"{name}\" → ")].into_iter().filter(|_| is_text).collect()
        }),
        None => Vec::new(),
    }
}

/// Id of Cursor's option that announces typed text.
const FREEFORM: &str = "__freeform_other__";

/// Reads answers in JSON: by the name of each question, or in the order of the questions.
fn structured(questions: &[Question], answers: &Value) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (place, asked) in questions.iter().enumerate() {
        let by_name = answers.as_object().into_iter().flatten().find(|(name, _)| asked.is_called(name));
        let listed = answers.list().iter();
        let of_it =
            |one: &&Value| ["questionId", "question", "id"].iter().any(|key| asked.is_called(one[*key].string()));
        let in_list = listed.clone().find(of_it).or_else(|| listed.clone().nth(place).filter(|one| !one.is_object()));
        if let Some(answer) = by_name.map(|(_, answer)| answer).or(in_list) {
            let fields = [
                "answers", "selected", "selectedOptionIds", "selectedValue", "selectedValues", "answer", "label",
                "freeText", "freeformText", "freeformValue",
            ];
            let values = std::iter::once(answer).chain(fields.iter().map(|key| &answer[*key]));
            let words =
                values.flat_map(|value| value.items().iter().filter_map(Json::text)).map(|text| asked.plain(text));
            let mut words: Vec<_> = words.filter(|word| word != FREEFORM && is_of_user(word)).collect();
            // The last option only announces the typed text.
            if words.len() > 1 {
                words.retain(|word| word != "None of the above");
            }
            found.push((place, words.join(", ")));
        }
    }
    found
}

/// Words of the program after the last answer.
const TAILS: &[&str] = &[
    ". You can now continue with", "\n\nYou can now continue with", ". Read the answers carefully",
    " . Read the answers carefully",
];

fn without_tail(text: &str) -> &str {
    &text[..TAILS.iter().filter_map(|tail| text.rfind(tail)).min().unwrap_or(text.len())]
}

/// Reads answers in a text that repeats each question. `marks` returns the texts before the answer to a question, for
/// one of its names.
fn quoted(questions: &[Question], text: &str, marks: impl Fn(&Question, &str) -> Vec<String>) -> Vec<(usize, String)> {
    let text = without_tail(text);
    // Questions and answers may contain quotation marks, so only the known questions separate the answers.
    let mut places: Vec<(usize, usize, usize)> = Vec::new();
    for (place, asked) in questions.iter().enumerate() {
        let names = std::iter::once(&asked.text).chain(&asked.names);
        let found = names.flat_map(|name| marks(asked, name)).find_map(|mark| Some((text.find(&mark)?, mark.len())));
        places.extend(found.map(|(at, length)| (at, at + length, place)));
    }
    places.sort_unstable();
    let ends: Vec<usize> = places.iter().skip(1).map(|&(at, ..)| at).chain([text.len()]).collect();
    let answers = places.iter().zip(ends).filter(|((_, from, _), end)| from <= end);
    answers.map(|(&(_, from, place), end)| (place, questions[place].plain(&one_answer(&text[from..end])))).collect()
}

/// Returns the answer in `"PostgreSQL" selected preview: … notes: keep it small, `, with the user's note. Text without a
/// quotation mark at its start is the answer itself.
fn one_answer(text: &str) -> String {
    let text = text.trim();
    let plain = |note: &str| note.trim().trim_end_matches([',', '.']).trim_end().to_owned();
    let note = |after: &str| after.rsplit_once(" notes: ").map(|(_, note)| plain(note)).unwrap_or_default();
    let (answer, note) = if let Some(quoted) = text.strip_prefix('"') {
        let marks = ["\" selected preview:", "\" user notes: ", "\" notes: "];
        let end = marks.iter().filter_map(|mark| quoted.find(mark)).min().or_else(|| quoted.rfind('"'));
        let end = end.unwrap_or(quoted.len());
        (&quoted[..end], note(&quoted[end..]))
    } else if let Some(after) = text.strip_prefix("(no option selected)") {
        ("", note(after))
    } else {
        (text, String::new())
    };
    let words: Vec<_> = [answer.to_owned(), note].into_iter().filter(|words| is_of_user(words)).collect();
    words.join("\n")
}

/// The texts before the words that a user typed when rejecting a call or a plan, and the texts that may follow them.
const FEEDBACK: &[(&str, &str)] = &[
    (REJECTED, "the user said:"),
    (REJECTED, "The user provided the following reason for the rejection:"),
    ("The user rejected permission to use this specific tool call with", "the following feedback:"),
];
const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected";
/// The text before what a user typed when rejecting a plan.
const PLAN_REJECTED: &str = "Plan rejected. User feedback:";
/// Texts of the program after the user's words.
const AFTER_FEEDBACK: &[&str] = &["\n\nNote: The user's next message may contain", "\n\nThe plan is stored at:"];
/// Texts of the program in the place of the user's words.
const NO_FEEDBACK: &[&str] =
    &["The user wants to clarify these questions.", "The user has indicated they have provided enough"];

/// Returns what the user typed when rejecting a call, which the log contains only in the call's result.
pub(crate) fn feedback(result: &str) -> Option<String> {
    let result = result.trim();
    let words = FEEDBACK.iter().find_map(|(start, mark)| {
        let (_, words) = result.starts_with(start).then(|| result.split_once(mark))??;
        Some(words)
    })?;
    typed(words)
}

/// Returns what the user typed when rejecting a plan, according to the result of the tool that shows plans.
pub(crate) fn plan_feedback(result: &str) -> Option<String> {
    typed(result.trim().strip_prefix(PLAN_REJECTED)?)
}

/// Returns what the user typed of `words`, which a program may have extended or written itself.
pub(crate) fn typed(words: &str) -> Option<String> {
    let end = AFTER_FEEDBACK.iter().filter_map(|after| words.find(after)).min().unwrap_or(words.len());
    let words = words[..end].trim();
    if NO_FEEDBACK.iter().any(|text| words.starts_with(text)) {
        let typed = words.lines().filter_map(|line| {
            let line = line.trim();
            line.strip_prefix("Answer:").or_else(|| line.strip_prefix("User notes:"))
        });
        let typed: Vec<_> = typed.map(str::trim).filter(|line| !line.is_empty()).collect();
        return (!typed.is_empty()).then(|| typed.join("\n"));
    }
    (!words.is_empty()).then(|| words.to_owned())
}

/// Returns what the user replied according to the body of a tool block that `SpecStory` exported: the text typed when
/// rejecting a call, or the answers, which follow all questions of the call in one line.
pub(crate) fn exported(tool: &str, body: &str) -> Vec<Message> {
    let (before, result) = body.strip_suffix("```").and_then(|text| text.rsplit_once("```\n")).unwrap_or((body, ""));
    // Any other tool can print the program's sentences.
    if !asks(tool) {
        return Vec::new();
    }
    if let Some(words) = feedback(result) {
        return vec![Message::user(words)];
    }
    let asked = |text: &str| {
        let text = text.replace("**", "").replace(" _(select multiple)_", "");
        Question::plain_text(text.trim())
    };
    let Some((questions, answers)) = body.rsplit_once("\n**Answer:** ") else {
        return conversation(&[asked(before)], result);
    };
    let answers = without_tail(answers);
    // The opening quotation mark is left out of the block, but not what follows the answer.
    let has_note = ["\" notes: ", "\" user notes: ", "\" selected preview:"].iter().any(|mark| answers.contains(mark));
    let answer = if has_note { one_answer(&format!("\"{answers}")) } else { answers.trim().to_owned() };
    let answer = answer.replace(" (Recommended)", "");
    let replied = [Message::assistant(asked(questions).shown()), Message::user(&*answer)];
    replied.into_iter().filter(|_| is_of_user(&answer)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::question::questions;

    /// Returns the user's answers to these questions, without the questions.
    fn answered(tool: &str, arguments: &Value, result: &str) -> Vec<String> {
        let all = conversation(&questions(tool, arguments), result);
        all.chunks(2)
            .map(|pair| {
                assert!(!pair[0].is_human() && pair[1].is_human(), "{pair:?}");
                pair[1].text.clone()
            })
            .collect()
    }

    fn two() -> Value {
        json!({"questions": [
            {"question": "Which database?", "header": "Database", "id": "db", "options": [
                {"label": "PostgreSQL (Recommended)", "description": "has \"everything\""}, {"label": "SQLite"}]},
            {"question": "Which \"extras\"?", "header": "Extras", "multiSelect": true, "options": [{"label": "Logs"}]}
        ]})
    }

    #[test]
    fn answers_are_read_from_each_agents_result() {
        let claude = "AskUserQuestion";
        for (tool, result, expected) in [
            (
                claude,
                "User has answered your questions: \"Which database?\"=\"PostgreSQL (Recommended)\", \"Which \"extras\"?\"=\"Logs, a \"nice\" page\". You can now continue with the user's answers in mind.",
                vec!["PostgreSQL", "Logs, a \"nice\" page"],
            ),
            (
                claude,
                "Your questions have been answered: \"Which \"extras\"?\"=\"Logs（推荐）\". You can now continue with these answers in mind.",
                vec!["Logs"],
            ),
            (
                claude,
                "The user answered: \"Which database?\"=\"MariaDB, we have it\" selected preview:\nCREATE notes: keep it small, \"Which \"extras\"?\"=(no option selected) notes: none for now. Read the answers carefully — they may request clarification",
                vec!["MariaDB, we have it\nkeep it small", "none for now"],
            ),
            (
                "ask_user",
                "User has answered your questions:\n\"Which database?\" → \"SQLite\"\n\nYou can now continue with the user's answers in mind.",
                vec!["SQLite"],
            ),
            (
                "question",
                "User has answered your questions: \"Which database?\"=\"SQLite\", \"Which \"extras\"?\"=\"Unanswered\". You can now continue with the user's answers in mind.",
                vec!["SQLite"],
            ),
            (
                "request_user_input",
                r#"{"answers":{"db":{"answers":["None of the above","user_note: DuckDB, it is one file"]}}}"#,
                vec!["DuckDB, it is one file"],
            ),
            ("ask_user", r#"{"answers":{"0":"SQLite","1":"Logs"}}"#, vec!["SQLite", "Logs"]),
            ("ask_user", r#"{"output":"{\"answers\":{\"1\":\"Logs\"}}"}"#, vec!["Logs"]),
            (
                "vscode_askQuestions",
                r#"{"answers":{"Database":{"selected":["SQLite"],"freeText":"for now","skipped":false},"Extras":{"selected":[],"freeText":null,"skipped":true}}}"#,
                vec!["SQLite, for now"],
            ),
            (
                "ask_user_question",
                "User has provided the following answers:\n\n**Database**: SQLite\nfor now\n\n**Extras**: Logs",
                vec!["SQLite\nfor now", "Logs"],
            ),
            ("AskUserQuestion", r#"{"answers": {"Which database?": "SQLite"}}"#, vec!["SQLite"]),
            ("question", r#"{"answers":[["SQLite"],[]]}"#, vec!["SQLite"]),
            (claude, "No response after 60s — the user may be away from keyboard.", vec![]),
            (
                claude,
                "Your questions have been answered: \"Which database?\"=\"use \"tabs\"\", \"Which \"extras\"?\"=\"Write release notes: one per version\". You can now continue with these answers in mind.",
                vec!["use \"tabs\"", "Write release notes: one per version"],
            ),
            ("question", r#"{"answers":[["Unanswered tickets go to Mia"],[]]}"#, vec!["Unanswered tickets go to Mia"]),
            (claude, "The user did not answer the questions.", vec![]),
            ("mcp__x__ask_user", r#"{"answers":{"0":"SQLite"}}"#, vec![]),
            (
                "vscode_askQuestions",
                r#"{"answers":{"Database":{"selected":[],"freeText":"The user is not available to respond and will review your work later."}}}"#,
                vec![],
            ),
            ("Bash", "The user answered: \"Which database?\"=\"SQLite\".", vec![]),
        ] {
            assert_eq!(answered(tool, &two(), result), expected, "{tool} {result}");
        }
    }

    #[test]
    fn one_question_may_stand_alone_or_in_json_inside_a_string() {
        let one = json!({"question": "Deploy now?", "choices": ["Yes", "No"]});
        assert_eq!(answered("ask_user", &one, "User responded: after lunch"), ["after lunch"]);
        let inside = Value::String(
            r#"{"questions":[{"id":"q","prompt":"Deploy?","options":[{"id":"a","label":"Later"}]}]}"#.into(),
        );
        let result = r#"{"answers":[{"questionId":"q","selectedOptionIds":["a"],"freeformText":"on Monday"}]}"#;
        assert_eq!(answered("AskQuestion", &inside, result), ["Later, on Monday"]);
        let form =
            json!({"message": "Where to deploy?", "requestedSchema": {"properties": {"region": {"type": "string"}}}});
        assert_eq!(answered("ask_user", &form, "User responded: region=eu, port=8080"), ["region=eu, port=8080"]);
    }

    #[test]
    fn a_question_shows_its_options() {
        let shown = questions("AskUserQuestion", &two())[0].shown();
        assert_eq!(shown, "Which database?\n- PostgreSQL (Recommended): has \"everything\"\n- SQLite");
    }

    #[test]
    fn only_the_users_words_are_feedback() {
        let rejected = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
        for (result, expected) in [
            (
                format!(
                    "{rejected} To tell you how to proceed, the user said:\nuse pnpm\n\nNote: The user's next message may contain a correction"
                ),
                Some("use pnpm"),
            ),
            (format!("{rejected} The user provided the following reason for the rejection:  not yet"), Some("not yet")),
            (
                format!(
                    "{rejected} the user said:\nThe user wants to clarify these questions.\n\nQuestions asked:\n- \"A?\"\n  Answer: b\n- \"C?\"\n  (No answer provided)"
                ),
                Some("b"),
            ),
            (
                format!(
                    "{rejected} the user said:\nThe user wants to clarify these questions.\n- \"A?\"\n  (No answer provided)"
                ),
                None,
            ),
            (
                "The user rejected permission to use this specific tool call with the following feedback: ask first"
                    .into(),
                Some("ask first"),
            ),
            (rejected.into(), None),
            ("grep: the user said: hi".into(), None),
        ] {
            assert_eq!(feedback(&result).as_deref(), expected, "{result}");
        }
    }
}
