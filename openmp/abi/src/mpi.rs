//! What the interposer of MPI finds here, to tell the recorder of MPI's calls.

fathomp_types::mpi_recorder!(
    fathomp_mpi_recorder,
    fathomp_omp::observer::mpi_begins,
    fathomp_omp::observer::mpi_transfers,
    fathomp_omp::observer::mpi_ends
);
