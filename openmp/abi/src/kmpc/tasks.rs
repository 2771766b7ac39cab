//! `task`, `taskwait`, `taskgroup`, `taskyield`, detach events.

use super::task_memory::{FINAL, TaskMemory};
use super::task_reductions;
use super::types::{DependInfo, KmpTask, Location, Routine};
use crate::entry::entries;
use crate::gomp::task::{give_way, omp_fulfill_event};
use fathomp_omp::task::{self, Access, Clauses, Dependence, EventHandle, Work};
use fathomp_omp::team::Member;
use fathomp_omp::{cluster, current, observer};
use fathomp_sys::outlined::{Opaque, Outlined, Way};
use fathomp_sys::task_arguments::Arguments;
use std::ffi::c_void;

/// Kinds of dependences.
const IN: u8 = 1;
const OUT: u8 = 2;
const MUTEXINOUTSET: u8 = 4;
const INOUTSET: u8 = 8;
/// The item is `omp_all_memory`; older compilers give the address instead.
const ALL_MEMORY: u8 = 0x80;

/// Calls `use_it` with the dependences of two lists.
///
/// # Safety
/// Both are as long as is said.
unsafe fn with_dependences<R>(
    lists: [(i32, *const DependInfo); 2],
    use_it: impl FnOnce(&[Dependence]) -> R,
) -> R {
    let mut all = Vec::new();
    for (count, list) in lists {
        let count = usize::try_from(count).unwrap_or(0);
        if count == 0 || list.is_null() {
            continue;
        }
        // SAFETY: promised by our caller.
        let items = unsafe { std::slice::from_raw_parts(list, count) };
        all.extend(items.iter().map(dependence));
    }
    use_it(&all)
}

fn dependence(item: &DependInfo) -> Dependence {
    if item.flags & ALL_MEMORY != 0 || item.address == task::ALL_MEMORY {
        // The compiler does not say whether it is `out` or `inout`.
        return Dependence {
            address: task::ALL_MEMORY,
            access: Access::Out,
        };
    }
    Dependence {
        address: item.address,
        access: match item.flags {
            IN => Access::In,
            OUT => Access::Out,
            MUTEXINOUTSET => Access::MutexInOutSet,
            INOUTSET => Access::InOutSet,
            _ => Access::InOut,
        },
    }
}

/// Creates the task of `memory`, which goes with it.
///
/// # Safety
/// The program has filled the memory in and does not use it any more.
pub(super) unsafe fn create(memory: TaskMemory, deferrable: bool, dependences: &[Dependence]) {
    if memory.goes_on() {
        return;
    }
    let member = current();
    observer::announce(|| memory.told());
    let is_final = memory.flags() & FINAL != 0;
    let mut clauses = Clauses {
        deferrable,
        is_final,
        priority: memory.priority(),
        stays: false,
    };
    let address = memory.address() as u64;
    let data = Opaque((&raw const address).expose_provenance());
    // SAFETY: its code may be called with the memory, the program says.
    let function = unsafe { Outlined::called_by(Way::Task, memory.code()) };
    // SAFETY: one word, until this function returns.
    let arguments = unsafe { Arguments::from_program(data, size_of::<u64>(), 1, None) };
    let mut work = Work {
        function,
        arguments,
        head: &[],
    };
    let event = memory.event();
    if !dependences.is_empty() || event.is_some() {
        clauses.stays = cluster::is_node();
        return task::create_special(member, &work, clauses, dependences, event);
    }
    let Some(encounter) = task::encounter(member, deferrable, clauses.priority) else {
        return function.abandon(data);
    };
    if encounter.is_at_once() {
        return encounter.run(function, data, is_final);
    }
    if !cluster::is_node() {
        return encounter.create(&work, clauses);
    }
    let Some(block) = memory.movable() else {
        clauses.stays = true;
        return encounter.create(&work, clauses);
    };
    let way = if block.aligned {
        Way::AlignedTask
    } else {
        Way::MovedTask
    };
    // SAFETY: as above; the block is copied before this function returns.
    unsafe {
        work.function = Outlined::called_by(way, memory.code());
        work.arguments = Arguments::from_program(block.begin, block.bytes, block.align(), None);
    }
    encounter.create(&work, clauses);
    memory.free();
}

kmpc! {
    /// `kmp_task_t *__kmpc_omp_task_alloc(ident_t *, kmp_int32 gtid, kmp_int32 flags, size_t
    /// sizeof_kmp_task_t, size_t sizeof_shareds, kmp_routine_entry_t task_entry)`
    fn __kmpc_omp_task_alloc(_location: Location, _gtid: i32, flags: i32, bytes: usize,
        shareds: usize, routine: Option<Routine>) -> *mut KmpTask {
        TaskMemory::new(flags, bytes, shareds, routine).pointer()
    }
    /// The same for a task that works on a device, which is the host.
    fn __kmpc_omp_target_task_alloc(_location: Location, _gtid: i32, flags: i32, bytes: usize,
        shareds: usize, routine: Option<Routine>, _device: i64) -> *mut KmpTask {
        TaskMemory::new(flags, bytes, shareds, routine).pointer()
    }
    /// `void *__kmpc_task_allow_completion_event(ident_t *, int gtid, kmp_task_t *)`: the handle
    /// of an event that the task waits for.
    fn __kmpc_task_allow_completion_event(_location: Location, _gtid: i32, task: *mut KmpTask) -> *mut c_void {
        // SAFETY: promised by our caller.
        let memory = unsafe { TaskMemory::of(task) };
        let EventHandle(handle) = match memory.event() {
            Some(event) => event.handle(),
            None => {
                let event = task::new_event();
                let handle = event.handle();
                memory.set_event(event);
                handle
            }
        };
        std::ptr::without_provenance_mut(handle as usize)
    }
}

/// The program is about to call the code of a task that has an event.
#[cold]
fn begin_detachable(memory: TaskMemory, member: &'static Member, is_final: bool) {
    if let Some(event) = memory.event() {
        memory.set_included(Some(task::begin_detachable(member, is_final, event)));
    }
}

/// The program has called it.
#[cold]
fn end_detachable(memory: TaskMemory) {
    if let Some(included) = memory.included() {
        included.end_detachable();
    }
}

/// A task is complete whose code is run, or was, by somebody else.
///
/// # Safety
/// It was created with the flag that says so, and is told of once.
unsafe fn complete_proxy(task: *mut KmpTask) {
    // SAFETY: promised by our caller.
    let memory = unsafe { TaskMemory::of(task) };
    if let Some(event) = memory.event() {
        let EventHandle(handle) = event.handle();
        omp_fulfill_event(handle);
    }
    memory.free();
}

kmpc! {
    /// `void __kmpc_proxy_task_completed(kmp_int32 gtid, kmp_task_t *)`: by a thread of the team.
    fn __kmpc_proxy_task_completed(_gtid: i32, task: *mut KmpTask) {
        // SAFETY: promised by our caller.
        unsafe { complete_proxy(task) };
    }
    /// `void __kmpc_proxy_task_completed_ooo(kmp_task_t *)`: by any thread.
    fn __kmpc_proxy_task_completed_ooo(task: *mut KmpTask) {
        // SAFETY: promised by our caller.
        unsafe { complete_proxy(task) };
    }
}

extern "C" fn empty_task(_gtid: i32, _task: *mut KmpTask) -> i32 {
    0
}

entries! {
    /// `kmp_int32 __kmpc_omp_task(ident_t *, kmp_int32 gtid, kmp_task_t *)`
    fn __kmpc_omp_task(_location: Location, _gtid: i32, task: *mut KmpTask) -> i32 {
        // SAFETY: promised by our caller.
        unsafe { create(TaskMemory::of(task), true, &[]) };
        0
    }
    /// `kmp_int32 __kmpc_omp_task_parts(ident_t *, kmp_int32 gtid, kmp_task_t *)`: a part of an
    /// untied task.
    fn __kmpc_omp_task_parts(location: Location, gtid: i32, task: *mut KmpTask) -> i32 {
        // SAFETY: promised by our caller.
        unsafe { __kmpc_omp_task::body(location, gtid, task) }
    }
    /// `kmp_int32 __kmpc_omp_task_with_deps(ident_t *, kmp_int32 gtid, kmp_task_t *, kmp_int32
    /// ndeps, kmp_depend_info_t *, kmp_int32 ndeps_noalias, kmp_depend_info_t *)`
    fn __kmpc_omp_task_with_deps(_location: Location, _gtid: i32, task: *mut KmpTask, count: i32,
        list: *const DependInfo, more: i32, more_list: *const DependInfo) -> i32 {
        let lists = [(count, list), (more, more_list)];
        // SAFETY: promised by our caller.
        unsafe {
            with_dependences(lists, |dependences| {
                create(TaskMemory::of(task), true, dependences);
            });
        }
        0
    }
    /// `void __kmpc_omp_wait_deps(ident_t *, kmp_int32 gtid, kmp_int32 ndeps, kmp_depend_info_t
    /// *, kmp_int32 ndeps_noalias, kmp_depend_info_t *)`
    fn __kmpc_omp_wait_deps(_location: Location, _gtid: i32, count: i32, list: *const DependInfo,
        more: i32, more_list: *const DependInfo) {
        let lists = [(count, list), (more, more_list)];
        // SAFETY: promised by our caller.
        unsafe { with_dependences(lists, |dependences| task::wait_depend(current(), dependences)) };
    }
    /// The same with `kmp_int32 has_no_wait`: a `taskwait` with `nowait`, which orders tasks and
    /// makes nobody wait.
    fn __kmpc_omp_taskwait_deps_51(location: Location, gtid: i32, count: i32,
        list: *const DependInfo, more: i32, more_list: *const DependInfo, no_wait: i32) {
        // SAFETY: promised by our caller; the memory is a task's without code.
        unsafe {
            if no_wait == 0 {
                return __kmpc_omp_wait_deps::body(location, gtid, count, list, more, more_list);
            }
            let memory = TaskMemory::new(0, size_of::<KmpTask>(), 0, Some(empty_task));
            __kmpc_omp_task_with_deps::body(location, gtid, memory.pointer(), count, list, more, more_list);
        }
    }
    /// `void __kmpc_omp_task_begin_if0(ident_t *, kmp_int32 gtid, kmp_task_t *)`: the program
    /// calls the task's code itself.
    fn __kmpc_omp_task_begin_if0(_location: Location, _gtid: i32, task: *mut KmpTask) {
        // SAFETY: promised by our caller.
        let memory = unsafe { TaskMemory::of(task) };
        let is_final = memory.flags() & FINAL != 0;
        let member = current();
        observer::announce(|| memory.told());
        if memory.event().is_some() {
            begin_detachable(memory, member, is_final);
        } else {
            memory.set_included(Some(task::begin_included(member, is_final)));
        }
        memory.begins();
    }
    /// `void __kmpc_omp_task_complete_if0(ident_t *, kmp_int32 gtid, kmp_task_t *)`
    fn __kmpc_omp_task_complete_if0(_location: Location, _gtid: i32, task: *mut KmpTask) {
        // SAFETY: promised by our caller.
        let memory = unsafe { TaskMemory::of(task) };
        memory.run_on();
        memory.destroy();
        if memory.event().is_some() {
            end_detachable(memory);
        } else if let Some(included) = memory.included() {
            included.end();
        }
        memory.free();
    }
    /// `kmp_int32 __kmpc_omp_taskwait(ident_t *, kmp_int32 gtid)`
    fn __kmpc_omp_taskwait(_location: Location, _gtid: i32) -> i32 {
        task::wait(current());
        0
    }
    /// `kmp_int32 __kmpc_omp_taskyield(ident_t *, kmp_int32 gtid, int end_part)`
    fn __kmpc_omp_taskyield(_location: Location, _gtid: i32, _end_part: i32) -> i32 {
        give_way();
        0
    }
    /// `void __kmpc_taskgroup(ident_t *, int gtid)`
    fn __kmpc_taskgroup(_location: Location, _gtid: i32) {
        task::group_start(current());
    }
    /// `void __kmpc_end_taskgroup(ident_t *, int gtid)`
    fn __kmpc_end_taskgroup(_location: Location, _gtid: i32) {
        task_reductions::end_group(current());
    }
}

/// `kmp_int32 __kmpc_omp_reg_task_with_affinity(ident_t *, kmp_int32 gtid, kmp_task_t *, kmp_int32
/// naffins, kmp_task_affinity_info_t *)`: near what data a task should run.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_reg_task_with_affinity(
    _location: Location,
    _gtid: i32,
    _task: usize,
    _count: i32,
    _list: usize,
) -> i32 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependences_are_told_by_their_flags() {
        let read = |flags| {
            let item = DependInfo {
                address: 8,
                bytes: 4,
                flags,
            };
            let found = dependence(&item);
            (found.address, found.access)
        };
        assert_eq!(read(IN), (8, Access::In));
        assert_eq!(read(OUT), (8, Access::Out));
        assert_eq!(read(IN | OUT), (8, Access::InOut));
        assert_eq!(read(MUTEXINOUTSET), (8, Access::MutexInOutSet));
        assert_eq!(read(INOUTSET), (8, Access::InOutSet));
        assert_eq!(read(ALL_MEMORY), (task::ALL_MEMORY, Access::Out));
    }

    #[test]
    fn older_compilers_give_all_memory_as_an_address() {
        let item = DependInfo {
            address: usize::MAX,
            bytes: 0,
            flags: IN | OUT,
        };
        let found = dependence(&item);
        assert_eq!(
            (found.address, found.access),
            (task::ALL_MEMORY, Access::Out)
        );
    }
}
