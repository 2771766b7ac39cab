use super::*;
use crate::testing::demo;
use fathomp_regions::{Call, CallKind, Known as Found, Loop, LoopRole, Module, Schedule};
use fathomp_trace::model::SiteKind;

/// A region that was begun with 10, and with 30.
fn recording() -> Recording {
    let mut recording = demo(2);
    let process = &mut recording.processes[0];
    let site = process
        .sites
        .iter_mut()
        .find(|site| site.kind == SiteKind::Parallel)
        .unwrap();
    site.function = 0x1000;
    let (number, module) = (site.id, site.module.to_string_lossy().into_owned());
    for set in [1, 2] {
        process.sets.push(WordSet {
            set,
            site: number,
            values: vec![Some(set as i64 * 20 - 10)],
            dry: Vec::new(),
        });
    }
    let mut set = 1;
    for record in process
        .threads
        .iter_mut()
        .flat_map(|thread| &mut thread.records)
    {
        if let Record::Instance(one) = record
            && one.site == number
            && one.thread_num == 0
        {
            one.set = set;
            set = 3 - set;
        }
    }
    let looped = Loop {
        parent: None,
        depth: 0,
        innermost: true,
        header: 0x1010,
        place: None,
        trips: Found::Known(
            "(+ (/ (load4 data) threads) (< thread (% (load4 data) threads)))"
                .parse()
                .unwrap(),
        ),
        worksharing: Some(Schedule {
            kind: ScheduleKind::Static,
            chunk: None,
            total: None,
        }),
        role: LoopRole::Whole,
        entered_if: None,
    };
    recording.regions = Some(Regions {
        modules: vec![Module {
            path: module,
            ..Module::default()
        }],
        regions: vec![fathomp_regions::Region {
            module: Some(0),
            body: Some(Body {
                address: 0x1000,
                data_bytes: 8,
                words: vec!["(load4 data)".parse().unwrap()],
                loops: vec![looped],
                ..Body::default()
            }),
            ..fathomp_regions::Region::default()
        }],
        ..Regions::default()
    });
    recording
}

#[test]
fn executions_have_the_iterations_of_their_set() {
    let recording = recording();
    let analysis = crate::analyse(&recording, &crate::Options::default());
    let region = analysis.regions.iter().find(|one| one.trips.is_some());
    let (region, trips) = region
        .and_then(|one| Some((one, one.trips.as_ref()?)))
        .unwrap();
    assert_eq!(trips.executions, region.instances);
    assert_eq!((trips.fewest, trips.most, trips.sets), (10, 30, 2));
    let (odd, even) = (trips.executions.div_ceil(2), trips.executions / 2);
    assert_eq!(trips.iterations, 10 * odd + 30 * even);
    let shares: u64 = trips.threads.iter().map(|one| one.iterations).sum();
    assert_eq!((trips.threads.len(), shares), (2, trips.iterations));
    let facts = facts(&recording);
    let times: u64 = facts[0].samples.iter().map(|sample| sample.times).sum();
    assert_eq!((facts.len(), times), (1, trips.executions));
    let wall: u64 = facts[0].samples.iter().map(|sample| sample.wall_ns).sum();
    assert!(wall > 0);
    let known = executions(&recording)
        .into_iter()
        .filter_map(|one| one.iterations);
    assert!(known.clone().any(|one| one == 10) && known.clone().any(|one| one == 30));
    assert_eq!(problem(&recording), None);
}

/// What clang compiles asks the runtime, which counts.
#[test]
fn loops_that_the_runtime_deals_are_not_counted_again() {
    let mut recording = recording();
    let before = executions(&recording);
    let body = recording.regions.as_mut().unwrap().regions[0].body.as_mut();
    body.unwrap().calls.push(Call {
        at: 0x1008,
        inside: None,
        callee: Callee::Import("__kmpc_for_static_init_4".to_owned()),
        kind: CallKind::Worksharing,
        followed: false,
    });
    let analysis = crate::analyse(&recording, &crate::Options::default());
    assert!(analysis.regions.iter().all(|one| one.trips.is_none()));
    let after = executions(&recording);
    let pairs = || before.iter().zip(&after);
    assert!(pairs().any(|(before, after)| before.iterations != after.iterations));
    assert!(pairs().all(|(before, after)| after.iterations <= before.iterations));
}

#[test]
fn another_build_is_said_once() {
    let mut recording = recording();
    for thread in &mut recording.processes[0].threads {
        for record in &mut thread.records {
            if let Record::Instance(one) = record {
                one.set = 0;
            }
        }
    }
    let analysis = crate::analyse(&recording, &crate::Options::default());
    let said = |one: &&Problem| one.sentence.contains("was scanned");
    assert_eq!(analysis.problems.iter().filter(said).count(), 1);
    assert!(analysis.regions.iter().all(|one| one.trips.is_none()));
    recording.regions = None;
    assert_eq!(problem(&recording), None);
}

#[test]
fn shares_in_rounds_are_brought_to_iterations() {
    assert_eq!(in_proportion(vec![3, 1], 16), Some(vec![12, 4]));
    assert_eq!(in_proportion(vec![3, 1], 4), Some(vec![3, 1]));
    assert_eq!(in_proportion(vec![0, 0], 4), None);
    assert_eq!(in_proportion(vec![3, 3], 4), None);
}
