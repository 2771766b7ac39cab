//! Loops whose chunks are handed out on request, and sections.

use super::static_loops::Number;
use super::types::Location;
use crate::entry::{entries, entry};
use fathomp_omp::team::Member;
use fathomp_omp::worksharing::{self, Dealing, Iterations, Loop, equal_vectors, fixed};
use fathomp_omp::{current, query};
use fathomp_sys::call_site::call_site;

/// Bits of a schedule's number.
const MONOTONIC: i32 = 1 << 29;
const NONMONOTONIC: i32 = 1 << 30;

/// What a schedule's number and the chunk size mean: the dealing, and whether there is an
/// `ordered` clause.
fn dealing(member: &Member, schedule: i32, chunk: i64, count: u64) -> (Dealing, bool) {
    let monotonic = schedule & NONMONOTONIC == 0;
    let number = schedule & !(MONOTONIC | NONMONOTONIC);
    // Ordered loops are 64 to 127; from 160 on the same again, of loops whose tasks are not to be
    // merged, ordered ones from 192 on.
    let (number, ordered) = match number {
        64..128 => (number - 32, true),
        160..192 => (number - 128, false),
        192..256 => (number - 160, true),
        _ => (number, false),
    };
    let monotonic = monotonic || ordered;
    let chunk = chunk.max(0) as u64;
    let dealing = match number {
        33 => Dealing::Static {
            chunk: chunk.max(1),
        },
        35 | 44 => Dealing::Dynamic {
            chunk: chunk.max(1),
            monotonic,
        },
        36 | 42 | 43 => Dealing::Guided {
            chunk: chunk.max(1),
        },
        39 => Dealing::Trapezoidal {
            chunk: chunk.max(1),
        },
        46 => Dealing::GuidedWhole {
            chunk: chunk.max(1),
        },
        37 | 47 => {
            let modifier = schedule & (MONOTONIC | NONMONOTONIC) != 0 || ordered;
            let known = member.icvs().schedule.of_llvm();
            let monotonic = if modifier { monotonic } else { known.monotonic };
            let dealing = Dealing::from_schedule(known, monotonic);
            match number {
                // The chunk size is the width of the loop's vectors.
                47 => of_vectors(dealing, chunk.max(1), count, member.team().size()),
                _ => dealing,
            }
        }
        45 => Dealing::Static {
            chunk: equal_vectors(count, member.team().size(), chunk),
        },
        // `static`, `auto` and what shares a loop evenly.
        _ => Dealing::Static { chunk: 0 },
    };
    (dealing, ordered)
}

/// The same with chunks of so many vectors of `width` iterations.
fn of_vectors(dealing: Dealing, width: u64, count: u64, size: u32) -> Dealing {
    let vectors = dealing.chunk().max(1).saturating_mul(width);
    match dealing {
        Dealing::Dynamic { monotonic, .. } => Dealing::Dynamic {
            chunk: vectors,
            monotonic,
        },
        Dealing::Guided { .. } | Dealing::GuidedWhole { .. } | Dealing::Trapezoidal { .. } => {
            Dealing::GuidedWhole { chunk: vectors }
        }
        Dealing::Static { chunk: 0 } => Dealing::Static {
            chunk: equal_vectors(count, size, width),
        },
        Dealing::Static { .. } => Dealing::Static { chunk: vectors },
    }
}

fn start(iterations: Iterations, schedule: i32, chunk: i64, call: usize) {
    let member = current();
    let (dealing, ordered) = dealing(member, schedule, chunk, iterations.count());
    let dealing = match dealing {
        // Iterations that wait for others must not come before those.
        Dealing::Dynamic { chunk, .. } if worksharing::doacross::is_open(member) => {
            Dealing::Dynamic {
                chunk,
                monotonic: true,
            }
        }
        other => other,
    };
    worksharing::start(
        member,
        &Loop {
            iterations,
            dealing,
            ordered,
            sections: false,
            call,
        },
    );
}

/// The entry points for one type of loop variables.
macro_rules! dispatch {
    ($($type:ty, $signed:ty => $init:ident, $body:ident, $dist:ident, $next:ident, $fini:ident;)+) => {$(
        entry! {
            /// `void NAME(ident_t *, kmp_int32 gtid, enum sched_type schedule, T lb, T ub, ST st,
            /// ST chunk)`
            $init => $body;
        }

        extern "C" fn $body(
            _location: Location,
            _gtid: i32,
            schedule: i32,
            first: $type,
            last: $type,
            step: $signed,
            chunk: $signed,
        ) {
            let call = call_site();
            let iterations = <$type>::loop_of(first, last, i64::from(step));
            start(iterations, schedule, i64::from(chunk), call);
        }

        kmpc! {
            /// `void NAME(ident_t *, kmp_int32 gtid, enum sched_type schedule, kmp_int32 *p_last,
            /// T lb, T ub, ST st, ST chunk)`: of the loop, the team's part is dealt.
            fn $dist(_location: Location, _gtid: i32, schedule: i32, is_last: *mut i32,
                first: $type, last: $type, step: $signed, chunk: $signed) {
                let step = i64::from(step);
                let whole = <$type>::loop_of(first, last, step);
                let team = fixed(whole.count(), 0, query::team_num(), query::num_teams());
                let at = |number: u64| {
                    <$type>::from_bits(first.bits().wrapping_add(number.wrapping_mul(step as u64)))
                };
                let iterations = match team.from < team.to {
                    true => <$type>::loop_of(at(team.from), at(team.to - 1), step),
                    false => Iterations::counted(0),
                };
                // SAFETY: promised by our caller.
                if let Some(is_last) = unsafe { is_last.as_mut() } {
                    *is_last = i32::from(team.has_last);
                }
                start(iterations, schedule, i64::from(chunk), 0);
            }
            /// `int NAME(ident_t *, kmp_int32 gtid, kmp_int32 *p_last, T *p_lb, T *p_ub,
            /// ST *p_st)`: the next chunk; 0 if there is none, and the loop has ended.
            fn $next(_location: Location, _gtid: i32, is_last: *mut i32, lower: *mut $type,
                upper: *mut $type, stride: *mut $signed) -> i32 {
                let Some(chunk) = worksharing::next_or_end(current()) else {
                    return 0;
                };
                // SAFETY: promised by our caller.
                unsafe {
                    lower.write(<$type>::from_bits(chunk.first));
                    upper.write(<$type>::from_bits(chunk.last));
                    if let Some(stride) = stride.as_mut() {
                        *stride = chunk.step as $signed;
                    }
                    if let Some(is_last) = is_last.as_mut() {
                        *is_last = i32::from(chunk.is_last);
                    }
                }
                1
            }
        }

        /// `void NAME(ident_t *, kmp_int32 gtid)`: an iteration of an ordered loop is done. The
        /// turn passes on with the chunk.
        #[unsafe(no_mangle)]
        pub extern "C" fn $fini(_location: Location, _gtid: i32) {}
    )+};
}

dispatch! {
    i32, i32 => __kmpc_dispatch_init_4, init_4, __kmpc_dist_dispatch_init_4, __kmpc_dispatch_next_4, __kmpc_dispatch_fini_4;
    u32, i32 => __kmpc_dispatch_init_4u, init_4u, __kmpc_dist_dispatch_init_4u, __kmpc_dispatch_next_4u, __kmpc_dispatch_fini_4u;
    i64, i64 => __kmpc_dispatch_init_8, init_8, __kmpc_dist_dispatch_init_8, __kmpc_dispatch_next_8, __kmpc_dispatch_fini_8;
    u64, i64 => __kmpc_dispatch_init_8u, init_8u, __kmpc_dist_dispatch_init_8u, __kmpc_dispatch_next_8u, __kmpc_dispatch_fini_8u;
}

entries! {
    /// `void __kmpc_dispatch_deinit(ident_t *, kmp_int32 gtid)`: behind a loop that may have been left
    /// before its last chunk.
    fn __kmpc_dispatch_deinit(_location: Location, _gtid: i32) {
        worksharing::end_nowait(current());
    }
}

entry! {
    /// `void __kmpc_sections_init(ident_t *, kmp_int32 gtid)`: sections follow, of which
    /// `__kmpc_next_section` hands out numbers.
    __kmpc_sections_init => sections_init;
}

extern "C" fn sections_init(_location: Location, _gtid: i32) {
    // How many there are is said with every question.
    worksharing::start(current(), &Loop::sections(u32::MAX, call_site()));
}

entries! {
    /// `kmp_int32 __kmpc_next_section(ident_t *, kmp_int32 gtid, kmp_int32 count)`: the number of a
    /// section, from 0; `count` if all are taken.
    fn __kmpc_next_section(_location: Location, _gtid: i32, count: i32) -> i32 {
        let section = worksharing::next_section(current());
        match i32::try_from(section) {
            Ok(section) if section > 0 && section <= count => section - 1,
            _ => count,
        }
    }
    /// `void __kmpc_end_sections(ident_t *, kmp_int32 gtid)`
    fn __kmpc_end_sections(_location: Location, _gtid: i32) {
        worksharing::end_nowait(current());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_told_by_their_numbers() {
        let told = |schedule| dealing(current(), schedule, 4, 27);
        let dynamic = |monotonic| Dealing::Dynamic {
            chunk: 4,
            monotonic,
        };
        assert_eq!(told(35), (dynamic(true), false));
        assert_eq!(told(35 | NONMONOTONIC), (dynamic(false), false));
        assert_eq!(told(67), (dynamic(true), true));
        assert_eq!(told(163 | NONMONOTONIC), (dynamic(false), false));
        assert_eq!(told(195), (dynamic(true), true));
        assert_eq!(told(66), (Dealing::Static { chunk: 0 }, true));
        assert_eq!(told(36), (Dealing::Guided { chunk: 4 }, false));
    }

    #[test]
    fn shares_of_loops_of_vectors_are_whole_vectors() {
        let dealt = |dealing| of_vectors(dealing, 4, 27, 2);
        let equal = Dealing::Static { chunk: 0 };
        assert_eq!(dealt(equal), Dealing::Static { chunk: 16 });
        let in_turn = Dealing::Static { chunk: 2 };
        assert_eq!(dealt(in_turn), Dealing::Static { chunk: 8 });
        let guided = Dealing::Guided { chunk: 2 };
        assert_eq!(dealt(guided), Dealing::GuidedWhole { chunk: 8 });
    }
}
