//! The activity of Gemini Apps in a Google Takeout: prompts and answers, newest first, without conversations.
//!
//! Names and verbs are in the language of the account. What one entry follows within half an hour is taken for one
//! conversation.

mod activity;
mod html;
mod page;
#[cfg(test)]
mod tests;

use serde_json::Value;

use self::activity::{Activity, Conversations, Verb};
use self::html::to_text;
use super::fields::{list, time};
use crate::{Head, IngestError, Ingestor, Input, MAX_RECORD_BYTES, Records, Sink};

/// Reads the activity of Gemini Apps from a Google Takeout.
pub struct GeminiTakeout;

impl Ingestor for GeminiTakeout {
    fn name(&self) -> &'static str {
        "gemini-takeout"
    }

    fn about(&self) -> &'static str {
        "Google Takeout, My Activity of Gemini Apps, as JSON or HTML"
    }

    fn rule(&self) -> &'static str {
        "JSON objects with `header`, `title`, `time` and `products` that name Gemini, or the page of the same"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_ours) || page::is_page(&head.text)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        if input.head().trim_start().starts_with('<') {
            let Some(text) = input.into_text(MAX_RECORD_BYTES)? else {
                sink.skip(1, format!("a page over the limit of {} MiB; export as JSON", MAX_RECORD_BYTES >> 20));
                return Ok(());
            };
            page::read(&text, origin, sink);
            return Ok(());
        }
        let verb = {
            let head = Head::of(&input);
            Verb::of(head.objects().filter(|entry| is_ours(entry)).filter_map(|entry| entry["title"].as_str()))
        };
        let mut conversations = Conversations::new(origin, verb);
        let mut records = Records::elements(input);
        let (mut others, mut last) = (0_usize, 0);
        while let Some((number, entry)) = records.next_json::<Value>(sink)? {
            last = number;
            if !is_activity(&entry) {
                sink.skip(number, "no entry of an activity: it has no `title` and `time`");
            } else if is_ours(&entry) {
                conversations.add(activity(&entry, number), sink);
            } else {
                others += 1;
            }
        }
        conversations.finish(sink);
        if others > 0 {
            sink.skip(last, format!("entries of other products than Gemini: {others}"));
        }
        Ok(())
    }
}

fn is_activity(entry: &Value) -> bool {
    entry["title"].is_string() && entry["time"].is_string()
}

/// Whether `entry` is one of Gemini Apps, whose name begins so in every language, or ends so.
fn is_ours(entry: &Value) -> bool {
    let names = list(&entry["products"]).iter().chain([&entry["header"]]).filter_map(Value::as_str);
    let is_gemini = |name: &str| name.contains("Gemini") || name == "Bard";
    is_activity(entry) && entry["products"].is_array() && names.into_iter().any(is_gemini)
}

fn activity(entry: &Value, number: usize) -> Activity {
    let answers = list(&entry["safeHtmlItem"]).iter().filter_map(|item| item["html"].as_str());
    let answer = answers.map(to_text).collect::<Vec<_>>().join("\n");
    let files = list(&entry["attachedFiles"]).iter().chain([&entry["imageFile"]]);
    Activity {
        number,
        title: entry["title"].as_str().unwrap_or_default().to_owned(),
        answer: Some(answer).filter(|answer| !answer.trim().is_empty()),
        time: time(&entry["time"]),
        files: files.filter_map(|file| file.as_str().or_else(|| file["name"].as_str())).map(str::to_owned).collect(),
    }
}
