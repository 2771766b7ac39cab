//! Code that does nothing but jump to functions of other modules (`.plt`, `.plt.sec`,
//! `.plt.got`).

use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic};

/// A stub, and the slot that holds the address where it jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stub {
    /// Its address.
    pub address: u64,
    /// Address of the slot.
    pub slot: u64,
}

/// The stubs in the code of a section of stubs that lies at `address`.
#[must_use]
pub fn stubs(address: u64, code: &[u8]) -> Vec<Stub> {
    let mut found = vec![];
    let mut begin = address;
    for instruction in &mut Decoder::with_ip(64, code, address, DecoderOptions::NONE) {
        if instruction.flow_control() == FlowControl::IndirectBranch {
            found.push(Stub {
                address: begin,
                slot: instruction.memory_displacement64(),
            });
            begin = instruction.next_ip();
        } else if instruction.mnemonic() == Mnemonic::Endbr64 {
            begin = instruction.ip();
        } else if matches!(instruction.mnemonic(), Mnemonic::Jmp | Mnemonic::Nop) {
            begin = instruction.next_ip();
        }
    }
    found
}
