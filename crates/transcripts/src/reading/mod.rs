//! From a path to bytes, records and rows: files, compressed files, archives, folders and databases.

pub(crate) mod database;
pub(crate) mod head;
pub(crate) mod input;
pub(crate) mod records;
