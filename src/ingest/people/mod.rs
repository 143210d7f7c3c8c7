//! Conversations among people: meetings, chats, mail.

pub mod mbox;
pub mod slack;
pub mod webvtt;
pub mod whatsapp;
