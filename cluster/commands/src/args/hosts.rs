//! What commands say that run programs on one machine alone.

use clap::Args;
use std::path::PathBuf;

/// The same options where programs run on one machine only, to be refused by name.
#[derive(Args, Clone, Debug, Default)]
pub struct NotOnHosts {
    /// Not here.
    #[arg(long, hide = true)]
    hosts: Option<String>,
    /// Not here.
    #[arg(long, hide = true)]
    hostfile: Option<PathBuf>,
    /// Not here.
    #[arg(long, hide = true)]
    transport: Option<String>,
}

impl NotOnHosts {
    /// What to say if they are given.
    pub fn contradiction(&self) -> Option<&'static str> {
        let asked = self.hosts.is_some() || self.hostfile.is_some() || self.transport.is_some();
        asked.then_some(
            "this command runs programs on one machine so far: leave --hosts, --hostfile and --transport out, or use `fathomp run`, `record` or `study`",
        )
    }
}
