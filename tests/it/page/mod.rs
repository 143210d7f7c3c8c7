//! The page, over real HTTP: who gets in, what it shows, and what its forms change.

mod access;
mod browser;
mod chromium;
mod hostile;
mod reading;
mod reviewing;
