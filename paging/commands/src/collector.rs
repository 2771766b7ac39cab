//! The collector, a process of its own, as the launcher sees it.
//!
//! Nothing that it does is the launcher's or the program's: if it dies, the program goes
//! on, and what was written stays.

use crate::words::{Answer, Finished, Order};
use fathomp_launch::steering::PRELOAD;
use fathomp_types::Ending;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// Longer than the collector takes to begin to watch.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Longer than it takes to write what is left, to a slow disk.
const END_TIMEOUT: Duration = Duration::from_secs(300);

/// The collector cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    /// Its process cannot be started.
    #[error("cannot start the collector of paging: {0}; end some programs or free some memory")]
    Start(io::Error),
    /// It said why it cannot begin.
    #[error("the collector of paging could not begin: {0}")]
    Failed(String),
    /// It ended by itself.
    #[error("the collector of paging ended before the program began; record again")]
    Gone,
}

/// A collector at work.
#[derive(Debug)]
pub(super) struct Collector {
    live: PathBuf,
    options: Vec<String>,
    child: Child,
    orders: Option<ChildStdin>,
    answers: Receiver<Answer>,
    /// What it said when it began to watch.
    problems: Vec<String>,
    /// Why it broke off then.
    failed: Option<String>,
}

impl Collector {
    /// Starts a collector for the live directory `live` and waits until it is ready.
    pub(super) fn begin(live: &Path, options: &[String]) -> Result<Self, CollectorError> {
        let own = std::env::current_exe().map_err(CollectorError::Start)?;
        let mut child = Command::new(own)
            .arg("collect")
            .arg("--live")
            .arg(live)
            .args(options)
            .env_remove(PRELOAD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C is for the program, whose end it is to see.
            .process_group(0)
            .spawn()
            .map_err(CollectorError::Start)?;
        let (orders, output) = (child.stdin.take(), child.stdout.take());
        let (tell, answers) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output
                .into_iter()
                .flat_map(|output| BufReader::new(output).lines())
            {
                let answer = line.ok().and_then(|line| serde_json::from_str(&line).ok());
                let Some(answer) = answer else { break };
                if tell.send(answer).is_err() {
                    break;
                }
            }
        });
        let collector = Self {
            live: live.to_owned(),
            options: options.to_owned(),
            child,
            orders,
            answers,
            problems: Vec::new(),
            failed: None,
        };
        match collector.answers.recv_timeout(BEGIN_TIMEOUT) {
            Ok(Answer::Ready) => Ok(collector),
            Ok(Answer::Failed(why)) => Err(CollectorError::Failed(why)),
            _ => Err(CollectorError::Gone),
        }
    }

    /// The number of its process.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Has it watch a process that is about to become the program.
    pub(super) fn watch(&mut self, process: u32) {
        if self.order(Order::Watch(process)) {
            match self.answers.recv_timeout(BEGIN_TIMEOUT) {
                Ok(Answer::Watching(problems)) => self.problems.extend(problems),
                Ok(Answer::Failed(why)) => self.failed = Some(why),
                // It has ended or hangs, which its end will tell.
                _ => {}
            }
        }
    }

    /// Has it write what is left, now that the program has ended.
    pub(super) fn finish(&mut self) -> Finished {
        let mut finished = Finished {
            problems: std::mem::take(&mut self.problems),
            ..Finished::default()
        };
        self.order(Order::Finish);
        let why = match self.last_words() {
            Ok(more) => {
                finished.processes = more.processes;
                finished.nanos_per_tick = more.nanos_per_tick;
                finished.problems.extend(more.problems);
                return finished;
            }
            Err(why) => why,
        };
        // What programs had said by then lies in memory that they share: another can take
        // it. What was seen from outside is lost.
        let rest = self.succeed();
        finished.problems.push(format!(
            "The collector of paging {why}; what was sampled, sent as messages or had no room after that is missing: record again."
        ));
        finished.processes = rest.processes;
        finished.nanos_per_tick = rest.nanos_per_tick;
        finished.problems.extend(rest.problems);
        finished
    }

    /// Puts another collector in its place, to write what is left.
    fn succeed(&mut self) -> Finished {
        let _ = self.child.kill();
        let _ = self.child.wait();
        match Self::begin(&self.live, &self.options) {
            Ok(other) => *self = other,
            Err(error) => {
                return Finished {
                    problems: vec![format!("There is no other collector: {error}.")],
                    ..Finished::default()
                };
            }
        }
        self.order(Order::Finish);
        self.last_words().unwrap_or_else(|why| Finished {
            problems: vec![format!("Another collector {why}.")],
            ..Finished::default()
        })
    }

    /// The circumstances of the run are written, too: has it end. Gives what should be
    /// known of that.
    pub(super) fn close(mut self) -> Vec<String> {
        self.order(Order::Close);
        match self.answers.recv_timeout(END_TIMEOUT) {
            Ok(Answer::Closed(problems)) => problems,
            _ => Vec::new(),
        }
    }

    /// What it wrote, or what became of it.
    fn last_words(&mut self) -> Result<Finished, String> {
        if let Some(why) = self.failed.take() {
            return Err(format!("broke off: {why}"));
        }
        loop {
            match self.answers.recv_timeout(END_TIMEOUT) {
                Ok(Answer::Finished(finished)) => return Ok(finished),
                Ok(Answer::Failed(why)) => return Err(format!("broke off: {why}")),
                Ok(Answer::Ready | Answer::Watching(_) | Answer::Closed(_)) => {}
                Err(RecvTimeoutError::Timeout) => return Err("did not end".to_owned()),
                Err(RecvTimeoutError::Disconnected) => {
                    let ended = self
                        .child
                        .wait()
                        .map(|status| Ending::from(status).to_string());
                    let how = ended.unwrap_or_else(|error| error.to_string());
                    return Err(format!("ended too early ({how})"));
                }
            }
        }
    }

    /// Gives an order; whether it may have been heard.
    fn order(&mut self, order: Order) -> bool {
        match (&mut self.orders, serde_json::to_string(&order)) {
            (Some(orders), Ok(line)) => writeln!(orders, "{line}").is_ok(),
            _ => false,
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // Without orders it ends by itself, unless it hangs.
        drop(self.orders.take());
        while let Ok(_said) = self.answers.recv_timeout(END_TIMEOUT) {}
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
