//! `MPI_COMM_WORLD` of the implementation that a program has loaded.

use super::behind::{find, find_anywhere};
use std::ffi::{CStr, c_char, c_int, c_void};

/// `MPI_COMM_WORLD` of MPICH and its relatives.
const WORLD_OF_MPICH: usize = 0x4400_0000;

/// `MPI_COMM_WORLD` of the standard's own binary interface (MPI 5.0, section 20).
const WORLD_OF_STANDARD: usize = 0x101;

/// Words in the names of MPICH's relatives.
const RELATIVES: [&[u8]; 3] = [b"MPICH", b"Intel", b"MVAPICH"];

/// `MPI_COMM_WORLD` of the implementation that is loaded, if we know it.
#[must_use]
pub fn world() -> Option<usize> {
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
        unsafe { function(address) };
    // SAFETY: there is room for what it writes.
    let failed = unsafe { version(text.as_mut_ptr().cast(), &raw mut length) };
    let text = text.get(..usize::try_from(length).ok()?)?;
    let related = RELATIVES
        .iter()
        .any(|word| text.windows(word.len()).any(|part| part == *word));
    (failed == 0 && related).then_some(WORLD_OF_MPICH)
}

/// `MPI_COMM_WORLD` as programs pass it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handles {
    /// In C, a word.
    pub in_c: usize,
    /// In Fortran, an integer.
    pub in_fortran: c_int,
}

/// Those of the implementation that is loaded, if we know it.
#[must_use]
pub fn handles() -> Option<Handles> {
    let in_c = world()?;
    let in_fortran = match in_c {
        // MPICH's handles are integers in either language.
        WORLD_OF_MPICH => WORLD_OF_MPICH as c_int,
        WORLD_OF_STANDARD => WORLD_OF_STANDARD as c_int,
        // Open MPI numbers its communicators from this one on.
        _ => 0,
    };
    Some(Handles { in_c, in_fortran })
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

/// Turns the address of a function into the function.
///
/// # Safety
/// The function there has the type `F`, which is one of functions.
unsafe fn function<F>(address: *mut c_void) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: promised by our caller; both are addresses.
    unsafe { std::mem::transmute_copy(&address) }
}
