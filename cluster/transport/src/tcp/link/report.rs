//! A report of a failure as it goes to another host.

use crate::transport::Abort;
use fathomp_types::NodeId;

/// A report as the content of a frame: the node (two bytes), the code (four), the text.
pub(super) fn abort_head(abort: &Abort) -> [u8; 6] {
    let mut head = [0; 6];
    head[..2].copy_from_slice(&abort.node.0.to_le_bytes());
    head[2..].copy_from_slice(&abort.code.to_le_bytes());
    head
}

pub(super) fn read_abort(by: NodeId, said: &[u8]) -> Option<Abort> {
    let (node, rest) = said.split_first_chunk()?;
    let (code, text) = rest.split_first_chunk()?;
    let text = &text[..text.len().min(Abort::TEXT_BYTES_MAX)];
    Some(Abort {
        by,
        node: NodeId(u16::from_le_bytes(*node)),
        code: u32::from_le_bytes(*code),
        text: String::from_utf8_lossy(text).into_owned(),
    })
}
