//! How long the analysis of a large recording takes, and how much memory.
//!
//!     cargo run --release -p fathomp-skyline --example large -- [TASKS [EVENTS [THREADS]]]
//!
//! The recording is made up while it is read, so that none has to be kept: 1,024 tasks
//! with 10^8 intervals of two counters in three states, in bursts that repeat.

use fathomp_paging::{
    Activity, Cause, Counter, Counts, Ending, Interval, Mark, State, Task, TaskId, TaskKind,
};
use fathomp_skyline::{Bins, Settings, Source, analyse};
use std::convert::Infallible;
use std::error::Error;
use std::time::Instant;

/// Length of the run.
const RUN_NS: u64 = 100_000_000_000;

struct MadeUp {
    tasks: Vec<Task>,
    events: u64,
}

impl Source for MadeUp {
    type Error = Infallible;

    fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    fn visit<F: FnMut(&Interval)>(&self, task: usize, mut each: F) -> Result<(), Infallible> {
        // A generator of Marsaglia's: a few shifts an event.
        let mut random = 0x9e37_79b9_7f4a_7c15_u64 ^ (task as u64 + 1).wrapping_mul(0xff51_afd7);
        let step = RUN_NS / self.events;
        let mut begin = 0;
        for event in 0..self.events {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let end = if event + 1 == self.events {
                RUN_NS
            } else {
                (event + 1) * step - random % (step / 2)
            };
            let activity = Activity::ALL[(random >> 20) as usize % 3];
            let mut counts = Counts::ZERO;
            let in_burst = (begin / 1_000_000_000) % 4 == 0;
            counts[Counter::MinorFaults] = if in_burst { random >> 61 } else { random >> 63 };
            counts[Counter::PageIns] = u64::from(random & 0xff == 0);
            each(&Interval {
                begin,
                end,
                state: State::active(activity),
                cause: Cause::NONE,
                counts,
                merged: 1,
            });
            begin = end;
        }
        Ok(())
    }

    fn marks<F: FnMut(&Mark)>(&self, _task: usize, _each: F) -> Result<(), Infallible> {
        Ok(())
    }

    fn name(&self, _task: usize, _name: u32) -> Option<String> {
        None
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |otherwise: u64| -> Result<u64, Box<dyn Error>> {
        let given = arguments.next().map(|text| text.parse());
        Ok(given.transpose()?.unwrap_or(otherwise))
    };
    let (tasks, events, threads) = (number(1_024)?, number(100_000_000)?, number(2)?);
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads as usize)
        .build_global()?;
    let source = MadeUp {
        tasks: (0..tasks as u32).map(task).collect(),
        events: (events / tasks.max(1)).max(2),
    };
    // What making up costs by itself, on one thread.
    let begin = Instant::now();
    let mut sum = 0_u64;
    source.visit(0, |interval| sum += interval.counts[Counter::MinorFaults])?;
    let making_s = begin.elapsed().as_secs_f64() * tasks as f64;

    let settings = Settings::default();
    let begin = Instant::now();
    let bins = Bins::read(&source, &settings)?;
    let read_s = begin.elapsed().as_secs_f64();
    let after_reading = peak_mb();
    let begin = Instant::now();
    let analysis = analyse(&bins, &settings);
    let analysed_s = begin.elapsed().as_secs_f64();
    println!(
        "{tasks} tasks, {events} intervals, {threads} threads: read {read_s:.2} s (making them up \
         takes {making_s:.2} s of one thread), analysed {analysed_s:.2} s; at most {:.0} MB while \
         reading, {:.0} MB in all",
        after_reading,
        peak_mb()
    );
    for finding in &analysis.findings {
        println!("  {}", finding.sentence);
    }
    for problem in &analysis.problems {
        println!("  ! {}", problem.sentence);
    }
    std::hint::black_box(sum);
    Ok(())
}

fn task(number: u32) -> Task {
    Task {
        id: TaskId(number),
        kind: TaskKind::Thread,
        process: number,
        parent: 0,
        os_id: number,
        program: "made-up".to_owned(),
        rank: Some(number),
        node: None,
        openmp_thread: None,
        host: String::new(),
        begin: 0,
        end: RUN_NS,
        ending: Ending::Exit,
    }
}

/// The most memory that the process had, in 10^6 bytes; 0 if it is not known.
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1.024e-3
}
