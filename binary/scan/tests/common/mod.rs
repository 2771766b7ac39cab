//! Small programs compiled for tests, and values for the expressions of their bodies.

#![allow(dead_code)]

use fathomp_regions::{Body, ChunkEnd, Environment, Expr, Known, Leaf, Loop, LoopId, Regions};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles C source with gcc; the program lies in `folder`.
pub(crate) fn compile(folder: &Path, source: &str, flags: &[&str]) -> PathBuf {
    compile_by("gcc", folder, source, flags)
}

/// Compiles C source with a compiler.
pub(crate) fn compile_by(compiler: &str, folder: &Path, source: &str, flags: &[&str]) -> PathBuf {
    let file = folder.join("program.c");
    let program = folder.join("program");
    std::fs::write(&file, source).expect("the test's folder can be written");
    let output = Command::new(compiler)
        .args(["-g", "-o"])
        .arg(&program)
        .args(flags)
        .arg(&file)
        .arg("-lm")
        .output()
        .expect("the compiler starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler}: {said}");
    program
}

/// Compiles and scans.
pub(crate) fn scanned(source: &str, flags: &[&str]) -> Regions {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), source, flags);
    fathomp_scan::scan(&program).expect("a program")
}

/// The bodies of a program.
pub(crate) fn bodies(regions: &Regions) -> Vec<&Body> {
    regions
        .regions
        .iter()
        .filter_map(|region| region.body.as_ref())
        .collect()
}

/// The body of an outlined function of `function`.
pub(crate) fn body<'r>(regions: &'r Regions, function: &str) -> &'r Body {
    let is_it = |body: &&Body| {
        let symbol = body.symbol.as_deref().unwrap_or_default();
        symbol.split('.').next() == Some(function)
    };
    bodies(regions)
        .into_iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("no body of {function} in {regions:#?}"))
}

/// A run: every whole number of four bytes in the data block is `number`, every one of eight
/// bytes `wide`, and so is all other memory.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) number: i64,
    pub(crate) threads: i64,
    pub(crate) thread: i64,
    pub(crate) iterations: Vec<(LoopId, i64)>,
}

impl Run {
    pub(crate) fn new(number: i64, threads: i64, thread: i64) -> Self {
        Self {
            number,
            threads,
            thread,
            iterations: Vec::new(),
        }
    }

    /// The value of an expression.
    pub(crate) fn value(&self, expr: &Expr) -> i64 {
        expr.evaluate(self)
            .unwrap_or_else(|error| panic!("{expr}: {error}"))
    }

    /// Iterations of all loops of a body, all entries together.
    pub(crate) fn executions(&self, body: &Body) -> Vec<i64> {
        let mut counts = vec![0; body.loops.len()];
        let mut run = self.clone();
        run.level(body, None, &mut counts);
        counts
    }

    fn level(&mut self, body: &Body, parent: Option<LoopId>, counts: &mut [i64]) {
        for (number, one) in body.loops.iter().enumerate() {
            if one.parent != parent || !self.enters(one) {
                continue;
            }
            let Known::Known(trips) = &one.trips else {
                panic!("trips of i{number} are not known: {one:#?}");
            };
            let trips = self.value(trips);
            assert!((0..1_000_000).contains(&trips), "{trips} of {one:#?}");
            counts[number] += trips;
            let id = LoopId(number as u32);
            let inner = body.loops.iter().any(|inner| inner.parent == Some(id));
            for iteration in 0..if inner { trips } else { 0 } {
                self.iterations.push((id, iteration));
                self.level(body, Some(id), counts);
                self.iterations.pop();
            }
        }
    }

    fn enters(&self, one: &Loop) -> bool {
        match &one.entered_if {
            Some(Known::Known(guard)) => self.value(guard) != 0,
            _ => true,
        }
    }

    /// Bytes that the loops of a body write.
    pub(crate) fn written(&self, body: &Body) -> i64 {
        let counts = self.executions(body);
        body.accesses
            .iter()
            .filter(|access| access.direction != fathomp_regions::Direction::Read)
            .filter_map(|access| Some(counts[access.inside?.0 as usize] * i64::from(access.bytes)))
            .sum()
    }
}

impl Environment for Run {
    fn leaf(&self, leaf: Leaf) -> Option<i64> {
        match leaf {
            Leaf::Threads => Some(self.threads),
            Leaf::Thread => Some(self.thread),
            Leaf::Data => Some(0x10_000),
            Leaf::Module(offset) => Some(0x100_0000 + offset as i64),
            Leaf::Iteration(id) => self
                .iterations
                .iter()
                .rev()
                .find(|(known, _)| *known == id)
                .map(|(_, iteration)| *iteration),
            // One chunk with all iterations.
            Leaf::Chunk(ChunkEnd::Start, _) => Some(0),
            Leaf::Chunk(ChunkEnd::End, _) => Some(self.number),
            // Addresses of variables, where a body has arguments.
            Leaf::Argument(number) => Some(0x20_000 + i64::from(number)),
            Leaf::ThreadStatic => None,
        }
    }

    fn memory(&self, _: u64, bytes: u8) -> Option<u64> {
        match bytes {
            4 => Some(self.number as u64),
            8 => Some(0x20_0000),
            _ => None,
        }
    }
}
