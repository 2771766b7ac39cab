//! What the accesses of loop nests cost in caches and memory.
#![forbid(unsafe_code)]
