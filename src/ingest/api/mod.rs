//! What programs keep of their calls to a model: requests, replies, traces.

pub mod anthropic;
mod batch;
mod chain;
pub mod langchain;
pub mod langfuse;
pub mod openai_batch;
pub mod openai_chat;
pub mod openai_responses;
pub mod otel_genai;
mod threads;
