//! What follows when a recording is complete here.

use crate::remote::Remote;
use crate::store::Store;
use fathomp_paging::setup::Setup;
use fathomp_paging::{META, stream};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

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
    use crate::collector::{Collector, Job};
    use fathomp_paging::PagingMeta;
    use fathomp_paging::setup::Writer;

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
        let (live, streams) = (root.path().join("live"), root.path().join("paging"));
        std::fs::create_dir_all(&live).unwrap();
        let setup = Setup {
            writer,
            streams: streams.clone(),
            key: "0f".repeat(16),
            ..Setup::default()
        };
        let job = Job { live, setup };
        let (summary, closing) = Collector::start(job).unwrap().finish();
        assert_eq!(summary.problems, Vec::<String>::new());
        PagingMeta::default().write(&streams).unwrap();
        assert_eq!(closing.close(), Vec::<String>::new());
        assert_eq!(host.join().unwrap().complete, 1);
        assert!(kept.join(META).is_file());
    }
}
