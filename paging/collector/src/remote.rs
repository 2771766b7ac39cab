//! Forwards streams to a collector on another host.

use fathomp_feed::client;
use fathomp_feed::message::{self, BODY_BYTES_MOST, ClockNote, Header, Hello, Kind, NoMessage};
use fathomp_sys::socket::Socket;
use std::io;
use std::time::{Duration, Instant};

/// How long the other host may take to answer, or to make room.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How often to give a sign of life when there is nothing to send.
const SIGN_EVERY: Duration = Duration::from_secs(5);

/// A connection to a collector on another host.
#[derive(Debug)]
pub(crate) struct Remote {
    socket: Socket,
    address: String,
    clock: ClockNote,
    /// Bytes sent of each file.
    files: Vec<u64>,
    bytes: u64,
    /// Memory for a message.
    message: Vec<u8>,
    last_sign: Instant,
}

impl Remote {
    /// Connects, introduces this collector and measures how far the clocks are apart.
    pub(crate) fn connect(address: &str, hello: &Hello) -> io::Result<Self> {
        let socket = client::connect(address, ANSWER_TIMEOUT)?;
        let clock = client::introduce(&socket, hello)?;
        Ok(Self {
            socket,
            address: address.to_owned(),
            clock,
            files: Vec::new(),
            bytes: 0,
            message: Vec::new(),
            last_sign: Instant::now(),
        })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// How far this host's clock is from the other's.
    pub(crate) fn clock(&self) -> ClockNote {
        self.clock
    }

    /// Begins a file.
    pub(crate) fn open(&mut self, name: &str) -> io::Result<u32> {
        let number = u32::try_from(self.files.len()).map_err(io::Error::other)?;
        let header = Header {
            channel: number,
            ..Header::of(Kind::Open)
        };
        message::put(&mut self.message, header, name.as_bytes());
        self.socket.send(&self.message)?;
        self.files.push(0);
        Ok(number)
    }

    /// Appends bytes to a file.
    pub(crate) fn append(&mut self, number: u32, bytes: &[u8]) -> io::Result<()> {
        let length = self
            .files
            .get_mut(number as usize)
            .ok_or(io::ErrorKind::NotFound)?;
        for part in bytes.chunks(BODY_BYTES_MOST) {
            let header = Header {
                channel: number,
                position: *length,
                ..Header::of(Kind::Data)
            };
            message::put(&mut self.message, header, part);
            self.socket.send(&self.message)?;
            *length += part.len() as u64;
            self.bytes += part.len() as u64;
        }
        self.last_sign = Instant::now();
        Ok(())
    }

    /// Gives a sign of life if it is time to.
    pub(crate) fn sign(&mut self) -> io::Result<()> {
        if self.last_sign.elapsed() >= SIGN_EVERY {
            message::put_note(&mut self.message, Kind::Clock, &self.clock);
            self.socket.send(&self.message)?;
            self.last_sign = Instant::now();
        }
        Ok(())
    }

    /// Waits until the other host says that it has kept everything.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.socket.send(&Header::of(Kind::Done).to_bytes())?;
        let (header, _) = client::receive(&self.socket)?;
        match header.kind {
            Kind::Kept if header.position == self.bytes => Ok(()),
            Kind::Kept => Err(io::Error::other(format!(
                "it says that it kept {} of {} bytes",
                header.position, self.bytes
            ))),
            _ => Err(io::Error::other(NoMessage)),
        }
    }
}
