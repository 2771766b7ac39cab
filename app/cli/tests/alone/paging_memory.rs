//! `fathomp record --paging --memory`: a program with less and less memory. Needs control
//! groups that this user may make, and for some tests swap.

use crate::common::{self, compile, fathomp, finish, send, until};
use fathomp_requirements::{Forbidden, if_permitted};
use libtest_mimic::Trial;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        if_permitted(
            "paging_memory::a_program_is_run_once_for_each_limit",
            || {
                let directory = permitted()?;
                a_program_is_run_once_for_each_limit(directory.path());
                Ok(())
            },
        ),
        if_permitted("paging_memory::groups_are_removed_after_ctrl_c", || {
            let directory = permitted()?;
            groups_are_removed_after_ctrl_c(directory.path());
            Ok(())
        }),
        if_permitted("paging_memory::with_swap_less_memory_is_slower", || {
            let directory = permitted()?;
            let swap = Swap::make(directory.path())?;
            with_swap_less_memory_is_slower(directory.path());
            drop(swap);
            Ok(())
        }),
    ]
}

/// A place for recordings, if memory can be limited here.
fn permitted() -> Result<tempfile::TempDir, Forbidden> {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut command = fathomp(directory.path());
    command.args([
        "record", "--paging", "--memory", "64M", "-o", "trial", "--", "true",
    ]);
    let ended = finish(&mut command);
    match ended.code {
        Some(0) => Ok(directory),
        _ => Forbidden::because(ended.stderr.trim().to_owned()),
    }
}

/// Touches so many MiB so many times.
fn toucher(directory: &Path) -> PathBuf {
    compile(
        directory,
        "toucher",
        r#"#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    size_t bytes = (size_t)atoi(argv[1]) << 20;
    char *p = malloc(bytes);
    for (int round = 0; round < atoi(argv[2]); round++)
        for (size_t i = 0; i < bytes; i += 4096)
            p[i]++;
    puts("touched");
    fflush(stdout);
    if (argc > 3)
        for (;;)
            getchar();
    return 0;
}
"#,
        &[],
    )
}

/// Our groups, wherever they are mounted.
fn groups() -> Vec<PathBuf> {
    let found = Command::new("find")
        .args([
            "/sys/fs/cgroup",
            "-maxdepth",
            "6",
            "-name",
            "fathomp-*",
            "-type",
            "d",
        ])
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    text.lines().map(PathBuf::from).collect()
}

fn of(launcher: u32) -> Vec<PathBuf> {
    let prefix = format!("fathomp-{launcher}-");
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&prefix)
    };
    groups().into_iter().filter(is_ours).collect()
}

fn a_program_is_run_once_for_each_limit(directory: &Path) {
    let program = toucher(directory);
    let mut command = fathomp(directory);
    command.args(["--json", "record", "--paging", "--memory", "512M,256M"]);
    command.args(["-o", "recording", "--"]).arg(&program);
    let ended = finish(command.args(["60", "3"]));
    let answer = ended.succeeded().json();
    let runs = answer["memory"]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3, "{answer}");
    assert!(runs[0]["limit_bytes"].is_null());
    assert_eq!(runs[2]["limit_bytes"], 256 << 20);
    let peak = runs[0]["peak_bytes"].as_u64().unwrap();
    assert!((60 << 20..120 << 20).contains(&peak), "{peak}");
    assert!(runs.iter().all(|run| run["killed"] == false), "{answer}");
    // The first run's output alone is shown.
    assert_eq!(ended.stderr.matches("touched").count(), 1, "{ended:?}");
    assert!(ended.stderr.contains("times as long"), "{ended:?}");
    for recording in [
        "recording",
        "recording/memory/512M",
        "recording/memory/256M",
    ] {
        let path = directory.join(recording);
        fathomp_paging::reader::Recording::open(&path).unwrap();
    }
    let written = fs::read(directory.join("recording/memory.json")).unwrap();
    let written: serde_json::Value = serde_json::from_slice(&written).unwrap();
    assert_eq!(written["runs"], answer["memory"]["runs"]);
}

fn groups_are_removed_after_ctrl_c(directory: &Path) {
    let program = toucher(directory);
    let mut command = fathomp(directory);
    command.args([
        "record",
        "--paging",
        "--memory",
        "256M,128M",
        "-o",
        "recording",
        "--",
    ]);
    command.arg(&program).args(["8", "1", "wait"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // `env` becomes fathomp, with the same number.
    until("a group", || !of(child.id()).is_empty());
    let mut word = [0; 8];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut word).unwrap();
    let pid = child.id();
    send("INT", &pid.to_string());
    let ended = common::collect(child);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(
        ended.stderr.contains("remaining limits were not tried"),
        "{ended:?}"
    );
    assert!(of(pid).is_empty());
}

fn with_swap_less_memory_is_slower(directory: &Path) {
    let program = toucher(directory);
    let mut command = fathomp(directory);
    command.args([
        "--json", "record", "--paging", "--sample", "5ms", "--memory", "256M,40M",
    ]);
    command.args(["-o", "recording", "--"]).arg(&program);
    let ended = finish(command.args(["80", "6"]));
    let answer = ended.succeeded().json();
    let runs = answer["memory"]["runs"].as_array().unwrap();
    let small = &runs[2];
    assert_eq!(small["killed"], false, "{answer}");
    assert!(small["major_faults"].as_u64().unwrap() > 1000, "{answer}");
    assert!(small["swap_outs"].as_u64().unwrap() > 5000, "{answer}");
    assert!(small["slow_down"].as_f64().unwrap() > 1.5, "{answer}");
    assert_eq!(
        answer["memory"]["knee"]["below_bytes"],
        40 << 20,
        "{answer}"
    );
    assert!(
        answer["memory"]["sentence"]
            .as_str()
            .unwrap()
            .contains("between 256M and 40M")
    );
    // The process's own swap was sampled.
    use fathomp_paging::{Counter, reader::Recording};
    let recording = Recording::open(&directory.join("recording/memory/40M")).unwrap();
    let (mut outs, mut system) = (0, 0);
    for task in recording.tasks() {
        let add = |interval: &fathomp_paging::Interval| {
            outs += interval.counts[Counter::ProcessSwapOuts];
            system += interval.counts[Counter::SystemSwapOuts];
        };
        recording.visit(task.id, add).unwrap();
    }
    assert!(outs > 1000 && system > 1000, "{outs} {system}");
}

/// A swap file of the test's own.
struct Swap(PathBuf);

impl Swap {
    fn make(directory: &Path) -> Result<Self, Forbidden> {
        let path = directory.join("swapfile");
        let file = fs::File::create(&path).unwrap();
        std::os::unix::fs::PermissionsExt::set_mode(
            &mut file.metadata().unwrap().permissions(),
            0o600,
        );
        let steps: [&[&str]; 3] = [
            &["dd", "if=/dev/zero", "bs=1M", "count=256", "status=none"],
            &["mkswap", "--quiet"],
            &["swapon"],
        ];
        for step in steps {
            let mut command = Command::new(step[0]);
            command.args(&step[1..]).stderr(Stdio::piped());
            match step[0] {
                "dd" => command.arg(format!("of={}", path.display())),
                _ => command.arg(&path),
            };
            let ended = command.output();
            let failed = match &ended {
                Ok(ended) if ended.status.success() => None,
                Ok(ended) => Some(String::from_utf8_lossy(&ended.stderr).trim().to_owned()),
                Err(error) => Some(error.to_string()),
            };
            if let Some(why) = failed {
                let _ = fs::remove_file(&path);
                return Forbidden::because(format!("no swap can be made here: {}: {why}", step[0]));
            }
        }
        Ok(Self(path))
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        let _ = Command::new("swapoff").arg(&self.0).status();
        let _ = fs::remove_file(&self.0);
    }
}
