//! Time without a processor, taken out of what looked like computing.
//!
//! A recorder cannot see that the kernel takes its thread's processor away, or
//! that the program sleeps: to it both look like application code. Counter
//! readings tell: of the time since the reading before, so much was on a
//! processor, so much ready to run without one ([`State::Ready`]), so much asleep
//! in waits of the runtime. Neither of these is time [`State::Blocked`] in
//! something of the program's own.
//!
//! With `off` time off the processor, `d` of it ready to run and `a` asleep in the
//! runtime (from the call until the thread ran again, so part of `d` may be in
//! `a`), the program was blocked for at least `off - d - a`, and if that is
//! negative, so much of `d` was in `a`: the thread was woken and did not run at once.
//! That delays the begin of regions, which else looks like the runtime's work, and the
//! end of waits, which else look like waiting for others. What of
//! `d` was not in `a` is spread evenly over the time that the thread was not asleep in
//! the runtime.

use super::accounts::{ByPlace, Place, TimeAccount};
use super::pieces::{self, Piece};
use fathomp_trace::record::CounterReading;
use fathomp_trace::state::{PerState, State};
use fathomp_types::Ticks;

/// Time off the processor below this part of a reading is not told from the
/// reading's own error,
const LEAST_PART: f64 = 0.01;
/// nor is less than this: what entering and leaving the kernel takes.
const LEAST_NS: f64 = 5_000.0;

/// Takes the time that threads had no processor out of their application code.
pub(super) fn charge(account: &mut TimeAccount<'_>) {
    // On nodes, waiting for pages and messages is no wait of the runtime's that
    // is told, so that nothing tells it from sleep of the program's own.
    let blocked_known = account.process.cluster == 0;
    for thread in 0..account.lives.len() {
        let Some(off) = off_processor(account, thread, blocked_known) else {
            continue;
        };
        for place in off.places() {
            let taken = off.of(place);
            let states = match place {
                Some(part) => &mut account.parts[part].states,
                None => &mut account.gaps[thread].states,
            };
            let woken = State::ALL.map(|state| (state, State::Ready, taken.woken[state]));
            // Where pages were waited for is not told one by one: that looks like
            // application code until here. What sharing memory took stays what it is, with or
            // without a processor: the protocol has measured it.
            let computing = states[State::Compute].0 as f64;
            let waiting = (states[State::Communication].0 as f64 - taken.told).max(0.0);
            let in_code = taken.ready * computing / (computing + waiting).max(1.0);
            let moves = [
                (State::Compute, State::Ready, in_code),
                (State::Compute, State::Blocked, taken.blocked),
                (State::Overhead, State::Ready, taken.late),
            ];
            for (from, to, ticks) in moves.into_iter().chain(woken) {
                let taken = Ticks(ticks.round().max(0.0) as u64).min(states[from]);
                states[from] = states[from] - taken;
                states[to] += taken;
            }
        }
    }
}

/// What a reading says, in ticks.
struct Off {
    blocked: f64,
    ready: f64,
    /// Ready to run after being woken in the runtime.
    woken: f64,
    /// Asleep in the runtime.
    asleep: f64,
}

/// Ticks taken from a place.
#[derive(Clone, Copy, Default)]
struct Taken {
    /// Blocked, and without a processor, instead of computing; or, on nodes, of waiting for pages
    /// where that is not told.
    blocked: f64,
    ready: f64,
    /// Waiting for pages that is told.
    told: f64,
    /// Without a processor instead of beginning a region.
    late: f64,
    /// Without a processor instead of going on after a wait.
    woken: PerState<f64>,
}

/// The time to take from each place; none if the thread always had a processor.
fn off_processor(
    account: &TimeAccount<'_>,
    thread: usize,
    blocked_known: bool,
) -> Option<ByPlace<Taken>> {
    let nanos_per_tick = account.process.clock.nanos_per_tick;
    let mut early_ns = 0.0;
    let readings: Vec<(&CounterReading, Off)> = account
        .readings(thread)
        .into_iter()
        .filter_map(|reading| Some((reading, off(reading, nanos_per_tick, &mut early_ns)?)))
        .collect();
    if readings.is_empty() {
        return None;
    }
    let mut result = ByPlace::<Taken>::new(account, thread);
    let cut = pieces::cut(account, thread);
    let pieces = pieces::with_waits(account, thread, &cut);
    for piece in &pieces {
        if piece.state == Some(State::Communication) {
            result.of_mut(piece.part).told += piece.length().0 as f64;
        }
    }
    let merged: Vec<usize> = account.by_thread[thread]
        .clone()
        .filter(|&part| account.parts[part].merged())
        .collect();
    let mut first = 0;
    for (reading, off) in readings {
        while pieces
            .get(first)
            .is_some_and(|piece| piece.end <= reading.since)
        {
            first += 1;
        }
        let mut time = Divided::default();
        for piece in &pieces[first..] {
            if piece.begin >= reading.at {
                break;
            }
            time.add_piece(account, thread, piece, reading);
        }
        for &part in &merged {
            time.add_merged(account, part, reading);
        }
        let blocked = if blocked_known { off.blocked } else { 0.0 };
        time.charge(&off, blocked, &mut result);
    }
    Some(result)
}

/// What `reading` says of time off the processor; none if there was none.
///
/// A thread may lose its processor while it reads: then the reading knows already how
/// long it was ready to run, in `early_ns` from then on, and the time itself is the
/// next one's.
fn off(reading: &CounterReading, nanos_per_tick: f64, early_ns: &mut f64) -> Option<Off> {
    let elapsed_ns = reading.at.since(reading.since).0 as f64 * nanos_per_tick;
    let counts = &reading.counts;
    let off_ns = elapsed_ns - counts.processor_ns? as f64;
    // Recordings of earlier versions do not say how long threads slept in the
    // runtime, and without that nothing can be told.
    let asleep_ns = counts.asleep_ns? as f64;
    let told_ns = counts.run_delay_ns.map(|ns| ns as f64 + *early_ns);
    *early_ns = (told_ns.unwrap_or(0.0) - off_ns.max(0.0)).max(0.0);
    if off_ns < LEAST_NS.max(LEAST_PART * elapsed_ns) {
        return None;
    }
    let delay_ns = match told_ns {
        // A thread that sleeps gives its processor away; one that never did was taken off.
        _ if counts.voluntary_switches == 0 => off_ns,
        Some(ns) => ns.min(off_ns),
        None => 0.0,
    };
    let both = off_ns - delay_ns - asleep_ns;
    let ticks = |ns: f64| ns.max(0.0) / nanos_per_tick.max(f64::MIN_POSITIVE);
    Some(Off {
        blocked: ticks(both),
        ready: ticks(delay_ns - (-both).max(0.0)),
        woken: ticks((-both).min(delay_ns)),
        asleep: ticks(asleep_ns),
    })
}

/// The time of a reading: application code by place, and all else.
#[derive(Default)]
struct Divided {
    computing: Vec<(Place, f64)>,
    overhead: Vec<(Place, f64)>,
    waits: Vec<(Place, State, f64)>,
    /// All waiting, that outside regions and in sums of executions included.
    waiting: f64,
}

impl Divided {
    fn add_piece(
        &mut self,
        account: &TimeAccount<'_>,
        thread: usize,
        piece: &Piece,
        reading: &CounterReading,
    ) {
        let length = overlap(piece.begin, piece.end, reading);
        let idle = piece.part.is_none() && !account.lives[thread].encountering;
        match piece.state {
            None if !idle => self.computing.push((piece.part, length)),
            Some(State::Overhead) => self.overhead.push((piece.part, length)),
            Some(state) if state != State::Idle => {
                self.waits.push((piece.part, state, length));
                self.waiting += length;
            }
            _ => self.waiting += length,
        }
    }

    /// Sums of executions are spread evenly over their span.
    fn add_merged(&mut self, account: &TimeAccount<'_>, part: usize, reading: &CounterReading) {
        let sum = &account.parts[part];
        let span = sum.record.end.since(sum.begin()).0.max(1) as f64;
        let inside = overlap(sum.begin(), sum.record.end, reading) / span;
        let computing = sum.states[State::Compute].0 as f64 * inside;
        let all = sum.length.0 as f64 * inside;
        if let Some((_, outside)) = self.computing.iter_mut().find(|(place, _)| place.is_none()) {
            *outside = (*outside - all).max(0.0);
        }
        self.computing.push((Some(part), computing));
        self.waiting += all - computing;
    }

    /// Charges what `off` says.
    fn charge(&self, off: &Off, blocked: f64, result: &mut ByPlace<Taken>) {
        let sum = |parts: &[(Place, f64)]| -> f64 { parts.iter().map(|(_, ticks)| ticks).sum() };
        let (computing, overhead) = (sum(&self.computing), sum(&self.overhead));
        let awake = computing + overhead + (self.waiting - off.asleep).max(0.0);
        let blocked = blocked.min(computing);
        let share = |of: f64| off.ready * of / awake.max(1.0);
        let ready = share(computing).min(computing - blocked);
        let late = (share(overhead) + off.woken).min(overhead);
        let waits: f64 = self.waits.iter().map(|(_, _, ticks)| ticks).sum();
        let woken = (share(overhead) + off.woken - late).clamp(0.0, waits);
        for (place, state, ticks) in &self.waits {
            result.of_mut(*place).woken[*state] += woken * ticks / waits.max(1.0);
        }
        for (place, ticks) in &self.computing {
            let part = ticks / computing.max(1.0);
            let taken = result.of_mut(*place);
            taken.blocked += blocked * part;
            taken.ready += ready * part;
        }
        for (place, ticks) in &self.overhead {
            result.of_mut(*place).late += late * ticks / overhead.max(1.0);
        }
    }
}

fn overlap(begin: Ticks, end: Ticks, reading: &CounterReading) -> f64 {
    end.min(reading.at).since(begin.max(reading.since)).0 as f64
}
