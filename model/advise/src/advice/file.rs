//! Reading, checking and writing `advice.json`.

use super::{Advice, RegionAdvice, SCHEMA, VERSION};

/// More threads than anybody is advised to take: what a wrong file could ask for.
const MOST_THREADS: u32 = 1 << 16;

/// Why text is no advice.
#[derive(Debug, thiserror::Error)]
pub enum AdviceError {
    /// Not JSON, or not of this shape.
    #[error("this is no advice: {0}; make some with `fathomp advise -o advice.json`")]
    Parse(#[from] serde_json::Error),
    /// Another schema or version.
    #[error(
        "this is `{schema}` version {version}, not `{SCHEMA}` version {VERSION}; \
         make it anew with `fathomp advise -o advice.json`"
    )]
    Version {
        /// The schema it says.
        schema: String,
        /// The version it says.
        version: u64,
    },
    /// An entry that cannot be followed.
    #[error("the advice for {region} {what}; make it anew with `fathomp advise -o advice.json`")]
    Entry {
        /// The region's name.
        region: String,
        /// What is wrong: a verb and the rest of the sentence.
        what: &'static str,
    },
}

impl Advice {
    /// Reads advice.
    ///
    /// # Errors
    /// See [`AdviceError`].
    pub fn from_json(text: &str) -> Result<Self, AdviceError> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        let schema = value.get("schema").and_then(|schema| schema.as_str());
        let version = value.get("version").and_then(serde_json::Value::as_u64);
        if let (Some(schema), Some(version)) = (schema, version)
            && (schema != SCHEMA || version != u64::from(VERSION))
        {
            return Err(AdviceError::Version {
                schema: schema.to_owned(),
                version,
            });
        }
        let advice: Self = serde_json::from_value(value)?;
        for region in &advice.regions {
            if let Some(what) = wrong(region, advice.modules.len()) {
                return Err(AdviceError::Entry {
                    region: region.name.clone(),
                    what,
                });
            }
        }
        Ok(advice)
    }

    /// The same as indented JSON.
    ///
    /// # Errors
    /// If it cannot be expressed in JSON.
    pub fn to_json(&self) -> Result<String, AdviceError> {
        Ok(serde_json::to_string_pretty(self)?)
    }
}

impl RegionAdvice {
    /// Threads for an execution with so many iterations of its worksharing loops; without
    /// them, or where steps do not say their iterations, what is advised for executions like
    /// those measured.
    #[must_use]
    pub fn threads_by_iterations(&self, iterations: Option<u64>) -> u32 {
        let step = iterations.and_then(|iterations| {
            let steps = self.steps.iter().rev();
            steps
                .clone()
                .all(|step| step.from_iterations.is_some() || step.from_trips == 0)
                .then_some(steps)?
                .find(|step| step.from_iterations.unwrap_or(0) <= iterations)
        });
        step.map_or(self.advised.threads, |step| step.threads)
    }

    /// Threads for an execution with `trips`; without them what is advised for executions
    /// like those measured.
    #[must_use]
    pub fn threads(&self, trips: Option<u64>) -> u32 {
        let step = trips.and_then(|trips| {
            self.steps
                .iter()
                .rev()
                .find(|step| step.from_trips <= trips)
        });
        step.map_or(self.advised.threads, |step| step.threads)
    }
}

fn wrong(region: &RegionAdvice, modules: usize) -> Option<&'static str> {
    let threads = |threads: u32| (1..=MOST_THREADS).contains(&threads);
    if region.steps.first().is_none_or(|step| step.from_trips != 0) {
        Some("has no step from 0 trips on")
    } else if !region
        .steps
        .is_sorted_by(|a, b| a.from_trips < b.from_trips)
    {
        Some("has steps out of order")
    } else if !region.steps.iter().all(|step| threads(step.threads))
        || !threads(region.advised.threads)
    {
        Some("asks for a number of threads that cannot be")
    } else if region.module.is_some_and(|module| module >= modules) {
        Some("names a module that is not listed")
    } else {
        None
    }
}
