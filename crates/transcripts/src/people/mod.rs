//! Conversations among people: meetings, chats and mail.

mod html;
mod meeting;

pub(crate) mod captions;
pub(crate) mod discord;
pub(crate) mod google_chat;
pub(crate) mod google_meet;
pub(crate) mod irc;
pub(crate) mod mbox;
pub(crate) mod messenger;
pub(crate) mod paragraphs;
pub(crate) mod slack;
pub(crate) mod telegram;
pub(crate) mod whatsapp;
pub(crate) mod zoom_chat;
pub(crate) mod zulip;
