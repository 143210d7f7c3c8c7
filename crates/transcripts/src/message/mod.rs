//! What formats share when they make messages out of records.

pub mod assemble;
pub mod blocks;
pub mod chat;
pub mod exchange;
pub mod gemini_parts;
pub mod identity;
pub mod injected;
pub mod label;
pub mod lenient;
pub mod parts;
pub mod prompts;
pub mod replies;
pub mod speaker;
