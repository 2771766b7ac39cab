//! How two agents prove to each other that they are of one run.
//!
//! ```text
//! initiator                              responder
//! hello: magic, generation, nodes, nonce ->
//!                     <-  nonce, seal over "responder", hello, nonce
//! seal over "initiator", hello, nonce    ->
//! ```
//!
//! Every message has a fixed length. The nonces are fresh, so nothing that was said before is
//! worth anything; the roles and both nodes are sealed, so nothing can be sent back to where
//! it came from or handed on to somebody else.

use crate::key::{KEY_BYTES, Key, random};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// What begins every connection; the last byte is the version.
const MAGIC: [u8; 8] = *b"FATHOMP\x01";
const NONCE_BYTES: usize = 32;
/// Of a hello: magic, generation, two nodes, whether it is to be encrypted, nonce.
pub(super) const HELLO_BYTES: usize = 8 + 4 + 2 + 2 + 1 + NONCE_BYTES;
/// How long the whole may take.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Which connection this is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hello {
    /// How many programs on a host have asked for connections.
    pub(crate) generation: u32,
    /// The node, or the host, that connects: the lower number of two nodes.
    pub(crate) from: u16,
    /// The node that is connected to.
    pub(crate) to: u16,
    /// Whether what follows is encrypted.
    pub(crate) secure: bool,
}

/// The nonces of both sides, of which a key for what follows can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) hello: [u8; HELLO_BYTES],
    pub(crate) nonce: [u8; NONCE_BYTES],
}

/// Why a connection is none of ours.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandshakeError {
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
    #[error("it did not answer within 5 s")]
    Late,
    #[error("something else than an agent of this run answers there")]
    Stranger,
}

impl Hello {
    /// Stands in the place of a count of programs where an agent connects to the launcher.
    pub(crate) const CONTROL: u32 = 0;

    /// The connection of a host's agent to the launcher.
    pub(crate) fn of_agent(host: u16) -> Self {
        Self {
            generation: Self::CONTROL,
            from: host,
            to: 0,
            secure: false,
        }
    }

    fn bytes(self, nonce: [u8; NONCE_BYTES]) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        let fields: [&[u8]; 6] = [
            &MAGIC,
            &self.generation.to_le_bytes(),
            &self.from.to_le_bytes(),
            &self.to.to_le_bytes(),
            &[self.secure.into()],
            &nonce,
        ];
        let all = fields.into_iter().flatten();
        for (byte, field) in bytes.iter_mut().zip(all) {
            *byte = *field;
        }
        bytes
    }

    fn of(bytes: &[u8; HELLO_BYTES]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk()?;
        let (generation, rest) = rest.split_first_chunk()?;
        let (from, rest) = rest.split_first_chunk()?;
        let (to, rest) = rest.split_first_chunk()?;
        (*magic == MAGIC).then_some(Self {
            generation: u32::from_le_bytes(*generation),
            from: u16::from_le_bytes(*from),
            to: u16::from_le_bytes(*to),
            secure: *rest.first()? == 1,
        })
    }
}

/// The connecting side.
pub(crate) fn initiate(
    stream: &TcpStream,
    key: &Key,
    hello: Hello,
) -> Result<Proof, HandshakeError> {
    let mut limited = Limited::new(stream, HANDSHAKE_TIMEOUT);
    let said = hello.bytes(random()?);
    limited.write_all(&said)?;
    let mut nonce = [0; NONCE_BYTES];
    let mut seal = [0; KEY_BYTES];
    limited.fill(&mut nonce)?;
    limited.fill(&mut seal)?;
    if !key.is_sealed("responder", &[&said, &nonce], &seal) {
        return Err(HandshakeError::Stranger);
    }
    limited.write_all(&key.seal("initiator", &[&said, &nonce]))?;
    limited.done()?;
    Ok(Proof { hello: said, nonce })
}

/// The side that is connected to. `is_wanted` says whether such a connection is to be.
pub(crate) fn respond(
    stream: &TcpStream,
    key: &Key,
    is_wanted: impl FnOnce(Hello) -> bool,
) -> Result<(Hello, Proof), HandshakeError> {
    let mut limited = Limited::new(stream, HANDSHAKE_TIMEOUT);
    let mut said = [0; HELLO_BYTES];
    // What does not begin as we do is not waited for any longer.
    let (magic, rest) = said.split_at_mut(MAGIC.len());
    limited.fill(magic)?;
    if *magic != MAGIC {
        return Err(HandshakeError::Stranger);
    }
    limited.fill(rest)?;
    let hello = Hello::of(&said).filter(|hello| is_wanted(*hello));
    let hello = hello.ok_or(HandshakeError::Stranger)?;
    let nonce = random()?;
    let seal = key.seal("responder", &[&said, &nonce]);
    limited.write_all(&[nonce, seal].concat())?;
    let mut seal = [0; KEY_BYTES];
    limited.fill(&mut seal)?;
    if !key.is_sealed("initiator", &[&said, &nonce], &seal) {
        return Err(HandshakeError::Stranger);
    }
    limited.done()?;
    Ok((hello, Proof { hello: said, nonce }))
}

/// A stream whose reads and writes all together have to be done in time.
struct Limited<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl<'a> Limited<'a> {
    fn new(stream: &'a TcpStream, patience: Duration) -> Self {
        Self {
            stream,
            until: Instant::now() + patience,
        }
    }

    fn left(&self) -> Result<Option<Duration>, HandshakeError> {
        let left = self.until.saturating_duration_since(Instant::now());
        // No time at all would mean for ever.
        match left.is_zero() {
            true => Err(HandshakeError::Late),
            false => Ok(Some(left)),
        }
    }

    fn fill(&mut self, mut bytes: &mut [u8]) -> Result<(), HandshakeError> {
        while !bytes.is_empty() {
            self.stream.set_read_timeout(self.left()?)?;
            match self.stream.read(bytes) {
                Ok(0) => return Err(HandshakeError::Broken(io::ErrorKind::UnexpectedEof.into())),
                Ok(got) => bytes = &mut std::mem::take(&mut bytes)[got..],
                Err(error) => Self::excuse(error)?,
            }
        }
        Ok(())
    }

    fn write_all(&mut self, mut bytes: &[u8]) -> Result<(), HandshakeError> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(self.left()?)?;
            match self.stream.write(bytes) {
                Ok(put) => bytes = &bytes[put..],
                Err(error) => Self::excuse(error)?,
            }
        }
        Ok(())
    }

    /// Whether it may be tried again: out of time is found out there.
    fn excuse(error: io::Error) -> Result<(), HandshakeError> {
        use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        match error.kind() {
            Interrupted | TimedOut | WouldBlock => Ok(()),
            _ => Err(error.into()),
        }
    }

    fn done(self) -> Result<(), HandshakeError> {
        self.stream.set_read_timeout(None)?;
        self.stream.set_write_timeout(None)?;
        Ok(())
    }
}

/// Ends a connection without leaving the other side in doubt.
pub(crate) fn refuse(stream: &TcpStream) {
    // It may be gone already.
    let _ = stream.shutdown(Shutdown::Both);
}
