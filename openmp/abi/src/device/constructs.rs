//! What gcc makes of `target` and `target data`, on the host.

use super::check_device;
use crate::gomp::parallel::Function;
use crate::gomp::task::{GOMP_task, GOMP_taskwait_depend};
use fathomp_omp::{cluster, initial};
use fathomp_sys::outlined::{Opaque, Outlined};
use std::ffi::{c_long, c_void};
use std::{ptr, slice};

/// `GOMP_MAP_FIRSTPRIVATE`: the region works on a copy of the variable.
const MAP_FIRSTPRIVATE: u16 = 12;

/// `GOMP_MAP_ATTACH`: a pointer in one variable leads to another one.
const MAP_ATTACH: u16 = 80;

/// The `nowait` clause in the flags of a construct.
const FLAG_NOWAIT: u32 = 1;

/// `void GOMP_target(int device, void (*fn)(void *), const void *, size_t mapnum,
/// void **hostaddrs, size_t *sizes, unsigned char *kinds)`, of gcc 4.9.
///
/// # Safety
/// The arguments are those the compiler passes for a `target` construct.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_target(
    device: i32,
    function: Function,
    _unused: *const c_void,
    _count: usize,
    addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u8,
) {
    check_device(device);
    // SAFETY: promised by the caller.
    let function = unsafe { Outlined::from_program(function) };
    initial::target(function, Opaque(addresses.expose_provenance()), 0, 0);
}

/// `void GOMP_target_ext(int device, void (*fn)(void *), size_t mapnum, void **hostaddrs,
/// size_t *sizes, unsigned short *kinds, unsigned int flags, void **depend, void **args)`
///
/// # Safety
/// The arguments are those the compiler passes for a `target` construct.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_target_ext(
    device: i32,
    function: Function,
    count: usize,
    addresses: *mut *mut c_void,
    sizes: *const usize,
    kinds: *const u16,
    flags: u32,
    depend: *const *const c_void,
    args: *const usize,
) {
    check_device(device);
    // SAFETY: all promised by the caller.
    let region = unsafe {
        Region {
            function: Outlined::from_program(function),
            variables: Variables::new(count, addresses, sizes, kinds),
            thread_limit: thread_limit(args),
        }
    };
    // SAFETY: promised by the caller.
    unsafe { in_order(flags, depend, move || region.run()) };
}

/// Runs a construct after the tasks it depends on: as a task if it has a
/// `nowait` clause, else here.
///
/// # Safety
/// `depend` is null or what the compiler passes for a `depend` clause; `work`
/// may run until the program waits for its tasks.
unsafe fn in_order(flags: u32, depend: *const *const c_void, work: impl FnOnce()) {
    if flags & FLAG_NOWAIT == 0 {
        // SAFETY: promised by the caller.
        unsafe { wait_for(depend) }
        return work();
    }
    // SAFETY: promised by the caller.
    unsafe { defer(depend, work) }
}

/// Creates a task that does `work`.
///
/// # Safety
/// As for [`in_order`].
unsafe fn defer<F: FnOnce()>(depend: *const *const c_void, work: F) {
    extern "C" fn run_boxed<F: FnOnce()>(arguments: Opaque) {
        let boxed: *const usize = ptr::with_exposed_provenance(arguments.0);
        // SAFETY: `defer` made the block from one address of a leaked box, and
        // a task runs once.
        let work = unsafe { Box::from_raw(ptr::with_exposed_provenance_mut::<F>(boxed.read())) };
        work();
    }
    const WORD: c_long = size_of::<usize>() as c_long;
    const DEPEND: u32 = 1 << 3;
    let mut block = Box::into_raw(Box::new(work)).expose_provenance();
    let flags = if depend.is_null() { 0 } else { DEPEND };
    // SAFETY: the block is one word, which the task may copy until the call
    // returns; `depend` is promised by the caller, and there is no event.
    unsafe {
        GOMP_task::body(
            run_boxed::<F>,
            Opaque((&raw mut block).expose_provenance()),
            None,
            WORD,
            WORD,
            true,
            flags,
            depend,
            0,
            ptr::null_mut(),
        );
    }
}

/// Waits until the tasks a construct depends on are done.
///
/// # Safety
/// `depend` is null or what the compiler passes for a `depend` clause.
unsafe fn wait_for(depend: *const *const c_void) {
    if !depend.is_null() {
        // SAFETY: promised by the caller.
        unsafe { GOMP_taskwait_depend::body(depend) }
    }
}

/// A `target` region about to run.
struct Region {
    function: Outlined,
    variables: Variables,
    thread_limit: u32,
}

impl Region {
    fn run(mut self) {
        let data = Opaque(self.variables.addresses.as_mut_ptr().expose_provenance());
        initial::target(self.function, data, 0, self.thread_limit);
    }
}

/// Where a region finds its variables.
struct Variables {
    addresses: Vec<*mut c_void>,
    /// What the addresses of `firstprivate` variables point into.
    _copies: Vec<Copied>,
}

/// A copy of a `firstprivate` variable. Regions inside may be spread over nodes, so it
/// lies where all of them find it.
enum Copied {
    /// Between nodes.
    Shared(usize),
    /// There are no other nodes.
    Own(#[expect(dead_code, reason = "kept because others may have its address")] Vec<u8>),
}

impl Copied {
    /// Copies `bytes`. Returns also where they are, aligned to `align`.
    fn new(bytes: &[u8], align: usize) -> (Self, *mut c_void) {
        if let Some(address) = cluster::allocate(bytes.len(), align) {
            let start = ptr::with_exposed_provenance_mut::<u8>(address);
            // SAFETY: fresh memory of that size.
            unsafe { start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            return (Self::Shared(address), start.cast());
        }
        let mut copy = Vec::<u8>::with_capacity(bytes.len() + align);
        let skip = copy.as_ptr().align_offset(align).min(align);
        copy.resize(skip, 0);
        copy.extend_from_slice(bytes);
        let start = copy[skip..].as_mut_ptr().cast();
        (Self::Own(copy), start)
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        if let Self::Shared(address) = self {
            // There are nodes, or it would not be shared.
            let _ = cluster::free(*address);
        }
    }
}

impl Variables {
    /// Takes over the addresses; `firstprivate` variables are copied.
    ///
    /// # Safety
    /// `addresses`, `sizes` and `kinds` have `count` elements; each address is
    /// null or that of a variable of that size if its kind is `firstprivate`.
    unsafe fn new(
        count: usize,
        addresses: *const *mut c_void,
        sizes: *const usize,
        kinds: *const u16,
    ) -> Self {
        if count == 0 || addresses.is_null() {
            return Self {
                addresses: Vec::new(),
                _copies: Vec::new(),
            };
        }
        // SAFETY: promised by the caller.
        let (addresses, sizes, kinds) = unsafe {
            (
                slice::from_raw_parts(addresses, count),
                slice::from_raw_parts(sizes, count),
                slice::from_raw_parts(kinds, count),
            )
        };
        let mut own = addresses.to_vec();
        let mut copies = Vec::new();
        for (index, (&size, &kind)) in sizes.iter().zip(kinds).enumerate() {
            // The low byte is what to do, the high one the logarithm of the
            // variable's alignment.
            // An optional argument in Fortran that is absent is at no address.
            let address = own[index];
            if kind & 0xff != MAP_FIRSTPRIVATE || size == 0 || address.is_null() {
                continue;
            }
            let alignment = 1_usize << (kind >> 8).min(16);
            // SAFETY: the variable has that size by the caller's promise.
            let variable = unsafe { slice::from_raw_parts(address.cast::<u8>(), size) };
            let (copy, start) = Copied::new(variable, alignment);
            own[index] = start;
            copies.push(copy);
            if kinds
                .get(index + 1)
                .is_some_and(|next| next & 0xff == MAP_ATTACH)
            {
                // What an allocatable variable of Fortran (gcc 15) holds: a descriptor before it has been
                // copied, too, and this entry has the address of its entry and the word in it.
                let entry = addresses[index + 1]
                    .addr()
                    .wrapping_sub(addresses.as_ptr().addr());
                if let Some(descriptor) = own.get(entry / size_of::<usize>()) {
                    // SAFETY: the compiler names a copy that has such a word.
                    unsafe {
                        descriptor
                            .cast::<*mut c_void>()
                            .add(sizes[index + 1])
                            .write(start)
                    };
                }
            }
        }
        Self {
            addresses: own,
            _copies: copies,
        }
    }
}

/// The `thread_limit` clause among the arguments of a `target` construct; 0 if
/// there is none.
///
/// # Safety
/// `args` is null or ends in a zero as the compiler makes it.
unsafe fn thread_limit(mut args: *const usize) -> u32 {
    // Bits of an argument: which devices it is for (0: all), whether its value
    // is the next word, what it is, and else the value.
    const DEVICE: usize = 0x7f;
    const VALUE_FOLLOWS: usize = 0x80;
    const ID: usize = 0xff00;
    const THREAD_LIMIT: usize = 0x200;
    const VALUE_SHIFT: u32 = 16;
    if args.is_null() {
        return 0;
    }
    let mut limit = 0;
    // SAFETY: the list ends in a zero, and a word that announces another is
    // followed by it.
    unsafe {
        while *args != 0 {
            let word = *args;
            args = args.add(1);
            let value = if word & VALUE_FOLLOWS != 0 {
                args = args.add(1);
                *args.sub(1)
            } else {
                word >> VALUE_SHIFT
            };
            if word & DEVICE == 0 && word & ID == THREAD_LIMIT {
                limit = u32::try_from(value).unwrap_or(0);
            }
        }
    }
    limit
}

/// `void GOMP_target_data(int device, const void *, size_t mapnum, void **hostaddrs,
/// size_t *sizes, unsigned char *kinds)`: everything is mapped already.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_data(
    device: i32,
    _unused: *const c_void,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u8,
) {
    check_device(device);
}

/// `void GOMP_target_data_ext(int device, size_t mapnum, void **hostaddrs, size_t *sizes,
/// unsigned short *kinds)`
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_data_ext(
    device: i32,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u16,
) {
    check_device(device);
}

/// `void GOMP_target_end_data(void)`
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_end_data() {}

/// `void GOMP_target_update(int device, const void *, size_t mapnum, void **hostaddrs,
/// size_t *sizes, unsigned char *kinds)`
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_update(
    device: i32,
    _unused: *const c_void,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u8,
) {
    check_device(device);
}

/// `void GOMP_target_update_ext(int device, size_t mapnum, void **hostaddrs, size_t *sizes,
/// unsigned short *kinds, unsigned int flags, void **depend)`
///
/// # Safety
/// `depend` is null or what the compiler passes for a `depend` clause.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_target_update_ext(
    device: i32,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u16,
    flags: u32,
    depend: *const *const c_void,
) {
    check_device(device);
    if !depend.is_null() {
        // SAFETY: promised by the caller; there is nothing to do.
        unsafe { in_order(flags, depend, || ()) }
    }
}

/// `void GOMP_target_enter_exit_data(int device, size_t mapnum, void **hostaddrs,
/// size_t *sizes, unsigned short *kinds, unsigned int flags, void **depend)`
///
/// # Safety
/// As for [`GOMP_target_update_ext`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_target_enter_exit_data(
    device: i32,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u16,
    flags: u32,
    depend: *const *const c_void,
) {
    check_device(device);
    if !depend.is_null() {
        // SAFETY: promised by the caller; there is nothing to do.
        unsafe { in_order(flags, depend, || ()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::levels::{omp_get_level, omp_get_max_active_levels, omp_set_max_active_levels};
    use crate::api::teams::{omp_get_num_teams, omp_get_team_num};
    use crate::api::threads::{omp_get_max_threads, omp_get_thread_limit, set_num_threads};
    use crate::device::teams::{GOMP_teams_reg, GOMP_teams4};

    /// The data of a region, as these tests lay it out.
    fn data<'a, T>(data: Opaque) -> &'a mut T {
        // SAFETY: every test passes a pointer to a live `T` that only the
        // region uses while it runs.
        unsafe { &mut *ptr::with_exposed_provenance_mut(data.0) }
    }

    fn run_target(
        function: Function,
        addresses: &mut [*mut c_void],
        kinds: &[u16],
        args: &[usize],
    ) {
        let sizes = [8; 2];
        // SAFETY: arrays of that length; `args` ends in a zero.
        unsafe {
            GOMP_target_ext(
                -1,
                function,
                addresses.len(),
                addresses.as_mut_ptr(),
                sizes.as_ptr(),
                kinds.as_ptr(),
                0,
                ptr::null(),
                args.as_ptr(),
            );
        }
    }

    #[test]
    fn firstprivate_variables_are_copied_and_others_are_not() {
        extern "C" fn region(arguments: Opaque) {
            let [shared, private] = data::<[*mut u64; 2]>(arguments);
            assert!(private.is_aligned());
            // SAFETY: both point to a `u64`.
            unsafe {
                **shared += **private;
                **private = 0;
            }
        }
        let (mut shared, mut private) = (40_u64, 2_u64);
        let mut addresses = [
            (&raw mut shared).cast::<c_void>(),
            (&raw mut private).cast::<c_void>(),
        ];
        // tofrom; firstprivate, aligned to 8
        run_target(region, &mut addresses, &[3, 0x300 | MAP_FIRSTPRIVATE], &[0]);
        assert_eq!((shared, private), (42, 2));
    }

    #[test]
    fn a_variable_that_is_absent_stays_so() {
        extern "C" fn region(arguments: Opaque) {
            let [seen, absent] = data::<[*mut u64; 2]>(arguments);
            // SAFETY: points to a `u64`.
            unsafe { **seen = u64::from(absent.is_null()) };
        }
        let mut seen = 0_u64;
        let mut addresses = [(&raw mut seen).cast(), ptr::null_mut::<c_void>()];
        run_target(region, &mut addresses, &[3, 0x300 | MAP_FIRSTPRIVATE], &[0]);
        assert_eq!(seen, 1);
    }

    #[test]
    fn a_target_region_is_a_world_of_its_own() {
        extern "C" fn region(arguments: Opaque) {
            let [seen] = data::<[*mut u64; 1]>(arguments);
            assert_eq!(omp_get_level(), 0);
            set_num_threads(77);
            // SAFETY: points to a `u64`.
            unsafe { **seen = omp_get_thread_limit() as u64 };
        }
        let before = (omp_get_max_threads(), omp_get_thread_limit());
        let mut seen = 0_u64;
        // A limit for another kind of device, then for all: 5 in the word
        // itself, and 6 in the next one.
        for (args, limit) in [(&[0x9_0201, 0x5_0200, 0][..], 5), (&[0x0280, 6, 0][..], 6)] {
            run_target(region, &mut [(&raw mut seen).cast()], &[3], args);
            assert_eq!(seen, limit);
        }
        assert_eq!((omp_get_max_threads(), omp_get_thread_limit()), before);
    }

    #[test]
    fn the_teams_of_a_league_have_their_own_icvs() {
        extern "C" fn team(seen: Opaque) {
            let seen = data::<Vec<[i32; 4]>>(seen);
            seen.push([
                omp_get_team_num(),
                omp_get_num_teams(),
                omp_get_thread_limit(),
                omp_get_max_active_levels(),
            ]);
            omp_set_max_active_levels(seen.len() as i32 + 10);
        }
        omp_set_max_active_levels(4);
        let mut seen: Vec<[i32; 4]> = Vec::new();
        // SAFETY: the function may run with that data.
        unsafe { GOMP_teams_reg(team, Opaque((&raw mut seen).expose_provenance()), 2, 3, 0) };
        assert_eq!(seen, [[0, 2, 3, 4], [1, 2, 3, 4]]);
        assert_eq!((omp_get_team_num(), omp_get_num_teams()), (0, 1));
        assert_eq!(omp_get_max_active_levels(), 4);
    }

    #[test]
    fn teams_inside_target_are_a_loop() {
        extern "C" fn region(arguments: Opaque) {
            let [seen] = data::<[*mut Vec<i32>; 1]>(arguments);
            let mut first = true;
            while GOMP_teams4(3, 3, 0, first) {
                // SAFETY: points to a live vector.
                unsafe { (**seen).push(omp_get_team_num()) };
                first = false;
            }
        }
        let mut seen: Vec<i32> = Vec::new();
        run_target(region, &mut [(&raw mut seen).cast()], &[3], &[0]);
        assert_eq!(seen, [0, 1, 2]);
        assert_eq!(omp_get_num_teams(), 1);
    }
}
