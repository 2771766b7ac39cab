//! The protocols and their messages, without a network.

mod homeless;
mod plain;
mod wire;
