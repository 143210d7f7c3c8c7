//! Conversations among people: meetings, chats, mail.

mod blocks;
mod cues;
mod dates;
mod meeting;

pub mod discord;
pub mod google_meet;
pub mod messenger;
pub mod otter;
pub mod srt;
pub mod teams_text;
pub mod telegram;
pub mod mbox;
pub mod slack;
pub mod webvtt;
pub mod zoom_chat;
pub mod slack;
pub mod whatsapp;
