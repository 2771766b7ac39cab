//! The tool of runtimes that speak OMPT: how it is started, and what it asks to be told.

mod callbacks;
mod fork_call;

use crate::seen;
use fathomp_ompt::entry::{SET_CALLBACK, SetCallback};
use fathomp_ompt::start::{Function, FunctionLookup, StartToolResult};
use fathomp_ompt::{Data, Event, SetResult, callback};
use fathomp_sys::modules;
use fathomp_trace::foreign_recorder::Unseen;
use fathomp_trace::recorder::Watched;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What the runtime says of its version.
static VERSION: OnceLock<String> = OnceLock::new();

/// What the runtime gets of us, which it may write to.
struct Started(UnsafeCell<StartToolResult>);

// SAFETY: only the runtime writes there, as OMPT has it.
unsafe impl Sync for Started {}

static STARTED: Started = Started(UnsafeCell::new(StartToolResult {
    initialize: Some(initialize),
    finalize: Some(finalize),
    tool_data: Data::NONE,
}));

/// Offers the tool to a runtime, if this process is to be recorded.
///
/// # Safety
/// `version` is a C string, or null.
#[unsafe(export_name = "ompt_start_tool")]
unsafe extern "C" fn start_tool(_openmp: c_uint, version: *const c_char) -> *mut StartToolResult {
    if !seen::is_asked_for() {
        return std::ptr::null_mut();
    }
    if !version.is_null() {
        // SAFETY: promised by our caller.
        let version = unsafe { CStr::from_ptr(version) };
        VERSION.get_or_init(|| version.to_string_lossy().into_owned());
    }
    STARTED.0.get()
}

/// The runtime begins. It tells nothing if 0 is returned.
extern "C" fn initialize(lookup: Option<FunctionLookup>, _device: c_int, _: *mut Data) -> c_int {
    let Some(lookup) = lookup else { return 0 };
    // SAFETY: a C string, as the function wants it.
    let Some(set) = (unsafe { lookup(SET_CALLBACK.as_ptr()) }) else {
        return 0;
    };
    // SAFETY: OMPT says that the function of this name has this type.
    let set = unsafe { std::mem::transmute::<Function, SetCallback>(set) };
    if !seen::begin(|| runtime(lookup as usize)) {
        return 0;
    }
    let set = |event: Event, function: callback::Any| {
        // SAFETY: `callbacks` has a function of the event's own type for each event.
        let result = unsafe { set(event, Some(function)) };
        result == SetResult::ALWAYS || result == SetResult::SOMETIMES_PAIRED
    };
    let dispatched = callbacks::set(set);
    if !dispatched {
        seen::unseen(Unseen::Iterations);
    }
    1
}

extern "C" fn finalize(_: *mut Data) {
    seen::finish();
}

/// The runtime that has the function at `address`.
fn runtime(address: usize) -> Watched {
    let library = modules::locate(address)
        .map(|at| at.module)
        .unwrap_or_else(|| PathBuf::from("libomp.so"));
    let name = name(&library);
    Watched {
        name: match VERSION.get() {
            Some(version) => format!("{name} ({version})"),
            None => name.to_owned(),
        },
        library: Some(library),
    }
}

/// What users call a runtime, by its file.
fn name(library: &Path) -> &'static str {
    let file = library.file_name().unwrap_or_default().to_string_lossy();
    if file.starts_with("libiomp") {
        "libiomp5"
    } else if file.starts_with("libomp") {
        "libomp"
    } else {
        "a runtime with OMPT"
    }
}
