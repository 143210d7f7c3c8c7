//! Conversations gathered to train or to measure models.
