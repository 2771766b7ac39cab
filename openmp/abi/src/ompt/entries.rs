//! What a tool calls of us (OpenMP 5.1, section 4.6.1). It may do so in callbacks, and most of it
//! in signal handlers, so nothing here allocates, locks or makes a thread known.
//!
//! Each function's type is that of the same name in [`fathomp_ompt::entry`].

use fathomp_omp::places::{self, Place};
use fathomp_omp::tool::{self, ADAPTIVE, Tool};
use fathomp_ompt::start::{Function, FunctionLookup};
use fathomp_ompt::{Data, Event, Frame, Id, SetResult, State, WaitId, callback, entry};
use fathomp_sys::function_slot::Address;
use fathomp_sys::static_ref::AtomicRef;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::Ordering;

static TOOL: AtomicRef<Tool> = AtomicRef::new(None);

/// Callbacks are set for `tool` from now on.
pub(super) fn serve(tool: &'static Tool) {
    TOOL.store(Some(tool), Ordering::Release);
}

macro_rules! functions {
    ($($name:ident => $function:ident: $type:ty;)+) => {
        /// The function of that name.
        fn find(name: &CStr) -> Option<Function> {
            $(if name == entry::$name {
                let function: $type = $function;
                let address = function as *const ();
                // SAFETY: it is a function's; whoever calls it casts it back to the type that the
                // name stands for.
                return Some(unsafe { std::mem::transmute::<*const (), Function>(address) });
            })+
            None
        }
    };
}

functions! {
    SET_CALLBACK => set_callback: entry::SetCallback;
    GET_CALLBACK => get_callback: entry::GetCallback;
    GET_THREAD_DATA => get_thread_data: entry::GetThreadData;
    GET_NUM_PROCS => get_num_procs: entry::GetNumProcs;
    GET_NUM_PLACES => get_num_places: entry::GetNumPlaces;
    GET_PLACE_PROC_IDS => get_place_proc_ids: entry::GetPlaceProcIds;
    GET_PLACE_NUM => get_place_num: entry::GetPlaceNum;
    GET_PARTITION_PLACE_NUMS => get_partition_place_nums: entry::GetPartitionPlaceNums;
    GET_PROC_ID => get_proc_id: entry::GetProcId;
    GET_STATE => get_state: entry::GetState;
    ENUMERATE_STATES => enumerate_states: entry::EnumerateStates;
    ENUMERATE_MUTEX_IMPLS => enumerate_mutex_impls: entry::EnumerateMutexImpls;
    GET_PARALLEL_INFO => get_parallel_info: entry::GetParallelInfo;
    GET_TASK_INFO => get_task_info: entry::GetTaskInfo;
    GET_TASK_MEMORY => get_task_memory: entry::GetTaskMemory;
    GET_TARGET_INFO => get_target_info: entry::GetTargetInfo;
    GET_NUM_DEVICES => get_num_devices: entry::GetNumDevices;
    GET_UNIQUE_ID => get_unique_id: entry::GetUniqueId;
    FINALIZE_TOOL => finalize_tool: entry::FinalizeTool;
}

/// Finds a function by its name.
///
/// # Safety
/// `name` is a C string.
pub(super) unsafe extern "C" fn lookup(name: *const c_char) -> Option<Function> {
    // SAFETY: promised by our caller.
    find(unsafe { CStr::from_ptr(name) })
}

const _: FunctionLookup = lookup;

/// Stores `value` where the tool wants it, if it does.
///
/// # Safety
/// `place` is null or the tool's to write.
unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: promised by our caller.
        unsafe { place.write(value) };
    }
}

/// There is what was asked for, and it is told.
const AVAILABLE: c_int = 2;
/// There is no such thing.
const NOT_THERE: c_int = 0;

unsafe extern "C" fn set_callback(event: Event, function: Option<callback::Any>) -> SetResult {
    let Some(tool) = TOOL.load(Ordering::Acquire) else {
        return SetResult::ERROR;
    };
    let address = function.map_or(0, |function| function as usize);
    // SAFETY: the tool passes a function of the type that the event has.
    tool.callbacks
        .set(event, unsafe { Address::of_function(address) })
}

unsafe extern "C" fn get_callback(event: Event, place: *mut Option<callback::Any>) -> c_int {
    let tool = TOOL.load(Ordering::Acquire);
    let address = tool.map_or(0, |tool| tool.callbacks.get(event));
    if address == 0 {
        return 0;
    }
    // SAFETY: it is the address of a function that the tool has set.
    let function = unsafe { std::mem::transmute::<usize, callback::Any>(address) };
    // SAFETY: the tool passes an address that it may write to.
    unsafe { put(place, Some(function)) };
    1
}

unsafe extern "C" fn get_thread_data() -> *mut Data {
    tool::thread_data().unwrap_or(std::ptr::null_mut())
}

fn count(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

unsafe extern "C" fn get_num_procs() -> c_int {
    count(fathomp_omp::query::num_procs() as usize)
}

unsafe extern "C" fn get_num_places() -> c_int {
    count(places::places().len() as usize)
}

/// Stores as many numbers as there is room for; how many there are.
///
/// # Safety
/// `place` is the tool's, with room for so many.
unsafe fn put_all(room: c_int, place: *mut c_int, numbers: impl Iterator<Item = u32>) -> c_int {
    let room = usize::try_from(room).unwrap_or(0);
    let mut all = 0;
    for number in numbers {
        if all < room && !place.is_null() {
            // SAFETY: promised by our caller: there is room.
            unsafe { place.add(all).write(number.cast_signed()) };
        }
        all += 1;
    }
    count(all)
}

unsafe extern "C" fn get_place_proc_ids(place: c_int, room: c_int, ids: *mut c_int) -> c_int {
    let place = u32::try_from(place).ok();
    let cpus = place
        .and_then(|place| places::places().get(place))
        .map_or(&[][..], Place::cpus);
    // SAFETY: the tool says how much room there is.
    unsafe { put_all(room, ids, cpus.iter().copied()) }
}

unsafe extern "C" fn get_place_num() -> c_int {
    tool::place().map_or(-1, |place| place.place.cast_signed())
}

unsafe extern "C" fn get_partition_place_nums(room: c_int, numbers: *mut c_int) -> c_int {
    let partition = tool::place().map_or(0..0, |assigned| {
        let partition = assigned.partition;
        partition.first..partition.first + partition.len
    });
    // SAFETY: the tool says how much room there is.
    unsafe { put_all(room, numbers, partition) }
}

unsafe extern "C" fn get_proc_id() -> c_int {
    if tool::thread_data().is_none() {
        // A thread that the runtime does not know.
        return -1;
    }
    // SAFETY: asks for a number, which is negative if there is none.
    unsafe { libc::sched_getcpu() }
}

unsafe extern "C" fn get_state(wait_id: *mut WaitId) -> c_int {
    let (state, wait) = tool::state();
    // SAFETY: the tool passes null or an address that it may write to.
    unsafe { put(wait_id, wait) };
    state.0.cast_signed()
}

/// The states that threads can be in here, after the one that asking begins with.
const STATES: [(State, &CStr); 17] = [
    (State::UNDEFINED, c"ompt_state_undefined"),
    (State::WORK_SERIAL, c"ompt_state_work_serial"),
    (State::WORK_PARALLEL, c"ompt_state_work_parallel"),
    (State::WORK_REDUCTION, c"ompt_state_work_reduction"),
    (
        State::WAIT_BARRIER_IMPLICIT_PARALLEL,
        c"ompt_state_wait_barrier_implicit_parallel",
    ),
    (
        State::WAIT_BARRIER_IMPLICIT_WORKSHARE,
        c"ompt_state_wait_barrier_implicit_workshare",
    ),
    (
        State::WAIT_BARRIER_EXPLICIT,
        c"ompt_state_wait_barrier_explicit",
    ),
    (
        State::WAIT_BARRIER_IMPLEMENTATION,
        c"ompt_state_wait_barrier_implementation",
    ),
    (State::WAIT_TASKWAIT, c"ompt_state_wait_taskwait"),
    (State::WAIT_TASKGROUP, c"ompt_state_wait_taskgroup"),
    (State::WAIT_MUTEX, c"ompt_state_wait_mutex"),
    (State::WAIT_LOCK, c"ompt_state_wait_lock"),
    (State::WAIT_CRITICAL, c"ompt_state_wait_critical"),
    (State::WAIT_ATOMIC, c"ompt_state_wait_atomic"),
    (State::WAIT_ORDERED, c"ompt_state_wait_ordered"),
    (State::IDLE, c"ompt_state_idle"),
    (State::OVERHEAD, c"ompt_state_overhead"),
];

const IMPLEMENTATIONS: [(u32, &CStr); 2] = [
    (0, c"ompt_mutex_impl_none"),
    (ADAPTIVE, c"fathomp_mutex_impl_adaptive"),
];

/// Stores what follows `current` in `all`, if anything does.
///
/// # Safety
/// The addresses are null or the tool's to write.
unsafe fn next_of(
    mut all: impl Iterator<Item = (u32, &'static CStr)>,
    current: c_int,
    next: *mut c_int,
    name: *mut *const c_char,
) -> c_int {
    all.find(|&(number, _)| number.cast_signed() == current);
    let Some((number, text)) = all.next() else {
        return 0;
    };
    // SAFETY: promised by our caller.
    unsafe {
        put(next, number.cast_signed());
        put(name, text.as_ptr());
    }
    1
}

unsafe extern "C" fn enumerate_states(
    current: c_int,
    next: *mut c_int,
    name: *mut *const c_char,
) -> c_int {
    let all = STATES.iter().map(|&(state, name)| (state.0, name));
    // SAFETY: the tool passes addresses that it may write to.
    unsafe { next_of(all, current, next, name) }
}

unsafe extern "C" fn enumerate_mutex_impls(
    current: c_int,
    next: *mut c_int,
    name: *mut *const c_char,
) -> c_int {
    // SAFETY: the tool passes addresses that it may write to.
    unsafe { next_of(IMPLEMENTATIONS.iter().copied(), current, next, name) }
}

unsafe extern "C" fn get_parallel_info(
    level: c_int,
    data: *mut *mut Data,
    size: *mut c_int,
) -> c_int {
    let Some((region, team)) = u32::try_from(level).ok().and_then(tool::parallel_info) else {
        return NOT_THERE;
    };
    // SAFETY: the tool passes null or addresses that it may write to.
    unsafe {
        put(data, region);
        put(size, team.cast_signed());
    }
    AVAILABLE
}

unsafe extern "C" fn get_task_info(
    level: c_int,
    flags: *mut c_int,
    data: *mut *mut Data,
    frame: *mut *mut Frame,
    region: *mut *mut Data,
    thread_num: *mut c_int,
) -> c_int {
    let Some(info) = u32::try_from(level).ok().and_then(tool::task_info) else {
        return NOT_THERE;
    };
    // SAFETY: the tool passes null or addresses that it may write to.
    unsafe {
        put(flags, info.flags.0.cast_signed());
        put(data, info.data);
        put(frame, info.frame);
        put(region, info.region);
        put(thread_num, info.thread_num.cast_signed());
    }
    AVAILABLE
}

unsafe extern "C" fn get_task_memory(
    address: *mut *mut c_void,
    size: *mut usize,
    block: c_int,
) -> c_int {
    let arguments = if block == 0 {
        tool::task_arguments()
    } else {
        None
    };
    let (begin, bytes) = arguments.map_or((0, 0), |(data, bytes)| (data.0, bytes));
    // SAFETY: the tool passes null or addresses that it may write to.
    unsafe {
        put(address, std::ptr::with_exposed_provenance_mut(begin));
        put(size, bytes);
    }
    // There is one block at most.
    0
}

unsafe extern "C" fn get_target_info(_device: *mut u64, _target: *mut Id, _op: *mut Id) -> c_int {
    0
}

unsafe extern "C" fn get_num_devices() -> c_int {
    0
}

unsafe extern "C" fn get_unique_id() -> u64 {
    tool::unique_id()
}

unsafe extern "C" fn finalize_tool() {
    tool::end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_told_one_after_the_other() {
        let (mut state, mut name, mut seen) =
            (State::UNDEFINED.0.cast_signed(), std::ptr::null(), 0);
        // SAFETY: addresses of variables above.
        while unsafe { enumerate_states(state, &raw mut state, &raw mut name) } != 0 {
            // SAFETY: it was given a name.
            let text = unsafe { CStr::from_ptr(name) };
            assert!(text.to_bytes().starts_with(b"ompt_state_"));
            seen += 1;
        }
        assert_eq!(seen, STATES.len() - 1);
    }

    #[test]
    fn functions_are_found_by_their_names_alone() {
        assert!(find(c"ompt_get_task_info").is_some());
        assert!(find(c"ompt_get_task_infos").is_none());
    }
}
