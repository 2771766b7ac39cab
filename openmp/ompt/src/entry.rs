//! What a tool calls of a runtime (OpenMP 5.1, section 4.6.1).
//!
//! A tool gets a [`FunctionLookup`](crate::start::FunctionLookup) and asks it for
//! the names here; what it gets has the type that stands under the name.

use core::ffi::{CStr, c_char, c_int, c_void};

use crate::{Data, Event, Frame, SetResult, WaitId, callback};

/// Name of [`SetCallback`].
pub const SET_CALLBACK: &CStr = c"ompt_set_callback";
/// Which event, and what is called for it, none to call nothing.
pub type SetCallback = unsafe extern "C" fn(Event, Option<callback::Any>) -> SetResult;

/// Name of [`GetCallback`].
pub const GET_CALLBACK: &CStr = c"ompt_get_callback";
/// Which event, and where to put what is called for it; 1 if there is something, else 0.
pub type GetCallback = unsafe extern "C" fn(Event, *mut Option<callback::Any>) -> c_int;

/// Name of [`GetThreadData`].
pub const GET_THREAD_DATA: &CStr = c"ompt_get_thread_data";
/// The calling thread's data; null if it is none of the runtime's threads.
pub type GetThreadData = unsafe extern "C" fn() -> *mut Data;

/// Name of [`GetNumProcs`].
pub const GET_NUM_PROCS: &CStr = c"ompt_get_num_procs";
/// How many processors the program may use.
pub type GetNumProcs = unsafe extern "C" fn() -> c_int;

/// Name of [`GetNumPlaces`].
pub const GET_NUM_PLACES: &CStr = c"ompt_get_num_places";
/// How many places there are.
pub type GetNumPlaces = unsafe extern "C" fn() -> c_int;

/// Name of [`GetPlaceProcIds`].
pub const GET_PLACE_PROC_IDS: &CStr = c"ompt_get_place_proc_ids";
/// Which place, room for how many numbers, where to; how many processors it has.
pub type GetPlaceProcIds = unsafe extern "C" fn(c_int, c_int, *mut c_int) -> c_int;

/// Name of [`GetPlaceNum`].
pub const GET_PLACE_NUM: &CStr = c"ompt_get_place_num";
/// The calling thread's place; -1 if it is bound to none.
pub type GetPlaceNum = unsafe extern "C" fn() -> c_int;

/// Name of [`GetPartitionPlaceNums`].
pub const GET_PARTITION_PLACE_NUMS: &CStr = c"ompt_get_partition_place_nums";
/// Room for how many numbers, where to; how many places the implicit task's partition has.
pub type GetPartitionPlaceNums = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;

/// Name of [`GetProcId`].
pub const GET_PROC_ID: &CStr = c"ompt_get_proc_id";
/// The processor that the calling thread runs on.
pub type GetProcId = unsafe extern "C" fn() -> c_int;

/// Name of [`GetState`].
pub const GET_STATE: &CStr = c"ompt_get_state";
/// What the calling thread does (a [`crate::State`]); where to put what it waits for, if not null.
pub type GetState = unsafe extern "C" fn(*mut WaitId) -> c_int;

/// Name of [`EnumerateStates`].
pub const ENUMERATE_STATES: &CStr = c"ompt_enumerate_states";
/// The state before, where to put the next one and its name; 0 if there is none.
pub type EnumerateStates = unsafe extern "C" fn(c_int, *mut c_int, *mut *const c_char) -> c_int;

/// Name of [`EnumerateMutexImpls`].
pub const ENUMERATE_MUTEX_IMPLS: &CStr = c"ompt_enumerate_mutex_impls";
/// The implementation before, where to put the next one and its name; 0 if there is none.
pub type EnumerateMutexImpls = unsafe extern "C" fn(c_int, *mut c_int, *mut *const c_char) -> c_int;

/// Name of [`GetParallelInfo`].
pub const GET_PARALLEL_INFO: &CStr = c"ompt_get_parallel_info";
/// How many levels out, where to put the region's data and the team's size; 2 if there is such a
/// region, 1 if it cannot be told now, 0 if there is none.
pub type GetParallelInfo = unsafe extern "C" fn(c_int, *mut *mut Data, *mut c_int) -> c_int;

/// Name of [`GetTaskInfo`].
pub const GET_TASK_INFO: &CStr = c"ompt_get_task_info";
/// How many levels out, where to put the task's flags, its data, its frame, its region's data and
/// its thread's number; answers as [`GetParallelInfo`].
pub type GetTaskInfo = unsafe extern "C" fn(
    c_int,
    *mut c_int,
    *mut *mut Data,
    *mut *mut Frame,
    *mut *mut Data,
    *mut c_int,
) -> c_int;

/// Name of [`GetTaskMemory`].
pub const GET_TASK_MEMORY: &CStr = c"ompt_get_task_memory";
/// Where to put address and size of a block of the running task's data, which block; 1 if there
/// are more.
pub type GetTaskMemory = unsafe extern "C" fn(*mut *mut c_void, *mut usize, c_int) -> c_int;

/// Name of [`GetTargetInfo`].
pub const GET_TARGET_INFO: &CStr = c"ompt_get_target_info";
/// Where to put device number, target's id and operation's id; 0 if the thread is in no target
/// region.
pub type GetTargetInfo = unsafe extern "C" fn(*mut u64, *mut crate::Id, *mut crate::Id) -> c_int;

/// Name of [`GetNumDevices`].
pub const GET_NUM_DEVICES: &CStr = c"ompt_get_num_devices";
/// How many devices there are, the host left out.
pub type GetNumDevices = unsafe extern "C" fn() -> c_int;

/// Name of [`GetUniqueId`].
pub const GET_UNIQUE_ID: &CStr = c"ompt_get_unique_id";
/// A number that no other call gives.
pub type GetUniqueId = unsafe extern "C" fn() -> u64;

/// Name of [`FinalizeTool`].
pub const FINALIZE_TOOL: &CStr = c"ompt_finalize_tool";
/// The tool wants to be ended now.
pub type FinalizeTool = unsafe extern "C" fn();
