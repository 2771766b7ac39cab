//! What a process needs to be a node: pages it can watch, threads on stacks of
//! its choice, and its place in the cluster's life.

pub mod alike;
pub mod backing;
pub mod copy;
pub mod deferral;
mod ends;
pub mod image;
pub mod initial;
pub mod pages;
mod permission;
mod permits;
mod present;
pub mod private_heap;
pub mod process;
pub mod thread;
mod watched;
