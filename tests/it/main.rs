//! The library seen from outside, on the fixtures.

mod ingest_agents;
