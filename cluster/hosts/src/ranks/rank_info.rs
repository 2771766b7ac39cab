//! What ranks tell each other when they meet.

use crate::key::Key;
use crate::plan::{Host, Hosts};
use fathomp_sys::affinity;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::ffi::OsStrExt;

/// Bytes of a info where all have to be of one length.
const RANK_INFO_BYTES: usize = 1024;
/// Letters of a host's name that are told.
const NAME_LETTERS: usize = 64;
/// Letters of a program's command that are told.
const COMMAND_LETTERS: usize = 64;

/// A rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RankInfo {
    /// Its host's name.
    name: String,
    /// The same for ranks that reach each other by loopback, and for no others.
    network: String,
    /// The program that it was asked to run, with its arguments.
    command: Command,
    /// Where the first rank listens, if it is the first.
    pub(super) first: Option<First>,
}

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Command {
    /// The beginning, for sentences.
    begins: String,
    /// The same for the same words only.
    digest: [u8; 8],
}

impl Command {
    fn of(words: &[OsString]) -> Self {
        let mut hash = Sha256::new();
        for word in words {
            let bytes = word.as_bytes();
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
        let mut digest = [0; 8];
        digest.copy_from_slice(&hash.finalize()[..8]);
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let whole = words.join(" ");
        let mut begins: String = whole.chars().take(COMMAND_LETTERS).collect();
        if begins.len() < whole.len() {
            begins.push_str("...");
        }
        Self { begins, digest }
    }
}

/// A rank that was asked to run something else than the first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stray {
    pub(super) rank: u32,
    pub(super) command: String,
    pub(super) first: String,
}

/// The first such rank, if there is one.
pub(super) fn stray(infos: &[RankInfo]) -> Option<Stray> {
    let first = &infos.first()?.command;
    let mut all = (0..).zip(infos);
    let (rank, other) = all.find(|(_, info)| info.command != *first)?;
    Some(Stray {
        rank,
        command: other.command.begins.clone(),
        first: first.begins.clone(),
    })
}

/// What the first rank tells all others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct First {
    pub(super) port: u16,
    pub(super) addresses: Vec<IpAddr>,
    pub(super) key: Key,
}

impl RankInfo {
    /// This process's, which was asked to run this.
    pub(super) fn own(first: Option<First>, command: &[OsString]) -> Self {
        let text = |path: &str| {
            fs::read_to_string(path)
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let space = fs::read_link("/proc/self/ns/net").unwrap_or_default();
        let name: String = text("/proc/sys/kernel/hostname")
            .chars()
            .take(NAME_LETTERS)
            .collect();
        Self {
            name: match name.is_empty() {
                true => "a host without a name".to_owned(),
                false => name,
            },
            network: format!(
                "{} {}",
                text("/proc/sys/kernel/random/boot_id"),
                space.display()
            ),
            command: Command::of(command),
            first,
        }
    }

    /// Whether both are on one machine.
    fn is_beside(&self, other: &Self) -> bool {
        let machine = |info: &Self| info.network.split(' ').next().map(str::to_owned);
        machine(self) == machine(other)
    }

    /// As bytes.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let bytes = postcard::to_allocvec(self).ok()?;
        (bytes.len() <= RANK_INFO_BYTES).then_some(bytes)
    }

    /// As bytes, of which there are as many for all ranks.
    pub(super) fn encode_padded(&self) -> Option<Vec<u8>> {
        let mut bytes = self.encode()?;
        bytes.resize(RANK_INFO_BYTES, 0);
        Some(bytes)
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (info, padding) = postcard::take_from_bytes(bytes).ok()?;
        padding.iter().all(|byte| *byte == 0).then_some(info)
    }

    /// Addresses at which this rank reaches the first.
    pub(super) fn ways_to(&self, first: &Self) -> Vec<IpAddr> {
        let told = first.first.iter().flat_map(|first| first.addresses.clone());
        let here = (self.network == first.network).then_some(Ipv4Addr::LOCALHOST.into());
        here.into_iter().chain(told).collect()
    }
}

/// Processors that are left to this rank's program beside its agent, which has one to itself
/// when there is something to carry. Ranks of one machine share its processors, unless each has
/// been given its own.
pub(super) fn processors_left(infos: &[RankInfo], own: &RankInfo) -> u16 {
    let beside = infos.iter().filter(|info| info.is_beside(own)).count();
    let allowed = affinity::allowed_count();
    share(allowed, affinity::online_count(), beside)
}

fn share(allowed: u32, online: u32, ranks: usize) -> u16 {
    let ranks = u32::try_from(ranks).unwrap_or(u32::MAX).max(1);
    let mine = match allowed < online {
        true => allowed,
        false => allowed / ranks,
    };
    u16::try_from(mine.saturating_sub(1)).unwrap_or(u16::MAX)
}

/// The ranks as hosts of a run, each with so many nodes. Ranks on one machine are as far apart
/// as others: what starts them has given each its processors.
pub(super) fn hosts(infos: &[RankInfo], nodes: u16) -> Option<Hosts> {
    let host = |(rank, info): (usize, &RankInfo)| Host {
        name: format!("{} (rank {rank})", info.name),
        nodes,
    };
    Hosts::of(infos.iter().enumerate().map(host).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_come_back_from_their_bytes() {
        let first = First {
            port: 7,
            addresses: vec![Ipv4Addr::LOCALHOST.into(); 16],
            key: Key::of([5; 32]),
        };
        let info = RankInfo::own(Some(first), &[]);
        let bytes = info.encode_padded().unwrap();
        assert_eq!(
            bytes.len(),
            RankInfo::own(None, &[]).encode_padded().unwrap().len()
        );
        assert_eq!(RankInfo::decode(&bytes), Some(info.clone()));
        assert_eq!(
            RankInfo::decode(&info.encode().unwrap()),
            Some(info.clone())
        );
        for cut in [0, 1, 20] {
            assert_eq!(RankInfo::decode(&bytes[..cut]), None);
        }
        assert_eq!(RankInfo::own(None, &[]).ways_to(&info).len(), 17);
        let elsewhere = RankInfo {
            network: "another".to_owned(),
            ..RankInfo::own(None, &[])
        };
        assert_eq!(elsewhere.ways_to(&info).len(), 16);
    }

    #[test]
    fn a_rank_with_another_command_is_found() {
        let info = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(OsString::from).collect();
            RankInfo::own(None, &words)
        };
        let long = "x".repeat(300);
        let alike = [info(&["./ep", &long]), info(&["./ep", &long])];
        assert_eq!(stray(&alike), None);
        assert_eq!(stray(&[]), None);
        assert!(alike[0].encode_padded().is_some());
        // Also if the difference is in what is not told.
        for other in [info(&["./ep", &format!("{long}y")]), info(&["./ep x"])] {
            let all = [info(&["./ep", &long]), info(&["./ep", &long]), other];
            let found = stray(&all).unwrap();
            assert_eq!(found.rank, 2);
            assert!(found.first.starts_with("./ep xxx") && found.first.ends_with("..."));
        }
    }

    #[test]
    fn an_agent_leaves_the_other_processors_to_its_program() {
        // Two ranks that share two processors have none beside their agents.
        assert_eq!(share(2, 2, 2), 0);
        assert_eq!((share(16, 16, 2), share(16, 16, 0)), (7, 15));
        // mpirun has given each its own.
        assert_eq!((share(1, 16, 4), share(4, 16, 4)), (0, 3));
        assert!(RankInfo::own(None, &[]).is_beside(&RankInfo::own(None, &[])));
    }

    #[test]
    fn every_rank_is_a_host_of_its_own() {
        let infos = vec![RankInfo::own(None, &[]); 3];
        let hosts = hosts(&infos, 2).unwrap();
        assert_eq!((hosts.count(), hosts.nodes()), (3, 6));
        assert!(hosts.name(2).ends_with(" (rank 2)"), "{}", hosts.name(2));
        assert!(super::hosts(&vec![RankInfo::own(None, &[]); 200], 2).is_none());
    }
}
