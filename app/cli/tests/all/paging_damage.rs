//! Damaged recordings: every command that reads them answers, or fails by one sentence.

use crate::common::paging::{build, record};
use crate::common::run;
use fathomp_stats::Random;
use std::fs;
use std::path::{Path, PathBuf};

const SAMPLED: [&str; 1] = ["--sample=1ms"];

/// Files of the recording.
fn files(recording: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![recording.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The recording of a program that becomes another, with samples.
fn recorded(directory: &Path, options: &[&str]) -> PathBuf {
    build(directory, "family", &["-pthread"]);
    record(directory, options, &["./family", "exec"]).succeeded();
    directory.join("recording")
}

/// Says something, or says in one sentence why not. True if it answered.
fn answers(directory: &Path, what: &str) -> bool {
    let ended = run(directory, "skyline --bins 64 recording");
    ended.in_words();
    match ended.code {
        Some(0) => {
            assert!(!ended.stdout.is_empty(), "{what}: {ended:?}");
            true
        }
        code => {
            assert_eq!(code, Some(1), "{what}: {ended:?}");
            assert_eq!(ended.stderr.lines().count(), 1, "{what}: {ended:?}");
            assert!(ended.stderr.starts_with("fathomp: "), "{what}: {ended:?}");
            assert!(ended.stdout.is_empty(), "{what}: {ended:?}");
            false
        }
    }
}

#[test]
fn cut_recordings_are_read_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let recording = recorded(directory.path(), &SAMPLED);
    assert!(answers(directory.path(), "as recorded"));
    let mut answered = 0;
    for file in files(&recording) {
        let whole = fs::read(&file).unwrap();
        let length = whole.len();
        // The reader's own tests cut everywhere; the command is tried here and there.
        let here_and_there = (1..12).map(|part| length * part / 12);
        let mut cuts: Vec<usize> = [0, 1, 13].into_iter().chain(here_and_there).collect();
        cuts.push(length.saturating_sub(1));
        cuts.retain(|&cut| cut < length);
        cuts.dedup();
        for cut in cuts {
            fs::write(&file, &whole[..cut]).unwrap();
            let what = format!("{} cut at {cut} of {length}", file.display());
            answered += u32::from(answers(directory.path(), &what));
        }
        fs::write(&file, &whole).unwrap();
    }
    // A cut stream costs its end, not the recording.
    assert!(answered > 0);
    assert!(answers(directory.path(), "mended"));
}

#[test]
fn recordings_with_flipped_bits_are_read_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let recording = recorded(directory.path(), &SAMPLED);
    let seed = 20_240_607;
    let mut random = Random(seed);
    for file in files(&recording) {
        let whole = fs::read(&file).unwrap();
        if whole.is_empty() {
            continue;
        }
        let mut positions: Vec<usize> = (0..whole.len()).collect();
        random.shuffle(&mut positions);
        for (number, position) in positions.into_iter().take(16).enumerate() {
            let mut damaged = whole.clone();
            damaged[position] ^= 1 << (number % 8);
            fs::write(&file, &damaged).unwrap();
            let what = format!(
                "{}: bit {} of byte {position} (seed {seed})",
                file.display(),
                number % 8
            );
            answers(directory.path(), &what);
        }
        fs::write(&file, &whole).unwrap();
    }
}

#[test]
fn recordings_without_some_of_their_files_are_read_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let recording = recorded(directory.path(), &SAMPLED);
    for file in files(&recording) {
        let whole = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        answers(directory.path(), &format!("without {}", file.display()));
        fs::create_dir(&file).unwrap();
        answers(
            directory.path(),
            &format!("a directory at {}", file.display()),
        );
        fs::remove_dir(&file).unwrap();
        fs::write(&file, &whole).unwrap();
    }
    fs::remove_dir_all(recording.join("paging")).unwrap();
    assert!(!answers(directory.path(), "without its paging"));
}

/// What programs touched lies in a file of its own.
#[test]
fn damaged_files_of_faults_are_read_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let recording = recorded(directory.path(), &["--record-faults"]);
    let file = recording.join("paging/faults.fthf");
    let whole = fs::read(&file).unwrap();
    for cut in [0, 7, whole.len() / 2] {
        fs::write(&file, &whole[..cut]).unwrap();
        answers(directory.path(), &format!("cut at {cut}"));
    }
    for position in [3, whole.len() / 3, whole.len() - 2] {
        let mut damaged = whole.clone();
        damaged[position] ^= 0x10;
        fs::write(&file, &damaged).unwrap();
        answers(directory.path(), &format!("bit 4 of byte {position}"));
    }
}
