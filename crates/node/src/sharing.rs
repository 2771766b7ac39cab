//! Which protocol shares memory, and how, as the environment says.

use crate::accesses::{ACCESSES_VARIABLE, Purpose, Replay, Watch, WatchError};
use crate::engine::{Engine, Host, NodeError};
use crate::lines::{LINES_VARIABLE, Lines};
use crate::races::RACES_VARIABLE;
use crate::start::StartError;
use fathomp_base::{NodeId, PageId};
use fathomp_dsm::home::{self, Home};
use fathomp_dsm::homeless::{self, Homeless};
use fathomp_dsm::{Area, PageRange, Placement};
use std::env;
use std::ffi::OsString;
use std::path::Path;

/// The protocol: `home` (which it is without this) or `homeless`.
pub const PROTOCOL_VARIABLE: &str = "FATHOMP_DSM";

/// Memory for diffs that a node of the homeless protocol keeps from one tidying to
/// the next, in MiB.
pub const MEMORY_VARIABLE: &str = "FATHOMP_DSM_MEMORY";

/// Set if every write to a page is to trap and every page to be fetched by
/// itself, so that counts mean what the SDP papers mean.
pub const PLAIN_VARIABLE: &str = "FATHOMP_DSM_PLAIN";

/// Default of [`MEMORY_VARIABLE`], and most of it.
const MEMORY_MIB: u32 = 64;
const MEMORY_MIB_MAX: u32 = 1 << 20;

/// How memory is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sharing {
    protocol: Protocol,
    plain: bool,
    /// Whether to look for races.
    races: bool,
}

/// What is shared.
pub(crate) struct Shared {
    pub(crate) nodes: u16,
    pub(crate) areas: Vec<Area>,
    /// Whether the program relies on ordinary loads to acquire.
    pub(crate) loads_acquire: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Home,
    /// With room for so much, in MiB.
    Homeless(u32),
}

/// The environment asks for a way to share memory that there is not.
#[derive(Debug, thiserror::Error)]
pub enum SharingError {
    /// No such protocol.
    #[error("{PROTOCOL_VARIABLE} is {0:?}, not home or homeless")]
    Protocol(OsString),
    /// Too little or too much memory, or no number.
    #[error("{MEMORY_VARIABLE} is {0:?}, not a number of MiB from 1 to {MEMORY_MIB_MAX}")]
    Memory(OsString),
    /// Races are not looked for in that way.
    #[error("{RACES_VARIABLE} is set, which the homeless protocol knows nothing of: unset it")]
    Races,
}

impl Sharing {
    pub(crate) fn from_environment() -> Result<Self, SharingError> {
        let memory = memory(env::var_os(MEMORY_VARIABLE))?;
        let protocol = protocol(env::var_os(PROTOCOL_VARIABLE), memory)?;
        let races = env::var_os(RACES_VARIABLE).is_some();
        if races && protocol != Protocol::Home {
            return Err(SharingError::Races);
        }
        Ok(Self {
            protocol,
            plain: env::var_os(PLAIN_VARIABLE).is_some(),
            races,
        })
    }

    /// Whether to look for races.
    pub(crate) fn looks_for_races(self) -> bool {
        self.races
    }

    /// Whether nodes may reach each other's memory: not where faults are watched.
    pub(crate) fn may_reach(self) -> bool {
        let watched = |variable| env::var_os(variable).is_some();
        !(self.races || watched(ACCESSES_VARIABLE) || watched(LINES_VARIABLE))
    }

    /// Whether they may do so unasked: not where messages and faults are counted, nor with
    /// the homeless protocol, which is the reference by message.
    pub(crate) fn may_be_direct(self) -> bool {
        !self.plain && self.protocol == Protocol::Home
    }

    /// Starts the protocol at node `me`.
    ///
    /// # Errors
    /// If the areas cannot be, or the system refuses.
    pub(crate) fn start(
        self,
        me: NodeId,
        shared: Shared,
        host: &Host,
    ) -> Result<Engine, StartError> {
        let Self {
            protocol,
            plain,
            races,
        } = self;
        let watch = watch(me, &shared).map_err(NodeError::from)?;
        let Shared {
            nodes,
            areas,
            loads_acquire,
        } = shared;
        Ok(match protocol {
            Protocol::Home => {
                let usual = home::Config::usual(nodes, areas, plain, loads_acquire);
                let config = home::Config {
                    direct: host.peers.is_some() && host.direct,
                    ..usual
                };
                let home = Home::new(me, config)?;
                let home = if races { home.watching_all() } else { home };
                Engine::start(Box::new(home), host, watch)?
            }
            Protocol::Homeless(mib) => {
                let config = homeless::Config::usual(nodes, areas, mib, plain, loads_acquire);
                let homeless = Homeless::new(me, config)?;
                Engine::start(Box::new(homeless), host, watch)?
            }
        })
    }
}

/// Watches what the program accesses, if the environment asks for it.
fn watch(me: NodeId, shared: &Shared) -> Result<Option<Watch>, WatchError> {
    let purpose = if let Some(directory) = env::var_os(ACCESSES_VARIABLE) {
        Purpose::Replay(Replay::new(Path::new(&directory), me, shared)?)
    } else if let Some(directory) = env::var_os(LINES_VARIABLE) {
        let lines = Lines::new(Path::new(&directory), me, shared.nodes)?;
        Purpose::Lines(Box::new(lines))
    } else {
        return Ok(None);
    };
    let pinned = |area: &Area| area.home == Placement::Pinned(me);
    let before = shared.areas.iter().take_while(|area| !pinned(area));
    let first = PageId(before.map(|area| area.pages).sum());
    let behind = shared.areas.iter().skip_while(|area| !pinned(area));
    let mine = behind.take_while(|area| pinned(area));
    let stacks = PageRange::new(first, mine.map(|area| area.pages).sum());
    Ok(Some(Watch::new(purpose, stacks)))
}

fn protocol(name: Option<OsString>, mib: u32) -> Result<Protocol, SharingError> {
    match name {
        None => Ok(Protocol::Home),
        Some(name) if name == "home" => Ok(Protocol::Home),
        Some(name) if name == "homeless" => Ok(Protocol::Homeless(mib)),
        Some(name) => Err(SharingError::Protocol(name)),
    }
}

fn memory(text: Option<OsString>) -> Result<u32, SharingError> {
    let Some(text) = text else {
        return Ok(MEMORY_MIB);
    };
    let mib = text.to_str().and_then(|text| text.parse().ok());
    let mib = mib.filter(|mib| (1..=MEMORY_MIB_MAX).contains(mib));
    mib.ok_or(SharingError::Memory(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_not_is_refused() {
        let of = |name: &str| protocol(Some(name.into()), 7);
        assert_eq!(of("home").unwrap(), Protocol::Home);
        assert_eq!(of("homeless").unwrap(), Protocol::Homeless(7));
        assert_eq!(protocol(None, 7).unwrap(), Protocol::Home);
        let said = of("Home").unwrap_err().to_string();
        assert_eq!(said, "FATHOMP_DSM is \"Home\", not home or homeless");

        assert_eq!(memory(None).unwrap(), MEMORY_MIB);
        assert_eq!(memory(Some("1".into())).unwrap(), 1);
        let config = homeless::Config::usual(2, Vec::new(), 1, false, false);
        assert_eq!(config.diffs_max, 227);
        for bad in ["", "0", "-1", "1.5", "64M", "1048577"] {
            assert!(memory(Some(bad.into())).is_err(), "{bad}");
        }
    }
}
