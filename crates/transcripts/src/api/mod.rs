//! Requests, replies and traces that programs record of their calls to a model.

mod batch;
mod chain;
mod threads;
pub(crate) mod anthropic;
pub(crate) mod langchain;
pub(crate) mod langfuse;
pub(crate) mod openai_batch;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;
pub(crate) mod otel_genai;
