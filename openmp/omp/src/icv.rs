//! Internal control variables (ICVs) that belong to a data environment.
//!
//! Every task has its own copy ([`Icvs`]); a fork hands a derived copy to the
//! implicit tasks of the new team. The copy is taken on the critical path of
//! every parallel region, so the struct is `Copy` and fits one cache line;
//! the lists of `nthreads-var` and `bind-var` live for the whole process and
//! are referenced.
//!
//! ICVs whose scope is the device (`stacksize-var`, `wait-policy-var`,
//! `cancel-var`, `nteams-var`, ...) are fields of [`crate::env::Settings`].

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Deepest nesting of active parallel regions this runtime supports.
pub const SUPPORTED_ACTIVE_LEVELS: u8 = u8::MAX;

/// The kind part of `run-sched-var`. The numbers are those of `omp_sched_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ScheduleKind {
    /// Iterations divided in advance.
    Static = 1,
    /// Chunks handed out on request.
    Dynamic = 2,
    /// Chunks of decreasing size handed out on request.
    Guided = 3,
    /// The runtime chooses.
    Auto = 4,
    /// Chunks whose size falls evenly, on request; as LLVM's library numbers it.
    Trapezoidal = 101,
}

impl ScheduleKind {
    /// The kind with that number in `omp_sched_t`, modifiers removed.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::Static,
            2 => Self::Dynamic,
            3 => Self::Guided,
            4 => Self::Auto,
            101 => Self::Trapezoidal,
            _ => return None,
        })
    }

    /// The word used in `OMP_SCHEDULE`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Dynamic => "dynamic",
            Self::Guided => "guided",
            Self::Auto => "auto",
            Self::Trapezoidal => "trapezoidal",
        }
    }
}

/// `run-sched-var`: what `schedule(runtime)` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Schedule {
    /// How iterations are dealt.
    pub kind: ScheduleKind,
    /// A thread must receive its chunks in increasing order.
    pub monotonic: bool,
    /// Chunk size; 0 for a static schedule means "equal shares".
    pub chunk: u32,
    /// How much of it somebody has asked for.
    pub said: Said,
}

/// What of a schedule was asked for. What was not is filled in as libgomp does;
/// LLVM's library does it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Said {
    /// Nothing: it is the default.
    Nothing = 0,
    /// The environment names the kind, and no modifier.
    Kind = 1,
    /// All of it.
    All = 2,
}

impl Said {
    /// The value with that number.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Nothing),
            1 => Some(Self::Kind),
            2 => Some(Self::All),
            _ => None,
        }
    }
}

/// The bit of `omp_sched_t` that says `monotonic`.
const MONOTONIC: u32 = 0x8000_0000;

impl Schedule {
    /// The schedule `omp_set_schedule(kind, chunk)` asks for; `None` if there
    /// is no such kind, in which case the call has no effect. A chunk below 1
    /// means the default of the kind.
    #[must_use]
    pub const fn from_api(kind: u32, chunk: i32) -> Option<Self> {
        let Some(plain) = ScheduleKind::from_number(kind & !MONOTONIC) else {
            return None;
        };
        Some(Self {
            kind: plain,
            monotonic: kind & MONOTONIC != 0,
            chunk: match (plain, chunk) {
                (ScheduleKind::Auto, _) => 0,
                (ScheduleKind::Static, ..1) => 0,
                (_, ..1) => 1,
                (_, chunk) => chunk as u32,
            },
            said: Said::All,
        })
    }

    /// The schedule as LLVM's library would have it: equal shares if nobody has
    /// asked for anything, and no modifier that nobody has written.
    #[must_use]
    pub const fn of_llvm(self) -> Self {
        match self.said {
            Said::Nothing => Self {
                kind: ScheduleKind::Static,
                monotonic: false,
                chunk: 0,
                ..self
            },
            Said::Kind => Self {
                monotonic: false,
                chunk: match self.kind {
                    ScheduleKind::Auto => 1,
                    _ => self.chunk,
                },
                ..self
            },
            Said::All => self,
        }
    }

    /// Kind and chunk as `omp_get_schedule` reports them.
    #[must_use]
    pub const fn to_api(self) -> (u32, i32) {
        let modifier = if self.monotonic { MONOTONIC } else { 0 };
        // The chunk came from an `int` or was bounded by the parser.
        (self.kind as u32 | modifier, self.chunk as i32)
    }
}

impl Default for Schedule {
    /// Like libgomp: `dynamic,1`.
    fn default() -> Self {
        Self {
            kind: ScheduleKind::Dynamic,
            monotonic: false,
            chunk: 1,
            said: Said::Nothing,
        }
    }
}

/// One element of `bind-var`. The numbers are those of `omp_proc_bind_t` and
/// of the low bits of the flags the compiler passes to `GOMP_parallel`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ProcBind {
    /// Threads may move; `proc_bind` clauses are ignored.
    #[default]
    False = 0,
    /// Threads stay; the runtime chooses how they are dealt (it chooses `close`).
    True = 1,
    /// All on the place of the primary thread.
    Primary = 2,
    /// On places next to that of the primary thread.
    Close = 3,
    /// Spread over the partition, which is divided among the threads.
    Spread = 4,
}

impl ProcBind {
    /// The policy with that number in `omp_proc_bind_t`.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::False,
            1 => Self::True,
            2 => Self::Primary,
            3 => Self::Close,
            4 => Self::Spread,
            _ => return None,
        })
    }

    /// The word used in `OMP_PROC_BIND`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::False => "false",
            Self::True => "true",
            Self::Primary => "primary",
            Self::Close => "close",
            Self::Spread => "spread",
        }
    }
}

/// The ICVs of a data environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icvs {
    /// Elements of `nthreads-var` after the first: for teams deeper inside.
    pub num_threads_inner: &'static [u32],
    /// Elements of `bind-var` after the first: for teams deeper inside.
    pub bind_inner: &'static [ProcBind],
    /// `def-allocator-var`, an `omp_allocator_handle_t`.
    pub default_allocator: usize,
    /// `run-sched-var`.
    pub schedule: Schedule,
    /// First element of `nthreads-var`: threads of the next team. At least 1.
    pub num_threads: u32,
    /// `thread-limit-var`: threads of the contention group. At least 1;
    /// `u32::MAX` means no limit.
    pub thread_limit: u32,
    /// `default-device-var`.
    pub default_device: i32,
    /// `max-active-levels-var`.
    pub max_active_levels: u8,
    /// First element of `bind-var`: policy of the next team.
    pub bind: ProcBind,
    /// `dyn-var`: the runtime may form smaller teams.
    pub dynamic: bool,
    /// The program has set `num_threads` (`omp_set_num_threads`).
    pub fixed: bool,
}

const _: () = assert!(size_of::<Icvs>() <= 64);

/// The same list for the life of the process, as data environments refer to it. Programs name few
/// different ones.
#[must_use]
pub fn kept_list(list: &[u32]) -> &'static [u32] {
    static LISTS: Mutex<Vec<&[u32]>> = Mutex::new(Vec::new());
    let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    match lists.iter().find(|known| **known == list) {
        Some(known) => known,
        None => {
            let new: &'static [u32] = list.to_vec().leak();
            lists.push(new);
            new
        }
    }
}

impl Icvs {
    /// ICVs of the implicit tasks of a team that a task with these ICVs forms:
    /// the lists of `nthreads-var` and `bind-var` advance by one element
    /// unless only one is left (OpenMP 5.1, 2.4.3 and 2.6).
    #[inline]
    #[must_use]
    pub const fn for_team(&self) -> Self {
        let mut inner = *self;
        if let [first, rest @ ..] = self.num_threads_inner {
            inner.num_threads = *first;
            inner.fixed = false;
            inner.num_threads_inner = rest;
        }
        if let [first, rest @ ..] = self.bind_inner {
            inner.bind = *first;
            inner.bind_inner = rest;
        }
        inner
    }

    /// Policy a new team is placed by: the `proc_bind` clause, if there is one
    /// and threads are bound at all, else `bind-var`.
    #[inline]
    #[must_use]
    pub const fn team_bind(&self, clause: Option<ProcBind>) -> ProcBind {
        match (self.bind, clause) {
            (ProcBind::False, _) => ProcBind::False,
            (_, Some(clause)) => clause,
            (bind, None) => bind,
        }
    }
}

/// ICVs of the device that the program may change while it runs. Their initial
/// values come from the environment; see [`crate::env::Settings`].
#[derive(Debug, Default)]
pub struct DeviceIcvs {
    num_teams: AtomicI32,
    teams_thread_limit: AtomicI32,
    affinity_format: Mutex<String>,
}

impl DeviceIcvs {
    /// Initial values.
    #[must_use]
    pub const fn new(num_teams: i32, teams_thread_limit: i32, affinity_format: String) -> Self {
        Self {
            num_teams: AtomicI32::new(num_teams),
            teams_thread_limit: AtomicI32::new(teams_thread_limit),
            affinity_format: Mutex::new(affinity_format),
        }
    }

    /// A copy for a forked child. A format that another thread was just
    /// changing is replaced by `affinity_format`: that thread is not in the
    /// child and will never release the lock.
    #[must_use]
    pub fn for_child(&self, affinity_format: &str) -> Self {
        let format = match self.affinity_format.try_lock() {
            Ok(format) => format.clone(),
            Err(_) => affinity_format.to_owned(),
        };
        Self::new(self.num_teams(), self.teams_thread_limit(), format)
    }

    /// `affinity-format-var`.
    #[must_use]
    pub fn affinity_format(&self) -> String {
        self.affinity_format
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Sets `affinity-format-var`.
    pub fn set_affinity_format(&self, format: String) {
        *self
            .affinity_format
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = format;
    }

    /// `nteams-var`; 0 if unset.
    #[must_use]
    pub fn num_teams(&self) -> i32 {
        self.num_teams.load(Ordering::Relaxed)
    }

    /// Sets `nteams-var`; a negative value has no effect.
    pub fn set_num_teams(&self, value: i32) {
        if value >= 0 {
            self.num_teams.store(value, Ordering::Relaxed);
        }
    }

    /// `teams-thread-limit-var`; 0 if unset.
    #[must_use]
    pub fn teams_thread_limit(&self) -> i32 {
        self.teams_thread_limit.load(Ordering::Relaxed)
    }

    /// Sets `teams-thread-limit-var`; a negative value has no effect.
    pub fn set_teams_thread_limit(&self, value: i32) {
        if value >= 0 {
            self.teams_thread_limit.store(value, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn icvs() -> Icvs {
        Icvs {
            num_threads: 4,
            num_threads_inner: &[3, 2],
            bind: ProcBind::Spread,
            bind_inner: &[ProcBind::Close],
            schedule: Schedule::default(),
            thread_limit: u32::MAX,
            default_device: 0,
            default_allocator: 1,
            max_active_levels: 1,
            dynamic: false,
            fixed: false,
        }
    }

    #[test]
    fn lists_advance_until_one_element_is_left() {
        let one = icvs().for_team();
        assert_eq!((one.num_threads, one.bind), (3, ProcBind::Close));
        let two = one.for_team();
        assert_eq!((two.num_threads, two.bind), (2, ProcBind::Close));
        assert_eq!(two.for_team(), two);
    }

    #[test]
    fn a_clause_overrides_bind_var_unless_it_is_false() {
        let mut icvs = icvs();
        assert_eq!(icvs.team_bind(None), ProcBind::Spread);
        assert_eq!(icvs.team_bind(Some(ProcBind::Primary)), ProcBind::Primary);
        icvs.bind = ProcBind::False;
        assert_eq!(icvs.team_bind(Some(ProcBind::Primary)), ProcBind::False);
    }

    #[test]
    fn schedules_pass_through_the_api() {
        let set = |kind, chunk| Schedule::from_api(kind, chunk).map(Schedule::to_api);
        assert_eq!(set(1, -5), Some((1, 0)));
        assert_eq!(set(2, 0), Some((2, 1)));
        assert_eq!(set(3, 7), Some((3, 7)));
        assert_eq!(set(4, 7), Some((4, 0)));
        assert_eq!(set(0x8000_0001, 9), Some((0x8000_0001, 9)));
        assert_eq!(set(5, 1), None);
        assert_eq!(set(0, 1), None);
    }

    #[test]
    fn what_nobody_asked_for_is_as_each_library_has_it() {
        let default = Schedule::default();
        assert_eq!(default.to_api(), (2, 1));
        assert_eq!(default.of_llvm().to_api(), (1, 0));
        let named = Schedule {
            kind: ScheduleKind::Static,
            monotonic: true,
            chunk: 3,
            said: Said::Kind,
        };
        assert_eq!(named.to_api(), (0x8000_0001, 3));
        assert_eq!(named.of_llvm().to_api(), (1, 3));
        let set = Schedule::from_api(0x8000_0001, 9).map(Schedule::of_llvm);
        assert_eq!(set.map(Schedule::to_api), Some((0x8000_0001, 9)));
    }
}
