//! The process that has made the nodes of a host and is none itself.

use super::{Hosts, report};
use crate::fatal_report::{FAILED, say};
use fathomp_sys::cluster::process::{self, Life};
use fathomp_transport::Abort;
use fathomp_types::{Ending, NodeId};
use std::time::Duration;

/// How long the other nodes of this host may take to end, once one has failed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// A node that stands for so long is told of: whoever stops a whole job, as Ctrl-Z does, stops
/// this process too.
const STOPPED_TIME_MAX: Duration = Duration::from_secs(1);

/// Waits for the nodes of this host, says how one ends that should not, and ends as they have.
pub(crate) fn guard(children: &[u32], hosts: &Hosts) -> ! {
    let first = hosts.nodes_of(hosts.me()).start;
    let mut left = children.len();
    while left > 0 {
        let Some((child, life)) = process::wait_for_any() else {
            break;
        };
        let Some(place) = children.iter().position(|one| *one == child) else {
            // A process that the program's constructors have started.
            process::deal_with(child);
            continue;
        };
        let node = NodeId(first.saturating_add(u16::try_from(place).unwrap_or(u16::MAX)));
        let how = match life {
            Life::GoesOn => continue,
            Life::Stopped(signal) => {
                std::thread::sleep(STOPPED_TIME_MAX);
                if process::life(child) == Some(Life::Stopped(signal)) {
                    say(&format!(
                        "node {node}: its process was stopped by signal {signal}, and all others \
                         wait for it: let it go on (on host {}: kill -CONT {child}), or end the \
                         program",
                        hosts.name_of(node)
                    ));
                }
                process::deal_with(child);
                continue;
            }
            Life::Ended(how) => how,
        };
        process::deal_with(child);
        left -= 1;
        match how {
            Ending::Exited(0) => continue,
            // It has said why, or another node has.
            Ending::Exited(FAILED) => {}
            how => {
                report(&Abort {
                    by: node,
                    node,
                    code: 0,
                    text: format!("its process {}", how.predicate()),
                });
            }
        }
        process::reap(children, EXIT_TIMEOUT);
        if how == Ending::BROKEN_PIPE {
            process::end_by_broken_pipe();
        }
        process::leave(FAILED);
    }
    process::leave(0)
}
