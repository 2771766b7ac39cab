//! What is known where ways meet.

use super::{FrameId, Walk};
use crate::machine::{Flags, Slot, State};
use crate::values::{Location, Node, Value};
use fathomp_cfg::BlockId;
use fathomp_regions::ReasonKind;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A way into a block: from where, and the state there.
pub(super) type Edge = (BlockId, State);

/// A value on a way, and the conditions that hold there.
type Part<'a> = (&'a BTreeSet<Value>, Value);

/// Choices inside each other, at most.
const CHOICES_MAX: usize = 8;

impl Walk<'_> {
    /// The state where ways meet at a block of a loop (`level`).
    pub(super) fn merge(&mut self, frame: FrameId, at: BlockId, edges: Vec<Edge>) -> Option<State> {
        let mut edges = edges;
        if edges.iter().any(|(_, state)| !state.reach.is_never()) {
            edges.retain(|(_, state)| !state.reach.is_never());
        }
        if edges.len() <= 1 {
            return edges.pop().map(|(_, state)| state);
        }
        let mut merged = edges[0].1.clone();
        for number in 0..merged.registers.len() {
            let slots: Vec<Slot> = edges
                .iter()
                .map(|(_, state)| state.registers[number])
                .collect();
            if slots.iter().all(|slot| *slot == slots[0]) {
                continue;
            }
            let parts: Vec<Part<'_>> = edges
                .iter()
                .map(|(_, state)| (&*state.holds, state.registers[number].value))
                .collect();
            let location = Location::Register(number as u8);
            let value = self.meet(frame, at, location, &parts);
            let bits = slots.iter().map(|slot| slot.bits).max().unwrap_or(64);
            merged.registers[number] = Slot { value, bits };
        }
        for number in 0..merged.vectors.len() {
            let first = edges[0].1.vectors[number];
            if edges
                .iter()
                .any(|(_, state)| state.vectors[number] != first)
            {
                merged.vectors[number] = None;
            }
        }
        if edges.iter().any(|(_, state)| state.flags != merged.flags) {
            merged.flags = Flags::Unknown;
        }
        self.merge_memory(frame, at, &edges, &mut merged);
        if edges.iter().any(|(_, state)| state.reach != merged.reach) {
            let reach = Rc::make_mut(&mut merged.reach);
            for (_, state) in edges.iter().skip(1) {
                reach.or(&mut self.values, &state.reach);
            }
        }
        if edges.iter().any(|(_, state)| state.holds != merged.holds) {
            let all = edges.iter().map(|(_, state)| &state.holds);
            Rc::make_mut(&mut merged.holds)
                .retain(|condition| all.clone().all(|holds| holds.contains(condition)));
            let ways: Vec<&BTreeSet<Value>> =
                edges.iter().map(|(_, state)| &*state.holds).collect();
            if let Some(either) = self.either(&ways, &merged.holds) {
                // What leads here is in `reach` already.
                Rc::make_mut(&mut merged.holds).insert(either);
            }
        }
        Some(merged)
    }

    fn merge_memory(&mut self, frame: FrameId, at: BlockId, edges: &[Edge], merged: &mut State) {
        let first = &edges[0].1.memory;
        if edges
            .iter()
            .all(|(_, state)| Rc::ptr_eq(&state.memory, first))
        {
            return;
        }
        let mut differing: BTreeSet<(Value, u8)> = BTreeSet::new();
        for (_, state) in edges {
            if Rc::ptr_eq(&state.memory, first) {
                continue;
            }
            for (key, value) in state.memory.iter() {
                if first.get(key) != Some(value) {
                    differing.insert(*key);
                }
            }
            differing.extend(first.keys().filter(|key| !state.memory.contains_key(*key)));
        }
        for (address, bytes) in differing {
            let key = (address, bytes);
            let stack = self.is_stack(address);
            let everywhere = edges
                .iter()
                .all(|(_, state)| state.memory.contains_key(&key));
            let memory = Rc::make_mut(&mut merged.memory);
            if stack && !everywhere {
                // Left over from something that is done.
                memory.remove(&key);
                continue;
            }
            let location = Location::Memory(address, bytes);
            let parts: Vec<Part<'_>> = edges
                .iter()
                .map(|(_, state)| (&*state.holds, state.get(&mut self.values, location)))
                .collect();
            let value = self.meet(frame, at, location, &parts);
            Rc::make_mut(&mut merged.memory).insert(key, value);
        }
    }

    /// Whether an address is one of the stack.
    pub(super) fn is_stack(&self, address: Value) -> bool {
        self.values
            .terms(address)
            .iter()
            .any(|term| matches!(&*term.factors, [only] if *self.values.node(*only) == Node::Stack))
    }

    /// The value of a location where ways with these values meet.
    fn meet(
        &mut self,
        frame: FrameId,
        at: BlockId,
        location: Location,
        parts: &[Part<'_>],
    ) -> Value {
        if let Some(value) = self.choose(parts, 0) {
            return value;
        }
        let kind = match self.is_decided_by_data(frame, at) {
            true => ReasonKind::ChangedMemory,
            false => ReasonKind::MergedValue,
        };
        let frame = &self.frames[frame.0 as usize];
        let inside = frame.inside(at);
        let start = frame.flow.block(at).start;
        self.values.unknown(kind, start, Some(location), inside)
    }

    /// Whether the ways that meet at a block parted by what is in memory, or by a comparison of
    /// numbers that are no whole ones.
    fn is_decided_by_data(&self, frame: FrameId, at: BlockId) -> bool {
        let frame = &self.frames[frame.0 as usize];
        let Some(over) = frame.flow.dominators().nearest(at) else {
            return false;
        };
        match frame.condition(over) {
            None => frame.flow.block(over).taken.is_some(),
            Some(condition) => frame
                .inside(at)
                .is_some_and(|inside| self.reads_varying(condition, inside)),
        }
    }

    /// The choice between values, by a condition that holds on some ways and not on others.
    fn choose(&mut self, parts: &[Part<'_>], depth: usize) -> Option<Value> {
        let (first, rest) = parts.split_first()?;
        if rest.iter().all(|(_, value)| *value == first.1) {
            return Some(first.1);
        }
        if depth > CHOICES_MAX {
            return None;
        }
        for condition in first.0 {
            let opposite = self.values.not(*condition);
            let (yes, no): (Vec<Part<'_>>, Vec<Part<'_>>) = parts
                .iter()
                .filter(|(holds, _)| holds.contains(condition) || holds.contains(&opposite))
                .partition(|(holds, _)| holds.contains(condition));
            if no.is_empty() || yes.len() + no.len() < parts.len() {
                continue;
            }
            let yes = self.choose(&yes, depth + 1)?;
            let no = self.choose(&no, depth + 1)?;
            return Some(self.values.select(*condition, yes, no));
        }
        None
    }
}
