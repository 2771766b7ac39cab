//! What kind of function of MPI one is, as formats of traces tell them apart.

use fathomp_types::mpi::NAMES;

/// A kind of functions, and its numbers in formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::export) struct MpiClass {
    /// OTF2's role of regions.
    pub(in crate::export) otf2_role: u8,
    /// Extrae's type of events in traces for Paraver.
    pub(in crate::export) paraver_type: u32,
    /// Paraver's state of threads.
    pub(in crate::export) paraver_state: u8,
}

impl MpiClass {
    const SEND: Self = Self::new(28, 1, 4);
    const SEND_BEGIN: Self = Self::new(28, 1, 10);
    const RECEIVE: Self = Self::new(28, 1, 3);
    const RECEIVE_BEGIN: Self = Self::new(28, 1, 11);
    const SEND_RECEIVE: Self = Self::new(28, 1, 16);
    const WAIT: Self = Self::new(28, 1, 8);
    /// Asks whether something has come or is over.
    const TEST: Self = Self::new(28, 3, 6);
    const BARRIER: Self = Self::new(15, 2, 5);
    const ONE_TO_ALL: Self = Self::new(23, 2, 13);
    const ALL_TO_ONE: Self = Self::new(24, 2, 13);
    const ALL_TO_ALL: Self = Self::new(25, 2, 13);
    const COLLECTIVE: Self = Self::new(26, 2, 13);
    const ONE_SIDED: Self = Self::new(29, 4, 25);
    const FILE: Self = Self::new(27, 5, 12);
    /// Communicators, begin and end, requests.
    const OTHER: Self = Self::new(1, 3, 15);

    const fn new(otf2_role: u8, paraver_type: u32, paraver_state: u8) -> Self {
        Self {
            otf2_role,
            paraver_type: 50_000_000 + paraver_type,
            paraver_state,
        }
    }

    /// Of a function by its number.
    pub(in crate::export) fn of(function: u16) -> Self {
        let name = name(function).trim_start_matches("MPI_");
        // "Ibcast" does what "Bcast" does, and "Igatherv" what "Gather" does.
        let lower = name.to_ascii_lowercase();
        let collective = lower.strip_prefix('i').unwrap_or(&lower);
        match name {
            "Send" | "Bsend" | "Ssend" | "Rsend" => Self::SEND,
            "Isend" | "Ibsend" | "Issend" | "Irsend" => Self::SEND_BEGIN,
            "Recv" | "Mrecv" => Self::RECEIVE,
            "Irecv" | "Imrecv" => Self::RECEIVE_BEGIN,
            _ if collective.starts_with("sendrecv") => Self::SEND_RECEIVE,
            "Wait" | "Waitall" | "Waitany" | "Waitsome" => Self::WAIT,
            "Test" | "Testall" | "Testany" | "Testsome" | "Probe" | "Iprobe" | "Mprobe"
            | "Improbe" | "Parrived" => Self::TEST,
            "Put" | "Get" | "Accumulate" | "Get_accumulate" | "Fetch_and_op"
            | "Compare_and_swap" | "Rput" | "Rget" | "Raccumulate" | "Rget_accumulate" => {
                Self::ONE_SIDED
            }
            _ if name.starts_with("Win_") => Self::ONE_SIDED,
            _ if name.starts_with("File_") => Self::FILE,
            _ => match collective.trim_end_matches(['v', 'w']) {
                "barrier" => Self::BARRIER,
                "bcast" | "scatter" => Self::ONE_TO_ALL,
                "gather" | "reduce" => Self::ALL_TO_ONE,
                "allgather"
                | "alltoall"
                | "allreduce"
                | "reduce_scatter"
                | "reduce_scatter_block" => Self::ALL_TO_ALL,
                "scan" | "exscan" => Self::COLLECTIVE,
                other if other.contains("neighbor_") => Self::COLLECTIVE,
                _ => Self::OTHER,
            },
        }
    }
}

/// The function's name in C.
pub(in crate::export) fn name(function: u16) -> &'static str {
    NAMES.get(usize::from(function)).copied().unwrap_or("MPI")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_types::mpi::number;

    #[test]
    fn functions_are_told_apart() {
        let cases = [
            ("MPI_Ssend", MpiClass::SEND),
            ("MPI_Irecv", MpiClass::RECEIVE_BEGIN),
            ("MPI_Isendrecv_replace", MpiClass::SEND_RECEIVE),
            ("MPI_Ialltoallw", MpiClass::ALL_TO_ALL),
            ("MPI_Igatherv", MpiClass::ALL_TO_ONE),
            ("MPI_Init_thread", MpiClass::OTHER),
            ("MPI_Intercomm_create", MpiClass::OTHER),
            ("MPI_Ineighbor_allgather", MpiClass::COLLECTIVE),
            ("MPI_Win_fence", MpiClass::ONE_SIDED),
            ("MPI_File_iread", MpiClass::FILE),
            ("MPI_Request_free", MpiClass::OTHER),
        ];
        for (name, class) in cases {
            assert_eq!(MpiClass::of(number(name) as u16), class, "{name}");
        }
        assert_eq!(MpiClass::of(u16::MAX), MpiClass::OTHER);
    }
}
