//! Tasks of Cline and of Roo Code and Kilo Code, which descend from it: two files a task.
//!
//! `api_conversation_history.json` is what went to the model, in the shape of the Anthropic API with the user's words
//! in tags; `ui_messages.json` is what the screen showed. Where both are there the first is read.

mod history;
mod screen;
mod words;

use serde_json::Value;

use self::history::is_history;
use self::screen::is_shown;
use crate::{Assembler, Folder, Head, IngestError, Ingestor, Input, Records, Sink, identity};
use crate::{Message, MessageTime, TimeSource};

/// The ingestor's name, stored with each transcript.
const NAME: &str = "cline";
/// What went to the model.
const HISTORY: &str = "api_conversation_history.json";
/// What the screen showed.
const SCREEN: &str = "ui_messages.json";

/// Reads tasks of Cline, Roo Code and Kilo Code.
pub struct Cline;

impl Ingestor for Cline {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Cline, Roo Code and Kilo Code tasks"
    }

    fn rule(&self) -> &'static str {
        "an array of `role` and `content` with `ts` or with `<task>` or `<environment_details>`; or of `ts` with `say` or `ask`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        matches!(head.document, Some(Value::Array(_)))
            && head.objects().any(|value| is_history(value) || is_shown(value))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let is_screen = Head::of(&input).objects().any(is_shown);
        if is_screen && input.sibling(HISTORY).is_some_and(|other| Head::of(&other).objects().any(is_history)) {
            sink.skip(1, format!("the task is read from the {HISTORY} beside it"));
            return Ok(());
        }
        let mut task = Task::new(&input);
        let (mut history, mut screen) = (history::Reader::default(), screen::Reader::default());
        let mut records = Records::elements(input);
        while let Some((number, value)) = records.next_json::<Value>(sink)? {
            let messages = if is_screen { screen.messages(&value) } else { history.messages(&value) };
            let Some(messages) = messages else {
                sink.skip(number, "not a message of a task");
                continue;
            };
            task.note(history.place());
            for message in messages {
                task.push(message, value["ts"].as_i64(), sink);
            }
        }
        task.draft.finish(sink);
        Ok(())
    }

    fn sniff_folder(&self, folder: &Folder) -> bool {
        log_of(folder).is_some()
    }

    fn read_folder(&self, folder: &Folder, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        match log_of(folder) {
            Some(input) => self.read(input, sink),
            None => Err(IngestError::UnknownFormat { path: folder.path().to_owned() }),
        }
    }
}

/// Returns the file from which the task in `folder` is read.
fn log_of(folder: &Folder) -> Option<Input> {
    [HISTORY, SCREEN].into_iter().filter(|name| folder.has(name)).find_map(|name| {
        let input = folder.open(name).ok()?;
        let is_ours = Cline.sniff(&Head::of(&input));
        is_ours.then_some(input)
    })
}

/// What the text about the surroundings tells of the task.
#[derive(Debug, Default, Clone, PartialEq)]
struct Place {
    folder: Option<String>,
    /// Offset of the user's clock from UTC.
    offset_seconds: Option<i32>,
}

/// One task while it is read.
struct Task {
    draft: Assembler,
    is_named: bool,
    offset_seconds: i32,
    last_time: Option<MessageTime>,
}

impl Task {
    fn new(input: &Input) -> Self {
        let mut draft = Assembler::new(NAME, "", input.path.display().to_string());
        let sibling = |name: &str| {
            let text = input.sibling(name)?.into_text(crate::MAX_RECORD_BYTES).ok()??;
            crate::json::parse::<Value>(&text).ok().map(|(value, _)| value)
        };
        if let Some(item) = sibling("history_item.json") {
            let text = |key: &str| item[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
            draft.meta().title = text("task").and_then(|task| task.lines().next().map(str::to_owned));
            draft.meta().project = text("workspace").or(text("cwdOnTaskInitialization"));
        }
        if let Some(metadata) = sibling("task_metadata.json") {
            let used = metadata["model_usage"].as_array().and_then(|used| used.last()?["model_id"].as_str());
            draft.meta().model = used.map(str::to_owned);
        }
        // Before messages had times, the screen's copy of the first one tells when the task began.
        let began = input.sibling(SCREEN).and_then(|screen| {
            let began = Head::of(&screen).objects().find_map(|shown| shown["ts"].as_i64());
            jiff::Timestamp::from_millisecond(began?).ok()
        });
        draft.meta().created_at = began;
        let last_time = began.map(|at| MessageTime { source: TimeSource::Derived, ..MessageTime::logged(at) });
        Self { draft, is_named: false, offset_seconds: 0, last_time }
    }

    fn note(&mut self, place: &Place) {
        self.offset_seconds = place.offset_seconds.unwrap_or(self.offset_seconds);
        let meta = self.draft.meta();
        meta.project = meta.project.take().or_else(|| place.folder.clone());
    }

    fn push(&mut self, message: Message, ts: Option<i64>, sink: &mut Sink<'_>) {
        let at = ts.filter(|ts| *ts > 0).and_then(|ts| jiff::Timestamp::from_millisecond(ts).ok());
        let logged = at.map(|at| MessageTime { offset_seconds: Some(self.offset_seconds), ..MessageTime::logged(at) });
        let before = self.last_time.map(|time| MessageTime { source: TimeSource::Derived, ..time });
        self.last_time = logged.or(self.last_time);
        // A task has no id but the name of its folder, which is the moment of its start; both of its files tell that
        // moment and begin with the same words.
        if !self.is_named && !message.text.trim().is_empty() {
            let start = self.draft.meta().created_at.or(at).map_or(String::new(), |at| at.as_millisecond().to_string());
            self.draft.set_external_id(identity::of_parts(&[&start, message.text.trim()]));
            self.is_named = true;
        }
        self.draft.push(Message { time: logged.or(before), ..message }, sink);
    }
}

#[cfg(test)]
mod tests;
