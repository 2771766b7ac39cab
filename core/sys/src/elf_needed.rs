//! Which libraries the loaded modules say they need.

use std::ffi::CStr;

/// What is looked for, and whether it was found.
struct Search<'a> {
    prefix: &'a [u8],
    found: bool,
}

/// Whether a module that is loaded now names a library whose name begins with `prefix`.
///
/// Takes the dynamic loader's lock: not for event paths.
#[must_use]
pub fn is_needed(prefix: &str) -> bool {
    let mut search = Search {
        prefix: prefix.as_bytes(),
        found: false,
    };
    // SAFETY: `visit` has the required signature and treats its last argument as the `Search`
    // passed here, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

/// Looks through one module; ends the walk once something is found.
unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    search: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader passes a valid description for the time of the call, and `search` is the
    // exclusive pointer that the caller handed over.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search<'_>>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader guarantees `dlpi_phnum` headers at `dlpi_phdr`.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let Some(dynamic) = headers
        .iter()
        .find(|header| header.p_type == libc::PT_DYNAMIC)
    else {
        return 0;
    };
    let table = info.dlpi_addr.wrapping_add(dynamic.p_vaddr) as *const [u64; 2];
    // SAFETY: the loader has mapped the module's dynamic section there, which ends with `DT_NULL`.
    let entries = unsafe { entries(table) };
    let Some(strings) = entries.clone().find(|entry| entry[0] == DT_STRTAB) else {
        return 0;
    };
    // The loader of the GNU C library has made an address of it, that of musl has not.
    let strings = match strings[1] < info.dlpi_addr {
        true => info.dlpi_addr.wrapping_add(strings[1]),
        false => strings[1],
    };
    search.found = entries.filter(|entry| entry[0] == DT_NEEDED).any(|entry| {
        let name = strings.wrapping_add(entry[1]) as *const std::ffi::c_char;
        // SAFETY: a name of the module's string table, which the loader has read before.
        unsafe { CStr::from_ptr(name) }
            .to_bytes()
            .starts_with(search.prefix)
    });
    libc::c_int::from(search.found)
}

const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;

/// The entries of a dynamic section.
///
/// # Safety
/// One is at `table`, ends with `DT_NULL` and stays while the iterator is used.
unsafe fn entries(table: *const [u64; 2]) -> impl Iterator<Item = [u64; 2]> + Clone {
    // SAFETY: promised by our caller; nothing behind the end is read.
    (0..)
        .map(move |index| unsafe { table.add(index).read() })
        .take_while(|entry| entry[0] != DT_NULL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_needs_the_c_library() {
        assert!(is_needed("libc.so"));
        assert!(!is_needed("libnobody.so"));
    }
}
