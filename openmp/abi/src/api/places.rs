//! Places and partitions.

use super::{ask, ask_with, count, saturated};
use fathomp_omp::places::{self, Place};
use fathomp_omp::{current, places::Assignment};

ask! {
    /// `bind-var`: policy of the next region without `proc_bind` clause.
    omp_get_proc_bind, omp_get_proc_bind_ -> i32 = current().icvs().bind as i32;
    /// Places in the place list; 0 if threads are not bound.
    omp_get_num_places, omp_get_num_places_ -> i32 = count(places::places().len());
    /// The caller's place; -1 if threads are not bound.
    omp_get_place_num, omp_get_place_num_ -> i32 =
        assignment().map_or(-1, |assignment| count(assignment.place));
    /// Places in the caller's partition.
    omp_get_partition_num_places, omp_get_partition_num_places_ -> i32 =
        assignment().map_or(0, |assignment| count(assignment.partition.len));
}

ask_with! {
    /// Processors of a place; 0 if there is no such place.
    omp_get_place_num_procs, omp_get_place_num_procs_, omp_get_place_num_procs_8_
    (number) -> i32 = cpus_of(number).len() as i32;
}

fn assignment() -> Option<Assignment> {
    places::assignment_of(current())
}

fn cpus_of(number: i32) -> &'static [u32] {
    u32::try_from(number)
        .ok()
        .and_then(|number| places::places().get(number))
        .map_or(&[], Place::cpus)
}

/// Writes numbers to an array of C or Fortran.
///
/// # Safety
/// `array` has room for them all.
unsafe fn write<T: From<u32>>(array: *mut T, numbers: impl Iterator<Item = u32>) {
    for (index, number) in numbers.enumerate() {
        // SAFETY: promised by the caller.
        unsafe { array.add(index).write(T::from(number)) };
    }
}

/// The processors of a place.
///
/// # Safety
/// `ids` has room for [`omp_get_place_num_procs`] numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_place_proc_ids(place: i32, ids: *mut u32) {
    // SAFETY: promised by the caller.
    unsafe { write(ids, cpus_of(place).iter().copied()) }
}

/// Fortran's form of [`omp_get_place_proc_ids`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_place_proc_ids_(place: &i32, ids: *mut u32) {
    // SAFETY: promised by the caller.
    unsafe { write(ids, cpus_of(*place).iter().copied()) }
}

/// Fortran's form of [`omp_get_place_proc_ids`] with 8-byte integers.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_place_proc_ids_8_(place: &i64, ids: *mut i64) {
    // SAFETY: promised by the caller.
    unsafe { write(ids, cpus_of(saturated(*place)).iter().copied()) }
}

fn partition() -> std::ops::Range<u32> {
    assignment().map_or(0..0, |Assignment { partition, .. }| {
        partition.first..partition.first + partition.len
    })
}

/// The places of the caller's partition.
///
/// # Safety
/// `numbers` has room for [`omp_get_partition_num_places`] numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_partition_place_nums(numbers: *mut u32) {
    // SAFETY: promised by the caller.
    unsafe { write(numbers, partition()) }
}

/// Fortran's form of [`omp_get_partition_place_nums`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_partition_place_nums_(numbers: *mut u32) {
    // SAFETY: promised by the caller.
    unsafe { write(numbers, partition()) }
}

/// Fortran's form of [`omp_get_partition_place_nums`] with 8-byte integers.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_partition_place_nums_8_(numbers: *mut i64) {
    // SAFETY: promised by the caller.
    unsafe { write(numbers, partition()) }
}
