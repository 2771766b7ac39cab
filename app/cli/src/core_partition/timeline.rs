//! Which program had which cores when, as the programs told it.

use crate::args::Strategy;
use crate::failure::Failure;
use crate::host;
use crate::launch::Ended;
use crate::program::Program;
use fathomp_analysis::symbols::Symbols;
use fathomp_core_arbiter::Board;
use fathomp_core_arbiter::events::{Event, Log, Reader, Span};
use fathomp_report::share::{Shared, SharedProgram, SharedSpan, share_page};
use fathomp_sys::clock::monotonic_ns;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often what programs told is taken from the board.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(20);
/// Spans that are kept of one program.
const SPANS_MAX: usize = 100_000;

/// What the programs told.
#[derive(Debug)]
pub(crate) struct Collected {
    /// Start and end of the session, nanoseconds of the monotonic clock.
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) programs: Vec<ProgramEvents>,
}

/// What one program told.
#[derive(Debug, Default)]
pub(crate) struct ProgramEvents {
    pub(crate) spans: Vec<Span>,
    /// File and address in it, by the address in the process.
    pub(crate) names: BTreeMap<u64, (PathBuf, u64)>,
    /// Spans that were left out, for want of room or of sense.
    pub(crate) lost: u64,
}

/// Takes what programs tell while they run.
pub(super) struct Collector<'a> {
    logs: Vec<(Log<'a>, Reader)>,
    collected: Collected,
}

impl<'a> Collector<'a> {
    pub(super) fn start(board: Board<'a>) -> Self {
        let logs: Vec<_> = board.slots().filter_map(|slot| slot.log()).collect();
        let now = monotonic_ns();
        Self {
            collected: Collected {
                begin_ns: now,
                end_ns: now,
                programs: logs.iter().map(|_| ProgramEvents::default()).collect(),
            },
            logs: logs
                .into_iter()
                .map(|log| (log, Reader::default()))
                .collect(),
        }
    }

    /// Until all of `count` programs have ended, of which `ends` tells.
    pub(super) fn collect_until_ended(&mut self, ends: &Receiver<usize>, count: usize) {
        let mut left = count;
        while left > 0 {
            match ends.recv_timeout(SAMPLE_INTERVAL) {
                Ok(_) => left -= 1,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.collect();
        }
    }

    fn collect(&mut self) {
        for ((log, reader), told) in self.logs.iter_mut().zip(&mut self.collected.programs) {
            log.read(reader, |event| match event {
                Event::Span(span) if span.begin_ns > span.end_ns => told.lost += 1,
                Event::Span(_) if told.spans.len() >= SPANS_MAX => told.lost += 1,
                Event::Span(span) => told.spans.push(span),
                Event::Name {
                    region,
                    address,
                    module,
                } => {
                    let module = PathBuf::from(OsStr::from_bytes(&module));
                    told.names.insert(region, (module, address));
                }
                Event::Lost(count) => told.lost = told.lost.saturating_add(count),
            });
        }
    }

    pub(super) fn finish(mut self) -> Collected {
        self.collect();
        self.collected.end_ns = monotonic_ns();
        let (begin, end) = (self.collected.begin_ns, self.collected.end_ns);
        for ((_, reader), told) in self.logs.iter().zip(&mut self.collected.programs) {
            told.lost += u64::from(reader.is_damaged());
            // What lies outside of the session is none of it.
            let before = told.spans.len();
            told.spans
                .retain(|span| span.begin_ns >= begin && span.end_ns <= end);
            told.lost += (before - told.spans.len()) as u64;
            told.spans.sort_by_key(|span| span.begin_ns);
        }
        self.collected
    }
}

impl ProgramEvents {
    /// Its regions by name, and when they were executed.
    fn regions(&self, symbols: &mut Symbols) -> SharedProgram {
        let mut numbers = BTreeMap::new();
        let mut regions = Vec::new();
        let spans = self.spans.iter().map(|span| {
            let region = *numbers.entry(span.region).or_insert_with(|| {
                regions.push(self.name(span.region, symbols));
                regions.len() - 1
            });
            SharedSpan {
                begin_ns: span.begin_ns,
                end_ns: span.end_ns,
                region,
                threads: span.threads,
                instances: span.instances,
                cores: span.cores.iter().map(|core| core as usize).collect(),
            }
        });
        let spans = spans.collect();
        SharedProgram {
            regions,
            spans,
            ..SharedProgram::default()
        }
    }

    fn name(&self, region: u64, symbols: &mut Symbols) -> String {
        match self.names.get(&region) {
            Some((module, address)) => symbols.place(module, 0, *address).label,
            None if region == 0 => "other regions".to_owned(),
            None => format!("{region:#x}"),
        }
    }
}

/// The page that shows it.
pub(crate) fn page(
    programs: &[Program],
    strategy: Strategy,
    collected: &Collected,
    ended: &[Ended],
) -> Result<String, Failure> {
    let mut symbols = Symbols::new();
    let shared = Shared {
        strategy: strategy.words().to_owned(),
        begin_ns: collected.begin_ns,
        end_ns: collected.end_ns,
        cores: host::cpus_allowed(),
        programs: programs
            .iter()
            .zip(ended)
            .zip(&collected.programs)
            .enumerate()
            .map(|(index, ((program, ended), told))| {
                let words = program.command.iter().map(|word| word.to_string_lossy());
                SharedProgram {
                    name: program.numbered(index),
                    command: words.collect::<Vec<_>>().join(" "),
                    ended: ended.describe(),
                    wall_ns: ended.wall_ns(),
                    lost: told.lost,
                    ..told.regions(&mut symbols)
                }
            })
            .collect(),
    };
    Ok(share_page(&shared)?)
}
