//! Task reductions: the tables the compiler builds, and the private copies.
//!
//! A table is an array of words:
//!
//! | word      | content                                                      |
//! |-----------|--------------------------------------------------------------|
//! | 0         | number of list items                                         |
//! | 1         | bytes of one thread's copies of all of them                  |
//! | 2         | alignment; the runtime puts the address of all copies there  |
//! | 3         | allocator; in tables of the runtime's own, their taskgroup   |
//! | 4         | next table, or 0                                             |
//! | 5         | the runtime's: set in the first table of a construct         |
//! | 6         | the runtime's: end of all copies                             |
//! | 7 + 3*i   | address of list item `i`                                     |
//! | 8 + 3*i   | its offset in a thread's copies, ascending                   |
//! | 9 + 3*i   | the runtime's; unused                                        |
//!
//! Tables of nested constructs form one chain: word 4 of a construct's last
//! table is made to lead to the tables of the enclosing taskgroup, so that a
//! task finds list items of outer constructs too.

use super::parallel::{Function, fork_of};
use crate::entry::entry;
use crate::fatal::fatal;
use crate::reachable::{allocate, free, out_of_memory};
use fathomp_omp::current;
use fathomp_omp::parallel::{self, Fork};
use fathomp_omp::task::{self, reductions};
use fathomp_omp::team::{Member, Team};
use fathomp_sys::outlined::Opaque;
use std::cell::Cell;
use std::ffi::c_uint;

const ITEMS: usize = 0;
const STRIDE: usize = 1;
const COPIES: usize = 2;
const OWNER: usize = 3;
const NEXT: usize = 4;
const FIRST: usize = 5;
const END: usize = 6;
pub(crate) const HEADER: usize = 7;
pub(crate) const ITEM_WORDS: usize = 3;

/// A table of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table(*mut usize);

impl Table {
    /// `None` for address 0, the end of a chain.
    ///
    /// # Safety
    /// `address` is 0 or that of a table that is complete, writable, and in
    /// nobody else's hands but the runtime's as long as the value is used.
    pub(crate) unsafe fn at(address: usize) -> Option<Self> {
        let pointer = std::ptr::with_exposed_provenance_mut(address);
        (address != 0).then_some(Self(pointer))
    }

    /// A table at an address, with no items yet.
    ///
    /// # Safety
    /// There is room for the table, zeroed and writable, as long as the value is used.
    pub(crate) unsafe fn new(address: usize) -> Self {
        Self(std::ptr::with_exposed_provenance_mut(address))
    }

    pub(crate) fn address(self) -> usize {
        self.0.expose_provenance()
    }

    /// How many items there are, and how large and aligned a thread's copies of them are.
    pub(crate) fn set_sizes(self, count: usize, stride: usize, align: usize) {
        self.set(ITEMS, count);
        self.set(STRIDE, stride);
        self.set(COPIES, align);
    }

    /// List item `index` has that address and that place in a thread's copies.
    pub(crate) fn set_item(self, index: usize, original: usize, offset: usize) {
        let word = HEADER + index * ITEM_WORDS;
        self.set(word, original);
        self.set(word + 1, offset);
    }

    pub(crate) fn count(self) -> usize {
        self.get(ITEMS)
    }

    /// What a table of the runtime's own belongs to; otherwise something else.
    pub(crate) fn owner(self) -> usize {
        self.get(OWNER)
    }

    pub(crate) fn set_owner(self, owner: usize) {
        self.set(OWNER, owner);
    }

    /// Where the threads' copies are, once registered.
    pub(crate) fn begin_of_copies(self) -> usize {
        self.get(COPIES)
    }

    pub(crate) fn copies(self) -> impl Iterator<Item = usize> {
        self.copies_at(self.get(COPIES), self.get(END) - self.get(COPIES))
    }

    /// Where they are if they lie in `bytes` bytes from `begin` on.
    pub(crate) fn copies_at(self, begin: usize, bytes: usize) -> impl Iterator<Item = usize> {
        (begin..begin + bytes).step_by(self.get(STRIDE).max(1))
    }

    /// Where the copies of `member` are.
    pub(crate) fn copy_of(self, member: &Member) -> usize {
        self.get(COPIES) + member.thread_num() as usize * self.get(STRIDE)
    }

    /// Bytes of the copies of all threads, and their alignment, while it is not registered.
    pub(crate) fn size(self, threads: u32) -> (usize, usize) {
        size(self, threads)
    }

    fn get(self, word: usize) -> usize {
        // SAFETY: `at`'s caller vouched for the table; `word` is in its layout.
        unsafe { self.0.add(word).read() }
    }

    fn set(self, word: usize, value: usize) {
        // SAFETY: as in `get`.
        unsafe { self.0.add(word).write(value) }
    }

    fn next(self) -> Option<Self> {
        // SAFETY: the chain consists of tables: the compiler linked those of a
        // construct, `register` those of enclosing ones, which end later.
        unsafe { Self::at(self.get(NEXT)) }
    }

    /// This table and those after it, enclosing constructs included.
    fn chain(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), |table| table.next())
    }

    /// Address and offset of each list item.
    fn items(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.get(ITEMS)).map(move |item| {
            let word = HEADER + item * ITEM_WORDS;
            (self.get(word), self.get(word + 1))
        })
    }

    /// Where `address`, of a list item or of anybody's copy of one, belongs:
    /// its offset and the original's address.
    fn find(self, address: usize) -> Option<(usize, usize)> {
        if let Some((original, offset)) = self.items().find(|item| item.0 == address) {
            return Some((offset, original));
        }
        if !(self.get(COPIES)..self.get(END)).contains(&address) {
            return None;
        }
        let offset = (address - self.get(COPIES)) % self.get(STRIDE).max(1);
        let (original, _) = self.items().find(|item| item.1 == offset)?;
        Some((offset, original))
    }
}

/// Links the construct's tables in front of `outer` and gives each its copies:
/// those in `shared`, or new ones for `threads` threads.
///
/// # Safety
/// `first` is the first table of a construct that begins now, `outer` that of
/// an enclosing one or 0.
pub(crate) unsafe fn register(
    first: usize,
    outer: usize,
    threads: u32,
    shared: Option<&[[usize; 2]]>,
) {
    // SAFETY: promised by our caller.
    let mut next = unsafe { Table::at(first) };
    let mut number = 0;
    while let Some(table) = next {
        let [begin, end] = match shared.and_then(|copies| copies.get(number)) {
            Some(copies) => *copies,
            None => {
                let (bytes, align) = size(table, threads);
                let begin = allocate(bytes, align);
                [begin, begin + bytes]
            }
        };
        table.set(COPIES, begin);
        table.set(END, end);
        table.set(FIRST, usize::from(number == 0));
        next = table.next();
        if next.is_none() {
            table.set(NEXT, outer);
        }
        number += 1;
    }
}

/// Bytes of the copies of all threads, and their alignment.
fn size(table: Table, threads: u32) -> (usize, usize) {
    let align = table.get(COPIES).max(size_of::<usize>());
    let Some(bytes) = table.get(STRIDE).checked_mul(threads as usize) else {
        out_of_memory(usize::MAX)
    };
    (bytes, align)
}

/// `void GOMP_taskgroup_reduction_register(uintptr_t *data)`
///
/// # Safety
/// `data` is a table as described above that lives until it is unregistered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_taskgroup_reduction_register(data: *mut usize) {
    let member = current();
    if !reductions::in_group(member) {
        // The compiler always opens the taskgroup first.
        task::group_start(member);
    }
    // SAFETY: promised by our caller.
    unsafe { register_in_group(member, data.expose_provenance()) };
}

/// Registers the table at `table` with the current taskgroup.
///
/// # Safety
/// As of [`GOMP_taskgroup_reduction_register`].
pub(crate) unsafe fn register_in_group(member: &'static Member, table: usize) {
    let outer = reductions::table(member);
    // SAFETY: promised by our caller; `outer` was registered by this function
    // or one of those below and its construct has not ended.
    unsafe { register(table, outer, member.team().size(), None) };
    reductions::set_table(member, table);
}

/// `void GOMP_taskgroup_reduction_unregister(uintptr_t *data)`
///
/// # Safety
/// `data` has been registered and its tasks are complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_taskgroup_reduction_unregister(data: *mut usize) {
    // SAFETY: promised by our caller.
    let Some(first) = (unsafe { Table::at(data.expose_provenance()) }) else {
        return;
    };
    for (number, table) in first.chain().enumerate() {
        // The enclosing construct's tables begin here.
        if number > 0 && table.get(FIRST) != 0 {
            return;
        }
        free(table.get(COPIES));
    }
}

/// `void GOMP_task_reduction_remap(size_t cnt, size_t cntorig, void **ptrs)`:
/// replaces addresses of list items, or of somebody's copies of them, by those
/// of this thread's copies; behind them go the addresses of the first
/// `cntorig` originals.
///
/// # Safety
/// `pointers` has room for `count + originals` addresses, the first `count`
/// of which are set; the current task is in the reductions' taskgroup.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_task_reduction_remap(
    count: usize,
    originals: usize,
    pointers: *mut usize,
) {
    let member = current();
    for index in 0..count {
        // SAFETY: promised by our caller.
        let address = unsafe { pointers.add(index).read() };
        let (mine, original) = find(member, address);
        // SAFETY: promised by our caller.
        unsafe { pointers.add(index).write(mine) };
        if index < originals {
            // SAFETY: promised by our caller.
            unsafe { pointers.add(count + index).write(original) };
        }
    }
}

/// Where the copy of `member` is of the list item at `address`, or of which somebody's copy is
/// there; and where the list item itself is.
pub(crate) fn find(member: &'static Member, address: usize) -> (usize, usize) {
    // SAFETY: tables known to a task's group live until the group ends.
    let first = unsafe { Table::at(reductions::table(member)) };
    let found = first.and_then(|first| {
        first
            .chain()
            .find_map(|table| Some((table, table.find(address)?)))
    });
    let Some((table, (offset, original))) = found else {
        fatal(format_args!(
            "a task takes part in the reduction of the variable at {address:#x}, \
             which no enclosing construct reduces: check its in_reduction clause"
        ));
    };
    (table.copy_of(member) + offset, original)
}

entry! {
    /// `unsigned GOMP_parallel_reductions(void (*fn)(void *), void *data, unsigned num_threads, unsigned flags)`
    GOMP_parallel_reductions => gomp_parallel_reductions;
}

extern "C" fn gomp_parallel_reductions(
    function: Function,
    data: Opaque,
    threads: c_uint,
    flags: c_uint,
) -> c_uint {
    // SAFETY: these are the arguments of `GOMP_parallel_reductions`.
    let fork = unsafe { fork_of(function, data, threads, flags, None) };
    // SAFETY: the first word of the region's data is the table's address.
    let table = unsafe { std::ptr::with_exposed_provenance::<usize>(data.0).read() };
    let formed: Cell<Option<(&'static Team, u32)>> = Cell::new(None);
    let prepare = |team: &'static Team, size: u32| {
        // SAFETY: the compiler built the table for this construct.
        unsafe { register(table, 0, size, None) };
        reductions::begin_region(team, table);
        formed.set(Some((team, size)));
    };
    parallel::parallel(&Fork {
        prepare: Some(&prepare),
        ..fork
    });
    // `parallel` calls `prepare` exactly once.
    formed.get().map_or(1, |(team, size)| {
        reductions::end_region(team);
        size
    })
}

/// Begins a worksharing construct (loop, sections, scope) with task
/// reductions: call it when the construct starts with the `reductions`
/// argument, if that is not null. The program ends it by
/// [`GOMP_workshare_task_reduction_unregister`].
///
/// # Safety
/// `data` is a table as described above that lives until it is unregistered.
pub(crate) unsafe fn begin_workshare(member: &'static Member, data: *mut usize) {
    let first = data.expose_provenance();
    let threads = member.team().size();
    let sizes = || {
        // SAFETY: promised by our caller; the chain is not yet linked to any
        // other, so these are the construct's own tables.
        let tables = unsafe { Table::at(first) };
        let chain = tables.into_iter().flat_map(Table::chain);
        chain.map(|table| size(table, threads)).collect()
    };
    let copies = reductions::begin_workshare(member, sizes, allocate);
    let outer = reductions::table(member);
    // SAFETY: promised by our caller; `outer` as in `register_in_group`.
    unsafe { register(first, outer, threads, Some(&copies)) };
    reductions::set_table(member, first);
}

/// `void GOMP_workshare_task_reduction_unregister(bool cancelled)`
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_workshare_task_reduction_unregister(cancelled: bool) {
    let member = current();
    if let Some(copies) = reductions::end_workshare(member) {
        for [begin, _] in copies {
            free(begin);
        }
    }
    if !cancelled {
        fathomp_omp::barrier::barrier(member, fathomp_omp::observer::Wait::ImplicitBarrier);
    }
}

/// The table of a `taskloop` construct with reductions.
///
/// # Safety
/// `data` is the argument block of such a construct.
pub(super) unsafe fn table_of_taskloop(data: Opaque) -> usize {
    // SAFETY: the block begins with the two bounds and the table's address.
    unsafe {
        std::ptr::with_exposed_provenance::<usize>(data.0)
            .add(2)
            .read()
    }
}

/// Tells the program that a construct without iterations has not registered
/// its table.
///
/// # Safety
/// `table` is the address of a table.
pub(super) unsafe fn mark_unregistered(table: usize) {
    // SAFETY: promised by our caller.
    if let Some(table) = unsafe { Table::at(table) } {
        table.set(COPIES, 0);
    }
}
