//! Conversations among people: meetings, chats, mail.

mod blocks;
mod cues;
mod dates;
mod meeting;

pub mod discord;
pub mod google_meet;
pub mod mbox;
pub mod messenger;
pub mod otter;
pub mod slack;
pub mod srt;
pub mod teams_text;
pub mod telegram;
pub mod webvtt;
pub mod whatsapp;
pub mod zoom_chat;
