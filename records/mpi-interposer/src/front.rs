//! The functions in front of MPI's.
//!
//! What a function is given is passed on as it is, thirteen words (as many as the longest has),
//! whatever they mean. That is possible since all are integers and pointers. Fortran's functions
//! have the same, by reference.

use crate::layout::Layout;
use crate::recorder;
use fathomp_sys::call_site::call_site;
use fathomp_sys::mpi::behind::{Behind, ERROR, Words};
use fathomp_sys::mpi::{Handles, handles};
use fathomp_sys::noting_call_site;
use fathomp_types::mpi::{Done, NO_BYTES, NO_PEER};
use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

/// How arguments are passed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    /// By value, counts as `int`.
    C,
    /// By value, counts as `MPI_Count`.
    CLarge,
    /// By reference.
    Fortran,
}

/// A function by one of its names.
struct Front {
    behind: Behind,
    number: u32,
    layout: Layout,
    of_all: Option<u8>,
    language: Language,
}

impl Front {
    const fn new(name: &'static CStr, in_c: &str, language: Language) -> Self {
        Self {
            behind: Behind::new(name),
            number: fathomp_types::mpi::number(in_c),
            layout: crate::layout::of(in_c),
            of_all: crate::layout::of_all(in_c),
            language,
        }
    }

    /// Calls the function behind with these words.
    ///
    /// # Safety
    /// As of the function behind.
    unsafe fn pass(&self, words: Words) -> usize {
        let call = call_site();
        if self.behind.address().is_null() {
            return ERROR;
        }
        let told = recorder::begins(|| Done {
            begin: 0,
            call,
            function: self.number,
            // SAFETY: the program passes what the function expects.
            peer: unsafe { self.peer(&words) },
            // SAFETY: likewise.
            bytes: unsafe { self.bytes(&words) }.unwrap_or(NO_BYTES),
            // SAFETY: likewise.
            waits_for_all: unsafe { self.waits_for_all(&words) },
        });
        // SAFETY: promised by our caller.
        let result = unsafe { self.behind.call(words) };
        if let Some(told) = told {
            told.ends();
        }
        result
    }

    /// An argument that is an `int`, or Fortran's `INTEGER`.
    ///
    /// # Safety
    /// The function has one of that number.
    unsafe fn integer(&self, words: &Words, number: u8) -> c_int {
        let word = words[usize::from(number)];
        match self.language {
            Language::C | Language::CLarge => word as c_int,
            // SAFETY: Fortran passes the address of an integer.
            Language::Fortran => unsafe { *ptr::with_exposed_provenance(word) },
        }
    }

    /// The rank that the call names; wildcards and `MPI_PROC_NULL` are negative.
    ///
    /// # Safety
    /// The words are the function's arguments.
    unsafe fn peer(&self, words: &Words) -> i32 {
        match self.layout.peer {
            // SAFETY: promised by our caller.
            Some(number) => unsafe { self.integer(words, number) }.max(NO_PEER),
            None => NO_PEER,
        }
    }

    /// Whether all ranks of `MPI_COMM_WORLD` wait for each other in it.
    ///
    /// # Safety
    /// The words are the function's arguments.
    unsafe fn waits_for_all(&self, words: &Words) -> bool {
        static WORLD: OnceLock<Option<Handles>> = OnceLock::new();
        let Some(number) = self.of_all else {
            return false;
        };
        let Some(world) = *WORLD.get_or_init(handles) else {
            return false;
        };
        match self.language {
            Language::Fortran => {
                // SAFETY: promised by our caller.
                let passed = unsafe { self.integer(words, number) };
                passed == world.in_fortran
            }
            // An integer is the lower half of a word.
            _ => {
                let word = words[usize::from(number)];
                word == world.in_c || word as u32 as usize == world.in_c
            }
        }
    }

    /// How many bytes the call has to do with.
    ///
    /// # Safety
    /// The words are the function's arguments.
    unsafe fn bytes(&self, words: &Words) -> Option<u64> {
        let (count, kind) = self.layout.elements?;
        if let Some(buffer) = self.layout.in_place {
            // What stands for MPI_IN_PLACE in Fortran is an address that only MPI knows.
            let buffer = words[usize::from(buffer)];
            if self.language == Language::Fortran || buffer == 1 || buffer == usize::MAX {
                return None;
            }
        }
        let count = match self.language {
            Language::CLarge => i64::try_from(words[usize::from(count)]).ok()?,
            // SAFETY: promised by our caller.
            _ => i64::from(unsafe { self.integer(words, count) }),
        };
        let count = u64::try_from(count).ok()?;
        if count == 0 {
            return Some(0);
        }
        // SAFETY: a type that MPI is going to use for these elements.
        let size = unsafe { self.size_of_type(words[usize::from(kind)]) }?;
        count.checked_mul(size)
    }

    /// # Safety
    /// The word is an argument that is a type.
    unsafe fn size_of_type(&self, kind: usize) -> Option<u64> {
        static IN_C: Behind = Behind::new(c"PMPI_Type_size");
        static IN_FORTRAN: Behind = Behind::new(c"pmpi_type_size_");
        let address = match self.language {
            Language::Fortran => IN_FORTRAN.address(),
            Language::C | Language::CLarge => IN_C.address(),
        };
        if address.is_null() {
            return None;
        }
        let mut size: c_int = 0;
        match self.language {
            Language::Fortran => {
                let mut error: c_int = 0;
                // SAFETY: MPI's function of this name has this type.
                let ask = unsafe {
                    std::mem::transmute::<
                        *mut c_void,
                        unsafe extern "C" fn(usize, *mut c_int, *mut c_int),
                    >(address)
                };
                // SAFETY: the type is one that the program is about to use.
                unsafe { ask(kind, &raw mut size, &raw mut error) };
                (error == 0).then_some(())?;
            }
            _ => {
                // SAFETY: MPI's function of this name has this type: a type is a word, if it is
                // an integer its lower half.
                let ask = unsafe {
                    std::mem::transmute::<
                        *mut c_void,
                        unsafe extern "C" fn(usize, *mut c_int) -> c_int,
                    >(address)
                };
                // SAFETY: the type is one that the program is about to use.
                (unsafe { ask(kind, &raw mut size) } == 0).then_some(())?;
            }
        }
        u64::try_from(size).ok()
    }
}

const fn c_string(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"",
    }
}

/// Defines functions in front of MPI's, under the names of C, of C for large counts, and of
/// Fortran: `Name name` for `MPI_Name` and `mpi_name_`.
macro_rules! fronts {
    ($($activity:ident $moment:ident: $($name:ident $lower:ident),+;)+) => {
        $($(fronts!(@one $name concat!("MPI_", stringify!($name)), [
            in_c noting_in_c C concat!("MPI_", stringify!($name)),
            for_large_counts noting_large CLarge concat!("MPI_", stringify!($name), "_c"),
            in_fortran noting_in_fortran Fortran concat!("mpi_", stringify!($lower), "_"),
            in_fortran_2008 noting_in_2008 Fortran concat!("mpi_", stringify!($lower), "_f08_"),
            in_fortran_2008_ts noting_in_2008_ts Fortran concat!("mpi_", stringify!($lower), "_f08ts_"),
        ]);)+)+
    };
    (@one $name:ident $in_c:expr, [$($body:ident $noting:ident $language:ident $text:expr,)+]) => {
        #[allow(non_snake_case, reason = "MPI's names")]
        mod $name {
            $(
                #[allow(clippy::too_many_arguments, reason = "MPI's arguments")]
                unsafe extern "C" fn $body(
                    a: usize, b: usize, c: usize, d: usize, e: usize, f: usize, g: usize,
                    h: usize, i: usize, j: usize, k: usize, l: usize, m: usize,
                ) -> usize {
                    static FRONT: super::Front = super::Front::new(
                        super::c_string(concat!($text, "\0")),
                        $in_c,
                        super::Language::$language,
                    );
                    // SAFETY: promised by our caller.
                    unsafe { FRONT.pass([a, b, c, d, e, f, g, h, i, j, k, l, m]) }
                }
                super::noting_call_site! {
                    $noting, concat!("fathomp_mpi_front_", $text), $body
                }
            )+
        }
    };
}

fathomp_types::mpi_calls!(fronts);
