//! Conversations among people: meetings, chats, mail.

pub mod webvtt;
pub mod whatsapp;
