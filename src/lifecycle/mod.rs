//! What time does to memories: confidence fades, places in the hierarchy change, what is over goes.

pub mod decay;
