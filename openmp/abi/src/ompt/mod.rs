//! OMPT's two ends of C: looking for a tool (`find`), and the functions that it may call
//! (`entries`). What it is told comes from `fathomp_omp::tool`.
//!
//! Nothing here has a name that another library could see: a tool gets the addresses of the
//! functions by asking for their names.

mod entries;
mod find;
mod words;

pub(crate) use find::expect;
