//! Connections that agents carry over MPI: the program gets one end of a pipe for each.

use super::Agent;
use super::give::{Carried, Wire};
use super::meeting::Meeting;
use crate::mesh::Hello;
use crate::ranks::MpiThread;
use fathomp_transport::tcp::pipe::{Pipes, Side};
use std::io;
use std::os::unix::net::UnixStream;

impl Agent {
    /// Makes all connections of the program that has just asked.
    pub(super) fn carry(&mut self, mpi_thread: &MpiThread) -> io::Result<Carried> {
        let hosts = self.run.hosts.clone();
        let hellos: Vec<Hello> = self.meeting.wanted().collect();
        let here = hosts.nodes_of(self.me);
        let too_many = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let count = u16::try_from(hellos.len()).map_err(too_many)?;
        let (pipes, memory) = Pipes::new(count, hosts.nodes())?;
        let mut ends = Vec::new();
        for (number, hello) in (0..).zip(hellos) {
            let (mine, peer) = match here.contains(&hello.from) {
                true => (hello.from, hello.to),
                false => (hello.to, hello.from),
            };
            // Every rank is a host.
            let Some(rank) = hosts.host_of(peer) else {
                continue;
            };
            let (theirs, ours) = UnixStream::pair()?;
            for end in [&theirs, &ours] {
                end.set_nonblocking(true)?;
            }
            let Some(ours) = pipes.end(number, Side::Agent, ours.into()) else {
                continue;
            };
            self.meeting.add(hello, Wire::Carried(number, theirs));
            ends.push((mine, peer, u32::from(rank), ours));
        }
        mpi_thread.open(self.meeting.generation(), ends);
        Ok(Carried {
            count,
            memory,
            processors: mpi_thread.processors_left(),
        })
    }
}

impl Meeting<Wire> {
    /// What every connection of the program that asked last is, be it made from here or not.
    pub(super) fn wanted(&self) -> impl Iterator<Item = Hello> {
        let generation = self.generation();
        self.pairs().map(move |(from, to)| Hello {
            generation,
            from,
            to,
            secure: false,
        })
    }
}
