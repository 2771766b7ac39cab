//! `fathomp record --measure-intrusion`: the runs of the program, of which paging is recorded or
//! nothing is.

use crate::args::Record;
use crate::console::Console;
use crate::failure::Failure;
use crate::launch::{self, Ended, Launch};
use crate::paging::{self, IntrusionAsked, Runner};
use crate::program::Program;
use crate::recording::request::needs_runtime;
use crate::recording::{self, Destination, Extras, Request, Streams, Subject, Teams};
use fathomp_runtime::Unpacked;
use std::path::Path;

/// Measures what recording costs a program, if that is asked for; the exit code.
pub(super) fn measure_intrusion(
    plan: &Record,
    paging: Option<&paging::Plan>,
    (program, unpacked): (&Program, &Unpacked),
    console: Console,
) -> Result<Option<u8>, Failure> {
    let (Some(rounds), Some(paging)) = (plan.paging.measure_intrusion, paging) else {
        return Ok(None);
    };
    let asked = IntrusionAsked {
        rounds,
        paging: &plan.paging,
        plan: paging,
        output: &plan.output,
        force: plan.force,
    };
    let runs = Runs {
        plan,
        program,
        unpacked,
    };
    paging::measure_intrusion(&asked, program, &runs, console).map(Some)
}

/// What all runs share.
struct Runs<'a> {
    plan: &'a Record,
    program: &'a Program,
    unpacked: &'a Unpacked,
}

impl Runner for Runs<'_> {
    fn plain(&self, streams: Streams) -> Result<Ended, Failure> {
        let cluster = self.plan.nodes.cluster();
        let launch = Launch {
            program: self.program,
            interposer: None,
            library: needs_runtime(self.program, self.plan.threads, cluster)
                .then(|| launch::library(self.unpacked, cluster)),
            plan: launch::plan(self.plan.threads, cluster),
            stdin: streams.stdin,
            stdout: streams.stdout,
            stderr: streams.stderr,
        };
        Ok(launch.start()?.wait(None)?)
    }

    fn recorded(
        &self,
        plan: &paging::Plan,
        directory: &Path,
        streams: Streams,
    ) -> Result<(Ended, Vec<String>), Failure> {
        let subject = Subject {
            program: self.program,
            unpacked: self.unpacked,
            runtime: None,
        };
        let destination = Destination::replacing(directory, self.plan.max_size.0);
        let recorded = recording::record(&Request {
            teams: Teams {
                threads: self.plan.threads,
                cluster: self.plan.nodes.cluster(),
                ..Teams::default()
            },
            extras: Extras {
                paging: Some(plan),
                ..Extras::default()
            },
            ..Request::new(subject, destination, streams)
        })?;
        Ok((recorded.ended, recorded.problems))
    }
}
