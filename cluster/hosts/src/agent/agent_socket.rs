//! The socket between this agent and the programs on its host.
//!
//! All processes that the program starts inherit their end, and any of them may become nodes:
//! several one after another, as scripts do. The kernel says which process a packet is from.

use fathomp_transport::tcp::handover::{FromAgent, PACKET_BYTES_MAX, ToAgent};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    sendmsg, socketpair, sockopt,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread;

/// What a program on this host says.
#[derive(Debug)]
pub(super) enum Said {
    /// A packet, and the process that it is from, if this host has a number for it.
    Packet(Option<u32>, ToAgent),
    /// Something that makes no sense.
    Nonsense,
    /// Nobody is left that could say anything.
    Nothing,
}

/// The agent's end.
#[derive(Clone)]
pub(super) struct AgentSocket(Arc<OwnedFd>);

impl AgentSocket {
    /// Both ends.
    pub(super) fn open() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        sockopt::set_socket_passcred(&ours, true)?;
        Ok((Self(Arc::new(ours)), theirs))
    }

    /// Begins to listen; `deliver` is called last with [`Said::Nothing`].
    pub(super) fn listen(&self, deliver: impl Fn(Said) + Send + 'static) -> io::Result<()> {
        let agent_socket = self.clone();
        thread::Builder::new()
            .name("agent-socket".to_owned())
            .spawn(move || {
                while let Some(said) = agent_socket.hear() {
                    deliver(said);
                }
                deliver(Said::Nothing);
            })
            .map(drop)
    }

    fn hear(&self) -> Option<Said> {
        let mut packet = vec![0; PACKET_BYTES_MAX];
        // There is no room for descriptors, so the kernel closes those that somebody sends.
        let mut space = nix::cmsg_space!(nix::libc::ucred);
        let (from, bytes, whole) = {
            let mut parts = [IoSliceMut::new(&mut packet)];
            let received = loop {
                let socket = self.0.as_raw_fd();
                match recvmsg::<()>(socket, &mut parts, Some(&mut space), MsgFlags::empty()) {
                    Err(nix::Error::EINTR) => {}
                    received => break received.ok()?,
                }
            };
            let mut messages = received.cmsgs().ok()?;
            let from = messages.find_map(|message| match message {
                // A process of a name space that is not ours has no number here.
                ControlMessageOwned::ScmCredentials(who) => u32::try_from(who.pid()).ok(),
                _ => None,
            });
            let whole = !received.flags.contains(MsgFlags::MSG_TRUNC);
            (from.filter(|pid| *pid != 0), received.bytes, whole)
        };
        if bytes == 0 {
            return None;
        }
        match ToAgent::decode(packet.get(..bytes).unwrap_or_default()) {
            Ok(said) if whole => Some(Said::Packet(from, said)),
            _ => Some(Said::Nonsense),
        }
    }

    /// Says something, with a descriptor if there is one; waits for room.
    pub(super) fn say(&self, what: &FromAgent, with: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        let descriptors: Vec<_> = with.into_iter().collect();
        if !descriptors.is_empty() {
            rights.push(SendAncillaryMessage::ScmRights(&descriptors));
        }
        let packet = what.encode();
        sendmsg(
            &*self.0,
            &[IoSlice::new(&packet)],
            &mut rights,
            SendFlags::NOSIGNAL,
        )?;
        Ok(())
    }
}
