//! The measures of each kind of row.
//!
//! The suites define their measures and import the types of `measure`; a separate module for the list of all measures
//! avoids a cycle.

use crate::measure::{Definition, Measure, measures_of};
use crate::vocabulary::Kind;
use crate::{closed_loop, consolidation, extraction, retrieval, sets};

impl Kind {
    /// Returns the measures of the rows of this kind, in the order in which reports list them.
    pub(crate) fn measures(self) -> Vec<Measure> {
        let definitions: &[Definition] = match self {
            Self::Extraction => extraction::MEASURES,
            Self::Pair => consolidation::PAIR_MEASURES,
            Self::Stream => consolidation::STREAM_MEASURES,
            Self::Recall => retrieval::RECALL_MEASURES,
            Self::Brief => retrieval::BRIEF_MEASURES,
            Self::Qa => retrieval::QA_MEASURES,
            Self::Retention => sets::locomo::RETENTION_MEASURES,
            Self::Locomo => sets::locomo::QUESTION_MEASURES,
            Self::LocomoObservations => sets::locomo::OBSERVATION_MEASURES,
            Self::LocomoSearch => sets::locomo::SEARCH_MEASURES,
            Self::LongMemEval => sets::longmemeval::MEASURES,
            Self::HaluMem => sets::halumem::MEASURES,
            Self::HaluMemQuestions => sets::halumem::QUESTION_MEASURES,
            Self::HaluMemRetrieval => sets::halumem::RETRIEVAL_MEASURES,
            Self::Loop => closed_loop::MEASURES,
        };
        measures_of(self, definitions)
    }
}
