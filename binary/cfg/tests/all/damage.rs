//! Programs that are cut off or damaged, in many ways, each known by its number.

use fathomp_cfg::{Effects, Flow, Image, ImageError};
use fathomp_stats::Random;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A small program with everything that is read.
fn program(directory: &Path) -> Vec<u8> {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs/switches.c");
    let path = directory.join("program");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-g"]).arg(source).arg("-o").arg(&path);
    assert!(gcc.status().unwrap().success());
    std::fs::read(path).unwrap()
}

/// Looks at everything, in bounded time.
fn look(data: Vec<u8>, what: &str) -> bool {
    let start = Instant::now();
    let image = match Image::parse(data) {
        Ok(image) => image,
        Err(error) => {
            let said = error.to_string();
            assert!(!said.contains('\n') && said.len() < 300, "{what}: {said}");
            return false;
        }
    };
    for id in image.ids() {
        if let Ok(flow) = Flow::of(&image, id) {
            let _ = flow.post_dominators();
        }
    }
    let effects = Effects::of(&image, image.ids());
    for id in image.ids() {
        let _ = (image.name(id), effects.left(id));
    }
    let _ = image.users(|name| name.starts_with("GOMP_"));
    for section in image.sections() {
        let _ = image.constant(section.range.start, 8);
        let _ = image.bytes(section.range.start, 16);
    }
    let time = start.elapsed();
    assert!(time < Duration::from_secs(20), "{what} took {time:.1?}");
    true
}

#[test]
fn cut_anywhere() {
    let directory = tempfile::tempdir().unwrap();
    let whole = program(directory.path());
    assert!(look(whole.clone(), "whole"));
    for at in (0..whole.len()).step_by(61).chain(0..128) {
        look(whole[..at].to_vec(), &format!("cut at {at}"));
    }
}

#[test]
fn bytes_changed_anywhere() {
    let directory = tempfile::tempdir().unwrap();
    let whole = program(directory.path());
    let headers = u64::from_le_bytes(whole[40..48].try_into().unwrap()) as usize;
    let image = Image::parse(whole.clone()).unwrap();
    let mut places = vec![0..64, 64..64 + 13 * 56, headers..whole.len()];
    places.extend(image.sections().iter().map(|section| section.data.clone()));
    let mut understood = 0;
    for seed in 1..1500 {
        let mut random = Random(seed);
        let mut damaged = whole.clone();
        let place = &places[random.below(places.len())];
        for _ in 0..=random.below(6) {
            let at = place.start + random.below(place.len());
            // Often the extremes, at which sums overflow.
            let to = [0, 0xff, 0x7f, 0x80, random.below(256) as u8][random.below(5)];
            let length = [1, 1, 4, 8][random.below(4)];
            for byte in damaged.iter_mut().skip(at).take(length) {
                *byte = to;
            }
        }
        understood += u32::from(look(damaged, &format!("seed {seed} in {place:x?}")));
    }
    assert!(understood > 500, "{understood}");
}

#[test]
fn what_is_no_program_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let whole = program(directory.path());
    let said = |data: &[u8]| Image::parse(data).unwrap_err();
    assert!(matches!(said(b""), ImageError::NotElf));
    assert!(matches!(said(b"#!/bin/sh\n"), ImageError::NotElf));
    let with = |at: usize, bytes: &[u8]| {
        let mut data = whole.clone();
        data[at..at + bytes.len()].copy_from_slice(bytes);
        said(&data)
    };
    assert!(matches!(with(18, &[0xb7, 0]), ImageError::Architecture));
    assert!(matches!(with(4, &[1]), ImageError::Architecture));
    assert!(matches!(with(16, &[1, 0]), ImageError::Kind(_)));
    assert!(matches!(with(16, &[4, 0]), ImageError::Kind(_)));
    // No section table; the same with segments that can be written and executed.
    let mut bare = whole.clone();
    bare[40..48].fill(0);
    bare[58..64].fill(0);
    assert!(matches!(said(&bare), ImageError::NoSections));
    for segment in bare[64..64 + 13 * 56].chunks_mut(56) {
        segment[4] = 7;
    }
    assert!(matches!(said(&bare), ImageError::Packed("")));
    bare[0xb0 + 13 * 56..][..4].copy_from_slice(b"UPX!");
    assert!(said(&bare).to_string().contains("UPX"));
    let missing = Image::read(&directory.path().join("missing")).unwrap_err();
    assert!(matches!(missing.error, ImageError::Read(_)), "{missing}");
    let folder = Image::read(directory.path()).unwrap_err();
    assert!(matches!(folder.error, ImageError::Size), "{folder}");
}

/// Debugging information that was split off has no code.
#[test]
fn what_has_no_code_is_named() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("whole"), program(directory.path())).unwrap();
    let mut objcopy = Command::new("objcopy");
    let debug = directory.path().join("debug");
    objcopy
        .arg("--only-keep-debug")
        .arg(directory.path().join("whole"))
        .arg(&debug);
    assert!(objcopy.status().unwrap().success());
    let error = Image::read(&debug).unwrap_err().error;
    assert!(matches!(error, ImageError::NoCode), "{error}");
}
