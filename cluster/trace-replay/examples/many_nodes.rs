//! How long the replay of a large cluster takes: rows of a grid in blocks, each
//! node reading its neighbours' borders, a million faults among a thousand nodes.
//!
//!     cargo run --release -p fathomp-trace-replay --example many_nodes [NODES [BORDER_PAGES [ROUNDS]]]

use fathomp_access_trace::{Accesses, End, Run, Step, Thread};
use fathomp_protocols::heuristics::PredictorSet;
use fathomp_protocols::{Access, Area, PageRange, Placement};
use fathomp_trace::dsm::DsmCount;
use fathomp_trace_replay::{Costs, Homes, Setting, Sharing, replay};
use fathomp_transport::Net;
use fathomp_types::{NodeId, PageId};
use std::time::Instant;

fn run(access: Access, first: u32, pages: u32) -> Option<Run> {
    Some(Run {
        access,
        pages: PageRange::new(PageId(first), pages)?,
        diff_bytes: if access == Access::Write { 4616 } else { 0 },
    })
}

/// A thread's block is `4 * border` pages, of which the first and the last `border`
/// are read by its neighbours.
fn stencil(threads: u32, border: u32, rounds: u32) -> Option<Accesses> {
    let (block, pages) = (4 * border, 4 * border * threads);
    let thread = |number: u32| -> Option<Thread> {
        let first = number * block;
        let below = (first + pages - border) % pages;
        let above = (first + block) % pages;
        let reads = [
            run(Access::Read, below, border)?,
            run(Access::Read, above, border)?,
        ];
        let writes = [run(Access::Write, first, block)?];
        let step = |set, end| Step {
            set,
            work_ns: 1_000_000,
            end,
            order_bytes: 0,
            region: 0,
        };
        let rounds = (0..2 * rounds).map(|round| step(round % 2, End::Barrier));
        Some(Thread {
            sets: vec![writes.to_vec(), reads.to_vec()],
            steps: rounds.chain([step(1, End::Exit)]).collect(),
        })
    };
    Some(Accesses {
        page_bytes: Accesses::PAGE_BYTES,
        areas: vec![Area {
            pages,
            home: Placement::At(NodeId(0)),
        }],
        loads_acquire: false,
        threads: (0..threads).map(thread).collect::<Option<_>>()?,
    })
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse().ok());
    let threads = arguments.next().unwrap_or(1000);
    let border = arguments.next().unwrap_or(25);
    let rounds = arguments.next().unwrap_or(10);
    let (Some(accesses), Ok(net), Ok(nodes)) = (
        stencil(threads, border, rounds),
        Net::new(62.5, 103.4),
        u16::try_from(threads),
    ) else {
        eprintln!("there is no such cluster");
        return;
    };
    let homeless = |plain| Sharing::Homeless {
        plain,
        memory_mib: 64,
    };
    for (name, sharing) in [
        ("home, plain", Sharing::Home { plain: true }),
        ("home", Sharing::Home { plain: false }),
        ("homeless, plain", homeless(true)),
        ("homeless", homeless(false)),
    ] {
        let setting = Setting {
            nodes,
            sharing,
            homes: Homes::FirstTouch,
            net,
            costs: Costs::default(),
            left_out: PredictorSet::default(),
        };
        let begin = Instant::now();
        match replay(&accesses, &setting) {
            Ok(outcome) => {
                let all = outcome.all();
                let faults = all.counts[DsmCount::FetchFaults]
                    + all.counts[DsmCount::WriteFaultsLocal]
                    + all.counts[DsmCount::WriteFaultsRemote];
                println!(
                    "{name}: {nodes} nodes, {faults} faults, {} barriers, {} messages, {} events in {:.1} s; the program takes {:.3} s",
                    all.counts[DsmCount::Barriers] / u64::from(nodes),
                    all.messages,
                    outcome.events,
                    begin.elapsed().as_secs_f64(),
                    outcome.time_ns as f64 * 1e-9,
                );
            }
            Err(error) => println!("{name}: {error}"),
        }
    }
}
