//! What holds of every message between launcher and agents, whatever the run is at. Both ends
//! ask: a sender that finds something wrong has a fault of its own, a receiver names the sender.

use super::{Bytes, Down, Up};
use crate::credits::{PIECE_BYTES, WINDOW_BYTES};
use crate::plan::Hosts;
use nix::sys::signal::Signal;

fn that(holds: bool, otherwise: &'static str) -> Result<(), &'static str> {
    holds.then_some(()).ok_or(otherwise)
}

impl Up {
    /// What is wrong with a message from the agent of a host, if something is.
    ///
    /// # Errors
    /// The first such thing, as what the agent does.
    pub(crate) fn check(&self, from: u16, hosts: &Hosts) -> Result<(), &'static str> {
        that(
            from < hosts.count(),
            "speaks for a host that there is none of",
        )?;
        match self {
            Self::Output(_, Bytes(bytes)) => that(
                bytes.len() <= PIECE_BYTES,
                "sends more output at once than it may",
            ),
            Self::Credit(bytes) => {
                // The program of the first host alone has an input.
                let may = from == 0 && *bytes <= WINDOW_BYTES;
                that(may, "takes input that it was not sent")
            }
            Self::Report { by, node, .. } => {
                let exist = by.max(node) < &hosts.nodes();
                that(exist, "reports a node that there is none of")
            }
            _ => Ok(()),
        }
    }
}

impl Down {
    /// What is wrong with a message from the launcher of a run, if something is.
    ///
    /// # Errors
    /// The first such thing, as what the launcher does.
    pub(crate) fn check(&self, hosts: &Hosts) -> Result<(), &'static str> {
        match self {
            Self::Start { .. } => that(false, "starts an agent that runs"),
            Self::Go(places) => that(
                places.len() == usize::from(hosts.count()),
                "does not say of each host where its agent listens",
            ),
            Self::Input(Bytes(bytes)) => that(
                bytes.len() <= PIECE_BYTES,
                "sends more input at once than it may",
            ),
            Self::Credit(_, bytes) => that(
                *bytes <= WINDOW_BYTES,
                "has written output that it was not sent",
            ),
            Self::Signal(number) => that(
                Signal::try_from(*number).is_ok(),
                "sends a signal that there is none of",
            ),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Place, Stream};

    fn hosts() -> Hosts {
        Hosts::parse("a,b:2").unwrap()
    }

    #[test]
    fn an_agent_that_says_what_cannot_be_is_found_out() {
        let report = |by, node| Up::Report {
            by,
            node,
            text: String::new(),
        };
        let output = |bytes| Up::Output(Stream::Out, Bytes(vec![0; bytes]));
        for (from, said, is_right) in [
            (1, Up::Asked(1), true),
            (2, Up::Asked(1), false),
            (1, report(2, 0), true),
            (1, report(3, 0), false),
            (1, report(0, u16::MAX), false),
            (1, output(PIECE_BYTES), true),
            (1, output(PIECE_BYTES + 1), false),
            (0, Up::Credit(WINDOW_BYTES), true),
            (0, Up::Credit(WINDOW_BYTES + 1), false),
            (1, Up::Credit(1), false),
        ] {
            assert_eq!(said.check(from, &hosts()).is_ok(), is_right, "{said:?}");
        }
    }

    #[test]
    fn a_launcher_that_says_what_cannot_be_is_found_out() {
        let go = |hosts| Down::Go(vec![Place::default(); hosts]);
        for (said, is_right) in [
            (go(2), true),
            (go(1), false),
            (Down::Input(Bytes(vec![0; PIECE_BYTES])), true),
            (Down::Input(Bytes(vec![0; PIECE_BYTES + 1])), false),
            (Down::Credit(Stream::Err, WINDOW_BYTES + 1), false),
            (Down::Signal(15), true),
            (Down::Signal(0), false),
            (Down::Signal(-9), false),
        ] {
            assert_eq!(said.check(&hosts()).is_ok(), is_right, "{said:?}");
        }
    }
}
