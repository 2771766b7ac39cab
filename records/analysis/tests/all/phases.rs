//! What lies between two barriers of the nodes, thread by thread.

use fathomp_analysis::testing::demo;
use fathomp_analysis::{Analysis, Options, analyse};
use fathomp_trace::dsm::{DsmCount, DsmCounts};
use fathomp_trace::record::{Instance, Phase, Record};
use fathomp_types::Ticks;

/// A phase of an execution: so long, of it 30 ticks in faults.
fn phase(of: &Instance, length: u64, fetch_faults: u64) -> Record {
    let mut dsm = DsmCounts::default();
    dsm[DsmCount::FetchFaults] = fetch_faults;
    dsm[DsmCount::FaultTicks] = 30;
    dsm[DsmCount::Barriers] = 1;
    Record::from(Phase {
        site: of.site,
        instance: of.instance,
        begin: of.begin,
        end: Ticks(of.begin.0 + length),
        dsm,
    })
}

/// Two threads on two nodes. In each execution of the first region, thread `i` leaves as many
/// phases as `phases[i]` of the execution says.
fn recorded(phases: &[[usize; 2]]) -> (Analysis, String) {
    let mut recording = demo(2);
    let process = &mut recording.processes[0];
    process.cluster = 1;
    let executions = |thread: usize, process: &fathomp_trace::model::Process| -> Vec<Instance> {
        let records = process.threads[thread].records.iter();
        let all = records.filter_map(|record| match record {
            Record::Instance(instance) => Some(Instance::clone(instance)),
            _ => None,
        });
        let all: Vec<Instance> = all.collect();
        let site = all[0].site;
        all.into_iter().filter(|one| one.site == site).collect()
    };
    let site = executions(0, process)[0].site;
    for thread in 0..2 {
        let own = executions(thread, process);
        assert!(own.len() >= phases.len());
        for (number, (execution, count)) in own.iter().zip(phases).enumerate() {
            let more = (0..count[thread]).map(|at| {
                let faults = (100 * number + 10 * at + thread) as u64;
                phase(execution, 130, faults)
            });
            process.threads[thread].records.extend(more);
        }
    }
    let call = process.sites[site.0 as usize].call;
    let analysis = analyse(&recording, &Options::default());
    let mut regions = analysis.regions.iter();
    let key = regions.find(|region| region.place.address == call);
    let key = key.expect("the region").key.clone();
    (analysis, key)
}

fn fetches(analysis: &Analysis, key: &str) -> Vec<Vec<u64>> {
    let region = analysis.region(key).unwrap();
    let phases = region.dsm.as_ref().unwrap().phases.iter();
    phases
        .map(|phase| phase.iter().map(|share| share.dsm.fetch_faults).collect())
        .collect()
}

#[test]
fn phases_of_all_threads_stand_side_by_side() {
    let (analysis, key) = recorded(&[[2, 2], [1, 1]]);
    let found = fetches(&analysis, &key);
    assert_eq!(found, [[0, 1], [10, 11], [100, 101]]);
    let region = analysis.region(&key).unwrap();
    let share = region.dsm.as_ref().unwrap().phases[0][0];
    assert_eq!((share.own_ns, share.dsm.fault_ns), (100, 30));
}

#[test]
fn an_execution_of_which_phases_are_missing_has_none() {
    let (analysis, key) = recorded(&[[2, 1], [1, 1]]);
    assert_eq!(fetches(&analysis, &key), [[100, 101]]);
    let (analysis, key) = recorded(&[[1, 0], [1, 1]]);
    assert_eq!(fetches(&analysis, &key), [[100, 101]]);
}
