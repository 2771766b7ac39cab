//! Functions of C++'s library that change something in the process. The library's own
//! variables are each node's; what programs use of them directly, such as `std::cout`, lies
//! in the program and is shared.

use super::{Kind, bytes, cannot_follow, function, note, streams};
use fathomp_node::{heap, start};
use std::ffi::{CStr, CString, c_char, c_void};

type SetHandler = unsafe extern "C" fn(usize) -> usize;
/// Static member functions that return an object get its place first.
type Global = unsafe extern "C" fn(*mut Locale, *const Locale) -> *mut Locale;
type Name = unsafe extern "C" fn(*mut Text, *const Locale);
type Construct = unsafe extern "C" fn(*mut Locale, *const c_char);
type Destroy = unsafe extern "C" fn(*mut Locale);
type Delete = unsafe extern "C" fn(*mut c_void);
type InStep = unsafe extern "C" fn(bool) -> bool;

/// `std::locale`: a pointer.
#[repr(C)]
pub struct Locale(*mut c_void);

/// `std::string`, as libstdc++ has it since version 5.
#[repr(C)]
struct Text {
    first: *mut c_char,
    length: usize,
    inside: [u8; 16],
}

/// Defines functions that take the address of a function and return the one before.
macro_rules! handlers {
    ($($name:ident, $real:literal, $kind:expr, $called:literal;)+) => {$(
        #[doc = concat!("As `", $called, "`.")]
        ///
        /// # Safety
        /// As of the library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(handler: usize) -> usize {
            let Some(next) = real!($real as SetHandler) else {
                return 0;
            };
            // SAFETY: promised by our caller.
            let before = unsafe { next(handler) };
            if before != handler {
                note($called, $kind, b"", &bytes(handler as u64));
            }
            before
        }
    )+};
}

handlers! {
    fathomp_set_new_handler, c"_ZSt15set_new_handlerPFvvE", Kind::NewHandler, "std::set_new_handler";
    fathomp_set_terminate, c"_ZSt13set_terminatePFvvE", Kind::Terminate, "std::set_terminate";
    fathomp_set_unexpected, c"_ZSt14set_unexpectedPFvvE", Kind::Unexpected, "std::set_unexpected";
}

fn absent<T>() -> Result<T, String> {
    Err("the program has no library of C++".to_owned())
}

pub(super) fn set_handler(kind: Kind, address: u64) -> Result<(), String> {
    let handler = function(address)?;
    let next = match kind {
        Kind::NewHandler => real!(c"_ZSt15set_new_handlerPFvvE" as SetHandler),
        Kind::Terminate => real!(c"_ZSt13set_terminatePFvvE" as SetHandler),
        _ => real!(c"_ZSt14set_unexpectedPFvvE" as SetHandler),
    };
    next.map_or_else(absent, |next| {
        // SAFETY: null or a function of this program, as on node 0.
        unsafe { next(handler) };
        Ok(())
    })
}

/// As `std::locale::global`.
///
/// # Safety
/// As of the library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_locale_global(
    before: *mut Locale,
    locale: *const Locale,
) -> *mut Locale {
    let Some(next) = real!(c"_ZNSt6locale6globalERKS_" as Global) else {
        return before;
    };
    // SAFETY: promised by our caller.
    let returned = unsafe { next(before, locale) };
    if start::node().is_some() {
        // SAFETY: a locale, promised by our caller.
        match unsafe { name_of(locale) } {
            Some(name) if name != b"*" => note("std::locale::global", Kind::CxxLocale, b"", &name),
            _ => cannot_follow(
                "std::locale::global",
                Kind::CxxLocale,
                "the locale has no name",
            ),
        }
    }
    returned
}

/// A locale's name.
///
/// # Safety
/// `locale` is one.
unsafe fn name_of(locale: *const Locale) -> Option<Vec<u8>> {
    let name = real!(c"_ZNKSt6locale4nameB5cxx11Ev" as Name)?;
    let delete = real!(c"_ZdlPv" as Delete)?;
    let mut text = std::mem::MaybeUninit::<Text>::uninit();
    // SAFETY: promised by our caller; the function constructs a string there, whose bytes
    // end in a null, and which owns them if they do not lie inside.
    unsafe {
        name(text.as_mut_ptr(), locale);
        let first = (&raw const (*text.as_ptr()).first).read();
        let inside = (&raw const (*text.as_ptr()).inside).cast::<c_char>();
        let found = CStr::from_ptr(first).to_bytes().to_vec();
        if !std::ptr::eq(first, inside) {
            delete(first.cast());
        }
        Some(found)
    }
}

pub(super) fn set_locale(name: &[u8]) -> Result<(), String> {
    let (Some(construct), Some(destroy), Some(global)) = (
        real!(c"_ZNSt6localeC1EPKc" as Construct),
        real!(c"_ZNSt6localeD1Ev" as Destroy),
        real!(c"_ZNSt6locale6globalERKS_" as Global),
    ) else {
        return absent();
    };
    let name = CString::new(name).map_err(|_| "a name contains a null byte".to_owned())?;
    let mut locale = Locale(std::ptr::null_mut());
    let mut before = Locale(std::ptr::null_mut());
    // SAFETY: places for two locales, constructed before they are destroyed. The name is that
    // of a locale on node 0, which has the same files, so the constructor does not throw.
    unsafe {
        construct(&raw mut locale, name.as_ptr());
        global(&raw mut before, &raw const locale);
        destroy(&raw mut before);
        destroy(&raw mut locale);
    }
    Ok(())
}

/// As `std::ios_base::sync_with_stdio`.
///
/// # Safety
/// As of the library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_sync_with_stdio(in_step: bool) -> bool {
    let Some(next) = real!(c"_ZNSt8ios_base15sync_with_stdioEb" as InStep) else {
        return true;
    };
    // Buffers of streams that are the library's: before there are nodes, each gets a copy.
    // SAFETY: promised by our caller.
    let before = heap::privately(|| unsafe { next(in_step) });
    if before != in_step {
        streams::expect_cxx(!in_step);
        note(
            "std::ios_base::sync_with_stdio",
            Kind::InStep,
            b"",
            &bytes(in_step.into()),
        );
    }
    before
}

pub(super) fn keep_in_step(in_step: bool) -> Result<(), String> {
    let Some(next) = real!(c"_ZNSt8ios_base15sync_with_stdioEb" as InStep) else {
        return absent();
    };
    // SAFETY: as node 0 has done.
    heap::privately(|| unsafe { next(in_step) });
    streams::expect_cxx(!in_step);
    Ok(())
}
