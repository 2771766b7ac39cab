//! How much memory a workload takes, known before it takes it.

use crate::answer::{AnswerError, Described, last_line};
use crate::trial::OUTPUT_BYTES;
use fathomp_process::{self as process, Limits, RunError};
use object::Endianness;
use object::elf;
use object::read::elf::{ElfFile64, ProgramHeader as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Describing oneself takes no time.
const LIMITS: Limits = Limits {
    time: Duration::from_secs(30),
    bytes: OUTPUT_BYTES,
};

/// What a workload needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Code and static data.
    pub static_bytes: u64,
    /// What it will allocate.
    pub heap_bytes: u64,
}

/// The need is not known.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The program cannot be read.
    #[error("{}: cannot be read as a program ({reason}): remove it, and it will be built again", path.display())]
    Program {
        /// The program.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It does not fit even without its allocations.
    #[error("its static data alone take {}, but only {} are free", binary_size(*.need), binary_size(*.free))]
    Static {
        /// Bytes of code and static data.
        need: u64,
        /// Bytes available.
        free: u64,
    },
    /// It could not be asked.
    #[error("asked for its memory with --describe, {0}")]
    Run(#[from] RunError),
    /// It did not answer.
    #[error("asked for its memory with --describe, {0}")]
    Answer(#[from] AnswerError),
    /// It refused the size, for example.
    #[error("{0}")]
    Refused(String),
}

impl Memory {
    /// Code, static data and allocations.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.static_bytes.saturating_add(self.heap_bytes)
    }

    /// Asks `program` what it would need with these arguments. It is not even
    /// started if its static data exceed `free` bytes.
    ///
    /// # Errors
    /// See [`MemoryError`].
    pub fn needed(
        program: &Path,
        arguments: &[String],
        free: Option<u64>,
    ) -> Result<Self, MemoryError> {
        let static_bytes = static_bytes(program)?;
        if let Some(free) = free.filter(|free| static_bytes > *free) {
            return Err(MemoryError::Static {
                need: static_bytes,
                free,
            });
        }
        let mut command = Command::new(program);
        command
            .args(arguments)
            .arg("--describe")
            .env_remove(fathomp_launch::steering::PRELOAD);
        let answer = process::run(&mut command, LIMITS)?;
        if !answer.status.success() {
            let words = answer.stderr.trim();
            return Err(MemoryError::Refused(if words.is_empty() {
                format!("asked for its memory, it ended with {}", answer.describe())
            } else {
                words.lines().next_back().unwrap_or_default().to_owned()
            }));
        }
        let described: Described = last_line(&answer.stdout)?;
        Ok(Self {
            static_bytes,
            heap_bytes: described.heap_bytes,
        })
    }
}

/// Bytes that the loader maps for the program itself.
fn static_bytes(program: &Path) -> Result<u64, MemoryError> {
    let damaged = |reason: String| MemoryError::Program {
        path: program.to_owned(),
        reason,
    };
    let data = fs::read(program).map_err(|error| damaged(error.to_string()))?;
    let file =
        ElfFile64::<Endianness>::parse(&*data).map_err(|error| damaged(error.to_string()))?;
    let endian = file.endian();
    Ok(file
        .elf_program_headers()
        .iter()
        .filter(|header| header.p_type(endian) == elf::PT_LOAD)
        .fold(0, |sum: u64, header| {
            sum.saturating_add(header.p_memsz(endian))
        }))
}

/// Bytes that a new program can have without others being driven out: what the
/// kernel calls available, or less in a limited control group. `None` if the
/// kernel does not say.
#[must_use]
pub fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo")
        .ok()
        .as_deref()
        .and_then(mem_available);
    let number = |file: &str| -> Option<u64> {
        let text = fs::read_to_string(Path::new("/sys/fs/cgroup").join(file)).ok()?;
        text.trim().parse().ok()
    };
    let group = number("memory.max").map(|most| {
        let used = number("memory.current").unwrap_or(0);
        most.saturating_sub(used)
    });
    machine.into_iter().chain(group).min()
}

fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1 << 10)
}

/// A size as people say it: `1.2 GiB`.
#[must_use]
pub fn binary_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    // 1023.96 would be shown as 1024.0.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or_default();
    if unit == 0 {
        format!("{value:.0} {name}")
    } else {
        format!("{value:.1} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_toolchain::{Compiler, File, Recipe, build};

    fn program(cache: &Path, text: &'static str) -> PathBuf {
        let recipe = Recipe {
            name: "hungry".to_owned(),
            files: vec![File { path: "a.c", text }],
            includes: Vec::new(),
            flags: Vec::new(),
            libraries: Vec::new(),
        };
        let gcc = Compiler::find("gcc").unwrap();
        build(&gcc, &recipe, cache).unwrap().path
    }

    const HUNGRY: &str = "#include <stdio.h>\nstatic char big[100 << 20];\nint main(int argc, char **argv)\n{\n    if (argc > 2) { fprintf(stderr, \"hungry: no size %s\\n\", argv[1]); return 2; }\n    printf(\"{\\\"heap_bytes\\\":%d}\\n\", 7 + big[argc]);\n}\n";

    #[test]
    fn static_data_and_allocations_are_counted() {
        let cache = tempfile::tempdir().unwrap();
        let path = program(cache.path(), HUNGRY);
        let need = Memory::needed(&path, &[], None).unwrap();
        assert_eq!(need.heap_bytes, 7);
        assert!((100 << 20..101 << 20).contains(&need.static_bytes));
    }

    #[test]
    fn what_does_not_fit_is_not_started() {
        let cache = tempfile::tempdir().unwrap();
        let path = program(
            cache.path(),
            "static char big[100 << 20]; int main(void) { for (;;) big[0]++; }\n",
        );
        let error = Memory::needed(&path, &[], Some(50 << 20)).unwrap_err();
        assert!(matches!(error, MemoryError::Static { .. }), "{error}");
        assert!(error.to_string().contains("100.0 MiB"), "{error}");
    }

    #[test]
    fn a_refusal_is_passed_on() {
        let cache = tempfile::tempdir().unwrap();
        let path = program(cache.path(), HUNGRY);
        let error = Memory::needed(&path, &["huge".to_owned()], None).unwrap_err();
        assert_eq!(error.to_string(), "hungry: no size huge");
        let damaged = cache.path().join("damaged");
        fs::write(&damaged, "no program").unwrap();
        let error = Memory::needed(&damaged, &[], None).unwrap_err();
        assert!(matches!(error, MemoryError::Program { .. }), "{error}");
    }

    #[test]
    fn the_kernel_says_what_is_available() {
        assert_eq!(
            mem_available("MemTotal: 9 kB\nMemAvailable:  2 kB\n"),
            Some(2048)
        );
        assert_eq!(mem_available("nonsense"), None);
        assert!(available().is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn sizes_in_words() {
        assert_eq!(binary_size(0), "0 bytes");
        assert_eq!(binary_size(1 << 20), "1.0 MiB");
        assert_eq!(binary_size((1 << 30) - 1), "1.0 GiB");
        assert_eq!(binary_size(u64::MAX), "16777216.0 TiB");
    }
}
