//! Connects to a collector on a network.

use crate::message::{
    self, ClockNote, HEADER_BYTES, Header, Hello, Kind, NoMessage, PingPong, Welcome,
};
use fathomp_sys::clock;
use fathomp_sys::socket::Socket;
use std::io;
use std::net::ToSocketAddrs;
use std::time::Duration;

/// Connects to `host:port`; calls on the socket fail that take longer than `patience`.
///
/// # Errors
/// If nobody listens there, or does not answer in time.
pub fn connect(address: &str, patience: Duration) -> io::Result<Socket> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
        match Socket::connect_host(&address, patience) {
            Ok(socket) => {
                socket.set_patience(patience)?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Says which process connects, waits to be welcomed, and tells (and gives) how far the clocks of the
/// two hosts are apart.
///
/// # Errors
/// If the collector refuses, or is none, or is gone.
pub fn introduce(socket: &Socket, hello: &Hello) -> io::Result<ClockNote> {
    let mut bytes = Vec::new();
    message::put_note(&mut bytes, Kind::Hello, hello);
    socket.send(&bytes)?;
    let (header, body) = receive(socket)?;
    let welcome: Welcome = match header.kind {
        Kind::Welcome => serde_json::from_slice(&body)?,
        Kind::Refused => {
            let why: String = String::from_utf8_lossy(&body).chars().take(200).collect();
            return Err(io::Error::other(why));
        }
        _ => return Err(io::Error::other(NoMessage)),
    };
    let mut note = ClockNote::default();
    // One boot, one clock: nothing to measure.
    if hello.boot.is_empty() || welcome.boot != hello.boot {
        let mut pings = PingPong::default();
        for _ in 0..PingPong::TRIPS {
            let sent_ns = clock::unix_ns();
            socket.send(&Header::of(Kind::Ping).to_bytes())?;
            let (header, _) = receive(socket)?;
            if header.kind != Kind::Pong {
                return Err(io::Error::other(NoMessage));
            }
            pings.trip(sent_ns, header.position, clock::unix_ns());
        }
        note = pings.note().unwrap_or_default();
    }
    message::put_note(&mut bytes, Kind::Clock, &note);
    socket.send(&bytes)?;
    Ok(note)
}

/// Receives a whole message.
///
/// # Errors
/// If what comes is none, or nothing comes in time.
pub fn receive(socket: &Socket) -> io::Result<(Header, Vec<u8>)> {
    let mut head = [0; HEADER_BYTES];
    socket.receive(&mut head)?;
    let header = Header::from_bytes(&head).map_err(io::Error::other)?;
    let mut body = vec![0; header.bytes];
    socket.receive(&mut body)?;
    Ok((header, body))
}
