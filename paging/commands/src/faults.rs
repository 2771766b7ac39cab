//! Every page fault of a program, from the kernel's rings into a file.

use crate::fault_curve::Curve;
use crate::sampling::{Streams, unwritten};
use fathomp_paging::faults::{
    FILE, Fault, FaultEvent, FaultsNote, FaultsWriter, Found, Mapping, Sorter,
};
use fathomp_sys::clock::{self, monotonic_ns};
use fathomp_sys::perf::{self, FaultRings, PerfError, Record};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Longest time between two looks at the rings.
const LOOK: Duration = Duration::from_millis(2);
/// Looks after which what has gathered is written.
const LOOKS_PER_WRITE: u32 = 100;
/// A stack pointer that has moved so far since it was told last is told again: a thread's
/// stack stays where it is, other than that of a fibre.
const STACK_MOVES: u64 = 1 << 20;

/// Faults are not recorded.
#[derive(Debug, thiserror::Error)]
pub(super) enum FaultsRefused {
    #[error("Single page faults are not recorded: {0}.")]
    Perf(#[from] PerfError),
    #[error("Single page faults are not recorded: cannot write {}: {source}; choose another place for the recording.", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("Single page faults are not recorded: cannot start a thread: {0}; end some programs.")]
    Thread(io::Error),
}

/// A recorder at work.
#[derive(Debug)]
pub(super) struct FaultRecorder {
    /// Closed to ask for the end.
    open: Sender<()>,
    thread: JoinHandle<Vec<String>>,
}

/// What to record, and where to.
#[derive(Debug)]
pub(super) struct Job<'a> {
    /// A process that is about to become a program.
    pub(super) process: u32,
    /// Directory of the paging recording.
    pub(super) streams: &'a Path,
    /// Bytes that the file may have.
    pub(super) limit_bytes: u64,
    /// `CLOCK_MONOTONIC` at the recording's time 0.
    pub(super) zero_ns: u64,
    /// Where it is kept how many faults each thread had when.
    pub(super) curve: Option<Curve<Streams>>,
}

impl FaultRecorder {
    /// Begins to record.
    pub(super) fn start(job: Job<'_>) -> Result<Self, FaultsRefused> {
        let rings = FaultRings::open(job.process)?;
        let path = job.streams.join(FILE);
        let unwritable = |source| FaultsRefused::File {
            path: path.clone(),
            source,
        };
        let file = File::create(&path).map_err(unwritable)?;
        let note = FaultsNote {
            host: fathomp_console::host::machine().host,
            presence_known: rings.knows_presence(),
            ..FaultsNote::default()
        };
        let writer = FaultsWriter::new(BufWriter::new(file), job.limit_bytes, note);
        let recording = Recording {
            huge_pages: huge_pages(),
            rings,
            intake: Intake::new(job.zero_ns),
            writer: writer.map_err(unwritable)?,
            curve: job.curve,
        };
        let (open, closed) = mpsc::channel();
        let thread = thread::Builder::new().name("faults".to_owned());
        let thread = thread.spawn(move || match recording.run(&closed) {
            Ok((note, uncurved)) => {
                let mut said = remarks(&note);
                said.extend(uncurved.as_ref().map(unwritten));
                said
            }
            Err(error) => vec![format!(
                "The recording of page faults broke off: cannot write {}: {error}; free some space and record again.",
                path.display()
            )],
        });
        Ok(Self {
            open,
            thread: thread.map_err(FaultsRefused::Thread)?,
        })
    }

    /// Takes what is left, now that the program has ended; what should be known of it.
    pub(super) fn finish(self) -> Vec<String> {
        drop(self.open);
        self.thread.join().unwrap_or_else(|_| {
            vec!["The recorder of page faults broke off, so their end is missing; please report this as a bug of fathomp.".to_owned()]
        })
    }
}

/// What should be known of a file of faults.
fn remarks(note: &FaultsNote) -> Vec<String> {
    let mut remarks = Vec::new();
    if note.lost > 0 {
        remarks.push(format!(
            "Of single page faults, {} of about {} came faster than they could be taken and are missing; the counts of tasks are complete.",
            note.lost,
            note.lost + note.faults + note.left_out
        ));
    }
    if note.left_out > 0 {
        remarks.push(format!(
            "Of single page faults, the last {} of {} were left out because the recording reached its limit; give a larger --max-size.",
            note.left_out,
            note.faults + note.left_out
        ));
    }
    if !note.presence_known {
        remarks.push(
            "Which page faults were copies on write is not known: Linux 5.11 tells.".to_owned(),
        );
    }
    remarks
}

struct Recording {
    rings: FaultRings,
    intake: Intake,
    writer: FaultsWriter<BufWriter<File>>,
    curve: Option<Curve<Streams>>,
    huge_pages: Option<u64>,
}

impl Recording {
    /// Follows the rings until `closed` is, and completes the file; why the curve could not be
    /// written, if it could not.
    fn run(mut self, closed: &Receiver<()>) -> io::Result<(FaultsNote, Option<io::Error>)> {
        // All that happened before the look before the last one has arrived.
        let mut before = 0;
        let mut looks = 0_u32;
        let mut written = Ok(());
        loop {
            // Asked before the look: what is there when the end is told is all there is.
            let last = closed.try_recv() == Err(TryRecvError::Disconnected);
            if !last {
                self.rings.wait(LOOK)?;
            }
            let now = self.intake.time(monotonic_ns());
            self.rings.drain(|record| self.intake.take(record));
            let until = if last { u64::MAX } else { before };
            before = now;
            let (writer, curve) = (&mut self.writer, &mut self.curve);
            let pair = clock::pair();
            let zero_ns = self.intake.zero_ns;
            self.intake.sorter.release(until, |event| {
                if let Some(curve) = curve {
                    curve.put(event, &pair, zero_ns);
                }
                if written.is_ok() {
                    written = writer.put(event);
                }
            });
            looks += 1;
            if looks.is_multiple_of(LOOKS_PER_WRITE) && written.is_ok() {
                written = self.writer.flush();
            }
            // Taken on even if the disk is full, or the program would be told of lost
            // events by the kernel; the first error is the one to tell.
            if last {
                break;
            }
        }
        let zero_ns = self.intake.zero_ns;
        let curve = self
            .curve
            .map(|curve| curve.finish(&clock::pair(), zero_ns));
        let uncurved = curve.and_then(|streams| streams.finish().err());
        written?;
        let note = self.writer.note();
        note.lost = self.intake.lost;
        note.huge_pages = self
            .huge_pages
            .and_then(|before| Some(huge_pages()?.saturating_sub(before)));
        Ok((self.writer.finish()?, uncurved))
    }
}

/// Turns what the kernel says into what the file holds.
#[derive(Debug, Default)]
struct Intake {
    zero_ns: u64,
    sorter: Sorter,
    /// Stack pointers told last, by thread.
    stacks: HashMap<u32, u64>,
    lost: u64,
}

impl Intake {
    fn new(zero_ns: u64) -> Self {
        Self {
            zero_ns,
            ..Self::default()
        }
    }

    /// The recording's time of a moment on `CLOCK_MONOTONIC`.
    fn time(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.zero_ns)
    }

    fn take(&mut self, record: Record<'_>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let event = match record {
            Record::Fault(fault) => {
                self.stack(&fault);
                FaultEvent::Fault(Fault {
                    at: self.time(fault.at),
                    process: fault.process,
                    thread: fault.thread,
                    address: fault.address,
                    instruction: fault.instruction,
                    found: match fault.present {
                        None => Found::Unknown,
                        Some(false) => Found::Nothing,
                        Some(true) => Found::Page,
                    },
                })
            }
            Record::Major {
                process,
                thread,
                address,
                at,
            } => FaultEvent::Served {
                at: self.time(at),
                process,
                thread,
                address,
            },
            Record::Map(map) => FaultEvent::Mapping(Mapping {
                at: self.time(map.at),
                process: map.process,
                start: map.start,
                end: map.start.saturating_add(map.length),
                offset: map.offset,
                protection: map.protection,
                flags: map.flags,
                name: text(map.name),
            }),
            Record::Name {
                at,
                process,
                exec: true,
                name,
                ..
            } => FaultEvent::Program {
                at: self.time(at),
                process,
                name: text(name),
            },
            Record::Fork {
                at,
                process,
                parent,
                thread,
            } => {
                // The kernel gives its number to a new thread.
                self.stacks.remove(&thread);
                if process == parent {
                    return;
                }
                FaultEvent::Fork {
                    at: self.time(at),
                    process,
                    parent,
                }
            }
            Record::Lost(count) => {
                self.lost = self.lost.saturating_add(count);
                return;
            }
            Record::Name { exec: false, .. } => return,
        };
        self.sorter.put(event);
    }

    /// Tells where a thread's stack is, if that is news.
    fn stack(&mut self, fault: &perf::Fault) {
        let told = self.stacks.get(&fault.thread);
        let moved = told.is_none_or(|told| told.abs_diff(fault.stack) >= STACK_MOVES);
        if fault.stack != 0 && moved {
            self.stacks.insert(fault.thread, fault.stack);
            self.sorter.put(FaultEvent::Stack {
                at: self.time(fault.at),
                process: fault.process,
                thread: fault.thread,
                pointer: fault.stack,
            });
        }
    }
}

/// Huge pages that the kernel has given out at faults since it started.
fn huge_pages() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/vmstat").ok()?;
    let count = text
        .lines()
        .find_map(|line| line.strip_prefix("thp_fault_alloc "));
    count?.trim().parse().ok()
}
