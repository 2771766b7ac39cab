//! What a program inherits besides its arguments and variables, and what has to be the same on
//! all hosts for its parts to lie at the same addresses.

use super::descendants;
use crate::control::Job;
use nix::sys::personality::{self, Persona};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::stat::{Mode, umask};
use std::env;

/// Resources whose limits go along, by the kernel's numbers.
const RESOURCES: [Resource; 15] = [
    Resource::RLIMIT_CPU,
    Resource::RLIMIT_FSIZE,
    Resource::RLIMIT_DATA,
    Resource::RLIMIT_STACK,
    Resource::RLIMIT_CORE,
    Resource::RLIMIT_RSS,
    Resource::RLIMIT_NPROC,
    Resource::RLIMIT_NOFILE,
    Resource::RLIMIT_MEMLOCK,
    Resource::RLIMIT_AS,
    Resource::RLIMIT_LOCKS,
    Resource::RLIMIT_SIGPENDING,
    Resource::RLIMIT_MSGQUEUE,
    Resource::RLIMIT_RTPRIO,
    Resource::RLIMIT_RTTIME,
];

/// The soft limits of this process.
#[must_use]
pub fn soft_limits() -> Vec<(u8, Option<u64>)> {
    let limit = |resource: &Resource| {
        let (soft, _) = getrlimit(*resource).ok()?;
        let number = u8::try_from(*resource as i64).ok()?;
        Some((number, (soft != u64::MAX).then_some(soft)))
    };
    RESOURCES.iter().filter_map(limit).collect()
}

/// The mask of new files' permissions.
#[must_use]
pub fn file_mask() -> u32 {
    // It can only be read by setting it.
    let mask = umask(Mode::from_bits_truncate(0o077));
    umask(mask);
    mask.bits()
}

/// Has what this process starts inherit all that.
pub(super) fn enter(job: &Job) -> Result<(), String> {
    descendants::adopt()
        .map_err(|error| format!("what the program leaves behind cannot be adopted: {error}"))?;
    let directory = job.directory.to_path();
    env::set_current_dir(&directory).map_err(|error| {
        format!(
            "the working directory {} cannot be entered: {error}: make it, or mount it at the same place on all hosts",
            directory.display()
        )
    })?;
    umask(Mode::from_bits_truncate(job.umask));
    for (number, soft) in &job.limits {
        limit(*number, soft.unwrap_or(u64::MAX))?;
    }
    let persona =
        personality::get().and_then(|now| personality::set(now | Persona::ADDR_NO_RANDOMIZE));
    persona.map_err(|error| {
        format!(
            "address randomisation cannot be switched off: {error}: permit the system call personality (containers: a seccomp profile that does)"
        )
    })?;
    Ok(())
}

/// Sets a soft limit as far as the hard one permits. How large stacks may become decides where
/// libraries lie, so that has to be the same.
fn limit(number: u8, soft: u64) -> Result<(), String> {
    let resource = RESOURCES
        .iter()
        .find(|resource| **resource as i64 == i64::from(number));
    let Some(resource) = resource else {
        return Ok(());
    };
    let shown = |limit: u64| match limit {
        u64::MAX => "unlimited".to_owned(),
        limit => format!("{} KiB", limit >> 10),
    };
    let set = getrlimit(*resource)
        .and_then(|(_, hard)| setrlimit(*resource, soft.min(hard), hard).map(|()| hard));
    match (*resource, set) {
        (Resource::RLIMIT_STACK, Ok(hard)) if soft > hard => Err(format!(
            "stacks may have {} there and {} here: raise that limit there, or set it to the lower one here by ulimit -s",
            shown(hard),
            shown(soft)
        )),
        (Resource::RLIMIT_STACK, Err(error)) => {
            Err(format!("the limit of stacks cannot be set: {error}"))
        }
        _ => Ok(()),
    }
}
