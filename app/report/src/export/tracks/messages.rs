//! The messages of calls of MPI.

use fathomp_trace::model::Process;
use fathomp_trace::record::{Message, Record};
use fathomp_types::mpi::{NO_BYTES, NO_PEER, NO_TAG, Transfer, TransferKind};
use std::collections::HashMap;

/// A call of MPI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::export) struct Call<'a> {
    pub(in crate::export) message: &'a Message,
    /// The records from the first of its messages to the call itself.
    pub(super) records: &'a [Record],
}

/// Messages of a process by the requests that complete them.
#[derive(Default)]
pub(super) struct Requests(HashMap<u32, Transfer>);

impl Requests {
    pub(super) fn of(process: &Process) -> Self {
        let transfers = || {
            let records = process.threads.iter().flat_map(|thread| &thread.records);
            let transfers = records.filter_map(|record| match record {
                Record::Transfer(one) => Some(one.what),
                _ => None,
            });
            transfers.filter(|what| what.request != 0)
        };
        let is_begun = |what: &Transfer| {
            matches!(
                what.kind,
                TransferKind::SendPosted
                    | TransferKind::ReceivePosted
                    | TransferKind::CollectivePosted
            )
        };
        let begun = transfers().filter(is_begun);
        let mut all: HashMap<u32, Transfer> = begun.map(|what| (what.request, what)).collect();
        // A receive from any rank learns the sender at its end.
        for end in transfers().filter(|what| !is_begun(what)) {
            if let Some(begun) = all.get_mut(&end.request) {
                if begun.peer == NO_PEER {
                    begun.peer = end.peer;
                }
                if begun.tag == NO_TAG {
                    begun.tag = end.tag;
                }
            }
        }
        Self(all)
    }

    /// What a call does with messages of which the other rank, the tag, the communicator and the
    /// bytes are known: what, and with which.
    pub(super) fn transfers(&self, call: &Call<'_>) -> Vec<(TransferKind, Transfer)> {
        let told = call.records.iter().filter_map(|record| match record {
            Record::Transfer(one) => Some(one.what),
            _ => None,
        });
        let whole = told.filter_map(|what| match what.request {
            0 => Some((what.kind, what)),
            request => Some((what.kind, *self.0.get(&request)?)),
        });
        let is_known = |what: &Transfer| {
            what.peer >= 0 && what.tag >= 0 && what.communicator != 0 && what.bytes != NO_BYTES
        };
        whole.filter(|(_, what)| is_known(what)).collect()
    }
}
