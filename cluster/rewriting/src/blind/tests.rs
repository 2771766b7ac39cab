//! Which forms of code are understood, and which must not be.

use super::{Round, find};
use crate::context::ProgramContext;
use crate::does;
use fathomp_cfg::{Decoded, decode, is_site};
use fathomp_sys::text_patch::{CODE_BYTES, Does, Effect, FirstGuess, Kind, Operand, Site, Source};
use iced_x86::Instruction;

/// Where the code is.
const START: u64 = 0x1000;

/// Bytes that are written as hexadecimal digits.
fn bytes(digits: &str) -> Vec<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16).unwrap() as u8;
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

/// What is said of the only atomic instruction of a function.
fn found(code: &[u8], around: &ProgramContext) -> Option<Does> {
    looked_at(code, around).0
}

/// The same, and the loops that must not be entered from elsewhere.
fn looked_at(code: &[u8], around: &ProgramContext) -> (Option<Does>, Vec<Round>) {
    let mut function: Vec<Instruction> = Vec::new();
    decode(code, START, |decoded, _| match decoded {
        Decoded::Instruction(instruction) => function.push(*instruction),
        _ => panic!("no instruction"),
    });
    let site = function.iter().find(|i| is_site(i)).unwrap();
    let mut sites = [Site {
        address: site.ip() as usize,
        length: site.len(),
        code: vec![0; CODE_BYTES],
        kind: Kind::Atomic(Operand::default()),
        relative: None,
        entered_inside: false,
        does: does::does(site),
        blind: None,
        moved: None,
    }];
    let rounds = find(&function, &mut sites, around);
    (sites[0].blind, rounds)
}

/// Memory at a distance from what a register says.
fn memory(base: u8, distance: i64, bytes: u8) -> Operand {
    Operand {
        base: Some(base),
        displacement: distance.cast_unsigned(),
        bytes,
        ..Operand::default()
    }
}

type Case = (&'static str, &'static str, Option<(Effect, Source)>);

#[rustfmt::skip]
fn cases() -> Vec<Case> {
    vec![
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm0,%xmm1; movq %xmm1,%rsi;
        // lock cmpxchg %rsi,(%rcx); jne 2f; ret; 2: mov %rax,%rdx; jmp 1b
        (
            "add of a register",
            "488b1166480f6eca4889d0f20f58c866480f7ecef0480fb1317501c34889c2ebe2",
            Some((Effect::AddFloat, Source::Vector(0))),
        ),
        // mov (%rcx),%edx; 1: vmovd %edx,%xmm2; mov %edx,%eax; vsubss 16(%rsp),%xmm2,%xmm1; vmovd
        // %xmm1,%esi; lock cmpxchg %esi,(%rcx); jne 2f; ret; 2: mov %eax,%edx; jmp 1b
        (
            "sub of memory with three operands",
            "8b11c5f96ed289d0c5ea5c4c2410c5f97ecef00fb1317501c389c2ebe5",
            Some((Effect::AddFloat, Source::MinusMemory(memory(4, 16, 4)))),
        ),
        // push %rbp; mov %rsp,%rbp; mov (%rcx),%rdx; 1: movq %rdx,%xmm0; addsd -24(%rbp),%xmm0;
        // movq %xmm0,%rsi; mov %rdx,%rax; lock cmpxchg %rsi,(%rcx); mov %rdx,%rsi; mov %rax,%rdx;
        // cmp %rsi,%rax; jne 1b; pop %rbp; ret
        (
            "compared by another instruction",
            "554889e5488b1166480f6ec2f20f5845e866480f7ec64889d0f0480fb1314889d64889c24839\
         f075de5dc3",
            Some((Effect::AddFloat, Source::Memory(memory(5, -24, 8)))),
        ),
        // push %rbp; mov %rsp,%rbp; 1: mov -40(%rbp),%rax; mov -56(%rbp),%rcx; movsd
        // -48(%rbp),%xmm1; movq %rax,%xmm0; addsd %xmm1,%xmm0; movsd %xmm0,-32(%rbp); mov
        // -32(%rbp),%rdx; lock cmpxchg %rdx,(%rcx); sete %cl; test $1,%cl; mov %rax,-40(%rbp); jne
        // 2f; jmp 1b; 2: pop %rbp; ret
        (
            "kept in the function own memory",
            "554889e5488b45d8488b4dc8f20f104dd066480f6ec0f20f58c1f20f1145e0488b55e0f0480f\
         b1110f94c1f6c101488945d87502ebce5dc3",
            Some((Effect::AddFloat, Source::Vector(1))),
        ),
        // movq (%rdi),%xmm1; 1: movq %xmm1,%rax; mulsd %xmm0,%xmm1; movq %xmm1,%rdx; lock cmpxchg
        // %rdx,(%rdi); movq %rax,%xmm1; jne 1b; ret
        (
            "found value moved before the branch",
            "f30f7e0f66480f7ec8f20f59c866480f7ecaf0480fb11766480f6ec875e6c3",
            Some((Effect::MultiplyFloat, Source::Vector(0))),
        ),
        // mov (%rdi),%rax; 1: movq %rax,%xmm1; movapd %xmm3,%xmm2; addsd %xmm1,%xmm2; movq
        // %xmm2,%rdx; lock cmpxchg %rdx,(%rdi); jne 1b; ret
        (
            "old value added to a copy",
            "488b0766480f6ec8660f28d3f20f58d166480f7ed2f0480fb11775e7c3",
            Some((Effect::AddFloat, Source::Vector(3))),
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm1,%xmm1; movq %xmm1,%rsi;
        // lock cmpxchg %rsi,(%rcx); jne 2f; ret; 2: mov %rax,%rdx; jmp 1b
        (
            "doubled",
            "488b1166480f6eca4889d0f20f58c966480f7ecef0480fb1317501c34889c2ebe2",
            Some((Effect::MultiplyFloat, Source::Value(2_f64.to_bits()))),
        ),
        // mov (%rdi),%rax; 1: movq %rax,%xmm1; movapd %xmm3,%xmm2; subsd %xmm1,%xmm2; movq
        // %xmm2,%rdx; lock cmpxchg %rdx,(%rdi); jne 1b; ret
        (
            "other way round",
            "488b0766480f6ec8660f28d3f20f5cd166480f7ed2f0480fb11775e7c3",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm0,%xmm1; movq %xmm1,%rsi;
        // lock cmpxchg %rsi,(%rcx); jne 2f; movsd %xmm1,(%rdi); ret; 2: mov %rax,%rdx; jmp 1b
        (
            "result used afterwards",
            "488b1166480f6eca4889d0f20f58c866480f7ecef0480fb1317505f20f110fc34889c2ebde",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm0,%xmm1; movq %xmm1,%rsi;
        // lock cmpxchg %rsi,(%rcx); jne 2f; mov %rax,8(%rcx); ret; 2: mov %rax,%rdx; jmp 1b
        (
            "found value used afterwards",
            "488b1166480f6eca4889d0f20f58c866480f7ecef0480fb131750548894108c34889c2ebde",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm0,%xmm1; movq %xmm1,%rsi;
        // lock cmpxchg %rsi,(%rcx); jne 2f; setc (%rcx); ret; 2: mov %rax,%rdx; jmp 1b
        (
            "flags used afterwards",
            "488b1166480f6eca4889d0f20f58c866480f7ecef0480fb13175040f9201c34889c2ebdf",
            None,
        ),
        // mov (%rcx),%rdi; 1: movq %rdi,%xmm1; mov %rdi,%rax; addsd %xmm0,%xmm1; movq %xmm1,%rsi;
        // lock cmpxchg %rsi,(%rcx); jne 2f; call 3f; xor %eax,%eax; ret; 2: mov %rax,%rdi; jmp 1b;
        // 3: ret
        (
            "found value as an argument",
            "488b3966480f6ecf4889f8f20f58c866480f7ecef0480fb1317508e80800000031c0c34889c7\
         ebdbc3",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm0,%xmm1; movq %xmm1,%rbx;
        // lock cmpxchg %rbx,(%rcx); jne 2f; ret; 2: mov %rax,%rdx; jmp 1b
        (
            "register that the caller needs",
            "488b1166480f6eca4889d0f20f58c866480f7ecbf0480fb1197501c34889c2ebe2",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm0,%xmm1; movq %xmm1,%rsi;
        // lock cmpxchg %rsi,(%rcx); jne 2f; ret; 2: inc %r8; mov %rax,%rdx; jmp 1b
        (
            "rounds counted",
            "488b1166480f6eca4889d0f20f58c866480f7ecef0480fb1317501c349ffc04889c2ebdf",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm0,%xmm1; movq %xmm1,%rsi;
        // lock cmpxchg %rsi,(%rcx); jne 2f; ret; 2: lea 1(%r8),%r8; mov %rax,%rdx; jmp 1b
        (
            "rounds counted by moves",
            "488b1166480f6eca4889d0f20f58c866480f7ecef0480fb1317501c34d8d40014889c2ebde",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm0,%xmm1; movq %xmm1,%rsi;
        // lock cmpxchg %rsi,(%rcx); jne 2f; ret; 2: mov %rax,8(%rcx); mov %rax,%rdx; jmp 1b
        (
            "something stored",
            "488b1166480f6eca4889d0f20f58c866480f7ecef0480fb1317501c3488941084889c2ebde",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm0,%xmm1; movq %xmm1,%rsi;
        // lock cmpxchg %rsi,(%rcx); jne 2f; ret; 2: nop; jmp 1b
        (
            "expected the same each time",
            "488b1166480f6eca4889d0f20f58c866480f7ecef0480fb1317501c390ebe4",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm0,%xmm1; movq %xmm1,%rsi;
        // lock cmpxchg %rsi,(%rcx); jne 2f; ret; 2: mov 8(%rcx),%rcx; mov %rax,%rdx; jmp 1b
        (
            "another word each time",
            "488b1166480f6eca4889d0f20f58c866480f7ecef0480fb1317501c3488b49084889c2ebde",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm0,%xmm1; movq %xmm1,%rsi;
        // lock cmpxchg %rsi,(%rcx); jne 2f; ret; 2: movapd %xmm1,%xmm0; mov %rax,%rdx; jmp 1b
        (
            "operand changed each time",
            "488b1166480f6eca4889d0f20f58c866480f7ecef0480fb1317501c3660f28c14889c2ebde",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm0,%xmm1; mulsd
        // %xmm2,%xmm1; movq %xmm1,%rsi; lock cmpxchg %rsi,(%rcx); jne 2f; ret; 2: mov %rax,%rdx;
        // jmp 1b
        (
            "two operations",
            "488b1166480f6eca4889d0f20f58c8f20f59ca66480f7ecef0480fb1317501c34889c2ebde",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd (%rcx),%xmm1; movq %xmm1,%rsi;
        // lock cmpxchg %rsi,(%rcx); jne 2f; ret; 2: mov %rax,%rdx; jmp 1b
        (
            "word added to itself in memory",
            "488b1166480f6eca4889d0f20f580966480f7ecef0480fb1317501c34889c2ebe2",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; movsd (%rcx),%xmm0; addsd
        // %xmm0,%xmm1; movq %xmm1,%rsi; lock cmpxchg %rsi,(%rcx); jne 2f; ret; 2: mov %rax,%rdx;
        // jmp 1b
        (
            "word read apart",
            "488b1166480f6eca4889d0f20f1001f20f58c866480f7ecef0480fb1317501c34889c2ebde",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; movsd 8(%rcx),%xmm0; addsd
        // %xmm0,%xmm1; movq %xmm1,%rsi; lock cmpxchg %rsi,(%rcx); jne 2f; ret; 2: mov %rax,%rdx;
        // jmp 1b
        (
            "number read in each round",
            "488b1166480f6eca4889d0f20f104108f20f58c866480f7ecef0480fb1317501c34889c2ebdd",
            Some((Effect::AddFloat, Source::Vector(0))),
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm0,%xmm1; movq %xmm1,%rbx;
        // lock cmpxchg %rbx,(%rcx); jne 2f; call 3f; mov %r8,%rbx; xor %eax,%eax; ret; 2: mov
        // %rax,%rdx; jmp 1b; 3: ret
        (
            "kept across a call",
            "488b1166480f6eca4889d0f20f58c866480f7ecbf0480fb119750be80b0000004c89c331c0c3\
         4889c2ebd8c3",
            None,
        ),
        // mov (%rcx),%rdx; test %r8,%r8; je 3f; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd
        // %xmm0,%xmm1; 3: movq %xmm1,%rsi; lock cmpxchg %rsi,(%rcx); jne 2f; ret; 2: mov
        // %rax,%rdx; jmp 1b
        (
            "entered in the middle",
            "488b114d85c0740c66480f6eca4889d0f20f58c866480f7ecef0480fb1317501c34889c2ebe2",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm0,%xmm1; movq %xmm1,%rsi;
        // lock cmpxchg %rsi,(%rcx); jne 2f; jmp *%r8; 2: mov %rax,%rdx; jmp 1b
        (
            "jump that only a run knows",
            "488b1166480f6eca4889d0f20f58c866480f7ecef0480fb131750341ffe04889c2ebe0",
            None,
        ),
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm0; addsd %xmm2,%xmm0; movq %xmm0,%rsi; mov %rdx,%rax;
        // lock cmpxchg %rsi,(%rcx); mov %rdx,%rsi; mov %rax,%rdx; cmp %esi,%eax; jne 1b; ret
        (
            "compared in part",
            "488b1166480f6ec2f20f58c266480f7ec64889d0f0480fb1314889d64889c239f075e0c3",
            None,
        ),
        // mov (%rcx),%eax; 1: movd %eax,%xmm0; addsd %xmm2,%xmm0; movd %xmm0,%esi; lock cmpxchg
        // %esi,(%rcx); jne 1b; ret
        (
            "double in half a word",
            "8b01660f6ec0f20f58c2660f7ec6f00fb13175eec3",
            None,
        ),
        // mov (%rcx),%rax; 1: movq %rax,%xmm0; addsd %xmm2,%xmm0; movq %xmm0,%rsi; lock cmpxchg
        // %rsi,(%rcx); je 1b; ret
        (
            "goes on while it is done",
            "488b0166480f6ec0f20f58c266480f7ec6f0480fb13174ebc3",
            None,
        ),
        // push %rbp; mov %rsp,%rbp; lea -64(%rbp),%rdi; 1: mov -40(%rbp),%rax; movq %rax,%xmm0;
        // addsd %xmm1,%xmm0; movq %xmm0,%rdx; lock cmpxchg %rdx,(%rcx); mov %rax,-40(%rbp); jne
        // 1b; pop %rbp; ret
        (
            "memory whose address is known",
            "554889e5488d7dc0488b45d866480f6ec0f20f58c166480f7ec2f0480fb111488945d875e35d\
         c3",
            None,
        ),
        // mov 32(%rsp),%rax; mov (%rax),%rdx; mov %rax,%r8; 1: movq %rdx,%xmm5; mov %rdx,%rax; addsd
        // %xmm0,%xmm5; movq %xmm5,%rsi; lock cmpxchg %rsi,(%r8); jne 2f; ret; 2: mov
        // 32(%rsp),%r8; mov %rax,%rdx; jmp 1b
        (
            "address read again from the stack",
            "488b442420488b104989c066480f6eea4889d0f20f58e866480f7eeef0490fb1307501c34c8b\
         4424204889c2ebdd",
            Some((Effect::AddFloat, Source::Vector(0))),
        ),
        // The same, but 2: mov 40(%rsp),%r8
        (
            "address of another variable on the stack",
            "488b442420488b104989c066480f6eea4889d0f20f58e866480f7eeef0490fb1307501c34c8b\
         4424284889c2ebdd",
            None,
        ),
        // mov 48(%rsp),%rax; lea 8(%rax),%r8; mov %r8,16(%rsp); mov 8(%rax),%rdx; 1: movq
        // %rdx,%xmm5; mov %rdx,%rax; addsd %xmm0,%xmm5; movq %xmm5,%rsi; lock cmpxchg %rsi,(%r8);
        // jne 2f; ret; 2: mov 16(%rsp),%r8; mov %rax,%rdx; jmp 1b
        (
            "address put on the stack before",
            "488b4424304c8d40084c89442410488b500866480f6eea4889d0f20f58e866480f7eeef0490f\
         b1307501c34c8b4424104889c2ebdd",
            Some((Effect::AddFloat, Source::Vector(0))),
        ),
        // The same, and mov %r9,20(%rsp) behind mov %r8,16(%rsp)
        (
            "address changed on the stack",
            "488b4424304c8d40084c894424104c894c2414488b500866480f6eea4889d0f20f58e866480f\
         7eeef0490fb1307501c34c8b4424104889c2ebdd",
            None,
        ),
        // The one without, and test %r9,%r9; je 1f in front of it
        (
            "address put on the stack on one of two ways",
            "4d85c97412488b4424304c8d40084c89442410488b500866480f6eea4889d0f20f58e866480f\
         7eeef0490fb1307501c34c8b4424104889c2ebdd",
            None,
        ),
        // mov 8(%r9),%r8; mov %r10,%r9; mov (%r8),%rdx; 1: movq %rdx,%xmm5; mov %rdx,%rax; addsd
        // %xmm0,%xmm5; movq %xmm5,%rsi; lock cmpxchg %rsi,(%r8); jne 2f; ret; 2: mov 8(%r9),%r8;
        // mov %rax,%rdx; jmp 1b
        (
            "address read again by a register that has changed",
            "4d8b41084d89d1498b1066480f6eea4889d0f20f58e866480f7eeef0490fb1307501c34d8b41\
         084889c2ebde",
            None,
        ),
        // lock add %eax,(%rdi); ret
        (
            "add before return",
            "f00107c3",
            Some((Effect::Add, Source::Register(0))),
        ),
        // lock decl (%rdi); je 1f; nop; 1: ret
        (
            "add before a branch",
            "f0ff0f740190c3",
            None,
        ),
        // lock incq (%rdi); adc %rax,%rax; ret
        (
            "increment leaves the carry",
            "f048ff074811c0c3",
            Some((Effect::Add, Source::Value(1))),
        ),
        // lock incq (%rdi); shl %cl,%rax; sets (%rdi); ret
        (
            "increment before a shift",
            "f048ff0748d3e00f9807c3",
            None,
        ),
        // lock xadd %rax,(%rdi); mov %rax,8(%rdi); ret
        (
            "exchanged sum used",
            "f0480fc10748894708c3",
            None,
        ),
        // lock xadd %rbx,(%rdi); mov %rcx,%rbx; xor %eax,%eax; ret
        (
            "exchanged sum not used",
            "f0480fc11f4889cb31c0c3",
            Some((Effect::Add, Source::Register(3))),
        ),
        // lock xadd %rsi,(%rdi); call 1f; xor %esi,%esi; ret; 1: ret
        (
            "exchanged sum before a call",
            "f0480fc137e80300000031f6c3c3",
            None,
        ),
        // lock xadd %rsi,(%rdi); mov $1,%sil; mov %rsi,8(%rdi); ret
        (
            "exchanged sum in part",
            "f0480fc13740b60148897708c3",
            None,
        ),
    ]
}

#[test]
fn forms_are_understood_or_left_alone() {
    let mut around = ProgramContext::default();
    around.function(START, b"main._omp_fn.0");
    for (name, code, expected) in cases() {
        let does = expected.map(|(effect, source)| Does { effect, source });
        assert_eq!(found(&bytes(code), &around), does, "{name}");
    }
}

#[test]
fn a_loop_that_is_entered_from_elsewhere_is_told() {
    let mut around = ProgramContext::default();
    around.function(START, b"main._omp_fn.0");
    let (_, code, _) = cases().remove(0);
    let (_, rounds) = looked_at(&bytes(code), &around);
    let [round] = &rounds[..] else {
        panic!("{} loops", rounds.len());
    };
    // Its own two jumps: to the first instruction of a round, and out of it.
    let (again, exit) = (START + 3, START + 0x1b);
    assert!(round.is_closed(&[again, exit]));
    assert!(round.is_closed(&[again, again, exit]));
    let exchange = round.site as u64;
    for inside in [START + 8, exchange, exchange + 1] {
        assert!(!round.is_closed(&[again, inside, exit]), "{inside:#x}");
    }
}

#[test]
fn a_load_that_only_guesses_is_told() {
    let mut around = ProgramContext::default();
    around.function(START, b"main._omp_fn.0");
    let guess = |distance: usize, length, register, value| FirstGuess {
        address: START as usize + distance,
        length,
        register,
        value,
    };
    let cases: [(&str, &str, Option<FirstGuess>); 6] = [
        // mov (%rcx),%rdx; 1: movq %rdx,%xmm1; mov %rdx,%rax; addsd %xmm0,%xmm1; movq %xmm1,%rsi;
        // lock cmpxchg %rsi,(%rcx); jne 2f; ret; 2: mov %rax,%rdx; jmp 1b
        (
            "before a sum",
            "488b1166480f6eca4889d0f20f58c866480f7ecef0480fb1317501c34889c2ebe2",
            Some(guess(0, 3, 2, 0)),
        ),
        // mov (%rdi),%rax; 1: movq %rax,%xmm1; addsd %xmm0,%xmm1; movq %xmm1,%rdx; lock cmpxchg
        // %rdx,(%rdi); jne 1b; ret
        (
            "into the register that is compared",
            "488b0766480f6ec8f20f58c866480f7ecaf0480fb11775ebc3",
            Some(guess(0, 3, 0, 0)),
        ),
        // mov (%rcx),%edx; 1: movd %edx,%xmm1; mov %edx,%eax; mulss %xmm0,%xmm1; movd %xmm1,%esi;
        // lock cmpxchg %esi,(%rcx); jne 2f; ret; 2: mov %eax,%edx; jmp 1b
        (
            "before a product",
            "8b11660f6eca89d0f30f59c8660f7ecef00fb1317501c389c2ebe7",
            Some(guess(0, 2, 2, 1_f32.to_bits().into())),
        ),
        // The first one with mov %rdx,%r9 behind its first instruction
        (
            "used otherwise, too",
            "488b114989d166480f6eca4889d0f20f58c866480f7ecef0480fb1317501c34889c2ebe2",
            None,
        ),
        // mov %r9,%rdx in place of that
        (
            "from a register",
            "4c89ca66480f6eca4889d0f20f58c866480f7ecef0480fb1317501c34889c2ebe2",
            None,
        ),
        // test %r9,%r9; je 3f; mov (%rcx),%rdx; 3: nop; 1: and so on
        (
            "on one of two ways",
            "4d85c97403488b119066480f6eca4889d0f20f58c866480f7ecef0480fb1317501c34889c2ebe2",
            None,
        ),
    ];
    for (name, code, expected) in cases {
        let (_, rounds) = looked_at(&bytes(code), &around);
        assert_eq!(rounds.len(), 1, "{name}");
        assert_eq!(rounds[0].guess, expected, "{name}");
    }
}

#[test]
fn what_a_function_returns_is_used() {
    let around = ProgramContext::default();
    for (name, code, expected) in cases() {
        let does = found(&bytes(code), &around);
        // Exchanges leave what they found where results are returned.
        let is_float = |(effect, _)| matches!(effect, Effect::AddFloat | Effect::MultiplyFloat);
        assert_eq!(
            does.is_some(),
            expected.is_some_and(|e| !is_float(e)),
            "{name}"
        );
    }
}
