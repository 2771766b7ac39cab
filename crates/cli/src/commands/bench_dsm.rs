//! `fathomp bench dsm`: what sharing memory between nodes costs, beside the least
//! that kernel and machine take for it.

use super::bench::QUICK;
use crate::args::{Bench, Cluster, ThreadCount};
use crate::calibrate::told_alone;
use crate::failure::{Failure, Outcome, exit};
use crate::launch;
use crate::progress::Progress;
use crate::voice::{Voice, print};
use crate::{host, output};
use fathomp_bench::compiler::Compiler;
use fathomp_bench::floors::{self, Extent, Ground, Nodes};
use fathomp_bench::runtime::Interface;
use fathomp_launch::Plan;
use std::path::Path;
use std::process::Command;

/// Pages in a sample, and MiB of the array.
const SIZES: (u32, u32) = (512, 256);
/// The same for a first look.
const QUICK_SIZES: (u32, u32) = (128, 64);

pub(super) fn bench(plan: &Bench, voice: Voice) -> Outcome {
    let unpacked = fathomp_runtime::unpack()?;
    let name = plan.cc.first().map_or("gcc", String::as_str);
    let compiler = Compiler::find(name, &unpacked.cache)?;
    if compiler.fortran || compiler.interface != Interface::Gnu {
        return Err(Failure::new(format!(
            "nodes run C programs of gcc, which {name} does not make: name another compiler with --cc"
        )));
    }
    let built = floors::build(&compiler, &unpacked.cache)?;
    let myself = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find fathomp's own program: {error}")))?;
    let protocol = plan.dsm.name();
    let on_nodes = |program: &Path, nodes: Nodes| {
        let cluster = Cluster {
            nodes: nodes.count,
            dsm: plan.dsm,
            dsm_plain: nodes.plain,
            ..Cluster::ONE
        };
        let mut plan = launch::plan(Some(ThreadCount(1)), cluster);
        plan.preload = vec![launch::library(&unpacked, cluster).to_owned()];
        if let Some(cluster) = &mut plan.cluster {
            cluster.faults = Some(nodes.scheme);
        }
        told_alone(program, &plan)
    };
    let alone = |program: &Path, threads: u16| {
        let threads = Some(ThreadCount(threads.into()));
        told_alone(program, &launch::plan(threads, Cluster::ONE))
    };
    let by_user = |program: &Path, nodes: u16| -> Command {
        let mut command = told_alone(&myself, &Plan::default());
        command
            .args(["run", "--threads", "1", "--dsm", protocol, "--nodes"])
            .arg(nodes.to_string())
            .arg("--")
            .arg(program);
        command
    };
    let ground = Ground {
        on_nodes: &on_nodes,
        alone: &alone,
        by_user: &by_user,
    };
    let ((rounds, runs), (pages, array_mib)) = match plan.quick {
        true => (QUICK, QUICK_SIZES),
        false => ((plan.samples, plan.runs), SIZES),
    };
    let extent = Extent {
        runs,
        rounds,
        pages,
        array_mib,
    };
    let processors = usize::try_from(host::usable_cpus()).unwrap_or(1);
    let progress = Progress::start(voice, floors::steps(extent, processors));
    let document = floors::measure(&built, &ground, extent, |step| {
        progress.at(step.done, step.what);
    })?;
    progress.finish();
    let json = serde_json::to_string_pretty(&document)? + "\n";
    if let Some(path) = &plan.output {
        output::write_file(path, json.as_bytes())?;
        voice.say(format!("wrote {}", path.display()));
    }
    print(&match voice.json {
        true => json,
        false => floors::table(&document),
    })?;
    Ok(if plan.check && !document.is_met() {
        exit::FAILED
    } else {
        0
    })
}
