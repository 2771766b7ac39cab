//! Fields of messages between the processes of several hosts.

/// Appends a field of any length.
pub(super) fn put(bytes: &mut Vec<u8>, field: &[u8]) {
    bytes.extend((field.len() as u64).to_le_bytes());
    bytes.extend(field);
}

/// The first field of what is left of a message.
pub(super) fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, behind) = rest.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (field, behind) = behind.split_at_checked(length)?;
    *rest = behind;
    Some(field)
}

/// The same of eight bytes, as a number.
pub(super) fn take_number(rest: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(take(rest)?.try_into().ok()?))
}
