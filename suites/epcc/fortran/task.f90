! Explicit tasks in Fortran.

integer(c_long) function f_parallel_task(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, before, steps
  before = delays()
  steps = delay_steps()
  !$omp parallel private(j)
  do j = 1, reps
    !$omp task
    call delay(steps)
    !$omp end task
  end do
  !$omp end parallel
  f_parallel_task = all_wrong(before, reps * team_size())
end function

integer(c_long) function f_master_task(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, before, steps, total
  before = delays()
  steps = delay_steps()
  total = reps * team_size()
  !$omp parallel private(j)
  !$omp master
  do j = 1, total
    !$omp task
    call delay(steps)
    !$omp end task
  end do
  !$omp end master
  !$omp end parallel
  f_master_task = all_wrong(before, total)
end function

integer(c_long) function f_task_wait(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, before, steps
  before = delays()
  steps = delay_steps()
  !$omp parallel private(j)
  do j = 1, reps
    !$omp task
    call delay(steps)
    !$omp end task
    !$omp taskwait
  end do
  !$omp end parallel
  f_task_wait = all_wrong(before, reps * team_size())
end function

integer(c_long) function f_taskloop(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: i, j, before, steps, total, chunk
  before = delays()
  steps = iteration_steps()
  total = iterations()
  chunk = parameter_value()
  !$omp parallel private(j)
  do j = 1, reps
    !$omp single
    !$omp taskloop grainsize(chunk)
    do i = 1, total
      call delay(steps)
    end do
    !$omp end taskloop
    !$omp end single
  end do
  !$omp end parallel
  f_taskloop = all_wrong(before, reps * total)
end function
