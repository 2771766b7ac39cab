//! What processes of several hosts send each other, and what agents say to programs.

use crate::target::{Said, Shape, Target, about, check_sentence};
use fathomp_hosts::Hosts as Named;
use fathomp_hosts::control::{self, Bytes, Down, Place, Stream, Up};
use fathomp_node::foreign::{difference, facts};
use fathomp_transport::Abort;
use fathomp_transport::tcp::foreign::{frames, sent};
use fathomp_transport::tcp::handover::{FromAgent, Host, Hosts, ToAgent};
use fathomp_types::{Ending, NodeId};

/// Frames on a connection.
pub(super) const FRAMES: Target = Target {
    name: "host-frames",
    what: "the frames of a connection to a node of another host",
    shape: Shape::Bytes,
    seeds: || vec![sent(&[0, 5, 4096]), sent(&[9_000])],
    read: |input| match frames(input, &[3, 40, 700]) {
        Ok((frames, None)) => Said::read(about(frames)),
        Ok((_, Some(error))) => Said::refused(&error),
        Err(error) => Said::refused(&error),
    },
};

/// Packets between a program and its agent.
pub(super) const HANDOVER: Target = Target {
    name: "host-handover",
    what: "packets between a program and the agent of its host",
    shape: Shape::Bytes,
    seeds: packets,
    read: |input| {
        let heard = ToAgent::decode(input).map(|said| assert_eq!(again(&said.encode()), said));
        let told = FromAgent::decode(input);
        match (heard, told) {
            (Ok(()), _) => Said::read(1),
            (_, Ok(FromAgent::Join(hosts))) => {
                let last = NodeId(hosts.nodes() - 1);
                assert!(hosts.host_of(last).is_some(), "a node without a host");
                Said::read((2, about(hosts.all().len())))
            }
            (_, Ok(_)) => Said::read(3),
            (Err(error), Err(_)) => Said::refused(&error),
        }
    },
};

/// What a process says of itself.
pub(super) const FACTS: Target = Target {
    name: "host-facts",
    what: "what a process on another host says of itself before nodes are made",
    shape: Shape::Bytes,
    seeds: || vec![facts()],
    read: |input| match difference(input) {
        Some(same) if same.is_empty() => Said::read(0),
        Some(differs) => {
            check_sentence(&differs);
            Said::read(differs.split(' ').count())
        }
        None => Said::refused(&"it cannot be read"),
    },
};

/// Frames between a launcher and its agents.
pub(super) const CONTROL: Target = Target {
    name: "host-control",
    what: "frames between a launcher and the agents of hosts",
    shape: Shape::Bytes,
    seeds: || {
        let down = [
            Down::Go(vec![Place {
                port: 4711,
                addresses: vec![[10, 0, 0, 1].into()],
            }]),
            Down::Input(Bytes(b"text".to_vec())),
            Down::Credit(Stream::Err, 100),
        ];
        let up = [
            Up::Failed("why".to_owned()),
            Up::Ended(Ending::Signalled(9)),
        ];
        let down = down.iter().map(|message| control::encode(1, message));
        let up = up.iter().map(|message| control::encode(2, message));
        down.chain(up).map(|frame| frame.expect("short")).collect()
    },
    read: |input| {
        let down = control::read::<Down>(&mut &*input);
        match (down, control::read::<Up>(&mut &*input)) {
            (Ok(frame), _) => {
                let bytes = control::encode(frame.host, &frame.message).expect("it was as short");
                let again = control::read(&mut &*bytes).expect("what was encoded");
                assert_eq!(frame, again);
                Said::read(1)
            }
            (_, Ok(_)) => Said::read(2),
            (_, Err(error)) => Said::refused(&error),
        }
    },
};

/// What comes before the frames of an agent.
pub(super) const OPENING: Target = Target {
    name: "host-opening",
    what: "what comes before the first frame of an agent",
    shape: Shape::Bytes,
    seeds: || {
        let mut opening = b"Welcome!\n".to_vec();
        control::write_preamble(&mut opening, "1").expect("memory takes it");
        vec![opening]
    },
    read: |input| match control::await_preamble(&mut &*input, "1") {
        Ok(()) => Said::read(0),
        Err(error) => Said::refused(&error),
    },
};

/// Lists of hosts.
pub(super) const LIST: Target = Target {
    name: "host-list",
    what: "lists of hosts, as users write them",
    shape: Shape::Bytes,
    seeds: || vec![b"a,b:2,[::1]:3,user@c".to_vec()],
    read: |input| match Named::parse(&String::from_utf8_lossy(input)) {
        Ok(hosts) => {
            assert!((1..=256).contains(&hosts.nodes()), "too many nodes");
            Said::read(about(hosts.all().len()))
        }
        Err(error) => Said::refused(&error),
    },
};

fn again(packet: &[u8]) -> ToAgent {
    ToAgent::decode(packet).expect("what was encoded")
}

fn packets() -> Vec<Vec<u8>> {
    let host = |name: &str, nodes| Host {
        name: name.to_owned(),
        nodes,
    };
    let hosts = Hosts::new(1, vec![host("a", 2), host("b", 1)]).expect("hosts");
    let (mine, peer) = (NodeId(2), NodeId(0));
    let report = ToAgent::Report(Abort {
        by: mine,
        node: peer,
        code: 1,
        text: "the connection was closed".to_owned(),
    });
    vec![
        ToAgent::Hello { pid: 77 }.encode(),
        report.encode(),
        FromAgent::Join(hosts).encode(),
        FromAgent::Wire { mine, peer }.encode(),
        FromAgent::Complete.encode(),
        FromAgent::Refuse {
            text: "host b cannot be reached".to_owned(),
        }
        .encode(),
    ]
}
