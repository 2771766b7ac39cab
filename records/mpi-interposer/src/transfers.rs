//! Messages between two ranks and nonblocking collective operations: what a call begins, and what it
//! completes.

use crate::arguments::{Arguments, world};
use crate::communicators;
use crate::layout::{Chosen, Completion, Ending, Layout, Role};
use crate::recorder::Call;
use crate::requests::{self, Underway};
use crate::sizes;
use fathomp_sys::mpi::World;
use fathomp_types::mpi::{NO_BYTES, NO_PEER, NO_TAG, Transfer, TransferKind};
use std::cell::{Cell, RefCell};
use std::ffi::c_int;

/// Requests of one call that are looked at; of more it is not told when they are over.
const REQUESTS_MAX: usize = 4096;
/// Integers of a status of our own, more than any has.
const STATUS_ROOM: usize = 16;

/// A request that the call may complete.
#[derive(Clone, Copy)]
struct Candidate {
    index: usize,
    handle: usize,
    underway: Underway,
}

thread_local! {
    /// Requests of the call under way: kept, so that it grows a few times and no more.
    static CANDIDATES: RefCell<Vec<Candidate>> = const { RefCell::new(Vec::new()) };
    /// Room for statuses of several requests, likewise.
    static STATUSES: Cell<Vec<c_int>> = const { Cell::new(Vec::new()) };
}

/// A call of the program under way, whose messages are told.
pub(crate) struct Messages {
    role: Role,
    layout: Layout,
    world: World,
    /// A status in place of one that the program does not want, which says who has sent.
    status: [c_int; STATUS_ROOM],
    /// The same for several requests; empty if none are asked for.
    statuses: Vec<c_int>,
    /// Bytes that are sent or that there is room for.
    bytes: u64,
}

impl Messages {
    /// Looks at the arguments before the function is called; they may change with it.
    ///
    /// # Safety
    /// `arguments` are those of a function with this role and layout, as the standard demands them.
    pub(crate) unsafe fn begin(
        role: Role,
        layout: Layout,
        arguments: &mut Arguments,
        call: &Call,
    ) -> Option<Self> {
        if role == Role::Other {
            return None;
        }
        let world = world()?;
        let one = Self {
            role,
            layout,
            world,
            status: [0; STATUS_ROOM],
            statuses: Vec::new(),
            bytes: call.bytes(),
        };
        match role {
            // SAFETY: promised by our caller, here and below.
            Role::Complete(what) => unsafe { one.look_at(what, arguments) },
            // SAFETY: likewise.
            Role::Start => unsafe { one.start(arguments, 0, 0, call) },
            Role::StartAll => {
                // SAFETY: likewise.
                let count = unsafe { arguments.integer(0) };
                for index in 0..count_of(count) {
                    // SAFETY: likewise.
                    unsafe { one.start(arguments, 1, index, call) };
                }
            }
            Role::FreeRequest => {
                // SAFETY: likewise.
                requests::free(one.key(arguments, unsafe { arguments.request_at(world, 0, 0) }));
            }
            Role::FreeCommunicator => {
                // SAFETY: likewise.
                communicators::freed(unsafe { arguments.communicator_at(world, 0) });
            }
            _ => {}
        }
        Some(one)
    }

    /// Where the function shall put a status that the program does not want but that says who has
    /// sent: its argument is replaced.
    ///
    /// # Safety
    /// As of [`Self::begin`]; the function is called while `self` stays where it is.
    pub(crate) unsafe fn ask_for_status(&mut self, arguments: &mut Arguments) {
        let number = match self.role {
            Role::Receive(Ending::WithCall) => 6,
            Role::Exchange { status, .. } | Role::MatchedProbe { status, .. } => status,
            Role::Complete(Completion {
                count: None,
                status,
                ..
            }) => status,
            Role::Complete(Completion {
                count: Some(count),
                status,
                ..
            }) => {
                // SAFETY: promised by our caller.
                let count = unsafe { arguments.integer(count) };
                return self.ask_for_statuses(
                    usize::try_from(count).unwrap_or(0),
                    status,
                    arguments,
                );
            }
            _ => return,
        };
        if arguments.ignores_status(self.world, number) == Some(true) {
            arguments.words[usize::from(number)] = self.status.as_mut_ptr().expose_provenance();
        }
    }

    /// Of requests of which one may be of any sender or tag.
    fn ask_for_statuses(&mut self, count: usize, status: u8, arguments: &mut Arguments) {
        let mut is_any_open = false;
        candidates(|all| is_any_open = all.iter().any(|one| is_open(&one.underway.transfer)));
        if is_any_open && arguments.ignores_status(self.world, status) == Some(true) {
            self.statuses = STATUSES.try_with(Cell::take).unwrap_or_default();
            self.statuses.resize(count * self.world.status_length(), 0);
            arguments.words[usize::from(status)] = self.statuses.as_mut_ptr().expose_provenance();
        }
    }

    /// The function is back: tells what it has begun and completed.
    ///
    /// # Safety
    /// As of [`Self::begin`], with the arguments that the function got.
    pub(crate) unsafe fn end(&self, arguments: &Arguments, succeeded: bool, call: &Call) {
        if !succeeded {
            return;
        }
        let world = self.world;
        match self.role {
            Role::Send(ending) => {
                let kind = TransferKind::SendPosted;
                // SAFETY: promised by our caller, here and below.
                unsafe { self.posted(kind, ending, arguments, call) };
            }
            Role::Receive(ending) => {
                let kind = TransferKind::ReceivePosted;
                // SAFETY: likewise.
                unsafe { self.posted(kind, ending, arguments, call) };
            }
            // SAFETY: likewise.
            Role::BeginCollective => unsafe { self.collective(arguments, call) },
            // SAFETY: likewise.
            Role::Exchange { .. } => unsafe { self.exchanged(arguments, call) },
            // SAFETY: likewise.
            Role::MatchedProbe { .. } => unsafe { self.probed(arguments, call) },
            // SAFETY: likewise.
            Role::Complete(what) => unsafe { self.completed(what, arguments, call) },
            Role::MakeCommunicator { made, tag } => {
                // SAFETY: likewise.
                let parent = unsafe { arguments.communicator(world, 0) };
                // SAFETY: likewise; the function has succeeded.
                let handle = unsafe { arguments.communicator_at(world, made) };
                // SAFETY: likewise.
                let tag = tag.map(|tag| unsafe { arguments.integer(tag) });
                // SAFETY: it was just made.
                unsafe { communicators::made(parent, handle, tag) };
            }
            _ => {}
        }
    }

    /// Requests of Open MPI are numbers in Fortran and addresses in C.
    fn key(&self, arguments: &Arguments, handle: usize) -> usize {
        let is_number = arguments.is_fortran() && !self.world.has_integers();
        handle | usize::from(is_number) << (usize::BITS - 1)
    }

    /// # Safety
    /// The function starts the request at that index.
    unsafe fn start(&self, arguments: &Arguments, number: u8, index: usize, call: &Call) {
        // SAFETY: promised by our caller.
        let handle = unsafe { arguments.request_at(self.world, number, index) };
        if let Some(transfer) = requests::start(self.key(arguments, handle)) {
            call.transfer(&transfer);
        }
    }

    /// # Safety
    /// As of [`Self::end`].
    unsafe fn posted(
        &self,
        kind: TransferKind,
        ending: Ending,
        arguments: &Arguments,
        call: &Call,
    ) {
        // SAFETY: the roles say where these are.
        let (peer, tag) = unsafe { (arguments.integer(3), arguments.integer(4)) };
        // SAFETY: likewise.
        let communicator = unsafe { arguments.communicator(self.world, 5) };
        let status = match ending {
            // SAFETY: likewise.
            Ending::WithCall if kind == TransferKind::ReceivePosted => unsafe {
                arguments.status(self.world, 6, 0)
            },
            _ => None,
        };
        let Some(mut transfer) = self.transfer(kind, (peer, tag), communicator, status) else {
            return;
        };
        transfer.bytes = self.bytes;
        if ending != Ending::WithCall {
            // SAFETY: likewise.
            let handle = unsafe { arguments.request_at(self.world, 6, 0) };
            let is_persistent = ending == Ending::Persistent;
            if !is_persistent {
                transfer.request = requests::next_number();
            }
            let underway = Underway {
                transfer,
                communicator,
                is_persistent,
            };
            requests::insert(self.key(arguments, handle), underway);
        }
        if ending != Ending::Persistent {
            call.transfer(&transfer);
        }
    }

    /// # Safety
    /// As of [`Self::end`], of a function that begins a collective operation.
    unsafe fn collective(&self, arguments: &Arguments, call: &Call) {
        let Some(number) = self.layout.communicator else {
            return;
        };
        // SAFETY: the layout says where these are.
        let communicator = unsafe { arguments.communicator(self.world, number) };
        // SAFETY: likewise.
        let root = self
            .layout
            .peer
            .map(|root| unsafe { arguments.integer(root) });
        let transfer = communicators::with(communicator, |communicator| Transfer {
            kind: TransferKind::CollectivePosted,
            request: requests::next_number(),
            peer: root
                .and_then(|root| communicator.in_world(root))
                .unwrap_or(NO_PEER),
            tag: NO_TAG,
            communicator: communicator.number,
            bytes: self.bytes,
        });
        let Some(transfer) = transfer else {
            return;
        };
        // SAFETY: the request is the argument behind the communicator.
        let handle = unsafe { arguments.request_at(self.world, number + 1, 0) };
        let underway = Underway {
            transfer,
            communicator,
            is_persistent: false,
        };
        requests::insert(self.key(arguments, handle), underway);
        call.transfer(&transfer);
    }

    /// # Safety
    /// As of [`Self::end`], of a function that exchanges.
    unsafe fn exchanged(&self, arguments: &Arguments, call: &Call) {
        let Role::Exchange {
            sent_tag,
            source,
            tag,
            communicator,
            status,
            elements,
        } = self.role
        else {
            return;
        };
        // SAFETY: the role says where these are.
        let integer = |number| unsafe { arguments.integer(number) };
        // SAFETY: likewise.
        let communicator = unsafe { arguments.communicator(self.world, communicator) };
        let to = (integer(3), integer(sent_tag));
        let sent = self.transfer(TransferKind::SendPosted, to, communicator, None);
        if let Some(mut sent) = sent {
            sent.bytes = self.bytes;
            call.transfer(&sent);
        }
        // SAFETY: likewise.
        let status = unsafe { arguments.status(self.world, status, 0) };
        let from = (integer(source), integer(tag));
        let received = self.transfer(TransferKind::ReceivePosted, from, communicator, status);
        if let Some(mut received) = received {
            // SAFETY: likewise.
            let bytes = unsafe { sizes::of_elements(arguments, elements) };
            received.bytes = bytes.unwrap_or(NO_BYTES);
            call.transfer(&received);
        }
    }

    /// The message that is found can only be received by its handle: for other receives it is gone, as if
    /// it were received.
    ///
    /// # Safety
    /// As of [`Self::end`], of a function that probes so.
    unsafe fn probed(&self, arguments: &Arguments, call: &Call) {
        let Role::MatchedProbe { flag, status } = self.role else {
            return;
        };
        // SAFETY: the role says where these are.
        let found = flag.is_none_or(|flag| unsafe { arguments.integer_at(flag, 0) } != 0);
        if !found {
            return;
        }
        // SAFETY: likewise.
        let from = unsafe { (arguments.integer(0), arguments.integer(1)) };
        // SAFETY: likewise.
        let communicator = unsafe { arguments.communicator(self.world, 2) };
        // SAFETY: likewise; it has found a message.
        let status = unsafe { arguments.status(self.world, status, 0) };
        if let Some(received) =
            self.transfer(TransferKind::ReceivePosted, from, communicator, status)
        {
            call.transfer(&received);
        }
    }

    /// A message; nothing if it goes nowhere or its communicator is not known.
    fn transfer(
        &self,
        kind: TransferKind,
        (peer, tag): (c_int, c_int),
        communicator: usize,
        status: Option<(c_int, c_int)>,
    ) -> Option<Transfer> {
        let from_any = kind == TransferKind::ReceivePosted && peer == self.world.any_source();
        if peer < 0 && !from_any {
            return None;
        }
        let (peer, tag) = match status {
            Some((source, its_tag)) if from_any || tag < 0 => (source, its_tag),
            _ => (peer, tag),
        };
        communicators::with(communicator, |communicator| Transfer {
            kind,
            request: 0,
            peer: communicator.in_world(peer).unwrap_or(NO_PEER),
            tag: tag.max(NO_TAG),
            communicator: communicator.number,
            bytes: NO_BYTES,
        })
    }

    /// Notes which of the call's requests are under way.
    ///
    /// # Safety
    /// As of [`Self::begin`].
    unsafe fn look_at(&self, what: Completion, arguments: &Arguments) {
        // SAFETY: the role says where it is.
        let count = what
            .count
            .map_or(1, |count| count_of(unsafe { arguments.integer(count) }));
        let is_certain = what.flag.is_none() && what.chosen.is_none();
        candidates(|all| {
            all.clear();
            for index in 0..count {
                // SAFETY: there are so many.
                let handle = unsafe { arguments.request_at(self.world, what.requests, index) };
                let handle = self.key(arguments, handle);
                let Some(underway) = requests::find(handle) else {
                    continue;
                };
                // Another thread may get the same handle before we hear that this is over.
                if is_certain {
                    requests::finish(handle, underway.transfer.request);
                }
                all.push(Candidate {
                    index,
                    handle,
                    underway,
                });
            }
        });
    }

    /// # Safety
    /// As of [`Self::end`].
    unsafe fn completed(&self, what: Completion, arguments: &Arguments, call: &Call) {
        // SAFETY: the role says where it is.
        let done = what
            .flag
            .is_none_or(|flag| unsafe { arguments.integer_at(flag, 0) } != 0);
        if !done {
            return;
        }
        // Fortran counts from 1.
        let first = c_int::from(arguments.is_fortran());
        candidates(|all| {
            for one in all.iter() {
                let place = match what.chosen {
                    None => Some(one.index),
                    Some(Chosen::One(number)) => {
                        // SAFETY: likewise.
                        let index = unsafe { arguments.integer_at(number, 0) } - first;
                        (usize::try_from(index) == Ok(one.index)).then_some(0)
                    }
                    Some(Chosen::Some(count, indices)) => {
                        // SAFETY: likewise.
                        let count = count_of(unsafe { arguments.integer_at(count, 0) });
                        (0..count).find(|at| {
                            // SAFETY: there are so many.
                            let index = unsafe { arguments.integer_at(indices, *at) } - first;
                            usize::try_from(index) == Ok(one.index)
                        })
                    }
                };
                if let Some(place) = place {
                    // SAFETY: there is a status of each that was completed.
                    let status = unsafe { arguments.status(self.world, what.status, place) };
                    self.over(one, status, call);
                }
            }
        });
    }

    /// A message that another call began is over.
    fn over(&self, one: &Candidate, status: Option<(c_int, c_int)>, call: &Call) {
        let transfer = one.underway.transfer;
        requests::finish(one.handle, transfer.request);
        let (peer, tag) = match status {
            Some((source, tag)) if is_open(&transfer) => {
                let peer =
                    communicators::with(one.underway.communicator, |all| all.in_world(source));
                (peer.flatten().unwrap_or(NO_PEER), tag)
            }
            _ => (transfer.peer, transfer.tag),
        };
        call.transfer(&Transfer {
            kind: match transfer.kind {
                TransferKind::SendPosted => TransferKind::SendDone,
                TransferKind::CollectivePosted => TransferKind::CollectiveDone,
                _ => TransferKind::ReceiveDone,
            },
            peer,
            tag,
            ..transfer
        });
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        if !self.statuses.is_empty() {
            let statuses = std::mem::take(&mut self.statuses);
            let _ = STATUSES.try_with(|all| all.set(statuses));
        }
    }
}

/// Whether the message may be of any sender, or have any tag.
fn is_open(transfer: &Transfer) -> bool {
    let is_receive = transfer.kind == TransferKind::ReceivePosted;
    is_receive && (transfer.peer == NO_PEER || transfer.tag == NO_TAG)
}

fn count_of(count: c_int) -> usize {
    usize::try_from(count).unwrap_or(0).min(REQUESTS_MAX)
}

/// Works on this thread's candidates; not at all at the thread's very end.
fn candidates(work: impl FnOnce(&mut Vec<Candidate>)) {
    let _ = CANDIDATES.try_with(|all| {
        if let Ok(mut all) = all.try_borrow_mut() {
            work(&mut all);
        }
    });
}
