//! What a node's protocol is told.

use super::{Node, World, action, node_id};
use crate::failure::Failure;
use crate::memory::{Blob, Memory};
use fathomp_base::PageId;
use fathomp_dsm::{Input, PageSet, Protocol};
use rand::Rng;
use std::collections::{BTreeSet, VecDeque};

impl<P: Protocol<Blob>> World<P> {
    /// Tells the protocol of a node something, and does what it answers and what follows.
    pub(super) fn input(
        &mut self,
        node: usize,
        input: Input<P::Incoming>,
        random: &mut impl Rng,
    ) -> Result<(), Failure> {
        // One after the other, as nodes do it.
        let mut following = VecDeque::from([input]);
        while let Some(input) = following.pop_front() {
            following.extend(self.take_in(node, input, random)?);
        }
        self.show(node);
        Ok(())
    }

    /// Tells it, after what others have done to the node by themselves. What follows.
    fn take_in(
        &mut self,
        node: usize,
        input: Input<P::Incoming>,
        random: &mut impl Rng,
    ) -> Result<Vec<Input<P::Incoming>>, Failure> {
        let mut actions = Vec::new();
        self.note(node, "in", &input);
        let logged = self.logged(node);
        let Node {
            protocol,
            memory,
            taken,
            kept,
            brought,
            begun,
            ..
        } = &mut self.nodes[node];
        let kept = were_kept(memory, std::mem::take(kept)).map_err(|what| action(node, what))?;
        let taken = std::mem::take(taken).into_iter().collect();
        let brought = std::mem::take(brought).into_iter().collect();
        let begun = std::mem::take(begun).into_iter().collect();
        let mut stepped = protocol.step(Input::Taken(taken), &mut actions);
        let inputs = [
            kept,
            Some(Input::Begun(begun)),
            Some(Input::Brought(brought)),
            logged.map(Input::Logged),
        ];
        for input in inputs.into_iter().flatten().chain([input]) {
            if protocol.wants_writes(&input) {
                let wrote = Input::Wrote(memory.take_wrote());
                stepped = stepped.and_then(|()| protocol.step(wrote, &mut actions));
            }
            stepped = stepped.and_then(|()| protocol.step(input, &mut actions));
        }
        stepped.map_err(|violation| Failure::Violation {
            node: node_id(node),
            violation,
        })?;
        self.carry_out(node, actions, random)
    }
}

/// What a node has to be told of pages that others keep, if there are some.
fn were_kept<M>(
    memory: &mut Memory,
    kept: Vec<(PageId, Vec<u8>)>,
) -> Result<Option<Input<M>>, String> {
    let (mut pages, mut changed) = (BTreeSet::new(), BTreeSet::new());
    for (page, taken) in kept {
        pages.insert(page);
        if memory.was_kept(page, &taken)? {
            changed.insert(page);
        }
    }
    let [pages, changed] = [pages, changed].map(|pages| pages.into_iter().collect());
    let kept: PageSet = pages;
    Ok((!kept.is_empty()).then_some(Input::Kept(kept, changed)))
}
