//! The time of a region's phase, term by term.

use super::balance::Balance;
use super::contention::Links;
use super::fetches::Fetches;
use super::locks::Locks;
use super::part::Part;
use super::stalls::Stalls;
use super::sync::Sync;
use super::waits::{self, Waits};
use super::{Beside, HALF_DIFF_BYTES, NodesTerm, NodesTime, alone_ns};
use crate::sdp::counts::{Event, Protocol};
use fathomp_analyse::{Analysis, Region};

/// Threads with more application time than this many times that of one thread
/// alone, all together, have looked for what others write, not worked, unless their
/// time is emulated.
const LOOKING: f64 = 1.5;

/// What is the same in all phases of a region.
struct Whole<'a> {
    beside: &'a Beside<'a>,
    sync: &'a Sync,
    /// Outside of regions one thread works and the others wait for it.
    serial: bool,
    looks: bool,
    /// Work of a thread, as a mean.
    mean_ns: f64,
    /// Threads to a processor, at least 1.
    crowd: f64,
    /// How work is divided, if that is known.
    balanced: bool,
    stalls: Stalls,
    waits: Waits,
    /// Phases in which threads pass on by flags.
    passing: usize,
    /// What fetches cost less, as a mean, because others have fetched the page before.
    fetched_before_us: f64,
    /// Faults and synchronisation of a thread, as a mean.
    interrupted: f64,
}

/// The time of a region: that of its phases, one after the other.
pub(super) fn time(
    analysis: &Analysis,
    region: &Region,
    beside: &Beside<'_>,
    sync: &Sync,
) -> NodesTime {
    let emulated = analysis.program.emulated_time;
    let mut phases = Part::phases(region, beside.protocol);
    let parts = || phases.iter().flatten();
    let all_ns: f64 = parts().map(|part| part.own_ns).sum();
    let alone_ns = alone_ns(beside.alone, region).unwrap_or(all_ns);
    let looks = Part::look(parts()) && phases.len() == 1;
    let least_flushes = parts().map(|part| part.dsm.flushes).min().unwrap_or(0);
    if looks {
        let parts = phases.iter_mut().flatten();
        parts.for_each(|part| part.dsm.flushes = least_flushes);
    }
    let parts = || phases.iter().flatten();
    let interrupted: f64 = parts().map(Part::interruptions).sum();
    let serial = region.level == 0;
    let threads = phases[0].len();
    let working = if serial { 1.0 } else { threads as f64 };
    let processors = beside.processors;
    let crowd = processors.map_or(1.0, |processors| (working / f64::from(processors)).max(1.0));
    let looked = match emulated {
        true => looks,
        false => all_ns > LOOKING * crowd * alone_ns,
    };
    let balance = Balance::new(region, &phases, beside);
    let balanced = !serial && balance.is_known() && !looked;
    let all = phases.len() as f64;
    for (phase, parts) in phases.iter_mut().enumerate() {
        for (thread, part) in parts.iter_mut().enumerate() {
            part.share = match balanced {
                true => balance.share(phase, thread, threads),
                false => 1.0 / all,
            };
            if sync.crowd.is_some() && !looks {
                part.forget_locked();
            }
        }
    }
    let whole = Whole {
        beside,
        sync,
        serial,
        looks,
        mean_ns: alone_ns / working,
        crowd,
        balanced,
        stalls: match emulated {
            true => Stalls::new(analysis, region, beside),
            false => Stalls::default(),
        },
        waits: Waits::new(analysis, region, beside, sync),
        passing: phases
            .iter()
            .filter(|parts| waits::uses_flags(parts))
            .count(),
        fetched_before_us: fetched_before_us(analysis, beside, sync),
        interrupted: interrupted / working,
    };
    let times: Vec<NodesTime> = phases.iter().map(|parts| whole.phase(parts)).collect();
    times.iter().sum()
}

/// With homes: what a page costs less that another node has fetched since it was written, as
/// a mean of all that were fetched. It is fetched for the first time again when its home has
/// written it, or several others have, two at least, after which its home watches it no more.
fn fetched_before_us(analysis: &Analysis, beside: &Beside<'_>, sync: &Sync) -> f64 {
    let Some(crowd) = sync.crowd.filter(|_| beside.protocol == Protocol::Home) else {
        return 0.0;
    };
    let shares = analysis.regions.iter().flat_map(|region| &region.threads);
    let counted = shares.filter_map(|share| share.dsm);
    let (written, served) = counted.fold((0.0, 0.0), |(written, served), dsm| {
        let by_others = dsm.diffs_applied as f64 / 2.0;
        let written = written + dsm.write_faults_local as f64 + by_others;
        (written, served + dsm.pages_served as f64)
    });
    let first: f64 = if served > written {
        written / served
    } else {
        1.0
    };
    crowd.fetched_before * (1.0 - first)
}

impl Whole<'_> {
    fn work_ns(&self, part: &Part) -> f64 {
        self.mean_ns * part.share
    }

    fn stalls_ns(&self, part: &Part) -> f64 {
        let interruptions = match (self.serial, self.balanced) {
            (true, _) => 1.0,
            (_, true) => self.interrupted * part.share,
            (_, false) => part.interruptions(),
        };
        self.stalls.part * self.work_ns(part) + self.stalls.each_ns * interruptions
    }

    /// What a thread's events cost. Where a diff's price was measured here, it is known how
    /// many bytes it is of, and so is what was sent; and more of diffs may be. Fetches
    /// count if they are priced.
    fn events_ns(&self, part: &Part, fetches: Option<&Fetches>) -> [f64; Event::COUNT] {
        let prices = self.beside.prices;
        let mut events = part.counts.cost_ns(prices);
        events[Event::Fetch as usize] =
            fetches.map_or(0.0, |fetches| fetches.of_thread_us(part) * 1e3);
        if self.beside.cluster.measured.is_some() {
            let diffs = part.counts.0[Event::DiffToHome as usize];
            events[Event::DiffToHome as usize] = 1e3
                * match self.sync.crowd {
                    Some(crowd) => crowd.diffs_us(diffs, part.diff_bytes, part.synchronisations()),
                    None => part.diff_bytes * prices.diff_to_home_us / HALF_DIFF_BYTES,
                };
        }
        events
    }

    /// Of a page's diffs the price of a fetch holds one. Of the others it holds the bytes, if
    /// those are known, and their writers answer at the same time.
    fn writers_ns(&self, part: &Part) -> f64 {
        match self.beside.protocol {
            Protocol::Home => 0.0,
            Protocol::Homeless => {
                let came = part.dsm.diffs_applied as f64 + part.dsm.pages_fetched as f64;
                let more = (came - part.dsm.fetch_faults as f64).max(0.0);
                let bytes_us = HALF_DIFF_BYTES / self.beside.cluster.network.bandwidth_mb_per_s;
                let served = self.sync.crowd.map(|crowd| crowd.fetch_served);
                more * served.unwrap_or(bytes_us) * 1e3
            }
        }
    }

    fn notices_ns(&self, part: &Part) -> f64 {
        let own = part.counts.0[Event::LocalWrite as usize];
        self.sync.crowd.map_or(0.0, |crowd| {
            (part.dsm.invalidations as f64 * crowd.notice + own * crowd.told) * 1e3
        })
    }

    /// What a thread does beside fetching before it comes to the barrier.
    fn between_ns(&self, part: &Part) -> f64 {
        let [local, remote, _, _] = self.events_ns(part, None);
        let events_ns = local + remote + self.flushes_ns(part);
        self.work_ns(part) * self.crowd + self.stalls_ns(part) + events_ns
    }

    fn flushes_ns(&self, part: &Part) -> f64 {
        match part.orders {
            true => 0.0,
            false => part.flushes() as f64 * self.sync.flush * 1e3,
        }
    }

    /// The part of all pages whose home's thread is at work when they are asked for, or looks
    /// for flags, and nothing is done there for another node.
    fn served_at_work(&self, parts: &[Part], times_ns: &[f64]) -> f64 {
        let served: f64 = parts.iter().map(|part| part.dsm.pages_served as f64).sum();
        let whole_ns = times_ns.iter().copied().fold(0.0, f64::max);
        let Some(crowd) = self.sync.crowd.filter(|_| served > 0.0 && whole_ns > 0.0) else {
            return 0.0;
        };
        let flags = waits::uses_flags(parts);
        let of_all = parts.iter().zip(times_ns).map(|(part, time_ns)| {
            let work_ns = self.work_ns(part) * self.crowd + self.stalls_ns(part);
            let at_work_ns = match flags {
                true => whole_ns - (time_ns - work_ns),
                false => work_ns,
            };
            let pages = part.dsm.pages_served as f64;
            let serves_ns = pages * crowd.fetch_served * 1e3;
            let idle = (1.0 - serves_ns / whole_ns).max(0.0);
            pages / served * (at_work_ns / whole_ns).clamp(0.0, 1.0) * idle
        });
        of_all.sum()
    }

    /// Of what lies between two barriers.
    fn phase(&self, parts: &[Part]) -> NodesTime {
        let mut time = NodesTime::default();
        let (beside, sync) = (self.beside, self.sync);
        let between = |part: &Part| self.between_ns(part) * 1e-3;
        let less_us = self.fetched_before_us;
        let priced = Fetches::new(parts, beside, sync.crowd, less_us);
        let links = Links::new(parts, &priced, between, beside, sync.crowd, less_us);
        let contention_ns = |part: &Part| {
            priced.of_exchange_us(part, sync.exchange) * 1e3 + links.fetches_wait_ns(part)
        };
        let whole_ns = |part: &Part| {
            let events_ns: f64 = self.events_ns(part, Some(&priced)).iter().sum();
            self.work_ns(part) * self.crowd
                + self.stalls_ns(part)
                + events_ns
                + self.notices_ns(part)
                + contention_ns(part)
                + self.writers_ns(part)
                + self.flushes_ns(part)
        };
        let times_ns: Vec<f64> = parts.iter().map(whole_ns).collect();
        let at_work = self.served_at_work(parts, &times_ns);
        let fetches_at_work_ns = |part: &Part| {
            let more_us = sync.crowd.map_or(0.0, |crowd| crowd.at_work);
            part.counts.0[Event::Fetch as usize] * at_work * more_us * 1e3
        };
        let by_arrival = parts.iter().zip(times_ns);
        let mut by_arrival: Vec<(f64, &Part)> = by_arrival
            .map(|(part, time_ns)| (time_ns + fetches_at_work_ns(part), part))
            .collect();
        by_arrival.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, slowest)) = by_arrival.last() else {
            return time;
        };
        let slowest_ns = self.work_ns(slowest);
        if self.serial {
            time[NodesTerm::Serial] = slowest_ns;
        } else {
            let shares: f64 = parts.iter().map(|part| part.share).sum();
            let mean_ns = self.mean_ns * shares / parts.len() as f64;
            time[NodesTerm::Work] = mean_ns.min(slowest_ns);
            time[NodesTerm::Imbalance] = (slowest_ns - mean_ns).max(0.0);
            time[NodesTerm::Sharing] = slowest_ns * (self.crowd - 1.0);
        }
        time[NodesTerm::Stalls] = self.stalls_ns(slowest);
        time[NodesTerm::Notices] = self.notices_ns(slowest);
        let [local, remote, fetches, diffs] = self.events_ns(slowest, Some(&priced));
        time[NodesTerm::LocalWrites] = local;
        time[NodesTerm::RemoteWrites] = remote;
        time[NodesTerm::Fetches] = fetches;
        time[NodesTerm::Diffs] = diffs;
        time[NodesTerm::Contention] =
            contention_ns(slowest) + fetches_at_work_ns(slowest) + links.diffs_wait_ns(&by_arrival);
        time[NodesTerm::Writers] = self.writers_ns(slowest);
        time[NodesTerm::Barriers] = slowest.dsm.barriers as f64 * sync.barrier * 1e3;
        time[NodesTerm::Flushes] = self.flushes_ns(slowest);
        time[NodesTerm::Waits] = self.waits.in_phase_ns(parts, slowest, self.passing);
        let flags = self.looks || waits::uses_flags(parts);
        let locks = Locks::new(parts, slowest, beside, sync);
        time[NodesTerm::Locks] = if flags {
            locks.by_turns_ns(time.time_ns())
        } else {
            locks.together_ns()
        };
        time
    }
}
