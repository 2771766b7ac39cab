//! What an agent is given by the program of which it is a part.

use crate::control::Job;

/// What an agent needs besides what it is told.
pub struct Setup<'a> {
    /// The version, which has to be that of the launcher.
    pub version: &'a str,
    /// Arguments by which this program becomes a [supervisor](crate::supervisor::keep).
    pub supervisor: &'a [&'a str],
    /// Has the caller's files lie where a program looks for them; why they do not.
    pub prepare: &'a (dyn Fn(&Job) -> Result<(), String> + Sync),
    /// Begins what the caller does beside the program, if the [job](Job::sidecar) asks for it,
    /// before it is started; what is told goes to the launcher's caller.
    pub sidecar: &'a (dyn Fn(&Job, Tell) -> Begun + Sync),
}

/// Tells the launcher's caller something.
pub type Tell = Box<dyn Fn(Vec<u8>) + Send>;

/// What has been begun beside a program, or why it has not.
pub type Begun = Result<Box<dyn Sidecar>, String>;

/// What is done beside a program.
pub trait Sidecar: Send {
    /// The process with this number is about to start the program, and waits until this returns.
    fn watch(&mut self, _starts: u32) {}

    /// The program has ended.
    fn end(self: Box<Self>);
}
