//! `fathomp man`: a manual page for each command, made from the definition of the arguments.

use crate::args::{Arguments, Man, with_examples};
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::output::stream_file;
use clap::{Command, CommandFactory};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Serialize)]
struct Answer<'a> {
    pages: &'a [PathBuf],
}

pub(super) fn man(plan: &Man, console: Console) -> Outcome {
    fs::create_dir_all(&plan.directory)
        .map_err(|error| Failure::unwritable(&plan.directory, &error))?;
    let mut command = with_examples(Arguments::command()).disable_help_subcommand(true);
    // Fills in the full names of subcommands, and options that all of them have.
    command.build();
    let mut pages = Vec::new();
    write_pages(&command, &plan.directory, &mut pages)?;
    console.result("fathomp.man", &Answer { pages: &pages }, || {
        format!(
            "wrote {} pages into {}: read one with man {}\n",
            pages.len(),
            plan.directory.display(),
            plan.directory.join("fathomp.1").display()
        )
    })?;
    Ok(0)
}

/// The page of a command, and those of its subcommands that are not hidden.
fn write_pages(
    command: &Command,
    directory: &Path,
    pages: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let page = clap_mangen::Man::new(command.clone());
    let path = directory.join(page.get_filename());
    stream_file(&path, |out| {
        page.render(out)
            .map_err(|error| Failure::unwritable(&path, &error))
    })?;
    pages.push(path);
    for subcommand in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        write_pages(subcommand, directory, pages)?;
    }
    Ok(())
}
