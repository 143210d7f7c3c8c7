//! Tests of the page over real HTTP: access to it, its content, and the effects of its forms.

mod access;
pub mod browser;
mod changing;
mod chromium;
mod hostile;
mod reading;
mod reviewing;
