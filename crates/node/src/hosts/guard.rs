//! The process that has made the nodes of a host and is none itself.

use super::report;
use crate::node::FAILED;
use fathomp_base::NodeId;
use fathomp_sys::cluster::process::{self, Ended};
use fathomp_transport::Abort;
use std::time::Duration;

/// How long the other nodes of this host may take to end, once one has failed.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits for the nodes of this host, the first of which has that number, says how one ends that
/// should not, and ends as they have.
pub(crate) fn guard(children: &[u32], first: u16) -> ! {
    let mut left = children.len();
    while left > 0 {
        let Some((child, how)) = process::wait_for_any() else {
            break;
        };
        let Some(place) = children.iter().position(|one| *one == child) else {
            // A process that the program's constructors have started.
            continue;
        };
        left -= 1;
        match how {
            Ended::Exited(0) => continue,
            // It has said why, or another node has.
            Ended::Exited(FAILED) => {}
            how => {
                let node = NodeId(first.saturating_add(u16::try_from(place).unwrap_or(u16::MAX)));
                report(&Abort {
                    by: node,
                    node,
                    code: 0,
                    text: format!("its process {how}"),
                });
            }
        }
        process::reap(children, PATIENCE);
        if how == Ended::BROKEN_PIPE {
            process::end_by_broken_pipe();
        }
        process::leave(FAILED);
    }
    process::leave(0)
}
