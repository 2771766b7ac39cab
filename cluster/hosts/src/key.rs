//! The key of a run: what its agents know and strangers do not.

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::fmt;
use std::io;

/// Bytes of a key, and of what is made with it.
pub(crate) const KEY_BYTES: usize = 32;

/// Bytes that SHA-256 takes at a time.
const BLOCK_BYTES: usize = 64;

/// A secret of 256 bits that is made for one run. It goes from the launcher to its agents on
/// their standard input, never on a command line or in an environment, where others could
/// read it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key([u8; KEY_BYTES]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(secret)")
    }
}

impl Key {
    /// A fresh one.
    ///
    /// # Errors
    /// If the kernel gives no random bytes.
    pub fn fresh() -> io::Result<Self> {
        random().map(Self)
    }

    /// The key of these bytes.
    #[must_use]
    pub fn of(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// What only those can say of `parts` who have the key. Every part has the same length
    /// in each use of one `label`, so that no two lists of parts look alike.
    pub(crate) fn seal(&self, label: &str, parts: &[&[u8]]) -> [u8; KEY_BYTES] {
        self.mac(label, parts).finalize().into_bytes().into()
    }

    /// Whether `seal` is what [`seal`](Self::seal) says. Takes as long for any wrong one.
    pub(crate) fn is_sealed(&self, label: &str, parts: &[&[u8]], seal: &[u8]) -> bool {
        self.mac(label, parts).verify_slice(seal).is_ok()
    }

    fn mac(&self, label: &str, parts: &[&[u8]]) -> Hmac<Sha256> {
        // HMAC fills a shorter key up with zeros.
        let mut block = [0; BLOCK_BYTES];
        block[..KEY_BYTES].copy_from_slice(&self.0);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(&[u8::try_from(label.len()).unwrap_or(u8::MAX)]);
        mac.update(label.as_bytes());
        for part in parts {
            mac.update(part);
        }
        mac
    }
}

/// Random bytes of the kernel.
pub(crate) fn random<const BYTES: usize>() -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_of_one_key_one_label_and_one_text() {
        let (ours, theirs) = (Key::of([1; 32]), Key::of([2; 32]));
        let seal = ours.seal("label", &[b"text"]);
        assert!(ours.is_sealed("label", &[b"text"], &seal));
        assert!(!theirs.is_sealed("label", &[b"text"], &seal));
        assert!(!ours.is_sealed("other", &[b"text"], &seal));
        assert!(!ours.is_sealed("label", &[b"next"], &seal));
        assert!(!ours.is_sealed("label", &[b"text"], &seal[..31]));
    }

    #[test]
    fn keys_differ_and_are_not_shown() {
        let key = Key::fresh().unwrap();
        assert_ne!(key, Key::fresh().unwrap());
        assert_eq!(format!("{key:?}"), "Key(secret)");
    }
}
