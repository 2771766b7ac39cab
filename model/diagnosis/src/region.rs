//! A region as the searches for causes see it: means over its threads, so that costs
//! are parts of its wall time, and prices of the machine.

use crate::cause::{Basis, Cause, Cost, Kind};
use crate::input::Input;
use fathomp_analysis::{Analysis, Disturbance, LoopKind, Region, State};
use fathomp_predict::machine::ConstructCosts;
use fathomp_types::text;

/// Name of a region inside a sentence.
const NAME_CHARS: usize = 60;

/// What it takes to start a thread, at most.
const START_NS: f64 = 150_000.0;
/// Executions from which on what each costs matters.
const EXECUTIONS_MIN: f64 = 50.0;

/// Prices where no machine was measured: what this costs on machines of the last ten
/// years, to the power of ten.
const USUAL: ConstructCosts = ConstructCosts {
    threads: 2,
    fork_join_ns: 1_000.0,
    barrier_ns: 500.0,
    dynamic_chunk_ns: 30.0,
    lock_ns: 50.0,
};

/// A region of the recording that is explained.
pub(crate) struct Seen<'a> {
    pub(crate) input: &'a Input<'a>,
    pub(crate) region: &'a Region,
    /// Its largest team.
    pub(crate) team: u32,
    /// Mean team, weighted by time.
    mean_team: f64,
    /// What constructs cost with such a team.
    pub(crate) prices: ConstructCosts,
    /// What other programs did to it.
    pub(crate) disturbance: Disturbance,
}

impl<'a> Seen<'a> {
    pub(crate) fn new(input: &'a Input<'a>, region: &'a Region) -> Self {
        let team = region.team_size_max.max(1);
        let own = region.states.total_ns() as f64;
        let mean_team = (own / (region.wall_ns as f64).max(1.0)).clamp(1.0, f64::from(team));
        let prices = input.machine.and_then(|machine| machine.costs_at(team));
        Self {
            input,
            region,
            team,
            mean_team,
            prices: believable(prices.unwrap_or(USUAL), team),
            disturbance: region.disturbance(&input.main.program),
        }
    }

    /// Time in `state`, mean of its threads, over all executions.
    pub(crate) fn mean(&self, state: State) -> f64 {
        self.region.states[state] as f64 / self.mean_team
    }

    /// The runtime's work, mean of its threads, without what other programs made of it, and
    /// without the start of threads.
    pub(crate) fn overhead(&self) -> f64 {
        let late = self.disturbance.late_ns;
        (self.mean(State::Overhead) - late - self.start_ns()).max(0.0)
    }

    /// What starting threads may have taken, once in the program: part of a region that is
    /// executed often enough for its constructs to cost more is none of it.
    pub(crate) fn start_ns(&self) -> f64 {
        match self.executions() < EXECUTIONS_MIN {
            true => START_NS * f64::from(self.team.saturating_sub(1)),
            false => 0.0,
        }
    }

    /// Mean over its threads of what the region's sum `ns` is.
    pub(crate) fn each(&self, ns: f64) -> f64 {
        ns / self.mean_team
    }

    /// Executions.
    pub(crate) fn executions(&self) -> f64 {
        (self.region.instances as f64).max(1.0)
    }

    /// Barriers that a thread passes in an execution, the one at the end included.
    pub(crate) fn barriers(&self) -> f64 {
        let inside = [State::ExplicitBarrier]
            .iter()
            .filter_map(|state| self.region.wait_counts.get(state))
            .sum::<u64>();
        1.0 + inside as f64 / f64::from(self.team) / self.executions()
    }

    /// "region solver.c:12".
    pub(crate) fn place(&self) -> String {
        place(self.region)
    }

    /// Whether other threads of the program take part in its costs: the region is run
    /// by several threads at once.
    pub(crate) fn overlap(&self) -> f64 {
        let region = self.region;
        if !region.concurrent {
            return 1.0;
        }
        // Executions at once share the wall time.
        f64::from(region.encountering_threads.max(1))
    }

    /// The same region with as few threads as there is a recording of, and how many.
    pub(crate) fn fewest(&self) -> Option<(&'a Region, &'a Analysis)> {
        let measured = self
            .input
            .analyses
            .iter()
            .filter(|one| !one.program.rehearsal);
        let of = measured.filter_map(|one| Some((one.region(&self.region.key)?, one)));
        of.min_by_key(|(region, one)| (region.team_size_max, one.wall_ns))
            .filter(|(region, _)| region.team_size_max < self.team)
    }

    /// Whether `fathomp sharing` can look at its lines: at those of a program's own code.
    /// Interpreters, which load code that uses OpenMP, do not run on several nodes.
    pub(crate) fn can_look(&self) -> bool {
        let module = &self.region.place.module;
        let mut programs = self.input.main.processes.iter();
        module.is_empty()
            || programs.all(|one| one.executable.is_empty() || one.executable == *module)
    }

    /// What it loses against its time with one thread divided evenly; none if it was not seen
    /// with fewer threads.
    pub(crate) fn lost(&self) -> Option<f64> {
        let (fewest, _) = self.fewest()?;
        let alone = fewest.wall_ns as f64 * f64::from(fewest.team_size_max.max(1));
        Some((self.region.wall_ns as f64 - alone / f64::from(self.team)).max(0.0))
    }

    /// Loops that hand out chunks on request run in it.
    pub(crate) fn on_request(&self) -> bool {
        self.input.main.loops.iter().any(|one| {
            matches!(one.kind, LoopKind::Dynamic | LoopKind::Guided)
                && one.regions.contains(&self.region.key)
        })
    }

    /// A cause in this region that costs each of its threads `ns`.
    pub(crate) fn cause(
        &self,
        kind: Kind,
        basis: Basis,
        ns: f64,
        evidence: String,
        action: String,
    ) -> Cause {
        let main = self.input.main;
        Cause {
            kind,
            title: kind.title().to_owned(),
            region: Some(self.region.key.clone()),
            place: self.place(),
            evidence,
            basis,
            measured: Cost::new(main.threads, ns / self.overlap(), main.wall_ns as f64),
            predicted: None,
            region_share: (ns / (self.region.wall_ns as f64).max(1.0)).clamp(0.0, 1.0),
            action,
        }
    }
}

/// Prices without what other programs added while they were measured: a busy machine makes
/// constructs cost a hundred times as much, and then everything would be too short for
/// them.
fn believable(prices: ConstructCosts, team: u32) -> ConstructCosts {
    let steps = (f64::from(team) + 1.0).log2();
    ConstructCosts {
        threads: prices.threads,
        fork_join_ns: prices.fork_join_ns.min(5.0 * USUAL.fork_join_ns * steps),
        barrier_ns: prices.barrier_ns.min(4.0 * USUAL.barrier_ns * steps),
        dynamic_chunk_ns: prices.dynamic_chunk_ns.min(5.0 * USUAL.dynamic_chunk_ns),
        lock_ns: prices.lock_ns.min(5.0 * USUAL.lock_ns),
    }
}

/// "region solver.c:12".
pub(crate) fn place(region: &Region) -> String {
    format!("region {}", text::shorten(&region.name, NAME_CHARS))
}
