//! Pages in which the processes of several hosts differ, before they share them.
//!
//! Constructors may have left something else there: a random number, the host's name. All get
//! what node 0 has, before any node begins; so every node starts with the same content, as after
//! a fork.

use super::talk::{MeetError, Talk};
use fathomp_sys::cluster::alike::{Digest, OwnPages};
use fathomp_types::PAGE_BYTES;
use std::collections::BTreeMap;

/// Addresses of pages and what they hold.
pub(super) type Digests = BTreeMap<usize, Digest>;

/// Bytes of an entry: an address and a digest.
const ENTRY: usize = 24;
/// Entries in a message, and pages in one: each of about half a megabyte.
const ENTRIES: usize = 20_000;
const PAGES: usize = 128;
/// An address and a page.
const PAGE_ENTRY: usize = 8 + PAGE_BYTES;

/// Of this process.
pub(super) fn digests(own: &OwnPages<'_>) -> Result<Digests, MeetError> {
    let all = own.digests().map_err(MeetError::Pages)?;
    Ok(all.into_iter().collect())
}

/// Tells them to node 0's process; an empty message is the end.
pub(super) fn say_digests(talk: &mut Talk<'_>, digests: &Digests) -> Result<(), MeetError> {
    let mut message = Vec::new();
    for (address, digest) in digests {
        for number in [*address as u64, digest[0], digest[1]] {
            message.extend(number.to_le_bytes());
        }
        if message.len() >= ENTRIES * ENTRY {
            talk.say(&message)?;
            message.clear();
        }
    }
    if !message.is_empty() {
        talk.say(&message)?;
    }
    talk.say(&[])
}

/// What [`say_digests`] tells.
pub(super) fn hear_digests(talk: &mut Talk<'_>) -> Result<Digests, MeetError> {
    let mut digests = Digests::new();
    loop {
        let message = talk.hear()?;
        if message.is_empty() {
            return Ok(digests);
        }
        let (entries, rest) = message.as_chunks::<ENTRY>();
        if !rest.is_empty() {
            return Err(talk.nonsense());
        }
        for entry in entries {
            let number = |at: usize| {
                let bytes = entry[at..].first_chunk().copied().unwrap_or_default();
                u64::from_le_bytes(bytes)
            };
            digests.insert(number(0) as usize, [number(8), number(16)]);
        }
    }
}

/// Brings what node 0 has in pages that differ; a page that one of both has not touched is zero.
pub(super) fn bring(
    talk: &mut Talk<'_>,
    own: &OwnPages<'_>,
    mine: &Digests,
    theirs: &Digests,
) -> Result<(), MeetError> {
    let differ = mine
        .iter()
        .filter(|(page, digest)| theirs.get(page) != Some(digest));
    let only_theirs = theirs.keys().filter(|page| !mine.contains_key(page));
    let mut message = Vec::new();
    for page in differ.map(|(page, _)| page).chain(only_theirs) {
        let content = own.read(*page).ok_or_else(|| talk.nonsense())?;
        message.extend((*page as u64).to_le_bytes());
        message.extend(content);
        if message.len() >= PAGES * PAGE_ENTRY {
            talk.say(&message)?;
            message.clear();
        }
    }
    if !message.is_empty() {
        talk.say(&message)?;
    }
    talk.say(&[])
}

/// Takes over what [`bring`] brings.
pub(super) fn take_over(talk: &mut Talk<'_>, own: &mut OwnPages<'_>) -> Result<(), MeetError> {
    loop {
        let message = talk.hear()?;
        if message.is_empty() {
            return Ok(());
        }
        let (entries, rest) = message.as_chunks::<PAGE_ENTRY>();
        if !rest.is_empty() {
            return Err(talk.nonsense());
        }
        for entry in entries {
            let (address, content) = entry.split_at(8);
            let address = address.first_chunk().copied().unwrap_or_default();
            let address = usize::try_from(u64::from_le_bytes(address)).unwrap_or(usize::MAX);
            let written = <&[u8; PAGE_BYTES]>::try_from(content)
                .is_ok_and(|content| own.write(address, content));
            if !written {
                return Err(talk.nonsense());
            }
        }
    }
}
