//! Threads that have seen what they wait for in a loop that tells so: all others tell what they
//! wrote, one after the other, and then this node learns of it.

use crate::cluster::{At, Cluster, State};
use crate::memory::Small;
use crate::update::Stage;
use fathomp_base::ThreadId;
use fathomp_dsm::order::{Control, ROOT};
use fathomp_dsm::{Input, Operation, Protocol};
use std::fmt::Debug;
use std::hash::Hash;

/// The thread that releases for other nodes.
pub(crate) const PUBLISHER: ThreadId = ThreadId(u32::MAX - 2);

impl<P> Cluster<P>
where
    P: Protocol<Small> + Clone + Debug + PartialEq + Hash,
    P::Incoming: Clone + PartialEq + Hash,
{
    /// A thread goes on that asks others.
    pub(crate) fn ask(
        &self,
        state: &mut State<P, P::Incoming>,
        (node, thread): (usize, usize),
    ) -> Result<(), String> {
        let stage = &mut state.nodes[node].threads[thread].stage;
        match *stage {
            Stage::Asks(other) if other < self.start.len() => {
                *stage = Stage::Awaits(other);
                match other == node {
                    true => Ok(()),
                    false => self.publish(state, other),
                }
            }
            Stage::Awaits(other) => {
                *stage = Stage::Asks(other + 1);
                Ok(())
            }
            Stage::Knows => {
                let thread = &mut state.nodes[node].threads[thread];
                thread.stage = Stage::Begun;
                thread.next += 1;
                Ok(())
            }
            _ => {
                *stage = Stage::Knows;
                state.nodes[node].threads[thread].waits = Some(At::Operation);
                let thread = ThreadId(u32::try_from(thread).unwrap_or(u32::MAX));
                let operation = Operation::AcquireFlush;
                self.input(state, node, Input::Operation { thread, operation })
            }
        }
    }

    /// Whether a thread may go on that has asked another node: its answer goes through the
    /// sequencer's, behind what it has sent there.
    pub(crate) fn is_answered(&self, state: &State<P, P::Incoming>, stage: Stage) -> bool {
        let has_told = |other: usize| state.nodes.get(other).is_none_or(|node| !node.publishes);
        match stage {
            Stage::Asks(other) => has_told(other),
            Stage::Awaits(other) => {
                has_told(other) && !state.channels.contains_key(&(other, usize::from(ROOT.0)))
            }
            _ => true,
        }
    }

    fn publish(&self, state: &mut State<P, P::Incoming>, node: usize) -> Result<(), String> {
        let input = match state.nodes[node].protocol.stands() {
            Some(epoch) => Input::Message {
                from: ROOT,
                message: Control::Demand { epoch }.into(),
            },
            None => {
                state.nodes[node].publishes = true;
                Input::Operation {
                    thread: PUBLISHER,
                    operation: Operation::ReleaseFlush,
                }
            }
        };
        self.input(state, node, input)
    }
}
