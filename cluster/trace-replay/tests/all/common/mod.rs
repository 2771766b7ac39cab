//! Programs as accesses.
#![allow(dead_code, reason = "every test file uses a part of this")]

use fathomp_access_trace::{Accesses, End, Run, Step, Thread};
use fathomp_protocols::heuristics::PredictorSet;
use fathomp_protocols::{Access, Area, PageRange, Placement};
use fathomp_trace_replay::{Costs, Homes, Setting, Sharing};
use fathomp_transport::Net;
use fathomp_types::{NodeId, PageId};

pub(crate) const HOME: Sharing = Sharing::Home { plain: false };
pub(crate) const PLAIN: Sharing = Sharing::Home { plain: true };
pub(crate) const HOMELESS: Sharing = Sharing::Homeless {
    plain: true,
    memory_mib: 64,
};

pub(crate) fn read(first: u32, pages: u32) -> Run {
    Run {
        access: Access::Read,
        pages: PageRange::new(PageId(first), pages).unwrap(),
        diff_bytes: 0,
    }
}

pub(crate) fn write(first: u32, pages: u32, diff_bytes: u32) -> Run {
    Run {
        access: Access::Write,
        diff_bytes,
        ..read(first, pages)
    }
}

/// A thread whose intervals each have a set of their own.
pub(crate) fn thread(intervals: &[(&[Run], u64, End)]) -> Thread {
    let numbered = (0..).zip(intervals);
    Thread {
        sets: intervals.iter().map(|(runs, ..)| runs.to_vec()).collect(),
        steps: numbered
            .map(|(set, (_, work_ns, end))| Step {
                set,
                work_ns: *work_ns,
                end: *end,
                order_bytes: 0,
                region: 0,
            })
            .collect(),
    }
}

/// Pages that are at node 0 at first.
pub(crate) fn program(pages: u32, threads: Vec<Thread>) -> Accesses {
    let accesses = Accesses {
        page_bytes: Accesses::PAGE_BYTES,
        areas: vec![Area {
            pages,
            home: Placement::At(NodeId(0)),
        }],
        loads_acquire: false,
        threads,
    };
    accesses.check().unwrap();
    accesses
}

/// A network of 10 us and 1000 MB/s, where a byte takes a nanosecond; nothing else
/// costs anything.
pub(crate) fn setting(nodes: u16, sharing: Sharing) -> Setting {
    Setting {
        nodes,
        sharing,
        homes: Homes::Recorded,
        net: Net::new(10.0, 1000.0).unwrap(),
        costs: Costs::default(),
        left_out: PredictorSet::default(),
    }
}
