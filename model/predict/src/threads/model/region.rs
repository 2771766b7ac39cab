//! The model of one region.

use super::queue;
use super::setting::{Choice, Setting};
use crate::numeric::{Equation, Prior, dot, explain};
use crate::recorded::{ChunkGranularity, ImbalanceEvidence, Observed};
use crate::threads::terms::{Term, Terms};

/// Uncertainty of each of its times when explanations are weighed. Noisy
/// runs widen the interval; they are no reason to believe in fewer causes.
fn sigma(observed: &Observed) -> f64 {
    (observed.time * observed.noise.clamp(0.01, 0.05)).max(1.0)
}

/// How much of what equal pieces would cost was waited, from 0 to 1.
fn seen(granularity: &ChunkGranularity, points: &[(f64, Observed)]) -> f64 {
    let (mut expected, mut seen) = (0.0, 0.0);
    for (_, observed) in points {
        let cost = observed.work * granularity.excess(observed.team);
        expected += cost;
        seen += cost.min(observed.waiting);
    }
    if expected > 0.0 { seen / expected } else { 1.0 }
}

/// How large the team is when the program is given `p` threads.
#[derive(Clone, Debug)]
struct TeamSize {
    /// (threads, team) as measured, ascending.
    measured: Vec<(f64, f64)>,
}

impl TeamSize {
    /// As many as the program has if that was so, else as measured, in between
    /// and beyond.
    fn at(&self, threads: f64) -> f64 {
        let follows = self
            .measured
            .iter()
            .all(|(threads, team)| (team - threads).abs() <= 0.02 * threads);
        if follows {
            return threads;
        }
        let mut previous: Option<(f64, f64)> = None;
        for &(at, team) in &self.measured {
            if threads <= at {
                return match previous {
                    // A team that is larger than the program's threads, or
                    // smaller, goes its own way.
                    None if (team - at).abs() > 0.02 * at => team,
                    None => team.min(threads.max(1.0)),
                    Some((from, size)) => size + (team - size) * (threads - from) / (at - from),
                };
            }
            previous = Some((at, team));
        }
        previous.map_or(threads, |(_, team)| team)
    }
}

/// The fitted model of one region.
#[derive(Clone, Debug)]
pub(crate) struct RegionModel {
    team: TeamSize,
    /// Coefficients of [`work_shapes`].
    work: Vec<f64>,
    /// Of [`waiting_shapes`].
    waiting: Vec<f64>,
    /// Of [`overhead_shapes`].
    overhead: Vec<f64>,
    /// Of [`transfer_shapes`].
    io: Vec<f64>,
    communication: Vec<f64>,
    blocked: Vec<f64>,
    /// Mean time without a processor.
    ready: f64,
    granularity: ChunkGranularity,
    /// How much of what few pieces would cost was seen.
    granular: f64,
    /// (threads, logarithm of measured over modelled), ascending.
    pub(crate) unexplained: Vec<(f64, f64)>,
    mutex: Passage,
    ordered: Passage,
    executions: f64,
    barriers: f64,
    chunks: f64,
    /// Drawn, because one team size cannot tell: how the application time
    /// differs from what was measured, and imbalance.
    unknown: Unknown,
}

/// What measurements with a single team size leave open.
#[derive(Clone, Copy, Debug, Default)]
struct Unknown {
    /// Fraction of the work bound by memory.
    memory_bound: f64,
    /// Growth of the work per thread, where no bandwidth curve is known.
    growth: f64,
    /// The team size that was measured; 0 if there were several.
    measured_at: f64,
    /// Imbalance as a fraction of the work.
    imbalance: f64,
}

/// Application time per thread.
fn work_shapes(k: f64, setting: &Setting<'_>) -> Vec<f64> {
    vec![
        1.0 / k,
        // Caches: the total shrinks as each thread's share does.
        1.0 / (k * k),
        // All that is bound by memory, not only its growth: no more of the work can be that than
        // there is.
        setting
            .memory_growth(k)
            .map_or(0.0, |growth| (1.0 + growth) / k),
        (k - 1.0) / k,
    ]
}

/// Where the machine's bandwidth curve is known, it explains growth better
/// than a straight line.
fn work_priors(setting: &Setting<'_>) -> [Prior; 4] {
    let line = if setting.has_curve() {
        Prior::Reluctant
    } else {
        Prior::Possible
    };
    [Prior::Certain, Prior::Possible, Prior::Whole, line]
}

/// Waits at barriers and for tasks: serial parts, imbalance.
fn waiting_shapes(k: f64) -> Vec<f64> {
    vec![1.0 - 1.0 / k, (1.0 - 1.0 / k) / k]
}

/// Larger teams show more: the largest that leans either way has the word.
fn waiting_priors(points: &[(f64, Observed)]) -> [Prior; 2] {
    let evidence = points.iter().rev().map(|(_, o)| o.evidence);
    match evidence
        .into_iter()
        .find(|one| *one != ImbalanceEvidence::Open)
    {
        Some(ImbalanceEvidence::Serial) => [Prior::Possible, Prior::Unlikely],
        Some(ImbalanceEvidence::Imbalance) => [Prior::Unlikely, Prior::Possible],
        _ => [Prior::Possible; 2],
    }
}

/// The runtime's own time.
fn overhead_shapes(k: f64, observed: &Counts, setting: &Setting<'_>) -> Vec<f64> {
    match setting.machine.and_then(|machine| priced(machine, k)) {
        Some(prices) => vec![
            observed.executions * prices.fork_join_ns,
            observed.chunks * prices.dynamic_chunk_ns / k,
            1.0 / k,
        ],
        None => vec![1.0, 1.0 / k, k.log2()],
    }
}

/// Prices with as many threads as fit `k`.
fn priced(machine: &crate::machine::Machine, k: f64) -> Option<crate::machine::ConstructCosts> {
    machine.costs_at(k.round().max(1.0) as u32)
}

/// A section that only one thread can be in.
#[derive(Clone, Debug)]
struct Passage {
    /// Fraction of the work inside, if passages come at random,
    random: f64,
    /// and if they are regular.
    regular: f64,
    /// How much likelier regular passages are than random ones.
    regular_odds: f64,
    /// Coefficients of [`Passage::shapes`].
    coefficients: Vec<f64>,
}

impl Passage {
    fn new(points: &[(f64, Observed)], wait: impl Fn(&Observed) -> f64) -> Self {
        // Only a team that stands in line shows how long the section is.
        let largest = points.iter().rfind(|(_, o)| o.work > 0.0);
        let (team, ratio) = largest.map_or((1.0, 0.0), |(_, o)| (o.team, wait(o) / o.work));
        Self {
            random: inside(points, &wait, queue::inside_from_ratio),
            regular: queue::regular_inside_from_ratio(ratio, team),
            regular_odds: queue::regular_odds(ratio, team),
            coefficients: Vec::new(),
        }
    }

    /// Waits of a team of `k` that works `work` each: the two lines, and
    /// handing on, which takes longer the more threads ask.
    fn shapes(&self, k: f64, work: f64) -> Vec<f64> {
        vec![
            work * queue::wait_ratio(self.random, k),
            work * queue::regular_wait_ratio(self.regular, k),
            k - 1.0,
        ]
    }

    /// What speaks for each shape beforehand.
    fn priors(&self) -> [Prior; 3] {
        [
            Prior::Possible,
            Prior::Odds(self.regular_odds),
            Prior::Reluctant,
        ]
    }

    fn wait(&self, k: f64, work: f64) -> f64 {
        dot(&self.coefficients, &self.shapes(k, work))
    }
}
fn transfer_shapes(k: f64) -> Vec<f64> {
    vec![1.0, 1.0 / k]
}

/// How often constructs were met.
struct Counts {
    executions: f64,
    chunks: f64,
}

/// What barriers cost by the machine's prices.
fn barrier_cost(barriers: f64, k: f64, setting: &Setting<'_>) -> f64 {
    setting
        .machine
        .filter(|_| k > 1.0)
        .and_then(|machine| priced(machine, k))
        .map_or(0.0, |prices| barriers * prices.barrier_ns)
}

impl RegionModel {
    /// Fits the model to what was observed with each thread count:
    /// (threads, observed), ascending, at least one.
    pub(crate) fn fit(
        points: &[(f64, Observed)],
        setting: &Setting<'_>,
        choice: &mut Choice<'_>,
    ) -> Self {
        let team = TeamSize {
            measured: points.iter().map(|(p, o)| (*p, o.team)).collect(),
        };
        let last = points.last().map(|(_, o)| *o).unwrap_or_default();
        let counts = |o: &Observed| Counts {
            executions: o.executions,
            chunks: o.chunks,
        };
        let observed = || points.iter().map(|(_, o)| o);
        let known = observed().map(|o| o.granularity);
        let granularity = known
            .filter(|granularity| !granularity.is_unknown())
            .reduce(|before, one| one.with_shortest_of(&before))
            .unwrap_or_default();
        let granular = seen(&granularity, points);
        let mut fit = |shapes: &dyn Fn(&Observed) -> Vec<f64>,
                       value: &dyn Fn(&Observed) -> f64,
                       priors: &[Prior]| {
            let equations: Vec<Equation> = observed()
                .map(|o| Equation {
                    shapes: shapes(o),
                    observed: value(o),
                    sigma: sigma(o),
                })
                .collect();
            choice.settle(&explain(&equations, priors), priors.len())
        };
        let work = fit(
            &|o| work_shapes(o.team, setting),
            &|o| o.work,
            &work_priors(setting),
        );
        let waiting = fit(
            &|o| waiting_shapes(o.team),
            &|o| {
                let uneven = o.work * granularity.excess_of(o.team, granular);
                (o.waiting - uneven - barrier_cost(o.barriers, o.team, setting)).max(0.0)
            },
            &waiting_priors(points),
        );
        let mut overhead = fit(
            &|o| overhead_shapes(o.team, &counts(o), setting),
            &|o| o.overhead,
            &[Prior::Possible; 3],
        );
        let io = fit(
            &|o| transfer_shapes(o.team),
            &|o| o.io,
            &[Prior::Possible; 2],
        );
        let communication = fit(
            &|o| transfer_shapes(o.team),
            &|o| o.communication,
            &[Prior::Possible; 2],
        );
        let sometimes_blocked = observed().any(|o| o.blocked > 0.0);
        let blocked = match sometimes_blocked {
            true => fit(
                &|o| transfer_shapes(o.team),
                &|o| o.blocked,
                &[Prior::Possible; 2],
            ),
            false => vec![0.0; 2],
        };
        let mut mutex = Passage::new(points, |o| o.mutex);
        mutex.coefficients = fit(
            &|o| mutex.shapes(o.team, o.work),
            &|o| o.mutex,
            &mutex.priors(),
        );
        let mut ordered = Passage::new(points, |o| o.ordered);
        ordered.coefficients = fit(
            &|o| ordered.shapes(o.team, o.work),
            &|o| o.ordered,
            &ordered.priors(),
        );
        let alone = observed().all(|o| o.team < 1.5);
        if alone {
            // One thread does not show what a fork costs: the prices say, or nobody knows. What
            // the runtime does beside that is divided, as the work of tasks that run at once.
            overhead = match setting.machine {
                Some(_) => {
                    let priced = overhead_shapes(1.0, &counts(&last), setting);
                    vec![1.0, 1.0, (last.overhead - priced[0] - priced[1]).max(0.0)]
                }
                None => vec![last.overhead, 0.0, 0.0],
            };
        }
        let mut model = Self {
            team,
            work,
            waiting,
            overhead,
            io,
            communication,
            blocked,
            ready: last.ready,
            granularity,
            granular,
            unexplained: Vec::new(),
            mutex,
            ordered,
            executions: last.executions,
            barriers: last.barriers,
            chunks: last.chunks,
            unknown: Unknown::default(),
        };
        let several = points.len() > 1;
        let anchored = if several { points } else { &[] };
        model.unexplained = anchored
            .iter()
            .map(|(threads, o)| (*threads, model.misses(*threads, o, setting)))
            .collect();
        model.leave_open(points, alone, setting, choice);
        model
    }

    /// The logarithm of what was measured over the model, but for what noise may do.
    fn misses(&self, threads: f64, observed: &Observed, setting: &Setting<'_>) -> f64 {
        /// A model need not be more exact than this.
        const CLOSE: f64 = 0.05;
        let modelled: f64 = self.terms(threads, setting, Terms::ALL).iter().sum();
        let missed = (observed.time / modelled).ln();
        if !missed.is_finite() {
            return 0.0;
        }
        missed - missed.clamp(-CLOSE, CLOSE)
    }

    /// By how much the shapes miss the measurements at most, as a logarithm.
    pub(crate) fn most_unexplained(&self) -> f64 {
        let all = self.unexplained.iter().map(|(_, missed)| missed.abs());
        all.fold(0.0, f64::max)
    }

    /// What brings the model to what was measured: between measurements in
    /// proportion, beyond them as at the last.
    fn correction(&self, threads: f64) -> f64 {
        let mut previous: Option<(f64, f64)> = None;
        for &(at, missed) in &self.unexplained {
            if threads <= at {
                let missed = match previous {
                    None => missed,
                    Some((from, before)) => {
                        before + (missed - before) * (threads / from).ln() / (at / from).ln()
                    }
                };
                return missed.exp();
            }
            previous = Some((at, missed));
        }
        previous.map_or(1.0, |(_, missed)| missed.exp())
    }

    /// Draws what a single team size cannot tell; the mean leaves it out.
    fn leave_open(
        &mut self,
        points: &[(f64, Observed)],
        alone: bool,
        setting: &Setting<'_>,
        choice: &mut Choice<'_>,
    ) {
        let first = points.first().map_or(1.0, |(_, o)| o.team);
        let single = points
            .iter()
            .all(|(_, o)| (o.team - first).abs() < 0.02 * first);
        let Choice::Draw(random) = choice else {
            return;
        };
        if !single {
            return;
        }
        self.unknown.measured_at = first;
        if setting.has_curve() {
            self.unknown.memory_bound = random.uniform();
        } else {
            self.unknown.growth = 0.1 * random.uniform();
        }
        if alone {
            self.unknown.imbalance = 0.5 * random.uniform();
        }
    }

    /// The terms of the region's time with `threads` threads, in nanoseconds.
    ///
    /// With more threads than processors, work is done by as many as there
    /// are processors; what comes on top is the work of the thread that shares
    /// its processor with most others, and 5 us for every barrier and every
    /// thread a processor has to switch to.
    pub(crate) fn terms(
        &self,
        threads: f64,
        setting: &Setting<'_>,
        on: Terms,
    ) -> [f64; Term::COUNT] {
        let k = self.team.at(threads).max(1.0);
        let running = k.min(setting.cores.max(1.0));
        let mut terms = [0.0; Term::COUNT];
        let mut set = |term: Term, value: f64| {
            if on.contains(term) {
                terms[term as usize] += value;
            }
        };
        let alone = dot(&self.work, &work_shapes(1.0, setting)) * self.unknown_growth(1.0, setting);
        let together =
            dot(&self.work, &work_shapes(running, setting)) * self.unknown_growth(running, setting);
        let ideal = alone / running;
        // Caches can make the total shrink: then there is less work.
        set(Term::Work, ideal.min(together));
        set(Term::Saturation, (together - ideal).max(0.0));
        let waits = waiting_shapes(k);
        set(Term::SerialInRegion, self.waiting[0] * waits[0]);
        set(Term::Imbalance, self.waiting[1] * waits[1]);
        set(
            Term::Imbalance,
            self.unknown.imbalance * alone * (1.0 - 1.0 / k) / k,
        );
        set(
            Term::Pieces,
            together * self.granularity.excess_of(k, self.granular),
        );
        set(Term::Blocked, dot(&self.blocked, &transfer_shapes(k)));
        set(Term::Oversubscription, self.ready);
        set(Term::Mutex, self.mutex.wait(running, together));
        set(Term::Ordered, self.ordered.wait(running, together));
        let counts = Counts {
            executions: self.executions,
            chunks: self.chunks,
        };
        set(
            Term::Overhead,
            dot(&self.overhead, &overhead_shapes(running, &counts, setting))
                + barrier_cost(self.barriers, running, setting),
        );
        set(Term::Io, dot(&self.io, &transfer_shapes(k)));
        set(
            Term::Communication,
            dot(&self.communication, &transfer_shapes(k)),
        );
        if k > running {
            let shared = k / running;
            let uneven = shared.ceil() / shared - 1.0;
            let switches = self.barriers * (shared.ceil() - 1.0) * 5_000.0;
            set(Term::Oversubscription, together * uneven + switches);
        }
        let correction = self.correction(threads);
        for term in &mut terms {
            *term *= correction;
        }
        terms
    }

    /// Application time with `k` threads relative to the measured, by what was
    /// drawn for it.
    fn unknown_growth(&self, k: f64, setting: &Setting<'_>) -> f64 {
        if self.unknown.measured_at <= 0.0 {
            return 1.0;
        }
        let growth = |k: f64| match setting.memory_growth(k) {
            Some(growth) => 1.0 + self.unknown.memory_bound * growth,
            None => 1.0 + self.unknown.growth * (k - 1.0),
        };
        growth(k) / growth(self.unknown.measured_at)
    }
}

/// The fraction of work inside a section that explains the waits best, by
/// `from_ratio`: the mean over team sizes, weighted by how much was waited.
fn inside(
    points: &[(f64, Observed)],
    wait: impl Fn(&Observed) -> f64,
    from_ratio: impl Fn(f64, f64) -> f64,
) -> f64 {
    let (mut sum, mut weight) = (0.0, 0.0);
    for (_, observed) in points {
        if observed.team <= 1.0 || observed.work <= 0.0 {
            continue;
        }
        let waited = wait(observed);
        // A team that waited little still says that the section is short.
        let says = waited + 0.01 * observed.time;
        sum += says * from_ratio(waited / observed.work, observed.team);
        weight += says;
    }
    if weight > 0.0 { sum / weight } else { 0.0 }
}
