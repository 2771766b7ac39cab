//! What of a process is recorded: which tasks, when, which counters and activities.

use fathomp_paging::setup::{Setup, TaskNumber, TaskRule};
use fathomp_ring::Word;
use fathomp_sys::shm::SharedFile;
use fathomp_types::Ticks;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The choice, in ticks and masks.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    rule: Option<TaskRule>,
    /// Stays that ended by then are not recorded.
    pub(super) from: Ticks,
    /// Stays that began then or later are not recorded.
    pub(super) to: Ticks,
    /// Counters, a bit each.
    pub(super) counters: u32,
    /// Activities, a bit each.
    pub(super) activities: u32,
}

/// The numbers of a thread, as far as known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbers {
    pub(super) task: Option<u32>,
    pub(super) process: Option<u32>,
    pub(super) thread: u32,
    pub(super) openmp_thread: Option<u32>,
    pub(super) rank: Option<u32>,
    pub(super) node: Option<u32>,
}

impl Choice {
    /// From the settings; `zero` is when the recording began.
    pub(super) fn new(setup: &Setup, zero: Ticks, nanos_per_tick: f64) -> Self {
        let moment = |after_ns: u64| zero + Ticks((after_ns as f64 / nanos_per_tick) as u64);
        Self {
            rule: setup.tasks.clone(),
            from: match setup.from_ns {
                0 => Ticks(0),
                from_ns => moment(from_ns),
            },
            to: setup.to_ns.map_or(Ticks(u64::MAX), moment),
            counters: setup.counter_mask(),
            activities: setup.activity_mask(),
        }
    }

    /// Whether a thread with these numbers is recorded; `None` if that cannot be told yet.
    pub(super) fn chooses(&self, numbers: &Numbers) -> Option<bool> {
        let Some(rule) = &self.rule else {
            return Some(true);
        };
        let number = match rule.by {
            TaskNumber::Task => numbers.task,
            TaskNumber::Process => numbers.process,
            TaskNumber::Thread => numbers.openmp_thread.or(Some(numbers.thread)),
            TaskNumber::Rank => numbers.rank,
            TaskNumber::Node => numbers.node,
        };
        number.map(|number| rule.chooses(number))
    }
}

/// Numbers of processes and tasks in the order in which they begin, common to all processes
/// of the recording.
#[derive(Debug)]
pub(super) struct Orders(SharedFile);

impl Orders {
    const PROCESSES: usize = 0;
    const TASKS: usize = 1;
    const WORDS: usize = 8;

    /// The counters, if the choice asks for them.
    pub(super) fn open(live: &Path, setup: &Setup) -> io::Result<Option<Self>> {
        let wanted = setup
            .tasks
            .as_ref()
            .is_some_and(|rule| matches!(rule.by, TaskNumber::Task | TaskNumber::Process));
        if !wanted {
            return Ok(None);
        }
        SharedFile::open_or_create(&live.join("orders"), Self::WORDS).map(|file| Some(Self(file)))
    }

    pub(super) fn next_process(&self) -> u32 {
        self.next(Self::PROCESSES)
    }

    pub(super) fn next_task(&self) -> u32 {
        self.next(Self::TASKS)
    }

    fn next(&self, word: usize) -> u32 {
        let counter = self.0.words().get(word);
        counter.map_or(0, |counter| counter.fetch_add(1, Ordering::Relaxed) as u32)
    }
}

/// A number that may become known later; [`u32::MAX`] stands for none.
#[derive(Debug)]
pub(super) struct LateNumber(AtomicU64);

impl LateNumber {
    pub(super) fn new(number: Option<u32>) -> Self {
        Self(AtomicU64::new(
            number.map_or(0, |number| u64::from(number) + 1),
        ))
    }

    pub(super) fn get(&self) -> Option<u32> {
        let number = self.0.get().checked_sub(1)?;
        u32::try_from(number).ok()
    }

    pub(super) fn set(&self, number: u32) {
        self.0.set(u64::from(number) + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(setup: &Setup) -> Choice {
        Choice::new(setup, Ticks(10_000), 0.5)
    }

    #[test]
    fn the_window_counts_from_the_beginning_of_the_recording() {
        let setup = Setup {
            from_ns: 3000,
            to_ns: Some(4000),
            ..Setup::default()
        };
        let window = choice(&setup);
        assert_eq!(window.from, Ticks(10_000 + 6000));
        assert_eq!(window.to, Ticks(10_000 + 8000));
        let all = choice(&Setup::default());
        assert_eq!((all.from, all.to), (Ticks(0), Ticks(u64::MAX)));
    }

    #[test]
    fn what_is_not_known_yet_is_not_decided() {
        let by = |by| {
            choice(&Setup {
                tasks: Some(TaskRule {
                    by,
                    ranges: vec![(1, 2)],
                }),
                ..Setup::default()
            })
        };
        let mut numbers = Numbers {
            thread: 5,
            ..Numbers::default()
        };
        assert_eq!(by(TaskNumber::Rank).chooses(&numbers), None);
        numbers.rank = Some(2);
        assert_eq!(by(TaskNumber::Rank).chooses(&numbers), Some(true));
        numbers.rank = Some(3);
        assert_eq!(by(TaskNumber::Rank).chooses(&numbers), Some(false));
        assert_eq!(by(TaskNumber::Thread).chooses(&numbers), Some(false));
        numbers.openmp_thread = Some(1);
        assert_eq!(by(TaskNumber::Thread).chooses(&numbers), Some(true));
        assert_eq!(choice(&Setup::default()).chooses(&numbers), Some(true));
    }

    #[test]
    fn orders_are_common_to_all_that_open_them() {
        let live = std::env::temp_dir().join(format!("fathomp-orders-{}", std::process::id()));
        std::fs::create_dir_all(&live).unwrap();
        let mut setup = Setup::default();
        assert!(Orders::open(&live, &setup).unwrap().is_none());
        setup.tasks = Some(TaskRule {
            by: TaskNumber::Process,
            ranges: vec![(0, 0)],
        });
        let (one, two) = (
            Orders::open(&live, &setup).unwrap().unwrap(),
            Orders::open(&live, &setup).unwrap().unwrap(),
        );
        let numbers = [one.next_process(), two.next_process(), one.next_task()];
        std::fs::remove_dir_all(&live).unwrap();
        assert_eq!(numbers, [0, 1, 0]);
    }
}
