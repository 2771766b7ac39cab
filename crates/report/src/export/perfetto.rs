//! Chrome trace JSON, which Perfetto and chrome://tracing open.
//!
//! Every process and thread is a track; regions, worksharing loops and waits
//! are nested slices; counters are rates. Events are written one by one as the
//! recording is walked. Viewers choke on hundreds of megabytes, so beyond a
//! limit the shortest slices are left out, and the file says how many.

use crate::view::words;
use fathomp_analyse::symbols::Symbols;
use fathomp_base::{Clock, SiteId, Ticks};
use fathomp_trace::model::{Process, Recording, Thread};
use fathomp_trace::record::{CounterReading, Instance, Interval, LoopShare, Record};
use fathomp_trace::state::State;
use serde_json::{Value, json};
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
    /// They were shorter than this.
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

/// Writes `recording` to `out`, naming places with `symbols`.
///
/// # Errors
/// If `out` fails.
pub fn perfetto(
    recording: &Recording,
    symbols: &mut Symbols,
    options: PerfettoOptions,
    mut out: impl Write,
) -> Result<Left, PerfettoError> {
    let left = choose(recording, options.events_max);
    let other = json!({
        "schema": "fathomp.trace",
        "version": 1,
        "program": recording.meta.command.join(" "),
        "host": recording.meta.machine.host,
        "fathomp": env!("CARGO_PKG_VERSION"),
        "omitted": left.omitted,
        "omitted_shorter_than_ns": left.shorter_than_ns,
    });
    write!(
        out,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{other},\"traceEvents\":["
    )?;
    let zero_unix_ns = recording
        .processes
        .iter()
        .map(|process| process.clock.zero_unix_ns)
        .min()
        .unwrap_or(0);
    let mut events = Events {
        out: &mut out,
        first: true,
    };
    for process in &recording.processes {
        let names = process
            .sites
            .iter()
            .map(|site| {
                let place = symbols.place(&site.module, site.call, site.function);
                words::shorten(&place.label, NAME_CHARS)
            })
            .collect();
        let track = Track {
            clock: process.clock,
            offset_ns: process.clock.zero_unix_ns - zero_unix_ns,
            pid: process.pid,
            names,
            shortest_ns: left.shorter_than_ns,
        };
        write_process(&mut events, process, &track)?;
    }
    out.write_all(b"\n]}\n")?;
    out.flush()?;
    Ok(left)
}

/// The shortest length that keeps the number of events at or below `max`: a
/// power of two, found by counting lengths in octaves.
fn choose(recording: &Recording, max: u64) -> Left {
    let mut octaves = [0u64; 65];
    for process in &recording.processes {
        for record in process.threads.iter().flat_map(|thread| &thread.records) {
            let (begin, end) = span(record);
            let length = process.clock.span(end.since(begin)).0;
            octaves[(u64::BITS - length.leading_zeros()) as usize] += 1;
        }
    }
    let all: u64 = octaves.iter().sum();
    let mut omitted = 0;
    let mut shorter_than_ns = 0;
    for (octave, count) in octaves.iter().enumerate() {
        if all - omitted <= max {
            break;
        }
        omitted += count;
        // Octave n holds lengths below 2^n.
        shorter_than_ns = 1u64.checked_shl(octave as u32).unwrap_or(u64::MAX);
    }
    Left {
        written: all - omitted,
        omitted,
        shorter_than_ns,
    }
}

fn span(record: &Record) -> (Ticks, Ticks) {
    match record {
        Record::Instance(one) => (one.begin, one.end),
        Record::Interval(one) => (one.begin, one.end),
        Record::Loop(one) => (one.begin, one.end),
        Record::Counters(one) => (one.since, one.at),
    }
}

/// Writes events with commas between them.
struct Events<'a, W> {
    out: &'a mut W,
    first: bool,
}

impl<W: Write> Events<'_, W> {
    fn write(&mut self, event: &Value) -> Result<(), PerfettoError> {
        self.out
            .write_all(if self.first { b"\n" } else { b",\n" })?;
        self.first = false;
        serde_json::to_writer(&mut *self.out, event)?;
        Ok(())
    }
}

/// What the events of a process have in common.
struct Track {
    clock: Clock,
    offset_ns: u64,
    pid: u32,
    names: Vec<String>,
    shortest_ns: u64,
}

impl Track {
    /// Time in microseconds, the unit of the format.
    fn at_us(&self, at: Ticks) -> f64 {
        self.clock.at(at).0.saturating_add(self.offset_ns) as f64 / 1000.0
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
        let ts = self.at_us(begin);
        json!({
            "ph": "X", "pid": self.pid, "tid": tid, "name": name, "cat": kind,
            "ts": ts, "dur": (self.at_us(end) - ts).max(0.0), "args": args,
        })
    }
}

fn write_process<W: Write>(
    events: &mut Events<'_, W>,
    process: &Process,
    track: &Track,
) -> Result<(), PerfettoError> {
    let program = process.executable.file_name().map_or_else(
        || "program".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    events.write(&json!({
        "ph": "M", "pid": track.pid, "name": "process_name",
        "args": {"name": format!("{program}, node {}", process.node)},
    }))?;
    // An operating system may give the number of a dead thread to a new one.
    let mut taken = HashSet::new();
    for thread in &process.threads {
        let mut tid = thread.os_id;
        while tid == 0 || !taken.insert(tid) {
            tid = tid.wrapping_add(1 << 24).max(1);
        }
        write_thread(events, thread, track, tid)?;
    }
    Ok(())
}

fn write_thread<W: Write>(
    events: &mut Events<'_, W>,
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
    let mut counted_to = None;
    for record in &thread.records {
        let (begin, end) = span(record);
        if track.clock.span(end.since(begin)).0 < track.shortest_ns {
            continue;
        }
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
