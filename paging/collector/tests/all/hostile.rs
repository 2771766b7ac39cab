//! Whatever stands in a ring file, comes by message or from a peer on the network: the
//! collector stays whole, and says what was wrong.

use crate::common::{self, Place, Stay, exit, intervals, open, tell, thread};
use fathomp_collector::{Host, HostError};
use fathomp_feed::layout::{Geometry, header, slot};
use fathomp_feed::message::{self, Header, Hello, Kind, Role, Welcome};
use fathomp_paging::setup::{Setup, Writer};
use fathomp_paging::{Counts, Ending, State, TaskId};
use fathomp_sys::clock;
use fathomp_sys::shm::SharedFile;
use fathomp_sys::socket::Socket;
use fathomp_types::Ticks;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

const KEY: &str = "0123456789abcdef0123456789abcdef";

fn stays(number: usize) -> Vec<Stay> {
    let stay = Stay {
        ticks: 1_000,
        state: State::ALL[0],
        cause: 0,
        counts: Counts::ZERO,
    };
    vec![stay; number]
}

/// A process with a thread in the midst of its life, and its ring file.
fn alive(place: &Place) -> (&'static fathomp_interposer::Process, PathBuf) {
    let process = open(&place.live);
    let begin = clock::now();
    let mut sink = thread(process, begin);
    tell(&mut sink, begin, &stays(50));
    let files = std::fs::read_dir(&place.live).unwrap();
    let rings = files
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|one| one == "pagingrings"));
    (process, rings.unwrap())
}

fn small(place: &Place) -> Setup {
    Setup {
        ring_bytes: Setup::RING_BYTES_MIN,
        ..place.setup(Writer::Shared)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Words of the header, of slots and of rings, whatever they are.
    #[test]
    fn no_ring_file_harms_the_collector(
        words in proptest::collection::vec((any::<u16>(), any::<u64>(), 0..3_u32), 1..60),
    ) {
        let place = Place::new();
        small(&place).write(&place.live).unwrap();
        let (_, path) = alive(&place);
        let file = SharedFile::open(&path).unwrap();
        let geometry = Geometry::for_rings(2 << 10, 1024);
        prop_assert_eq!(geometry.words(), file.words().len());
        for (at, value, where_to) in words {
            let at = usize::from(at);
            let place = match where_to {
                0 => at % header::WORDS,
                1 => geometry.slot(0) + at % (2 * slot::WORDS),
                _ => geometry.ring(0) + at % 300,
            };
            // Small numbers make more sense and go further.
            let value = if value % 3 == 0 { value % 2_000 } else { value };
            file.words()[place].store(value, Relaxed);
        }
        let collecting = place.start(small(&place));
        std::thread::sleep(Duration::from_millis(5));
        collecting.finish();
        if place.streams.read_dir().unwrap().next().is_some() {
            let recording = place.read();
            for task in recording.tasks() {
                let _ = intervals(&recording, task.id);
            }
        }
    }
}

#[test]
fn a_ring_file_of_another_version_is_named() {
    let place = Place::new();
    small(&place).write(&place.live).unwrap();
    let (_, path) = alive(&place);
    SharedFile::open(&path).unwrap().words()[header::VERSION].store(99, Relaxed);
    std::fs::write(place.live.join("1-2.pagingrings"), b"not words").unwrap();
    let problems = place.start(small(&place)).finish().problems.join("\n");
    assert!(problems.contains("its version 99 is not"), "{problems}");
    assert!(problems.contains("it is not a ring file"), "{problems}");
}

#[test]
fn a_ring_file_that_is_cut_shorter_is_left_alone() {
    let place = Place::new();
    let collecting = place.start(small(&place));
    let (_, path) = alive(&place);
    // Rings that are hardly filled are emptied every second.
    std::thread::sleep(Duration::from_millis(1500));
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(4096).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    collecting.finish();
    // What had been taken before is there.
    let recording = place.read();
    assert_eq!(intervals(&recording, TaskId(0)).len(), 50);
}

/// Says hello as a process would that has this key.
fn hello(key: &str) -> Vec<u8> {
    let hello = Hello {
        version: message::VERSION,
        key: key.into(),
        host: "elsewhere".into(),
        boot: "another".into(),
        role: Role::Process {
            stem: "7-abc".into(),
            facts: Box::default(),
        },
    };
    let mut bytes = Vec::new();
    message::put_note(&mut bytes, Kind::Hello, &hello);
    bytes
}

fn listening(place: &Place) -> (common::Collecting, std::net::SocketAddr) {
    let collecting = place.start(place.setup(Writer::Collector(String::new())));
    let Writer::Collector(address) = Setup::read(&place.live).unwrap().writer else {
        panic!("the collector says where it listens");
    };
    (collecting, address.parse().unwrap())
}

#[test]
fn strangers_are_refused_and_named() {
    let place = Place::new();
    let (collecting, address) = listening(&place);
    let mut garbage = TcpStream::connect(address).unwrap();
    garbage
        .write_all(b"GET / HTTP/1.0\r\n\r\nxxxxxxxxxxxxxxxxxx")
        .unwrap();
    let mut stranger = TcpStream::connect(address).unwrap();
    stranger.write_all(&hello("another key")).unwrap();
    let mut answer = Vec::new();
    stranger.read_to_end(&mut answer).unwrap();
    assert_eq!(Header::from_bytes(&answer).unwrap().kind, Kind::Refused);
    let mut cut = TcpStream::connect(address).unwrap();
    cut.write_all(&hello(KEY)[..40]).unwrap();
    drop(cut);
    let mut words = TcpStream::connect(address).unwrap();
    words
        .write_all(&Header::of(Kind::Words).to_bytes())
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let problems = collecting.finish().problems;
    let all = problems.join("\n");
    assert!(
        all.contains("its key is not that of this recording"),
        "{all}"
    );
    assert!(all.contains("is not a message of fathomp"), "{all}");
    assert!(all.contains("in the midst of a message"), "{all}");
    assert!(all.contains("did not introduce itself"), "{all}");
    assert_eq!(problems.len(), 4, "{all}");
}

#[test]
fn a_process_on_another_host_that_lies_or_breaks_off_keeps_what_came() {
    let place = Place::new();
    let (collecting, address) = listening(&place);
    let mut peer = TcpStream::connect(address).unwrap();
    peer.write_all(&hello(KEY)).unwrap();
    let mut head = [0; message::HEADER_BYTES];
    peer.read_exact(&mut head).unwrap();
    let welcome = Header::from_bytes(&head).unwrap();
    assert_eq!(welcome.kind, Kind::Welcome);
    let mut body = vec![0; welcome.bytes];
    peer.read_exact(&mut body).unwrap();
    let _: Welcome = serde_json::from_slice(&body).unwrap();
    peer.write_all(&Header::of(Kind::Ping).to_bytes()).unwrap();
    peer.read_exact(&mut head).unwrap();
    let pong = Header::from_bytes(&head).unwrap();
    assert_eq!(pong.kind, Kind::Pong);
    assert!(pong.position.abs_diff(clock::unix_ns()) < 10_000_000_000);
    let mut words = Vec::new();
    let begin = fathomp_feed::record::Record::Begin {
        at: Ticks(5),
        number: 0,
        os_id: 7,
    };
    fathomp_feed::record::put(&mut words, &begin, u32::MAX);
    for number in 1..=3 {
        let counts = Counts::ZERO;
        let (state, cause) = (State::ALL[2], fathomp_paging::Cause::NONE);
        fathomp_feed::record::put_interval(
            &mut words,
            Ticks(5 + number * 100),
            state,
            cause,
            &counts,
            u32::MAX,
        );
    }
    let mut bytes = Vec::new();
    message::put_words(&mut bytes, 0, 0, &words);
    peer.write_all(&bytes).unwrap();
    // Words that are none, of a channel that cannot be, and of one far ahead.
    for (channel, position) in [(1, 0), (u32::MAX, 0), (0, 1 << 40)] {
        message::put_words(&mut bytes, channel, position, &[1, u64::MAX, 3]);
        peer.write_all(&bytes).unwrap();
    }
    let names = Header {
        position: u64::MAX,
        ..Header::of(Kind::Names)
    };
    message::put(&mut bytes, names, b"x\0y");
    peer.write_all(&bytes).unwrap();
    peer.write_all(&bytes[..10]).unwrap();
    drop(peer);
    std::thread::sleep(Duration::from_millis(200));
    let problems = collecting.finish().problems.join("\n");
    assert!(problems.contains("in the midst of a message"), "{problems}");
    let recording = place.read();
    let task = &recording.tasks()[0];
    assert_eq!(
        (task.ending, task.host.as_str()),
        (Ending::Lost, "elsewhere")
    );
    assert_eq!(intervals(&recording, task.id).len(), 3);
    let said = recording.problems().join("\n");
    assert!(said.contains("damaged or incomplete"), "{said}");
}

#[test]
fn a_process_that_sends_nonsense_on_the_local_socket_is_named() {
    let place = Place::new();
    let collecting = place.start(place.setup(Writer::Message));
    let socket = Socket::connect_local(&place.live, message::SOCKET).unwrap();
    socket.send(&[1; 300]).unwrap();
    let other = Socket::connect_local(&place.live, message::SOCKET).unwrap();
    other.send(&hello("another key")).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let problems = collecting.finish().problems;
    assert_eq!(problems.len(), 2, "{problems:?}");
}

/// A node's collector that records a process to `address`.
fn record_to(address: &str, place: &Place) -> Vec<String> {
    let collecting = place.start(place.setup(Writer::Remote(address.into())));
    let process = open(&place.live);
    let begin = clock::now();
    let mut sink = thread(process, begin);
    let mut at = begin;
    for _ in 0..8 {
        at = tell(&mut sink, at, &stays(20_000));
        std::thread::sleep(Duration::from_millis(60));
    }
    sink.end(at, Ending::Exit);
    exit(process, at);
    collecting.finish().problems
}

/// A recording host as a test wants it, which welcomes whoever comes.
fn host(then: impl FnOnce(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; message::HEADER_BYTES];
        stream.read_exact(&mut head).unwrap();
        let mut body = vec![0; Header::from_bytes(&head).unwrap().bytes];
        stream.read_exact(&mut body).unwrap();
        let mut bytes = Vec::new();
        let welcome = Welcome {
            host: "there".into(),
            boot: message::boot(),
        };
        message::put_note(&mut bytes, Kind::Welcome, &welcome);
        stream.write_all(&bytes).unwrap();
        then(stream);
    });
    address
}

#[test]
fn what_a_recording_host_does_not_take_is_kept_here() {
    // It breaks off after some bytes.
    let address = host(|mut stream| {
        let _ = stream.read_exact(&mut [0; 40_000]);
    });
    let place = Place::new();
    let problems = record_to(&address, &place);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].contains("could not be written to"),
        "{problems:?}"
    );
    let recording = place.read();
    let kept: u64 = intervals(&recording, TaskId(0)).len() as u64;
    assert!((1..160_000).contains(&kept), "{kept}");
    assert_eq!(recording.totals(TaskId(0)).unwrap().stays, 160_000);
}

#[test]
fn a_recording_host_that_lies_about_what_it_kept_is_found_out() {
    let address = host(|mut stream| {
        let mut bytes = Vec::new();
        let done = Header::of(Kind::Done).to_bytes();
        let mut part = [0; 65536];
        while !bytes.ends_with(&done) {
            let got = stream.read(&mut part).unwrap();
            bytes.extend_from_slice(&part[..got]);
        }
        let kept = Header {
            position: 3,
            ..Header::of(Kind::Kept)
        };
        stream.write_all(&kept.to_bytes()).unwrap();
    });
    let problems = record_to(&address, &Place::new());
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("it kept 3 of"), "{problems:?}");
}

#[test]
fn a_recording_host_that_is_none_is_not_recorded_to() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let job = fathomp_collector::Job {
        live: place.live.clone(),
        setup: place.setup(Writer::Remote(address)),
    };
    let refused = fathomp_collector::Collector::start(job).unwrap_err();
    let refused = refused.to_string();
    assert!(refused.contains("is not a message of fathomp"), "{refused}");
    assert!(refused.contains("collect --listen"), "{refused}");
}

#[test]
fn nodes_that_lie_to_a_recording_host_leave_what_came_and_nothing_else() {
    let place = Place::new();
    let kept = place.root.path().join("kept");
    assert!(matches!(
        Host::listen("127.0.0.1:0", &kept, "", 1),
        Err(HostError::NoKey)
    ));
    let host = Host::listen("127.0.0.1:0", &kept, KEY, 1000).unwrap();
    let address = host.address();
    let host = std::thread::spawn(move || host.run(|| false));
    let connect = || {
        let hello = Hello {
            version: message::VERSION,
            key: KEY.into(),
            host: "node".into(),
            boot: message::boot(),
            role: Role::Node,
        };
        let patience = Duration::from_secs(10);
        let socket = fathomp_feed::client::connect(&address.to_string(), patience).unwrap();
        fathomp_feed::client::introduce(&socket, &hello).unwrap();
        socket
    };
    let send = |socket: &Socket, kind, channel, position, body: &[u8]| {
        let mut bytes = Vec::new();
        let header = Header {
            channel,
            position,
            ..Header::of(kind)
        };
        message::put(&mut bytes, header, body);
        socket.send(&bytes).unwrap();
    };
    // The host ends when the last has gone, so all connect before the first goes.
    let sockets: Vec<_> = (0..6).map(|_| connect()).collect();
    send(&sockets[0], Kind::Open, 0, 0, b"../outside");
    send(&sockets[1], Kind::Open, 0, 0, b"1-a.fthp");
    send(&sockets[1], Kind::Data, 0, 0, b"kept");
    send(&sockets[1], Kind::Data, 0, 9, b"not kept");
    send(&sockets[2], Kind::Open, 0, 0, b"2-a.fthp");
    send(&sockets[2], Kind::Data, 0, 0, &[7; 2000]);
    send(&sockets[3], Kind::Data, 5, 0, b"of no file");
    send(&sockets[4], Kind::Words, 0, 0, b"12345678");
    send(&sockets[5], Kind::Open, 0, 0, b"3-a.fthp");
    send(&sockets[5], Kind::Done, 0, 0, b"");
    let (answer, _) = fathomp_feed::client::receive(&sockets[5]).unwrap();
    assert_eq!((answer.kind, answer.position), (Kind::Kept, 0));
    drop(sockets);
    let summary = host.join().unwrap();
    assert_eq!((summary.nodes, summary.complete, summary.bytes), (6, 1, 4));
    let problems = summary.problems.join("\n");
    assert_eq!(summary.problems.len(), 5, "{problems}");
    for part in [
        "named a file as no recording does",
        "left out a part of a file",
        "more than this host keeps",
        "a file that it did not begin",
        "what no node sends",
    ] {
        assert!(problems.contains(part), "{problems}");
    }
    assert_eq!(std::fs::read(kept.join("1-a.fthp")).unwrap(), b"kept");
    assert!(!place.root.path().join("outside").exists());
}

#[test]
fn a_collector_that_stops_to_listen_does_not_stop_programs_for_long_nor_costs_totals() {
    let place = Place::new();
    let setup = place.setup(Writer::Message);
    let job = fathomp_collector::Job {
        live: place.live.clone(),
        setup,
    };
    // Nobody polls it while the process sends.
    let collector = fathomp_collector::Collector::start(job).unwrap();
    let process = open(&place.live);
    let begin = clock::now();
    let mut sink = thread(process, begin);
    let since = std::time::Instant::now();
    let at = tell(&mut sink, begin, &stays(400_000));
    assert!(
        since.elapsed() < Duration::from_secs(30),
        "{:?}",
        since.elapsed()
    );
    sink.end(at, Ending::Exit);
    exit(process, at);
    let (summary, _closing) = collector.finish();
    assert_eq!(summary.problems, Vec::<String>::new());
    assert!(summary.merged > 0);
    let recording = place.read();
    assert_eq!(recording.totals(TaskId(0)).unwrap().stays, 400_000);
    let merged = intervals(&recording, TaskId(0))
        .iter()
        .map(|stay| stay.merged)
        .sum::<u64>();
    assert_eq!(merged, 400_000);
}
