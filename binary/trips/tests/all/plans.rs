//! Plans do what their expressions say, and bytes are plans or refused.

use fathomp_regions::{
    Access, AccessClass, Address, Base, Body, Direction, Environment, Expr, Known, Leaf, LoopId,
    Op, Stride,
};
use fathomp_trips::{
    BodyPlan, Identity, Inputs, ModulePlan, Plan, PlanError, Program, Slot, SlotKind, Step,
    WordPlan, compile, words,
};
use proptest::prelude::*;

fn leaf() -> impl Strategy<Value = Expr> {
    prop_oneof![
        any::<i64>().prop_map(Expr::Const),
        (-3_i64..4).prop_map(Expr::Const),
        Just(Leaf::Data.into()),
        (0..1_u64 << 40).prop_map(|offset| Leaf::Module(offset).into()),
        Just(Leaf::Threads.into()),
        Just(Leaf::Thread.into()),
    ]
}

fn expr() -> impl Strategy<Value = Expr> {
    leaf().prop_recursive(6, 40, 3, |inner| {
        let op = (0..25_u8).prop_map(|number| Op::from_number(number).unwrap());
        let bytes = prop_oneof![Just(1_u8), Just(2), Just(4), Just(8)];
        prop_oneof![
            (op, inner.clone(), inner.clone()).prop_map(|(op, left, right)| Expr::Op(
                op,
                Box::new(left),
                Box::new(right)
            )),
            (inner.clone(), bytes, any::<bool>())
                .prop_map(|(address, bytes, signed)| Expr::load(address, bytes, signed)),
            (inner.clone(), inner.clone(), inner).prop_map(|(condition, yes, no)| Expr::Select(
                Box::new(condition),
                Box::new(yes),
                Box::new(no)
            )),
        ]
    })
}

/// Memory whose bytes depend on their address; a part of it cannot be read.
struct World;

fn memory(address: u64, bytes: u8) -> Option<u64> {
    if address % 7 == 3 {
        return None;
    }
    let value = address.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
    let bits = u32::from(bytes) * 8;
    Some(if bits < 64 {
        value & ((1 << bits) - 1)
    } else {
        value
    })
}

impl Environment for World {
    fn leaf(&self, leaf: Leaf) -> Option<i64> {
        match leaf {
            Leaf::Data => Some(0x7ffc_1000),
            Leaf::Module(offset) => Some(0x5555_0000_i64 + offset as i64),
            Leaf::Threads => Some(4),
            Leaf::Thread => Some(3),
            _ => None,
        }
    }

    fn memory(&self, address: u64, bytes: u8) -> Option<u64> {
        memory(address, bytes)
    }
}

impl Inputs for World {
    fn input(&self, _: u16) -> Option<i64> {
        None
    }

    fn data(&self) -> u64 {
        0x7ffc_1000
    }

    fn bias(&self) -> u64 {
        0x5555_0000
    }

    fn team(&self) -> (u32, u32) {
        (4, 3)
    }

    fn load(&self, address: u64, bytes: u8) -> Option<u64> {
        memory(address, bytes)
    }
}

fn program() -> impl Strategy<Value = Program> {
    expr().prop_filter_map("too large", |expr| {
        Program::compile(&expr, &mut |_| None).ok()
    })
}

fn plan() -> impl Strategy<Value = Plan> {
    let slot =
        (any::<bool>(), 0..1_u64 << 20, any::<bool>()).prop_map(|(data, offset, signed)| Slot {
            kind: if data {
                SlotKind::Data
            } else {
                SlotKind::Module
            },
            offset,
            bytes: 4,
            signed,
        });
    let word = prop_oneof![
        Just(WordPlan::Cheap(0)),
        program().prop_map(WordPlan::Behind)
    ];
    let body = (
        proptest::collection::vec(slot, 1..4),
        proptest::collection::vec(word, 0..4),
        proptest::option::of(program()),
    )
        .prop_map(|(cheap, words, total)| BodyPlan {
            address: 0,
            cheap,
            words,
            total,
            dry: None,
        });
    let module = (proptest::collection::vec(body, 0..3), any::<bool>()).prop_map(|(bodies, id)| {
        let bodies = (0..).zip(bodies);
        ModulePlan {
            identity: if id {
                Identity::BuildId(vec![7; 20])
            } else {
                Identity::File {
                    path: b"/a/b".to_vec(),
                    size: 3,
                    changed_unix_ns: 9,
                }
            },
            bodies: bodies
                .map(|(address, body)| BodyPlan { address, ..body })
                .collect(),
        }
    });
    proptest::collection::vec(module, 0..3).prop_map(|modules| Plan { modules })
}

proptest! {
    #[test]
    fn programs_are_worth_what_their_expressions_are(expr in expr()) {
        if let Ok(program) = Program::compile(&expr, &mut |_| None) {
            prop_assert_eq!(program.evaluate(&World), expr.evaluate(&World).ok());
        }
    }

    #[test]
    fn plans_come_back_as_written_and_any_cut_is_refused(plan in plan(), cut in any::<prop::sample::Index>()) {
        let bytes = plan.to_bytes();
        prop_assert_eq!(Plan::from_bytes(&bytes), Ok(plan));
        let cut = cut.index(bytes.len());
        prop_assert!(Plan::from_bytes(&bytes[..cut]).is_err());
    }

    #[test]
    fn damaged_plans_are_refused_or_sound(plan in plan(), at in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let mut bytes = plan.to_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(Plan::from_bytes(&bytes).is_err());
        // With a checksum that is right, as somebody might make one.
        let sum = crc32fast::hash(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        if let Ok(plan) = Plan::from_bytes(&bytes) {
            for body in plan.modules.iter().flat_map(|module| &module.bodies) {
                if let Some(total) = &body.total {
                    let _ = total.evaluate(&World);
                }
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(rest in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = b"FTHPLAN\x01".to_vec();
        bytes.extend(crc32fast::hash(&rest).to_le_bytes());
        bytes.extend(&rest);
        let _ = Plan::from_bytes(&bytes);
        let _ = Plan::from_bytes(&rest);
    }

    #[test]
    fn no_steps_make_it_panic(numbers in proptest::collection::vec((0..11_u8, 0..6_u16), 0..40)) {
        let steps = numbers.into_iter().map(|(kind, number)| match kind {
            0 => Step::Push(number.into()),
            1 => Step::Input(number),
            2 => Step::Data,
            3 => Step::Module(number.into()),
            4 => Step::Threads,
            5 => Step::Thread,
            6 => Step::Load { bytes: number as u8, signed: true },
            7 => Step::Apply(Op::Add),
            8 => Step::ApplyConst(Op::DivS, number.into()),
            9 => Step::SkipIfZero(number),
            _ => Step::Skip(number),
        });
        if let Ok(program) = Program::new(steps.collect()) {
            let _ = program.evaluate(&World);
        }
    }
}

#[test]
fn the_errors_say_what_is_wrong() {
    assert_eq!(Plan::from_bytes(b""), Err(PlanError::Magic));
    assert_eq!(
        Plan::from_bytes(b"FTHPLAN\x02aaaaaa"),
        Err(PlanError::Magic)
    );
    assert_eq!(Plan::from_bytes(b"FTHPLAN\x01"), Err(PlanError::Length));
    assert_eq!(
        Plan::from_bytes(b"FTHPLAN\x01aaaaaa"),
        Err(PlanError::Checksum)
    );
}

fn strided(bytes: &str) -> Access {
    Access {
        at: 0,
        place: None,
        inside: None,
        direction: Direction::Read,
        bytes: 8,
        class: AccessClass::SymbolicStride,
        base: Base::default(),
        address: Known::Known(Address {
            start: "(load8 (+ data 40))".parse().unwrap(),
            strides: vec![Stride {
                over: LoopId(0),
                bytes: bytes.parse().unwrap(),
            }],
        }),
        group: 0,
        coverage: 1.0,
        non_temporal: false,
        always: true,
        weight: 1.0,
    }
}

#[test]
fn words_lie_in_the_block_in_the_module_or_behind_pointers() {
    let mut body = Body {
        address: 0x1000,
        data_bytes: 32,
        accesses: vec![
            strided("(* (load4 (+ data 8)) 8)"),
            // Beyond what the body reads of its block.
            strided("(load4 (+ data 32))"),
            strided("(load8 module+0x4010)"),
            strided("(load4 (+ (load8 (+ data 16)) 24))"),
            // Differs by iteration: neither it nor what leads to it is of use.
            strided("(load4 (+ (load8 (+ data 24)) (* i0 4)))"),
        ],
        ..Body::default()
    };
    body.words = words(&body);
    let texts: Vec<String> = body.words.iter().map(Expr::to_string).collect();
    assert_eq!(
        texts,
        [
            "(load4 (+ data 8))",
            "(load4 (+ data 32))",
            "(load8 module+0x4010)",
            "(load4 (+ (load8 (+ data 16)) 24))"
        ]
    );
    let plan = compile(&body).unwrap();
    let kinds: Vec<bool> = plan
        .words
        .iter()
        .map(|word| matches!(word, WordPlan::Cheap(_)))
        .collect();
    assert_eq!(kinds, [true, false, true, false]);
    let slots: Vec<(SlotKind, u64)> = plan
        .cheap
        .iter()
        .map(|slot| (slot.kind, slot.offset))
        .collect();
    assert_eq!(
        slots,
        [
            (SlotKind::Data, 8),
            (SlotKind::Module, 0x4010),
            (SlotKind::Data, 16)
        ]
    );
    assert!(plan.is_deep());
    // Whether arrays overlap is asked of pointers, which differ with every allocation.
    body.words.clear();
    let overlap = "(if (<u (load8 (+ data 40)) (load8 (+ data 48))) 1 (load4 (+ data 4)))";
    body.branches = vec![fathomp_regions::Branch {
        at: 0,
        taken_if: overlap.parse().unwrap(),
        taken: Vec::new(),
        passed: Vec::new(),
    }];
    let texts: Vec<String> = words(&body).iter().map(Expr::to_string).collect();
    assert_eq!(texts[4..], ["(load8 (+ data 48))", "(load4 (+ data 4))"]);
    body.kind = fathomp_regions::BodyKind::Task;
    assert_eq!(compile(&body), None);
}
