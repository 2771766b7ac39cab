//! Functions of the C library that change something in the process.

use super::{Kind, bytes, cannot_follow, function, note};
use crate::before::name;
use crate::signals;
use fathomp_node::start;
use fathomp_omp::cluster::Cluster as _;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_long, c_uint};
use std::os::unix::ffi::OsStrExt;

type Chdir = unsafe extern "C" fn(*const c_char) -> c_int;
type Fchdir = unsafe extern "C" fn(c_int) -> c_int;
type Setenv = unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> c_int;
type OfString = unsafe extern "C" fn(*mut c_char) -> c_int;
type Clearenv = unsafe extern "C" fn() -> c_int;
type Umask = unsafe extern "C" fn(c_uint) -> c_uint;
type Setlocale = unsafe extern "C" fn(c_int, *const c_char) -> *mut c_char;
type Setrlimit = unsafe extern "C" fn(c_uint, *const libc::rlimit) -> c_int;
type Seed = unsafe extern "C" fn(c_uint);
type Seed48 = unsafe extern "C" fn(c_long);

/// What the system says of the last call.
fn failed(what: &str) -> String {
    format!("{what}: {}", std::io::Error::last_os_error())
}

fn absent<T>() -> Result<T, String> {
    Err("the C library has no such function".to_owned())
}

fn text(bytes: &[u8]) -> Result<CString, String> {
    CString::new(bytes).map_err(|_| "a name contains a null byte".to_owned())
}

/// The process works in another folder now.
fn moved(call: &str) {
    match std::env::current_dir() {
        Ok(folder) => note(call, Kind::Folder, b"", folder.as_os_str().as_bytes()),
        Err(_) => cannot_follow(call, Kind::Folder, "the folder has no name"),
    }
}

/// As `chdir`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_chdir(path: *const c_char) -> c_int {
    let Some(next) = real!(c"chdir" as Chdir) else {
        return -1;
    };
    // SAFETY: promised by our caller.
    let done = unsafe {
        name(path);
        next(path)
    };
    if done == 0 && start::node().is_some() {
        moved("chdir");
    }
    done
}

/// As `fchdir`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_fchdir(folder: c_int) -> c_int {
    let Some(next) = real!(c"fchdir" as Fchdir) else {
        return -1;
    };
    // SAFETY: promised by our caller.
    let done = unsafe { next(folder) };
    if done == 0 && start::node().is_some() {
        moved("fchdir");
    }
    done
}

pub(super) fn go_to(folder: &[u8]) -> Result<(), String> {
    let Some(next) = real!(c"chdir" as Chdir) else {
        return absent();
    };
    let path = text(folder)?;
    // SAFETY: a C string.
    match unsafe { next(path.as_ptr()) } {
        0 => Ok(()),
        _ => Err(failed(&OsStr::from_bytes(folder).to_string_lossy())),
    }
}

/// Notes what a variable is now. A value is told from none by a byte in front of it.
///
/// # Safety
/// `name` is a C string.
unsafe fn note_variable(call: &str, name: &CStr) {
    // SAFETY: a C string; the environment is read right after it was changed, by the same
    // thread, as the program could do.
    let value = unsafe { libc::getenv(name.as_ptr()).cast_const().as_ref() };
    let value = value.map_or(Vec::new(), |value| {
        // SAFETY: the environment consists of C strings.
        let value = unsafe { CStr::from_ptr(value) };
        [b"=", value.to_bytes()].concat()
    });
    note(call, Kind::Variable, name.to_bytes(), &value);
}

/// As `setenv`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_setenv(
    name: *const c_char,
    value: *const c_char,
    replace: c_int,
) -> c_int {
    let Some(next) = real!(c"setenv" as Setenv) else {
        return -1;
    };
    // SAFETY: promised by our caller.
    let done = unsafe { next(name, value, replace) };
    if done == 0 && start::node().is_some() {
        // SAFETY: the C library has accepted it.
        unsafe { note_variable("setenv", CStr::from_ptr(name)) };
    }
    done
}

/// As `unsetenv`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_unsetenv(name: *mut c_char) -> c_int {
    let Some(next) = real!(c"unsetenv" as OfString) else {
        return -1;
    };
    // SAFETY: promised by our caller.
    let done = unsafe { next(name) };
    if done == 0 && start::node().is_some() {
        // SAFETY: the C library has accepted it.
        unsafe { note_variable("unsetenv", CStr::from_ptr(name)) };
    }
    done
}

/// As `putenv`. Other nodes get a copy of what the string says now.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_putenv(string: *mut c_char) -> c_int {
    let Some(next) = real!(c"putenv" as OfString) else {
        return -1;
    };
    // SAFETY: promised by our caller.
    let done = unsafe { next(string) };
    if done == 0 && start::node().is_some() {
        // SAFETY: the C library has accepted it.
        let whole = unsafe { CStr::from_ptr(string) }.to_bytes();
        let name = whole.split(|byte| *byte == b'=').next().unwrap_or(whole);
        if let Ok(name) = CString::new(name) {
            // SAFETY: a C string.
            unsafe { note_variable("putenv", &name) };
        }
    }
    done
}

/// As `clearenv`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_clearenv() -> c_int {
    let Some(next) = real!(c"clearenv" as Clearenv) else {
        return -1;
    };
    // SAFETY: promised by our caller.
    let done = unsafe { next() };
    if done == 0 && start::node().is_some() {
        fathomp_node::world::forget(Kind::Variable as u8);
        note("clearenv", Kind::NoVariables, b"", b"");
    }
    done
}

pub(super) fn set_variable(name: &[u8], value: &[u8]) -> Result<(), String> {
    let name = text(name)?;
    let done = match value.split_first() {
        Some((_, value)) => {
            let value = text(value)?;
            // SAFETY: C strings.
            real!(c"setenv" as Setenv).map(|next| unsafe { next(name.as_ptr(), value.as_ptr(), 1) })
        }
        None => real!(c"unsetenv" as OfString).map(|next| {
            // SAFETY: a C string, which is not changed.
            unsafe { next(name.as_ptr().cast_mut()) }
        }),
    };
    match done {
        Some(0) => Ok(()),
        _ => Err(failed(&name.to_string_lossy())),
    }
}

pub(super) fn clear_variables() -> Result<(), String> {
    // SAFETY: any process may; nobody else of this node is in a region.
    match real!(c"clearenv" as Clearenv).map(|next| unsafe { next() }) {
        Some(0) => Ok(()),
        _ => Err(failed("clearenv")),
    }
}

/// As `umask`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_umask(mask: c_uint) -> c_uint {
    let Some(next) = real!(c"umask" as Umask) else {
        return 0;
    };
    // SAFETY: promised by our caller.
    let before = unsafe { next(mask) };
    if before != mask & 0o777 {
        note("umask", Kind::FileMask, b"", &bytes(mask.into()));
    }
    before
}

pub(super) fn set_file_mask(mask: u64) -> Result<(), String> {
    let Some(next) = real!(c"umask" as Umask) else {
        return absent();
    };
    // SAFETY: any mask is allowed.
    unsafe { next(mask as c_uint) };
    Ok(())
}

/// As `setlocale`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_setlocale(category: c_int, locale: *const c_char) -> *mut c_char {
    let Some(next) = real!(c"setlocale" as Setlocale) else {
        return std::ptr::null_mut();
    };
    // SAFETY: promised by our caller.
    let set = unsafe { next(category, locale) };
    if !locale.is_null() && !set.is_null() && start::node().is_some() {
        // SAFETY: the C library returns a C string.
        let set = unsafe { CStr::from_ptr(set) };
        let category = bytes(u64::from(category.cast_unsigned()));
        note("setlocale", Kind::Locale, &category, set.to_bytes());
    }
    set
}

pub(super) fn set_locale(category: u64, locale: &[u8]) -> Result<(), String> {
    let Some(next) = real!(c"setlocale" as Setlocale) else {
        return absent();
    };
    let name = text(locale)?;
    // SAFETY: a C string; the C library refuses categories that do not exist.
    match unsafe { next(category as c_int, name.as_ptr()) }.is_null() {
        false => Ok(()),
        true => Err(format!("it has no locale {}", name.to_string_lossy())),
    }
}

/// As `setrlimit`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_setrlimit(resource: c_uint, limit: *const libc::rlimit) -> c_int {
    let Some(next) = real!(c"setrlimit" as Setrlimit) else {
        return -1;
    };
    if !limit.is_null() {
        crate::before::drain_one(limit);
    }
    // SAFETY: promised by our caller.
    let done = unsafe { next(resource, limit) };
    if done == 0 && start::node().is_some() {
        // SAFETY: the kernel has read it.
        let limit = unsafe { limit.read() };
        let value = [bytes(limit.rlim_cur), bytes(limit.rlim_max)].concat();
        note("setrlimit", Kind::Limit, &bytes(resource.into()), &value);
    }
    done
}

pub(super) fn set_limit(resource: u64, value: &[u8]) -> Result<(), String> {
    let (Some(next), Some((now, most))) = (
        real!(c"setrlimit" as Setrlimit),
        value.split_at_checked(size_of::<u64>()),
    ) else {
        return absent();
    };
    let limit = libc::rlimit {
        rlim_cur: super::word(now)?,
        rlim_max: super::word(most)?,
    };
    // SAFETY: a valid limit; the kernel refuses resources that do not exist.
    match unsafe { next(resource as c_uint, &raw const limit) } {
        0 => Ok(()),
        _ => Err(failed("setrlimit")),
    }
}

/// Numbers of the functions that take a seed.
const RANDOM: u64 = 0;
const RANDOM48: u64 = 1;

/// As `srand` and `srandom`, which are the same.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_srandom(seed: c_uint) {
    if let Some(next) = real!(c"srandom" as Seed) {
        // SAFETY: promised by our caller.
        unsafe { next(seed) };
        note("srand", Kind::Seed, &bytes(RANDOM), &bytes(seed.into()));
    }
}

/// As `srand48`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_srand48(seed: c_long) {
    if let Some(next) = real!(c"srand48" as Seed48) {
        // SAFETY: promised by our caller.
        unsafe { next(seed) };
        let seed = bytes(seed.cast_unsigned());
        note("srand48", Kind::Seed, &bytes(RANDOM48), &seed);
    }
}

/// Each node draws numbers of its own, for which threads of one process would share one
/// sequence: other ones on each node, and the same in each run.
pub(super) fn seed(function: u64, seed: u64) -> Result<(), String> {
    const GOLDEN: u32 = 0x9e37_79b9;
    let node = start::node().map_or(0, |node| node.node());
    let seed = (seed as u32) ^ GOLDEN.wrapping_mul(node);
    let done = match function {
        // SAFETY: any seed is allowed.
        RANDOM => real!(c"srandom" as Seed).map(|next| unsafe { next(seed) }),
        // SAFETY: as above.
        _ => real!(c"srand48" as Seed48).map(|next| unsafe { next(seed.into()) }),
    };
    done.map_or_else(absent, Ok)
}

/// Notes what is done at a signal.
pub(crate) fn acted(signal: c_int, action: &libc::sigaction) {
    // SAFETY: a structure of numbers without gaps, as C's is that the kernel is given.
    let value = unsafe {
        std::slice::from_raw_parts(
            std::ptr::from_ref(action).cast::<u8>(),
            size_of::<libc::sigaction>(),
        )
    };
    let signal = bytes(u64::from(signal.cast_unsigned()));
    note("sigaction or signal", Kind::Action, &signal, value);
}

pub(super) fn set_action(signal: u64, value: &[u8]) -> Result<(), String> {
    if value.len() != size_of::<libc::sigaction>() {
        return Err("it is no action".to_owned());
    }
    // SAFETY: so many bytes, which may be any numbers.
    let action = unsafe { value.as_ptr().cast::<libc::sigaction>().read_unaligned() };
    if !matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
        function(action.sa_sigaction as u64)?;
    }
    // SAFETY: a valid action whose handler is a function here.
    let done = unsafe {
        signals::fathomp_sigaction(signal as c_int, &raw const action, std::ptr::null_mut())
    };
    match done {
        0 => Ok(()),
        _ => Err(failed("sigaction")),
    }
}
