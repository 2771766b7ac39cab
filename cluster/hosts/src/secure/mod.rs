//! Encryption of what nodes of different hosts send each other.
//!
//! The program gets one end of a pair of local sockets; its agent passes what comes out of the
//! other to the host of the peer, in [records] that nobody between can read or change.
//!
//! [records]: record

mod record;
mod relay;

pub(crate) use relay::relay;
