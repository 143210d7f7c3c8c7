//! Turns and questions as vectors, for the arms that search by meaning.

use std::collections::HashMap;

use super::{Asked, DEPTH, Turns};
use crate::embed::{EmbedError, Embedder};
use crate::eval::EvalError;
use crate::eval::filled::fill_all;
use crate::guard::Guard;
use crate::search::{Channel, by_vectors};
use crate::store::{Filter, VectorModel};

/// The vectors of the questions; those of the turns are in their store.
#[derive(Debug)]
pub struct Meanings {
    model: VectorModel,
    questions: HashMap<String, Vec<f32>>,
}

impl Meanings {
    /// Embeds every turn and every question.
    ///
    /// # Errors
    /// [`EmbedError`] if the model fails.
    pub async fn of(turns: &Turns, embedder: &Embedder) -> Result<Self, EmbedError> {
        let guard = Guard::default();
        let unknown = || VectorModel { name: embedder.name().to_owned(), dimension: 0 };
        let model = fill_all(&turns.store, embedder).await?.unwrap_or_else(unknown);
        let mut questions = HashMap::new();
        for asked in &turns.asked {
            if let Some(vector) = embedder.query(&guard, &model, &asked.question).await? {
                questions.insert(asked.question.clone(), vector);
            }
        }
        Ok(Self { model, questions })
    }

    /// Returns the turns nearest to a question, best first.
    ///
    /// # Errors
    /// [`EvalError::Store`] if the store cannot be read.
    pub fn ask(&self, turns: &Turns, asked: &Asked) -> Result<Vec<String>, EvalError> {
        let query = self.questions.get(&asked.question).map_or(&[][..], Vec::as_slice);
        let filter = Filter::exactly(std::slice::from_ref(&asked.namespace));
        let near = turns.store.nearest(&self.model, query, &filter, DEPTH)?;
        Ok(near.iter().filter_map(|near| turns.turn_of(&near.id).cloned()).collect())
    }

    /// Returns what a search for a question is given beside the words.
    ///
    /// # Errors
    /// [`EvalError::Store`] if the store cannot be read.
    pub fn channel(&self, turns: &Turns, asked: &Asked) -> Result<Channel, EvalError> {
        let query = self.questions.get(&asked.question).map_or(&[][..], Vec::as_slice);
        let filter = Filter::exactly(std::slice::from_ref(&asked.namespace));
        Ok(by_vectors(&turns.store, (&self.model, query), &filter, DEPTH, turns.now)?)
    }
}
