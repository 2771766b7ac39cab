! Loop schedules in Fortran: the cost of handing out iterations.

integer(c_long) function f_static(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: i, j, before, steps, total
  before = delays()
  steps = iteration_steps()
  total = iterations()
  !$omp parallel private(j)
  do j = 1, reps
    !$omp do schedule(static)
    do i = 1, total
      call delay(steps)
    end do
    !$omp end do
  end do
  !$omp end parallel
  f_static = all_wrong(before, reps * total)
end function

integer(c_long) function f_static_chunk(reps) bind(C)
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
    !$omp do schedule(static, chunk)
    do i = 1, total
      call delay(steps)
    end do
    !$omp end do
  end do
  !$omp end parallel
  f_static_chunk = all_wrong(before, reps * total)
end function

integer(c_long) function f_dynamic(reps) bind(C)
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
    !$omp do schedule(dynamic, chunk)
    do i = 1, total
      call delay(steps)
    end do
    !$omp end do
  end do
  !$omp end parallel
  f_dynamic = all_wrong(before, reps * total)
end function

integer(c_long) function f_dynamic_monotonic(reps) bind(C)
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
    !$omp do schedule(monotonic : dynamic, chunk)
    do i = 1, total
      call delay(steps)
    end do
    !$omp end do
  end do
  !$omp end parallel
  f_dynamic_monotonic = all_wrong(before, reps * total)
end function

integer(c_long) function f_guided(reps) bind(C)
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
    !$omp do schedule(guided, chunk)
    do i = 1, total
      call delay(steps)
    end do
    !$omp end do
  end do
  !$omp end parallel
  f_guided = all_wrong(before, reps * total)
end function
