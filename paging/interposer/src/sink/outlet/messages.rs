//! Records go to a collector as messages.

use super::Batch;
use crate::sink::process::OpenError;
use fathomp_feed::client;
use fathomp_feed::file::RingFile;
use fathomp_feed::message::{self, Header, Hello, Kind, Role, SOCKET};
use fathomp_feed::names;
use fathomp_feed::record;
use fathomp_paging::setup::Setup;
use fathomp_sys::errno;
use fathomp_sys::socket::Socket;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Words of a message: a batch with the record that filled it, which a local socket takes
/// whatever its settings.
const MESSAGE_WORDS: usize = 5 << 10;
/// Bytes of names after which a message is full, for the same reason.
const NAMES_BYTES: usize = 16 << 10;
/// How long a collector may keep a thread waiting before it is taken for dead.
const ROOM_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a collector listens.
#[derive(Clone, Debug)]
pub(super) enum Address {
    /// For messages, in the live directory.
    Local(PathBuf),
    /// On a network, at `host:port`.
    Host(String),
}

/// The way to a collector.
#[derive(Debug)]
pub(in crate::sink) struct Messages {
    address: Address,
    key: String,
    stem: String,
    link: Mutex<Link>,
}

#[derive(Debug, Default)]
struct Link {
    socket: Option<Socket>,
    /// The collector kept a thread waiting for too long: none waits for it again.
    given_up: bool,
    names_sent: usize,
    /// Memory for a message.
    message: Vec<u8>,
}

impl Messages {
    pub(super) fn open(
        address: Address,
        setup: &Setup,
        file: &RingFile,
        stem: &str,
    ) -> Result<Self, OpenError> {
        let messages = Self {
            address,
            key: setup.key.clone(),
            stem: stem.to_owned(),
            link: Mutex::default(),
        };
        let connected = messages.connect(file);
        let socket = connected.map_err(|source| OpenError::Collector {
            address: messages.address.to_string(),
            source,
        })?;
        messages.link().socket = Some(socket);
        Ok(messages)
    }

    fn link(&self) -> std::sync::MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(&self, file: &RingFile) -> io::Result<Socket> {
        let hello = Hello {
            version: message::VERSION,
            key: self.key.clone(),
            host: message::host(),
            boot: message::boot(),
            role: Role::Process {
                stem: self.stem.clone(),
                facts: Box::new(file.facts()),
            },
        };
        match &self.address {
            Address::Local(live) => {
                let socket = Socket::connect_local(live, SOCKET)?;
                socket.set_patience(ROOM_TIMEOUT)?;
                // Whoever may enter the live directory belongs to the recording.
                let mut bytes = Vec::new();
                message::put_note(&mut bytes, Kind::Hello, &hello);
                socket.send(&bytes)?;
                Ok(socket)
            }
            Address::Host(address) => {
                let socket = client::connect(address, ROOM_TIMEOUT)?;
                client::introduce(&socket, &hello)?;
                Ok(socket)
            }
        }
    }

    /// Sends what is in a slot's ring.
    pub(super) fn hand_on(&self, file: &RingFile, index: usize) -> io::Result<()> {
        let _errno = errno::Saved::new();
        let mut link = self.link();
        if link.given_up {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let Some(batch) = Batch::take(file, index) else {
            return Ok(());
        };
        if let Err(error) = self.send(&mut link, file, index, &batch) {
            let slow = [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut];
            if slow.contains(&error.kind()) {
                link.given_up = true;
                return Err(error);
            }
            // The program may have closed our descriptor; the collector still listens then.
            link.socket = None;
            link.names_sent = 0;
            link.socket = Some(self.connect(file)?);
            self.send(&mut link, file, index, &batch)?;
        }
        batch.give_back(file, index);
        Ok(())
    }

    fn send(
        &self,
        link: &mut Link,
        file: &RingFile,
        index: usize,
        batch: &Batch,
    ) -> io::Result<()> {
        let socket = link.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        send_names(socket, file, &mut link.names_sent, &mut link.message)?;
        let mut position = batch.from;
        let mut rest = &batch.words[..];
        while !rest.is_empty() {
            let (words, after) = rest.split_at(record::whole(rest, MESSAGE_WORDS));
            message::put_words(&mut link.message, index as u32, position, words);
            socket.send(&link.message)?;
            position += words.len() as u64;
            rest = after;
        }
        Ok(())
    }

    /// Tells the collector what the process says of itself by now.
    pub(super) fn tell_facts(&self, file: &RingFile) {
        // The process may be ending in the midst of a batch that another thread sends; then
        // the facts are found in the ring file.
        let Ok(mut link) = self.link.try_lock() else {
            return;
        };
        if link.given_up {
            return;
        }
        let mut bytes = std::mem::take(&mut link.message);
        message::put_note(&mut bytes, Kind::Facts, &file.facts());
        if let Some(socket) = &link.socket {
            let _ = socket.send(&bytes);
        }
        link.message = bytes;
    }

    /// In the child of a fork: the connection is the parent's.
    pub(super) fn leave_to_parent(&self) {
        // Another thread of the parent may have held the lock; then the descriptor stays
        // open in the child, and the collector learns of the parent's end otherwise.
        if let Ok(mut link) = self.link.try_lock() {
            link.socket = None;
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Local(live) => write!(f, "{}", live.join(SOCKET).display()),
            Self::Host(address) => f.write_str(address),
        }
    }
}

/// Sends the names that the collector does not know yet.
fn send_names(
    socket: &Socket,
    file: &RingFile,
    sent: &mut usize,
    message: &mut Vec<u8>,
) -> io::Result<()> {
    let count = names::count(file.words());
    *sent = (*sent).max(1);
    while *sent < count {
        let first = *sent;
        let header = Header {
            position: first as u64,
            ..Header::of(Kind::Names)
        };
        let mut body = Vec::new();
        let mut next = first;
        while next < count && body.len() < NAMES_BYTES {
            body.extend(names::name(file.words(), next).bytes());
            body.push(0);
            next += 1;
        }
        message::put(message, header, &body);
        socket.send(message)?;
        *sent = next;
    }
    Ok(())
}
