//! One more run of a program, at which its threads are looked at now and then: which functions
//! they are in, and who called those.
//!
//! It is not recorded, so that looking disturbs no times. What goes wrong only means that it
//! tells nothing.

use crate::launch::Launch;
use crate::recording::watch::is_runtime;
use fathomp_analysis::Analysis;
use fathomp_analysis::samples::{Look, Samples, Step, samples};
use fathomp_analysis::symbols::{Callers, Frame};
use fathomp_sys::stopped::{self, RETURN_ADDRESS, STACK_POINTER, Stopped};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// So often threads are looked at over a run, about.
const SAMPLES: u32 = 400;
const SAMPLE_INTERVAL_MIN: Duration = Duration::from_millis(1);
const SAMPLE_INTERVAL_MAX: Duration = Duration::from_millis(50);
/// A run ends after so long, and after so many times what the recorded one took, and this.
const RUN_TIMEOUT_MAX: Duration = Duration::from_secs(60);
const RUN_TIMEOUT_FACTOR: u32 = 4;
const RUN_TIMEOUT_MIN: Duration = Duration::from_secs(5);
/// Threads looked at each time.
const THREADS: usize = 16;
/// Bytes of a stack, and functions on it, that are read.
const STACK_BYTES: usize = 64 << 10;
const DEEPEST: usize = 100;
/// Looks that are kept.
const LOOKS: usize = 20_000;
/// Number of the system call in which threads wait for locks.
const FUTEX: u64 = 202;

/// What such a run told.
#[derive(Default)]
pub(super) struct Looked {
    /// Nothing if no thread was seen in a region.
    pub(super) samples: Option<Samples>,
    /// The signal that asked to stop, if one did.
    pub(super) interrupted: Option<i32>,
}

/// Runs the program with as many threads as `like`, a recording of it, and looks.
pub(super) fn look(launch: &Launch<'_>, like: &Analysis, threads: u32) -> Looked {
    let expected = Duration::from_nanos(like.wall_ns);
    let pause = (expected / SAMPLES).clamp(SAMPLE_INTERVAL_MIN, SAMPLE_INTERVAL_MAX);
    let Ok(running) = launch.start() else {
        return Looked::default();
    };
    let (ended, until) = channel();
    let process = i32::try_from(running.pid()).unwrap_or_default();
    let looking = thread::spawn(move || Process::new(process).look_until(&until, pause));
    let mut looks = Vec::new();
    let limit = (expected * RUN_TIMEOUT_FACTOR + RUN_TIMEOUT_MIN).min(RUN_TIMEOUT_MAX);
    // While the number of the process is nobody else's.
    let over = running.wait_telling(Some(limit), || {
        drop(ended);
        looks = looking.join().unwrap_or_default();
    });
    let ours = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        launch.library == Some(path) || is_runtime(&name)
    };
    let found = samples(&looks, like, threads, &ours);
    Looked {
        samples: (!found.regions.is_empty()).then_some(found),
        interrupted: over.ok().and_then(|ended| ended.interrupted),
    }
}

/// A piece of a file that is mapped into a process.
struct Mapping {
    begin: u64,
    end: u64,
    offset: u64,
    module: Arc<Path>,
}

/// The process that is looked at.
struct Process {
    pid: i32,
    mappings: Vec<Mapping>,
    modules: Vec<(Arc<Path>, Option<Callers>)>,
}

impl Process {
    fn new(pid: i32) -> Self {
        Self {
            pid,
            mappings: Vec::new(),
            modules: Vec::new(),
        }
    }

    fn look_until(mut self, ended: &Receiver<()>, pause: Duration) -> Vec<Look> {
        let mut looks = Vec::new();
        // Not in step with what the program does.
        let mut random: u32 = 1;
        loop {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let now = pause / 2 + pause * (random >> 16) / 0x1_0000;
            if ended.recv_timeout(now) != Err(RecvTimeoutError::Timeout) || looks.len() >= LOOKS {
                return looks;
            }
            let threads = self.threads();
            let from = random as usize % threads.len().max(1);
            for thread in threads
                .iter()
                .cycle()
                .skip(from)
                .take(threads.len().min(THREADS))
            {
                if let Ok(seen) = stopped::look(self.pid, *thread, STACK_BYTES) {
                    looks.push(self.understood(&seen));
                }
            }
        }
    }

    fn threads(&self) -> Vec<i32> {
        let entries = fs::read_dir(format!("/proc/{}/task", self.pid));
        let names = entries.into_iter().flatten().flatten();
        let numbers = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.collect()
    }

    fn understood(&mut self, seen: &Stopped) -> Look {
        let bottom = seen.registers[STACK_POINTER];
        let word = |address: u64| {
            let at = usize::try_from(address.checked_sub(bottom)?).ok()?;
            let bytes = seen.stack.get(at..at.checked_add(8)?)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let mut frame: Frame = seen.registers;
        let mut stack = Vec::new();
        while stack.len() < DEEPEST {
            // A caller goes on behind its call, which may be the last instruction of a function.
            let back = u64::from(!stack.is_empty());
            let Some((mapping, offset)) = self.mapped(frame[RETURN_ADDRESS].wrapping_sub(back))
            else {
                break;
            };
            let module = Arc::clone(&self.mappings[mapping].module);
            let known = self.modules.iter().position(|(path, _)| *path == module);
            let known = known.unwrap_or_else(|| {
                let callers = Callers::read(&module);
                self.modules.push((Arc::clone(&module), callers));
                self.modules.len() - 1
            });
            let Some(callers) = &self.modules[known].1 else {
                break;
            };
            let Some(address) = callers.address_of(offset) else {
                break;
            };
            stack.push(Step {
                module,
                address,
                function: callers.function(address),
            });
            match callers.caller(&frame, address, word) {
                Some(caller) => frame = caller,
                None => break,
            }
        }
        Look {
            stack,
            asleep: seen.system_call == Some(FUTEX),
            in_kernel: seen.system_call.is_some_and(|call| call != FUTEX),
        }
    }

    /// The mapping at an address, and the address's place in its file.
    fn mapped(&mut self, address: u64) -> Option<(usize, u64)> {
        let find = |mappings: &[Mapping]| {
            let at = mappings.partition_point(|one| one.end <= address);
            let one = mappings.get(at).filter(|one| one.begin <= address)?;
            Some((at, address - one.begin + one.offset))
        };
        find(&self.mappings).or_else(|| {
            let text = fs::read_to_string(format!("/proc/{}/maps", self.pid)).ok()?;
            self.mappings = text.lines().filter_map(mapping).collect();
            find(&self.mappings)
        })
    }
}

/// A line of `/proc/PID/maps` that is a file's code.
fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (begin, end) = fields.next()?.split_once('-')?;
    let executable = fields.next()?.contains('x');
    let offset = fields.next()?;
    let path = fields.nth(2)?.trim_start();
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    Some(Mapping {
        begin: number(begin)?,
        end: number(end)?,
        offset: number(offset)?,
        module: Arc::from(Path::new(path)),
    })
    .filter(|_| executable && path.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_files_is_found_among_mappings() {
        let line = "7f10-7f12 r-xp 00002000 fe:00 1                    /lib/a b.so";
        let found = mapping(line).unwrap();
        assert_eq!(
            (found.begin, found.end, found.offset),
            (0x7f10, 0x7f12, 0x2000)
        );
        assert_eq!(&*found.module, Path::new("/lib/a b.so"));
        assert!(mapping("7f10-7f12 r--p 00002000 fe:00 1   /lib/a.so").is_none());
        assert!(mapping("7f10-7f12 r-xp 00000000 00:00 0   [vdso]").is_none());
        assert!(mapping("7f10-7f12 rwxp 00000000 00:00 0").is_none());
    }
}
