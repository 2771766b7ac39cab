//! What was recorded, by numbers of threads and sizes of pages.

use fathomp_access_trace::Accesses;
use fathomp_console::args::ThreadList;
use fathomp_console::failure::{Failure, exit};
use fathomp_trace_replay::extrapolate;
use std::borrow::Cow;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Accesses with different numbers of threads, ascending; at least one.
pub(crate) struct Known {
    least: Accesses,
    more: Vec<Accesses>,
    /// Names of regions by their sites, as far as they are known.
    names: Vec<String>,
}

impl Known {
    /// Those of files or recordings; `sequential` is the time of the sequential program, if
    /// that is known better than while accesses were recorded.
    pub(crate) fn read(paths: &[PathBuf], sequential: Option<Duration>) -> Result<Self, Failure> {
        let all: Result<Vec<_>, _> = paths.iter().map(|path| read(&file_of(path))).collect();
        let mut all = all?;
        all.sort_by_key(|accesses| accesses.threads.len());
        let twice = all
            .windows(2)
            .find(|pair| pair[0].threads.len() == pair[1].threads.len());
        if let Some(pair) = twice {
            return Err(Failure::new(format!(
                "two of these are of {} threads: give one for each number of threads",
                pair[0].threads.len()
            ))
            .with_code(exit::USAGE));
        }
        if let (Some(time), Some(least)) = (sequential, all.first()) {
            let factor = time.as_secs_f64() * 1e9 / least.work_ns().max(1) as f64;
            all.iter_mut()
                .for_each(|accesses| accesses.scale_work(factor));
        }
        let mut all = all.into_iter();
        let least = all.next().unwrap_or_default();
        Ok(Self {
            least,
            more: all.collect(),
            names: names(paths),
        })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Accesses> {
        std::iter::once(&self.least).chain(&self.more)
    }

    /// The most threads that were recorded.
    pub(crate) fn threads(&self) -> u32 {
        let most = self.all().map(|accesses| accesses.threads.len()).max();
        u32::try_from(most.unwrap_or(1)).unwrap_or(u32::MAX)
    }

    /// Application time of one thread alone.
    pub(crate) fn alone_ns(&self) -> u64 {
        self.least.work_ns()
    }

    /// Name of a region by its site.
    pub(super) fn name_of(&self, site: u32) -> String {
        let named = self.names.get(site as usize).filter(|_| site > 0);
        named.map_or_else(|| format!("region {site}"), Clone::clone)
    }

    /// What was accessed on so many nodes, if it need not be told from other numbers.
    pub(super) fn recorded(&self, nodes: u16) -> Option<&Accesses> {
        let recorded = self.all().find(|a| a.threads.len() == usize::from(nodes));
        let divided = self.more.is_empty() || nodes < 2;
        recorded.or_else(|| divided.then_some(&self.least))
    }

    /// What is accessed on so many nodes, by pages of that size; whether that was extrapolated.
    pub(crate) fn on(
        &self,
        nodes: u16,
        page_bytes: u32,
    ) -> Result<(Cow<'_, Accesses>, bool), Failure> {
        if let Some(recorded) = self.recorded(nodes) {
            return Ok((by_pages(recorded, page_bytes)?, false));
        }
        // Laws are of pages, as they are recorded, unless smaller ones are asked for.
        let least = page_bytes.min(Accesses::PAGE_BYTES);
        let all: Result<Vec<_>, _> = self.all().map(|known| by_pages(known, least)).collect();
        let all = all?;
        let all: Vec<&Accesses> = all.iter().map(AsRef::as_ref).collect();
        let told = extrapolate(&all, nodes)?;
        Ok((Cow::Owned(by_pages(&told, page_bytes)?.into_owned()), true))
    }
}

/// The same by pages of another size, if that is not smaller than what was recorded.
fn by_pages(accesses: &Accesses, page_bytes: u32) -> Result<Cow<'_, Accesses>, Failure> {
    let recorded = accesses.page_bytes;
    if page_bytes == recorded {
        return Ok(Cow::Borrowed(accesses));
    }
    if page_bytes > recorded && !page_bytes.is_multiple_of(recorded) {
        return Err(Failure::new(format!(
            "pages of {page_bytes} bytes do not consist of whole ones of {recorded} bytes, which were recorded: give a multiple of {recorded} with --page-bytes"
        ))
        .with_code(exit::USAGE));
    }
    if page_bytes < recorded {
        return Err(Failure::new(format!(
            "what is smaller than {recorded} bytes was not recorded, so nothing is known of pages of {page_bytes}: record it by `fathomp record --nodes N --accesses --lines`"
        )));
    }
    Ok(Cow::Owned(
        accesses.with_larger_pages(page_bytes / recorded),
    ))
}

/// Names of regions as the first recording has them. A file of accesses alone has none.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let mut recordings = paths.iter().filter(|path| path.is_dir());
    let recording = recordings.find_map(|path| fathomp_trace::reader::open(path).ok());
    recording.map_or_else(Vec::new, |recording| {
        fathomp_analysis::site_names(&recording)
    })
}

/// A recording stands for the file in it.
fn file_of(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => fathomp_access_trace::of_recording(path),
        false => path.to_owned(),
    }
}

fn read(path: &Path) -> Result<Accesses, Failure> {
    let shown = path.display();
    let file = File::open(path).map_err(|error| {
        Failure::new(format!(
            "cannot read {shown}: {error}: make it by `fathomp record --nodes N --accesses`"
        ))
    })?;
    fathomp_access_trace::read(BufReader::new(file))
        .map_err(|error| Failure::new(format!("{shown}: {}", Failure::of(&error).sentence)))
}

/// Numbers of nodes asked for.
pub(crate) fn numbers(asked: Option<&ThreadList>, known: &Known) -> Result<Vec<u16>, Failure> {
    let ThreadList(nodes) = asked
        .cloned()
        .unwrap_or_else(|| ThreadList::doubling(known.threads()));
    let number = |number: u32| {
        u16::try_from(number).map_err(|_| {
            Failure::new(format!(
                "{number} nodes are more than can be numbered: ask for at most {}",
                u16::MAX
            ))
            .with_code(exit::USAGE)
        })
    };
    nodes.into_iter().map(number).collect()
}
