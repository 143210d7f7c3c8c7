//! Where replies come from, chosen when the program runs.

use super::cassette::{Recorder, Replay};
use super::{Client, Complete, Cost, LlmError, Reply, Request};

/// Where replies come from.
#[derive(Debug)]
pub enum Source<'g> {
    /// A server.
    Server(Client),
    /// A server, with its replies written to a folder.
    Recorded(Recorder<'g, Client>),
    /// A folder, and a server for what it does not have, with its replies written there.
    Kept(Replay, Recorder<'g, Client>),
    /// A folder.
    Replayed(Replay),
}

impl Source<'_> {
    /// Returns the server, where nothing stands between it and whoever asks.
    #[must_use]
    pub const fn server(&self) -> Option<&Client> {
        match self {
            Self::Server(client) => Some(client),
            Self::Recorded(_) | Self::Kept(..) | Self::Replayed(_) => None,
        }
    }
}

impl Complete for Source<'_> {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        match self {
            Self::Server(client) => client.complete(request).await,
            Self::Recorded(recorder) => recorder.complete(request).await,
            Self::Kept(replay, recorder) => match replay.complete(request).await {
                Err(LlmError::NotRecorded { .. }) => recorder.complete(request).await,
                kept => kept,
            },
            Self::Replayed(replay) => replay.complete(request).await,
        }
    }

    fn model(&self) -> &str {
        match self {
            Self::Server(client) => client.model(),
            Self::Recorded(recorder) | Self::Kept(_, recorder) => recorder.model(),
            Self::Replayed(replay) => replay.model(),
        }
    }
}
