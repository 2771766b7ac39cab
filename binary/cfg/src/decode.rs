//! From bytes to instructions, one after the other.

use iced_x86::{ConstantOffsets, Decoder, DecoderOptions, Instruction};

/// An instruction, or a byte that begins none.
#[derive(Clone, Copy, Debug)]
pub enum Decoded<'a> {
    /// An instruction.
    Instruction(&'a Instruction),
    /// No instruction begins at this address. Decoding goes on with the next byte.
    Nothing(u64),
}

/// Decodes `code`, which lies at `address`, from its beginning to its end. `visit` gets each
/// instruction, and a function that says where in its bytes its constants are.
#[inline]
pub fn decode(
    code: &[u8],
    address: u64,
    mut visit: impl FnMut(Decoded<'_>, &dyn Fn(&Instruction) -> ConstantOffsets),
) {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        let position = decoder.position();
        decoder.decode_out(&mut instruction);
        let constants = |instruction: &Instruction| decoder.get_constant_offsets(instruction);
        if instruction.is_invalid() {
            let at = address.wrapping_add(position as u64);
            visit(Decoded::Nothing(at), &constants);
            // The next one may begin at any byte.
            if decoder.set_position(position + 1).is_err() {
                break;
            }
            decoder.set_ip(at.wrapping_add(1));
            continue;
        }
        visit(Decoded::Instruction(&instruction), &constants);
    }
}
