//! The rank of the process in `MPI_COMM_WORLD`.

use super::lookup::{find, find_anywhere};
use crate::engine::process;
use std::ffi::{CStr, c_char, c_int, c_void};

/// `MPI_COMM_WORLD` of MPICH and its relatives.
const WORLD_OF_MPICH: usize = 0x4400_0000;

/// `MPI_COMM_WORLD` of the standard's own binary interface (MPI 5.0, section 20).
const WORLD_OF_STANDARD: usize = 0x101;

/// Words in the names of MPICH's relatives.
const RELATIVES: [&[u8]; 3] = [b"MPICH", b"Intel", b"MVAPICH"];

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
    let world = world()?;
    if address.is_null() {
        return None;
    }
    // SAFETY: MPI's function of this name has this type: a communicator is a word, if it is
    // an integer its lower half.
    let comm_rank: unsafe extern "C" fn(usize, *mut c_int) -> c_int =
        unsafe { super::super::macros::function(address) };
    let mut rank = -1;
    // SAFETY: MPI was initialised, and the communicator is one of this implementation: with
    // another it would end the program.
    let failed = unsafe { comm_rank(world, &raw mut rank) };
    (failed == 0).then(|| u32::try_from(rank).ok()).flatten()
}

/// `MPI_COMM_WORLD` of the implementation that is loaded, if we know it.
fn world() -> Option<usize> {
    let of_openmpi = find_symbol(c"ompi_mpi_comm_world");
    if !of_openmpi.is_null() {
        return Some(of_openmpi.addr());
    }
    if !find_symbol(c"PMPI_Abi_get_version").is_null() && is_standard() {
        return Some(WORLD_OF_STANDARD);
    }
    let address = find(c"PMPI_Get_library_version");
    if address.is_null() {
        return None;
    }
    /// `MPI_MAX_LIBRARY_VERSION_STRING` is 8192 at most.
    const ROOM: usize = 16 << 10;
    let mut text = vec![0_u8; ROOM];
    let mut length = 0;
    // SAFETY: MPI's function of this name has this type.
    let version: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int =
        unsafe { super::super::macros::function(address) };
    // SAFETY: there is room for what it writes.
    let failed = unsafe { version(text.as_mut_ptr().cast(), &raw mut length) };
    let text = text.get(..usize::try_from(length).ok()?)?;
    let related = RELATIVES
        .iter()
        .any(|word| text.windows(word.len()).any(|part| part == *word));
    (failed == 0 && related).then_some(WORLD_OF_MPICH)
}

/// Whether the library that is loaded is the one of the standard's binary interface.
fn is_standard() -> bool {
    let address = find(c"PMPI_Comm_rank");
    // SAFETY: all-zero bytes are a valid `Dl_info`, which `dladdr` fills in.
    let library = unsafe {
        let mut place: libc::Dl_info = std::mem::zeroed();
        match libc::dladdr(address, &raw mut place) {
            0 => return false,
            _ => place.dli_fname,
        }
    };
    // SAFETY: null, or the path of a loaded library.
    let path = (!library.is_null()).then(|| unsafe { CStr::from_ptr(library) }.to_bytes());
    path.is_some_and(|path| path.windows(7).any(|part| part == b"mpi_abi"))
}

fn find_symbol(name: &CStr) -> *mut c_void {
    // SAFETY: a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    match found.is_null() {
        true => find_anywhere(name),
        false => found,
    }
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
