//! A stream as records: a length, and that many bytes that are encrypted and sealed together
//! with the length (ChaCha20-Poly1305).
//!
//! Each direction of each connection has a key of its own, made of the run's key and the fresh
//! nonces of the handshake, and counts its records, so that none can be left out, repeated,
//! moved or sent back. The run's key lives as long as the run and is written nowhere, so what
//! was recorded on the way cannot be read later.

use crate::key::Key;
use crate::mesh::Proof;
use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit, Nonce};
use std::io::{self, Read, Write};

/// Bytes of a program in a record, at most.
pub(super) const CONTENT_BYTES_MAX: usize = 16 << 10;
/// What sealing adds.
const SEAL_BYTES: usize = 16;
const LENGTH_BYTES: usize = 2;
const NONCE_BYTES: usize = 12;

/// One direction of a connection, at one of its ends.
pub(super) struct Session {
    cipher: ChaCha20Poly1305,
    records: u64,
}

/// A record is not the next one that the other side has sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordError {
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
    #[error("somebody changed what was sent")]
    Forged,
}

impl Session {
    /// What the connecting side sends and the other receives, or the other way round.
    pub(super) fn new(key: &Key, proof: &Proof, from_initiator: bool) -> Self {
        let label = match from_initiator {
            true => "records of the initiator",
            false => "records of the responder",
        };
        let own = key.seal(label, &[&proof.hello, &proof.nonce]);
        Self {
            cipher: ChaCha20Poly1305::new(&own.into()),
            records: 0,
        }
    }

    /// The number of the next record, which no other record of this key has.
    fn nonce(&mut self) -> Result<Nonce, RecordError> {
        let mut bytes = [0; NONCE_BYTES];
        bytes[..8].copy_from_slice(&self.records.to_le_bytes());
        self.records = self.records.checked_add(1).ok_or(RecordError::Forged)?;
        Ok(bytes.into())
    }

    /// Sends bytes, not more than fit, as a record.
    pub(super) fn send(&mut self, to: &mut impl Write, content: &[u8]) -> Result<(), RecordError> {
        let length = content.len() + SEAL_BYTES;
        let length = u16::try_from(length)
            .map_err(io::Error::other)?
            .to_le_bytes();
        let nonce = self.nonce()?;
        let mut record = content.to_vec();
        self.cipher
            .encrypt_in_place(&nonce, &length, &mut record)
            .map_err(|_| RecordError::Forged)?;
        record.splice(..0, length);
        to.write_all(&record)?;
        Ok(())
    }

    /// Receives a record; nothing at the end of the stream.
    pub(super) fn receive(&mut self, from: &mut impl Read) -> Result<Vec<u8>, RecordError> {
        let mut length = [0; LENGTH_BYTES];
        match from.read(&mut length[..1])? {
            0 => return Ok(Vec::new()),
            _ => from.read_exact(&mut length[1..])?,
        }
        let bytes = usize::from(u16::from_le_bytes(length));
        if !(SEAL_BYTES + 1..=SEAL_BYTES + CONTENT_BYTES_MAX).contains(&bytes) {
            return Err(RecordError::Forged);
        }
        let mut record = vec![0; bytes];
        from.read_exact(&mut record)?;
        let nonce = self.nonce()?;
        self.cipher
            .decrypt_in_place(&nonce, &length, &mut record)
            .map_err(|_| RecordError::Forged)?;
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn session(key: u8, from_initiator: bool) -> Session {
        let proof = Proof {
            hello: [3; _],
            nonce: [4; _],
        };
        Session::new(&Key::of([key; 32]), &proof, from_initiator)
    }

    fn sent(contents: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut session = session(1, true);
        let record = |content: &&[u8]| {
            let mut bytes = Vec::new();
            session.send(&mut bytes, content).unwrap();
            bytes
        };
        contents.iter().map(record).collect()
    }

    fn received(session: &mut Session, bytes: &[u8]) -> Result<Vec<Vec<u8>>, RecordError> {
        let mut stream = Cursor::new(bytes);
        let mut all = Vec::new();
        loop {
            match session.receive(&mut stream)? {
                content if content.is_empty() => return Ok(all),
                content => all.push(content),
            }
        }
    }

    #[test]
    fn records_are_read_by_the_other_side_alone() {
        let big = vec![5; CONTENT_BYTES_MAX];
        let contents: [&[u8]; 3] = [b"one", &big, b"three"];
        let stream = sent(&contents).concat();
        assert!(!stream.windows(5).any(|part| part == b"three"));
        assert_eq!(received(&mut session(1, true), &stream).unwrap(), contents);
        for mut other in [session(1, false), session(2, true)] {
            assert!(matches!(
                received(&mut other, &stream),
                Err(RecordError::Forged)
            ));
        }
    }

    #[test]
    fn records_cannot_be_repeated_moved_or_left_out() {
        let [one, two] = &sent(&[b"one", b"two"])[..] else {
            panic!("not two");
        };
        for stream in [
            [one, one].map(Vec::clone).concat(),
            [two, one].map(Vec::clone).concat(),
            two.clone(),
        ] {
            let got = received(&mut session(1, true), &stream);
            assert!(matches!(got, Err(RecordError::Forged)));
        }
        let cut = &two[..two.len() - 1];
        let got = received(&mut session(1, true), &[one, cut].concat());
        assert!(matches!(got, Err(RecordError::Broken(_))));
    }

    proptest! {
        #[test]
        fn a_record_that_was_changed_is_noticed(
            content in proptest::collection::vec(any::<u8>(), 1..60),
            at in any::<prop::sample::Index>(),
            change in 1..=255_u8,
        ) {
            let mut record = sent(&[&content]).concat();
            let at = at.index(record.len());
            record[at] ^= change;
            prop_assert!(received(&mut session(1, true), &record).is_err());
        }

        #[test]
        fn garbage_is_refused(bytes in proptest::collection::vec(any::<u8>(), 1..200)) {
            prop_assert!(received(&mut session(1, true), &bytes).is_err());
        }
    }
}
