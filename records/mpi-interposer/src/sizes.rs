//! How many bytes so many elements of a type of MPI are.

use crate::arguments::{Arguments, Language};
use fathomp_sys::mpi::behind::Behind;
use std::ffi::{c_int, c_void};

/// The bytes of elements: how many, and of which type, by the arguments' numbers.
///
/// # Safety
/// The function has these arguments, and MPI is going to use the type, or has used it.
pub(crate) unsafe fn of_elements(arguments: &Arguments, (count, kind): (u8, u8)) -> Option<u64> {
    let count = match arguments.language {
        Language::CLarge => i64::try_from(arguments.word(count)).ok()?,
        // SAFETY: promised by our caller.
        _ => i64::from(unsafe { arguments.integer(count) }),
    };
    let count = u64::try_from(count).ok()?;
    if count == 0 {
        return Some(0);
    }
    // SAFETY: promised by our caller.
    let size = unsafe { of_type(arguments, arguments.word(kind)) }?;
    count.checked_mul(size)
}

/// # Safety
/// The word is an argument that is a type.
unsafe fn of_type(arguments: &Arguments, kind: usize) -> Option<u64> {
    static IN_C: Behind = Behind::new(c"PMPI_Type_size");
    static IN_FORTRAN: Behind = Behind::new(c"pmpi_type_size_");
    let address = match arguments.is_fortran() {
        true => IN_FORTRAN.address(),
        false => IN_C.address(),
    };
    if address.is_null() {
        return None;
    }
    let mut size: c_int = 0;
    if arguments.is_fortran() {
        let mut error: c_int = 0;
        // SAFETY: MPI's function of this name has this type.
        let ask = unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(usize, *mut c_int, *mut c_int)>(
                address,
            )
        };
        // SAFETY: the type is one that the program is about to use.
        unsafe { ask(kind, &raw mut size, &raw mut error) };
        (error == 0).then_some(())?;
    } else {
        // SAFETY: MPI's function of this name has this type: a type is a word, if it is an integer
        // its lower half.
        let ask = unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(usize, *mut c_int) -> c_int>(
                address,
            )
        };
        // SAFETY: the type is one that the program is about to use.
        (unsafe { ask(kind, &raw mut size) } == 0).then_some(())?;
    }
    u64::try_from(size).ok()
}
