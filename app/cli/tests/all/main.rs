//! The command as users call it: tests that need gcc alone. Those that need more are in
//! `tests/tools`, and those that nothing else may disturb in `tests/alone`.

mod answers;
mod bench;
mod cluster;
mod clusters;
#[path = "../common/mod.rs"]
mod common;
mod deaths;
mod dsm_profile;
mod granularity;
mod guard;
mod hosts;
mod hosts_recording;
mod install;
mod launching;
mod nonsense;
mod options;
mod overheads;
mod paging;
mod paging_damage;
mod paging_intrusion;
mod paging_openmp;
mod plugins;
mod prices;
mod protocols;
mod races;
mod recording;
mod refusals;
mod scan;
mod share;
mod simulate;
mod skyline;
mod sources;
mod stacks;
mod study;
mod teams;
mod trips;
mod workload;
