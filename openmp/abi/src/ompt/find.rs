//! Looking for a tool, as section 4.2.2 of OpenMP 5.1 says: first among what is loaded, then in
//! the libraries that the user names.

use super::entries::lookup;
use super::words::Wishes;
use crate::device::INITIAL_DEVICE;
use fathomp_omp::runtime::{NAME, read_environment};
use fathomp_omp::tool::{self, Finder, Tool};
use fathomp_ompt::start::{OPENMP_VERSION, START_TOOL, StartTool, StartToolResult};
use std::ffi::{CStr, CString, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

static WISHES: OnceLock<Wishes> = OnceLock::new();

/// What the tool that is used has given back; null if none is.
static RESULT: AtomicPtr<StartToolResult> = AtomicPtr::new(std::ptr::null_mut());

/// Takes note of what the user wants, and lets the runtime look for a tool when it starts: the
/// constructors of the tool have run then.
pub(crate) fn expect() {
    WISHES.get_or_init(Wishes::from_environment);
    tool::expect(Finder { begin, end });
}

/// The library's name and version, as a tool is told it.
fn version() -> &'static CStr {
    static VERSION: OnceLock<CString> = OnceLock::new();
    VERSION.get_or_init(|| CString::new(NAME).unwrap_or_default())
}

/// Looks for a tool and lets it begin; whether there is one that wants to be told.
fn begin(tool: &'static Tool) -> bool {
    let wishes = WISHES.get_or_init(Wishes::from_environment);
    let (settings, _) = read_environment();
    if !settings.tool {
        wishes
            .report
            .say("no tool is looked for, because OMP_TOOL says so");
        return false;
    }
    let Some(result) = find(wishes) else {
        wishes.report.say("no tool is used");
        return false;
    };
    super::entries::serve(tool);
    // SAFETY: a tool gives back null, which `find` has left out, or a structure that stays.
    let Some(initialize) = (unsafe { (*result).initialize }) else {
        wishes
            .report
            .say("the tool has no function to begin with, so it is not used");
        return false;
    };
    // SAFETY: as above.
    let data = unsafe { &raw mut (*result).tool_data };
    RESULT.store(result, Ordering::Release);
    if initialize(Some(lookup), INITIAL_DEVICE, data) == 0 {
        RESULT.store(std::ptr::null_mut(), Ordering::Release);
        wishes.report.say("the tool does not want to be used");
        return false;
    }
    wishes.report.say("the tool has begun");
    true
}

/// Lets the tool end.
fn end() {
    let result = RESULT.swap(std::ptr::null_mut(), Ordering::AcqRel);
    if result.is_null() {
        return;
    }
    // SAFETY: as in `begin`.
    let (finalize, data) = unsafe { ((*result).finalize, &raw mut (*result).tool_data) };
    if let Some(finalize) = finalize {
        finalize(data);
    }
}

fn find(wishes: &Wishes) -> Option<*mut StartToolResult> {
    // SAFETY: the name is a C string.
    let loaded = unsafe { libc::dlsym(libc::RTLD_DEFAULT, START_TOOL.as_ptr()) };
    if let Some(result) = ask(loaded) {
        wishes
            .report
            .say("a tool is in the program or in a library that it has loaded");
        return Some(result);
    }
    wishes
        .libraries
        .iter()
        .find_map(|path| find_in(wishes, path))
}

/// The tool in the library at `path`.
fn find_in(wishes: &Wishes, path: &str) -> Option<*mut StartToolResult> {
    let say = |what: &str| {
        wishes
            .report
            .say(&format!("{path} of OMP_TOOL_LIBRARIES {what}"))
    };
    let name = CString::new(path).ok()?;
    // SAFETY: the name is a C string; the user wants the library's code to run here.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY) };
    if library.is_null() {
        say(&format!("is skipped: {}", last_error()));
        return None;
    }
    // SAFETY: the handle is that of a library that is loaded, the name a C string.
    let found = unsafe { libc::dlsym(library, START_TOOL.as_ptr()) };
    if let Some(result) = ask(found) {
        say("is a tool");
        return Some(result);
    }
    say(match found.is_null() {
        true => "is skipped: it does not define ompt_start_tool",
        false => "is skipped: it does not want to be used",
    });
    // SAFETY: the handle was opened above, and nothing of the library is in use.
    unsafe { libc::dlclose(library) };
    None
}

/// What the dynamic linker complains of.
fn last_error() -> String {
    // SAFETY: the text, if there is one, stays until this thread's next call of the linker.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "it cannot be loaded".to_owned();
    }
    // SAFETY: as above; it is a C string.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// Asks a tool whether it wants to be used, if its function is there.
fn ask(function: *mut c_void) -> Option<*mut StartToolResult> {
    if function.is_null() {
        return None;
    }
    // SAFETY: what has this name is a tool's function, of this type, as OpenMP demands.
    let start = unsafe { std::mem::transmute::<*mut c_void, StartTool>(function) };
    // SAFETY: the arguments are those that OpenMP says, the text stays.
    let result = unsafe { start(OPENMP_VERSION, version().as_ptr()) };
    (!result.is_null()).then_some(result)
}
