//! What the interposer of MPI finds here, to tell the recorder of MPI's calls.

fathomp_types::mpi_recorder!(
    fathomp_mpi_recorder_of_foreign,
    crate::seen::mpi_begins,
    crate::seen::mpi_transfers,
    crate::seen::mpi_ends
);
