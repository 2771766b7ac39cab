//! Recordings of paging: how they are written, read and joined.

mod common;
mod damage;
mod join;
mod pack;
mod processes;
