//! The command as users call it: tests that need gcc alone. Those that need more are in
//! `tests/tools`, and those that nothing else may disturb in `tests/alone`.

mod answers;
mod bench;
#[cfg(feature = "cluster")]
mod bench_nodes;
#[cfg(feature = "cluster")]
mod cluster;
mod clusters;
#[path = "../common/mod.rs"]
mod common;
mod compare;
#[cfg(feature = "cluster")]
mod deaths;
#[cfg(feature = "cluster")]
mod dsm_profile;
mod earlier_versions;
#[cfg(feature = "cluster")]
mod granularity;
mod guard;
#[cfg(feature = "cluster")]
mod hosts;
#[cfg(all(feature = "cluster", feature = "paging"))]
mod hosts_recording;
mod install;
mod launching;
#[cfg(not(any(feature = "cluster", feature = "paging")))]
mod main_job;
mod nonsense;
#[cfg(feature = "cluster")]
mod on_nodes;
mod options;
mod overheads;
#[cfg(feature = "paging")]
mod paging;
#[cfg(feature = "paging")]
mod paging_damage;
#[cfg(feature = "paging")]
mod paging_intrusion;
#[cfg(feature = "paging")]
mod paging_openmp;
mod plugins;
#[cfg(feature = "cluster")]
mod prices;
#[cfg(feature = "cluster")]
mod protocols;
#[cfg(feature = "cluster")]
mod races;
mod recording;
mod refusals;
mod scan;
mod share;
#[cfg(feature = "cluster")]
mod simulate;
#[cfg(feature = "paging")]
mod skyline;
mod sources;
mod stacks;
mod study;
mod study_in_parts;
mod teams;
mod trips;
mod workload;
