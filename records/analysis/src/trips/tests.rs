use super::*;
use crate::testing::demo;
use fathomp_regions::{Call, CallKind, Known as Found, Module, ReasonKind};
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
    let divided = Divided {
        loops: Vec::new(),
        total: Found::Known("(load4 data)".parse().unwrap()),
        each: "(load4 data)".parse().ok(),
        chunk: None,
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
                divided: vec![divided],
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

/// Neither of loops that the code divides in a way that is not understood, nor where their values
/// were not noted, what the runtime dealt stands for all.
#[test]
fn what_is_dealt_alone_does_not_stand_for_all() {
    let mut unknown = recording();
    let body = unknown.regions.as_mut().unwrap().regions[0].body.as_mut();
    let reason = Reason::new(ReasonKind::MergedValue, "ways that meet");
    body.unwrap().divided[0].total = Found::Unknown(reason);
    let mut unread = recording();
    unread.processes[0].sets.clear();
    for recording in [unknown, unread] {
        let analysis = crate::analyse(&recording, &crate::Options::default());
        let regions = analysis.regions.iter();
        let mut concerned = regions.filter(|one| one.unknown_iterations.is_some());
        let region = concerned.next().unwrap();
        let why = region.unknown_iterations.as_ref().unwrap();
        assert_eq!(why.executions, region.instances);
        assert_eq!(
            (region.all_iterations(), region.trips.as_ref()),
            (None, None)
        );
        assert!(
            region
                .threads
                .iter()
                .all(|one| region.iterations_of(one).is_none())
        );
        let of_region = executions(&recording);
        let mut of_region = of_region.iter().filter(|one| one.region == region.name);
        assert!(of_region.all(|one| one.iterations.is_none()));
    }
}

/// A product of numbers that a program keeps beside its loops may be anything.
#[test]
fn what_overflows_is_no_count() {
    let sample = Sample::default();
    let divided = |total: &str| Divided {
        loops: Vec::new(),
        total: Found::Known(total.parse().unwrap()),
        each: None,
        chunk: None,
    };
    for total in ["-1", "(/ 0 0)", "4611686018427387904"] {
        let loops = [divided(total)];
        assert!(
            matches!(divide(&loops, &sample, 2), Divide::Unknown(None)),
            "{total}"
        );
    }
    let in_turn = Divided {
        each: "20".parse().ok(),
        chunk: "7".parse().ok(),
        ..divided("60")
    };
    let loops = [in_turn];
    let Divide::Known(work) = divide(&loops, &sample, 2) else {
        panic!();
    };
    assert_eq!((work.total, &*work.shares), (60, &[39, 21][..]));
}
