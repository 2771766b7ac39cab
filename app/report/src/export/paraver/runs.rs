//! Lines in order of time, of which not all are held in memory: those of each process are ordered
//! and put aside, and all are merged at the end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;

/// Ordered runs of lines, one behind the other in a file.
pub(super) struct Runs {
    file: BufWriter<File>,
    /// Where each run ends.
    ends: Vec<u64>,
}

impl Runs {
    pub(super) fn new(file: File) -> Self {
        Self {
            file: BufWriter::new(file),
            ends: Vec::new(),
        }
    }

    /// Puts lines of a process aside, which are in order.
    pub(super) fn add<'a>(&mut self, lines: impl Iterator<Item = &'a String>) -> io::Result<()> {
        let mut end = self.ends.last().copied().unwrap_or(0);
        for line in lines {
            writeln!(self.file, "{line}")?;
            end += line.len() as u64 + 1;
        }
        self.ends.push(end);
        Ok(())
    }

    /// Writes all lines in order.
    pub(super) fn merge(&mut self, out: &mut dyn Write) -> io::Result<()> {
        /// A process's lines that are held in memory at a time.
        const BUFFER_BYTES: usize = 32 << 10;
        self.file.flush()?;
        let file = self.file.get_ref();
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let mut runs: Vec<_> = begins
            .zip(&self.ends)
            .map(|(at, &end)| BufReader::with_capacity(BUFFER_BYTES, Part { file, at, end }))
            .collect();
        let mut lines = vec![String::new(); runs.len()];
        let mut next = BinaryHeap::new();
        for run in 0..runs.len() {
            runs[run].read_line(&mut lines[run])?;
            next.push(Reverse((time(&lines[run]), run)));
        }
        while let Some(Reverse((_, run))) = next.pop() {
            let line = &mut lines[run];
            out.write_all(line.as_bytes())?;
            line.clear();
            if runs[run].read_line(line)? > 0 {
                next.push(Reverse((time(line), run)));
            }
        }
        Ok(())
    }
}

/// When it begins or happens, behind its kind and its object.
fn time(line: &str) -> u64 {
    let field = line.split(':').nth(5);
    field
        .and_then(|field| field.trim_end().parse().ok())
        .unwrap_or(0)
}

/// A part of a file that is read from its begin to its end.
struct Part<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let length = buffer.len().min(room);
        let read = self.file.read_at(&mut buffer[..length], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_merged_by_time() {
        let mut runs = Runs::new(tempfile::tempfile().expect("a file"));
        let lines = |times: &[u64]| -> Vec<String> {
            times
                .iter()
                .map(|at| format!("2:1:1:1:1:{at}:7:0"))
                .collect()
        };
        for of_process in [&[2, 2, 9][..], &[], &[1, 10]] {
            runs.add(lines(of_process).iter()).expect("room");
        }
        let mut merged = Vec::new();
        runs.merge(&mut merged).expect("memory takes it");
        let expected = lines(&[1, 2, 2, 9, 10]).join("\n") + "\n";
        assert_eq!(String::from_utf8_lossy(&merged), expected);
    }
}
