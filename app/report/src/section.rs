//! Sections that wings bring to the page.
//!
//! The page knows nothing of what a section shows. It asks for sentences for its summary, doubts and
//! facts, fills in the section's template, and hands the section's script what it draws.

pub use crate::chart::{Chart, Mark, Plot, plot};
pub use crate::view::Fact;
pub use crate::view::colours::LegendEntry;
pub use crate::view::table::{Cell, Column, MeterBar, Row, Table};
pub use fathomp_types::text::bound;

use minijinja::Value;
use minijinja::value::Serde;
use serde::Serialize;
use std::fmt::Debug;

/// A section, which knows all that it shows.
pub trait Section: Debug {
    /// Its name in links, in data and in scripts: of letters alone.
    fn id(&self) -> &'static str;

    /// Its heading in the list of sections.
    fn title(&self) -> &'static str;

    /// What to call the program.
    fn program(&self) -> &str;

    /// Sentences for the page's summary.
    fn summary(&self) -> Vec<String>;

    /// What makes it doubtful, in sentences, and facts beside that.
    fn trust(&self) -> (Vec<String>, Vec<Fact>);

    /// How it was recorded, for pages of which nothing else tells.
    fn environment(&self) -> Vec<Fact>;

    /// The template, which finds as `section.content` what [`build`](Self::build) says.
    fn template(&self) -> &'static str;

    /// The script that draws: it puts a function into `sections` under its id, which is called with
    /// what is to be drawn.
    fn script(&self) -> &'static str;

    /// What the template and the script show.
    fn build(&self) -> Built;

    /// The same for other tools.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be expressed.
    fn json(&self) -> Result<serde_json::Value, serde_json::Error>;
}

/// What a section shows.
#[derive(Debug)]
pub struct Built {
    /// For the template.
    pub(crate) content: Value,
    /// For the script.
    pub(crate) drawn: Value,
}

impl Built {
    /// This, as it is serialised.
    #[must_use]
    pub fn new(content: &impl Serialize, drawn: &impl Serialize) -> Self {
        Self {
            content: Value::from(Serde(content)),
            drawn: Value::from(Serde(drawn)),
        }
    }
}
