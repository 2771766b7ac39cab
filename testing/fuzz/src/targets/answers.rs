//! Descriptions of machines, results of other programs, and what was noted of accesses.

use crate::room;
use crate::target::{Said, Shape, Target, about, check_sentence};
use fathomp_access_trace::{Accesses, End, Run, Step, Thread};
use fathomp_bench::summary::summarise;
use fathomp_bench::synthetic;
use fathomp_callgrind::Profile;
use fathomp_false_sharing::log::{Header, Reader, Record, Region, Writer};
use fathomp_false_sharing::{Layout, gather};
use fathomp_predict::counts::Counted;
use fathomp_predict::machine::Machine;
use fathomp_predict::prices::Cluster;
use fathomp_predict::published::{self, F, Model};
use fathomp_protocols::heuristics::PredictorSet;
use fathomp_protocols::{Access, Area, PageRange, Placement};
use fathomp_score::Weights;
use fathomp_trace_replay::{Costs, Homes, Setting, Sharing, replay};
use fathomp_transport::Net;
use fathomp_types::{NodeId, PageId};
use std::ops::Range;

/// A machine.
pub(super) const MACHINE: Target = Target {
    name: "machine",
    what: "machine.json",
    shape: Shape::Json,
    seeds: machines,
    read: machine,
};

/// A cluster.
pub(super) const CLUSTER: Target = Target {
    name: "cluster",
    what: "descriptions of clusters",
    shape: Shape::Json,
    seeds: || CLUSTERS.map(Vec::from).to_vec(),
    read: cluster,
};

/// Counts of faults.
pub(super) const COUNTS: Target = Target {
    name: "counts",
    what: "tables of page faults (CSV), and the speedups predicted from them",
    shape: Shape::Text,
    seeds: || vec![HOMELESS.into(), HOME.into()],
    read: counts,
};

/// Weights.
pub(super) const WEIGHTS: Target = Target {
    name: "weights",
    what: "weights of the static score",
    shape: Shape::Json,
    seeds: || vec![include_bytes!("../../../../model/score/src/weights.json").to_vec()],
    read: weights,
};

/// Results of benchmarks.
pub(super) const BENCH: Target = Target {
    name: "bench",
    what: "results of fathomp bench, and their summary",
    shape: Shape::Json,
    seeds: results,
    read: bench,
};

/// Counts of callgrind.
pub(super) const CALLGRIND: Target = Target {
    name: "callgrind",
    what: "what callgrind writes",
    shape: Shape::Text,
    seeds: || vec![PROFILE.into()],
    read: callgrind,
};

/// Accesses.
pub(super) const ACCESSES: Target = Target {
    name: "accesses",
    what: "accesses of threads, and their replay",
    shape: Shape::JsonLines,
    seeds: accesses_seeds,
    read: accesses,
};

/// Notes of shared lines.
pub(super) const SHARING: Target = Target {
    name: "sharing",
    what: "what nodes note of their accesses, and the lines that are shared",
    shape: Shape::Bytes,
    seeds: notes,
    read: sharing,
};

fn machines() -> Vec<Vec<u8>> {
    let machine = Machine::unmeasured(8).to_json().expect("a machine as JSON");
    vec![machine.into_bytes()]
}

fn machine(input: &[u8]) -> Said {
    let text = String::from_utf8_lossy(input);
    match Machine::from_json(&text) {
        Ok(machine) => {
            let again = machine.to_json().expect("what was read can be written");
            Machine::from_json(&again).expect("what was just written");
            Said::read([
                about(machine.cores as usize),
                about(machine.constructs.len()),
            ])
        }
        Err(error) => Said::refused(&error),
    }
}

const CLUSTERS: [&[u8]; 2] = [
    include_bytes!("../../../../model/predict/src/prices/clusters/gige_amd.json"),
    include_bytes!("../../../../model/predict/src/prices/clusters/infiniband_ddr4x.json"),
];

fn cluster(input: &[u8]) -> Said {
    let text = String::from_utf8_lossy(input);
    match Cluster::from_json(&text) {
        Ok(cluster) => {
            let counted = Counted::from_csv(HOME).expect("counts");
            Said::all([
                Said::read(about(cluster.nodes as usize)),
                predicted(&counted, &cluster),
            ])
        }
        Err(error) => Said::refused(&error),
    }
}

const HOMELESS: &str = "program,region,thread,threads,sequential_s,write_faults,fetch_faults\n\
a,1,0,2,10.5,100,200\na,1,1,2,10.5,110,190\n\"b, c\",1,all,4,3,0,0\n";
const HOME: &str = "threads,sequential_s,local_write_faults,remote_write_faults,fetch_faults,diffs_to_home,thread\n\
2,10,100,200,300,400,0\n2,10,1,2,3,4,1\n";

fn predicted(counted: &Counted, cluster: &Cluster) -> Said {
    let all = [Model::Critical, Model::Aggregate].map(|model| {
        let question = published::Question {
            model,
            protocol: None,
            f: F::Values(vec![0.0, 0.5]),
            at: Vec::new(),
            diff_bytes: None,
        };
        match published::predict(counted, cluster, &question) {
            Ok(predicted) => Said::read(about(format!("{predicted:?}").len())),
            // A cluster need not have prices for both protocols.
            Err(error) => {
                check_sentence(&error.to_string());
                Said::read(error.to_string().len())
            }
        }
    });
    Said::all(all)
}

fn counts(input: &[u8]) -> Said {
    let text = String::from_utf8_lossy(input);
    match Counted::from_csv(&text) {
        Ok(counted) => {
            let text = String::from_utf8_lossy(CLUSTERS[0]);
            let cluster = Cluster::from_json(&text).expect("a cluster");
            Said::all([
                Said::read(about(counted.programs.len())),
                predicted(&counted, &cluster),
            ])
        }
        Err(error) => Said::refused(&error),
    }
}

fn weights(input: &[u8]) -> Said {
    match Weights::from_json(&String::from_utf8_lossy(input)) {
        Ok(weights) => Said::read(about(format!("{weights:?}").len())),
        Err(error) => Said::refused(&error),
    }
}

fn results() -> Vec<Vec<u8>> {
    let documents = [synthetic::epcc(), synthetic::mcbench(), synthetic::access()];
    let text = documents.map(|document| serde_json::to_vec(&document).expect("a result as JSON"));
    text.to_vec()
}

fn bench(input: &[u8]) -> Said {
    let path = room::put("result.json", input);
    match fathomp_bench::read::read(&[path]) {
        Ok(joined) => {
            let summary = summarise(&joined.documents, None);
            Said::read([
                about(joined.documents.len()),
                about(format!("{summary:?}").len()),
            ])
        }
        Err(error) => Said::refused(&error),
    }
}

const PROFILE: &str = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 1\ncmd: ./a\n\
positions: instr line\nevents: Ir Dr Dw D1mr D1mw DLmr DLmw\n\nob=(1) /src/a\nfl=(1) a.c\nfn=(1) main\n\
0x401000 3 10 5 5 1 1 0 0\n+4 +1 10 1\ncfn=(2) f\ncalls=1 0x401100\n0x401008 5 100 1 1\n* * 2\n-4 2 7\nob=(2) /lib/b\nfn=(2)\n0x10 0 1\n";

fn callgrind(input: &[u8]) -> Said {
    match Profile::parse(&String::from_utf8_lossy(input)) {
        Ok(profile) => {
            let instructions: usize = profile.files.values().map(|file| file.len()).sum();
            Said::read([about(profile.files.len()), about(instructions)])
        }
        Err(error) => Said::refused(&error),
    }
}

fn accesses_seeds() -> Vec<Vec<u8>> {
    let run = |access, first, pages| Run {
        access,
        pages: PageRange::new(PageId(first), pages).expect("pages"),
        diff_bytes: if access == Access::Write { 60 } else { 0 },
    };
    let step = |set, end| Step {
        set,
        work_ns: 1_000,
        end,
        order_bytes: 0,
        region: 1,
    };
    let thread = |number: u32| Thread {
        sets: vec![
            vec![run(Access::Read, 0, 4), run(Access::Write, 2 + number, 2)],
            Vec::new(),
        ],
        steps: vec![
            step(0, End::Acquire(7)),
            step(1, End::Release(7)),
            step(0, End::Flush),
            step(0, End::Barrier),
            step(1, End::Exit),
        ],
    };
    let accesses = Accesses {
        page_bytes: Accesses::PAGE_BYTES,
        areas: vec![Area {
            pages: 64,
            home: Placement::At(NodeId(0)),
        }],
        loads_acquire: false,
        threads: vec![thread(0), thread(1)],
    };
    let lines = Accesses {
        page_bytes: Accesses::LINE_BYTES,
        ..accesses.clone()
    };
    let file = |accesses: &Accesses| {
        let mut file = Vec::new();
        fathomp_access_trace::write(accesses, &mut file).expect("a file in memory");
        file
    };
    vec![file(&accesses), file(&lines)]
}

fn accesses(input: &[u8]) -> Said {
    if let Ok((cut, _)) = fathomp_access_trace::read_cut(input) {
        cut.check().expect("what was read makes sense");
    }
    match fathomp_access_trace::read(input) {
        Ok(accesses) => {
            let runs = accesses
                .threads
                .iter()
                .flat_map(|thread| thread.sets.iter().flatten());
            let pages: u64 = runs
                .map(|run| run.pages.len())
                .fold(0, |sum, more| sum.saturating_add(more.into()));
            // Much work is no fault.
            if pages > 10_000 || accesses.threads.len() > 16 {
                return Said::read(0);
            }
            let protocols = [
                Sharing::Home { plain: false },
                Sharing::Homeless {
                    plain: false,
                    memory_mib: 1,
                },
            ];
            let larger = accesses.with_larger_pages(3);
            larger.check().expect("larger pages make sense");
            let all = protocols.map(|sharing| {
                let setting = Setting {
                    nodes: accesses.threads.len().min(2) as u16,
                    sharing,
                    homes: Homes::Recorded,
                    net: Net::new(10.0, 1000.0).expect("a network"),
                    costs: Costs::default(),
                    left_out: PredictorSet::default(),
                };
                match replay(&accesses, &setting) {
                    Ok(_) => Said::read(1),
                    // Threads that wait for each other are named.
                    Err(error) => {
                        check_sentence(&error.to_string());
                        Said::read(2)
                    }
                }
            });
            Said::all(all)
        }
        Err(error) => Said::refused(&error),
    }
}

fn notes() -> Vec<Vec<u8>> {
    let header = Header {
        node: 0,
        nodes: 2,
        bias: 0x5555_0000,
    };
    let region = Region {
        function: 0x5555_1000,
        call: 0x5555_2000,
    };
    let records = [
        Record::Block {
            address: 0x10_0000,
            bytes: 4096,
            frames: vec![0x5555_1234, 0x5555_4321],
        },
        Record::Wrote {
            page: 0x10_0000,
            ranges: vec![0..8, 64..72],
            locked: false,
        },
        Record::Access {
            write: true,
            address: 0x10_0008,
            instruction: 0x5555_1111,
            times: 3,
        },
        Record::Atomic {
            address: 0x10_0040,
            bytes: 8,
            instruction: 0x5555_1112,
            times: 300,
        },
        Record::Frames(vec![[0x5555_1234, 0x7fff_0000, 0x7fff_0010, 0x7ffe_fff0]]),
        Record::Phase(region),
        Record::Exit,
    ];
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, header).expect("a file in memory");
    for record in &records {
        writer.put(record).expect("a file in memory");
    }
    vec![file]
}

/// A program of which nothing is known.
struct Unknown;

impl Layout for Unknown {
    fn access_bytes(&self, instruction: u64) -> Option<u64> {
        (!instruction.is_multiple_of(3)).then_some(8)
    }

    fn scalar(&self, address: u64) -> Option<Range<u64>> {
        address.checked_add(8).map(|end| address..end)
    }
}

fn sharing(input: &[u8]) -> Said {
    let reader = match Reader::new(input) {
        Ok((_, reader)) => reader,
        Err(error) => return Said::refused(&error),
    };
    let seeds = notes();
    let (_, other) = Reader::new(&seeds[0]).expect("notes");
    let records = reader.clone().filter(|record| record.is_ok()).count();
    match gather(vec![reader, other], &Unknown) {
        Ok(gathered) => Said::read((about(records), about(format!("{gathered:?}").len()))),
        Err(error) => {
            check_sentence(&error.to_string());
            Said::read((about(records), error.to_string().len()))
        }
    }
}
