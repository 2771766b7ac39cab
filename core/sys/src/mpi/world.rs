//! The implementation of MPI that a program has loaded: its `MPI_COMM_WORLD`, and how its binary
//! interface differs from others'.

use super::behind::{find, find_anywhere};
use crate::dlsym_next::{file_name, function};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// `MPI_COMM_WORLD` of MPICH and its relatives.
const WORLD_OF_MPICH: usize = 0x4400_0000;

/// `MPI_COMM_WORLD` of the standard's own binary interface (MPI 5.0, section 20).
const WORLD_OF_STANDARD: usize = 0x101;

/// Words in the names of MPICH's relatives.
const RELATIVES: [&[u8]; 3] = [b"MPICH", b"Intel", b"MVAPICH"];

/// Implementations of MPI, by what programs pass and get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Implementation {
    /// MPICH and its relatives: handles are integers.
    Mpich,
    /// Handles are addresses.
    OpenMpi,
    /// The standard's own binary interface.
    Standard,
}

/// `MPI_COMM_WORLD` as programs pass it, and what else differs by implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct World {
    implementation: Implementation,
    /// In C, a word.
    pub in_c: usize,
    /// In Fortran, an integer.
    pub in_fortran: c_int,
}

impl World {
    /// That of the implementation that is loaded, if we know it.
    #[must_use]
    pub fn of_this_process() -> Option<Self> {
        let (implementation, in_c, in_fortran) = match find_implementation()? {
            // Open MPI numbers its communicators from this one on.
            (Implementation::OpenMpi, address) => (Implementation::OpenMpi, address, 0),
            (other, handle) => (other, handle, handle as c_int),
        };
        Some(Self {
            implementation,
            in_c,
            in_fortran,
        })
    }

    /// Handles are integers in C, too, of which only the lower half of a word counts.
    #[must_use]
    pub const fn has_integers(self) -> bool {
        matches!(self.implementation, Implementation::Mpich)
    }

    /// A handle as a function in C gets it, without what else may stand in its word.
    #[must_use]
    pub const fn handle(self, word: usize) -> usize {
        match self.has_integers() {
            true => word as u32 as usize,
            false => word,
        }
    }

    /// Whether a communicator in C is `MPI_COMM_NULL`.
    #[must_use]
    pub fn is_null(self, communicator: usize) -> bool {
        match self.implementation {
            Implementation::Mpich => communicator == 0x0400_0000,
            Implementation::Standard => communicator == 0x100,
            Implementation::OpenMpi => {
                static NULL: OnceLock<usize> = OnceLock::new();
                let null = NULL.get_or_init(|| find_symbol(c"ompi_mpi_comm_null").addr());
                communicator == 0 || communicator == *null
            }
        }
    }

    /// `MPI_ANY_SOURCE`.
    #[must_use]
    pub const fn any_source(self) -> c_int {
        match self.implementation {
            Implementation::Mpich => -2,
            Implementation::OpenMpi | Implementation::Standard => -1,
        }
    }

    /// `MPI_STATUS_IGNORE` in C.
    #[must_use]
    pub const fn status_ignore(self) -> usize {
        match self.implementation {
            Implementation::Mpich => 1,
            Implementation::OpenMpi | Implementation::Standard => 0,
        }
    }

    /// The addresses that say in Fortran that a status is not wanted, of the modules `mpi` and
    /// `mpi_f08`, for one status and for several; none if the implementation does not tell them (MPI
    /// 4.0, section 19.3.5). Some are known only once MPI is initialised.
    #[must_use]
    pub fn status_ignored_in_fortran(self) -> Option<[usize; 4]> {
        /// Variables that hold these addresses; of the second module not all implementations have any.
        static VARIABLES: OnceLock<[usize; 4]> = OnceLock::new();
        let variables = VARIABLES.get_or_init(|| {
            [
                c"MPI_F_STATUS_IGNORE",
                c"MPI_F_STATUSES_IGNORE",
                c"MPI_F08_STATUS_IGNORE",
                c"MPI_F08_STATUSES_IGNORE",
            ]
            .map(|name| find_symbol(name).expose_provenance())
        });
        let addresses = variables.map(|variable| match variable {
            0 => 0,
            // SAFETY: MPI's variables of these names are pointers, which it writes before it returns
            // from its initialisation.
            one => unsafe { std::ptr::with_exposed_provenance::<usize>(one).read_volatile() },
        });
        (addresses[0] != 0 && addresses[1] != 0).then_some(addresses)
    }

    /// Which integer of a status is the source; the tag is the next.
    #[must_use]
    pub const fn source_in_status(self) -> usize {
        match self.implementation {
            Implementation::Mpich => 2,
            Implementation::OpenMpi | Implementation::Standard => 0,
        }
    }

    /// Integers that a status has.
    #[must_use]
    pub const fn status_length(self) -> usize {
        match self.implementation {
            Implementation::Mpich => 5,
            Implementation::OpenMpi => 6,
            Implementation::Standard => 8,
        }
    }
}

fn find_implementation() -> Option<(Implementation, usize)> {
    let of_openmpi = find_symbol(c"ompi_mpi_comm_world");
    if !of_openmpi.is_null() {
        return Some((Implementation::OpenMpi, of_openmpi.addr()));
    }
    if !find_symbol(c"PMPI_Abi_get_version").is_null() && is_standard() {
        return Some((Implementation::Standard, WORLD_OF_STANDARD));
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
    (failed == 0 && related).then_some((Implementation::Mpich, WORLD_OF_MPICH))
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
    path.is_some_and(|path| file_name(path).windows(7).any(|part| part == b"mpi_abi"))
}

fn find_symbol(name: &CStr) -> *mut c_void {
    // SAFETY: a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    match found.is_null() {
        true => find_anywhere(name),
        false => found,
    }
}
