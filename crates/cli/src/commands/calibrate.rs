//! `fathomp calibrate`: what constructs and memory cost on this machine.

use crate::args::{Calibrate, ThreadList};
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::voice::Voice;
use crate::{calibrate, host, output};
use fathomp_predict::machine::Machine;
use std::fmt::Write as _;

pub(super) fn calibrate(plan: &Calibrate, voice: Voice) -> Outcome {
    let threads = plan
        .threads
        .clone()
        .unwrap_or_else(|| ThreadList::doubling(host::usable_cpus()));
    if let Some(path) = &plan.output {
        output::check_file(path, plan.force)?;
    }
    let unpacked = fathomp_runtime::unpack()?;
    let progress = Progress::start(voice, threads.0.len());
    let calibrated = calibrate::machine(&unpacked, &threads.0, plan.fresh, |done| {
        progress.at(done, "measuring this machine");
    })?;
    progress.finish();
    let machine = calibrated.machine;
    if let Some(doubt) = calibrated.doubt {
        voice.warn(doubt);
    }
    let text = machine.to_json()? + "\n";
    if let Some(path) = &plan.output {
        output::write_file(path, text.as_bytes())?;
        voice.say(format!("wrote {}", path.display()));
    }
    if voice.json {
        crate::voice::print(&text)?;
    } else if !voice.quiet {
        crate::voice::print(&table(&machine).map_err(Failure::from)?)?;
    }
    Ok(0)
}

fn table(machine: &Machine) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    writeln!(
        text,
        "{}, {} processors usable",
        machine.cpu_model, machine.cores
    )?;
    writeln!(
        text,
        "timer: resolution {:.0} ns, reading {:.1} ns",
        machine.timer_resolution_ns, machine.timer_cost_ns
    )?;
    for cache in &machine.caches {
        writeln!(
            text,
            "level {} cache: {} KiB, shared by {}",
            cache.level,
            cache.bytes >> 10,
            cache.shared_by
        )?;
    }
    writeln!(
        text,
        "\n{:>7} {:>12} {:>10} {:>10} {:>8} {:>10}",
        "threads", "fork/join", "barrier", "chunk", "lock", "copy"
    )?;
    writeln!(
        text,
        "{:>7} {:>12} {:>10} {:>10} {:>8} {:>10}",
        "", "ns", "ns", "ns", "ns", "GB/s"
    )?;
    for row in &machine.constructs {
        let copy = machine.bandwidth.iter().find(|b| b.threads == row.threads);
        writeln!(
            text,
            "{:>7} {:>12.1} {:>10.1} {:>10.1} {:>8.1} {:>10}",
            row.threads,
            row.fork_join_ns,
            row.barrier_ns,
            row.dynamic_chunk_ns,
            row.lock_ns,
            copy.map_or_else(
                || "-".to_owned(),
                |b| format!("{:.1}", b.bytes_per_s * 1e-9)
            ),
        )?;
    }
    Ok(text)
}
