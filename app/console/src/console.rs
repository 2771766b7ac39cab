//! Words to the user: results on stdout, everything else on stderr.

use crate::failure::Failure;
use fathomp_sys::descriptor::not_yet_taken;
use fathomp_types::text::{NO_TERMINAL, one_line};
use serde::Serialize;
use std::io::{self, ErrorKind, Write};
use std::thread;
use std::time::{Duration, Instant};

/// How to speak to the user of this invocation.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    /// Results as JSON.
    pub json: bool,
    /// No words while all goes well.
    pub quiet: bool,
}

impl Console {
    /// A sentence about progress.
    pub fn say(self, sentence: impl AsRef<str>) {
        if !self.quiet {
            complain("", sentence.as_ref());
        }
    }

    /// A sentence the user should know even if all goes well.
    pub fn warn(self, sentence: impl AsRef<str>) {
        complain("warning: ", &one_line(sentence.as_ref()));
    }

    /// What the user has asked to be told on stderr.
    pub fn tell(self, line: impl AsRef<str>) {
        complain("", line.as_ref());
    }

    /// Columns for text on stdout: as COLUMNS in the environment says, or the terminal.
    pub fn width(self) -> usize {
        let said = std::env::var("COLUMNS").ok();
        let said = said.and_then(|text| text.parse().ok().filter(|width| *width > 0));
        let terminal = || terminal_size::terminal_size_of(io::stdout());
        said.or_else(|| Some(usize::from(terminal()?.0.0)))
            .map_or(NO_TERMINAL, |width| width.min(NO_TERMINAL))
    }

    /// The result: text for people, or `value` as JSON, on stdout.
    pub fn result<T: Serialize>(
        self,
        schema: &'static str,
        value: &T,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if self.json {
            let document = Document {
                schema,
                version: 1,
                result: value,
            };
            print_json(&document)
        } else {
            print(&text())
        }
    }
}

/// The envelope of every JSON answer. `version` grows when a field changes its
/// meaning or goes away; new fields may appear without.
#[derive(Serialize)]
struct Document<'a, T> {
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    result: &'a T,
}

/// One line on stderr in fathomp's name. If even stderr is gone there is
/// nobody left to tell. It goes out in one write: whoever kills this process meanwhile, as
/// mpirun does when a rank is gone, leaves all of it or nothing.
pub fn complain(kind: &str, sentence: &str) {
    let line = format!("fathomp: {kind}{sentence}\n");
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Waits until the reader of stderr has taken all that was said, but not longer than this. No event
/// tells of that, so it is looked for.
pub fn wait_until_heard(patience: Duration) {
    let until = Instant::now() + patience;
    while Instant::now() < until && not_yet_taken(io::stderr()).is_ok_and(|waiting| waiting > 0) {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Writes a result that names its schema and version itself to stdout.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut line = serde_json::to_string_pretty(value)?;
    line.push('\n');
    print(&line)
}

/// Writes to stdout. A reader that has gone away (`fathomp regions | head`)
/// has had enough: that is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::new(format!(
            "cannot write to standard output: {error}: free some space or send it elsewhere"
        ))),
        _ => Ok(()),
    }
}
