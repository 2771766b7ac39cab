//! `fathomp host-agent`: what `fathomp run --hosts` starts on each host.

use crate::args::HostAgent;
use crate::failure::Outcome;
use crate::hosts;

pub(super) fn host_agent(plan: HostAgent) -> Outcome {
    hosts::serve(plan.supervisor)
}
