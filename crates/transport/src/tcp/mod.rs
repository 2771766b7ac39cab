//! Nodes on several hosts, joined by a TCP connection for each pair of nodes.

pub mod handover;
