//! Which file a code address was mapped from.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// An address as its module's own ELF virtual address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The file.
    pub module: PathBuf,
    /// The address without the load bias.
    pub address: u64,
}

/// What the search wants and what it found.
struct Search {
    wanted: u64,
    /// `PF_*` bits that the segment must have.
    flags: u32,
    found: Option<(Vec<u8>, u64)>,
}

/// Finds the loaded module that contains `address`. `None` for code that came
/// from no file (generated at run time) and for 0.
///
/// Takes the dynamic loader's lock and allocates: not for event paths.
#[must_use]
pub fn locate(address: usize) -> Option<Located> {
    if address == 0 {
        return None;
    }
    let (name, address) = search(address, 0)?;
    let module = if name.is_empty() {
        // The program itself has no name for the loader.
        std::env::current_exe().unwrap_or_default()
    } else {
        PathBuf::from(OsStr::from_bytes(&name))
    };
    Some(Located { module, address })
}

/// Counts how often modules were unloaded, as far as [`unloading`] was told: what
/// was known of addresses before may be wrong in a later generation.
#[inline]
#[must_use]
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Acquire)
}

static GENERATION: AtomicU32 = AtomicU32::new(0);
/// Modules that had been unloaded when that was looked at last.
static UNLOADED: AtomicU64 = AtomicU64::new(0);

/// A module may have been unloaded: begins a new generation if one was.
pub fn unloading() {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        unloaded: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid description for the time of the
        // call, and `unloaded` is the exclusive pointer handed over below.
        unsafe { *unloaded.cast::<u64>() = (*info).dlpi_subs };
        1
    }
    let mut unloaded = 0_u64;
    // SAFETY: `first` has the required signature and ends the walk at once.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut unloaded).cast()) };
    if UNLOADED.swap(unloaded, Ordering::AcqRel) != unloaded {
        GENERATION.fetch_add(1, Ordering::AcqRel);
    }
}

/// Whether `address` lies in executable code that was mapped from a file. As
/// slow as [`locate`].
#[must_use]
pub fn is_code(address: usize) -> bool {
    search(address, libc::PF_X).is_some()
}

/// The module with a segment at `address` that has all of `flags`: its name
/// and the address without the load bias.
fn search(address: usize, flags: u32) -> Option<(Vec<u8>, u64)> {
    let mut search = Search {
        wanted: address as u64,
        flags,
        found: None,
    };
    // SAFETY: `visit` has the required signature and treats its last argument
    // as the `Search` passed here, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

/// How far above the addresses in its file the running program is mapped.
#[must_use]
pub fn program_bias() -> usize {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        bias: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid description for the time of the
        // call, and `bias` is the exclusive pointer handed over below.
        unsafe { *bias.cast::<libc::Elf64_Addr>() = (*info).dlpi_addr };
        1
    }
    let mut bias: libc::Elf64_Addr = 0;
    // SAFETY: `first` has the required signature; the loader shows the program
    // before its libraries, and `first` ends the walk there.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut bias).cast()) };
    usize::try_from(bias).unwrap_or_default()
}

/// Called for each loaded module; a non-zero result ends the search.
unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    search: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader passes a valid description for the time of the call,
    // and `search` is the exclusive pointer that the caller handed over.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader guarantees `dlpi_phnum` headers at `dlpi_phdr`.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let inside = headers.iter().any(|header| {
        header.p_type == libc::PT_LOAD
            && header.p_flags & search.flags == search.flags
            && search
                .wanted
                .wrapping_sub(info.dlpi_addr.wrapping_add(header.p_vaddr))
                < header.p_memsz
    });
    if !inside {
        return 0;
    }
    let name = if info.dlpi_name.is_null() {
        Vec::new()
    } else {
        // SAFETY: a non-null name is a C string owned by the loader, valid for
        // the time of the call.
        unsafe { CStr::from_ptr(info.dlpi_name) }
            .to_bytes()
            .to_vec()
    };
    search.found = Some((name, search.wanted.wrapping_sub(info.dlpi_addr)));
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_code_is_found_in_this_program() {
        let here = our_own_code_is_found_in_this_program as *const () as usize;
        let located = locate(here).unwrap();
        assert_eq!(located.module, std::env::current_exe().unwrap());
        assert!(located.address > 0 && located.address <= here as u64);
    }

    #[test]
    fn the_program_is_mapped_where_the_bias_says() {
        let here = program_bias as *const () as usize;
        let located = locate(here).unwrap();
        assert_eq!(located.address, (here - program_bias()) as u64);
    }

    #[test]
    fn data_is_no_code() {
        static DATA: u64 = 7;
        assert!(is_code(data_is_no_code as *const () as usize));
        assert!(!is_code(std::ptr::from_ref(&DATA).addr()));
        assert!(!is_code(0));
    }

    #[test]
    fn addresses_outside_all_modules_are_not_found() {
        assert_eq!(locate(0), None);
        assert_eq!(locate(8), None);
    }
}
