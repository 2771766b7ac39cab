! Data clauses on an array of n doubles in Fortran.

integer(c_long) function f_private(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  f_private = work(parameter_value())
contains
  integer(c_long) function work(n)
    integer(c_long), intent(in) :: n
    real(c_double) :: array(n)
    integer(c_long) :: j, before
    before = delays()
    array(1) = 7
    do j = 1, reps
      !$omp parallel private(array)
      call array_delay(array)
      !$omp end parallel
    end do
    call expect(array(1), 7.0_c_double)
    work = all_wrong(before, reps * team_size())
  end function
end function

integer(c_long) function f_firstprivate(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  f_firstprivate = work(parameter_value())
contains
  integer(c_long) function work(n)
    integer(c_long), intent(in) :: n
    real(c_double) :: array(n)
    integer(c_long) :: j, before
    before = delays()
    array(1) = 7
    array(n) = 7
    do j = 1, reps
      !$omp parallel firstprivate(array)
      call expect(array(1), 7.0_c_double)
      call expect(array(n), 7.0_c_double)
      call array_delay(array)
      !$omp end parallel
    end do
    call expect(array(1), 7.0_c_double)
    work = all_wrong(before, reps * team_size())
  end function
end function

! As EPCC does it, a region for each repetition.
integer(c_long) function f_copyprivate(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  f_copyprivate = work(parameter_value())
contains
  integer(c_long) function work(n)
    integer(c_long), intent(in) :: n
    real(c_double) :: array(n)
    integer(c_long) :: j, before
    before = delays()
    do j = 1, reps
      !$omp parallel private(array)
      !$omp single
      call array_delay(array)
      array(n) = real(j, c_double)
      !$omp end single copyprivate(array)
      call expect(array(n), real(j, c_double))
      !$omp end parallel
    end do
    work = all_wrong(before, reps)
  end function
end function

integer(c_long) function f_array_reduction(reps) bind(C)
  use iso_c_binding
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  f_array_reduction = work(parameter_value())
contains
  integer(c_long) function work(n)
    integer(c_long), intent(in) :: n
    real(c_double) :: array(n), wanted
    integer(c_long) :: j, before
    before = delays()
    array(1) = 0
    array(n) = 0
    do j = 1, reps
      !$omp parallel reduction(+ : array)
      call array_delay(array)
      if (n > 1) array(n) = array(n) + 2
      !$omp end parallel
    end do
    wanted = real(reps * team_size(), c_double)
    call expect(array(1), wanted)
    if (n > 1) call expect(array(n), 2 * wanted)
    work = all_wrong(before, reps * team_size())
  end function
end function
