//! Calls of LLVM's interface that say which part of a loop a thread gets.

use super::calls::Worksharing;
use super::{StaticFact, Walk};
use crate::entries::llvm::{Loop, LoopCall, schedule};
use crate::machine::State;
use crate::values::{Location, Node, Value};
use fathomp_regions::{ChunkEnd, Leaf, LoopId, Op, ScheduleKind};

impl Walk<'_> {
    /// Executes such a call.
    pub(super) fn llvms_loop(
        &mut self,
        at: u64,
        call: Loop,
        arguments: &[Value; 6],
        inside: Option<LoopId>,
        known: &State,
        state: &mut State,
    ) {
        let argument = |walk: &mut Self, number| walk.argument(number, arguments, known);
        match call.call {
            LoopCall::Static | LoopCall::StaticOfTeam => {
                let stride = 6 + u8::from(call.call == LoopCall::StaticOfTeam);
                let [stride, step, chunk] =
                    [stride, stride + 1, stride + 2].map(|number| argument(self, number));
                let part = self.static_part(call, arguments, [stride, step, chunk], known, state);
                self.facts.statics.insert(at, part);
            }
            LoopCall::Begin => {
                let [first, last, step, chunk] = [3, 4, 5, 6].map(|number| argument(self, number));
                let bound = self.values.offset(last, 1);
                let number = self.values.as_constant(arguments[2]);
                self.worksharing.insert(
                    at,
                    Worksharing {
                        kind: number.map_or(ScheduleKind::Runtime, |number| schedule(number).0),
                        range: Some((first, bound, step, Some(chunk))),
                        further: false,
                    },
                );
            }
            LoopCall::Next => {
                for (address, which) in [(3, ChunkEnd::Start), (4, ChunkEnd::End)] {
                    let bound = self.values.intern(Node::Chunk(which, at, inside));
                    // The end is behind the last value, LLVM's bound is that value.
                    let by = -i64::from(which == ChunkEnd::End);
                    let bound = self.values.offset(bound, by);
                    let address = arguments[address];
                    state.store(&mut self.values, address, call.bytes, Some(bound));
                }
                let mut before = self.worksharing.range(..at).rev();
                let begin = before.find(|(_, call)| !call.further);
                let kind = begin.map_or(ScheduleKind::Runtime, |(_, call)| call.kind);
                self.worksharing.insert(
                    at,
                    Worksharing {
                        kind,
                        range: None,
                        further: true,
                    },
                );
            }
        }
    }

    /// The call changes the bounds to those of the thread's part.
    fn static_part(
        &mut self,
        call: Loop,
        arguments: &[Value; 6],
        [stride, step, chunk]: [Value; 3],
        known: &State,
        state: &mut State,
    ) -> StaticFact {
        let (lower, upper) = (arguments[4], arguments[5]);
        let at = |address| Location::Memory(address, call.bytes);
        let first = known.get(&mut self.values, at(lower));
        let last = known.get(&mut self.values, at(upper));
        let known_step = self.values.as_constant(step).filter(|by| *by != 0);
        let by = known_step.unwrap_or(1);
        let in_turn = self
            .values
            .as_constant(arguments[2])
            .is_some_and(|number| schedule(number).1);
        let thread = self.values.leaf(Leaf::Thread);
        let threads = self.values.leaf(Leaf::Threads);
        let distance = self.values.sub(last, first);
        let all = match by {
            1 => self.values.offset(distance, 1),
            _ => {
                let by = self.values.constant(by);
                let whole = self.values.op(Op::DivS, distance, by);
                self.values.offset(whole, 1)
            }
        };
        let (from, count) = if in_turn {
            let next = self.values.mul(threads, chunk);
            let next = self.values.scale(next, by);
            state.store(&mut self.values, stride, call.bytes, Some(next));
            (self.values.mul(thread, chunk), chunk)
        } else {
            self.share(all, thread, threads)
        };
        let from = self.values.scale(from, by);
        let from = self.values.add(first, from);
        let length = self.values.offset(count, -1);
        let length = self.values.scale(length, by);
        let to = self.values.add(from, length);
        if !in_turn && by == 1 {
            // The program makes sure of it once more.
            self.values.note_at_most(to, last);
        }
        state.store(&mut self.values, lower, call.bytes, Some(from));
        state.store(&mut self.values, upper, call.bytes, Some(to));
        StaticFact {
            total: known_step.map(|_| all),
            chunk: in_turn.then_some(chunk),
        }
    }

    /// The first iteration of a thread that gets one of equal parts, and how many it gets: the
    /// first threads get one more than the others.
    fn share(&mut self, all: Value, thread: Value, threads: Value) -> (Value, Value) {
        let quotient = self.values.op(Op::DivS, all, threads);
        let rest = self.values.op(Op::RemS, all, threads);
        let is_longer = self.values.op(Op::LtS, thread, rest);
        let longer = self.values.offset(quotient, 1);
        let count = self.values.select(is_longer, longer, quotient);
        let none = self.values.constant(0);
        let before = self.values.select(is_longer, none, rest);
        let from = self.values.mul(thread, count);
        (self.values.add(from, before), count)
    }
}
