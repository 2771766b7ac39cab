//! One block: its head, its checksum, its payload.

/// Bytes of a block before its payload.
pub const HEAD_BYTES: usize = 32;
/// Larger payloads are not written, so a larger length is damage.
pub const PAYLOAD_BYTES_MAX: usize = 16 << 20;
/// First bytes of a block.
pub(crate) const MARK: [u8; 4] = *b"FBLK";

/// Where the contents of a block came from; what the numbers mean is the
/// file's matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// By which way it came.
    pub source: u32,
    /// Of whom it tells.
    pub owner: u32,
    /// Its place among those of the same origin.
    pub position: u64,
}

/// A sound block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// What it holds.
    pub kind: u32,
    /// Where that came from.
    pub origin: Origin,
    /// What it holds.
    pub payload: &'a [u8],
}

/// Appends a block to `out`. Payloads over [`PAYLOAD_BYTES_MAX`] would not be
/// found again.
pub fn put(out: &mut Vec<u8>, kind: u32, origin: Origin, payload: &[u8]) {
    let begin = out.len();
    out.extend([0; HEAD_BYTES]);
    out.extend(payload);
    seal(&mut out[begin..], kind, origin);
}

/// Makes a block of `bytes`: the payload, with [`HEAD_BYTES`] of room before it.
/// Fewer bytes than that stay as they are.
pub fn seal(bytes: &mut [u8], kind: u32, origin: Origin) {
    let Some((head, payload)) = bytes.split_first_chunk_mut::<HEAD_BYTES>() else {
        return;
    };
    debug_assert!(payload.len() <= PAYLOAD_BYTES_MAX);
    head[..4].copy_from_slice(&MARK);
    head[8..12].copy_from_slice(&kind.to_le_bytes());
    head[12..16].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    head[16..20].copy_from_slice(&origin.source.to_le_bytes());
    head[20..24].copy_from_slice(&origin.owner.to_le_bytes());
    head[24..32].copy_from_slice(&origin.position.to_le_bytes());
    let checksum = crc32fast::hash(&bytes[8..]);
    bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
}

/// The block at the beginning of `bytes` and its length, if it is sound.
#[must_use]
pub fn read(bytes: &[u8]) -> Option<(Block<'_>, usize)> {
    let (block, total) = parse(bytes)?;
    let claimed = bytes.get(4..8)?.try_into().map(u32::from_le_bytes).ok()?;
    let is_sound = bytes.starts_with(&MARK) && crc32fast::hash(&bytes[8..total]) == claimed;
    is_sound.then_some((block, total))
}

/// The same, where the checksum was compared before.
pub(crate) fn parse(bytes: &[u8]) -> Option<(Block<'_>, usize)> {
    let total = claimed_bytes(bytes)?;
    let (head, payload) = bytes.get(..total)?.split_first_chunk::<HEAD_BYTES>()?;
    let word = |at: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&head[at..at + 4]);
        u32::from_le_bytes(bytes)
    };
    let block = Block {
        kind: word(8),
        origin: Origin {
            source: word(16),
            owner: word(20),
            position: u64::from(word(24)) | u64::from(word(28)) << 32,
        },
        payload,
    };
    Some((block, total))
}

/// Length of the block that `bytes` claim to begin with, which may be more than
/// there are.
pub(crate) fn claimed_bytes(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(12..16)?.try_into().map(u32::from_le_bytes).ok()? as usize;
    (length <= PAYLOAD_BYTES_MAX).then_some(HEAD_BYTES + length)
}
