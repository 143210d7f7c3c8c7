//! The result file of a run: what was run, and one row a case with everything that reports, comparisons and gates need.
//!
//! ```text
//! { "form": "afterthought-eval-results", "version": 1,
//!   "manifest": { … what was run: program, suites, prompts, model, options … },
//!   "measures": [ { "kind", "name", "about", "better", "unit", "harmonic_of" } … ],
//!   "rows":     [ { "suite", "kind", "case", … "measures": { name: { "numerator", "denominator" } }, "cost", "findings" } … ] }
//! ```
//!
//! A measure of many cases is the sum of the numerators over the sum of the denominators, so any rows can be put together
//! without the cases, the logs or the program that made them. `afterthought eval --schema` prints the form.

mod define;
mod file;
mod keep;
mod manifest;
mod row;
mod suite;

#[cfg(test)]
mod tests;

pub use define::{Better, Defined, Formula, Ratio, RowUnit, harmonic};
pub(super) use file::write_whole;
pub use file::{FORM, Results, VERSION};
pub use keep::{Keep, key_of, with_ending};
pub use manifest::{Manifest, Suite};
pub use row::{Confusion, Found, Quoted, Row, Shared, Spent, Spoken};
pub use suite::{REPLIES, content};
