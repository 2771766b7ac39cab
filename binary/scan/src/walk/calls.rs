//! Calls: what of the OpenMP interface says something of values, what is followed, and what
//! calls leave changed.

use super::{CallFact, FrameId, Scheduled, Walk};
use crate::entries;
use crate::machine::{Flags, Slot, State, gpr, xmm};
use crate::values::{Location, Node, Value};
use fathomp_cfg::{BlockId, Flow, FunctionId, Registers, Target};
use fathomp_regions::{CallKind, ChunkEnd, Leaf, LoopId, Op, ReasonKind, ScheduleKind};
use iced_x86::{Instruction, Register};

/// Calls inside each other that are followed.
const DEPTH_MAX: u32 = 3;
/// Instructions of a function that is followed, at most.
const FOLLOWED_MAX: usize = 1_500;
/// Functions that are followed for one body, at most.
const FRAMES_MAX: usize = 60;

/// A call that hands out chunks.
#[derive(Clone, Debug)]
pub(super) struct Worksharing {
    pub(super) kind: ScheduleKind,
    /// First value, bound, step, and iterations a chunk, where the call says them.
    pub(super) range: Option<(Value, Value, Value, Option<Value>)>,
    /// Whether the call asks for a further chunk.
    pub(super) further: bool,
}

const ARGUMENTS: [Register; 6] = [
    Register::RDI,
    Register::RSI,
    Register::RDX,
    Register::RCX,
    Register::R8,
    Register::R9,
];

impl Walk<'_> {
    /// Executes a call.
    pub(super) fn run_call(
        &mut self,
        frame: FrameId,
        block: BlockId,
        call: &Instruction,
        state: &mut State,
    ) {
        self.note_accesses(frame, block, call, state);
        let target = self.image.target(call).unwrap_or(Target::Unknown);
        let changed = self.effects.of_call(self.image, call).changed;
        self.call(frame, block, call.ip(), &target, changed, state);
    }

    /// Executes a jump to another function at the end of a block.
    pub(super) fn run_tail(
        &mut self,
        frame: FrameId,
        flow: &Flow,
        block: BlockId,
        target: &Target,
        state: &mut State,
    ) {
        let at = flow.code(block).last().map_or(0, |last| last.ip());
        self.call(frame, block, at, target, Registers::CALLER_SAVED, state);
    }

    fn call(
        &mut self,
        frame: FrameId,
        block: BlockId,
        at: u64,
        target: &Target,
        changed: Registers,
        state: &mut State,
    ) {
        let inside = self.frames[frame.0 as usize].inside(block);
        self.machine.inside = inside;
        let name = match target {
            Target::Import(name) => Some(name.to_string()),
            Target::Local(address) => self
                .image
                .function_from(*address)
                .and_then(|id| self.image.name(id))
                .map(str::to_owned),
            Target::Unknown => None,
        };
        let arguments = ARGUMENTS.map(|register| {
            let number = gpr(register).unwrap_or(0);
            state.registers[usize::from(number)].value
        });
        let kind = name.as_deref().map_or(CallKind::Other, entries::kind);
        let mut followed = false;
        let before = state.clone();
        if kind == CallKind::Other
            && let Target::Local(address) = target
            && let Some(id) = self.image.function_from(*address)
        {
            followed = self.follow(frame, at, id, state);
        }
        self.facts.calls.insert(
            (frame, at),
            CallFact {
                block,
                inside,
                target: target.clone(),
                name: name.clone(),
                kind,
                followed,
                reach: before.reach.clone(),
                arguments: [arguments[0], arguments[2]],
            },
        );
        if followed {
            return;
        }
        *state = before;
        let known = state.clone();
        self.clobber(at, changed, inside, &arguments, state);
        if let Some(name) = name {
            self.interface(at, &name, &arguments, inside, &known, state);
        }
    }

    /// Follows a call into a function. Returns whether it did.
    fn follow(&mut self, caller: FrameId, at: u64, callee: FunctionId, state: &mut State) -> bool {
        let key = (caller, at);
        let frame = match self.followed.get(&key) {
            Some(frame) => *frame,
            None => {
                let depth = self.frames[caller.0 as usize].depth + 1;
                let Some(flow) = self.effects.flow(callee).cloned() else {
                    return false;
                };
                if depth > DEPTH_MAX
                    || flow.instructions.len() > FOLLOWED_MAX
                    || self.frames.len() > FRAMES_MAX
                    || self
                        .frames
                        .iter()
                        .any(|f| f.depth < depth && f.function == callee)
                {
                    return false;
                }
                let inside = self.machine.inside;
                let frame = self.frame(callee, &flow, inside, depth);
                self.followed.insert(key, frame);
                frame
            }
        };
        let flow = self.frames[frame.0 as usize].flow.clone();
        let mut inner = state.clone();
        let top = inner.registers[4].value;
        inner.registers[4].value = self.values.offset(top, -8);
        let left = self.run_level(frame, None, flow.entry, inner, Vec::new());
        let Some(mut after) = self.merge(frame, flow.entry, left.returns) else {
            return false;
        };
        after.registers[4] = state.registers[4];
        after.flags = Flags::Unknown;
        *state = after;
        true
    }

    /// What a call that is not followed leaves.
    fn clobber(
        &mut self,
        at: u64,
        changed: Registers,
        inside: Option<LoopId>,
        arguments: &[Value; 6],
        state: &mut State,
    ) {
        for number in 0..16 {
            let register = Register::RAX + number;
            if let Some(number) = gpr(register)
                && (number == 0 || changed.contains(register) && number != 4)
            {
                let location = Location::Register(number);
                let value = self
                    .values
                    .unknown(ReasonKind::Call, at, Some(location), inside);
                state.registers[usize::from(number)] = Slot { value, bits: 64 };
            }
            let register = Register::XMM0 + number;
            if let Some(number) = xmm(register)
                && changed.contains(register)
            {
                state.vectors[usize::from(number)] = None;
            }
        }
        state.flags = Flags::Unknown;
        // Variables of the function whose addresses are passed.
        for argument in arguments {
            if !self.is_stack(*argument) {
                continue;
            }
            for bytes in [4_u8, 8] {
                let location = Location::Memory(*argument, bytes);
                if state.memory.contains_key(&(*argument, bytes)) {
                    let value = self
                        .values
                        .unknown(ReasonKind::Call, at, Some(location), inside);
                    state.store(&mut self.values, *argument, bytes, Some(value));
                }
            }
        }
    }

    /// What calls of the OpenMP interface say. `known` is what was known before the call.
    fn interface(
        &mut self,
        at: u64,
        name: &str,
        arguments: &[Value; 6],
        inside: Option<LoopId>,
        known: &State,
        state: &mut State,
    ) {
        let returned = match name {
            "omp_get_num_threads" | "omp_get_num_threads_" => Some(Leaf::Threads),
            "omp_get_thread_num" | "omp_get_thread_num_" => Some(Leaf::Thread),
            _ => None,
        };
        if let Some(leaf) = returned {
            let value = self.values.leaf(leaf);
            state.registers[0] = Slot { value, bits: 32 };
            return;
        }
        if entries::returns_first_argument(name) {
            state.registers[0] = Slot {
                value: arguments[0],
                bits: 64,
            };
            return;
        }
        if let Some(call) = entries::llvm::loop_call(entries::base(name)) {
            return self.llvms_loop(at, call, arguments, inside, known, state);
        }
        let Some(call) = entries::worksharing(name) else {
            return;
        };
        if call.sections {
            let value = self.values.intern(Node::Chunk(ChunkEnd::Start, at, inside));
            state.registers[0] = Slot { value, bits: 32 };
            return;
        }
        let argument = |walk: &mut Self, number: u8| walk.argument(number, arguments, known);
        let range = call.range.map(|first| {
            (
                argument(self, first),
                argument(self, first + 1),
                argument(self, first + 2),
                call.chunk.map(|chunk| argument(self, chunk)),
            )
        });
        let (begin, end) = (argument(self, call.bounds), argument(self, call.bounds + 1));
        for (address, which) in [(begin, ChunkEnd::Start), (end, ChunkEnd::End)] {
            let bound = self.values.intern(Node::Chunk(which, at, inside));
            state.store(&mut self.values, address, 8, Some(bound));
        }
        self.worksharing.insert(
            at,
            Worksharing {
                kind: call.kind,
                range,
                further: call.further,
            },
        );
    }

    /// An argument of a call; some lie on the stack.
    pub(super) fn argument(&mut self, number: u8, arguments: &[Value; 6], state: &State) -> Value {
        match arguments.get(usize::from(number)) {
            Some(value) => *value,
            None => {
                let top = state.registers[4].value;
                let by = i64::from(number) - 6;
                let address = self.values.offset(top, by * 8);
                // Narrow ones may have been stored as such.
                match state.memory.get(&(address, 4)) {
                    Some(narrow) => *narrow,
                    None => state.get(&mut self.values, Location::Memory(address, 8)),
                }
            }
        }
    }

    /// If a loop goes on as long as the runtime hands out chunks: how.
    pub(super) fn handed_out(&mut self, goes_on: Value) -> Option<Scheduled> {
        let mut call = None;
        self.values.walk(goes_on, &mut |_, node| {
            if let Node::Unknown(unknown) = node
                && unknown.kind == ReasonKind::Call
            {
                call = call.or(Some(unknown.at));
            }
        });
        let further = self.worksharing.get(&call?)?.clone();
        if !further.further {
            return None;
        }
        // The call that begins it: the nearest one before that says the range.
        let begin = self
            .worksharing
            .range(..call?)
            .rev()
            .find(|(_, call)| !call.further && call.kind == further.kind)
            .map(|(_, call)| call.clone());
        let mut scheduled = Scheduled {
            kind: further.kind,
            chunk: None,
            total: None,
        };
        if let Some((first, bound, step, chunk)) = begin.and_then(|begin| begin.range) {
            let distance = self.values.sub(bound, first);
            let total = match self.values.as_constant(step) {
                Some(1) => distance,
                Some(-1) => self.values.scale(distance, -1),
                Some(by) if by > 1 => {
                    let up = self.values.offset(distance, by - 1);
                    self.values.op(Op::DivS, up, step)
                }
                _ => self.values.op(Op::DivS, distance, step),
            };
            scheduled.total = Some(total);
            scheduled.chunk = chunk;
        }
        Some(scheduled)
    }

    /// Chunks that a thread gets: its share, as far as that can be known before.
    pub(super) fn chunk_trips(&mut self, scheduled: &Scheduled) -> Option<Value> {
        let (total, chunk) = (scheduled.total?, scheduled.chunk?);
        if scheduled.kind != ScheduleKind::Dynamic {
            return None;
        }
        let chunks = match self.values.as_constant(chunk) {
            Some(1 | 0) => total,
            _ => {
                let up = self.values.add(total, chunk);
                let up = self.values.offset(up, -1);
                self.values.op(Op::DivS, up, chunk)
            }
        };
        let threads = self.values.leaf(Leaf::Threads);
        let up = self.values.add(chunks, threads);
        let up = self.values.offset(up, -1);
        let share = self.values.op(Op::DivS, up, threads);
        Some(self.values.offset(share, -1))
    }
}
