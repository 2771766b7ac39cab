//! The program on this host, as its agent has it: its supervisor, its streams, its socket.

use super::agent_socket::{AgentSocket, Said};
use super::streams::{Input, Output, Outputs};
use crate::control::{Bytes, Job, Stream};
use crate::supervisor::{FromSupervisor, Supervisor, ToSupervisor};
use fathomp_types::Ending;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::thread;

/// What the program's parts tell, each in a thread of its own.
pub(super) trait Hear: Clone + Send + 'static {
    fn supervisor(&self, told: Result<FromSupervisor, String>);
    fn said(&self, said: Said);
    fn output(&self, stream: Stream, bytes: Bytes);
    /// An output has ended.
    fn quiet(&self);
    /// The program has room for so many more bytes of input.
    fn taken(&self, bytes: u32);
}

/// A program that has been started.
pub(super) struct HostProgram {
    supervisor: Supervisor,
    outputs: Outputs,
    input: Option<Input>,
    pub(super) agent_socket: AgentSocket,
    /// What may still be said: two outputs and the socket.
    open: u8,
    status: Option<Ending>,
    gone: bool,
}

impl HostProgram {
    /// Starts it by this supervisor, the number of whose process `watch` is called with before; only
    /// one host's program has an input.
    pub(super) fn start(
        supervisor: &mut Command,
        (job, has_input): (&Job, bool),
        watch: impl FnOnce(u32),
        hear: &impl Hear,
    ) -> io::Result<Self> {
        let (agent_socket, theirs) = AgentSocket::open()?;
        let (out, to_out) = io::pipe()?;
        let (err, to_err) = io::pipe()?;
        let (stdin, input): (OwnedFd, _) = match has_input {
            true => {
                let (stdin, input) = io::pipe()?;
                (stdin.into(), Some(input))
            }
            false => (File::open("/dev/null")?.into(), None),
        };
        let descriptors = [
            stdin.as_fd(),
            to_out.as_fd(),
            to_err.as_fd(),
            theirs.as_fd(),
        ];
        let supervisor = Supervisor::start(supervisor, descriptors, job, watch)?;
        let output = |stream, from| {
            let (hear, ends) = (hear.clone(), hear.clone());
            Output::start(
                from,
                move |bytes| hear.output(stream, bytes),
                move || ends.quiet(),
            )
        };
        let outputs = Outputs {
            out: output(Stream::Out, out)?,
            err: output(Stream::Err, err)?,
        };
        let input = match input {
            Some(input) => {
                let hear = hear.clone();
                Some(Input::start(input, move |bytes| hear.taken(bytes))?)
            }
            None => None,
        };
        let says = hear.clone();
        agent_socket.listen(move |said| says.said(said))?;
        let (ear, tells) = (supervisor.ear(), hear.clone());
        thread::Builder::new()
            .name("supervisor".to_owned())
            .spawn(move || {
                loop {
                    let told = ear.hear();
                    let is_last = told.is_err();
                    tells.supervisor(told);
                    if is_last {
                        return;
                    }
                }
            })?;
        Ok(Self {
            supervisor,
            outputs,
            input,
            agent_socket,
            open: 3,
            status: None,
            gone: false,
        })
    }

    pub(super) fn signal(&self, number: i32) {
        self.supervisor.tell(&ToSupervisor::Signal(number));
    }

    /// Has it killed.
    pub(super) fn end(&self) {
        self.supervisor.tell(&ToSupervisor::End);
    }

    pub(super) fn input(&self, bytes: Bytes) {
        if let Some(input) = &self.input {
            input.pass(bytes.0);
        }
    }

    pub(super) fn end_input(&mut self) {
        self.input = None;
    }

    pub(super) fn credit(&self, stream: Stream, bytes: u32) {
        self.outputs.of(stream).credit(bytes);
    }

    pub(super) fn unread(&self, stream: Stream) {
        self.outputs.of(stream).close();
    }

    /// One of those that may say something will say nothing more.
    pub(super) fn quiet(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.open == 0
    }

    /// It has ended, with nothing left of its processes.
    pub(super) fn ended(&mut self, status: Ending) {
        self.status = Some(status);
        self.gone = true;
    }

    /// Its supervisor is gone.
    pub(super) fn lost(&mut self) {
        self.gone = true;
    }

    /// Its status, until that has been told.
    pub(super) fn take_status(&mut self) -> Option<Ending> {
        self.status.take()
    }

    pub(super) fn has_status(&self) -> bool {
        self.status.is_some()
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }
}
