//! The caches of one processor.

use super::{line, parse_list};
use fathomp_types::size::Size;
use std::fs;
use std::path::Path;

/// A level of the cache hierarchy as processor 0 sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheLevel {
    /// 1 is nearest.
    pub level: u32,
    /// Size in bytes.
    pub bytes: u64,
    /// Length of a line in bytes.
    pub line_bytes: u32,
    /// Processors that share it.
    pub shared_by: u32,
}

/// Caches that hold data, nearest first; empty if the kernel shows none.
pub fn caches() -> Vec<CacheLevel> {
    let Ok(entries) = fs::read_dir("/sys/devices/system/cpu/cpu0/cache") else {
        return Vec::new();
    };
    let mut caches: Vec<_> = entries
        .flatten()
        .filter_map(|entry| read(&entry.path()))
        .collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn read(directory: &Path) -> Option<CacheLevel> {
    if line(directory.join("type"))? == "Instruction" {
        return None;
    }
    let shared = line(directory.join("shared_cpu_list")).map_or(1, |list| parse_list(&list).len());
    Some(CacheLevel {
        level: line(directory.join("level"))?.parse().ok()?,
        bytes: line(directory.join("size"))?.parse::<Size>().ok()?.0,
        line_bytes: line(directory.join("coherency_line_size"))
            .and_then(|size| size.parse().ok())
            .unwrap_or(64),
        shared_by: u32::try_from(shared.max(1)).ok()?,
    })
}
