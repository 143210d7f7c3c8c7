//! Tests of the MCP server from the side of clients: raw messages on standard input and over HTTP, and the protocol's
//! own SDK.

pub mod client;
mod http;
mod sdk;
mod stdio;
mod together;
