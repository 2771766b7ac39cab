//! Programs that are cut off, damaged, stripped, packed or obfuscated: an answer or an error,
//! soon.

use fathomp_regions::{ReasonKind, Regions};
use fathomp_scan::{scan, scan_bytes};
use fathomp_stats::Random;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What a scan of such a small program may take where everything else takes time as well.
const SOON: Duration = Duration::from_secs(20);

fn build(directory: &Path, source: &str, flags: &[&str]) -> PathBuf {
    let program = directory.join(format!("{source}{}", flags.concat()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/damage")
        .join(source);
    let mut gcc = Command::new("gcc");
    gcc.args(flags)
        .arg("-fopenmp")
        .arg(source)
        .arg("-lm")
        .arg("-o")
        .arg(&program);
    assert!(gcc.status().unwrap().success());
    program
}

/// Scans in bounded time; none if that is an error, which is one sentence.
fn look(data: Vec<u8>, what: &str) -> Option<Regions> {
    let start = Instant::now();
    let found = scan_bytes(Path::new("damaged"), data);
    let time = start.elapsed();
    assert!(time < SOON, "{what} took {time:.1?}");
    match found {
        Ok(regions) => {
            // What is said can be written and read.
            let text = regions.to_json().unwrap_or_else(|e| panic!("{what}: {e}"));
            assert!(Regions::from_json(&text).is_ok(), "{what}");
            for problem in &regions.problems {
                assert!(!problem.contains('\n'), "{what}: {problem}");
            }
            Some(regions)
        }
        Err(error) => {
            let said = error.to_string();
            assert!(!said.contains('\n') && said.len() < 300, "{what}: {said}");
            None
        }
    }
}

/// Seeds to try: so many, or as many as the environment says, from where it says (`FROM-TO`).
fn seeds(count: u64) -> std::ops::RangeInclusive<u64> {
    let given = std::env::var("FATHOMP_SEEDS").ok();
    let given = given.as_deref().and_then(|given| given.split_once('-'));
    given.map_or(1..=count, |(from, to)| {
        from.parse().unwrap()..=to.parse().unwrap()
    })
}

#[test]
fn cut_anywhere() {
    let directory = tempfile::tempdir().unwrap();
    let whole = std::fs::read(build(directory.path(), "loops.c", &["-O2", "-g"])).unwrap();
    let regions = look(whole.clone(), "whole").unwrap();
    assert_eq!(regions.regions.len(), 5, "four regions and a task");
    for at in (0..whole.len()).step_by(211) {
        look(whole[..at].to_vec(), &format!("cut at {at}"));
    }
}

#[test]
fn bytes_changed_anywhere() {
    let directory = tempfile::tempdir().unwrap();
    let whole = std::fs::read(build(directory.path(), "loops.c", &["-O2", "-g"])).unwrap();
    let image = fathomp_cfg::Image::parse(whole.clone()).unwrap();
    let headers = u64::from_le_bytes(whole[40..48].try_into().unwrap()) as usize;
    // Headers, the table of sections, what is loaded, and (behind it) what debuggers read.
    let loaded = image.sections().iter().map(|section| section.data.clone());
    let behind = loaded.clone().map(|data| data.end).max().unwrap();
    let mut places = vec![0..64 + 13 * 56, headers..whole.len(), behind..headers];
    places.extend(loaded.clone());
    // Where most is looked at.
    let text = image
        .sections()
        .iter()
        .find(|section| section.name == ".text")
        .unwrap();
    places.extend(vec![text.data.clone(); places.len() / 2]);
    let (mut understood, mut all) = (0, 0);
    for seed in seeds(300) {
        let mut random = Random(seed);
        let mut damaged = whole.clone();
        let place = &places[random.below(places.len())];
        for _ in 0..=random.below(8) {
            let at = place.start + random.below(place.len());
            // Often the extremes, at which sums overflow.
            let to = [0, 0xff, 0x7f, 0x80, random.below(256) as u8][random.below(5)];
            let length = [1, 1, 4, 8][random.below(4)];
            for byte in damaged.iter_mut().skip(at).take(length) {
                *byte = to;
            }
        }
        let found = look(damaged, &format!("seed {seed} in {place:x?}"));
        understood += u32::from(found.is_some_and(|found| !found.regions.is_empty()));
        all += 1;
    }
    assert!(understood > all / 3, "{understood} of {all}");
}

#[test]
fn instructions_shuffled() {
    let directory = tempfile::tempdir().unwrap();
    let whole = std::fs::read(build(directory.path(), "loops.c", &["-O3"])).unwrap();
    let image = fathomp_cfg::Image::parse(whole.clone()).unwrap();
    let text = image
        .sections()
        .iter()
        .find(|section| section.name == ".text")
        .unwrap();
    for seed in seeds(200) {
        let mut random = Random(seed);
        let mut damaged = whole.clone();
        // Code as compilers make it, in an order that none makes: new loops, new jumps.
        for _ in 0..=random.below(20) {
            let length = 1 + random.below(24);
            let from = text.data.start + random.below(text.data.len() - length);
            let to = text.data.start + random.below(text.data.len() - length);
            damaged.copy_within(from..from + length, to);
        }
        look(damaged, &format!("seed {seed}"));
    }
}

#[test]
fn what_hides_is_not_understood_and_that_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = build(directory.path(), "hostile.s", &[]);
    let regions = look(std::fs::read(path).unwrap(), "hostile").unwrap();
    let body = regions.regions[0].body.as_ref().unwrap();
    let hidden = [ReasonKind::IndirectJump, ReasonKind::Undecodable];
    assert!(
        body.unknown
            .iter()
            .any(|reason| hidden.contains(&reason.kind)),
        "{:?}",
        body.unknown
    );
}

#[test]
fn stripped_or_not_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = build(directory.path(), "loops.c", &["-O3", "-g"]);
    let whole = scan(&path).unwrap();
    assert!(Command::new("strip").arg(&path).status().unwrap().success());
    let bare = scan(&path).unwrap();
    let counts = |regions: &Regions| -> Vec<_> {
        let bodies = regions
            .regions
            .iter()
            .filter_map(|region| region.body.as_ref());
        bodies
            .map(|body| (body.address, body.loops.len(), body.accesses.len()))
            .collect()
    };
    assert_eq!(counts(&whole), counts(&bare));
    assert!(bare.modules[0].stripped && !whole.modules[0].stripped);
}

#[test]
fn what_is_no_program_with_openmp_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let said = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        match scan(&path) {
            Ok(regions) => regions.problems.join(" "),
            Err(error) => error.to_string(),
        }
    };
    assert!(said("script", b"#!/bin/sh\necho\n").contains("is no ELF"));
    assert!(said("empty", b"").contains("is no ELF"));
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert!(said("own", &own).contains("contains no OpenMP"));
    let mut other = own.clone();
    other[18..20].copy_from_slice(&[0xb7, 0]);
    assert!(said("other", &other).contains("x86-64"));
    assert!(said("half", &own[..own.len() / 2]).contains("cut off"));
    let mut packed = own;
    packed[40..48].fill(0);
    packed[58..64].fill(0);
    assert!(said("bare", &packed).contains("section table"));
    packed[0xf0..0xf4].copy_from_slice(b"UPX!");
    assert!(said("packed", &packed).contains("packed by UPX"));
    assert!(said("kmpc", b"\x7fELF").contains("damaged"));
}
