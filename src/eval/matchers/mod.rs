//! Ways of telling whether a memory says a fact, and how far each can be trusted.
//!
//! What counts in every suite are the patterns of a case: each that must occur, none that must not. The ways here propose
//! what may say the same and are held against the patterns, and against triples of which it is known what is right: a fact,
//! a text that says it, one that says something else in the same words, and one that is too vague to say it.

mod agreement;
mod judge;
mod likeness;
mod triples;

pub use agreement::{AGREEMENT, agreement, defined as agreement_defined};
pub use judge::{Judge, Judged, TRUSTED};
pub use likeness::{Likeness, numbers_agree, share, words};
pub use triples::{KIND, Triple, defined, files, read, rows, schema, trusted};

use crate::embed::Embedder;
use crate::guard::Guard;
use crate::store::{Store, VectorModel};

use super::EvalError;

/// A model that makes vectors, for [`Likeness::Cosine`].
#[derive(Debug)]
pub struct Vectors<'a> {
    embedder: &'a Embedder,
    model: VectorModel,
}

impl<'a> Vectors<'a> {
    /// Returns `embedder` made ready; `None` where it does not tell how long its vectors are.
    ///
    /// # Errors
    /// [`EvalError::Embed`] if the model fails.
    pub fn of(embedder: &'a Embedder) -> Result<Option<Self>, EvalError> {
        let store = Store::in_memory()?;
        let model = embedder.kept_model(&store)?;
        Ok(model.map(|model| Self { embedder, model }))
    }

    /// Returns the cosine of two texts; 0 where one is blank.
    ///
    /// # Errors
    /// [`EvalError::Embed`] if the model fails.
    pub async fn cosine(&self, one: &str, other: &str) -> Result<f64, EvalError> {
        let guard = Guard::default();
        let one = self.embedder.query(&guard, &self.model, one).await?.unwrap_or_default();
        let other = self.embedder.query(&guard, &self.model, other).await?.unwrap_or_default();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
        let length = (dot(&one, &one) * dot(&other, &other)).sqrt();
        Ok(if length > 0.0 { dot(&one, &other) / length } else { 0.0 })
    }
}

/// Returns whether each way takes `text` to say `fact`, by its name: those of our own, then the cosine where there is a
/// model.
///
/// # Errors
/// [`EvalError::Embed`] if the model fails.
pub async fn verdicts(
    fact: &str,
    text: &str,
    vectors: Option<&Vectors<'_>>,
) -> Result<Vec<(&'static str, bool)>, EvalError> {
    let mut told: Vec<(&'static str, bool)> =
        Likeness::OWN.iter().map(|one| (one.name(), one.of(fact, text) >= one.least())).collect();
    if let Some(vectors) = vectors {
        let cosine = vectors.cosine(fact, text).await?;
        told.push((Likeness::Cosine.name(), cosine >= Likeness::Cosine.least()));
    }
    Ok(told)
}
