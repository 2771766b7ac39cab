//! `regions.json`.

use crate::model::Regions;

/// Name of the schema.
pub const SCHEMA: &str = "fathomp.regions";
/// The version written and accepted.
pub const VERSION: u32 = 1;

/// Why text is no `regions.json`.
#[derive(Debug, thiserror::Error)]
pub enum RegionsError {
    /// Not JSON, or not of this shape.
    #[error("this is no list of regions: {0}; make one with `fathomp scan --json`")]
    Parse(#[from] serde_json::Error),
    /// Another schema or version.
    #[error(
        "this is `{schema}` version {version}, not `{SCHEMA}` version {VERSION}; \
         make it anew with `fathomp scan --json`"
    )]
    Version {
        /// The schema it says.
        schema: String,
        /// The version it says.
        version: u32,
    },
}

impl Regions {
    /// Reads `regions.json`.
    ///
    /// # Errors
    /// See [`RegionsError`].
    pub fn from_json(text: &str) -> Result<Self, RegionsError> {
        let regions: Self = serde_json::from_str(text)?;
        if regions.schema != SCHEMA || regions.version != VERSION {
            return Err(RegionsError::Version {
                schema: regions.schema,
                version: regions.version,
            });
        }
        Ok(regions)
    }

    /// The same as JSON.
    ///
    /// # Errors
    /// If a number in it is not finite.
    pub fn to_json(&self) -> Result<String, RegionsError> {
        Ok(serde_json::to_string_pretty(self)?)
    }
}
