//! A board in shared memory by which programs divide one machine's cores.
#![forbid(unsafe_code)]
