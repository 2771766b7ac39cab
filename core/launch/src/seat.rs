//! A program's place among those that divide a machine's cores.

use crate::names::{SHARE, SHARE_ADVICE};
use crate::value::{Lookup, Variables, path, text};
use std::ffi::OsString;
use std::path::PathBuf;

/// A slot on a board that programs share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its number.
    pub slot: u32,
    /// The board.
    pub board: PathBuf,
    /// Regions are told to the launcher, and nothing is divided.
    pub watch: bool,
    /// What cores are expected to bring each region, a table of advice.
    pub advice: Option<PathBuf>,
}

/// The variable names no seat.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{SHARE} is {0:?}, not SLOT:FILE or watch:SLOT:FILE")]
pub struct SeatError(OsString);

impl Seat {
    const WATCH: &str = "watch:";

    /// The seat that the environment names.
    ///
    /// # Errors
    /// If what it names is none.
    pub fn from_env(get: Lookup<'_>) -> Result<Option<Self>, SeatError> {
        let Some(value) = text(get, SHARE) else {
            return Ok(None);
        };
        let seat = value.to_str().and_then(Self::read);
        let seat = seat.map(|seat| Self {
            advice: path(get, SHARE_ADVICE),
            ..seat
        });
        seat.map(Some).ok_or(SeatError(value))
    }

    fn read(value: &str) -> Option<Self> {
        let (watch, value) = match value.strip_prefix(Self::WATCH) {
            Some(rest) => (true, rest),
            None => (false, value),
        };
        let (slot, board) = value.split_once(':')?;
        Some(Self {
            slot: slot.parse().ok()?,
            board: board.into(),
            watch,
            advice: None,
        })
    }

    pub(crate) fn variables(&self, to: &mut Variables) {
        let watch = if self.watch { Self::WATCH } else { "" };
        let mut value = OsString::from(format!("{watch}{}:", self.slot));
        value.push(&self.board);
        to.push((SHARE.name, value));
        to.extend(
            self.advice
                .as_ref()
                .map(|file| (SHARE_ADVICE.name, file.into())),
        );
    }
}
