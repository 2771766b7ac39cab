//! What users type about paging where the program is built without that wing: nothing.

use super::rules::{Options, Rare};
use clap::{Args, Subcommand};

/// No options need a rule.
pub(super) const OPTIONS: &[Options] = &[];
/// None is shown late.
pub(super) const RARE: Rare = &[];
/// No command needs an example.
pub(super) const EXAMPLES: &str = "";

/// There is no command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {}

/// Of `fathomp record`: no option.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Paging {}

impl Paging {
    /// Nobody limits memory.
    pub(crate) fn limits_memory(self) -> bool {
        false
    }

    /// Nothing contradicts anything.
    pub(super) fn contradiction(self) -> Option<&'static str> {
        None
    }

    /// Nor does it on hosts.
    pub(super) fn contradiction_on_hosts(self) -> Option<&'static str> {
        None
    }
}
