//! One question to whichever model is meant, and one answer: what every command asks.

use crate::counts::Counted;
use crate::prices::Cluster;
use crate::published::{self, Predicted, SdpError};
use crate::recorded::PredictError;
use crate::threads::{self, Options, Prediction};
use crate::validate::{self, Priced, ValidateError, Validated};
use fathomp_analysis::Analysis;
use serde::Serialize;
use thiserror::Error;

/// What to predict, by which model, from what.
#[derive(Clone, Copy, Debug)]
pub enum Question<'a> {
    /// Other numbers of threads on one machine: our model of [`threads`].
    Threads {
        /// Recordings with some numbers of threads.
        analyses: &'a [&'a Analysis],
        /// What to predict for.
        options: &'a Options,
    },
    /// A cluster, by a [`published`] model.
    Published {
        /// Counts, from a file or from recordings on nodes.
        counted: &'a Counted,
        /// What events cost.
        cluster: &'a Cluster,
        /// Which model, and for what.
        asked: &'a published::Question,
    },
    /// Every number of threads or nodes from the others, by all models, beside what was
    /// observed with it.
    Observed {
        /// Recordings, of several programs as well.
        analyses: &'a [&'a Analysis],
        /// Of our model of threads.
        options: &'a Options,
        /// The cluster that they were made on, for the published models.
        priced: Option<Priced<'a>>,
    },
    /// Counts by the published models, beside what was observed.
    ObservedCounts {
        /// Counts with observed speedups.
        counted: &'a Counted,
        /// What events cost.
        priced: Priced<'a>,
    },
}

/// What was predicted. In JSON each kind has a schema of its own.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// Of [`Question::Threads`].
    Threads(Box<Prediction>),
    /// Of [`Question::Published`].
    Published(Predicted),
    /// Of [`Question::Observed`] and [`Question::ObservedCounts`].
    Observed(Validated),
}

impl Outcome {
    /// The times with other numbers of threads, if those were asked for.
    #[must_use]
    pub fn threads(&self) -> Option<&Prediction> {
        match self {
            Self::Threads(prediction) => Some(prediction),
            _ => None,
        }
    }

    /// What was predicted beside what was observed, if that was asked for.
    #[must_use]
    pub fn observed(&self) -> Option<&Validated> {
        match self {
            Self::Observed(validated) => Some(validated),
            _ => None,
        }
    }
}

/// Why nothing can be predicted.
#[derive(Debug, Error)]
pub enum AskError {
    /// For other numbers of threads.
    #[error(transparent)]
    Threads(#[from] PredictError),
    /// By a published model.
    #[error(transparent)]
    Published(#[from] SdpError),
    /// Beside what was observed.
    #[error(transparent)]
    Observed(#[from] ValidateError),
}

/// Asks the model that is meant.
///
/// # Errors
/// As that model: [`threads::predict`], [`published::predict`] and [`validate::validate`].
pub fn ask(question: &Question<'_>) -> Result<Outcome, AskError> {
    Ok(match *question {
        Question::Threads { analyses, options } => {
            Outcome::Threads(Box::new(threads::predict(analyses, options)?))
        }
        Question::Published {
            counted,
            cluster,
            asked,
        } => Outcome::Published(published::predict(counted, cluster, asked)?),
        Question::Observed {
            analyses,
            options,
            priced,
        } => Outcome::Observed(validate::validate(analyses, options, priced)?),
        Question::ObservedCounts { counted, priced } => {
            Outcome::Observed(validate::validate_counts(counted, priced)?)
        }
    })
}
