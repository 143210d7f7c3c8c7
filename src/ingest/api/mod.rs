//! What programs keep of their calls to a model: requests, replies, traces.

pub mod anthropic;
mod batch;
mod exchange;
pub mod openai_chat;
