//! Runs a collector in a process of its own, which the launcher controls by pipes.
//!
//! The collector says a line of JSON when it is [ready](Ready). It collects until it reads
//! `finish`, or the pipe ends because the launcher has. Then it says its [`Summary`] as a
//! line. It then waits for the pipe to end; until then the launcher may still write to the
//! recording (`meta.json`), which is forwarded if the recording is on another host; then it
//! says, as a line, a list of problems with that.

use crate::collector::{Collector, Job, StartError, Summary};
use crate::remote::Remote;
use crate::store::Store;
use fathomp_paging::setup::Setup;
use fathomp_paging::{META, stream};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// The word that ends collecting.
const FINISH: &[u8] = b"finish";

/// What a collector says when processes may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Where it listens on a network, if it does.
    pub address: Option<SocketAddr>,
}

/// Collects until `control` says `finish` or ends; says what it has to say to `told`.
///
/// # Errors
/// If the collector cannot begin.
pub fn serve(
    job: Job,
    control: &mut (impl Read + AsFd),
    told: &mut impl Write,
) -> Result<Summary, StartError> {
    have_descriptors();
    let mut collector = Collector::start(job)?;
    let address = collector.address();
    // A launcher that is gone is noticed by the control pipe.
    let _ = say(told, &Ready { address });
    let open = loop {
        let progress = collector.poll();
        if collector.wait(progress.pause, Some(control.as_fd())) {
            let mut bytes = [0; 256];
            let got = control.read(&mut bytes).unwrap_or(0);
            let open = got != 0;
            let said = bytes.get(..got).unwrap_or_default();
            if !open || said.windows(FINISH.len()).any(|part| part == FINISH) {
                break open;
            }
        }
    };
    let (summary, closing) = collector.finish();
    let _ = say(told, &summary);
    if open {
        let mut rest = Vec::new();
        let _ = control.read_to_end(&mut rest);
    }
    let _ = say(told, &closing.close());
    Ok(summary)
}

/// Allows this process as many descriptors as it may have: every process that sends needs one.
fn have_descriptors() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // With fewer, processes wait to be accepted.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

fn say(told: &mut impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    told.write_all(&line)?;
    told.flush()
}

/// What is left to do when the recording is complete here: to forward what others wrote into
/// it, if it is on another host.
#[derive(Debug)]
#[must_use]
pub struct Closing {
    remote: Option<Remote>,
    streams: PathBuf,
}

impl Closing {
    pub(crate) fn new(store: &mut Store, setup: &Setup) -> Self {
        Self {
            remote: store.remote.take(),
            streams: setup.streams.clone(),
        }
    }

    /// Forwards it. Gives problems, each as one sentence for the user.
    #[must_use]
    pub fn close(self) -> Vec<String> {
        let Some(mut remote) = self.remote else {
            return Vec::new();
        };
        let address = remote.address().to_owned();
        let forwarded = forward(&self.streams, &mut remote).and_then(|()| remote.finish());
        match forwarded {
            Ok(()) => Vec::new(),
            Err(error) => vec![format!(
                "The collector at {address} did not take the end of the recording ({error}); \
                 look there for what is missing."
            )],
        }
    }
}

/// Forwards the files of a directory.
fn forward(streams: &Path, remote: &mut Remote) -> io::Result<()> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(streams)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    for path in files {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        if name == META || is_recording(name) {
            let bytes = std::fs::read(&path)?;
            let bytes = match name {
                META => there(&bytes, remote.clock().offset_ns).unwrap_or(bytes),
                _ => bytes,
            };
            let number = remote.open(name)?;
            remote.append(number, &bytes)?;
        }
    }
    Ok(())
}

/// Whether a file is part of a recording, and not a draft or a reserve.
fn is_recording(name: &str) -> bool {
    let is_stream = Path::new(name)
        .extension()
        .is_some_and(|extension| extension == stream::EXTENSION);
    is_stream || name.starts_with("faults")
}

/// The circumstances of the run, with times of day by the clock of the other host.
fn there(meta: &[u8], offset_ns: i64) -> Option<Vec<u8>> {
    let mut meta: Value = serde_json::from_slice(meta).ok()?;
    let mut moved = |pointer: &str| {
        if let Some(time) = meta.pointer_mut(pointer)
            && let Some(ns) = time.as_u64()
        {
            *time = ns.saturating_add_signed(offset_ns).into();
        }
    };
    moved("/started_unix_ns");
    moved("/clock/zero_unix_ns");
    serde_json::to_vec_pretty(&meta).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_paging::PagingMeta;
    use fathomp_paging::setup::Writer;
    use std::io::{BufRead, BufReader};

    fn job(root: &Path, writer: Writer) -> Job {
        let live = root.join("live");
        std::fs::create_dir_all(&live).unwrap();
        let setup = Setup {
            writer,
            streams: root.join("paging"),
            key: "0f".repeat(16),
            ..Setup::default()
        };
        Job { live, setup }
    }

    #[test]
    fn the_launcher_hears_when_it_may_begin_and_what_it_came_to() {
        for finishes in [true, false] {
            let root = tempfile::tempdir().unwrap();
            let job = job(root.path(), Writer::Collector(String::new()));
            let (mut control, mut launcher) = io::pipe().unwrap();
            let (heard, mut told) = io::pipe().unwrap();
            let thread = std::thread::spawn(move || serve(job, &mut control, &mut told));
            let mut lines = BufReader::new(heard).lines();
            let ready: Ready = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            assert!(ready.address.is_some());
            assert!(Setup::read(&root.path().join("live")).is_ok());
            if finishes {
                launcher.write_all(b"finish\n").unwrap();
                let summary: Summary =
                    serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
                assert_eq!(summary.problems, Vec::<String>::new());
            }
            drop(launcher);
            thread.join().unwrap().unwrap();
            assert_eq!(lines.last().unwrap().unwrap(), "[]");
        }
    }

    #[test]
    fn what_the_launcher_adds_at_the_end_is_forwarded_by_the_other_clock() {
        let meta = PagingMeta {
            started_unix_ns: 1_000,
            clock: Some(fathomp_types::Clock {
                zero_unix_ns: 2_000,
                ..fathomp_types::Clock::NANOS
            }),
            ..PagingMeta::default()
        };
        let json = serde_json::to_vec(&meta).unwrap();
        let moved: PagingMeta = serde_json::from_slice(&there(&json, -500).unwrap()).unwrap();
        assert_eq!(moved.started_unix_ns, 500);
        assert_eq!(moved.clock.unwrap().zero_unix_ns, 1_500);
        assert!(is_recording("1-a.fthp") && is_recording("faults.fthf"));
        assert!(!is_recording("reserve") && !is_recording("meta.json.new"));
    }

    #[test]
    fn the_circumstances_arrive_at_a_recording_host() {
        let root = tempfile::tempdir().unwrap();
        let kept = root.path().join("kept");
        let host = crate::Host::listen("127.0.0.1:0", &kept, &"0f".repeat(16), 1 << 20).unwrap();
        let writer = Writer::Remote(host.address().to_string());
        let host = std::thread::spawn(move || host.run(|| false));
        let job = job(root.path(), writer);
        let streams = job.setup.streams.clone();
        let (summary, closing) = Collector::start(job).unwrap().finish();
        assert_eq!(summary.problems, Vec::<String>::new());
        PagingMeta::default().write(&streams).unwrap();
        assert_eq!(closing.close(), Vec::<String>::new());
        assert_eq!(host.join().unwrap().complete, 1);
        assert!(kept.join(META).is_file());
    }
}
