//! The export of a Slack workspace: a folder or zip with lists of people and channels, and a file for each day of each
//! channel; or one such day alone.
//!
//! Each message stands in one transcript. A thread is a transcript, however many days lie between its answers; what a
//! channel holds beside its threads is another, over all of its days. Ids are the log's own: the channel's, the
//! thread's opening `ts` behind it, and the `ts` of each message. Days are read one after the other and threads are
//! handed over once they are known to be complete, or when much text waits, so memory does not grow with the channel.

mod names;
mod post;
mod room;
mod text;

use serde_json::Value;

use self::names::{CHANNELS, Names};
use self::room::Room;
use crate::{Folder, Head, IngestError, Ingestor, Input, Records, Sink, identity};

/// Days that detection opens before it gives a folder up.
const SNIFFED_DAYS: usize = 5;

/// Reads exports of Slack workspaces.
pub struct Slack;

impl Ingestor for Slack {
    fn name(&self) -> &'static str {
        "slack"
    }

    fn about(&self) -> &'static str {
        "Slack workspace export: the folder, its zip, or one day of a channel"
    }

    fn rule(&self) -> &'static str {
        "a list of channels beside folders of `YYYY-MM-DD.json`; or an array of messages with `ts` like `1709287200.000100`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        matches!(head.document, Some(Value::Array(_))) && head.objects().any(post::is_post)
    }

    fn sniff_folder(&self, folder: &Folder) -> bool {
        let lists_channels = CHANNELS.iter().any(|list| folder.has(list));
        let channels = || folder.folders("").into_iter().flat_map(|channel| days(folder, &channel));
        lists_channels && channels().take(SNIFFED_DAYS).any(|day| holds_posts(folder, &day))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        let mut room = Room::new(Names::default(), String::new(), origin);
        room.read_day(Records::elements(input), sink)?;
        room.finish(sink);
        Ok(())
    }

    fn read_folder(&self, folder: &Folder, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut names = Names::of(folder, sink)?;
        for channel in folder.folders("") {
            let origin = folder.path().join(&channel).display().to_string();
            let known = names.channel(&channel).cloned();
            let id = known.as_ref().map_or_else(|| identity::of_parts(&["slack", &channel]), |known| known.id.clone());
            let mut room = Room::new(names, id, origin);
            let title = known.as_ref().map_or_else(|| format!("#{channel}"), |known| known.title.clone());
            let is_project = known.is_none_or(|known| known.is_project);
            room.call(title, is_project.then(|| channel.clone()));
            for day in days(folder, &channel) {
                let before = sink.skipped.len();
                match folder.open(&day).and_then(|input| room.read_day(Records::elements(input), sink)) {
                    Ok(()) | Err(IngestError::Empty { .. }) => {}
                    // One damaged day does not cost the others.
                    Err(_) => sink.skip(1, "cannot be read to its end"),
                }
                for skipped in &mut sink.skipped[before..] {
                    skipped.reason = format!("{day}: {}", skipped.reason);
                }
            }
            names = room.finish(sink);
        }
        Ok(())
    }
}

fn holds_posts(folder: &Folder, day: &str) -> bool {
    folder.open(day).is_ok_and(|input| Slack.sniff(&Head::of(&input)))
}

/// Returns the files of `channel` that hold a day each, the earliest first.
fn days(folder: &Folder, channel: &str) -> Vec<String> {
    let is_day = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        let date = name.strip_suffix(".json").unwrap_or_default();
        date.len() == 10 && date.parse::<jiff::civil::Date>().is_ok()
    };
    folder.files(channel).into_iter().filter(|path| is_day(path)).collect()
}

#[cfg(test)]
mod tests;
