//! What programs keep of their calls to a model: requests, replies, traces.

pub mod openai_chat;
