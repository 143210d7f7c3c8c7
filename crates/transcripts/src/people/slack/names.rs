//! Who the ids of an export stand for: people, bots and channels.

use std::collections::HashMap;

use serde_json::Value;

use crate::{Folder, IngestError, Records, Sink};

/// Files that list people, and those that list conversations.
const PEOPLE: &[&str] = &["users.json", "org_users.json"];
/// Files that list conversations.
pub const CHANNELS: &[&str] = &["channels.json", "groups.json", "mpims.json", "dms.json"];
/// Furthest that a clock is from UTC, in seconds.
const MAX_OFFSET: i32 = 18 * 3_600;

/// A person or bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The name shown beside what they write.
    pub name: String,
    /// Offset of their clock from UTC at the time of the export, in seconds.
    pub offset_seconds: Option<i32>,
    /// Whether a program writes under this name.
    pub is_bot: bool,
}

/// A conversation as the export lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// The log's own id.
    pub id: String,
    /// The channel's name; of people who write to each other in private, theirs.
    pub title: String,
    /// Whether it has a subject of its own, which a conversation between two people has not.
    pub is_project: bool,
}

/// What an export tells of its ids.
#[derive(Debug, Default)]
pub struct Names {
    people: HashMap<String, Person>,
    /// By the name of the folder that holds the channel's days.
    channels: HashMap<String, Channel>,
}

impl Names {
    /// Reads the lists of `folder`; one that is not there or cannot be used leaves the ids as they are.
    ///
    /// # Errors
    /// [`IngestError::Read`] if a list cannot be read to its end.
    pub fn of(folder: &Folder, sink: &mut Sink<'_>) -> Result<Self, IngestError> {
        let mut names = Self::default();
        for file in PEOPLE {
            each(folder, file, sink, &mut |user| names.add_person(user))?;
        }
        names.tell_apart();
        for file in CHANNELS {
            each(folder, file, sink, &mut |channel| names.add_channel(file, channel))?;
        }
        Ok(names)
    }

    /// Returns the person with this id.
    #[must_use]
    pub fn person(&self, id: &str) -> Option<&Person> {
        self.people.get(id)
    }

    /// Returns the channel whose days stand in the folder called `name`.
    #[must_use]
    pub fn channel(&self, name: &str) -> Option<&Channel> {
        self.channels.get(name)
    }

    /// Returns the name of the channel with this id.
    #[must_use]
    pub fn channel_title(&self, id: &str) -> Option<&str> {
        self.channels.values().find(|channel| channel.id == id).map(|channel| channel.title.as_str())
    }

    fn add_person(&mut self, user: &Value) {
        let Some(id) = user["id"].as_str() else { return };
        let offset = user["tz_offset"].as_i64().and_then(|offset| i32::try_from(offset).ok());
        let person = Person {
            name: name_of(user).unwrap_or(id).to_owned(),
            offset_seconds: offset.filter(|offset| offset.abs() <= MAX_OFFSET),
            is_bot: user["is_bot"] == true || id == "USLACKBOT",
        };
        self.people.insert(id.to_owned(), person);
    }

    /// Puts the id behind a name that several people bear.
    fn tell_apart(&mut self) {
        let mut bearers: HashMap<String, usize> = HashMap::new();
        self.people.values().for_each(|person| *bearers.entry(person.name.clone()).or_default() += 1);
        for (id, person) in &mut self.people {
            if bearers[&person.name] > 1 {
                person.name = format!("{} ({id})", person.name);
            }
        }
    }

    fn add_channel(&mut self, file: &str, channel: &Value) {
        let Some(id) = channel["id"].as_str() else { return };
        let name = channel["name"].as_str().filter(|name| !name.is_empty());
        let is_project = matches!(file, "channels.json" | "groups.json");
        let members = || {
            let ids = channel["members"].as_array().into_iter().flatten().filter_map(Value::as_str);
            ids.map(|id| self.people.get(id).map_or(id, |person| person.name.as_str())).collect::<Vec<_>>().join(", ")
        };
        let title = match name {
            Some(name) if is_project => format!("#{name}"),
            Some(_) | None => members(),
        };
        let channel = Channel { id: id.to_owned(), title, is_project };
        self.channels.insert(name.unwrap_or(id).to_owned(), channel.clone());
        self.channels.insert(id.to_owned(), channel);
    }
}

/// Returns the name that people see: what the person chose, else the full name, else the account's.
pub fn name_of(user: &Value) -> Option<&str> {
    let profile = &user["profile"];
    [&profile["display_name"], &profile["real_name"], &user["display_name"], &user["real_name"], &user["name"]]
        .into_iter()
        .filter_map(Value::as_str)
        .map(str::trim)
        .find(|name| !name.is_empty())
}

fn each(folder: &Folder, file: &str, sink: &mut Sink<'_>, take: &mut dyn FnMut(&Value)) -> Result<(), IngestError> {
    if !folder.has(file) {
        return Ok(());
    }
    let mut records = match folder.open(file) {
        Ok(input) => Records::elements(input),
        Err(IngestError::Empty { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    while let Some((_, value)) = records.next_json::<Value>(sink)? {
        take(&value);
    }
    Ok(())
}
