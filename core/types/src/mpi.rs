//! MPI's functions that move data, wait for others, or do so somewhere inside (MPI 4.1), as
//! interposers stand in front of them and recordings name them; and how the interposer that
//! belongs to a recording of regions tells the runtime's recorder of their calls.

use std::ffi::CStr;

/// Calls the macro `$callback` with what threads do in functions (`Communication` or `Io`), when the
/// rank of the process becomes known (`Init`: by this call; `Other`: not), and the functions: for
/// `MPI_Send` and `mpi_send_`, `Send send`.
#[macro_export]
macro_rules! mpi_calls {
    ($callback:ident) => {
        $callback! {
            Communication Init:
                Init init,
                Init_thread init_thread;
            Communication Other:
                Finalize finalize,
                Abort abort,
                Send send,
                Recv recv,
                Bsend bsend,
                Ssend ssend,
                Rsend rsend,
                Isend isend,
                Irecv irecv,
                Ibsend ibsend,
                Issend issend,
                Irsend irsend,
                Sendrecv sendrecv,
                Sendrecv_replace sendrecv_replace,
                Isendrecv isendrecv,
                Isendrecv_replace isendrecv_replace,
                Probe probe,
                Iprobe iprobe,
                Mprobe mprobe,
                Improbe improbe,
                Mrecv mrecv,
                Imrecv imrecv,
                Wait wait,
                Waitall waitall,
                Waitany waitany,
                Waitsome waitsome,
                Test test,
                Testall testall,
                Testany testany,
                Testsome testsome,
                Start start,
                Startall startall,
                Cancel cancel,
                Request_free request_free,
                Buffer_detach buffer_detach,
                Buffer_flush buffer_flush,
                Psend_init psend_init,
                Precv_init precv_init,
                Pready pready,
                Parrived parrived,
                Barrier barrier,
                Bcast bcast,
                Gather gather,
                Gatherv gatherv,
                Scatter scatter,
                Scatterv scatterv,
                Allgather allgather,
                Allgatherv allgatherv,
                Alltoall alltoall,
                Alltoallv alltoallv,
                Alltoallw alltoallw,
                Reduce reduce,
                Allreduce allreduce,
                Reduce_scatter reduce_scatter,
                Reduce_scatter_block reduce_scatter_block,
                Scan scan,
                Exscan exscan,
                Ibarrier ibarrier,
                Ibcast ibcast,
                Igather igather,
                Igatherv igatherv,
                Iscatter iscatter,
                Iscatterv iscatterv,
                Iallgather iallgather,
                Iallgatherv iallgatherv,
                Ialltoall ialltoall,
                Ialltoallv ialltoallv,
                Ialltoallw ialltoallw,
                Ireduce ireduce,
                Iallreduce iallreduce,
                Ireduce_scatter ireduce_scatter,
                Ireduce_scatter_block ireduce_scatter_block,
                Iscan iscan,
                Iexscan iexscan,
                Neighbor_allgather neighbor_allgather,
                Neighbor_allgatherv neighbor_allgatherv,
                Neighbor_alltoall neighbor_alltoall,
                Neighbor_alltoallv neighbor_alltoallv,
                Neighbor_alltoallw neighbor_alltoallw,
                Ineighbor_allgather ineighbor_allgather,
                Ineighbor_allgatherv ineighbor_allgatherv,
                Ineighbor_alltoall ineighbor_alltoall,
                Ineighbor_alltoallv ineighbor_alltoallv,
                Ineighbor_alltoallw ineighbor_alltoallw,
                Comm_dup comm_dup,
                Comm_dup_with_info comm_dup_with_info,
                Comm_idup comm_idup,
                Comm_split comm_split,
                Comm_split_type comm_split_type,
                Comm_create comm_create,
                Comm_create_group comm_create_group,
                Comm_create_from_group comm_create_from_group,
                Comm_free comm_free,
                Comm_spawn comm_spawn,
                Comm_spawn_multiple comm_spawn_multiple,
                Comm_accept comm_accept,
                Comm_connect comm_connect,
                Comm_disconnect comm_disconnect,
                Comm_join comm_join,
                Intercomm_create intercomm_create,
                Intercomm_merge intercomm_merge,
                Cart_create cart_create,
                Cart_sub cart_sub,
                Graph_create graph_create,
                Dist_graph_create dist_graph_create,
                Dist_graph_create_adjacent dist_graph_create_adjacent,
                Win_create win_create,
                Win_create_dynamic win_create_dynamic,
                Win_allocate win_allocate,
                Win_allocate_shared win_allocate_shared,
                Win_free win_free,
                Win_fence win_fence,
                Win_start win_start,
                Win_complete win_complete,
                Win_post win_post,
                Win_wait win_wait,
                Win_test win_test,
                Win_lock win_lock,
                Win_unlock win_unlock,
                Win_lock_all win_lock_all,
                Win_unlock_all win_unlock_all,
                Win_flush win_flush,
                Win_flush_all win_flush_all,
                Win_flush_local win_flush_local,
                Win_flush_local_all win_flush_local_all,
                Win_sync win_sync,
                Put put,
                Get get,
                Accumulate accumulate,
                Get_accumulate get_accumulate,
                Fetch_and_op fetch_and_op,
                Compare_and_swap compare_and_swap,
                Rput rput,
                Rget rget,
                Raccumulate raccumulate,
                Rget_accumulate rget_accumulate;
            Io Other:
                File_open file_open,
                File_close file_close,
                File_delete file_delete,
                File_sync file_sync,
                File_set_size file_set_size,
                File_preallocate file_preallocate,
                File_seek file_seek,
                File_seek_shared file_seek_shared,
                File_set_view file_set_view,
                File_read file_read,
                File_read_all file_read_all,
                File_read_at file_read_at,
                File_read_at_all file_read_at_all,
                File_read_shared file_read_shared,
                File_read_ordered file_read_ordered,
                File_iread file_iread,
                File_iread_all file_iread_all,
                File_iread_at file_iread_at,
                File_iread_at_all file_iread_at_all,
                File_iread_shared file_iread_shared,
                File_read_all_begin file_read_all_begin,
                File_read_all_end file_read_all_end,
                File_read_at_all_begin file_read_at_all_begin,
                File_read_at_all_end file_read_at_all_end,
                File_read_ordered_begin file_read_ordered_begin,
                File_read_ordered_end file_read_ordered_end,
                File_write file_write,
                File_write_all file_write_all,
                File_write_at file_write_at,
                File_write_at_all file_write_at_all,
                File_write_shared file_write_shared,
                File_write_ordered file_write_ordered,
                File_iwrite file_iwrite,
                File_iwrite_all file_iwrite_all,
                File_iwrite_at file_iwrite_at,
                File_iwrite_at_all file_iwrite_at_all,
                File_iwrite_shared file_iwrite_shared,
                File_write_all_begin file_write_all_begin,
                File_write_all_end file_write_all_end,
                File_write_at_all_begin file_write_at_all_begin,
                File_write_at_all_end file_write_at_all_end,
                File_write_ordered_begin file_write_ordered_begin,
                File_write_ordered_end file_write_ordered_end;
            Communication Other:
                Send_init send_init,
                Bsend_init bsend_init,
                Ssend_init ssend_init,
                Rsend_init rsend_init,
                Recv_init recv_init;
        }
    };
}

macro_rules! names {
    ($($activity:ident $moment:ident: $($name:ident $lower:ident),+;)+) => {
        [$($(concat!("MPI_", stringify!($name)),)+)+]
    };
}

/// Names of the functions in C, by their number in recordings. New ones go at the end of the list.
pub const NAMES: &[&str] = &mpi_calls!(names);

/// The number of the function of that name; that of none, [`NAMES`]`.len()`, if it is not in the
/// list.
#[must_use]
pub const fn number(name: &str) -> u32 {
    let mut number = 0;
    while number < NAMES.len() {
        if same(NAMES[number].as_bytes(), name.as_bytes()) {
            break;
        }
        number += 1;
    }
    number as u32
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// Names of the functions by which libraries that record give their [`Recorder`], each a
/// [`Function`]: of the runtime, and of the recorder of other runtimes.
pub const SYMBOLS: [&CStr; 2] = [c"fathomp_mpi_recorder", c"fathomp_mpi_recorder_of_foreign"];

/// Version of [`Recorder`].
pub const VERSION: u32 = 2;

/// Gives the recorder of that version; null if the process is not recorded or another version is
/// known only.
pub type Function = unsafe extern "C" fn(version: u32) -> *const Recorder;

/// What a runtime that records does for the interposer of MPI. All functions concern the calling
/// thread, which runs the program's code, and allocate nothing but at a thread's first call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Recorder {
    /// The thread calls MPI; the time, or 0 if the thread is not recorded.
    pub begin: extern "C" fn() -> u64,
    /// A message that the call sends, receives, or completes. Told before the call's end.
    pub transfer: unsafe extern "C" fn(transfer: *const Transfer),
    /// That call is over.
    pub end: unsafe extern "C" fn(done: *const Done),
}

/// Defines the function of that name by which a library gives its [`Recorder`], made of functions
/// `begins() -> u64`, `transfers(&Transfer)` and `ends(&Done)`.
#[macro_export]
macro_rules! mpi_recorder {
    ($name:ident, $begins:path, $transfers:path, $ends:path) => {
        static MPI_RECORDER: $crate::mpi::Recorder = $crate::mpi::Recorder {
            begin,
            transfer,
            end,
        };

        /// Gives the recorder to an interposer of the same version.
        #[unsafe(no_mangle)]
        extern "C" fn $name(version: u32) -> *const $crate::mpi::Recorder {
            match version {
                $crate::mpi::VERSION => &raw const MPI_RECORDER,
                _ => std::ptr::null(),
            }
        }

        extern "C" fn begin() -> u64 {
            $begins()
        }

        unsafe extern "C" fn transfer(transfer: *const $crate::mpi::Transfer) {
            // SAFETY: the interposer gives what it keeps during the call.
            if let Some(transfer) = unsafe { transfer.as_ref() } {
                $transfers(transfer);
            }
        }

        unsafe extern "C" fn end(done: *const $crate::mpi::Done) {
            // SAFETY: the interposer gives what it keeps during the call.
            if let Some(done) = unsafe { done.as_ref() } {
                $ends(done);
            }
        }
    };
}

/// A call of MPI that is over.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// What [`Recorder::begin`] answered.
    pub begin: u64,
    /// Where the program called: the last byte of the call.
    pub call: usize,
    /// The function's number.
    pub function: u32,
    /// The other rank or the root, in `MPI_COMM_WORLD`; [`NO_PEER`] if there is none, any may be
    /// it, or the communicator is not known.
    pub peer: i32,
    /// Of a collective call, the communicator; 0 if it is not known.
    pub communicator: u32,
    /// All ranks of `MPI_COMM_WORLD` call it, and none is through before all have come.
    pub waits_for_all: bool,
    /// Bytes that the thread sends or, where it only receives, has room for; [`NO_BYTES`] if that
    /// is not known.
    pub bytes: u64,
}

/// What a thread does with a message.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransferKind {
    /// It begins to send.
    #[default]
    SendPosted = 0,
    /// It is ready to receive.
    ReceivePosted = 1,
    /// A send that another call began is over.
    SendDone = 2,
    /// A receive that another call began is over.
    ReceiveDone = 3,
    /// It begins a nonblocking collective operation, of which [`Transfer::peer`] is the root.
    CollectivePosted = 4,
    /// A nonblocking collective operation that another call began is over.
    CollectiveDone = 5,
}

impl TransferKind {
    /// The one of that number.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::SendPosted),
            1 => Some(Self::ReceivePosted),
            2 => Some(Self::SendDone),
            3 => Some(Self::ReceiveDone),
            4 => Some(Self::CollectivePosted),
            5 => Some(Self::CollectiveDone),
            _ => None,
        }
    }
}

/// One message of a call: what the thread does with it, which one it is, and to or from whom.
///
/// Of messages with the same communicator, sender, receiver and tag, the n-th that is sent is the
/// n-th that is received (MPI 4.1, section 3.5).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// What is done.
    pub kind: TransferKind,
    /// The request by its number in the process, by which a later call completes the message; 0 if
    /// this call does.
    pub request: u32,
    /// The other rank, in `MPI_COMM_WORLD`; [`NO_PEER`] if that is not known: any rank may send it,
    /// or this is a message's end.
    pub peer: i32,
    /// The tag; [`NO_TAG`] likewise.
    pub tag: i32,
    /// The communicator: the same number at all its ranks, [`WORLD`] for `MPI_COMM_WORLD`.
    pub communicator: u32,
    /// Bytes that are sent, or that there is room for; [`NO_BYTES`] if that is not known.
    pub bytes: u64,
}

/// See [`Transfer::communicator`].
pub const WORLD: u32 = 1;
/// See [`Done::peer`].
pub const NO_PEER: i32 = -1;
/// See [`Transfer::tag`].
pub const NO_TAG: i32 = -1;
/// See [`Done::bytes`].
pub const NO_BYTES: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_number_of_their_name() {
        for (index, name) in NAMES.iter().enumerate() {
            assert_eq!(number(name) as usize, index, "{name}");
        }
        assert_eq!(number("MPI_Send_"), NAMES.len() as u32);
        assert!(NAMES.contains(&"MPI_Allreduce") && NAMES.len() > 150);
    }
}
