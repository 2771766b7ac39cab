//! Where MPI's functions are, for interposers that stand in front of them.

use crate::dlsym_next::{self, Next};
use std::ffi::{CStr, CString, c_void};
use std::ptr;

/// Words that are passed on. Fewer are meant usually; what lies in the others' place, in
/// registers or further up the stack, is passed on unseen.
pub type Words = [usize; 13];

/// One of MPI's functions, by one of its names.
type Function = unsafe extern "C" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> usize;

/// What a function returns if there is none behind it: `MPI_ERR_OTHER` of several
/// implementations, an error in all.
pub const ERROR: usize = 16;

/// The function of a name, found at its first use.
#[derive(Debug)]
pub struct Behind(Next);

impl Behind {
    /// The function of that name.
    #[must_use]
    pub const fn new(name: &'static CStr) -> Self {
        Self(Next::new(name))
    }

    /// Where it is; null if there is none.
    #[inline]
    #[must_use]
    pub fn address(&self) -> *mut c_void {
        let found = self.0.address();
        if found.is_null() {
            self.search()
        } else {
            found
        }
    }

    #[cold]
    fn search(&self) -> *mut c_void {
        let found = find(self.0.name());
        self.0.set(found);
        found
    }

    /// Calls it with these words; [`ERROR`] if there is none.
    ///
    /// # Safety
    /// As of the function, which takes its arguments where these words are passed.
    #[inline]
    pub unsafe fn call(&self, words: Words) -> usize {
        let address = self.address();
        if address.is_null() {
            return ERROR;
        }
        // SAFETY: the address is that of a function of MPI: whatever its type, its arguments are
        // integers and pointers.
        let function: Function = unsafe { dlsym_next::function(address) };
        let [a, b, c, d, e, f, g, h, i, j, k, l, m] = words;
        // SAFETY: promised by our caller.
        unsafe { function(a, b, c, d, e, f, g, h, i, j, k, l, m) }
    }
}

/// The function of that name in the libraries that come after ours; else the one that
/// profilers call by a `P` more; else either of them in a library that only some other knows,
/// as with interpreters that load MPI themselves. Null if there is none.
#[must_use]
pub fn find(name: &CStr) -> *mut c_void {
    let profiled = with_p(name);
    let names = [Some(name), profiled.as_deref()];
    let names = || names.iter().copied().flatten();
    // SAFETY: the names are C strings.
    let mut found = names().map(|name| unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) });
    if let Some(found) = found.find(|found| !found.is_null()) {
        return found;
    }
    let mut elsewhere = names().map(find_anywhere);
    elsewhere
        .find(|found| !found.is_null())
        .unwrap_or(ptr::null_mut())
}

/// `PMPI_Send` for `MPI_Send`, `pmpi_send_` for `mpi_send_`.
fn with_p(name: &CStr) -> Option<CString> {
    let bytes = name.to_bytes();
    let p = if bytes.first() == Some(&b'M') {
        b"P"
    } else {
        b"p"
    };
    CString::new([p, bytes].concat()).ok()
}

/// The function of that name in any library of MPI's; null if there is none.
#[must_use]
pub fn find_anywhere(name: &CStr) -> *mut c_void {
    dlsym_next::in_any(name, is_mpis)
}

/// Whether the library of that path may be one of MPI's. Ours are not: an interposer that found
/// its own function, or two that found each other's, would call without end.
fn is_mpis(path: &[u8]) -> bool {
    let name = dlsym_next::file_name(path);
    let has_word = |word: &[u8]| {
        name.windows(word.len())
            .any(|part| part.eq_ignore_ascii_case(word))
    };
    has_word(b"mpi") && !name.starts_with(b"libfathomp")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profilers_names_have_a_p_more() {
        assert_eq!(with_p(c"MPI_Send").as_deref(), Some(c"PMPI_Send"));
        assert_eq!(with_p(c"mpi_send_").as_deref(), Some(c"pmpi_send_"));
    }

    #[test]
    fn libraries_of_mpi_are_told_by_the_names_of_their_files() {
        for path in [
            &b"/usr/lib/x86_64-linux-gnu/libmpi.so.40"[..],
            b"/opt/mpich/lib/libmpich.so.12",
            b"libmpi_usempif08.so",
            b"/opt/ms/libMSMPI.so",
        ] {
            assert!(is_mpis(path), "{}", path.escape_ascii());
        }
        for path in [
            &b"/tmp/.tmpiPHc8f/libfathomp-paging.so"[..],
            b"/home/user/mpi/libc.so.6",
            b"/home/user/.cache/fathomp/libfathomp-mpi.so",
        ] {
            assert!(!is_mpis(path), "{}", path.escape_ascii());
        }
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        assert!(find(c"MPI_No_such_function").is_null());
        assert!(!find(c"getpid").is_null());
    }
}
