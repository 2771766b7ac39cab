//! What nodes hold back is in the files, once and whole, however the program ends: as in one
//! process. Programs that need a compiler for C++ or Fortran.

use crate::common::{compile_with, fathomp};
use fathomp_requirements::{GFORTRAN, GXX};
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::path::Path;

pub(crate) fn trials() -> Vec<Trial> {
    let mut all = Vec::new();
    all.extend(trials!["streams", &[GFORTRAN] => units_are_closed_however_the_program_ends]);
    all.extend(trials!["streams", &[GXX] => streams_are_written_out_however_the_program_ends]);
    all
}

/// Units that are there from the start, of `NEWUNIT` and of a number; complete records and one
/// that is not.
const UNITS: &str = "
program units
  use omp_lib
  implicit none
  integer :: me, all, own, seen, ready = 0
  character(8) :: how, name
  call get_command_argument(1, how)
  print *, 'begin'
  !$omp parallel private(me, all, own, seen, name)
  me = omp_get_thread_num()
  all = omp_get_num_threads()
  write(name, '(a,i0)') 'new.', me
  open(newunit=own, file=name, status='replace')
  write(own, *) 'new', me
  write(name, '(a,i0)') 'old.', me
  open(unit=30+me, file=name, status='replace')
  write(30+me, '(a,i0)', advance='no') 'old ', me
  !$omp critical
  write(6, *) 'thread', me
  !$omp end critical
  if (how == 'last' .or. how == 'first') then
     !$omp critical
     write(6, *) 'after', me
     write(own, *) 'more', me
     !$omp end critical
     !$omp barrier
     write(30+me, '(a,i0)', advance='no') ' and ', me
     ! Nobody comes to the next barrier, and all have written when the program is ended.
     !$omp atomic
     ready = ready + 1
     do
        !$omp atomic read
        seen = ready
        if (seen == all) exit
     end do
     if (how == 'last' .and. me == all - 1) stop 3
     if (how == 'first' .and. me == 0) stop 4
     !$omp barrier
  end if
  !$omp end parallel
  if (how == 'error') error stop 5
  print *, 'end'
end program
";

fn units_are_closed_however_the_program_ends() {
    let ends = ["normal", "last", "first", "error"];
    compare("gfortran", "units", UNITS, &ends);
}

/// What was written before `main`, and by each thread, to streams of C and of C++.
const STREAMS: &str = r#"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <omp.h>
static struct Early {
    Early()
    {
        std::ios_base::sync_with_stdio(false);
        std::cout << "early\n";
        std::clog << "early log\n";
        printf("early C\n");
    }
} early;
int main(int argc, char **argv)
{
    const char *how = argv[1];
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        char name[20];
        snprintf(name, sizeof name, "c.%d", me);
        FILE *file = fopen(name, "w");
        fprintf(file, "file %d\n", me);
        snprintf(name, sizeof name, "cxx.%d", me);
        { std::ofstream out(name); out << "stream " << me << '\n'; }
#pragma omp critical
        { std::cout << "cout " << me << '\n'; printf("stdout %d\n", me); }
        if (strcmp(how, "normal") != 0) {
#pragma omp barrier
            static int ready;
#pragma omp critical
            {
                std::cout << "after " << me << '\n';
                std::clog << "log " << me << '\n';
                printf("after C %d\n", me);
                ready++;
            }
            for (int seen = 0; seen < all;)
#pragma omp critical
                seen = ready;
            if (strcmp(how, "last") == 0 && me == all - 1)
                exit(3);
            if (strcmp(how, "first") == 0 && me == 0)
                exit(4);
#pragma omp barrier
        }
    }
    std::cout << "end\n";
}
"#;

fn streams_are_written_out_however_the_program_ends() {
    compare("g++", "streams", STREAMS, &["normal", "last", "first"]);
}

/// Runs a program on nodes and in one process, with its outputs to files, and compares all that
/// is written, but for the order of lines that threads write.
fn compare(compiler: &str, name: &str, source: &str, ends: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_with(compiler, directory.path(), name, source, &["-fopenmp"]);
    for end in ends {
        let results = |how: &str| {
            let place = tempfile::tempdir().unwrap();
            let mut command = fathomp(place.path());
            command.arg("run").args(how.split(' ')).arg("--");
            command.arg(&program).arg(end);
            let file = |name| File::create(place.path().join(name)).unwrap();
            command.stdout(file("stdout")).stderr(file("stderr"));
            let status = command.status().unwrap();
            (status.code(), written(place.path()))
        };
        let expected = results("--threads 2");
        for protocol in ["home", "homeless"] {
            let how = format!("--nodes 2 --threads 1 --dsm {protocol}");
            assert_eq!(results(&how), expected, "{end} {how}");
        }
    }
}

/// The lines of each file in a directory, in alphabetical order, without where an error was.
fn written(directory: &Path) -> BTreeMap<String, Vec<String>> {
    let files = fs::read_dir(directory).unwrap().map(Result::unwrap);
    let lines = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        let said = text
            .split("\n\nError termination.")
            .next()
            .unwrap_or_default();
        let mut lines: Vec<String> = said.split_inclusive('\n').map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let files = files.map(|file| (file.file_name().into_string().unwrap(), lines(&file.path())));
    files.collect()
}
