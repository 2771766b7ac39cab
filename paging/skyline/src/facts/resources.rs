//! Where pages come from, and how much memory, disks and network have to bear.

use super::Skyline;
use fathomp_paging::Counter;
use serde::Serialize;

/// What serves pages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ServerKind {
    /// A node, from whose memory pages go to others (distributed shared memory).
    Node {
        /// Its number.
        node: u32,
    },
    /// The disks and swap devices of a host, from which its tasks read pages.
    Disk {
        /// Its name.
        host: String,
    },
    /// The swap devices of a host, whatever process they serve.
    Swap {
        /// Its name.
        host: String,
    },
}

/// A server of pages (a "pager" of Wang and Marinescu 1995), over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Server {
    /// What it is.
    pub server: ServerKind,
    /// Its name in words: "node 2", "disks of alpha".
    pub label: String,
    /// The counter that says so: pages of 4 KiB.
    pub counter: Counter,
    /// Pages served.
    pub total: u64,
    /// Part of all pages that servers of its kind served.
    pub share: f64,
    /// Pages per bin of the window.
    pub bins: Vec<u64>,
    /// Peaks of these.
    pub skyline: Skyline,
}

/// What bears a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Memory: pages that faults ask for, without I/O.
    Memory,
    /// Disks and swap: pages read.
    DiskReads,
    /// Files: pages made dirty. When they are written to a disk is not known.
    DiskWrites,
    /// Swap: pages read back, of the whole machine.
    SwapReads,
    /// Swap: pages written, of the whole machine.
    SwapWrites,
    /// Network: bytes that nodes send each other.
    Network,
}

impl Resource {
    /// In words.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            // How many pages a fault brings is not known.
            Self::Memory => "memory (faults)",
            Self::DiskReads => "disks (reads)",
            Self::DiskWrites => "pages made dirty",
            Self::SwapReads => "swap (reads)",
            Self::SwapWrites => "swap (writes)",
            Self::Network => "network",
        }
    }
}

/// The highest load on a resource, summed over all tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Load {
    /// On what.
    pub resource: Resource,
    /// The counter that says so.
    pub counter: Counter,
    /// When it is highest: begin of that stretch.
    pub from_ns: u64,
    /// End of that stretch: the shortest that holds counts enough to speak of a rate.
    pub to_ns: u64,
    /// Counts in that stretch.
    pub count: u64,
    /// Pages of 4 KiB per second then; each fault counts as one page.
    pub pages_per_second: f64,
    /// Bytes per second then.
    pub bytes_per_second: f64,
    /// Mean pages per second over the window.
    pub mean_pages_per_second: f64,
}
