//! Memory spaces and the predefined allocators of devices (OpenMP 6.0, chapter 27). All of them
//! are the host's memory, which is the only device's.
//!
//! gcc numbers the default space 0 and others to 4. clang (20 and later) calls it 99, since 0 is the null
//! space there, and has three spaces of its own from 100 on, whose allocators have the same numbers.
//! gcc (14 and later) has an allocator of pinned memory, 200, and one of memory that devices share
//! with the host, 201 for the space 200.

use crate::device::is_host;
use std::ffi::c_int;

/// `omp_allocator_handle_t`: 0 is the null allocator, 1 to 8 are predefined, 9 is what
/// `OMP_ALLOCATOR` describes, those of devices follow, others are addresses of
/// [`Allocator`](super::traits::Allocator)s.
pub(super) type Handle = usize;

pub(super) const NULL_ALLOCATOR: Handle = 0;
pub(super) const DEFAULT_ALLOCATOR: Handle = 1;

/// `omp_memspace_handle_t`
type Space = usize;

/// The last of the standard's spaces, `omp_low_lat_mem_space`.
const LAST: Space = 4;
/// `omp_default_mem_space` of clang.
const LLVM_DEFAULT: Space = 99;
/// `llvm_omp_target_host_mem_space` and its allocator.
pub(super) const LLVM_TARGET_FIRST: usize = 100;
/// `llvm_omp_target_device_mem_space` and its allocator.
pub(super) const LLVM_TARGET_LAST: usize = 102;

/// `ompx_gnu_managed_mem_space`, which is the host's like any other.
const GNU_MANAGED: Space = 200;
/// `ompx_gnu_managed_mem_alloc`
pub(super) const GNU_MANAGED_ALLOCATOR: Handle = 201;

/// `omp_null_mem_space`
const NULL_SPACE: Space = 0;

/// Whether there is such a space.
pub(super) fn is_memory_space(space: Space) -> bool {
    matches!(space, 0..=LAST | LLVM_DEFAULT..=LLVM_TARGET_LAST | GNU_MANAGED)
}

/// The predefined allocator of a space.
fn allocator_of(space: Space) -> Handle {
    match space {
        0..=LAST => space + DEFAULT_ALLOCATOR,
        LLVM_DEFAULT => DEFAULT_ALLOCATOR,
        LLVM_TARGET_FIRST..=LLVM_TARGET_LAST => space,
        GNU_MANAGED => GNU_MANAGED_ALLOCATOR,
        _ => NULL_ALLOCATOR,
    }
}

/// Whether these are devices, and all of them the host.
///
/// # Safety
/// `devices` points to `count` numbers.
unsafe fn are_host(count: c_int, devices: *const c_int) -> bool {
    let count = match usize::try_from(count) {
        Ok(count) if count > 0 && !devices.is_null() => count,
        _ => return false,
    };
    // SAFETY: promised by the caller.
    let devices = unsafe { std::slice::from_raw_parts(devices, count) };
    devices.iter().copied().all(is_host)
}

/// Routines of one device: `space`, `allocator` and, with `_`, the same for Fortran.
macro_rules! of_device {
    ($($space:ident $space_f:ident $allocator:ident $allocator_f:ident;)+) => {$(
        /// The space as the device has it; the null space if there is no such device.
        #[unsafe(no_mangle)]
        pub extern "C" fn $space(device: c_int, space: Space) -> Space {
            if is_host(device) { space } else { NULL_SPACE }
        }

        /// Its predefined allocator; the null allocator if there is no such device.
        #[unsafe(no_mangle)]
        pub extern "C" fn $allocator(device: c_int, space: Space) -> Handle {
            if is_host(device) { allocator_of(space) } else { NULL_ALLOCATOR }
        }

        /// The same for Fortran.
        #[unsafe(no_mangle)]
        pub extern "C" fn $space_f(device: &c_int, space: &Space) -> Space {
            $space(*device, *space)
        }

        /// The same for Fortran.
        #[unsafe(no_mangle)]
        pub extern "C" fn $allocator_f(device: &c_int, space: &Space) -> Handle {
            $allocator(*device, *space)
        }
    )+};
}

of_device! {
    omp_get_device_memspace omp_get_device_memspace_ omp_get_device_allocator omp_get_device_allocator_;
    omp_get_device_and_host_memspace omp_get_device_and_host_memspace_
        omp_get_device_and_host_allocator omp_get_device_and_host_allocator_;
}

/// Routines of a list of devices, likewise.
macro_rules! of_devices {
    ($($space:ident $space_f:ident $allocator:ident $allocator_f:ident;)+) => {$(
        /// The space as all of these devices have it; the null space if one of them is not there.
        ///
        /// # Safety
        /// `devices` points to `count` numbers.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $space(count: c_int, devices: *const c_int, space: Space) -> Space {
            // SAFETY: promised by the caller.
            if unsafe { are_host(count, devices) } { space } else { NULL_SPACE }
        }

        /// Its predefined allocator; the null allocator if one of them is not there.
        ///
        /// # Safety
        /// `devices` points to `count` numbers.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $allocator(count: c_int, devices: *const c_int, space: Space) -> Handle {
            // SAFETY: promised by the caller.
            if unsafe { are_host(count, devices) } { allocator_of(space) } else { NULL_ALLOCATOR }
        }

        /// The same for Fortran.
        ///
        /// # Safety
        /// `devices` points to `count` numbers.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $space_f(count: &c_int, devices: *const c_int, space: &Space) -> Space {
            // SAFETY: promised by the caller.
            unsafe { $space(*count, devices, *space) }
        }

        /// The same for Fortran.
        ///
        /// # Safety
        /// `devices` points to `count` numbers.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $allocator_f(count: &c_int, devices: *const c_int, space: &Space) -> Handle {
            // SAFETY: promised by the caller.
            unsafe { $allocator(*count, devices, *space) }
        }
    )+};
}

of_devices! {
    omp_get_devices_memspace omp_get_devices_memspace_ omp_get_devices_allocator omp_get_devices_allocator_;
    omp_get_devices_and_host_memspace omp_get_devices_and_host_memspace_
        omp_get_devices_and_host_allocator omp_get_devices_and_host_allocator_;
}

/// The space as all devices have it.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_devices_all_memspace(space: Space) -> Space {
    space
}

/// The same for Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_devices_all_memspace_(space: &Space) -> Space {
    *space
}

/// Its predefined allocator.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_devices_all_allocator(space: Space) -> Handle {
    allocator_of(space)
}

/// The same for Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_devices_all_allocator_(space: &Space) -> Handle {
    allocator_of(*space)
}

/// Number of resources of a space: the host's memory.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_memspace_num_resources(space: Space) -> c_int {
    c_int::from(is_memory_space(space))
}

/// The same for Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_memspace_num_resources_(space: &Space) -> c_int {
    omp_get_memspace_num_resources(*space)
}

/// The space of these resources of a space; the null space if one of them is not there.
///
/// # Safety
/// `resources` points to `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_submemspace(
    space: Space,
    count: c_int,
    resources: *const c_int,
) -> Space {
    // The only resource has the number that the host has among devices.
    // SAFETY: promised by the caller.
    if count == 1 && unsafe { are_host(count, resources) } {
        space
    } else {
        NULL_SPACE
    }
}

/// The same for Fortran.
///
/// # Safety
/// `resources` points to `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_submemspace_(
    space: &Space,
    count: &c_int,
    resources: *const c_int,
) -> Space {
    // SAFETY: promised by the caller.
    unsafe { omp_get_submemspace(*space, *count, resources) }
}
