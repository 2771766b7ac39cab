//! `omp_target_*`: device memory, which is the host's.

use super::is_host;
use crate::gomp::task::GOMP_taskwait_depend;
use std::ffi::{c_int, c_void};
use std::ptr;

/// Most dimensions [`omp_target_memcpy_rect`] takes, as far as an `int` can
/// say: there is no limit.
const MAX_DIMENSIONS: c_int = c_int::MAX;

/// `EINVAL`, how libgomp reports what cannot be done.
const INVALID: c_int = libc::EINVAL;

/// Memory on a device; null if the device is not the host.
#[unsafe(no_mangle)]
pub extern "C" fn omp_target_alloc(bytes: usize, device: c_int) -> *mut c_void {
    if !is_host(device) || bytes == 0 {
        return ptr::null_mut();
    }
    // SAFETY: no precondition.
    unsafe { libc::malloc(bytes) }
}

/// Frees memory on a device.
///
/// # Safety
/// `pointer` is null or came from [`omp_target_alloc`] for that device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_free(pointer: *mut c_void, device: c_int) {
    if is_host(device) {
        // SAFETY: promised by the caller.
        unsafe { libc::free(pointer) }
    }
}

/// Whether host memory has a counterpart on a device. The host is its own.
#[unsafe(no_mangle)]
pub extern "C" fn omp_target_is_present(pointer: *const c_void, device: c_int) -> c_int {
    c_int::from(is_host(device) && !pointer.is_null())
}

/// Whether a device can use host memory.
#[unsafe(no_mangle)]
pub extern "C" fn omp_target_is_accessible(
    pointer: *const c_void,
    bytes: usize,
    device: c_int,
) -> c_int {
    c_int::from(is_host(device) && !pointer.is_null() && bytes > 0)
}

/// The counterpart of host memory on a device; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_mapped_ptr(pointer: *const c_void, device: c_int) -> *mut c_void {
    if is_host(device) {
        pointer.cast_mut()
    } else {
        ptr::null_mut()
    }
}

/// Associates host memory with device memory, which needs a device.
#[unsafe(no_mangle)]
pub extern "C" fn omp_target_associate_ptr(
    _host: *const c_void,
    _device_pointer: *const c_void,
    _bytes: usize,
    _offset: usize,
    _device: c_int,
) -> c_int {
    INVALID
}

/// Undoes [`omp_target_associate_ptr`].
#[unsafe(no_mangle)]
pub extern "C" fn omp_target_disassociate_ptr(_pointer: *const c_void, _device: c_int) -> c_int {
    INVALID
}

/// Copies between devices. 0 on success.
///
/// # Safety
/// `bytes` bytes can be read and written at the offsets from the pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_memcpy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    to_offset: usize,
    from_offset: usize,
    to_device: c_int,
    from_device: c_int,
) -> c_int {
    if !is_host(to_device) || !is_host(from_device) {
        return INVALID;
    }
    // SAFETY: promised by the caller. The regions may overlap.
    unsafe {
        ptr::copy(
            from.cast::<u8>().add(from_offset),
            to.cast::<u8>().add(to_offset),
            bytes,
        );
    }
    0
}

/// [`omp_target_memcpy`] as a task with dependences: waits for them, then
/// copies at once.
///
/// # Safety
/// As for [`omp_target_memcpy`]; `objects` are `count` depend objects.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_memcpy_async(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    to_offset: usize,
    from_offset: usize,
    to_device: c_int,
    from_device: c_int,
    count: c_int,
    objects: *const DependObject,
) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        wait_for(count, objects);
        omp_target_memcpy(
            to,
            from,
            bytes,
            to_offset,
            from_offset,
            to_device,
            from_device,
        )
    }
}

/// Fills memory of a device with a byte (OpenMP 6.0). Returns the pointer.
///
/// # Safety
/// `bytes` bytes can be written there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_memset(
    to: *mut c_void,
    value: c_int,
    bytes: usize,
    device: c_int,
) -> *mut c_void {
    if is_host(device) && !to.is_null() {
        // C's `memset` takes the value's low byte, too.
        // SAFETY: promised by the caller.
        unsafe { to.cast::<u8>().write_bytes(value as u8, bytes) }
    }
    to
}

/// [`omp_target_memset`] as a task with dependences: waits for them, then fills at once.
///
/// # Safety
/// As for [`omp_target_memset`]; `objects` are `count` depend objects.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_memset_async(
    to: *mut c_void,
    value: c_int,
    bytes: usize,
    device: c_int,
    count: c_int,
    objects: *const DependObject,
) -> *mut c_void {
    // SAFETY: promised by the caller.
    unsafe {
        wait_for(count, objects);
        omp_target_memset(to, value, bytes, device)
    }
}

/// `omp_depend_t`
pub type DependObject = [usize; 2];

/// Waits for the tasks that the depend objects name.
///
/// # Safety
/// `objects` are `count` depend objects.
unsafe fn wait_for(count: c_int, objects: *const DependObject) {
    let count = usize::try_from(count).unwrap_or(0);
    if count == 0 || objects.is_null() {
        return;
    }
    // An array as gcc builds it for `depend(depobj: ...)`: how many items of
    // every kind, then the addresses of the objects.
    let mut array = vec![ptr::null(), ptr::without_provenance(count)];
    array.extend([ptr::null::<c_void>(); 3]);
    // SAFETY: promised by the caller.
    array.extend((0..count).map(|index| unsafe { objects.add(index) }.cast()));
    // SAFETY: the array is complete.
    unsafe { GOMP_taskwait_depend::body(array.as_ptr()) }
}

/// A box inside arrays of the same number of dimensions, outermost first.
/// Lengths and offsets count elements of the innermost dimension.
#[derive(Clone, Copy)]
struct Boxed<'a> {
    element_bytes: usize,
    volume: &'a [usize],
    to_offsets: &'a [usize],
    from_offsets: &'a [usize],
    to_lengths: &'a [usize],
    from_lengths: &'a [usize],
}

/// Copies a box between arrays on devices. 0 on success. If both pointers are
/// null it tells how many dimensions there may be.
///
/// # Safety
/// The five arrays have `dimensions` elements each and describe parts of
/// arrays that can be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_memcpy_rect(
    to: *mut c_void,
    from: *const c_void,
    element_bytes: usize,
    dimensions: c_int,
    volume: *const usize,
    to_offsets: *const usize,
    from_offsets: *const usize,
    to_lengths: *const usize,
    from_lengths: *const usize,
    to_device: c_int,
    from_device: c_int,
) -> c_int {
    if to.is_null() && from.is_null() {
        return MAX_DIMENSIONS;
    }
    let count = match usize::try_from(dimensions) {
        Ok(count) if count > 0 => count,
        _ => return INVALID,
    };
    let lists = [volume, to_offsets, from_offsets, to_lengths, from_lengths];
    if !is_host(to_device) || !is_host(from_device) || lists.iter().any(|list| list.is_null()) {
        return INVALID;
    }
    // SAFETY: not null, and of that length by the caller's promise.
    let [volume, to_offsets, from_offsets, to_lengths, from_lengths] =
        lists.map(|list| unsafe { std::slice::from_raw_parts(list, count) });
    let part = Boxed {
        element_bytes,
        volume,
        to_offsets,
        from_offsets,
        to_lengths,
        from_lengths,
    };
    // SAFETY: promised by the caller.
    match unsafe { copy_box(to.cast(), from.cast(), part) } {
        Some(()) => 0,
        None => INVALID,
    }
}

/// [`omp_target_memcpy_rect`] as a task with dependences: waits for them, then
/// copies at once.
///
/// # Safety
/// As for [`omp_target_memcpy_rect`]; `objects` are `count` depend objects.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_memcpy_rect_async(
    to: *mut c_void,
    from: *const c_void,
    element_bytes: usize,
    dimensions: c_int,
    volume: *const usize,
    to_offsets: *const usize,
    from_offsets: *const usize,
    to_lengths: *const usize,
    from_lengths: *const usize,
    to_device: c_int,
    from_device: c_int,
    count: c_int,
    objects: *const DependObject,
) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        wait_for(count, objects);
        omp_target_memcpy_rect(
            to,
            from,
            element_bytes,
            dimensions,
            volume,
            to_offsets,
            from_offsets,
            to_lengths,
            from_lengths,
            to_device,
            from_device,
        )
    }
}

/// Copies the box; `None` if its numbers overflow.
///
/// # Safety
/// The box lies inside both arrays.
unsafe fn copy_box(to: *mut u8, from: *const u8, part: Boxed) -> Option<()> {
    let Boxed {
        element_bytes,
        volume: [rows, volume @ ..],
        to_offsets: [to_offset, to_offsets @ ..],
        from_offsets: [from_offset, from_offsets @ ..],
        to_lengths: [_, to_lengths @ ..],
        from_lengths: [_, from_lengths @ ..],
    } = part
    else {
        return None;
    };
    let inner = Boxed {
        element_bytes,
        volume,
        to_offsets,
        from_offsets,
        to_lengths,
        from_lengths,
    };
    // Bytes of a row, i.e. of all dimensions further in.
    let row_bytes = |lengths: &[usize]| {
        lengths
            .iter()
            .try_fold(element_bytes, |bytes, &length| bytes.checked_mul(length))
    };
    let (to_row, from_row) = (row_bytes(to_lengths)?, row_bytes(from_lengths)?);
    let to_start = to_row.checked_mul(*to_offset)?;
    let from_start = from_row.checked_mul(*from_offset)?;
    // SAFETY: start, rows and row sizes describe the box, which is inside
    // both arrays by the caller's promise.
    unsafe {
        let (to, from) = (to.add(to_start), from.add(from_start));
        if volume.is_empty() {
            ptr::copy(from, to, element_bytes.checked_mul(*rows)?);
            return Some(());
        }
        for row in 0..*rows {
            copy_box(
                to.add(to_row.checked_mul(row)?),
                from.add(from_row.checked_mul(row)?),
                inner,
            )?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_copied_row_by_row() {
        let from: Vec<i32> = (0..24).collect();
        let mut to = vec![-1_i32; 24];
        // 2 x 3 x 4; the inner 1 x 2 x 2 goes from (1, 1, 1) to (0, 0, 2).
        let lengths = [2_usize, 3, 4];
        let status = unsafe {
            // SAFETY: the box is inside both vectors.
            omp_target_memcpy_rect(
                to.as_mut_ptr().cast(),
                from.as_ptr().cast(),
                4,
                3,
                [1, 2, 2].as_ptr(),
                [0, 0, 2].as_ptr(),
                [1, 1, 1].as_ptr(),
                lengths.as_ptr(),
                lengths.as_ptr(),
                0,
                0,
            )
        };
        assert_eq!(status, 0);
        let mut expected = vec![-1; 24];
        (expected[2], expected[3]) = (17, 18);
        (expected[6], expected[7]) = (21, 22);
        assert_eq!(to, expected);
    }

    #[test]
    fn only_the_host_has_memory() {
        assert!(omp_target_alloc(8, 1).is_null());
        assert_eq!(omp_target_is_present(ptr::dangling(), 3), 0);
        assert!(omp_get_mapped_ptr(ptr::dangling(), 3).is_null());
        let mut to = [0_u8; 4];
        let from = [1_u8, 2, 3, 4];
        let mut copy = |device| unsafe {
            // SAFETY: two bytes are there at offset 2.
            omp_target_memcpy(
                to.as_mut_ptr().cast(),
                from.as_ptr().cast(),
                2,
                2,
                1,
                0,
                device,
            )
        };
        assert_eq!((copy(0), copy(5)), (0, INVALID));
        assert_eq!(to, [0, 0, 2, 3]);
    }
}
