//! Programs that gcc makes, whole and damaged.

mod damage;
mod programs;
