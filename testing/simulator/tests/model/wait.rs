//! Threads that have seen what they wait for in a loop that tells so: all others tell what they
//! wrote, one after the other, and then this node learns of it.

use crate::cluster::{At, Turn, World};
use crate::machine::Problem;
use crate::memory::Small;
use fathomp_protocols::order::ROOT;
use fathomp_protocols::{Input, Operation, Protocol};
use fathomp_types::ThreadId;

/// The thread that releases for other nodes.
pub(crate) const PUBLISHER: ThreadId = ThreadId(u32::MAX - 2);

/// How far a thread is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    #[default]
    Looks,
    /// It asks the node with that number next, or waits for its answer.
    Asks(usize),
    Awaits(usize),
    /// What all have told is known.
    Knows,
}

impl<P: Protocol<Small>> Turn<'_, P> {
    /// A thread goes on that asks others.
    pub(crate) fn ask(&mut self, at: (usize, usize)) -> Result<(), Problem> {
        let nodes = self.drivers.len();
        match self.thread(at).wait {
            Stage::Asks(other) if other < nodes => {
                self.thread(at).wait = Stage::Awaits(other);
                match other == at.0 {
                    true => Ok(()),
                    false => self.publish(other),
                }
            }
            Stage::Awaits(other) => {
                self.thread(at).wait = Stage::Asks(other + 1);
                Ok(())
            }
            Stage::Knows => {
                let thread = self.thread(at);
                thread.wait = Stage::Looks;
                thread.next += 1;
                Ok(())
            }
            Stage::Asks(_) | Stage::Looks => {
                self.thread(at).wait = Stage::Knows;
                self.operation(at, At::Operation, Operation::AcquireFlush)
            }
        }
    }

    fn publish(&mut self, node: usize) -> Result<(), Problem> {
        let (driver, mut seat) = self.at(node);
        if driver.tell_at_barrier(&mut seat)? {
            return Ok(());
        }
        self.world.nodes[node].publishes = true;
        let (thread, operation) = (PUBLISHER, Operation::ReleaseFlush);
        self.input(node, Input::Operation { thread, operation })
    }
}

/// Whether a thread may go on that has asked another node: its answer goes through the
/// sequencer's, behind what it has sent there.
pub(crate) fn is_answered(world: &World, stage: Stage) -> bool {
    let has_told = |other: usize| world.nodes.get(other).is_none_or(|node| !node.publishes);
    match stage {
        Stage::Asks(other) => has_told(other),
        Stage::Awaits(other) => {
            has_told(other) && !world.channels.contains_key(&(other, usize::from(ROOT.0)))
        }
        Stage::Looks | Stage::Knows => true,
    }
}
