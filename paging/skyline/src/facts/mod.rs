//! The result of an analysis: plain data for terminals, pages and exports.
//!
//! Units are last in names. Moments (`_ns`) are nanoseconds after
//! [`Analysis::origin_ns`], when the recording's first task began. Fractions are 0 to 1.
//! Every floating-point number is finite. Fields are only ever added; a change of
//! meaning raises [`VERSION`].

mod correlation;
mod finding;
mod profile;
mod resources;
mod skyline;
mod task;

pub use correlation::{
    Axis, Cluster, Correlation, Matrix, Measure, NearBarrier, Significance, SyncPoint,
    Synchronisation, Unlike,
};
pub use finding::{Fact, Finding, Problem, ProblemKind};
pub use profile::{CounterFacts, Period, PhaseProfile, Profile, Published, Shape, TaskSkyline};
pub use resources::{Load, Resource, Server, ServerKind};
pub use skyline::{Background, Panels, Peak, Rate, Skyline};
pub use task::{Phases, TaskFacts, Window};

use serde::Serialize;

/// Name of the schema in JSON.
pub const SCHEMA: &str = "fathomp.skyline";
/// Version of the schema in JSON.
pub const VERSION: u32 = 1;

/// Everything known about the paging of one recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// [`VERSION`].
    pub version: u32,
    /// When the first task began, by the recording's clock: the zero of all moments here.
    pub origin_ns: u64,
    /// The part that was looked at.
    pub window: Window,
    /// All tasks, in the recording's order.
    pub tasks: Vec<TaskFacts>,
    /// Phases between barriers: logical time. None if no barriers were recorded.
    pub phases: Option<Phases>,
    /// Counters that counted anything in the window, in their order.
    pub counters: Vec<CounterFacts>,
    /// Where pages came from, as far as that is known: "pagers" of the published paper.
    pub servers: Vec<Server>,
    /// The highest load on memory, disks and network.
    pub loads: Vec<Load>,
    /// What follows, the most important first.
    pub findings: Vec<Finding>,
    /// What is missing or doubtful.
    pub problems: Vec<Problem>,
}

impl Analysis {
    /// The profile of a counter in exactly these states, if it was made.
    #[must_use]
    pub fn profile(&self, selection: crate::Selection) -> Option<&Profile> {
        self.counters
            .iter()
            .find(|facts| facts.counter == selection.counter)?
            .profiles
            .iter()
            .find(|profile| profile.states == selection.states)
    }
}
