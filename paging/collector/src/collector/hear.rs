//! What processes send: introductions, words, names, facts.

use super::{Collector, StartError};
use crate::peers::{self, Event, ExpectedPeers, PeerId, Peers};
use crate::process::{Common, Whereabouts};
use fathomp_feed::file::RingFile;
use fathomp_feed::layout::EXTENSION;
use fathomp_feed::message::{self, Header, Hello, Kind, Role, SOCKET};
use fathomp_paging::setup::{Setup, Writer};
use fathomp_sys::local_listener::LocalListener;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Instant;

/// Address to listen at if none is given: only for processes on this host.
const THIS_HOST: &str = "127.0.0.1:0";

impl Collector {
    /// Takes messages.
    pub(super) fn hear(&mut self) {
        let Some(mut peers) = self.peers.take() else {
            return;
        };
        let problems = peers.poll(|peer, event| self.event(peer, event));
        self.peers = Some(peers);
        problems.into_iter().for_each(|problem| self.note(problem));
    }

    fn event(&mut self, peer: PeerId, event: Event) {
        match event {
            Event::Came(hello) => self.came(peer, *hello),
            Event::Sent(header, body) => self.sent(peer, header, &body),
            Event::Went(why) => {
                let Some(stem) = self.senders.remove(&peer) else {
                    return;
                };
                let pid = self.processes.get_mut(&stem).map(|process| {
                    process.connected = false;
                    process.pid()
                });
                if let (Some(why), Some(pid)) = (why, pid) {
                    self.note(format!("The connection to process {pid} broke: {why}."));
                }
            }
        }
    }

    fn came(&mut self, peer: PeerId, hello: Hello) {
        let Role::Process { stem, facts } = hello.role else {
            return;
        };
        let sane = !stem.is_empty() && !stem.contains(['/', '\0']) && stem.len() < 64;
        if !sane {
            return self.note(format!("A process on {} has no proper name.", hello.host));
        }
        let here = hello.boot == message::boot() && !hello.boot.is_empty();
        if !self.processes.contains_key(&stem) {
            let name = format!("{stem}.{EXTENSION}");
            if self.live.knows(&name) {
                // It is complete already; only its connection comes late.
                return;
            }
            let file = here
                .then(|| RingFile::open(&self.live.path().join(&name)).ok())
                .flatten();
            if file.is_some() {
                self.live.add(&name);
            }
            self.begin(&stem, file);
        }
        if let Some(process) = self.processes.get_mut(&stem) {
            process.connected = true;
            process.told = Some(*facts);
            process.place = Whereabouts {
                host: hello.host,
                far: !here,
                clock: process.place.clock,
            };
            self.senders.insert(peer, stem);
        }
    }

    fn sent(&mut self, peer: PeerId, header: Header, body: &[u8]) {
        let Some(stem) = self.senders.get(&peer) else {
            return;
        };
        self.heard.insert(stem.clone(), Instant::now());
        let nanos_per_tick = self.nanos_per_tick();
        let Some(process) = self.processes.get_mut(stem) else {
            return;
        };
        match header.kind {
            Kind::Words => {
                let mut common = Common {
                    setup: &self.setup,
                    store: &mut self.store,
                    nanos_per_tick,
                };
                let words: Vec<u64> = message::words(body).collect();
                let channel = header.channel as usize;
                process.words(channel, header.position, &words, &mut common);
            }
            Kind::Names => process.names(header.position, body),
            Kind::Facts => {
                if let Ok(facts) = serde_json::from_slice(body) {
                    process.told = Some(facts);
                }
            }
            Kind::Clock => {
                process.place.clock = peers::clock_note(body).unwrap_or(process.place.clock);
            }
            _ => {}
        }
    }
}

/// Listens where the settings say; puts the address into them.
pub(super) fn listen(
    live: &Path,
    setup: &mut Setup,
) -> Result<(Option<Peers>, Option<SocketAddr>), StartError> {
    let refused = |address: &str, source| StartError::Listen {
        address: address.to_owned(),
        source,
    };
    let (local, network, bound) = match &mut setup.writer {
        Writer::Message => {
            let listener = LocalListener::listen(live, SOCKET);
            let address = live.join(SOCKET);
            let error = |source| refused(&address.to_string_lossy(), source);
            (Some(listener.map_err(error)?), None, None)
        }
        Writer::Collector(address) => {
            if address.is_empty() {
                THIS_HOST.clone_into(address);
            }
            let listener = TcpListener::bind(&*address);
            let bound = listener.and_then(|listener| {
                listener.set_nonblocking(true)?;
                let bound = listener.local_addr()?;
                Ok((listener, bound))
            });
            let (listener, bound) = bound.map_err(|source| refused(address, source))?;
            // The name stays as it was given: the address behind it may be one that others
            // cannot reach.
            let host = address
                .rsplit_once(':')
                .map_or(&**address, |(host, _)| host);
            *address = format!("{host}:{}", bound.port());
            (None, Some(listener), Some(bound))
        }
        _ => return Ok((None, None)),
    };
    let peers = Peers::new(local, network, &setup.key, ExpectedPeers::Processes);
    Ok((Some(peers), bound))
}
