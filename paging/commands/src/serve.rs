//! The collector's process: what programs say and what can be seen of them from outside.

use crate::fault_curve::Curve;
use crate::faults::{FaultRecorder, Job as FaultJob};
use crate::sampling::{Often, Sampler, Streams, unwritten};
use crate::words::{Answer, Finished, Order};
use fathomp_collector::{Closing, Collector, Job};
use fathomp_console::failure::Failure;
use fathomp_console::launch;
use fathomp_paging::setup::Setup;
use fathomp_sys::clock;
use fathomp_types::Clock;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::read;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Of the recording's limit, samples may take one part in so many.
const SAMPLES_PART: u64 = 4;
/// Longest sleep of the collector, which is called when there is something to do.
const PAUSE: Duration = Duration::from_secs(1);
/// Longer orders are none.
const ORDER_BYTES_MAX: usize = 4096;

/// What to collect.
#[derive(Debug)]
pub(crate) struct Service {
    /// Where the programs and the collector meet.
    pub(crate) live: PathBuf,
    /// Between two looks at threads; 0 for none, nothing to leave it to the sampler.
    pub(crate) sample: Option<Duration>,
    /// Whether to record every page fault.
    pub(crate) every_fault: bool,
    /// Bytes that the recording of paging may have.
    pub(crate) limit_bytes: u64,
}

/// Collects until the launcher's orders end.
pub(crate) fn serve(service: &Service) -> Result<(), Failure> {
    let outcome = collect(service);
    let (last, outcome) = match outcome {
        Ok(problems) => (Answer::Closed(problems), Ok(())),
        Err(failure) => (Answer::Failed(failure.sentence.clone()), Err(failure)),
    };
    // If the launcher does not listen, nobody does.
    let _ = answer(&last);
    outcome
}

fn collect(service: &Service) -> Result<Vec<String>, Failure> {
    let setup = Setup::read(&service.live)?;
    // Three counters of every thread are open at the same time.
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // Where that is forbidden, fewer threads have counters, which is said.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
    launch::survive_file_limits();
    let mut collector = Collector::start(Job {
        live: service.live.clone(),
        setup: setup.clone(),
    })?;
    let mut watchers = Watchers::new(setup);
    let mut orders = Orders::default();
    answer(&Answer::Ready)?;
    loop {
        collector.poll();
        if !collector.wait(PAUSE, Some(io::stdin().as_fd())) {
            continue;
        }
        orders.read();
        match orders.next() {
            Some(Order::Watch(process)) => {
                answer(&Answer::Watching(watchers.watch(process, service)))?;
            }
            Some(Order::Finish | Order::Close) => break,
            None if orders.ended => break,
            None => {}
        }
    }
    // What they see is part of what is forwarded to another host at the end.
    let mut problems = watchers.finish();
    let (summary, closing): (_, Closing) = collector.finish();
    problems.extend(summary.problems);
    let told = answer(&Answer::Finished(Finished {
        processes: summary.processes,
        nanos_per_tick: summary.nanos_per_tick,
        problems,
    }));
    while told.is_ok() && !orders.ended && orders.next() != Some(Order::Close) {
        orders.read();
    }
    Ok(closing.close())
}

/// A line of its own, at once.
fn answer(answer: &Answer) -> Result<(), Failure> {
    let line = serde_json::to_string(answer)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| Failure::new(format!("the launcher does not listen: {error}")))
}

/// Orders as they come. Read without a buffer of the library's, which the kernel could not
/// tell of.
#[derive(Debug, Default)]
struct Orders {
    bytes: Vec<u8>,
    waiting: VecDeque<Order>,
    /// The launcher is gone, or says what makes no sense.
    ended: bool,
}

impl Orders {
    /// Takes what has come; waits if nothing has.
    fn read(&mut self) {
        let mut buffer = [0; 512];
        match read(io::stdin(), &mut buffer) {
            Ok(length) if length > 0 => self.take(buffer.get(..length).unwrap_or_default()),
            Err(nix::errno::Errno::EINTR) => {}
            _ => self.ended = true,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(order) => self.waiting.push_back(order),
                Err(_) => self.ended = true,
            }
        }
        self.ended |= self.bytes.len() > ORDER_BYTES_MAX;
    }

    fn next(&mut self) -> Option<Order> {
        self.waiting.pop_front()
    }
}

/// What looks at programs from outside.
#[derive(Debug)]
struct Watchers {
    setup: Setup,
    faults: Vec<FaultRecorder>,
    samplers: Vec<(Sender<()>, JoinHandle<Vec<String>>)>,
}

impl Watchers {
    fn new(setup: Setup) -> Self {
        Self {
            setup,
            faults: Vec::new(),
            samplers: Vec::new(),
        }
    }

    /// Begins to watch; what cannot be watched.
    fn watch(&mut self, process: u32, service: &Service) -> Vec<String> {
        let mut problems = Vec::new();
        let clock = self.setup.clock.unwrap_or(Clock::NANOS);
        let limit = service.limit_bytes / SAMPLES_PART;
        let streams = || Streams::new(self.setup.streams.clone(), clock, limit);
        let mut often = match service.sample {
            None => Often::ByItself,
            Some(Duration::ZERO) => Often::Never,
            Some(asked) => Often::Every(asked),
        };
        if service.every_fault {
            let started = FaultRecorder::start(FaultJob {
                process,
                streams: &self.setup.streams,
                limit_bytes: service.limit_bytes,
                zero_ns: zero_ns(&clock),
                curve: (often == Often::ByItself).then(|| Curve::new(streams(), clock)),
            });
            match started {
                // When each page fault came is known better than by looking.
                Ok(recorder) if often == Often::ByItself => {
                    self.faults.push(recorder);
                    often = Often::Never;
                }
                Ok(recorder) => self.faults.push(recorder),
                Err(refused) => problems.push(refused.to_string()),
            }
        }
        let now = clock.at(clock::now()).0;
        let from_now =
            |at_ns: u64| Instant::now() + Duration::from_nanos(at_ns.saturating_sub(now));
        let window = (from_now(self.setup.from_ns), self.setup.to_ns.map(from_now));
        let sampler = Sampler::new(process, often, window, streams());
        let (open, closed) = mpsc::channel();
        let thread = thread::Builder::new().name("sampler".to_owned());
        let started = thread.spawn(move || {
            let (streams, mut problems) = sampler.run(&closed);
            problems.extend(streams.finish().err().as_ref().map(unwritten));
            problems
        });
        match started {
            Ok(thread) => self.samplers.push((open, thread)),
            Err(error) => problems.push(format!("Nothing is sampled: {error}; end some programs.")),
        }
        problems
    }

    fn finish(self) -> Vec<String> {
        let mut problems = Vec::new();
        for recorder in self.faults {
            problems.extend(recorder.finish());
        }
        for (open, thread) in self.samplers {
            drop(open);
            problems.extend(thread.join().unwrap_or_else(|_| {
                vec!["The sampler broke off, so the last samples are missing; please report this as a bug of fathomp.".to_owned()]
            }));
        }
        problems
    }
}

/// `CLOCK_MONOTONIC` at the recording's time 0, which was a moment ago: the rate at which
/// the recording's clock runs does not matter yet.
fn zero_ns(clock: &Clock) -> u64 {
    let now = clock::pair();
    now.monotonic_ns.saturating_sub(clock.at(now.ticks).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_may_come_in_pieces() {
        let mut orders = Orders::default();
        orders.take(b"{\"watch\":");
        assert_eq!(orders.next(), None);
        orders.take(b"7}\n\"finish\"\n\"cl");
        assert_eq!(orders.next(), Some(Order::Watch(7)));
        assert_eq!(orders.next(), Some(Order::Finish));
        assert!(orders.next().is_none() && !orders.ended);
        orders.take(b"ose\"\n");
        assert_eq!(orders.next(), Some(Order::Close));
    }

    #[test]
    fn nonsense_ends_the_orders() {
        let mut orders = Orders::default();
        orders.take(b"dance\n");
        assert!(orders.ended);
        let mut orders = Orders::default();
        orders.take(&[b'x'; ORDER_BYTES_MAX + 1]);
        assert!(orders.ended);
    }
}
