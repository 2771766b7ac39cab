//! The library that records programs on the OpenMP runtime that they already use: libgomp, or
//! one that speaks OMPT, as LLVM's libomp and Intel's libiomp5 do.
//!
//! * [`gomp`]: the functions of libgomp that it stands in front of;
//! * [`tool`]: the tool that runtimes with OMPT start;
//! * [`seen`]: what both see, turned into records.
//!
//! It is preloaded, so one library serves whatever runtime a program turns out to use. The
//! functions in front have names of their own here, `fathomp_foreign_recorder_front_GOMP_parallel` for
//! `GOMP_parallel`; only the shared library is linked so that they answer to the names of those
//! behind (`app/runtime/build`).

mod forked;
mod front;
mod gomp;
mod load;
mod mpi;
mod seen;
mod tool;
