//! What other programs did to a region, as far as sums tell.
//!
//! Time without a processor is known and taken out of what a thread seemed to compute.
//! Three things remain that look like the program's own:
//!
//! * A thread with little work that had no processor is last, and nobody waits for the
//!   one with much work. Undisturbed, all would: by its excess, which processor time
//!   shows whatever others do.
//! * A thread that was woken and not run is late to begin, which looks like the runtime's
//!   work,
//! * and makes the others wait for the runtime.
//!
//! The runtime's work is counted, so that its time has a bound: more than that was
//! somebody else's.

use crate::facts::Work;
use crate::facts::{Analysis, ProgramFacts, Region};
use fathomp_trace::state::State;

/// What the runtime takes at most for an execution or a barrier, many threads and sleep
/// included,
const MEETING_NS: f64 = 30_000.0;
/// and for each chunk, task, or passage of a lock.
const ITEM_NS: f64 = 1_000.0;
/// Other programs' part of the processors from which on they disturb a run's times,
const OTHERS: f64 = 0.1;
/// and where it is not known, the part of a region's time without a processor.
const READY: f64 = 0.02;

/// Threads that lacked a processor for this part of the time in which they could have run did not
/// run at the same time as often as they would have alone.
const LACKED: f64 = 0.1;
/// Others that used less than this part of the processors took none from anybody.
const NOBODY: f64 = 0.03;

/// What other programs took from a run, where it is so much that its times do not show how its
/// threads get on with each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// Part of the time in which threads could have run and had no processor.
    pub lacked: f64,
    /// Part of the processors that other programs used.
    pub others_used: f64,
}

/// What a region lost to other programs beside [`State::Ready`]; sums over its executions
/// of means over its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Disturbance {
    /// What its threads would have waited for each other's computing, and did not because
    /// one that had no processor came later still.
    pub hidden_ns: f64,
    /// What looks like the runtime's work and is more than that takes.
    pub late_ns: f64,
    /// What was waited for such threads.
    pub waited_ns: f64,
}

impl ProgramFacts {
    /// Whether other programs took so much of the processors that times of its threads say
    /// less; not if that is unknown.
    #[must_use]
    pub fn disturbed(&self) -> bool {
        self.others_used.is_some_and(|used| used >= OTHERS)
    }
}

impl Analysis {
    /// What other programs took from this run, if that is so much that its threads could seldom
    /// run at the same time. Then they hindered each other less than they do alone, so that a
    /// lock or a shared cache line does not show, and what they computed in turn looks like gain.
    /// None if the run was in peace, or shared processors with threads of its own alone, or was
    /// of several nodes, or too short to tell what others used.
    #[must_use]
    pub fn taken(&self) -> Option<Taken> {
        let program = &self.program;
        let throttled = program.throttled_ns.unwrap_or(0) as f64 >= 0.02 * self.wall_ns as f64;
        let own = !self.crowds.is_empty() || (program.quota_processors.is_some() && throttled);
        if own || program.nodes > 1 || !program.hosts.is_empty() {
            return None;
        }
        let others_used = program.others_used.filter(|used| *used >= NOBODY)?;
        let ready = self.states[State::Ready] as f64;
        let ran = self.states[State::Compute] as f64 + self.states[State::Overhead] as f64;
        let lacked = ready / (ready + ran).max(1.0);
        (lacked >= LACKED).then_some(Taken {
            lacked,
            others_used,
        })
    }
}

impl Region {
    /// What other programs did to it, as a region of `program`.
    #[must_use]
    pub fn disturbance(&self, program: &ProgramFacts) -> Disturbance {
        if self.wall_ns == 0 {
            return Disturbance::default();
        }
        let size = f64::from(self.team_size_max.max(1));
        let team = (self.states.total_ns() as f64 / self.wall_ns as f64).clamp(1.0, size);
        let mean = |state: State| self.states[state] as f64 / team;
        let ready = mean(State::Ready) + self.waited_for[State::Ready] as f64;
        let disturbed = match program.others_used {
            Some(_) => program.disturbed(),
            None => ready > READY * self.wall_ns as f64,
        };
        if !disturbed {
            return Disturbance::default();
        }
        let computing = mean(State::Compute);
        // Threads that ask for chunks or tasks take those that one without a processor
        // leaves, so that only their size makes threads wait.
        let on_request = self.chunks > 0 || self.tasks_run > 0;
        let most = match on_request {
            true => computing * self.work.excess(team),
            false => f64::INFINITY,
        };
        let excess = self.unevenness.excess_ns.min(most);
        let shown = self.waited_for[State::Compute] as f64;
        let hidden_ns = (excess - shown).clamp(0.0, ready.max(0.0));
        let explicit = self.wait_counts.get(&State::ExplicitBarrier).copied();
        let inside = explicit.unwrap_or(0) as f64 / team;
        let meetings = self.instances as f64 + inside;
        let items = (self.chunks + self.tasks_run + self.mutexes_taken) as f64 / team;
        let bound = meetings * MEETING_NS + items * ITEM_NS;
        // With several barriers threads may be late in turn by themselves.
        let together = match inside < 0.5 * self.instances as f64 && self.tasks_run == 0 {
            true => self.waited_together_ns as f64,
            false => 0.0,
        };
        Disturbance {
            hidden_ns,
            late_ns: (mean(State::Overhead) - bound).max(0.0),
            waited_ns: (self.waited_for[State::Overhead] as f64 + together - bound).max(0.0),
        }
    }
}

impl Work {
    /// What the busiest of `team` threads has more than the mean, as a fraction of it,
    /// because work comes in few equal pieces. 0 if nothing is known of pieces.
    #[must_use]
    pub fn excess(&self, team: f64) -> f64 {
        let team = team.round().max(1.0);
        self.pieces
            .iter()
            .filter(|one| one.pieces > 0)
            .map(|one| {
                let n = one.pieces as f64;
                one.share * ((n / team).ceil() * team / n - 1.0).max(0.0)
            })
            .sum()
    }
}
