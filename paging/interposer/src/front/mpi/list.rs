//! The functions of MPI that move data, wait for others, or do so somewhere inside.

use super::mpi;

fathomp_types::mpi_calls!(mpi);
