//! The protocols and their messages, without a network.

mod homeless;
mod last_writers;
mod plain;
mod wire;
