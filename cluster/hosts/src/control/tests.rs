use super::*;
use crate::key::random;
use proptest::prelude::*;
use std::io::{self, Cursor, Read, Write};
use std::sync::mpsc;

fn bytes() -> impl Strategy<Value = Bytes> {
    proptest::collection::vec(any::<u8>(), 0..40).prop_map(Bytes)
}

fn down() -> impl Strategy<Value = Down> {
    let place = (
        any::<u16>(),
        proptest::collection::vec(any::<std::net::IpAddr>(), 0..3),
    )
        .prop_map(|(port, addresses)| Place { port, addresses });
    prop_oneof![
        Just(Down::Beat),
        Just(Down::InputEnd),
        any::<bool>().prop_map(Down::Stop),
        proptest::collection::vec(place, 0..4).prop_map(Down::Go),
        bytes().prop_map(Down::Input),
        any::<i32>().prop_map(Down::Signal),
        any::<u32>().prop_map(|count| Down::Credit(Stream::Err, count)),
        (any::<u16>(), job()).prop_map(|(host, job)| Down::Start {
            host,
            below: vec![host, 7],
            run: Box::new(Run {
                hosts: crate::plan::Hosts::parse("a:2,b").unwrap(),
                remote: vec!["ssh".into()],
                agent: job.program.clone(),
                agent_arguments: vec!["host-agent".into()],
                fan_out: host,
                by_name: host % 2 == 0,
                ports: Some((1, host)),
                secure: true,
                job,
            }),
        }),
    ]
}

fn job() -> impl Strategy<Value = Job> {
    let pairs = proptest::collection::vec((bytes(), bytes()), 0..4);
    (bytes(), pairs, any::<u32>()).prop_map(|(program, environment, umask)| Job {
        program_sha256: [7; 32],
        arguments: vec![program.clone()],
        directory: program.clone(),
        files: program.clone(),
        program,
        environment,
        limits: vec![(3, None), (7, Some(u64::from(umask)))],
        umask,
        files_are_shared: false,
        sidecar: umask.is_multiple_of(2).then(|| Bytes(vec![7; 3])),
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(host in any::<u16>(), messages in proptest::collection::vec(down(), 1..5)) {
        let mut stream = Vec::new();
        for message in &messages {
            write(&mut stream, host, message).unwrap();
        }
        let mut stream = Cursor::new(stream);
        for message in messages {
            prop_assert_eq!(read(&mut stream).unwrap(), Frame { host, message });
        }
        prop_assert!(matches!(read::<Down>(&mut stream), Err(FrameError::Ended)));
    }

    #[test]
    fn a_stream_that_is_cut_is_broken(message in down(), cut in any::<prop::sample::Index>()) {
        let bytes = encode(1, &message).unwrap();
        let cut = 1 + cut.index(bytes.len() - 1);
        let read = read::<Down>(&mut &bytes[..cut]);
        prop_assert!(matches!(read, Err(FrameError::Broken(_))), "{:?}", read);
    }

    #[test]
    fn garbage_is_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let mut stream = Vec::from((bytes.len() as u32).to_le_bytes());
        stream.extend(&bytes);
        let _ = read::<Down>(&mut &stream[..]);
        let _ = read::<Up>(&mut &stream[..]);
        let _ = read::<Up>(&mut &bytes[..]);
    }
}

/// Gives zeros for ever, and counts them.
struct Zeros(usize);

impl Read for Zeros {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        bytes.fill(0);
        self.0 += bytes.len();
        Ok(bytes.len())
    }
}

#[test]
fn huge_lengths_are_refused_at_once() {
    let mut rest = Zeros(0);
    let length = u32::MAX.to_le_bytes();
    let mut stream = length.chain(&mut rest);
    assert!(matches!(read::<Up>(&mut stream), Err(FrameError::Nonsense)));
    assert_eq!(rest.0, 0);
}

#[test]
fn greetings_before_an_agent_are_passed_over() {
    let mut said = b"Welcome to b!\nfathomp-agent? no".to_vec();
    write_preamble(&mut said, "1 abc").unwrap();
    said.extend(b"rest");
    let mut stream = Cursor::new(said);
    await_preamble(&mut stream, "1 abc").unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"rest");
}

#[test]
fn what_is_no_agent_of_this_version_is_told_apart() {
    let mut other = Vec::new();
    write_preamble(&mut other, "2 def").unwrap();
    let opened = |bytes: &[u8]| await_preamble(&mut &bytes[..], "1 abc");
    assert!(matches!(opened(&other), Err(PreambleError::Version(v)) if v == "2 def"));
    assert!(matches!(
        opened(b"command not found\n"),
        Err(PreambleError::Ended)
    ));
    let mut endless = Zeros(0);
    let opened = await_preamble(&mut endless, "1 abc");
    assert!(matches!(opened, Err(PreambleError::Stranger)));
    let mut endless = b"\nfathomp-agent ".chain(io::repeat(b'x'));
    let opened = await_preamble(&mut endless, "1 abc");
    assert!(matches!(opened, Err(PreambleError::Stranger)));
}

#[test]
fn a_link_carries_frames_both_ways_and_says_when_it_ends() {
    let (theirs, ours) = (io::pipe().unwrap(), io::pipe().unwrap());
    let (tell, told) = mpsc::channel();
    let link = Link::start(
        "test",
        (theirs.0, ours.1),
        (random::<4>().unwrap().to_vec(), |_: &mut _| Ok(())),
        (Down::Beat, Up::Beat),
        move |heard| drop(tell.send(heard)),
    )
    .unwrap();
    link.send(3, &Down::Stop(true)).unwrap();
    let (mut from_link, mut to_link) = (ours.0, theirs.1);
    from_link.read_exact(&mut [0; 4]).unwrap();
    let frame = read::<Down>(&mut from_link).unwrap();
    assert_eq!(
        frame,
        Frame {
            host: 3,
            message: Down::Stop(true)
        }
    );
    // A link that says nothing gives signs of life.
    assert_eq!(read::<Down>(&mut from_link).unwrap().message, Down::Beat);
    write(&mut to_link, 2, &Up::Beat).unwrap();
    write(&mut to_link, 2, &Up::Asked(1)).unwrap();
    let Heard::Frame(frame) = told.recv().unwrap() else {
        panic!("no frame");
    };
    assert_eq!(
        (frame, link.heard()),
        (
            Frame {
                host: 2,
                message: Up::Asked(1)
            },
            2
        )
    );
    to_link.write_all(&[1]).unwrap();
    drop(to_link);
    let Heard::Closed(error) = told.recv().unwrap() else {
        panic!("not closed");
    };
    assert!(matches!(error, FrameError::Broken(_)), "{error}");
    drop(link);
    assert!(matches!(
        read::<Down>(&mut from_link),
        Err(FrameError::Ended)
    ));
}
