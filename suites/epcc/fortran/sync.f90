! Fork/join, worksharing and mutual exclusion in Fortran.

integer(c_long) function f_parallel(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, before, steps
  before = delays()
  steps = delay_steps()
  do j = 1, reps
    !$omp parallel
    call delay(steps)
    !$omp end parallel
  end do
  f_parallel = all_wrong(before, reps * team_size())
end function

integer(c_long) function f_do(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: i, j, before, steps, team
  before = delays()
  steps = delay_steps()
  team = team_size()
  !$omp parallel private(j)
  do j = 1, reps
    !$omp do
    do i = 1, team
      call delay(steps)
    end do
    !$omp end do
  end do
  !$omp end parallel
  f_do = all_wrong(before, reps * team)
end function

integer(c_long) function f_parallel_do(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: i, j, before, steps, team
  before = delays()
  steps = delay_steps()
  team = team_size()
  do j = 1, reps
    !$omp parallel do
    do i = 1, team
      call delay(steps)
    end do
    !$omp end parallel do
  end do
  f_parallel_do = all_wrong(before, reps * team)
end function

integer(c_long) function f_barrier(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, before, steps
  before = delays()
  steps = delay_steps()
  !$omp parallel private(j)
  do j = 1, reps
    call delay(steps)
    !$omp barrier
  end do
  !$omp end parallel
  f_barrier = all_wrong(before, reps * team_size())
end function

integer(c_long) function f_single(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, before, steps
  before = delays()
  steps = delay_steps()
  !$omp parallel private(j)
  do j = 1, reps
    !$omp single
    call delay(steps)
    !$omp end single
  end do
  !$omp end parallel
  f_single = all_wrong(before, reps)
end function

integer(c_long) function f_master(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, before, steps
  before = delays()
  steps = delay_steps()
  !$omp parallel private(j)
  do j = 1, reps
    !$omp master
    call delay(steps)
    !$omp end master
  end do
  !$omp end parallel
  f_master = all_wrong(before, reps)
end function

integer(c_long) function f_critical(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, steps, team, count
  steps = delay_steps()
  team = team_size()
  count = 0
  !$omp parallel private(j)
  do j = 1, reps / team
    !$omp critical
    call delay(steps)
    count = count + 1
    !$omp end critical
  end do
  !$omp end parallel
  f_critical = abs(count - reps)
end function

integer(c_long) function f_lock(reps) bind(C)
  use iso_c_binding
  use omp_lib
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, steps, team, count
  integer(omp_lock_kind) :: guard
  steps = delay_steps()
  team = team_size()
  count = 0
  call omp_init_lock(guard)
  !$omp parallel private(j)
  do j = 1, reps / team
    call omp_set_lock(guard)
    call delay(steps)
    count = count + 1
    call omp_unset_lock(guard)
  end do
  !$omp end parallel
  call omp_destroy_lock(guard)
  f_lock = abs(count - reps)
end function

integer(c_long) function f_ordered(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, steps, next, wrong
  steps = delay_steps()
  next = 1
  wrong = 0
  !$omp parallel do ordered schedule(static, 1)
  do j = 1, reps
    !$omp ordered
    call delay(steps)
    if (next /= j) wrong = wrong + 1
    next = next + 1
    !$omp end ordered
  end do
  !$omp end parallel do
  f_ordered = wrong + abs(next - 1 - reps)
end function

integer(c_long) function f_atomic(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, team
  real(c_double) :: total
  team = team_size()
  total = 0
  !$omp parallel private(j)
  do j = 1, reps / team
    !$omp atomic
    total = total + 1
  end do
  !$omp end parallel
  f_atomic = merge(0_c_long, 1_c_long, nint(total, c_long) == reps)
end function

integer(c_long) function f_reduction(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, steps, team, total
  steps = delay_steps()
  team = team_size()
  f_reduction = 0
  do j = 1, reps
    total = 0
    !$omp parallel reduction(+ : total)
    call delay(steps)
    total = total + 1
    !$omp end parallel
    if (total /= team) f_reduction = f_reduction + 1
  end do
end function

integer(c_long) function f_flush(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, before, steps
  before = delays()
  steps = delay_steps()
  !$omp parallel private(j)
  do j = 1, reps
    call delay(steps)
    !$omp flush
  end do
  !$omp end parallel
  f_flush = all_wrong(before, reps * team_size())
end function
