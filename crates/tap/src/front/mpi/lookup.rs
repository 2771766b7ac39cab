//! Where MPI's functions are.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

/// The function of that name in the libraries that come after ours; else the one that
/// profilers call by a `P` more; else either of them in a library that only some other knows,
/// as with interpreters that load MPI themselves. Null if there is none.
pub(super) fn find(name: &CStr) -> *mut c_void {
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
pub(super) fn find_anywhere(name: &CStr) -> *mut c_void {
    let mut paths = Vec::<CString>::new();
    // SAFETY: the function gets what it expects, and is not kept.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut paths).cast()) };
    for path in paths {
        // The library stays as long as others keep it, and is not loaded anew. Ours does not
        // count among what it needs.
        // SAFETY: a path, and no constructors run.
        let found = unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() {
                continue;
            }
            libc::dlsym(library, name.as_ptr())
        };
        if !found.is_null() {
            return found;
        }
    }
    ptr::null_mut()
}

unsafe extern "C" fn collect(
    module: *mut libc::dl_phdr_info,
    _bytes: usize,
    paths: *mut c_void,
) -> c_int {
    // SAFETY: as `dl_iterate_phdr` promises, and what it was given above.
    let (path, paths) = unsafe {
        let path: *const c_char = (*module).dlpi_name;
        if path.is_null() {
            return 0;
        }
        (CStr::from_ptr(path), &mut *paths.cast::<Vec<CString>>())
    };
    let text = path.to_bytes();
    if text
        .windows(3)
        .any(|part| part.eq_ignore_ascii_case(b"mpi"))
    {
        paths.push(path.to_owned());
    }
    0
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
    fn what_is_not_there_is_not_found() {
        assert!(find(c"MPI_No_such_function").is_null());
        assert!(!find(c"getpid").is_null());
    }
}
