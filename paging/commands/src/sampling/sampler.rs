//! The sampler of a program.

use super::family::Family;
use super::kernel::{self, ProcFile};
use super::pace::{OwnPace, Pace};
use super::thread::{How, Thread, difference};
use super::{Often, SampleSink, Sampled};
use fathomp_paging::{Counter, Counts};
use fathomp_sys::clock;
use fathomp_sys::perf::{PerfError, Seen};
use fathomp_types::Ticks;
use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Between two looks at swap, ...
const SWAP_INTERVAL: Duration = Duration::from_millis(20);
/// ... and at whether there is any, where there is none.
const NO_SWAP_INTERVAL: Duration = Duration::from_secs(1);
/// Shortest time between two searches for new threads, which cost more than a look at
/// those that are known, if an interval was asked for.
const SEARCH_INTERVAL: Duration = Duration::from_millis(10);
/// Longest time between two searches of a sampler that chooses its interval, ...
const SEARCH_INTERVAL_MAX: Duration = Duration::from_millis(200);
/// ... and searches for no more than one part of the time in so many.
const SEARCH_COST: u64 = 100;
/// What is due so soon is done with what is due now: to be woken costs more than to look.
const TOGETHER: Duration = Duration::from_millis(5);
/// Shortest interval at which threads are looked at in `/proc`, if the interval was asked for.
const FILES_INTERVAL: Duration = Duration::from_millis(10);

/// Looks at a program's processes and threads until it is told to stop.
#[derive(Debug)]
pub(crate) struct Sampler<S> {
    sink: S,
    family: Family,
    threads: HashMap<(u32, u32), Thread>,
    rhythm: Rhythm,
    /// The part of the run in which threads are looked at; before and after it they are only once.
    window: (Instant, Option<Instant>),
    by_events: bool,
    /// The first process of the program.
    first: u32,
    /// When it was looked last for what has begun.
    searched: Option<Ticks>,
    search_ns: u64,
    /// What tells of pages in swap, and how many there were at the last look, by process.
    swapped: HashMap<u32, (ProcFile, Option<u64>)>,
    vmstat: ProcFile,
    system: Counts,
    /// The last look at what has not risen since it was told last.
    quiet: HashMap<Sampled, Ticks>,
    remarks: Remarks,
}

/// How often to look at threads.
#[derive(Debug)]
enum Rhythm {
    Never,
    Asked(Pace),
    Own(OwnPace),
}

/// What was noticed.
#[derive(Debug, Default)]
struct Remarks {
    /// Why there are no performance events.
    refused: Option<PerfError>,
    user_mode_only: bool,
    /// Threads of which there are none, though there are of others.
    by_files: u64,
}

impl<S: SampleSink> Sampler<S> {
    /// Prepares for a process that is about to become a program, whose threads are looked at so
    /// often within that part of the time.
    pub(crate) fn new(
        process: u32,
        often: Often,
        window: (Instant, Option<Instant>),
        sink: S,
    ) -> Self {
        let vmstat = kernel::vmstat();
        Self {
            sink,
            family: Family::of(process),
            threads: HashMap::new(),
            rhythm: match often {
                Often::Never => Rhythm::Never,
                Often::Every(interval) => Rhythm::Asked(Pace::new(interval)),
                Often::ByItself => Rhythm::Own(OwnPace::default()),
            },
            window,
            // The kernel would have to do more at each switch and fault of the program.
            by_events: often != Often::ByItself,
            first: process,
            searched: None,
            search_ns: 0,
            swapped: HashMap::new(),
            system: vmstat.swaps().unwrap_or(Counts::ZERO),
            vmstat,
            quiet: HashMap::new(),
            remarks: Remarks::default(),
        }
    }

    /// Looks until `closed` is. Gives the sink back, and what should be known of the
    /// samples.
    pub(crate) fn run(mut self, closed: &Receiver<()>) -> (S, Vec<String>) {
        self.sink
            .sample(Sampled::System, clock::now(), &Counts::ZERO);
        let start = Instant::now();
        let (mut search, mut swap, mut has_swap) = (start, start, false);
        let mut threads = match self.rhythm {
            Rhythm::Never => None,
            _ => Some(start.max(self.window.0)),
        };
        loop {
            let soon = Instant::now() + TOGETHER;
            let searches = search <= soon;
            if searches {
                self.search();
                let by_cost = Duration::from_nanos(self.search_ns * SEARCH_COST);
                let longest = match &self.rhythm {
                    Rhythm::Never => SWAP_INTERVAL,
                    Rhythm::Asked(pace) => pace.interval().clamp(SEARCH_INTERVAL, SWAP_INTERVAL),
                    Rhythm::Own(_) => by_cost.clamp(SWAP_INTERVAL, SEARCH_INTERVAL_MAX),
                };
                search = Instant::now() + longest;
            }
            if swap <= soon {
                self.look_at_swap();
                has_swap = has_swap || kernel::has_swap();
                let interval = if has_swap {
                    SWAP_INTERVAL
                } else {
                    NO_SWAP_INTERVAL
                };
                swap = Instant::now() + interval;
            }
            let mut next = search.min(swap);
            if let Some(due) = threads {
                let latest = match self.rhythm {
                    Rhythm::Own(_) => soon,
                    _ => Instant::now(),
                };
                if due <= latest {
                    threads = self.look_by_rhythm(due, start, searches);
                }
                next = threads.map_or(next, |due| next.min(due));
            }
            let pause = next.saturating_duration_since(Instant::now());
            if closed.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
        self.look_at_threads(false);
        self.look_at_swap();
        let remarks = self.remarks();
        let at = clock::now();
        for ((process, thread), _) in std::mem::take(&mut self.threads) {
            self.sink.end(Sampled::Thread { process, thread }, at);
        }
        for process in self.family.processes() {
            self.sink.end(Sampled::Process(process), at);
        }
        self.sink.end(Sampled::System, at);
        (self.sink, remarks)
    }

    /// Looks at threads, which was due then, after a search if there was none just now; when the
    /// next look is.
    fn look_by_rhythm(&mut self, due: Instant, start: Instant, searched: bool) -> Option<Instant> {
        let before_ns = clock::thread_cpu_ns();
        self.look_at_threads(searched);
        let wait = match &mut self.rhythm {
            Rhythm::Never => return None,
            Rhythm::Asked(pace) => pace.looked(due.elapsed()),
            Rhythm::Own(pace) => {
                pace.looked(clock::thread_cpu_ns().saturating_sub(before_ns));
                due.elapsed() + pace.interval(start.elapsed())
            }
        };
        let next = due + wait;
        match self.window.1 {
            // What comes after the window is told by a look at the end.
            Some(to) if due >= to => None,
            Some(to) => Some(next.min(to)),
            None => Some(next),
        }
    }

    /// Looks for what has begun or ended.
    fn search(&mut self) {
        let before_ns = clock::thread_cpu_ns();
        self.search_now();
        self.search_ns = clock::thread_cpu_ns().saturating_sub(before_ns);
    }

    fn search_now(&mut self) {
        let thoroughly = matches!(self.rhythm, Rhythm::Asked(_));
        let changes = self.family.refresh(thoroughly);
        let at = clock::now();
        let since = self.searched.replace(at);
        let replaced: HashSet<_> = changes.replaced.iter().copied().collect();
        for (process, thread) in changes.ended {
            if self.threads.contains_key(&(process, thread)) {
                // What it did up to its end can still be read where events count.
                self.look_at(process, thread);
                self.threads.remove(&(process, thread));
                self.end(Sampled::Thread { process, thread }, at);
            }
        }
        for (process, thread) in changes.replaced {
            // What rose since the last look is partly of one program, partly of the other.
            if let Some(known) = self.threads.remove(&(process, thread)) {
                self.end(Sampled::Thread { process, thread }, known.looked_at);
            }
        }
        for process in changes.processes_ended {
            self.swapped.remove(&process);
            self.end(Sampled::Process(process), at);
        }
        for (process, thread) in changes.began {
            // One that was no other program's before has counted all there is since the last search.
            let is_new = (process, thread) != (self.first, self.first)
                && !replaced.contains(&(process, thread));
            if !matches!(self.rhythm, Rhythm::Never) {
                self.begin(process, thread, since.filter(|_| is_new));
            }
        }
    }

    /// Begins to look at a thread, which began after `since`, if that is known.
    fn begin(&mut self, process: u32, thread: u32, since: Option<Ticks>) {
        let (begun, refused) = Thread::begin(process, thread, self.by_events);
        if let Some(error) = refused {
            self.without_events(error);
        }
        let Some(begun) = begun else { return };
        match begun.how() {
            How::Events(seen) => self.remarks.user_mode_only |= seen == Seen::UserMode,
            How::Files => self.remarks.by_files += 1,
        }
        let of = Sampled::Thread { process, thread };
        if let Some(since) = since {
            self.sink.sample(of, since, &Counts::ZERO);
        }
        let counted = match since {
            Some(_) => *begun.counted(),
            None => Counts::ZERO,
        };
        self.sink.sample(of, begun.looked_at, &counted);
        self.threads.insert((process, thread), begun);
    }

    /// There are no performance events of a thread.
    fn without_events(&mut self, error: PerfError) {
        if self.threads.is_empty() {
            // Nor will there be of others.
            self.by_events = false;
            if let Rhythm::Asked(pace) = &mut self.rhythm {
                *pace = Pace::new(pace.interval().max(FILES_INTERVAL));
            }
        }
        self.remarks.refused.get_or_insert(error);
    }

    /// Looks at threads, those of programs that began meanwhile, too.
    fn look_at_threads(&mut self, searched: bool) {
        let is_replaced = |process| self.family.is_replaced(process);
        if !searched && self.family.processes().any(is_replaced) {
            self.search();
        }
        let all: Vec<_> = self.threads.keys().copied().collect();
        for (process, thread) in all {
            self.look_at(process, thread);
        }
    }

    fn look_at(&mut self, process: u32, thread: u32) {
        let Some(known) = self.threads.get_mut(&(process, thread)) else {
            return;
        };
        match known.rose() {
            Some((at, rose)) => self.tell(Sampled::Thread { process, thread }, at, &rose),
            None => self.family.doubt(process),
        }
    }

    fn look_at_swap(&mut self) {
        let at = clock::now();
        if let Some(now) = self.vmstat.swaps() {
            let rose = difference(&now, &self.system);
            self.system = now;
            self.tell(Sampled::System, at, &rose);
        }
        let processes: Vec<_> = self.family.processes().collect();
        for process in processes {
            let (status, last) = self.swapped.entry(process).or_insert_with(|| {
                let status = format!("/proc/{process}/status");
                (ProcFile::new(status.into()), None)
            });
            // Kernel threads and processes that have just ended have no memory.
            let Some(pages) = status.swapped_pages() else {
                continue;
            };
            let of = Sampled::Process(process);
            match last.replace(pages) {
                None => self.sink.sample(of, at, &Counts::ZERO),
                Some(before) => self.tell(of, at, &swapped(before, pages)),
            }
        }
    }

    /// Tells what rose. Looks without any rise are told when the next rise is, so that it
    /// is known when that began.
    fn tell(&mut self, of: Sampled, at: Ticks, rose: &Counts) {
        if rose.is_zero() {
            self.quiet.insert(of, at);
            return;
        }
        if let Some(quiet) = self.quiet.remove(&of) {
            self.sink.sample(of, quiet, &Counts::ZERO);
        }
        self.sink.sample(of, at, rose);
    }

    fn end(&mut self, of: Sampled, at: Ticks) {
        self.quiet.remove(&of);
        self.sink.end(of, at);
    }

    fn remarks(&self) -> Vec<String> {
        let mut said = Vec::new();
        let Rhythm::Asked(pace) = self.rhythm else {
            return said;
        };
        let Remarks {
            refused,
            user_mode_only,
            by_files,
        } = &self.remarks;
        match refused {
            Some(error) if !self.by_events => said.push(format!(
                "Threads were sampled in /proc every {:?}, not oftener: {error}.",
                pace.interval()
            )),
            Some(error) => said.push(format!(
                "{by_files} threads were sampled in /proc, which takes longer: {error}."
            )),
            None => {}
        }
        if *user_mode_only {
            said.push("Samples show page faults in user mode only, and no switches: `sysctl kernel.perf_event_paranoid=1` shows all; the counts of tasks are complete.".to_owned());
        }
        if let Some(asked) = pace.given_up() {
            said.push(format!(
                "The sampler could not keep its interval of {asked:?} and lengthened it to {:?}; give a longer --sample or fewer threads.",
                pace.interval()
            ));
        }
        if self.family.left_out > 0 {
            said.push(format!(
                "{} processes were not sampled because there were too many at the same time.",
                self.family.left_out
            ));
        }
        said
    }
}

/// Pages that went to swap or came back, by how many are there.
fn swapped(before: u64, now: u64) -> Counts {
    let mut rose = Counts::ZERO;
    rose[Counter::ProcessSwapOuts] = now.saturating_sub(before);
    rose[Counter::ProcessSwapIns] = before.saturating_sub(now);
    rose
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::process::{Command, Stdio};
    use std::sync::mpsc;

    #[derive(Default)]
    struct Kept {
        samples: BTreeMap<Sampled, Vec<(Ticks, Counts)>>,
        ended: Vec<Sampled>,
    }

    impl SampleSink for Kept {
        fn sample(&mut self, of: Sampled, at: Ticks, rose: &Counts) {
            self.samples.entry(of).or_default().push((at, *rose));
        }

        fn end(&mut self, of: Sampled, _: Ticks) {
            self.ended.push(of);
        }
    }

    #[test]
    fn a_program_and_its_children_are_sampled_to_their_end() {
        let mut shell = Command::new("sh")
            .args(["-c", "for i in 1 2 3; do sleep 0.05; done; read line"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let process = shell.id();
        let often = Often::Every(Duration::from_millis(1));
        let window = (Instant::now(), None);
        let sampler = Sampler::new(process, often, window, Kept::default());
        let (open, closed) = mpsc::channel();
        let thread = std::thread::spawn(move || sampler.run(&closed));
        std::thread::sleep(Duration::from_millis(300));
        drop(shell.stdin.take());
        shell.wait().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        drop(open);
        let (kept, remarks) = thread.join().unwrap();
        let thread = process;
        let shell = Sampled::Thread { process, thread };
        assert!(kept.samples.contains_key(&Sampled::System));
        let samples = &kept.samples[&shell];
        assert!(samples.is_sorted_by_key(|sample| sample.0));
        assert!(kept.ended.contains(&shell) && kept.ended.contains(&Sampled::Process(process)));
        let others = kept.samples.keys().filter(|of| **of != Sampled::System);
        let others = others.filter(|of| **of != shell && **of != Sampled::Process(process));
        assert!(others.count() >= 2, "{:?}", kept.samples.keys());
        // Its switches can be seen only where the kernel may be looked at.
        if remarks.is_empty() {
            let switches = samples.iter().map(|one| one.1[Counter::VoluntarySwitches]);
            assert!(switches.sum::<u64>() > 0, "{samples:?}");
        }
    }

    #[test]
    fn pages_go_to_swap_and_come_back() {
        assert_eq!(swapped(5, 9)[Counter::ProcessSwapOuts], 4);
        assert_eq!(swapped(9, 5)[Counter::ProcessSwapIns], 4);
        assert!(swapped(7, 7).is_zero());
    }
}
