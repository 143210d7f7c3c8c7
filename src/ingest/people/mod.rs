//! Conversations among people: meetings, chats, mail.

mod cues;
mod meeting;

pub mod srt;
pub mod webvtt;
