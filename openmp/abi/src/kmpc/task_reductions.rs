//! Task reductions.
//!
//! What compiled code describes becomes a table as gcc's code has it (see
//! [`crate::gomp::reductions`]), so that tasks of both find what they look for. Behind the table
//! stands how the copies are begun, combined and ended: here the runtime does that.

use super::types::{Location, OldReductionInput, ReductionInput};
use crate::gomp::reductions::{self as tables, HEADER, ITEM_WORDS, Table};
use crate::reachable::{allocate, free};
use fathomp_omp::barrier;
use fathomp_omp::current;
use fathomp_omp::observer::Wait;
use fathomp_omp::task::{self, reductions};
use fathomp_omp::team::Member;
use std::ffi::c_void;

/// A list item.
#[derive(Clone, Copy)]
#[repr(C)]
struct Item {
    /// What is combined into.
    shared: usize,
    original: usize,
    init: Option<extern "C" fn(*mut c_void, *mut c_void)>,
    fini: Option<extern "C" fn(*mut c_void)>,
    combine: Option<extern "C" fn(*mut c_void, *mut c_void)>,
    /// Place in a thread's copies.
    offset: usize,
}

const FUNCTION_WORDS: usize = size_of::<Item>() / size_of::<usize>();

/// Copies of one thread lie on cache lines of their own.
const ALIGN: usize = 64;

fn pointer(address: usize) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address)
}

/// Items and sizes in one form.
trait Input {
    fn item(&self) -> Item;
    fn bytes(&self) -> usize;
}

impl Input for ReductionInput {
    fn item(&self) -> Item {
        Item {
            shared: self.shared,
            original: if self.original == 0 {
                self.shared
            } else {
                self.original
            },
            init: self.init,
            fini: self.fini,
            combine: self.combine,
            offset: 0,
        }
    }
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Input for OldReductionInput {
    fn item(&self) -> Item {
        Item {
            shared: self.shared,
            original: self.shared,
            // SAFETY: a function of one argument does not see the second.
            init: self.init.map(|init| unsafe {
                std::mem::transmute::<
                    extern "C" fn(*mut c_void),
                    extern "C" fn(*mut c_void, *mut c_void),
                >(init)
            }),
            fini: self.fini,
            combine: self.combine,
            offset: 0,
        }
    }
    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A table for these items, in memory that all nodes reach.
///
/// # Safety
/// There are `count` of them.
unsafe fn build<I: Input>(count: i32, inputs: *const I) -> Table {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: promised by our caller.
    let inputs = unsafe { std::slice::from_raw_parts(inputs, count) };
    let words = HEADER + count * (ITEM_WORDS + FUNCTION_WORDS);
    let memory = allocate(words * size_of::<usize>(), ALIGN);
    // SAFETY: fresh and zeroed, with room for the table.
    let table = unsafe { Table::new(memory) };
    let mut offset = 0;
    for (index, input) in inputs.iter().enumerate() {
        let item = Item {
            offset,
            ..input.item()
        };
        table.set_item(index, item.shared, offset);
        // SAFETY: behind the table there is room for all items.
        unsafe { items(table, count).add(index).write(item) };
        offset += input.bytes().next_multiple_of(16);
    }
    table.set_sizes(count, offset.next_multiple_of(ALIGN).max(ALIGN), ALIGN);
    table
}

fn items(table: Table, count: usize) -> *mut Item {
    let address = table.address() + (HEADER + count * ITEM_WORDS) * size_of::<usize>();
    std::ptr::with_exposed_provenance_mut(address)
}

fn all_items(table: Table) -> impl Iterator<Item = Item> {
    let count = table.count();
    // SAFETY: `build` has written so many there.
    (0..count).map(move |index| unsafe { items(table, count).add(index).read() })
}

/// Begins the copies of a thread that lie at `begin`, which are zero.
fn begin_copies(table: Table, begin: usize) {
    for item in all_items(table) {
        if let Some(init) = item.init {
            init(pointer(begin + item.offset), pointer(item.original));
        }
    }
}

/// Combines the copies of a thread that lie at `begin`, and ends them.
fn end_copies(table: Table, begin: usize) {
    for item in all_items(table) {
        let copy = pointer(begin + item.offset);
        if let Some(combine) = item.combine {
            combine(pointer(item.shared), copy);
        }
        if let Some(fini) = item.fini {
            fini(copy);
        }
    }
}

/// # Safety
/// As of [`build`].
unsafe fn begin<I: Input>(count: i32, inputs: *const I) -> *mut c_void {
    let member = current();
    if !reductions::in_group(member) {
        task::group_start(member);
    }
    // SAFETY: promised by our caller; the table lives until its group ends.
    let table = unsafe {
        let table = build(count, inputs);
        tables::register_in_group(member, table.address());
        table
    };
    table.set_owner(reductions::group_name(member));
    for begin in table.copies() {
        begin_copies(table, begin);
    }
    pointer(table.address())
}

/// Ends the innermost taskgroup, and the reductions that it has begun.
pub(super) fn end_group(member: &'static Member) {
    let first = reductions::table(member);
    let owner = reductions::group_name(member);
    task::group_end(member);
    // SAFETY: what is registered with a group is a table, until the group's end.
    let table = unsafe { Table::at(first) }.filter(|table| table.owner() == owner && owner != 0);
    let Some(table) = table else { return };
    for begin in table.copies() {
        end_copies(table, begin);
    }
    free(table.begin_of_copies());
    free(table.address());
}

/// # Safety
/// As of [`build`].
unsafe fn begin_shared<I: Input>(count: i32, inputs: *const I) -> *mut c_void {
    let member = current();
    // SAFETY: promised by our caller.
    let table = unsafe { build(count, inputs) };
    let threads = member.team().size();
    let sizes = || vec![table.size(threads)];
    let make = |bytes, align| {
        let begin = allocate(bytes, align);
        for begin in table.copies_at(begin, bytes) {
            begin_copies(table, begin);
        }
        begin
    };
    let copies = reductions::begin_workshare(member, sizes, make);
    let outer = reductions::table(member);
    // SAFETY: the table is complete and ends with the construct.
    unsafe { tables::register(table.address(), outer, threads, Some(&copies)) };
    reductions::set_table(member, table.address());
    if reductions::is_spread(member) {
        begin_copies(table, table.copy_of(member));
    }
    pointer(table.address())
}

/// Ends the reductions of a region or a worksharing construct: when the tasks of all members are
/// complete, each combines what is in its copies into a variable of its own.
fn end_shared(member: &'static Member) {
    let first = reductions::table(member);
    let last = reductions::end_workshare(member);
    barrier::barrier(member, Wait::ImplicitBarrier);
    // SAFETY: what `begin_shared` has registered is a table.
    let Some(table) = (unsafe { Table::at(first) }) else {
        return;
    };
    end_copies(table, table.copy_of(member));
    free(table.address());
    // Until then others may be combining theirs.
    barrier::barrier(member, Wait::ImplicitBarrier);
    for [begin, _] in last.unwrap_or_default() {
        free(begin);
    }
}

kmpc! {
    /// `void *__kmpc_taskred_init(int gtid, int num, void *data)`
    fn __kmpc_taskred_init(_gtid: i32, count: i32, inputs: *const ReductionInput) -> *mut c_void {
        // SAFETY: promised by our caller.
        unsafe { begin(count, inputs) }
    }
    /// `void *__kmpc_task_reduction_init(int gtid, int num, void *data)`
    fn __kmpc_task_reduction_init(_gtid: i32, count: i32, inputs: *const OldReductionInput) -> *mut c_void {
        // SAFETY: promised by our caller.
        unsafe { begin(count, inputs) }
    }
    /// `void *__kmpc_taskred_modifier_init(ident_t *, int gtid, int is_ws, int num, void *data)`
    fn __kmpc_taskred_modifier_init(_location: Location, _gtid: i32, _is_loop: i32, count: i32,
        inputs: *const ReductionInput) -> *mut c_void {
        // SAFETY: promised by our caller.
        unsafe { begin_shared(count, inputs) }
    }
    /// `void *__kmpc_task_reduction_modifier_init(ident_t *, int gtid, int is_ws, int num, void
    /// *data)`
    fn __kmpc_task_reduction_modifier_init(_location: Location, _gtid: i32, _is_loop: i32, count: i32,
        inputs: *const OldReductionInput) -> *mut c_void {
        // SAFETY: promised by our caller.
        unsafe { begin_shared(count, inputs) }
    }
    /// `void *__kmpc_task_reduction_get_th_data(int gtid, void *tskgrp, void *data)`: the calling
    /// thread's copy of what is at an address, or is a copy itself.
    fn __kmpc_task_reduction_get_th_data(_gtid: i32, _group: *mut c_void, data: *mut c_void) -> *mut c_void {
        let (mine, _) = tables::find(current(), data.expose_provenance());
        pointer(mine)
    }
}

/// `void __kmpc_task_reduction_modifier_fini(ident_t *, int gtid, int is_ws)`
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_task_reduction_modifier_fini(
    _location: Location,
    _gtid: i32,
    _is_loop: i32,
) {
    end_shared(current());
}
