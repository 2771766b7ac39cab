//! The time of a region's phase, term by term.

use super::balance::Balance;
use super::beside::{Beside, alone_ns};
use super::contention::Contention;
use super::diffs::DiffPrices;
use super::fetches::{self, Fetches};
use super::left::{Leaving, Left, Message};
use super::locks::Locks;
use super::meeting::Meeting;
use super::messages::{HALF_DIFF_BYTES, LOOKS_NS};
use super::mva::response;
use super::part::{Part, passing_ns};
use super::stalls::{self, Stalls};
use super::sync::{AtOne, Sync};
use super::terms::{NodesTerm, NodesTime};
use super::waits::{self, Waits};
use crate::prices::{Event, Protocol};
use fathomp_analysis::{Analysis, Region};

/// Threads with more application time than this many times that of one thread
/// alone, all together, have looked for what others write, not worked, unless their
/// time is emulated.
const LOOKING: f64 = 1.5;

/// What the threads of a phase take, in nanoseconds.
struct Takes {
    priced: Fetches,
    /// They pass on by flags.
    flags: bool,
    /// Diffs that go home before the barrier.
    diffs_ns: Vec<f64>,
    /// All of it, and what of it fetches and questions to node 0 wait for.
    times_ns: Vec<f64>,
    waits_ns: Vec<f64>,
    /// How likely it is that nobody looks for messages at each node, what one takes longer then,
    /// and what it does at node 0 as a mean.
    unheeded: Vec<f64>,
    message_wakes_ns: f64,
    root_wakes_ns: f64,
}

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
    /// What of the prices of first writes is not in these.
    writes_in_faults: f64,
    meeting: Meeting,
    waits: Waits,
    /// Phases in which threads pass on by flags.
    passing: usize,
    /// What fetches cost less, as a mean, because others have fetched the page before.
    fetched_before_us: f64,
    /// How often all come to where the next region begins, after this one.
    ends: f64,
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
    let (mut whole, phases) = Whole::new(analysis, region, beside, sync);
    whole.waits = Waits::new(analysis, region, beside, |recording, region| {
        dearer(recording, region, beside)
    });
    let mut times = Vec::with_capacity(phases.len());
    let mut left = Left::default();
    for parts in &phases {
        let (time, next) = whole.phase(parts, &left);
        times.push(time);
        left = next;
        if parts.iter().any(|part| part.last) {
            // Everybody comes to where the next region begins.
            times.push(left.until_all_meet());
            left = Left::default();
        }
    }
    times.iter().sum()
}

/// What faults and flushes of threads that pass on by flags cost in a recorded region, over what
/// they took when it was recorded; 1 if there are none.
fn dearer(analysis: &Analysis, region: &Region, beside: &Beside<'_>) -> f64 {
    let nodes = analysis.program.nodes;
    let sync = Sync::among(beside.cluster, nodes, beside.prices, beside.protocol);
    let (whole, phases) = Whole::new(analysis, region, beside, &sync);
    let (mut cost_ns, mut took_ns) = (0.0, 0.0);
    for parts in phases.iter().filter(|parts| waits::uses_flags(parts)) {
        let takes = whole.takes(parts, &Left::default());
        for (part, takes_ns) in parts.iter().zip(&takes.times_ns) {
            if !part.orders {
                cost_ns += takes_ns - whole.own_ns(part) - whole.tells_ns(part);
                took_ns += passing_ns(&part.dsm);
            }
        }
    }
    if took_ns > 0.0 {
        cost_ns / took_ns
    } else {
        1.0
    }
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
    // Of as many others as there are, one is first.
    let others = analysis.program.nodes.saturating_sub(1).max(1);
    let first = (written / served.max(1.0)).clamp(1.0 / f64::from(others), 1.0);
    crowd.fetched_before * (1.0 - first)
}

impl<'a> Whole<'a> {
    /// Of a recorded region, and what its threads did in each phase.
    fn new(
        analysis: &Analysis,
        region: &Region,
        beside: &'a Beside<'a>,
        sync: &'a Sync,
    ) -> (Self, Vec<Vec<Part>>) {
        let emulated = analysis.program.emulated_time;
        let mut phases = Part::phases(region, beside.protocol, emulated);
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
        let whole = Self {
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
            writes_in_faults: match emulated {
                true => stalls::writes_in_faults(analysis, beside),
                false => 1.0,
            },
            meeting: Meeting::new(sync, analysis.program.nodes),
            waits: Waits::default(),
            passing: phases
                .iter()
                .filter(|parts| waits::uses_flags(parts))
                .count(),
            fetched_before_us: fetched_before_us(analysis, beside, sync),
            ends: if serial { 0.0 } else { region.instances as f64 },
            interrupted: interrupted / working,
        };
        (whole, phases)
    }

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

    /// What a thread's faults cost: writes to own pages and to copies, and, if they are priced,
    /// fetches.
    fn faults_ns(&self, part: &Part, fetches: Option<&Fetches>) -> [f64; 3] {
        let [local, remote, ..] = part.counts.cost_ns(self.beside.prices);
        let [local, remote] = [local, remote].map(|ns| ns * self.writes_in_faults);
        let fetches_us = fetches.map_or(0.0, |fetches| fetches.of_thread_us(part));
        [local, remote, fetches_us * 1e3]
    }

    /// What a thread's diffs take until they are at home, what of that they keep their home from
    /// others, and what the thread.
    /// Where a diff's price was measured here, it is known how many bytes it is of, and so is
    /// what was sent.
    fn diffs_ns(&self, part: &Part) -> [f64; 3] {
        let diffs = &part.diffs;
        let (cluster, prices) = (self.beside.cluster, self.beside.prices);
        if let Some(crowd) = self.sync.crowd {
            let of_crowd = [
                DiffPrices::all_us,
                DiffPrices::served_us,
                DiffPrices::sent_us,
            ];
            return of_crowd.map(|us| us(&crowd.diffs, diffs) * 1e3);
        }
        let all_us = match cluster.measured {
            Some(_) => diffs.bytes * prices.diff_to_home_us / HALF_DIFF_BYTES,
            None => diffs.number * prices.diff_to_home_us,
        };
        let link_us = diffs.bytes / cluster.network.bandwidth_mb_per_s;
        let link_us = link_us.min(all_us);
        [all_us, link_us, all_us - link_us].map(|us| us * 1e3)
    }

    /// Diffs of a thread that passes on by flags: they go home then, and whoever waits for the
    /// flag fetches what they change.
    fn diffs_between_ns(&self, part: &Part) -> f64 {
        let diffs = part.counts.0[Event::DiffToHome as usize];
        let releases_us = self.sync.crowd.map_or(0.0, |crowd| {
            crowd.releases_us(diffs, part.synchronisations())
        });
        self.diffs_ns(part)[0] + releases_us * 1e3
    }

    /// Whether a thread's diffs go home when it gives a lock back, before the barrier, and not
    /// when everybody has come.
    fn are_released(&self, part: &Part) -> bool {
        self.sync.crowd.is_some() && part.dsm.locks > 0
    }

    /// What is left to do at the end of a phase, of threads that hear so late of its end.
    fn left(&self, parts: &[Part], down_ns: &[f64], unheeded: &[f64]) -> Left {
        let flags = waits::uses_flags(parts);
        let leaving = |(thread, (part, down_ns)): (usize, (&Part, &f64))| {
            let [all_ns, served_ns, send_ns] = match flags || self.are_released(part) {
                true => [0.0; 3],
                false => self.diffs_ns(part),
            };
            let barriers = part.dsm.barriers as f64;
            Leaving {
                down_ns: *down_ns,
                up_ns: barriers.min(self.ends) * self.meeting.up_ns(thread),
                send_ns,
                passes_ns: (all_ns - served_ns - send_ns).max(0.0),
                notices_ns: if flags { 0.0 } else { self.told_ns(part) },
                served_ns,
            }
        };
        let threads = parts.iter().zip(down_ns).enumerate().map(leaving);
        let of_crowd = |us: fn(&AtOne) -> f64| self.sync.crowd.as_ref().map_or(0.0, us) * 1e3;
        let message = Message {
            way_ns: self.meeting.level_ns,
            wake_ns: of_crowd(|crowd| crowd.wakes),
            release_ns: of_crowd(|crowd| crowd.release),
        };
        Left::new(parts, threads.collect(), unheeded, message)
    }

    /// Of a page's diffs the price of a fetch holds one, and the bytes of the others, if those are
    /// known: while these are on the link, what came before is put in. Diffs that a page lacks which
    /// came whole are asked for when it is there.
    fn writers_ns(&self, part: &Part, priced: &Fetches) -> f64 {
        match self.beside.protocol {
            Protocol::Home => 0.0,
            Protocol::Homeless => {
                let came = part.dsm.diffs_applied as f64 + part.dsm.pages_fetched as f64;
                let more = (came - part.dsm.fetch_faults as f64).max(0.0);
                let us_per_byte = 1.0 / self.beside.cluster.network.bandwidth_mb_per_s;
                let each_us = match self.sync.crowd {
                    Some(crowd) => crowd.fetch_served - priced.diff_link_us(us_per_byte),
                    None => HALF_DIFF_BYTES * us_per_byte,
                };
                // A question and its answer, without content: a flush is that, too.
                let again = fetches::asked_again(&part.dsm);
                let again_us = again * self.sync.lone_flush();
                ((more - again).max(0.0) * each_us.max(0.0) + again_us) * 1e3
            }
        }
    }

    /// Pages at home that a thread tells others of when it comes to the barrier.
    fn tells_ns(&self, part: &Part) -> f64 {
        let own = part.counts.0[Event::LocalWrite as usize];
        self.sync.crowd.map_or(0.0, |crowd| own * crowd.told * 1e3)
    }

    /// The same, and, of a thread that passes on by flags, the pages that it is told of when it
    /// flushes: what it waits for, and who waits for it, is later by that.
    fn notices_ns(&self, part: &Part, flags: bool) -> f64 {
        self.tells_ns(part) + if flags { self.told_ns(part) } else { 0.0 }
    }

    /// Pages that it is told of, at a barrier as a rule.
    fn told_ns(&self, part: &Part) -> f64 {
        let pages = part.dsm.invalidations as f64;
        self.sync
            .crowd
            .map_or(0.0, |crowd| pages * crowd.notice * 1e3)
    }

    /// What a thread works.
    fn own_ns(&self, part: &Part) -> f64 {
        self.work_ns(part) * self.crowd + self.stalls_ns(part)
    }

    /// What a thread does beside fetching before it comes to the barrier.
    fn between_ns(&self, part: &Part) -> f64 {
        let [local, remote, _] = self.faults_ns(part, None);
        local + remote + self.flushes_ns(part) + self.own_ns(part)
    }

    /// Flushes, and other questions to node 0, which cost the same, if nobody else has any.
    fn flushes_ns(&self, part: &Part) -> f64 {
        match part.orders {
            true => 0.0,
            false => part.questions() as f64 * self.sync.lone_flush() * 1e3,
        }
    }

    /// What they wait for those of others, between which a thread does something else for so long
    /// in all.
    fn questions_wait_ns(&self, parts: &[Part], part: &Part, else_ns: f64) -> f64 {
        let asks = |part: &&Part| !part.orders && part.questions() > 0;
        let served_us = self.sync.crowd.map_or(0.0, |crowd| crowd.flush_served);
        if !asks(&part) || served_us <= 0.0 {
            return 0.0;
        }
        let questions = part.questions() as f64;
        let between_us = (else_ns * 1e-3 / questions - served_us).max(0.0);
        let threads = parts.iter().filter(asks).count() as f64;
        let takes_us = response(threads, between_us, served_us);
        questions * (takes_us - between_us - served_us).max(0.0) * 1e3
    }

    /// How likely it is that nobody looks for messages at each node when one comes, and it does
    /// nothing for another node: its thread is at work, or looks for flags, or has waited for so
    /// long that it sleeps.
    fn unheeded(&self, parts: &[Part], times_ns: &[f64]) -> Vec<f64> {
        let whole_ns = times_ns.iter().copied().fold(0.0, f64::max);
        let Some(crowd) = self.sync.crowd.filter(|_| whole_ns > 0.0) else {
            return vec![0.0; parts.len()];
        };
        let flags = waits::uses_flags(parts);
        let asked: u64 = parts.iter().map(Part::asks_root).sum();
        let of_all = parts.iter().zip(times_ns).map(|(part, time_ns)| {
            let work_ns = self.own_ns(part);
            let at_work_ns = match flags {
                true => whole_ns - (time_ns - work_ns),
                false => work_ns,
            };
            let pages = part.dsm.pages_served as f64;
            let serves_ns = pages * crowd.fetch_served * 1e3;
            let idle = (1.0 - serves_ns / whole_ns).max(0.0);
            let at_work = (at_work_ns / whole_ns).clamp(0.0, 1.0);
            let asked = if part.orders { asked as f64 } else { 0.0 };
            let messages = pages + asked + part.dsm.barriers as f64;
            let asleep = match flags {
                true => 0.0,
                false => (-LOOKS_NS * messages / whole_ns).exp(),
            };
            idle * (at_work + (1.0 - at_work) * asleep)
        });
        of_all.collect()
    }

    /// How long a thread that fetches nothing waits for node 0, which is still at what the last
    /// barrier has brought it.
    fn waits_for_root_ns(&self, parts: &[Part], thread: usize, left: &Left) -> f64 {
        let own = &parts[thread];
        let root = parts.iter().position(|part| part.orders);
        let fetches = own.counts.0[Event::Fetch as usize] > 0.0;
        match root.filter(|root| *root != thread && !fetches) {
            Some(root) => left.waits_ns(thread, root, own.questions() as f64, self.between_ns(own)),
            None => 0.0,
        }
    }

    /// Of what lies between two barriers, the first of which has left something to do: what each
    /// thread takes until it comes to the second.
    fn takes(&self, parts: &[Part], left: &Left) -> Takes {
        let (beside, sync) = (self.beside, self.sync);
        let less_us = self.fetched_before_us;
        let priced = Fetches::new(parts, beside, sync.crowd, less_us);
        let flags = waits::uses_flags(parts);
        let diffs_ns = |part: &Part| match flags {
            true => self.diffs_between_ns(part),
            false => 0.0,
        };
        let between_ns = |part: &Part| {
            self.between_ns(part)
                + diffs_ns(part)
                + self.notices_ns(part, flags)
                + self.writers_ns(part, &priced)
        };
        // Where a region begins, who hears of it late is late.
        let begins_ns = |thread| match left.is_first() {
            true => self.meeting.down_ns(thread),
            false => left.goes_on_ns(thread),
        };
        let contention = Contention {
            beside,
            crowd: sync.crowd,
            less_us,
            flags,
        };
        let fetches_wait_ns = contention.waits_ns(parts, &priced, left, between_ns, begins_ns);
        let whole_ns = |(part, waits_ns): (&Part, &f64)| {
            let fetches_ns = priced.of_thread_us(part) * 1e3;
            between_ns(part) + fetches_ns + waits_ns
        };
        let times_ns: Vec<f64> = parts.iter().zip(&fetches_wait_ns).map(whole_ns).collect();
        let unheeded = self.unheeded(parts, &times_ns);
        let message_wakes_ns = sync.crowd.map_or(0.0, |crowd| crowd.wakes) * 1e3;
        let of_root = parts.iter().zip(&unheeded).filter(|(part, _)| part.orders);
        let root_wakes_ns = of_root
            .map(|(_, unheeded)| unheeded * message_wakes_ns)
            .sum::<f64>();
        let lone_known = sync.crowd.is_some_and(|crowd| crowd.lone_flush.is_some());
        let root_waits_ns = parts.iter().zip(&times_ns).map(|(part, time_ns)| {
            let asks = match (part.orders, flags) {
                (true, _) => 0,
                // Their locks are taken by turns.
                (_, true) if lone_known => part.questions(),
                // Of others, flushes among all at once have waited for that.
                (_, true) => 0,
                (_, false) => part.asks_root(),
            };
            let wakes_ns = asks as f64 * root_wakes_ns;
            wakes_ns + self.questions_wait_ns(parts, part, time_ns + wakes_ns)
        });
        let root_waits_ns: Vec<f64> = root_waits_ns.collect();
        Takes {
            diffs_ns: parts.iter().map(diffs_ns).collect(),
            times_ns: times_ns
                .iter()
                .zip(&root_waits_ns)
                .map(|(time_ns, waits_ns)| time_ns + waits_ns)
                .collect(),
            waits_ns: fetches_wait_ns
                .iter()
                .zip(&root_waits_ns)
                .map(|(fetches_ns, root_ns)| fetches_ns + root_ns)
                .collect(),
            priced,
            flags,
            unheeded,
            message_wakes_ns,
            root_wakes_ns,
        }
    }

    /// Of what lies between two barriers, the first of which has left something to do; and what
    /// the second leaves.
    fn phase(&self, parts: &[Part], left: &Left) -> (NodesTime, Left) {
        let takes = self.takes(parts, left);
        let arrivals = takes.times_ns.iter().enumerate();
        let arrivals: Vec<(usize, f64, f64)> = arrivals
            .map(|(thread, takes_ns)| {
                let waits_ns = self.waits_for_root_ns(parts, thread, left);
                // Outside of regions the others have come before.
                let idle = self.serial && !parts[thread].orders;
                let barriers = parts[thread].dsm.barriers as f64;
                let before_ns = -barriers * self.meeting.up_ns(thread);
                let arrives_ns = left.goes_on_ns(thread) + takes_ns + waits_ns;
                (thread, waits_ns, if idle { before_ns } else { arrives_ns })
            })
            .collect();
        let slowest = arrivals.iter().copied().max_by(|a, b| a.2.total_cmp(&b.2));
        let Some((thread, waits_ns, last_ns)) = slowest else {
            return Default::default();
        };
        let barriers = parts[thread].dsm.barriers as f64;
        let each = 1.0 / barriers.max(1.0);
        let came_ns: Vec<f64> = arrivals.iter().map(|(.., ns)| ns * each).collect();
        let wake_ns = match parts[thread].orders {
            true => 0.0,
            false => takes.root_wakes_ns,
        };
        let up_ns = self.meeting.known_ns(&came_ns) - last_ns * each + wake_ns;
        let down_ns = |(thread, _, arrives_ns): &(usize, f64, f64)| {
            let asleep = !parts[*thread].orders && (last_ns - arrives_ns) * each > LOOKS_NS;
            let wake_ns = if asleep { takes.message_wakes_ns } else { 0.0 };
            barriers * (self.meeting.down_ns(*thread) + wake_ns)
        };
        let down_ns: Vec<f64> = arrivals.iter().map(down_ns).collect();
        let slowest = &parts[thread];
        let mut time = left.time(thread);
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
        let [local, remote, fetches] = self.faults_ns(slowest, Some(&takes.priced));
        time[NodesTerm::LocalWrites] = local;
        time[NodesTerm::RemoteWrites] = remote;
        time[NodesTerm::Fetches] = fetches;
        time[NodesTerm::Diffs] += takes.diffs_ns[thread] + waits_ns;
        time[NodesTerm::Notices] += self.notices_ns(slowest, takes.flags);
        time[NodesTerm::Contention] = takes.waits_ns[thread];
        time[NodesTerm::Writers] = self.writers_ns(slowest, &takes.priced);
        time[NodesTerm::Barriers] += barriers * up_ns;
        time[NodesTerm::Flushes] = self.flushes_ns(slowest);
        time[NodesTerm::Waits] = self.waits.in_phase_ns(parts, slowest, self.passing);
        let mut locks = Locks::new(parts, slowest, self.beside, self.sync);
        if !takes.flags {
            let diffs_us = |part: &Part| match self.are_released(part) {
                true => self.diffs_ns(part)[0] * 1e-3,
                false => 0.0,
            };
            locks.release_diffs(parts.iter().map(diffs_us).sum(), diffs_us(slowest));
        }
        time[NodesTerm::Locks] = if self.looks || takes.flags {
            locks.by_turns_ns(time.time_ns())
        } else {
            locks.together_ns()
        };
        (time, self.left(parts, &down_ns, &takes.unheeded))
    }
}
