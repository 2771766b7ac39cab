//! Programs that gcc makes here are understood.

use fathomp_cfg::{Effects, FlawKind, Flow, FunctionId, Image, Leave, Registers, Target};
use iced_x86::{FlowControl, Mnemonic, Register};
use std::path::{Path, PathBuf};
use std::process::Command;

fn build(directory: &Path, source: &str, flags: &[&str]) -> PathBuf {
    let program = directory.join(format!("{source}{}", flags.concat()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(source);
    let mut gcc = Command::new("gcc");
    gcc.args(flags)
        .arg(source)
        .arg("-lm")
        .arg("-o")
        .arg(&program);
    let output = gcc.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{flags:?}: {said}");
    program
}

fn graphs(directory: &Path) -> Image {
    let path = build(directory, "graphs.s", &["-shared", "-nostdlib"]);
    Image::read(&path).unwrap()
}

fn named(image: &Image, name: &str) -> FunctionId {
    image.named(name).unwrap_or_else(|| panic!("no {name}"))
}

fn flow(image: &Image, name: &str) -> Flow {
    Flow::of(image, named(image, name)).unwrap()
}

#[test]
fn loops_nest() {
    let directory = tempfile::tempdir().unwrap();
    let flow = flow(&graphs(directory.path()), "nested");
    let [outer, inner] = &flow.cycles[..] else {
        panic!("{:?}", flow.cycles);
    };
    assert_eq!((outer.depth, inner.depth), (0, 1));
    assert!(!outer.innermost && inner.innermost);
    assert_eq!((outer.blocks.len(), inner.blocks.len()), (4, 2));
    assert_eq!((outer.exits.len(), inner.exits.len()), (2, 2));
    assert_eq!(flow.blocks.last().unwrap().leaves, Some(Leave::Return));
    assert!(flow.flaws.is_empty());
    let post = flow.post_dominators();
    let last = flow.ids().last().unwrap();
    assert!(flow.ids().all(|block| post.dominates(last, block)));
}

#[test]
fn of_two_entries_the_one_that_is_always_passed_is_the_header() {
    let directory = tempfile::tempdir().unwrap();
    let flow = flow(&graphs(directory.path()), "rotated");
    let [outer, inner] = &flow.cycles[..] else {
        panic!("{:?}", flow.cycles);
    };
    assert_eq!(outer.entries.len(), 2);
    let header = flow.code(outer.header)[0];
    assert_eq!(
        (header.mnemonic(), header.op0_register()),
        (Mnemonic::Inc, Register::EAX)
    );
    assert!(!inner.is_irreducible());
    assert_eq!(inner.blocks.len(), 1);
}

#[test]
fn parts_elsewhere_are_joined() {
    let directory = tempfile::tempdir().unwrap();
    for strip in [false, true] {
        let path = build(directory.path(), "graphs.s", &["-shared", "-nostdlib"]);
        let start = {
            let image = Image::read(&path).unwrap();
            image.function(named(&image, "divided")).range.start
        };
        if strip {
            // What is dynamic stays; the part's symbol goes.
            assert!(Command::new("strip").arg(&path).status().unwrap().success());
        }
        let image = Image::read(&path).unwrap();
        assert_eq!(image.is_stripped(), strip);
        let flow = Flow::of(&image, image.function_from(start).unwrap()).unwrap();
        assert_eq!(flow.parts.len(), 2, "stripped: {strip}");
        assert!(
            image
                .function(image.function_from(flow.parts[1].start).unwrap())
                .is_part
        );
        assert!(flow.blocks.iter().all(|block| block.reachable));
        let nested = image.function(named(&image, "nested")).range.start;
        let tail = Some(Leave::Tail(Target::Local(nested)));
        assert!(flow.blocks.iter().any(|block| block.leaves == tail));
    }
}

#[test]
fn a_table_is_found_whose_address_was_set_before() {
    let directory = tempfile::tempdir().unwrap();
    let image = graphs(directory.path());
    let flow = flow(&image, "hoisted");
    assert!(flow.flaws.is_empty(), "{:?}", flow.flaws);
    let jump = flow.ids().find(|id| {
        let last = flow.code(*id).last().unwrap();
        last.flow_control() == FlowControl::IndirectBranch
    });
    assert_eq!(flow.block(jump.unwrap()).successors.len(), 3);
    assert_eq!(flow.cycles.len(), 1);
    assert_eq!(flow.cycles[0].latches.len(), 3);
}

#[test]
fn what_is_not_known_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let image = graphs(directory.path());
    let pointer = flow(&image, "pointer");
    assert!(pointer.flaws.is_empty());
    assert_eq!(pointer.blocks[0].leaves, Some(Leave::Tail(Target::Unknown)));
    for (name, kind, leave) in [
        ("inside", FlawKind::IndirectJump, Leave::Unknown),
        ("boundless", FlawKind::IndirectJump, Leave::Unknown),
        ("hidden", FlawKind::JumpAstray, Leave::Nothing),
        ("garbage", FlawKind::Undecodable, Leave::Nothing),
    ] {
        let flow = flow(&image, name);
        assert_eq!(flow.flaws[0].kind, kind, "{name}");
        assert!(
            flow.blocks.iter().any(|b| b.leaves == Some(leave.clone())),
            "{name}"
        );
    }
}

#[test]
fn switches_are_followed_however_they_are_built() {
    let directory = tempfile::tempdir().unwrap();
    let builds: [&[&str]; 5] = [
        &["-O2"],
        &["-O3", "-march=native"],
        &["-Os"],
        &["-O0"],
        &["-O2", "-fno-pie", "-no-pie"],
    ];
    for flags in builds {
        let path = build(directory.path(), "switches.c", flags);
        let image = Image::read(&path).unwrap();
        for name in ["plain", "masked", "narrow", "shifted", "looped"] {
            let flow = flow(&image, name);
            assert!(flow.flaws.is_empty(), "{flags:?} {name}: {:?}", flow.flaws);
            // All eight cases but one that is tested apart, and perhaps the default.
            let ways = flow.blocks.iter().map(|b| b.successors.len()).max();
            assert!(
                (7..=9).contains(&ways.unwrap()),
                "{flags:?} {name}: {ways:?}"
            );
            let filling = |b: &&fathomp_cfg::Block| {
                let code = &flow.instructions[b.instructions.clone()];
                code.iter().all(|i| i.mnemonic() == Mnemonic::Nop)
            };
            let mut lost = flow.blocks.iter().filter(|b| !b.reachable);
            assert!(lost.all(|b| filling(&b)), "{flags:?} {name}");
        }
    }
}

#[test]
fn what_callees_change_is_known() {
    let directory = tempfile::tempdir().unwrap();
    let path = build(directory.path(), "calls.c", &["-O2"]);
    let image = Image::read(&path).unwrap();
    let effects = Effects::of(&image, [named(&image, "main")]);
    let left = |name| effects.left(named(&image, name));
    let leaf = left("leaf");
    assert_eq!(leaf.changed, [Register::RAX].into_iter().collect());
    assert!(!leaf.stores && leaf.returns);
    assert!(left("stores").stores && !left("stores").changed.contains(Register::XMM0));
    assert!(!left("vector").changed.contains(Register::RAX));
    assert!(left("vector").changed.contains(Register::XMM0));
    assert!(!left("through").changed.contains(Register::XMM5));
    assert_eq!(left("outside").changed, Registers::CALLER_SAVED);
    assert!(left("outside").stores);
    assert!(left("recursive").stores && left("recursive").returns);
    assert!(!left("stops").returns);
    // Nothing follows a call of what does not return.
    let guarded = effects.flow(named(&image, "guarded")).unwrap();
    let never = |b: &&fathomp_cfg::Block| b.leaves == Some(Leave::NeverReturns);
    assert_eq!(guarded.blocks.iter().filter(never).count(), 1);
    assert!(left("guarded").returns);
}

#[test]
fn imports_are_named_however_they_are_called() {
    let directory = tempfile::tempdir().unwrap();
    let builds: [&[&str]; 6] = [
        &["-O2"],
        &["-O2", "-fno-plt"],
        &["-O2", "-z", "now", "-fcf-protection=none"],
        &["-O2", "-no-pie", "-fno-pie", "-z", "lazy"],
        &["-O2", "-s"],
        &["-O2", "-z", "ibtplt"],
    ];
    for flags in builds {
        let path = build(directory.path(), "calls.c", flags);
        let image = Image::read(&path).unwrap();
        let users = image.users(|name| name == "rand");
        assert!((1..4).contains(&users.len()), "{flags:?} {users:?}");
        let calls = users.iter().any(|id| {
            let flow = Flow::of(&image, *id).unwrap();
            flow.instructions
                .iter()
                .any(|i| matches!(image.target(i), Some(Target::Import(name)) if &*name == "rand"))
        });
        assert!(calls, "{flags:?}");
        assert!(image.stubs().all(|(stub, _)| image.is_code(stub)));
        assert!(!image.build_id().is_empty());
    }
}

#[test]
fn constants_are_what_nobody_can_change() {
    let directory = tempfile::tempdir().unwrap();
    let image = graphs(directory.path());
    let rodata = image
        .sections()
        .iter()
        .find(|s| s.name == ".rodata")
        .unwrap();
    let first = image.constant(rodata.range.start, 4).unwrap() as i32;
    let target = rodata.range.start.wrapping_add_signed(first.into());
    assert_eq!(image.function_at(target), Some(named(&image, "hoisted")));
    assert_eq!(image.constant(rodata.range.end - 2, 4), None);
    assert_eq!(image.constant(1, 4), None);
    let path = build(directory.path(), "calls.c", &["-O2"]);
    let image = Image::read(&path).unwrap();
    let bss = image.sections().iter().find(|s| s.name == ".bss").unwrap();
    assert_eq!(image.constant(bss.range.start, 4), None);
    assert!(bss.data.is_empty());
}
