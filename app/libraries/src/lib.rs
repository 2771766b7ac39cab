//! All code that is loaded into other people's programs, to be compiled as one.
//!
//! The build script of `fathomp-runtime` compiles this crate to a static library, whose code is
//! optimised as a whole once, and links that into five shared libraries: the runtime in two
//! editions, the interposer of paging, the foreign recorder, and the interposer of MPI; without the
//! features `cluster` and `paging` there is neither the second edition nor the interposer of paging.
//! Each exports the symbols of one crate here; the linker drops what these do not reach.
#![forbid(unsafe_code)]

/// Keeps the blocks of a recording out of the program's heap.
#[global_allocator]
static HEAP: fathomp_abi::PrivateHeap = fathomp_abi::PrivateHeap;

pub use fathomp_abi as abi;
#[cfg(feature = "cluster")]
pub use fathomp_edition as edition;
pub use fathomp_foreign_recorder as foreign_recorder;
#[cfg(feature = "paging")]
pub use fathomp_interposer as interposer;
pub use fathomp_mpi_interposer as mpi;
