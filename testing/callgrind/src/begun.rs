//! What parallel regions are begun with, noted by a library (`begun.c`) that is built when
//! it is needed and loaded before the OpenMP runtime: independent of our own recorder.

use crate::JudgeError;
use fathomp_launch::names::JUDGE_NOTES;
use fathomp_launch::openmp::NUM_THREADS;
use fathomp_launch::steering::PRELOAD;
use fathomp_process::{Limits, run};
use fathomp_regions::{Environment, Leaf};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// One beginning of a region by one thread alone.
#[derive(Clone, Debug)]
pub struct Begun {
    /// Address of the region's function in the program's file.
    pub function: u64,
    /// Where the program's file is loaded, less where it is linked to lie.
    bias: u64,
    data: u64,
    block: Vec<u8>,
    memory: Arc<Vec<(u64, Vec<u8>)>>,
}

/// All beginnings that were noted.
#[derive(Clone, Debug, Default)]
pub struct Beginnings {
    /// The first ones of each function, in order.
    pub begun: Vec<Begun>,
    /// How often each function was begun.
    pub times: BTreeMap<u64, u64>,
}

impl Environment for Begun {
    fn leaf(&self, leaf: Leaf) -> Option<i64> {
        match leaf {
            Leaf::Data => Some(self.data as i64),
            Leaf::Module(offset) => Some(self.bias.wrapping_add(offset) as i64),
            Leaf::Threads => Some(1),
            Leaf::Thread => Some(0),
            _ => None,
        }
    }

    fn memory(&self, address: u64, bytes: u8) -> Option<u64> {
        let within = |start: u64, memory: &[u8]| {
            let from = usize::try_from(address.checked_sub(start)?).ok()?;
            let found = memory.get(from..from.checked_add(usize::from(bytes))?)?;
            let mut word = [0; 8];
            word.get_mut(..found.len())?.copy_from_slice(found);
            Some(u64::from_le_bytes(word))
        };
        within(self.data, &self.block).or_else(|| {
            let mut parts = self.memory.iter();
            parts.find_map(|(start, memory)| within(*start, memory))
        })
    }
}

/// Runs a program (its words) with one thread and notes what its regions begin with.
///
/// # Errors
/// See [`JudgeError`].
pub fn begun(
    program: &[impl AsRef<OsStr>],
    environment: &[(&str, &str)],
    time: Duration,
) -> Result<Beginnings, JudgeError> {
    let limits = Limits {
        time,
        bytes: 256 << 10,
    };
    let directory = tempfile::tempdir().map_err(JudgeError::Output)?;
    let source = directory.path().join("begun.c");
    let library = directory.path().join("begun.so");
    let notes = directory.path().join("notes");
    std::fs::write(&source, include_str!("begun.c")).map_err(JudgeError::Output)?;
    let mut compiler = Command::new("gcc");
    compiler
        .args(["-shared", "-fPIC", "-O1"])
        .arg(format!("-DNOTES_VARIABLE=\"{JUDGE_NOTES}\""))
        .arg("-o")
        .args([&library, &source])
        .arg("-ldl");
    let built = run(&mut compiler, limits).map_err(JudgeError::Run)?;
    if !built.status.success() {
        return Err(JudgeError::Failed(Box::new(built)));
    }
    let (name, arguments) = program.split_first().ok_or_else(|| {
        JudgeError::Output(io::Error::new(io::ErrorKind::InvalidInput, "no program"))
    })?;
    let mut command = Command::new(name);
    command
        .args(arguments)
        .envs(environment.iter().copied())
        .env(NUM_THREADS, "1")
        .env(JUDGE_NOTES.name, &notes)
        .env(PRELOAD, &library);
    let finished = run(&mut command, limits).map_err(JudgeError::Run)?;
    if !finished.status.success() {
        return Err(JudgeError::Failed(Box::new(finished)));
    }
    let text = std::fs::read_to_string(&notes).map_err(JudgeError::Output)?;
    Ok(read(&text))
}

fn read(text: &str) -> Beginnings {
    let mut found = Beginnings::default();
    let mut bias = 0;
    let mut memory: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut shared = Arc::new(Vec::new());
    for line in text.lines() {
        let mut words = line.split(' ');
        let kind = words.next().unwrap_or("");
        let mut number = || {
            let digits = words.next()?.strip_prefix("0x")?;
            u64::from_str_radix(digits, 16).ok()
        };
        match kind {
            "loaded" => bias = number().unwrap_or(0),
            "memory" => {
                if let Some(start) = number() {
                    memory.retain(|(known, _)| *known != start);
                    memory.push((start, hexadecimal(words.next().unwrap_or(""))));
                    shared = Arc::new(memory.clone());
                }
            }
            "region" => {
                if let (Some(function), data) = (number(), number().unwrap_or(0)) {
                    found.begun.push(Begun {
                        function: function.wrapping_sub(bias),
                        bias,
                        data,
                        block: hexadecimal(words.next().unwrap_or("")),
                        memory: Arc::clone(&shared),
                    });
                }
            }
            "times" => {
                if let Some(function) = number() {
                    let count = words.next().and_then(|word| word.parse().ok());
                    found
                        .times
                        .insert(function.wrapping_sub(bias), count.unwrap_or(0));
                }
            }
            _ => {}
        }
    }
    found
}

fn hexadecimal(text: &str) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap_or(0) as u8;
    let pairs = text.as_bytes().chunks_exact(2);
    pairs
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}
