//! A page about programs that shared one machine: which program had which cores when.

use crate::html::{PageError, render};
use crate::view::share::build;
use minijinja::Value;
use minijinja::value::Serde;

/// What is shown.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// How the machine was divided, in words.
    pub strategy: String,
    /// Start and end, nanoseconds of one clock.
    pub begin_ns: u64,
    /// See `begin_ns`.
    pub end_ns: u64,
    /// The cores that were divided, by the kernel's numbers.
    pub cores: Vec<u32>,
    /// The programs, in the order of the command line.
    pub programs: Vec<SharedProgram>,
}

/// One of the programs.
#[derive(Clone, Debug, Default)]
pub struct SharedProgram {
    /// What to call it.
    pub name: String,
    /// Its command line.
    pub command: String,
    /// How it ended, in words.
    pub ended: String,
    /// From its start to its end, nanoseconds.
    pub wall_ns: u64,
    /// Names of its regions.
    pub regions: Vec<String>,
    /// Executions of its regions, by time; none overlap.
    pub spans: Vec<SharedSpan>,
    /// Executions that are not known.
    pub lost: u64,
}

/// Executions of a region, one after the other on the same cores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedSpan {
    /// When the first began.
    pub begin_ns: u64,
    /// When the last ended.
    pub end_ns: u64,
    /// Index of the region.
    pub region: usize,
    /// Threads of the team.
    pub threads: u32,
    /// How many executions.
    pub instances: u64,
    /// Cores that it was given, as indices of [`Shared::cores`]; none if the kernel chose.
    pub cores: Vec<usize>,
}

/// One HTML page, complete like [`crate::page`].
///
/// # Errors
/// If the template does not fit the data, which is a bug.
pub fn share_page(shared: &Shared) -> Result<String, PageError> {
    let (page, data) = build(shared);
    render("share.html", &page, Value::from(Serde(&data)))
}
