//! A loop as a member asks for it.

use super::iterations::Iterations;
use crate::icv::{Schedule, ScheduleKind};
use crate::team::Member;

/// The schedule of a loop, with everything about it known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dealing {
    /// Divided in advance, in chunks dealt round-robin or, with chunk 0, one
    /// equal share each.
    Static {
        /// Iterations per chunk.
        chunk: u64,
    },
    /// Chunks on request.
    Dynamic {
        /// Iterations per chunk.
        chunk: u64,
        /// Each member gets its chunks in increasing order.
        monotonic: bool,
    },
    /// Chunks of decreasing size on request.
    Guided {
        /// Smallest chunk but the last.
        chunk: u64,
    },
    /// The same, in multiples of the smallest chunk: of whole vectors.
    GuidedWhole {
        /// Smallest chunk but the last.
        chunk: u64,
    },
    /// Chunks on request whose size falls evenly.
    Trapezoidal {
        /// Smallest chunk but the last.
        chunk: u64,
    },
}

impl Dealing {
    /// What `schedule(runtime)` means to this member now. `monotonic` is the
    /// modifier of the clause; without one the ICV's counts.
    #[must_use]
    pub fn runtime(member: &Member, monotonic: Option<bool>) -> Self {
        let schedule = member.icvs().schedule;
        Self::from_schedule(schedule, monotonic.unwrap_or(schedule.monotonic))
    }

    /// What `schedule(runtime)` means if `run-sched-var` is `schedule`.
    #[must_use]
    pub fn from_schedule(schedule: Schedule, monotonic: bool) -> Self {
        let chunk = u64::from(schedule.chunk);
        match schedule.kind {
            ScheduleKind::Static => Self::Static { chunk },
            ScheduleKind::Dynamic => Self::Dynamic { chunk, monotonic },
            ScheduleKind::Guided => Self::Guided { chunk },
            ScheduleKind::Trapezoidal => Self::Trapezoidal { chunk },
            ScheduleKind::Auto => Self::Static { chunk: 0 },
        }
    }

    /// Chunk size asked for; 0 if none.
    #[must_use]
    pub const fn chunk(self) -> u64 {
        match self {
            Self::Static { chunk }
            | Self::Guided { chunk }
            | Self::GuidedWhole { chunk }
            | Self::Trapezoidal { chunk }
            | Self::Dynamic { chunk, .. } => chunk,
        }
    }
}

/// A worksharing loop as a member meets it.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// What is to be run.
    pub iterations: Iterations,
    /// How it is dealt.
    pub dealing: Dealing,
    /// There is an `ordered` clause without a parameter.
    pub ordered: bool,
    /// `sections`, whose iterations are the sections.
    pub sections: bool,
    /// Return address of the program's call, for naming the loop.
    pub call: usize,
}

impl Loop {
    /// The `sections` construct with that many sections.
    #[must_use]
    pub const fn sections(count: u32, call: usize) -> Self {
        Self {
            iterations: Iterations::counted(count as u64),
            dealing: Dealing::Dynamic {
                chunk: 1,
                monotonic: true,
            },
            ordered: false,
            sections: true,
            call,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_runtime_schedule_means() {
        let schedule = |kind, chunk| Schedule {
            kind,
            chunk,
            ..Schedule::default()
        };
        assert_eq!(
            Dealing::from_schedule(schedule(ScheduleKind::Auto, 0), true),
            Dealing::Static { chunk: 0 }
        );
        assert_eq!(
            Dealing::from_schedule(schedule(ScheduleKind::Dynamic, 3), true),
            Dealing::Dynamic {
                chunk: 3,
                monotonic: true
            }
        );
    }
}
