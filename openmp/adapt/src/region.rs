//! The team of one region.

use super::trial::{Side, Trial, Verdict};
use super::{Account, random};

/// Executions before the first trial: they find caches, pages and threads cold, and show
/// whether all take about as long.
const WARM: u64 = 12;
/// Executions that are all timed, and of the others one in so many.
const WATCHED: u64 = 64;
const WATCHED_EACH: u64 = 8;
/// What an execution loses is no more than so many times what is expected at worst.
const SURELY: f64 = 4.0;
/// Executions between a trial and the next, at first.
const PAUSE: u64 = 32;
/// Between trials that changed nothing, at most.
const PAUSE_MOST: u64 = 1 << 16;

/// A region's numbers of threads, tried and to be tried.
#[derive(Debug)]
pub struct Region {
    /// Sizes of teams, the whole one first, then each half of the one before.
    teams: Vec<u32>,
    /// Which is best.
    best: usize,
    trial: Option<Box<Trial>>,
    executions: u64,
    /// When the next trial may begin, in executions.
    next: u64,
    pause: u64,
    /// The next trial is with more threads.
    upwards: bool,
    /// Time of an execution with the best team, smoothed; 0 before the first.
    typical: f64,
    /// The longest one of late.
    longest: f64,
    /// What was typical at the last decision; 0 before the first.
    decided: f64,
    /// What is typical of late, smoothed more.
    late: f64,
    /// Executions that took more than twice, or less than half as long.
    odd: u64,
    /// Trials that were decided, and those that changed the team.
    trials: u32,
    changes: u32,
    random: u32,
}

impl Region {
    /// A region whose whole team is `all` and that begins with about `first` threads.
    /// `seed` need only differ from that of others.
    pub fn new(all: u32, first: u32, seed: u32) -> Self {
        let halves = std::iter::successors(Some(all.max(1)), |&size| {
            (size > 1).then(|| size.div_ceil(2))
        });
        let teams: Vec<u32> = halves.collect();
        let best = teams.iter().rposition(|&size| size >= first).unwrap_or(0);
        Self {
            teams,
            best,
            trial: None,
            executions: 0,
            next: WARM,
            pause: PAUSE,
            upwards: false,
            typical: 0.0,
            longest: 0.0,
            decided: 0.0,
            late: 0.0,
            odd: 0,
            trials: 0,
            changes: 0,
            random: seed | 1,
        }
    }

    /// Threads for an execution that need not be timed, because nothing is being tried and
    /// enough others are timed; none if it has to be.
    #[inline]
    pub fn unwatched(&mut self) -> Option<u32> {
        let idle = self.trial.is_none() && self.executions < self.next;
        if idle && self.executions >= WATCHED && !self.executions.is_multiple_of(WATCHED_EACH) {
            self.executions += 1;
            return self.teams.get(self.best).copied();
        }
        None
    }

    /// Whether something is being tried.
    #[inline]
    #[must_use]
    pub fn is_trying(&self) -> bool {
        self.trial.is_some()
    }

    /// Threads for an execution that begins now.
    pub fn choose(&mut self, now: u64, account: &Account) -> u32 {
        self.executions += 1;
        if self.trial.is_none() && self.executions > self.next {
            self.begin_trial(now, account);
        }
        let Some(trial) = &self.trial else {
            return self.teams[self.best];
        };
        let other = trial.other;
        let loss = trial.expected_loss();
        let loss = loss.unwrap_or_else(|| self.worst_loss(other));
        let Some(trial) = &mut self.trial else {
            return self.teams[self.best];
        };
        let affords = |executions: f64| account.affords(now, executions * loss);
        match trial.next(now, &mut self.random, affords) {
            Side::Known => self.teams[self.best],
            Side::Other => self.teams[trial.other],
        }
    }

    /// The execution that was begun last took `time` with `threads`.
    pub fn ended(&mut self, threads: u32, time: u64, account: &mut Account) {
        let other = self.trial.as_ref().map_or(self.best, |trial| trial.other);
        let worst = SURELY * self.worst_loss(other);
        let Some(trial) = &mut self.trial else {
            if threads == self.teams[self.best] {
                self.watch(time);
            }
            return;
        };
        let known = threads == self.teams[self.best];
        if !known && threads != self.teams[trial.other] {
            trial.spoil();
            return;
        }
        account.charge(trial.ended(time, self.typical, worst));
        match trial.verdict() {
            Verdict::Open => {}
            Verdict::Won => {
                self.best = trial.other;
                self.changes += 1;
                self.typical = 0.0;
                self.decide(0);
            }
            verdict @ (Verdict::Lost | Verdict::FarBehind) => {
                self.upwards = !self.upwards;
                let more = if verdict == Verdict::Lost { 2 } else { 4 };
                self.pause = (more * self.pause).min(PAUSE_MOST);
                self.decide(self.pause);
            }
        }
    }

    /// Threads that it has unless something else is tried.
    pub fn threads(&self) -> u32 {
        self.teams[self.best]
    }

    /// Trials that were decided, and how many of them changed the team.
    pub fn trials(&self) -> [u32; 2] {
        [self.trials, self.changes]
    }

    fn begin_trial(&mut self, now: u64, account: &Account) {
        let other = if self.upwards {
            self.best.checked_sub(1).or(Some(1))
        } else {
            Some(self.best + 1)
                .filter(|&other| other < self.teams.len())
                .or(self.best.checked_sub(1))
        };
        let Some(other) = other.filter(|&other| other < self.teams.len()) else {
            self.next = u64::MAX;
            return;
        };
        if self.typical == 0.0 {
            self.next = self.executions + 2;
            return;
        }
        if !account.affords(now, 3.0 * self.worst_loss(other)) {
            self.next = self.executions + 4;
            return;
        }
        self.upwards = other < self.best;
        self.trial = Some(Box::new(Trial::new(other, self.is_even())));
    }

    /// Whether nearly all executions take about as long.
    fn is_even(&self) -> bool {
        16 * self.odd <= self.executions
    }

    /// What an execution with that team loses at worst: nobody loses more than by not
    /// dividing what was divided perfectly.
    fn worst_loss(&self, other: usize) -> f64 {
        let [known, other] = [self.teams[self.best], self.teams[other]].map(f64::from);
        let time = if self.is_even() {
            self.typical
        } else {
            self.longest
        };
        time * (known / other - 1.0).max(1.0)
    }

    /// A trial is over; the next may begin after so many executions, and a few more so that
    /// regions that follow each other do not try at the same time for ever.
    fn decide(&mut self, pause: u64) {
        self.trials += 1;
        self.trial = None;
        self.next = self.executions + pause + u64::from(random(&mut self.random) % 8);
        self.decided = 0.0;
    }

    /// An execution with the best team, outside trials.
    fn watch(&mut self, time: u64) {
        /// Weight of one execution in what is typical, and in what is of late.
        const WEIGHT: f64 = 0.1;
        const SLOW: f64 = 0.03;
        /// Executions that find everything cold.
        const COLD: u64 = 2;
        if self.executions <= COLD {
            return;
        }
        let time = time as f64;
        if self.typical == 0.0 {
            self.typical = time;
        }
        if time > 2.0 * self.typical || 2.0 * time < self.typical {
            self.odd += 1;
        }
        self.longest = time.max(0.999 * self.longest);
        // One long wait is no change.
        let bounded = |typical: f64| time.min(4.0 * typical);
        self.typical += WEIGHT * (bounded(self.typical) - self.typical);
        if self.decided == 0.0 {
            self.decided = self.typical;
            self.late = self.typical;
        }
        self.late += SLOW * (bounded(self.late) - self.late);
        let changed = self.late > 2.0 * self.decided || 2.0 * self.late < self.decided;
        if changed && self.pause > PAUSE {
            self.pause = PAUSE;
            self.next = self.executions;
            self.decided = self.late;
        }
    }
}
