//! What single instructions of a compiled program do to memory.

use fathomp_rewriting::Code;
use std::path::Path;
use std::process::Command;

const SOURCE: &str = r#"
long counter; int small; double real;
__attribute__((noinline)) void count(void)
{
    __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
    small = 7;
    real += 0.5;
}
int main(void) { count(); return small != 7; }
"#;

#[test]
fn lengths_and_atomics_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (
        directory.path().join("prog.c"),
        directory.path().join("prog"),
    );
    std::fs::write(&source, SOURCE).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-o"]).arg(&program).arg(&source);
    assert!(gcc.status().unwrap().success());
    let listed = Command::new("nm").arg(&program).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let count = listed.lines().find(|line| line.ends_with(" T count"));
    let count = count.unwrap().split(' ').next().unwrap();
    let count = u64::from_str_radix(count, 16).unwrap();

    let code = Code::open(&program).unwrap();
    let atomics = code.atomics_of(count);
    assert_eq!(atomics.len(), 1, "{atomics:?}");
    assert!(atomics[0].instruction.starts_with("lock "), "{atomics:?}");
    assert_eq!(code.access_bytes(atomics[0].address), Some(8));
    let lengths: Vec<_> = (count..count + 60)
        .filter_map(|address| code.access_bytes(address))
        .collect();
    assert!(lengths.contains(&4) && lengths.contains(&8), "{lengths:?}");
    assert!(code.contains(count) && !code.contains(1));
    assert_eq!(code.access_bytes(1), None);
    assert_eq!(code.atomic(count + 1000), None);
    assert!(code.atomics_of(1).is_empty());
    assert!(Code::open(Path::new("/nowhere")).is_err());
}
