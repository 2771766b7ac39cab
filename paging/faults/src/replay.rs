//! Replays what happened, to say of each fault what it was.

use crate::facts::MappingKind;
use crate::space::{MapId, NameId, Piece, Space, kind};
use fathomp_paging::faults::{Fault, FaultEvent, Found};
use std::collections::HashMap;

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;

/// What a fault was, as far as can be said when it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultKind {
    FirstTouch,
    Repeated,
    CopyOnWrite,
    Refused,
}

/// A fault with what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) fault: Fault,
    pub(super) kind: FaultKind,
    /// The mapping it is on.
    pub(super) mapping: Option<MapId>,
    pub(super) memory: MappingKind,
    /// The thread that touched the page first, if that was another one.
    pub(super) touched_by: Option<u32>,
    /// How long it waited for I/O, if it did.
    pub(super) waited_ns: Option<u64>,
    /// The instruction's file and where in that.
    pub(super) code: Option<InFile>,
    /// The same of what was accessed, where that belongs to a file or lies behind one.
    pub(super) data: Option<InFile>,
}

/// A place in a file that is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct InFile {
    pub(super) name: NameId,
    /// Bytes from its begin; beyond its end for variables that are zero at first.
    pub(super) offset: u64,
}

/// A mapping that was seen.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) process: u32,
    pub(super) name: String,
    pub(super) kind: MappingKind,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// The first touch of a page.
#[derive(Clone, Copy, Debug)]
struct Touch {
    life: u32,
    thread: u32,
}

#[derive(Debug, Default)]
struct Process {
    space: Space,
    pages: HashMap<u64, Touch>,
    program: String,
}

/// The state of all processes at one moment.
#[derive(Debug, Default)]
pub(super) struct Replay {
    processes: HashMap<u32, Process>,
    /// Every mapping there ever was, by its number.
    pub(super) mappings: Vec<Seen>,
    names: Vec<String>,
    numbers: HashMap<String, NameId>,
    /// The last fault of each thread: whether it is major is told after it.
    waiting: HashMap<u32, Judged>,
}

impl Replay {
    /// Takes what happened next; hands out a fault of which all is known now.
    pub(super) fn take(&mut self, event: &FaultEvent) -> Option<Judged> {
        match event {
            FaultEvent::Fault(fault) => {
                let judged = self.judge(fault);
                return self.waiting.insert(fault.thread, judged);
            }
            FaultEvent::Served {
                at,
                thread,
                address,
                ..
            } => {
                let same = |judged: &&mut Judged| judged.fault.address / PAGE == address / PAGE;
                if let Some(judged) = self.waiting.get_mut(thread).filter(same) {
                    judged.waited_ns = Some(at.saturating_sub(judged.fault.at));
                }
            }
            FaultEvent::Mapping(mapping) => {
                let name = self.number(&mapping.name);
                let process = self.processes.entry(mapping.process).or_default();
                let mappings = &mut self.mappings;
                process.space.take(mapping, name, &mut || {
                    let number = u32::try_from(mappings.len()).unwrap_or(u32::MAX);
                    mappings.push(Seen {
                        process: mapping.process,
                        name: mapping.name.clone(),
                        kind: kind(mapping),
                        start: mapping.start,
                        end: mapping.end,
                    });
                    MapId(number)
                });
                if let Some(piece) = process.space.at(mapping.start) {
                    let kind = memory(&process.space, piece);
                    if let Some(seen) = mappings.get_mut(piece.id.0 as usize) {
                        seen.kind = kind;
                        seen.start = seen.start.min(mapping.start);
                        seen.end = seen.end.max(mapping.end);
                    }
                }
            }
            FaultEvent::Stack {
                process, pointer, ..
            } => {
                let space = &mut self.processes.entry(*process).or_default().space;
                space.stack_at(*pointer);
                if let Some(piece) = space.at(*pointer)
                    && let Some(seen) = self.mappings.get_mut(piece.id.0 as usize)
                {
                    seen.kind = memory(space, piece);
                }
            }
            FaultEvent::Program { process, name, .. } => {
                let fresh = Process {
                    program: name.clone(),
                    ..Process::default()
                };
                self.processes.insert(*process, fresh);
            }
            FaultEvent::Fork {
                process, parent, ..
            } => {
                // Its pages are its parent's until written; which it touched itself is
                // known from here on.
                let parent = self.processes.get(parent);
                let child = parent.map(|parent| Process {
                    space: parent.space.clone(),
                    pages: HashMap::new(),
                    program: parent.program.clone(),
                });
                self.processes.insert(*process, child.unwrap_or_default());
            }
        }
        None
    }

    /// The faults that are left, now that nothing more comes.
    pub(super) fn rest(&mut self) -> Vec<Judged> {
        let mut rest: Vec<_> = self.waiting.drain().map(|(_, judged)| judged).collect();
        rest.sort_by_key(|judged| (judged.fault.at, judged.fault.thread));
        rest
    }

    /// The name of a process's program.
    pub(super) fn program(&self, process: u32) -> &str {
        let process = self.processes.get(&process);
        process.map_or("", |process| process.program.as_str())
    }

    /// The name of that number.
    pub(super) fn name(&self, number: NameId) -> &str {
        self.names.get(number.0 as usize).map_or("", String::as_str)
    }

    fn judge(&mut self, fault: &Fault) -> Judged {
        let process = self.processes.entry(fault.process).or_default();
        let piece = process.space.at(fault.address);
        let life = piece.map_or(0, |piece| piece.life);
        let touch = Touch {
            life,
            thread: fault.thread,
        };
        let page = fault.address / PAGE;
        let before = process
            .pages
            .get(&page)
            .filter(|before| before.life == life);
        let touched_by = before.map(|before| before.thread);
        let kind = match (fault.found, piece, before) {
            (_, Some(piece), _) if !piece.is_accessible() => FaultKind::Refused,
            (Found::Page, Some(piece), _) if !piece.is_writable() => FaultKind::Refused,
            (Found::Page, Some(piece), _) if piece.is_shared() => FaultKind::Repeated,
            (Found::Page, _, _) => FaultKind::CopyOnWrite,
            (_, _, None) => FaultKind::FirstTouch,
            (_, _, Some(_)) => FaultKind::Repeated,
        };
        if before.is_none() {
            process.pages.insert(page, touch);
        }
        let (mapping, memory) = match piece {
            Some(piece) => (Some(piece.id), memory(&process.space, piece)),
            None => (None, MappingKind::Unknown),
        };
        let code = process.space.at(fault.instruction);
        let code = code.filter(|piece| piece.kind == MappingKind::File);
        let data = match (memory, piece) {
            (MappingKind::File, Some(piece)) => Some(piece),
            (MappingKind::Anonymous | MappingKind::Heap, _) => {
                process.space.file_before(fault.address)
            }
            _ => None,
        };
        Judged {
            fault: *fault,
            kind,
            mapping,
            memory,
            touched_by: touched_by.filter(|thread| *thread != fault.thread),
            waited_ns: None,
            code: code.map(|piece| in_file(piece, fault.instruction)),
            data: data.map(|piece| in_file(piece, fault.address)),
        }
    }

    fn number(&mut self, name: &str) -> NameId {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = NameId(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

fn in_file(piece: &Piece, address: u64) -> InFile {
    InFile {
        name: piece.name,
        offset: address.wrapping_sub(piece.start).wrapping_add(piece.offset),
    }
}

fn memory(space: &Space, piece: &Piece) -> MappingKind {
    match piece.kind {
        MappingKind::Anonymous if space.is_stack(piece.id) => MappingKind::Stack,
        kind => kind,
    }
}
