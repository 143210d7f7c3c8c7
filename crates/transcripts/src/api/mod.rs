//! What programs keep of their calls to a model: requests, replies, traces.

mod batch;
mod chain;
mod threads;

pub mod anthropic;
pub mod langchain;
pub mod langfuse;
pub mod openai_batch;
pub mod openai_chat;
pub mod openai_responses;
pub mod otel_genai;
