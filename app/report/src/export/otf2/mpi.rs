//! Messages, collective operations and communicators.

use super::chunks::Field::{Byte, Nothing, Number};
use super::chunks::Record;
use super::kinds::{definition, event, paradigm};
use super::strings::Strings;
use crate::export::tracks::{Slice, Tracks};
use fathomp_trace::record::Message;
use fathomp_types::mpi::{NAMES, Transfer, TransferKind, WORLD};

/// Collective operations in the order of their numbers.
const OPERATIONS: &str = "Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv \
    Alltoall Alltoallv Alltoallw Allreduce Reduce Reduce_scatter Scan Exscan Reduce_scatter_block";

/// The communicators of messages.
///
/// Their members are not known, only the ranks of `MPI_COMM_WORLD` that use them: each is written
/// as one of all ranks.
pub(super) struct Communicators {
    ranks: u32,
    /// By their numbers in archives, those in recordings.
    seen: Vec<u32>,
}

impl Communicators {
    /// Of so many ranks; without any, nothing is told of MPI but when threads are in it.
    pub(super) fn new(ranks: u32) -> Self {
        Self {
            ranks,
            seen: vec![WORLD],
        }
    }

    /// The number in archives.
    fn number(&mut self, recorded: u32) -> u64 {
        let known = self.seen.iter().position(|one| *one == recorded);
        let number = known.unwrap_or_else(|| {
            self.seen.push(recorded);
            self.seen.len() - 1
        });
        number as u64
    }

    pub(super) fn define(&self, ranks: &[u64], strings: &mut Strings) -> Vec<Record> {
        /// Kinds of groups: in the format's first version, and now.
        const LOCATIONS_OF_RANKS: [u8; 2] = [6, 4];
        const RANKS: [u8; 2] = [4, 5];
        if self.ranks == 0 {
            return Vec::new();
        }
        let world = strings.number("MPI_COMM_WORLD");
        let group = |number: u64, [first, kind]: [u8; 2], member: &dyn Fn(usize) -> u64| {
            let count = Number(ranks.len() as u64);
            let fields = [Number(number), Number(world), Byte(first), count];
            let mut record = Record::new(definition::GROUP, &fields);
            let members = (0..ranks.len()).map(|rank| Number(member(rank)));
            for field in members.chain([Byte(kind), Byte(paradigm::MPI), Number(0)]) {
                record.push(field);
            }
            record
        };
        let mut records = vec![
            group(0, LOCATIONS_OF_RANKS, &|rank| ranks[rank]),
            group(1, RANKS, &|rank| rank as u64),
        ];
        for (recorded, number) in self.seen.iter().zip(0..) {
            let name = match *recorded {
                WORLD => world,
                _ => strings.number(&format!("communicator {number}")),
            };
            let fields = [number, name, 1].map(Number);
            let mut record = Record::new(definition::COMMUNICATOR, &fields);
            record.push(Nothing);
            record.push(Number(0));
            records.push(record);
        }
        records
    }
}

/// What a call of MPI tells where it begins or ends.
pub(super) fn events(
    slice: &Slice<'_>,
    tracks: &Tracks,
    begins: bool,
    communicators: &mut Communicators,
) -> Vec<Record> {
    let mut records = Vec::new();
    if communicators.ranks == 0 {
        return records;
    }
    for (kind, transfer) in tracks.transfers(slice) {
        let is_of_one_call = transfer.request == 0;
        let is_at_begin = match kind {
            TransferKind::SendPosted => true,
            TransferKind::ReceivePosted => !is_of_one_call,
            _ => false,
        };
        let is_one_of_them = transfer.peer.unsigned_abs() < communicators.ranks;
        if is_at_begin == begins && is_one_of_them {
            let communicator = communicators.number(transfer.communicator);
            records.extend(message(kind, &transfer, communicator));
        }
    }
    let collective = slice.call.and_then(|call| collective(call.message));
    records.extend(collective.map(|end| match begins {
        true => Record::new(event::COLLECTIVE_BEGIN, &[]),
        false => end,
    }));
    records
}

/// Nonblocking collective operations are told by the calls that begin and end them alone.
fn message(kind: TransferKind, transfer: &Transfer, communicator: u64) -> Option<Record> {
    let request = u64::from(transfer.request);
    let event = match (kind, request) {
        (TransferKind::SendPosted, 0) => event::SEND,
        (TransferKind::SendPosted, _) => event::SEND_BEGIN,
        (TransferKind::ReceivePosted, 0) => event::RECEIVE,
        (TransferKind::ReceiveDone, _) => event::RECEIVE_END,
        (TransferKind::ReceivePosted, _) => {
            return Some(Record::of_one_number(event::RECEIVE_BEGIN, request));
        }
        (TransferKind::SendDone, _) => {
            return Some(Record::of_one_number(event::SEND_END, request));
        }
        (TransferKind::CollectivePosted | TransferKind::CollectiveDone, _) => return None,
    };
    let known = |number: i32| Number(u64::from(number.unsigned_abs()));
    let (peer, tag) = (known(transfer.peer), known(transfer.tag));
    let fields = [peer, Number(communicator), tag, Number(transfer.bytes)];
    let mut record = Record::new(event, &fields);
    if request != 0 {
        record.push(Number(request));
    }
    Some(record)
}

/// The end of a collective operation of all ranks.
fn collective(call: &Message) -> Option<Record> {
    if !call.waits_for_all && call.communicator != WORLD {
        return None;
    }
    let name = NAMES.get(usize::from(call.function))?;
    let name = name.trim_start_matches("MPI_");
    let operation = OPERATIONS.split_whitespace().position(|one| one == name)?;
    let root = call.peer.map_or(Nothing, |root| Number(root.into()));
    // All ranks' communicator is the first.
    let (operation, world) = (Byte(operation as u8), Number(0));
    let (sent, received) = (Number(call.bytes.unwrap_or(0)), Number(0));
    let fields = [operation, world, root, sent, received];
    Some(Record::new(event::COLLECTIVE_END, &fields))
}
