//! From a path to bytes: files, compressed files, archives, folders and databases; and telling formats apart.

mod archive;
pub mod database;
pub mod detect;
pub mod discover;
mod encoding;
pub mod folder;
pub mod input;
mod nested;
pub mod objects;
pub mod records;
mod value;
