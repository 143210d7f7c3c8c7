//! Recorded replies, and the source of replies chosen when the program runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Client, Complete, Cost, LlmError, Reply, Request, wire};
use crate::guard::Guard;
use crate::private;

/// One file of a cassette.
#[derive(Debug, Serialize, Deserialize)]
struct Recording {
    request: Value,
    reply: Reply,
}

/// Forwards requests to `C` and writes the replies to a folder.
///
/// Replies are returned as they were written, with redactions, so that a replay gives the same results.
#[derive(Debug)]
pub struct Recorder<C> {
    inner: C,
    folder: PathBuf,
    guard: Guard,
}

impl<C: Complete> Recorder<C> {
    /// Returns a recorder that writes to `folder`, which is created if it is missing, readable by its owner only.
    ///
    /// # Errors
    /// [`LlmError::Cassette`] if the folder cannot be created.
    pub fn new(inner: C, folder: impl Into<PathBuf>, guard: &Guard) -> Result<Self, LlmError> {
        let folder = folder.into();
        private::create_folder(&folder).map_err(|error| unusable(&folder, &error))?;
        Ok(Self { inner, folder, guard: guard.clone() })
    }
}

impl<C: Complete> Complete for Recorder<C> {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let (mut reply, cost) = self.inner.complete(request).await?;
        reply.text = self.guard.redact(reply.text).0.into_inner();
        let address = request.address(self.model());
        let path = file(&self.folder, &wire::hash(&address));
        let recording = Recording { request: address, reply };
        write(&path, &recording).map_err(|error| unusable(&path, &error))?;
        Ok((recording.reply, cost))
    }

    fn model(&self) -> &str {
        self.inner.model()
    }
}

/// Answers requests from a folder that a [`Recorder`] wrote.
#[derive(Debug, Clone)]
pub struct Replay {
    folder: PathBuf,
    model: String,
}

impl Replay {
    /// Returns a replay of the answers of `model` that `folder` contains.
    ///
    /// # Errors
    /// [`LlmError::Cassette`] if there is no such folder.
    pub fn new(folder: impl Into<PathBuf>, model: impl Into<String>) -> Result<Self, LlmError> {
        let folder = folder.into();
        if !folder.is_dir() {
            return Err(unusable(&folder, &"it is not a folder; give a folder written by --record"));
        }
        Ok(Self { folder, model: model.into() })
    }
}

impl Complete for Replay {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let key = request.key(&self.model);
        let path = file(&self.folder, &key);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(LlmError::NotRecorded { key, folder: self.folder.display().to_string() });
            }
            Err(error) => return Err(unusable(&path, &error)),
        };
        let recording: Recording = serde_json::from_str(&text).map_err(|error| unusable(&path, &position(&error)))?;
        // If a recorded request was edited by hand, its reply was recorded for a different request.
        if wire::hash(&recording.request) != key {
            return Err(unusable(
                &path,
                &"the recorded request was edited, so the reply may no longer match; record it again",
            ));
        }
        Ok((recording.reply, Cost::Cached))
    }

    fn model(&self) -> &str {
        &self.model
    }
}

fn file(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("{key}.json"))
}

fn unusable(path: &Path, reason: &dyn std::fmt::Display) -> LlmError {
    LlmError::Cassette { path: path.display().to_string(), reason: reason.to_string() }
}

/// Returns the position at which parsing failed. The parser's own message is omitted, since it may quote the text.
fn position(error: &serde_json::Error) -> String {
    format!("it is not a recording: error at line {}, column {}", error.line(), error.column())
}

/// Writes the file completely or not at all, since another process may write the same file.
fn write(path: &Path, recording: &Recording) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(recording)?;
    text.push('\n');
    private::replace(path, &text)
}

/// The source of the replies to requests.
#[derive(Debug)]
pub enum Source {
    /// A server.
    Server(Client),
    /// A server, with its replies written to a folder.
    Recorded(Recorder<Client>),
    /// A folder, and a server for requests that the folder does not contain. The server's replies are written to the
    /// folder.
    Kept(Replay, Recorder<Client>),
    /// A folder of recorded replies.
    Replayed(Replay),
    /// A source whose replies and limits several workers share.
    #[cfg(feature = "scale")]
    Shared(Box<super::shared::SharedSource<Self>>),
}

impl Source {
    /// Returns the server if it is used directly, without recording or replay.
    pub(crate) const fn server(&self) -> Option<&Client> {
        match self {
            Self::Server(client) => Some(client),
            Self::Recorded(_) | Self::Kept(..) | Self::Replayed(_) => None,
            #[cfg(feature = "scale")]
            Self::Shared(_) => None,
        }
    }
}

impl Complete for Source {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        match self {
            Self::Server(client) => client.complete(request).await,
            Self::Recorded(recorder) => recorder.complete(request).await,
            // Only a missing recording leads to a call. A damaged recording is an error, since a call would overwrite
            // it.
            Self::Kept(replay, recorder) => match replay.complete(request).await {
                Err(LlmError::NotRecorded { .. }) => recorder.complete(request).await,
                kept => kept,
            },
            Self::Replayed(replay) => replay.complete(request).await,
            #[cfg(feature = "scale")]
            Self::Shared(shared) => shared.complete(request).await,
        }
    }

    fn model(&self) -> &str {
        match self {
            Self::Server(client) => client.model(),
            Self::Recorded(recorder) | Self::Kept(_, recorder) => recorder.model(),
            Self::Replayed(replay) => replay.model(),
            #[cfg(feature = "scale")]
            Self::Shared(shared) => shared.model(),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::super::wire::tests::request;
    use super::*;
    use crate::llm::Finish;

    /// Answers every request with its own last turn.
    struct Echo;

    fn echo(text: &str) -> Reply {
        let (finish, model) = (Finish::Stop, "echo-1".to_owned());
        Reply { text: text.to_owned(), finish, prompt_tokens: 3, completion_tokens: 4, model }
    }

    impl Complete for Echo {
        async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
            Ok((echo(&request.turns[0].text), Cost::Call))
        }

        fn model(&self) -> &'static str {
            "echo"
        }
    }

    fn ask(model: &impl Complete, text: &str) -> Result<(Reply, Cost), LlmError> {
        model.complete(&request(text)).now_or_never().unwrap()
    }

    /// Returns a cassette that contains the reply to `text`, and the path of its one file.
    fn recorded(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let guard = Guard::default();
        let recorder = Recorder::new(Echo, folder.path().join("a/b"), &guard).unwrap();
        assert_eq!(ask(&recorder, text).unwrap(), (echo(text), Cost::Call));
        assert_eq!(ask(&recorder, text).unwrap(), (echo(text), Cost::Call));
        let path = file(&folder.path().join("a/b"), &request(text).key("echo"));
        (folder, path)
    }

    #[test]
    fn a_recorded_reply_is_replayed_and_no_other() {
        let (folder, path) = recorded("关注 🙂");
        let replay = Replay::new(path.parent().unwrap(), "echo").unwrap();
        assert_eq!(ask(&replay, "关注 🙂").unwrap(), (echo("关注 🙂"), Cost::Cached));

        let error = ask(&replay, "关注").unwrap_err();
        assert!(
            matches!(error, LlmError::NotRecorded { ref key, .. } if *key == request("关注").key("echo")),
            "{error}"
        );
        let other_model = Replay::new(path.parent().unwrap(), "other").unwrap();
        assert!(matches!(ask(&other_model, "关注 🙂"), Err(LlmError::NotRecorded { .. })));
        assert!(matches!(Replay::new(folder.path().join("none"), "echo"), Err(LlmError::Cassette { .. })));
    }

    #[test]
    fn a_cassette_is_one_readable_private_file_a_request() {
        let (_folder, path) = recorded("hi");
        let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(names, [path.as_path()]);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("{\n  \"request\": {\n    \"model\": \"echo\",\n"), "{text}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        }
    }

    #[test]
    fn a_changed_or_broken_file_is_refused_without_quoting_it() {
        let (_folder, path) = recorded("hello");
        let text = fs::read_to_string(&path).unwrap();
        let replay = Replay::new(path.parent().unwrap(), "echo").unwrap();
        for changed in [text.replace("hello", "secret"), text.replace("\"reply\"", "\"secret\""), "secret".to_owned()] {
            fs::write(&path, changed).unwrap();
            let error = ask(&replay, "hello").unwrap_err();
            assert!(matches!(error, LlmError::Cassette { .. }), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let compact: Value = serde_json::from_str(&text).unwrap();
        fs::write(&path, compact.to_string()).unwrap();
        assert_eq!(ask(&replay, "hello").unwrap(), (echo("hello"), Cost::Cached));
    }
}
