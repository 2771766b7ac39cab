//! What one rank told of MPI: its calls that wait for others, and its messages.

use crate::facts::MpiFacts;
use fathomp_trace::model::Process;
use fathomp_trace::record::{Message, Record, Transfer};
use fathomp_trace::state::State;
use fathomp_types::Ticks;
use fathomp_types::mpi::{NAMES, NO_BYTES, NO_PEER, NO_TAG, TransferKind};
use std::collections::HashMap;

/// Where a program calls a function of MPI.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CallPlace {
    /// "MPI_Recv".
    pub(super) function: &'static str,
    /// Short name of the place.
    pub(super) name: String,
}

/// A call that may wait for other ranks. Of calls and messages there are millions, of all ranks
/// together, so that indices have 32 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) begin: Ticks,
    pub(super) end: Ticks,
    /// Index into [`Events::places`].
    pub(super) place: u32,
    /// Number of the thread that calls.
    pub(super) thread: u32,
}

/// Which ranks wait for which in a collective call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Pattern {
    /// Every rank for the last.
    All,
    /// Every rank for the root.
    FromRoot,
    /// The root for the last.
    ToRoot,
}

/// A collective operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collective {
    pub(super) communicator: u32,
    pub(super) function: u16,
    pub(super) pattern: Pattern,
    /// The root, in `MPI_COMM_WORLD`.
    pub(super) root: Option<u32>,
    /// The call that began it: an index into [`Events::calls`].
    pub(super) call: u32,
    /// The call that completed it, or [`NO_CALL`].
    done: u32,
}

impl Collective {
    /// The call that completed it, if there was one.
    pub(super) fn done(&self) -> Option<u32> {
        Some(self.done).filter(|call| *call != NO_CALL)
    }

    /// One call began and completed it.
    pub(super) fn is_blocking(&self) -> bool {
        self.done == self.call
    }
}

/// A message that the rank sends or receives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Half {
    pub(super) is_send: bool,
    pub(super) communicator: u32,
    /// The other rank and the tag; negative if they never became known.
    pub(super) peer: i32,
    pub(super) tag: i32,
    /// [`NO_BYTES`] if they are not known.
    bytes: u64,
    /// The call that began it: an index into [`Events::calls`].
    pub(super) begun: u32,
    /// The call that completed it, or [`NO_CALL`].
    done: u32,
}

/// In place of the index of a call.
const NO_CALL: u32 = u32::MAX;

impl Half {
    /// Its bytes, if they are known.
    pub(super) fn bytes(&self) -> Option<u64> {
        Some(self.bytes).filter(|bytes| *bytes != NO_BYTES)
    }

    /// The call that completed it, if there was one.
    pub(super) fn done(&self) -> Option<u32> {
        Some(self.done).filter(|call| *call != NO_CALL)
    }
}

/// All of that, of one rank.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    pub(super) places: Vec<CallPlace>,
    /// In the order in which they were begun.
    pub(super) calls: Vec<Call>,
    pub(super) collectives: Vec<Collective>,
    /// In the order in which they were begun.
    pub(super) halves: Vec<Half>,
    /// Waits for locks and critical sections: number of the thread, begin and end.
    pub(super) lock_waits: Vec<(u32, Ticks, Ticks)>,
    /// It receives messages of which is not told which they are, or takes receives back.
    pub(super) is_receiving_unseen: bool,
}

/// Functions, by names without `MPI_`: those in which all ranks wait for all, those in which all wait
/// for the root, and those in which the root waits for all.
const ALL: &[&str] = &[
    "Barrier",
    "Allreduce",
    "Reduce_scatter",
    "Reduce_scatter_block",
    "Allgather",
    "Allgatherv",
    "Alltoall",
    "Alltoallv",
    "Alltoallw",
];
const FROM_ROOT: &[&str] = &["Bcast", "Scatter", "Scatterv"];
const TO_ROOT: &[&str] = &["Reduce", "Gather", "Gatherv"];
/// Functions by which messages are received unseen.
const UNSEEN: &[&str] = &["MPI_Cancel"];

/// Which ranks wait in the operation of a collective function, which has the same name behind
/// `MPI_I` if it is nonblocking.
fn pattern_of(function: &str) -> Option<Pattern> {
    let patterns = [
        (ALL, Pattern::All),
        (FROM_ROOT, Pattern::FromRoot),
        (TO_ROOT, Pattern::ToRoot),
    ];
    let operation = function.strip_prefix("MPI_")?;
    let nonblocking = operation.strip_prefix('I');
    let is_it = |name: &&str| {
        *name == operation || nonblocking.is_some_and(|one| name.eq_ignore_ascii_case(one))
    };
    let mut patterns = patterns.into_iter();
    let found = patterns.find(|(names, _)| names.iter().any(is_it));
    found.map(|(_, pattern)| pattern)
}

/// The name of a function.
pub(super) fn function(number: u16) -> &'static str {
    NAMES.get(usize::from(number)).copied().unwrap_or("MPI")
}

impl Events {
    /// Those of a process. `facts` are of the same.
    pub(super) fn of(process: &Process, facts: Option<&MpiFacts>) -> Self {
        let mut reading = Reading::new(facts);
        for (number, thread) in (0..).zip(&process.threads) {
            for record in &thread.records {
                match record {
                    Record::Transfer(transfer) => reading.waiting.push(*transfer),
                    Record::Message(call) => reading.call(call, number),
                    Record::Interval(wait)
                        if matches!(wait.state, State::Critical | State::Lock) =>
                    {
                        let wait = (number, wait.begin, wait.end);
                        reading.events.lock_waits.push(wait);
                    }
                    _ => {}
                }
            }
            reading.waiting.clear();
        }
        reading.close()
    }
}

/// A message's end: its request, the call, the peer and the tag.
type End = (u32, u32, i32, i32);

struct Reading {
    events: Events,
    /// Messages of the call that follows.
    waiting: Vec<Transfer>,
    /// The place of a site and a function.
    places: HashMap<(u32, u16), u32>,
    /// Names of sites, with their functions.
    names: HashMap<(u32, &'static str), String>,
    /// Messages by the requests that will complete them.
    open: HashMap<u32, usize>,
    /// Nonblocking collective operations, likewise.
    open_collectives: HashMap<u32, usize>,
    ends: Vec<End>,
}

impl Reading {
    fn new(facts: Option<&MpiFacts>) -> Self {
        let mut names = HashMap::new();
        for calls in facts.iter().flat_map(|facts| &facts.calls) {
            let function = NAMES.iter().find(|name| **name == calls.function);
            for site in &calls.sites {
                if let Some(function) = function {
                    names.insert((site.0, *function), calls.name.clone());
                }
            }
        }
        Self {
            events: Events::default(),
            waiting: Vec::new(),
            places: HashMap::new(),
            names,
            open: HashMap::new(),
            open_collectives: HashMap::new(),
            ends: Vec::new(),
        }
    }

    fn call(&mut self, call: &Message, thread: u32) {
        let name = function(call.function);
        self.events.is_receiving_unseen |= UNSEEN.contains(&name);
        let is_begun = |one: &Transfer| one.what.kind == TransferKind::CollectivePosted;
        let pattern = match self.waiting.iter().any(is_begun) {
            true => None,
            false => pattern_of(name),
        };
        // Recordings of earlier versions name no communicator.
        let communicator = match call.waits_for_all {
            true => fathomp_types::mpi::WORLD,
            false => call.communicator,
        };
        let pattern = pattern.filter(|_| communicator != 0);
        if pattern.is_none() && self.waiting.is_empty() {
            return;
        }
        let number = self.events.calls.len() as u32;
        if number == NO_CALL {
            self.waiting.clear();
            return;
        }
        let place = self.place(call);
        self.events.calls.push(Call {
            begin: call.begin,
            end: call.end,
            place,
            thread,
        });
        if let Some(pattern) = pattern {
            self.events.collectives.push(Collective {
                communicator,
                function: call.function,
                pattern,
                root: call.peer,
                call: number,
                done: number,
            });
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        for transfer in waiting.drain(..) {
            match transfer.what.kind {
                TransferKind::CollectivePosted => self.begun(&transfer, call.function, number),
                _ => self.message(&transfer, number),
            }
        }
        self.waiting = waiting;
    }

    fn place(&mut self, call: &Message) -> u32 {
        let key = (call.site.0, call.function);
        if let Some(place) = self.places.get(&key) {
            return *place;
        }
        let function = function(call.function);
        let name = self.names.get(&(call.site.0, function));
        let place = self.events.places.len() as u32;
        self.events.places.push(CallPlace {
            function,
            name: name.cloned().unwrap_or_default(),
        });
        self.places.insert(key, place);
        place
    }

    /// A nonblocking collective operation begins.
    fn begun(&mut self, transfer: &Transfer, function: u16, call: u32) {
        let what = &transfer.what;
        let Some(pattern) = pattern_of(self::function(function)) else {
            return;
        };
        let number = self.events.collectives.len();
        self.open_collectives.insert(what.request, number);
        self.events.collectives.push(Collective {
            communicator: what.communicator,
            function,
            pattern,
            root: u32::try_from(what.peer).ok(),
            call,
            done: NO_CALL,
        });
    }

    fn message(&mut self, transfer: &Transfer, call: u32) {
        let what = &transfer.what;
        let is_send = match what.kind {
            TransferKind::SendPosted => true,
            TransferKind::ReceivePosted => false,
            _ => {
                self.ends.push((what.request, call, what.peer, what.tag));
                return;
            }
        };
        let number = self.events.halves.len();
        if what.request != 0 {
            self.open.insert(what.request, number);
        }
        self.events.halves.push(Half {
            is_send,
            communicator: what.communicator,
            peer: what.peer,
            tag: what.tag,
            bytes: what.bytes,
            begun: call,
            done: match what.request {
                0 => call,
                _ => NO_CALL,
            },
        });
    }

    fn close(mut self) -> Events {
        let events = &mut self.events;
        for (request, call, peer, tag) in self.ends {
            if let Some(one) = self.open_collectives.get(&request) {
                events.collectives[*one].done = call;
            }
            let Some(half) = self.open.get(&request) else {
                continue;
            };
            let half = &mut events.halves[*half];
            half.done = call;
            if half.peer == NO_PEER {
                half.peer = peer;
            }
            if half.tag == NO_TAG {
                half.tag = tag;
            }
        }
        events.in_order();
        self.events
    }
}

impl Events {
    /// Puts everything into the order in which it was begun, and lets go of memory that growing
    /// left over: the events of all ranks are kept at the same time.
    fn in_order(&mut self) {
        if !self.calls.is_sorted_by_key(|call| call.begin) {
            let mut order: Vec<u32> = (0..self.calls.len() as u32).collect();
            order.sort_by_key(|call| self.calls[*call as usize].begin);
            let mut moved = vec![0; order.len()];
            for (to, from) in (0..).zip(&order) {
                moved[*from as usize] = to;
            }
            self.calls.sort_by_key(|call| call.begin);
            for one in &mut self.collectives {
                one.call = moved[one.call as usize];
                if one.done != NO_CALL {
                    one.done = moved[one.done as usize];
                }
            }
            for half in &mut self.halves {
                half.begun = moved[half.begun as usize];
                if half.done != NO_CALL {
                    half.done = moved[half.done as usize];
                }
            }
        }
        self.halves.sort_by_key(|half| half.begun);
        self.collectives.sort_by_key(|one| one.call);
        self.calls.shrink_to_fit();
        self.halves.shrink_to_fit();
        self.collectives.shrink_to_fit();
    }

    /// A call.
    pub(super) fn call(&self, call: u32) -> &Call {
        &self.calls[call as usize]
    }

    /// Where a call is.
    pub(super) fn place_of(&self, call: u32) -> &CallPlace {
        &self.places[self.call(call).place as usize]
    }
}
