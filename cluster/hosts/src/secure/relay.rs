//! Passing a program's bytes on through an encrypted connection.

use super::record::{CONTENT_BYTES_MAX, RecordError, Session};
use crate::key::Key;
use crate::mesh::{Proof, settle};
use fathomp_sys::polling::NonblockingSocket;
use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

/// A host that answers nothing for so long is gone, or the link to it is down.
const SILENCE_MAX: Duration = Duration::from_secs(3);
/// How often to look for that.
const SILENCE_CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Memory of each of the two threads of a connection.
const STACK_BYTES: usize = 128 << 10;

/// Begins to pass on between a connection and the socket that it gives, which is the program's.
/// When one of the two ends, so does the other. `initiated` says which side connected. If the other
/// host does not answer any more, that is told before anything ends: the program sees no more than
/// that its socket is closed.
pub(crate) fn relay(
    key: &Key,
    proof: &Proof,
    stream: TcpStream,
    initiated: bool,
    silent: impl FnOnce() + Send + 'static,
) -> io::Result<UnixStream> {
    settle(&stream)?;
    let (theirs, ours) = UnixStream::pair()?;
    theirs.set_nonblocking(true)?;
    let (out, back) = (
        Session::new(key, proof, initiated),
        Session::new(key, proof, !initiated),
    );
    let (stream_out, ours_out) = (stream.try_clone()?, ours.try_clone()?);
    let from = Heard::new(stream)?;
    let start = |name: &str, work: Box<dyn FnOnce() + Send>| {
        thread::Builder::new()
            .name(name.to_owned())
            .stack_size(STACK_BYTES)
            .spawn(work)
            .map(drop)
    };
    start(
        "encrypts",
        Box::new(move || encrypt(out, ours_out, &stream_out)),
    )?;
    start(
        "decrypts",
        Box::new(move || decrypt(back, from, ours, silent)),
    )?;
    Ok(theirs)
}

fn encrypt(mut session: Session, mut from: UnixStream, mut to: &TcpStream) {
    let mut content = vec![0; CONTENT_BYTES_MAX];
    while let Ok(got @ 1..) = from.read(&mut content) {
        if session.send(&mut to, &content[..got]).is_err() {
            break;
        }
    }
    // The peer sees the end, and the program that it can send no more.
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}

/// A connection that is given up when the other host's system does not answer. Whether its program
/// sends anything is another matter.
struct Heard {
    stream: TcpStream,
    wire: NonblockingSocket,
}

impl Heard {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(SILENCE_CHECK_INTERVAL))?;
        let wire = NonblockingSocket::new(stream.try_clone()?.into());
        Ok(Self { stream, wire })
    }
}

impl Read for Heard {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.wire.silence().is_some_and(|time| time > SILENCE_MAX) {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                done => return done,
            }
        }
    }
}

fn decrypt(mut session: Session, mut from: Heard, mut to: UnixStream, silent: impl FnOnce()) {
    let ended_well = loop {
        match session.receive(&mut from) {
            Ok(content) if content.is_empty() => break true,
            Ok(content) => {
                if io::Write::write_all(&mut to, &content).is_err() {
                    break true;
                }
            }
            Err(RecordError::Broken(error)) if error.kind() == io::ErrorKind::TimedOut => {
                silent();
                break false;
            }
            Err(_) => break false,
        }
    };
    let _ = to.shutdown(Shutdown::Write);
    if !ended_well {
        // The link is down, or somebody changes what is sent: nothing goes either way.
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.stream.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{Hello, initiate, respond};
    use std::io::Write;
    use std::net::TcpListener;

    /// Two connected sockets as two programs have them, and what goes between.
    fn connected() -> ([UnixStream; 2], TcpStream) {
        let key = Key::fresh().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let hello = Hello {
            generation: 1,
            from: 0,
            to: 1,
            secure: true,
        };
        let other = key.clone();
        let initiates = thread::spawn(move || {
            let stream = TcpStream::connect(address).unwrap();
            let proof = initiate(&stream, &other, hello).unwrap();
            (
                relay(&other, &proof, stream.try_clone().unwrap(), true, || ()).unwrap(),
                stream,
            )
        });
        let (stream, _) = listener.accept().unwrap();
        let (_, proof) = respond(&stream, &key, |_| true).unwrap();
        let two = relay(&key, &proof, stream, false, || ()).unwrap();
        let (one, between) = initiates.join().unwrap();
        for end in [&one, &two] {
            end.set_nonblocking(false).unwrap();
        }
        ([one, two], between)
    }

    #[test]
    fn bytes_go_both_ways_and_ends_too() {
        let ([mut one, mut two], _between) = connected();
        let long: Vec<u8> = (0..1_000_000_u32).map(|word| word as u8).collect();
        let given = long.clone();
        let mut sends = one.try_clone().unwrap();
        let sender = thread::spawn(move || sends.write_all(&given).unwrap());
        let mut got = vec![0; long.len()];
        two.read_exact(&mut got).unwrap();
        assert!(got == long);
        sender.join().unwrap();
        two.write_all(b"back").unwrap();
        let mut back = [0; 4];
        one.read_exact(&mut back).unwrap();
        assert_eq!(&back, b"back");
        drop(one);
        assert_eq!(two.read(&mut back).unwrap(), 0);
    }

    #[test]
    fn a_connection_into_which_somebody_writes_ends() {
        let ([mut one, mut two], mut between) = connected();
        one.write_all(b"said").unwrap();
        let mut said = [0; 4];
        two.read_exact(&mut said).unwrap();
        between.write_all(&[1; 1000]).unwrap();
        assert!(matches!(two.read(&mut said), Ok(0) | Err(_)));
        assert!(matches!(one.read(&mut said), Ok(0) | Err(_)));
    }
}
