//! Reads bytes, records and rows from files, compressed files, archives, folders and databases.

pub(crate) mod database;
pub(crate) mod head;
pub(crate) mod input;
pub(crate) mod records;
