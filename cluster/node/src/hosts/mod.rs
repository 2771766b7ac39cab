//! Nodes on several hosts, whose processes are started apart.
//!
//! A launcher starts the program on each host in the same way: same arguments, environment,
//! directory, limits, and no randomised addresses. Each of these processes runs its
//! constructors and meets the others before `main`: they compare what has to be the same
//! ([`facts`]), take over what node 0 has in pages that differ ([`pages`]), and fork the nodes of
//! their host. On the first host the process itself is node 0; on others it waits for its nodes
//! and says how they end.

mod facts;
mod fields;
mod guard;
mod pages;
mod talk;

pub(crate) use guard::guard;
pub(crate) use talk::MeetError;

use fathomp_launch::names::HOST;
use fathomp_launch::of_this_process;
use fathomp_sys::cluster::alike::OwnPages;
use fathomp_sys::packets::Packets;
use fathomp_transport::Abort;
use fathomp_transport::tcp::handover::{Hosts, ToAgent};
use fathomp_transport::tcp::{Joint, TakeError, TakenWire, take};
use fathomp_types::NodeId;
use std::sync::OnceLock;
use talk::Talk;

pub(crate) use facts::Facts;

/// The socket to the agent of this host, once it is known.
static AGENT: OnceLock<Packets> = OnceLock::new();

/// Tells the agent why the run has failed; `false` if there is no agent.
pub(crate) fn report(abort: &Abort) -> bool {
    AGENT
        .get()
        .is_some_and(|agent| agent.send(&ToAgent::Report(abort.clone()).encode()).is_ok())
}

/// Whether this process is one of several hosts'.
pub(crate) fn are_asked_for() -> bool {
    of_this_process(HOST.name).is_some()
}

/// This host's process among those of all hosts.
#[derive(Debug)]
pub(crate) struct Met {
    pub(crate) hosts: Hosts,
    pub(crate) joints: Vec<Joint>,
    /// The process of node 0, once they have agreed.
    pub(crate) first_process: u32,
    /// Processors that are left to this host's program, where its agent needs one as well.
    pub(crate) processors: Option<u16>,
}

/// Asks the agent of this host for connections to the others, for a program of `nodes` nodes.
/// None if there is only this host.
///
/// # Errors
/// If there are none.
pub(crate) fn meet(nodes: u16) -> Result<Option<Met>, MeetError> {
    let Some(value) = of_this_process(HOST.name) else {
        return Ok(None);
    };
    let number = value.to_str().and_then(|value| value.parse().ok());
    let number = number.ok_or(MeetError::Descriptor(value))?;
    let agent = Packets::inherited(number).map_err(MeetError::NoAgent)?;
    let agent = AGENT.get_or_init(|| agent);
    let taken = take(agent)?;
    let joint = |taken: TakenWire| Joint::new(taken.mine, taken.peer, taken.wire);
    let joints = taken.wires.into_iter().map(joint).collect();
    let here = taken.hosts.nodes();
    if here != nodes {
        return Err(MeetError::Nodes { asked: nodes, here });
    }
    Ok(Some(Met {
        hosts: taken.hosts,
        joints,
        first_process: 0,
        processors: taken.processors,
    }))
}

impl Met {
    /// Compares with the processes of other hosts what has to be the same, and takes over what
    /// node 0 has in pages that differ.
    ///
    /// # Errors
    /// If something differs that must not.
    pub(crate) fn agree(&mut self, facts: &Facts, own: &mut OwnPages<'_>) -> Result<(), MeetError> {
        match self.hosts.me() {
            0 => self.lead(facts, own),
            _ => self.follow(facts, own),
        }
    }

    /// At node 0.
    fn lead(&mut self, facts: &Facts, own: &OwnPages<'_>) -> Result<(), MeetError> {
        let mine = pages::digests(own)?;
        let others = 1..u16::try_from(self.hosts.all().len()).unwrap_or(u16::MAX);
        let mut theirs = Vec::new();
        let mut verdict = None;
        for host in others.clone() {
            let mut talk = self.talk(host)?;
            let said = Facts::decode(&talk.hear()?).ok_or_else(|| talk.nonsense())?;
            theirs.push(pages::hear_digests(&mut talk)?);
            let names = [
                &self.hosts.all()[0].name,
                &self.hosts.all()[usize::from(host)].name,
            ];
            verdict = verdict.or_else(|| facts.difference(&said, names));
        }
        self.first_process = std::process::id();
        let mut answer = self.first_process.to_le_bytes().to_vec();
        answer.extend(verdict.as_deref().unwrap_or_default().as_bytes());
        for host in others.clone() {
            self.talk(host)?.say(&answer)?;
        }
        if let Some(sentence) = verdict {
            return Err(MeetError::Differ(sentence));
        }
        for (host, theirs) in others.zip(theirs) {
            pages::bring(&mut self.talk(host)?, own, &mine, &theirs)?;
        }
        Ok(())
    }

    /// On the other hosts.
    fn follow(&mut self, facts: &Facts, own: &mut OwnPages<'_>) -> Result<(), MeetError> {
        let mine = pages::digests(own)?;
        let mut talk = self.talk(0)?;
        talk.say(&facts.encode())?;
        pages::say_digests(&mut talk, &mine)?;
        let answer = talk.hear()?;
        let (process, verdict) = answer.split_first_chunk().ok_or_else(|| talk.nonsense())?;
        if !verdict.is_empty() {
            return Err(MeetError::Differ(
                String::from_utf8_lossy(verdict).into_owned(),
            ));
        }
        pages::take_over(&mut talk, own)?;
        self.first_process = u32::from_le_bytes(*process);
        Ok(())
    }

    /// The connection between this host's process and another's: that of their first nodes.
    fn talk(&mut self, host: u16) -> Result<Talk<'_>, MeetError> {
        let first = |host| NodeId(self.hosts.nodes_of(host).start);
        let ends = (first(self.hosts.me()), first(host));
        let name = &self.hosts.all()[usize::from(host)].name;
        let joint = self.joints.iter_mut().find(|joint| joint.ends() == ends);
        let joint = joint.ok_or(MeetError::Take(TakeError::Nonsense))?;
        Ok(Talk { name, joint })
    }
}
