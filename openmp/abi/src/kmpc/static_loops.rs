//! Loops with static schedules: the compiler asks once for the bounds of a thread's share.
//!
//! Bounds are the first and the last value of the loop variable. Where chunks are dealt in turn,
//! the program adds the stride to both until they are beyond the loop.

use super::types::{Ident, Location};
use crate::entry::{entries, entry};
use fathomp_omp::observer::{self, Divided};
use fathomp_omp::worksharing::{Fixed, Iterations, begin_fixed, end_fixed, equal_vectors, fixed};
use fathomp_omp::{current, query};
use fathomp_sys::call_site::call_site;

/// Numbers of schedules that are told apart here.
mod schedule {
    pub(super) const CHUNKED: i32 = 33;
    /// Equal shares of whole vectors; the chunk size is their width.
    pub(super) const SIMD: i32 = 45;
    pub(super) const ORDERED_CHUNKED: i32 = 65;
    pub(super) const DISTRIBUTE_CHUNKED: i32 = 91;
    pub(super) const DISTRIBUTE: i32 = 92;
    /// Both modifiers.
    pub(super) const MODIFIERS: i32 = 3 << 29;
}

/// An integer type of loop variables.
pub(super) trait Number: Copy {
    /// The iterations from `first` up to `last`.
    fn loop_of(first: Self, last: Self, step: i64) -> Iterations;
    /// The value with these low bits.
    fn from_bits(bits: u64) -> Self;
    /// Its bits, with others in front that have no meaning.
    fn bits(self) -> u64;
}

macro_rules! numbers {
    ($($type:ty, $wide:ty, $loop_of:path;)+) => {$(
        impl Number for $type {
            #[inline]
            fn loop_of(first: Self, last: Self, step: i64) -> Iterations {
                $loop_of(first as $wide, last as $wide, step)
            }
            #[inline]
            fn from_bits(bits: u64) -> Self {
                bits as Self
            }
            #[inline]
            fn bits(self) -> u64 {
                self as u64
            }
        }
    )+};
}

numbers! {
    i32, i64, Iterations::up_to;
    u32, i64, Iterations::up_to;
    i64, i64, Iterations::up_to;
    u64, u64, Iterations::up_to_unsigned;
}

/// Where the program has the bounds of its loop, and wants those of its share.
#[derive(Clone, Copy)]
struct Bounds<T> {
    is_last: *mut i32,
    lower: *mut T,
    upper: *mut T,
    stride: *mut i64,
}

impl<T: Number> Bounds<T> {
    /// The loop that they are of.
    ///
    /// # Safety
    /// They are addresses of variables of the caller's.
    unsafe fn whole(self, step: i64) -> Iterations {
        // SAFETY: promised by our caller.
        unsafe { T::loop_of(self.lower.read(), self.upper.read(), step) }
    }

    /// Becomes those of a part.
    ///
    /// # Safety
    /// As of [`Self::whole`]; `upper` may be another's.
    unsafe fn narrow(self, part: &Fixed, step: i64) {
        // SAFETY: promised by our caller.
        unsafe {
            let first = self.lower.read().bits();
            let at = |number: u64| first.wrapping_add(number.wrapping_mul(step as u64));
            self.lower.write(T::from_bits(at(part.from)));
            // Of nothing: beyond the end, and before the begin.
            self.upper.write(T::from_bits(at(part.to.wrapping_sub(1))));
            if let Some(is_last) = self.is_last.as_mut() {
                *is_last = i32::from(part.has_last);
            }
        }
    }
}

/// The share of a thread in its team, or of a team in its league.
fn part_of(schedule: i32, count: u64, chunk: i64) -> (Fixed, u64) {
    let (chunk, distributed) = match schedule & !schedule::MODIFIERS {
        schedule::CHUNKED | schedule::ORDERED_CHUNKED => (chunk.max(1) as u64, false),
        schedule::SIMD => (
            equal_vectors(count, current().team().size(), chunk.max(1) as u64),
            false,
        ),
        schedule::DISTRIBUTE_CHUNKED => (chunk.max(1) as u64, true),
        schedule::DISTRIBUTE => (0, true),
        _ => (0, false),
    };
    let (who, size) = match distributed {
        true => (query::team_num(), query::num_teams()),
        false => {
            let member = current();
            (member.thread_num(), member.team().size())
        }
    };
    (fixed(count, chunk, who, size), chunk)
}

/// Gives the caller its share. `TOLD`: a tool, if there is one, has heard of the construct.
///
/// # Safety
/// The bounds are the arguments of the entry point.
unsafe fn begin<T: Number, const TOLD: bool>(
    schedule: i32,
    bounds: Bounds<T>,
    step: i64,
    chunk: i64,
    call: usize,
) {
    // SAFETY: promised by our caller.
    let whole = unsafe { bounds.whole(step) };
    if whole.count() == 0 {
        // SAFETY: promised by our caller. The bounds are such that nothing runs.
        unsafe {
            bounds.stride.write(step);
            if let Some(is_last) = bounds.is_last.as_mut() {
                *is_last = 0;
            }
        }
        return;
    }
    let (part, chunk) = part_of(schedule, whole.count(), chunk);
    let member = current();
    begin_fixed(member, whole, chunk, &part, call);
    if TOLD {
        observer::static_chunk(member, part.from, part.to);
    }
    // SAFETY: promised by our caller.
    unsafe {
        bounds.stride.write((part.stride as i64).wrapping_mul(step));
        bounds.narrow(&part, step);
    }
}

/// The same where a tool is told of the construct.
///
/// # Safety
/// Location and bounds are the arguments of the entry point.
#[cold]
unsafe fn begin_told<T: Number>(
    location: Location,
    schedule: i32,
    bounds: Bounds<T>,
    step: i64,
    chunk: i64,
    call: usize,
) {
    // SAFETY: promised by our caller.
    unsafe {
        tell(location, schedule, bounds, step);
        begin::<T, true>(schedule, bounds, step, chunk, call);
    }
}

/// A tool is told of the construct.
///
/// # Safety
/// Location and bounds are the arguments of the entry point.
unsafe fn tell<T: Number>(location: Location, schedule: i32, bounds: Bounds<T>, step: i64) {
    // SAFETY: promised by our caller.
    let (flags, whole) = unsafe { (Ident::flags(location), bounds.whole(step)) };
    let work = match schedule & !schedule::MODIFIERS {
        schedule::DISTRIBUTE | schedule::DISTRIBUTE_CHUNKED => Divided::Distribute,
        _ if flags & Ident::SECTIONS != 0 => Divided::Sections,
        _ => Divided::Loop,
    };
    observer::begin_static(current(), work, whole.count());
}

/// The composite construct: the team's part of a loop, and of that the thread's.
///
/// # Safety
/// The bounds are the arguments of the entry point, and so is `upper_of_team`.
unsafe fn begin_distributed<T: Number>(
    schedule: i32,
    bounds: Bounds<T>,
    upper_of_team: *mut T,
    step: i64,
    chunk: i64,
    call: usize,
) {
    // SAFETY: promised by our caller.
    unsafe {
        let whole = bounds.whole(step);
        if whole.count() == 0 {
            upper_of_team.write(bounds.upper.read());
            return begin::<T, false>(schedule, bounds, step, chunk, call);
        }
        let team = fixed(whole.count(), 0, query::team_num(), query::num_teams());
        bounds.narrow(&team, step);
        upper_of_team.write(bounds.upper.read());
        if team.from >= team.to {
            bounds.stride.write(step);
            return;
        }
        begin::<T, true>(schedule, bounds, step, chunk, call);
        if let Some(is_last) = bounds.is_last.as_mut() {
            *is_last &= i32::from(team.has_last);
        }
    }
}

/// The entry points for one type of loop variables. Strides and steps are as wide.
macro_rules! static_loops {
    ($($type:ty, $signed:ty => $init:ident, $body:ident, $dist:ident, $dist_body:ident, $team:ident;)+) => {$(
        entry! {
            /// `void NAME(ident_t *, kmp_int32 gtid, kmp_int32 schedule, kmp_int32 *plastiter,
            /// T *plower, T *pupper, ST *pstride, ST incr, ST chunk)`
            $init => $body;
            /// `void NAME(ident_t *, kmp_int32 gtid, kmp_int32 schedule, kmp_int32 *plastiter,
            /// T *plower, T *pupper, T *pupperD, ST *pstride, ST incr, ST chunk)`
            $dist => $dist_body;
        }

        extern "C" fn $body(
            location: Location,
            _gtid: i32,
            schedule: i32,
            is_last: *mut i32,
            lower: *mut $type,
            upper: *mut $type,
            stride: *mut $signed,
            step: $signed,
            chunk: $signed,
        ) {
            let call = call_site();
            let mut wide = 0;
            let bounds = Bounds { is_last, lower, upper, stride: &raw mut wide };
            // SAFETY: these are the arguments of the entry point.
            unsafe {
                let (step, chunk) = (i64::from(step), i64::from(chunk));
                match observer::hears_each_task() {
                    false => begin::<_, false>(schedule, bounds, step, chunk, call),
                    true => begin_told(location, schedule, bounds, step, chunk, call),
                }
                stride.write(wide as $signed);
            }
        }

        extern "C" fn $dist_body(
            location: Location,
            _gtid: i32,
            schedule: i32,
            is_last: *mut i32,
            lower: *mut $type,
            upper: *mut $type,
            upper_of_team: *mut $type,
            stride: *mut $signed,
            step: $signed,
            chunk: $signed,
        ) {
            let call = call_site();
            let mut wide = 0;
            let bounds = Bounds { is_last, lower, upper, stride: &raw mut wide };
            // SAFETY: these are the arguments of the entry point.
            unsafe {
                if observer::hears_each_task() {
                    tell(location, schedule, bounds, i64::from(step));
                }
                begin_distributed(schedule, bounds, upper_of_team, i64::from(step), i64::from(chunk), call);
                stride.write(wide as $signed);
            }
        }

        kmpc! {
            /// `void NAME(ident_t *, kmp_int32 gtid, kmp_int32 *p_last, T *p_lb, T *p_ub,
            /// ST *p_st, ST incr, ST chunk)`: chunks of a loop that are dealt to teams.
            fn $team(_location: Location, _gtid: i32, is_last: *mut i32, lower: *mut $type,
                upper: *mut $type, stride: *mut $signed, step: $signed, chunk: $signed) {
                let mut wide = 0;
                let bounds = Bounds { is_last, lower, upper, stride: &raw mut wide };
                let (step, chunk) = (i64::from(step), i64::from(chunk));
                // SAFETY: promised by our caller.
                unsafe {
                    begin::<_, false>(schedule::DISTRIBUTE_CHUNKED, bounds, step, chunk, 0);
                    stride.write(wide as $signed);
                }
            }
        }
    )+};
}

static_loops! {
    i32, i32 => __kmpc_for_static_init_4, init_4, __kmpc_dist_for_static_init_4, dist_4, __kmpc_team_static_init_4;
    u32, i32 => __kmpc_for_static_init_4u, init_4u, __kmpc_dist_for_static_init_4u, dist_4u, __kmpc_team_static_init_4u;
    i64, i64 => __kmpc_for_static_init_8, init_8, __kmpc_dist_for_static_init_8, dist_8, __kmpc_team_static_init_8;
    u64, i64 => __kmpc_for_static_init_8u, init_8u, __kmpc_dist_for_static_init_8u, dist_8u, __kmpc_team_static_init_8u;
}

entries! {
    /// `void __kmpc_for_static_fini(ident_t *, kmp_int32 gtid)`
    fn __kmpc_for_static_fini(_location: Location, _gtid: i32) {
        let member = current();
        end_fixed(member);
        observer::end_static(member);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_loop_is_the_share_of_one() {
        let (mut lower, mut upper, mut is_last, mut stride) = (3_u32, u32::MAX, 0, 0);
        let bounds = Bounds {
            is_last: &raw mut is_last,
            lower: &raw mut lower,
            upper: &raw mut upper,
            stride: &raw mut stride,
        };
        // SAFETY: addresses of variables above.
        unsafe { begin::<_, false>(34, bounds, 2, 1, 0) };
        assert_eq!((lower, upper, is_last), (3, u32::MAX, 1));
    }

    #[test]
    fn a_loop_without_iterations_stays_so() {
        let (mut lower, mut upper, mut is_last, mut stride) = (5_i64, 4, 1, 0);
        let bounds = Bounds {
            is_last: &raw mut is_last,
            lower: &raw mut lower,
            upper: &raw mut upper,
            stride: &raw mut stride,
        };
        // SAFETY: addresses of variables above.
        unsafe { begin::<_, false>(33, bounds, 1, 10, 0) };
        assert_eq!((lower, upper, is_last, stride), (5, 4, 0, 1));
    }
}
