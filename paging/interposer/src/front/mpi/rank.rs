//! The rank of the process in `MPI_COMM_WORLD`.

use crate::engine::process;
use fathomp_sys::dlsym_next::function;
use fathomp_sys::mpi::World;
use fathomp_sys::mpi::behind::find;
use std::ffi::c_int;

/// What starts MPI programs tells them their rank so.
const VARIABLES: [&str; 5] = [
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "MV2_COMM_WORLD_RANK",
    "SLURM_PROCID",
];

/// MPI was initialised: makes the rank known.
#[cold]
pub(super) fn find_out() {
    if let Some(rank) = asked().or_else(|| told(|name| std::env::var(name).ok())) {
        process::set_rank(rank);
    }
}

/// What MPI says.
fn asked() -> Option<u32> {
    let address = find(c"PMPI_Comm_rank");
    let world = World::of_this_process()?.in_c;
    if address.is_null() {
        return None;
    }
    // SAFETY: MPI's function of this name has this type: a communicator is a word, if it is
    // an integer its lower half.
    let comm_rank: unsafe extern "C" fn(usize, *mut c_int) -> c_int = unsafe { function(address) };
    let mut rank = -1;
    // SAFETY: MPI was initialised, and the communicator is one of this implementation: with
    // another it would end the program.
    let failed = unsafe { comm_rank(world, &raw mut rank) };
    (failed == 0).then(|| u32::try_from(rank).ok()).flatten()
}

/// What the environment says.
fn told(get: impl Fn(&str) -> Option<String>) -> Option<u32> {
    VARIABLES.iter().find_map(|name| get(name)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environments_rank_is_a_number() {
        let with = |pairs: &'static [(&str, &str)]| {
            told(|name| {
                let found = pairs.iter().find(|pair| pair.0 == name);
                found.map(|pair| pair.1.to_owned())
            })
        };
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[("PMI_RANK", "x"), ("SLURM_PROCID", "3")]), Some(3));
        assert_eq!(with(&[("OMPI_COMM_WORLD_RANK", "2")]), Some(2));
    }

    #[test]
    fn without_mpi_there_is_no_rank() {
        assert_eq!(asked(), None);
    }
}
