//! A thread's part in a region, and the loop that it is in there.

use super::region::Region;
use fathomp_trace::record::{Decider, LoopShare};
use fathomp_trace::recorder::Start;
use fathomp_types::InstanceId;

/// A thread's part in a region; the default is the serial part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    pub(super) instance: InstanceId,
    pub(super) number: u32,
    /// Waits and tasks of the thread that were open when it began.
    pub(super) open_before: [usize; 2],
    pub(super) open: Option<Open>,
    /// Questions for iterations until one is timed.
    pub(super) countdown: u32,
}

/// A loop that a thread is in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) share: LoopShare,
    pub(super) step: i64,
    pub(super) iterations_known: bool,
}

impl Part {
    pub(super) fn of(region: &Region, number: u32, open_before: [usize; 2]) -> Self {
        Self {
            instance: region.instance,
            number,
            open_before,
            ..Self::default()
        }
    }
}

impl Region {
    pub(super) fn start(&self, number: u32, size: u32) -> Start {
        Start {
            site: self.site,
            instance: self.instance,
            parent: self.parent,
            thread_num: number,
            team_size: size,
            level: self.level,
            fork: self.asked,
            set: 0,
            decider: Decider::Untold,
        }
    }
}

/// Iterations from `first` to before `end` by `step`. Loops over unsigned numbers have them as
/// the signed ones of the same bits, of which only the distance counts.
pub(super) fn count(first: i64, end: i64, step: i64) -> u64 {
    let distance = match step < 0 {
        true => first.wrapping_sub(end),
        false => end.wrapping_sub(first),
    };
    (distance as u64).div_ceil(step.unsigned_abs().max(1))
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn iterations_are_counted_in_both_directions() {
        assert_eq!(count(0, 10, 1), 10);
        assert_eq!(count(0, 10, 3), 4);
        assert_eq!(count(10, 0, -1), 10);
        assert_eq!(count(10, 0, -4), 3);
        assert_eq!(count(i64::MIN, i64::MAX, 1), u64::MAX);
        assert_eq!(count(5, 5, 0), 0);
    }
}
