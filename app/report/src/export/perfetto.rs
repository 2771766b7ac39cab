//! Chrome trace JSON, which Perfetto and chrome://tracing open.
//!
//! Every process and thread is a track; regions, worksharing loops and waits
//! are nested slices; counters are rates. Events are written one by one as the
//! recording is walked. Viewers choke on hundreds of megabytes, so beyond a
//! limit the shortest slices of each thread are left out, and the file says
//! how many.

use super::tracks::{CommonClock, ProcessClock, program_name};
use crate::view::words;
use fathomp_analysis::symbols::Symbols;
use fathomp_trace::model::{Process, Recording, Thread};
use fathomp_trace::record::{CounterReading, Instance, Interval, LoopShare, Record};
use fathomp_trace::state::State;
use fathomp_types::{Clock, SiteId, Ticks};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::io::{self, Write};
use thiserror::Error;

/// A name is cut to this many characters: it is repeated in every slice.
const NAME_CHARS: usize = 160;

/// How to write a trace.
#[derive(Clone, Copy, Debug)]
pub struct PerfettoOptions {
    /// Most slices and counter readings to write; about 150 bytes each.
    pub events_max: u64,
}

impl Default for PerfettoOptions {
    fn default() -> Self {
        Self {
            events_max: 1_000_000,
        }
    }
}

/// What was written and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Slices and counter readings written.
    pub written: u64,
    /// Slices and counter readings left out because there were too many.
    pub omitted: u64,
    /// All of them were shorter than this; so were some that were written.
    pub shorter_than_ns: u64,
}

/// Why a trace could not be written.
#[derive(Debug, Error)]
pub enum PerfettoError {
    /// The output failed.
    #[error("cannot write the trace: {0}; free some space or choose another place")]
    Write(#[from] io::Error),
}

impl From<serde_json::Error> for PerfettoError {
    fn from(error: serde_json::Error) -> Self {
        Self::Write(error.into())
    }
}

/// A trace that is being written, recording by recording.
pub struct Perfetto<W> {
    events: Events<W>,
    /// Most events of a recording.
    events_max: u64,
    clock: CommonClock,
    symbols: Symbols,
    pids: HashSet<u32>,
    /// The first recording's command line and host.
    about: Option<(String, String)>,
}

impl<W: Write> Perfetto<W> {
    /// Begins a trace of so many recordings.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn new(
        mut out: W,
        options: PerfettoOptions,
        recordings: usize,
        clock: CommonClock,
    ) -> Result<Self, PerfettoError> {
        out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        Ok(Self {
            events: Events {
                out,
                first: true,
                thread_max: 0,
                left: Left::default(),
            },
            events_max: options.events_max / (recordings as u64).max(1),
            clock,
            symbols: Symbols::new(),
            pids: HashSet::new(),
            about: None,
        })
    }

    /// Adds what was recorded; of a rank, if it has a number.
    ///
    /// # Errors
    /// If the output fails.
    pub fn add(&mut self, rank: Option<u32>, recording: &Recording) -> Result<(), PerfettoError> {
        let meta = &recording.meta;
        let host = &meta.machine.host;
        self.about
            .get_or_insert_with(|| (meta.command.join(" "), host.clone()));
        self.events.thread_max = fair_share(recording, self.events_max);
        for process in &recording.processes {
            let names = process
                .sites
                .iter()
                .map(|site| {
                    let place = self.symbols.place(&site.module, site.call, site.function);
                    words::shorten(&place.label, NAME_CHARS)
                })
                .collect();
            let track = Track {
                clock: process.clock,
                common: self.clock.of(host, &process.clock),
                pid: untaken(process.pid, &mut self.pids),
                names,
            };
            let name = match rank {
                Some(rank) => format!("rank {rank}"),
                None => format!("{}, node {}", program_name(process), process.node),
            };
            write_process(&mut self.events, process, &track, &name, rank)?;
        }
        Ok(())
    }

    /// Ends the trace; what was not written.
    ///
    /// # Errors
    /// If the output fails.
    pub fn finish(self) -> Result<Left, PerfettoError> {
        let Events { mut out, left, .. } = self.events;
        let (program, host) = self.about.unwrap_or_default();
        let other = json!({
            "schema": "fathomp.trace",
            "version": 1,
            "program": program,
            "host": host,
            "fathomp": env!("CARGO_PKG_VERSION"),
            "omitted": left.omitted,
            "omitted_shorter_than_ns": left.shorter_than_ns,
        });
        writeln!(out, "\n],\"otherData\":{other}}}")?;
        out.flush()?;
        Ok(left)
    }
}

/// A number that no other process, or thread, has: systems give those of the dead to new ones, and
/// those of different hosts may be the same.
fn untaken(mut number: u32, taken: &mut HashSet<u32>) -> u32 {
    while number == 0 || !taken.insert(number) {
        number = number.wrapping_add(1 << 24).max(1);
    }
    number
}

/// Most records of a thread to write, so that all threads together stay at or
/// below `max` and none that has few is cut: no thread may vanish.
fn fair_share(recording: &Recording, max: u64) -> u64 {
    let mut counts: Vec<u64> = recording
        .processes
        .iter()
        .flat_map(|process| &process.threads)
        .map(|thread| thread.records.len() as u64)
        .collect();
    counts.sort_unstable();
    let mut room = max;
    for (index, count) in counts.iter().enumerate() {
        let share = room / (counts.len() - index) as u64;
        if *count > share {
            return share;
        }
        room -= count;
    }
    u64::MAX
}

/// Chooses which records of a thread to write if there are too many: the
/// longest, by octaves of length, and of the octave that does not fit whole an
/// evenly spread part, for many programs have slices of one length only.
struct Choice {
    /// Records of octaves below are left out, above are written.
    octave: usize,
    /// Records in that octave.
    count: u64,
    /// How many of them to write.
    room: u64,
    /// How many of them were looked at.
    seen: u64,
}

impl Choice {
    fn new<'a>(records: impl Iterator<Item = &'a Record>, clock: &Clock, max: u64) -> Self {
        let mut octaves = [0u64; u64::BITS as usize + 1];
        for record in records {
            octaves[octave(record, clock)] += 1;
        }
        let mut room = max;
        for (octave, count) in octaves.into_iter().enumerate().rev() {
            if count > room {
                return Self {
                    octave,
                    count,
                    room,
                    seen: 0,
                };
            }
            room -= count;
        }
        Self {
            octave: 0,
            count: octaves[0],
            room: octaves[0],
            seen: 0,
        }
    }

    /// Whether to write a record; to be asked once for each.
    fn takes(&mut self, record: &Record, clock: &Clock) -> bool {
        let octave = octave(record, clock);
        if octave != self.octave {
            return octave > self.octave;
        }
        let part = |number: u64| {
            u128::from(number) * u128::from(self.room) / u128::from(self.count.max(1))
        };
        self.seen += 1;
        part(self.seen) > part(self.seen - 1)
    }

    /// All records left out are shorter than this.
    fn shorter_than_ns(&self) -> u64 {
        // Octave n holds lengths below 2^n.
        1u64.checked_shl(self.octave as u32).unwrap_or(u64::MAX)
    }
}

/// Bits of a record's length in nanoseconds.
fn octave(record: &Record, clock: &Clock) -> usize {
    let (begin, end) = record.span();
    let length_ns = clock.span(end.since(begin)).0;
    (u64::BITS - length_ns.leading_zeros()) as usize
}

/// Writes events with commas between them.
struct Events<W> {
    out: W,
    first: bool,
    /// Most records of a thread to write.
    thread_max: u64,
    left: Left,
}

impl<W: Write> Events<W> {
    fn write(&mut self, event: &Value) -> Result<(), PerfettoError> {
        self.out
            .write_all(if self.first { b"\n" } else { b",\n" })?;
        self.first = false;
        serde_json::to_writer(&mut self.out, event)?;
        Ok(())
    }
}

/// What the events of a process have in common.
struct Track {
    clock: Clock,
    common: ProcessClock,
    pid: u32,
    names: Vec<String>,
}

impl Track {
    fn at_ns(&self, at: Ticks) -> u64 {
        self.common.at_ns(at)
    }

    /// Time in microseconds, the unit of the format.
    fn at_us(&self, at: Ticks) -> f64 {
        self.at_ns(at) as f64 / 1000.0
    }

    fn name(&self, site: SiteId) -> &str {
        match self.names.get(site.0 as usize) {
            Some(name) if site != SiteId::SERIAL && !name.is_empty() => name,
            _ => "unknown place",
        }
    }

    fn slice(
        &self,
        tid: u32,
        name: &str,
        kind: &str,
        (begin, end): (Ticks, Ticks),
        args: Value,
    ) -> Value {
        let length_ns = self.at_ns(end).saturating_sub(self.at_ns(begin));
        json!({
            "ph": "X", "pid": self.pid, "tid": tid, "name": name, "cat": kind,
            "ts": self.at_us(begin), "dur": length_ns as f64 / 1000.0, "args": args,
        })
    }
}

fn write_process<W: Write>(
    events: &mut Events<W>,
    process: &Process,
    track: &Track,
    name: &str,
    rank: Option<u32>,
) -> Result<(), PerfettoError> {
    events.write(&json!({
        "ph": "M", "pid": track.pid, "name": "process_name", "args": {"name": name},
    }))?;
    if let Some(rank) = rank {
        events.write(&json!({
            "ph": "M", "pid": track.pid, "name": "process_sort_index",
            "args": {"sort_index": rank},
        }))?;
    }
    let mut taken = HashSet::new();
    for thread in &process.threads {
        let tid = untaken(thread.os_id, &mut taken);
        write_thread(events, thread, track, tid)?;
    }
    Ok(())
}

fn write_thread<W: Write>(
    events: &mut Events<W>,
    thread: &Thread,
    track: &Track,
    tid: u32,
) -> Result<(), PerfettoError> {
    let pid = track.pid;
    events.write(&json!({
        "ph": "M", "pid": pid, "tid": tid, "name": "thread_name",
        "args": {"name": format!("thread {}", thread.id)},
    }))?;
    events.write(&json!({
        "ph": "M", "pid": pid, "tid": tid, "name": "thread_sort_index",
        "args": {"sort_index": thread.id.0},
    }))?;
    // A record is written when its span is over, inner ones first; viewers
    // want the outer slice first where both begin together.
    // Readings of counters are long; they must not push out all slices.
    let is_reading = |record: &&Record| matches!(record, Record::Counters(_));
    // What phases tell is in the sums of their regions, and calls of MPI are intervals as well.
    let shown = |record: &&Record| {
        !matches!(
            record,
            Record::Phase(_) | Record::Message(_) | Record::Transfer(_)
        )
    };
    let all = || thread.records.iter().filter(shown);
    let clock = &track.clock;
    let readings_max = (all().filter(is_reading).count() as u64).min(events.thread_max / 4);
    let mut readings = Choice::new(all().filter(is_reading), clock, readings_max);
    let mut slices = Choice::new(
        all().filter(|record| !is_reading(record)),
        clock,
        events.thread_max - readings_max,
    );
    let mut records: Vec<&Record> = all()
        .filter(|record| {
            let choice = if is_reading(record) {
                &mut readings
            } else {
                &mut slices
            };
            choice.takes(record, clock)
        })
        .collect();
    let omitted = (all().count() - records.len()) as u64;
    events.left.written += records.len() as u64;
    events.left.omitted += omitted;
    if omitted > 0 {
        let shorter = slices.shorter_than_ns().max(readings.shorter_than_ns());
        events.left.shorter_than_ns = events.left.shorter_than_ns.max(shorter);
    }
    records.sort_by_key(|record| {
        let (begin, end) = record.span();
        (begin, Reverse(end))
    });
    let mut counted_to = None;
    for record in records {
        match record {
            Record::Instance(one) => events.write(&instance(track, tid, one))?,
            Record::Interval(one) => events.write(&interval(track, tid, one))?,
            Record::Loop(one) => events.write(&share(track, tid, one))?,
            Record::Counters(one) => {
                for (what, rate) in rates(track, one) {
                    events.write(&counter(track, thread, what, one.since, rate))?;
                }
                counted_to = Some(one.at);
            }
            Record::Phase(_) | Record::Message(_) | Record::Transfer(_) => {}
        }
    }
    if let Some(at) = counted_to {
        for (what, _) in rates(track, &CounterReading::default()) {
            events.write(&counter(track, thread, what, at, 0.0))?;
        }
    }
    Ok(())
}

fn instance(track: &Track, tid: u32, one: &Instance) -> Value {
    let site = track.name(one.site);
    let name = if one.merged > 1 {
        format!("{site} × {}", one.merged)
    } else {
        site.to_owned()
    };
    let mut args = json!({
        "instance": one.instance,
        "thread_num": one.thread_num,
        "team_size": one.team_size,
        "level": one.level,
    });
    if one.merged > 1 {
        args["executions"] = one.merged.into();
    }
    for state in State::ALL {
        let ns = track.clock.span(one.states[state]).0;
        if ns > 0 {
            args[format!("{}_ns", state.name())] = ns.into();
        }
    }
    track.slice(tid, &name, "region", (one.begin, one.end), args)
}

fn interval(track: &Track, tid: u32, one: &Interval) -> Value {
    let args = if one.site == SiteId::SERIAL {
        json!({})
    } else {
        json!({"place": track.name(one.site)})
    };
    track.slice(
        tid,
        words::state(one.state),
        "wait",
        (one.begin, one.end),
        args,
    )
}

fn share(track: &Track, tid: u32, one: &LoopShare) -> Value {
    let kind = words::loop_kind(one.kind);
    let name = format!("{kind} {}", track.name(one.site));
    let args = json!({
        "instance": one.instance,
        "chunk": one.chunk,
        "iterations": one.iterations,
        "chunks": one.chunks,
        "ordered": one.ordered,
    });
    track.slice(tid, &name, "loop", (one.begin, one.end), args)
}

/// What is drawn of a reading: events per second, and instructions per cycle.
fn rates(track: &Track, one: &CounterReading) -> Vec<(&'static str, f64)> {
    let seconds = track
        .clock
        .span(one.at.since(one.since))
        .as_secs_f64()
        .max(1e-9);
    let counts = &one.counts;
    let mut rates = vec![
        (
            "page faults per s",
            (counts.minor_faults + counts.major_faults) as f64 / seconds,
        ),
        (
            "context switches per s",
            (counts.voluntary_switches + counts.involuntary_switches) as f64 / seconds,
        ),
    ];
    if let (Some(cycles), Some(instructions)) = (counts.cycles, counts.instructions) {
        rates.push((
            "instructions per cycle",
            instructions as f64 / cycles.max(1) as f64,
        ));
    }
    rates
}

fn counter(track: &Track, thread: &Thread, what: &str, at: Ticks, value: f64) -> Value {
    json!({
        "ph": "C", "pid": track.pid, "name": format!("thread {}: {what}", thread.id),
        "ts": track.at_us(at), "args": {"value": value},
    })
}
