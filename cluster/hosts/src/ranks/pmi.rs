//! PMI-1, as `mpirun` of MPICH and `srun --mpi=pmi2` speak it with what they start: lines of
//! `NAME=VALUE` over an inherited socket, with a store of keys and a barrier
//! (Balaji et al., *PMI: A Scalable Parallel Process-Management Interface for Extreme-Scale
//! Systems*, EuroMPI 2010).

use fathomp_launch::Started;
use fathomp_sys::descriptor::inherited;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;

/// The longest line that is read.
const LINE_BYTES_MAX: u64 = 16 << 10;
/// Bytes in one value, of which two letters are made each: less than the smallest limit known,
/// 512 letters.
const PIECE_BYTES: usize = 200;
/// More pieces than this belong to nothing of ours.
const PIECES_MAX: usize = 64;

/// What started this process does not answer as PMI-1 has it.
#[derive(Debug, thiserror::Error)]
pub enum PmiError {
    /// The socket is gone.
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
    /// It answers something else.
    #[error("it was told {asked:?} and answered {answered:?}")]
    Answer {
        /// The command.
        asked: String,
        /// The line that came.
        answered: String,
    },
    /// What another rank has put there is none of ours.
    #[error("what rank {0} says makes no sense: start the same command for all ranks")]
    Nonsense(u32),
}

/// Ends all ranks, this one included, by what has started them, if it speaks PMI-1. Others
/// end the rest by themselves when one ends with such a code.
pub fn end_all(started: &Started, code: u8) {
    let Some(number) = started.pmi else {
        return;
    };
    if let Ok(socket) = inherited(number) {
        // What has started them is gone otherwise.
        let _ = Pmi::end_all(socket, code);
    }
}

/// A connection to what started this process.
pub(super) struct Pmi {
    reader: BufReader<File>,
    writer: File,
    space: String,
    rank: u32,
    size: u32,
}

impl Pmi {
    pub(super) fn begin(socket: OwnedFd, started: &Started) -> Result<Self, PmiError> {
        let writer = File::from(socket);
        let mut pmi = Self {
            reader: BufReader::new(writer.try_clone()?),
            writer,
            space: String::new(),
            rank: started.rank,
            size: started.size,
        };
        pmi.ask(
            "cmd=init pmi_version=1 pmi_subversion=1",
            "response_to_init",
        )?;
        let names = pmi.ask("cmd=get_my_kvsname", "my_kvsname")?;
        pmi.space = names.get("kvsname").cloned().unwrap_or_default();
        Ok(pmi)
    }

    /// Gives all ranks what each of them has. Waits for all.
    pub(super) fn gather(&mut self, mine: &[u8]) -> Result<Vec<Vec<u8>>, PmiError> {
        let pieces: Vec<&[u8]> = mine.chunks(PIECE_BYTES).collect();
        for (number, piece) in pieces.iter().enumerate() {
            let (space, rank) = (&self.space, self.rank);
            let (count, value) = (pieces.len(), hex(piece));
            let put = format!(
                "cmd=put kvsname={space} key=fathomp-{rank}-{number} value={count}.{value}"
            );
            self.ask(&put, "put_result")?;
        }
        self.ask("cmd=barrier_in", "barrier_out")?;
        (0..self.size).map(|rank| self.of(rank)).collect()
    }

    fn of(&mut self, rank: u32) -> Result<Vec<u8>, PmiError> {
        let mut all = Vec::new();
        let (mut number, mut count) = (0, 1);
        while number < count {
            let space = &self.space;
            let get = format!("cmd=get kvsname={space} key=fathomp-{rank}-{number}");
            let found = self.ask(&get, "get_result")?;
            let piece = found.get("value").and_then(|value| {
                let (count, letters) = value.split_once('.')?;
                Some((count.parse().ok()?, unhex(letters)?))
            });
            let (of, bytes) = piece
                .filter(|(count, _)| *count <= PIECES_MAX)
                .ok_or(PmiError::Nonsense(rank))?;
            count = of;
            all.extend(bytes);
            number += 1;
        }
        Ok(all)
    }

    /// Says that nothing more will be asked, so that the end of this process is an ordinary one.
    pub(super) fn finalize(mut self) -> Result<(), PmiError> {
        self.ask("cmd=finalize", "finalize_ack").map(drop)
    }

    /// Has what started this process end all of its ranks, also those that have not begun to
    /// speak to it: it does not by itself when one of those ends.
    pub(super) fn end_all(socket: OwnedFd, code: u8) -> io::Result<()> {
        File::from(socket).write_all(format!("cmd=abort exitcode={code}\n").as_bytes())
    }

    fn ask(&mut self, command: &str, answer: &str) -> Result<HashMap<String, String>, PmiError> {
        self.writer.write_all(format!("{command}\n").as_bytes())?;
        let mut line = String::new();
        (&mut self.reader)
            .take(LINE_BYTES_MAX)
            .read_line(&mut line)?;
        let fields: HashMap<String, String> = line
            .split_ascii_whitespace()
            .filter_map(|word| word.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let is = |name: &str, value: &str| fields.get(name).is_some_and(|found| found == value);
        match is("cmd", answer) && (is("rc", "0") || !fields.contains_key("rc")) {
            true => Ok(fields),
            false => Err(PmiError::Answer {
                asked: command.chars().take(100).collect(),
                answered: line.trim_end().to_owned(),
            }),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(letters: &str) -> Option<Vec<u8>> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    letters.as_bytes().chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_launch::Starter;
    use std::os::unix::net::UnixStream;
    use std::sync::{Arc, Barrier, Mutex};
    use std::thread;

    /// What `mpirun` does for one rank.
    fn manage(
        stream: UnixStream,
        store: &Mutex<HashMap<String, String>>,
        barrier: &Barrier,
    ) -> io::Result<()> {
        let mut writer = stream.try_clone()?;
        for line in BufReader::new(stream).lines() {
            let line = line?;
            let field = |name: &str| {
                let mut fields = line.split(' ').filter_map(|word| word.split_once('='));
                fields
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| value)
            };
            let answer = match field("cmd") {
                Some("init") => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0".into(),
                Some("get_my_kvsname") => "cmd=my_kvsname kvsname=space".into(),
                Some("put") => {
                    let (key, value) = (field("key").unwrap(), field("value").unwrap());
                    assert!(value.len() <= 512);
                    store.lock().unwrap().insert(key.into(), value.into());
                    "cmd=put_result rc=0 msg=success".into()
                }
                Some("barrier_in") => {
                    barrier.wait();
                    "cmd=barrier_out".to_owned()
                }
                Some("get") => match store.lock().unwrap().get(field("key").unwrap()) {
                    Some(value) => format!("cmd=get_result rc=0 msg=success value={value}"),
                    None => "cmd=get_result rc=-1 msg=not_found".into(),
                },
                Some("finalize") => "cmd=finalize_ack".into(),
                _ => "cmd=what".into(),
            };
            writer.write_all(format!("{answer}\n").as_bytes())?;
        }
        Ok(())
    }

    fn rank(
        rank: u32,
        size: u32,
        socket: UnixStream,
        mine: &[u8],
    ) -> Result<Vec<Vec<u8>>, PmiError> {
        let started = Started {
            by: Starter::Mpich,
            rank,
            size,
            pmi: None,
        };
        let mut pmi = Pmi::begin(socket.into(), &started)?;
        let all = pmi.gather(mine)?;
        pmi.finalize()?;
        Ok(all)
    }

    #[test]
    fn all_ranks_get_what_all_have() {
        let (store, barrier) = (Arc::new(Mutex::default()), Arc::new(Barrier::new(3)));
        let all: Vec<Vec<u8>> = vec![vec![], vec![7; 3 * PIECE_BYTES + 1], (0..=255).collect()];
        let all: Vec<Vec<u8>> = all
            .into_iter()
            .map(|one| [&b"x"[..], &one].concat())
            .collect();
        let ranks: Vec<_> = (0..3_u32)
            .map(|number| {
                let (ours, theirs) = UnixStream::pair().unwrap();
                let (store, barrier) = (Arc::clone(&store), Arc::clone(&barrier));
                thread::spawn(move || manage(theirs, &store, &barrier));
                let mine = all[number as usize].clone();
                thread::spawn(move || rank(number, 3, ours, &mine))
            })
            .collect();
        for one in ranks {
            assert_eq!(one.join().unwrap().unwrap(), all);
        }
    }

    #[test]
    fn all_ranks_are_ended_by_one_line() {
        let (mine, mut other) = UnixStream::pair().unwrap();
        Pmi::end_all(mine.into(), 125).unwrap();
        let mut said = String::new();
        other.read_to_string(&mut said).unwrap();
        assert_eq!(said, "cmd=abort exitcode=125\n");
    }

    #[test]
    fn what_speaks_otherwise_is_quoted() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"cmd=response_to_init rc=-1\n").unwrap();
        let error = rank(0, 1, ours, b"x").unwrap_err();
        assert!(error.to_string().contains("rc=-1"), "{error}");
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        assert!(rank(0, 1, ours, b"x").is_err());
    }
}
