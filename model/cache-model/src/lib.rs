//! What the accesses of loop nests cost in caches and memory: pure arithmetic over the
//! [`Nest`] of a region's body, judged against a cache simulator in this crate's tests.
//!
//! The model takes samples of each access's executions, evenly spread over the iterations
//! of the loops around, and finds for each, from the affine addresses of all accesses to the
//! same array, when its line was touched last. What was touched since, each line once,
//! decides whether a cache of given size and associativity still holds it. So one idea
//! covers what is known as layer conditions (J. Hammer, J. Eitzinger, G. Hager, G. Wellein,
//! "Kerncraft", 2017): neighbours in a line, neighbours in other rows, reuse over outer
//! loops, reads before writes of the same element, and data that stay from one execution to
//! the next.
#![forbid(unsafe_code)]

mod cache;
mod effective;
mod footprint;
mod misses;
mod nest;
mod of;
mod reuse;
mod traffic;
mod tree;

pub use cache::Cache;
pub use effective::effective;
pub use misses::{Between, Repetition};
pub use nest::{Nest, NestAccess, NestLoop, NestWork, Pattern, Trips};
pub use of::Assume;
pub use traffic::{AccessTraffic, LevelTraffic, Traffic};
