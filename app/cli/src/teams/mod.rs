//! Runs whose teams are decided by advice.
//!
//! The launcher reads advice and checks which program it is for; the runtime gets a short table
//! ([`fathomp_teams::Table`]), and leaves what it chose in a file.

mod advice;
mod chosen;

use crate::args::Teams;
use crate::console::Console;
use crate::failure::Failure;
use crate::plan::{self, Planned};
use crate::program::Program;
use advice::{For, UnfitAdvice};
use fathomp_teams::{Choices, Table};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

pub(crate) use chosen::Chosen;

const TABLE: &str = "advice";
const CHOICES: &str = "choices";

/// What the runtime is told, as long as the program runs.
#[derive(Debug)]
pub(crate) struct Decided {
    directory: TempDir,
    verbose: bool,
    /// Tells the runtime how much executions have to do before they begin.
    planned: Planned,
}

/// Advice for a program among others, and what makes it doubtful.
pub(crate) fn expectation(
    path: &Path,
    program: &Program,
) -> Result<(Table, Option<String>), UnfitAdvice> {
    advice::table(path, &For::new(program))
}

impl Decided {
    /// Prepares what the options ask for; nothing if they ask for nothing.
    pub(crate) fn prepare(
        teams: &Teams,
        program: &Program,
        console: Console,
    ) -> Result<Option<Self>, Failure> {
        let Some(path) = &teams.advice else {
            return Ok(None);
        };
        let temporary = |error: &std::io::Error| Failure::unwritable(&std::env::temp_dir(), error);
        let directory = tempfile::Builder::new()
            .prefix("fathomp-teams-")
            .tempdir()
            .map_err(|error| temporary(&error))?;
        let (table, doubt) = advice::table(path, &For::new(program))?;
        if let Some(doubt) = doubt {
            console.warn(doubt);
        }
        let file = directory.path().join(TABLE);
        fs::write(file, table.to_text()).map_err(|error| temporary(&error))?;
        fs::write(directory.path().join(CHOICES), "").map_err(|error| temporary(&error))?;
        Ok(Some(Self {
            directory,
            verbose: teams.verbose,
            planned: plan::plan(program),
        }))
    }

    /// Makes the runtime decide.
    pub(crate) fn tell(&self, plan: &mut fathomp_launch::Plan) {
        let file = |name: &str| self.directory.path().join(name);
        plan.teams = fathomp_launch::Teams {
            advice: Some(file(TABLE)),
            choices: Some(file(CHOICES)),
        };
        self.planned.tell(plan);
    }

    /// What was chosen, once the program has ended. Told to the user.
    pub(crate) fn finish(self, console: Console) -> Chosen {
        let chosen = Chosen::new(&read(&self.directory.path().join(CHOICES)));
        if self.verbose {
            for line in chosen.lines() {
                console.tell(line);
            }
        } else {
            console.say(chosen.sentence());
        }
        chosen
    }
}

/// What was chosen; nothing if the program ended without saying so.
fn read(path: &Path) -> Choices {
    let text = fs::read_to_string(path).unwrap_or_default();
    Choices::from_text(&text).unwrap_or_default()
}
