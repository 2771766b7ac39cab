//! How a runtime and a tool find each other (OpenMP 5.1, section 4.2).

use core::ffi::{CStr, c_char, c_int, c_uint};

use crate::Data;

/// The `_OPENMP` of the version that this crate is written after, 5.1: what a
/// runtime passes to `ompt_start_tool` first.
pub const OPENMP_VERSION: u32 = 202_011;

/// The name under which a tool offers itself, a [`StartTool`].
pub const START_TOOL: &CStr = c"ompt_start_tool";

/// `ompt_start_tool`, which a tool defines: the runtime's `_OPENMP` and its own
/// version; null if the tool does not want to be used.
pub type StartTool = unsafe extern "C" fn(c_uint, *const c_char) -> *mut StartToolResult;

/// What the tool does first: how to find functions, the host's device number, the tool's data. It
/// is used if the answer is not 0.
pub type Initialize = extern "C" fn(Option<FunctionLookup>, c_int, *mut Data) -> c_int;

/// What the tool does last: the tool's data.
pub type Finalize = extern "C" fn(*mut Data);

/// A function that a name stands for, to be cast to its type.
pub type Function = unsafe extern "C" fn();

/// Finds a function by its name; none if the runtime has none of that name.
pub type FunctionLookup = unsafe extern "C" fn(*const c_char) -> Option<Function>;

/// What `ompt_start_tool` gives back (`ompt_start_tool_result_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StartToolResult {
    /// Called once at the runtime's start; the tool is used if it is not 0.
    pub initialize: Option<Initialize>,
    /// Called once at the end, if the tool is used.
    pub finalize: Option<Finalize>,
    /// The tool's, passed to both.
    pub tool_data: Data,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lies_in_memory_as_in_c() {
        assert_eq!(size_of::<StartToolResult>(), 24);
        assert_eq!(core::mem::offset_of!(StartToolResult, tool_data), 16);
    }
}
