! Data clauses on an allocatable array of n doubles in Fortran.

module allocatable_arrays
  use iso_c_binding
  implicit none
  ! Kept from sample to sample: new memory would have to be touched first.
  real(c_double), allocatable, save :: array(:)
  real(c_double), allocatable, save :: own(:) ! every thread's
  !$omp threadprivate(own)
contains
  subroutine provide(n)
    integer(c_long), intent(in) :: n
    call resize(array, n)
    !$omp parallel
    call resize(own, n)
    !$omp end parallel
  end subroutine

  subroutine resize(some, n)
    real(c_double), allocatable, intent(inout) :: some(:)
    integer(c_long), intent(in) :: n
    if (allocated(some)) then
      if (size(some, kind=c_long) == n) return
      deallocate (some)
    end if
    allocate (some(n))
    some = 1
  end subroutine
end module

integer(c_long) function f_private_allocatable(reps) bind(C)
  use iso_c_binding
  use allocatable_arrays
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, before
  call provide(parameter_value())
  before = delays()
  array(1) = 7
  do j = 1, reps
    !$omp parallel private(array)
    call array_delay(array)
    !$omp end parallel
  end do
  call expect(array(1), 7.0_c_double)
  f_private_allocatable = all_wrong(before, reps * team_size())
end function

integer(c_long) function f_firstprivate_allocatable(reps) bind(C)
  use iso_c_binding
  use allocatable_arrays
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, before, n
  n = parameter_value()
  call provide(n)
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
  f_firstprivate_allocatable = all_wrong(before, reps * team_size())
end function

integer(c_long) function f_copyprivate_allocatable(reps) bind(C)
  use iso_c_binding
  use allocatable_arrays
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, before, n
  n = parameter_value()
  call provide(n)
  before = delays()
  do j = 1, reps
    !$omp parallel
    !$omp single
    call array_delay(own)
    own(n) = real(j, c_double)
    !$omp end single copyprivate(own)
    call expect(own(n), real(j, c_double))
    !$omp end parallel
  end do
  f_copyprivate_allocatable = all_wrong(before, reps)
end function

integer(c_long) function f_reduction_allocatable(reps) bind(C)
  use iso_c_binding
  use allocatable_arrays
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, before, n
  n = parameter_value()
  call provide(n)
  before = delays()
  array(1) = 0
  do j = 1, reps
    !$omp parallel reduction(+ : array)
    call array_delay(array)
    !$omp end parallel
  end do
  call expect(array(1), real(reps * team_size(), c_double))
  f_reduction_allocatable = all_wrong(before, reps * team_size())
end function

integer(c_long) function f_threadprivate_allocatable(reps) bind(C)
  use iso_c_binding
  use allocatable_arrays
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, before
  call provide(parameter_value())
  before = delays()
  do j = 1, reps
    !$omp parallel
    call expect(own(1), 1.0_c_double)
    call array_delay(own)
    !$omp end parallel
  end do
  f_threadprivate_allocatable = all_wrong(before, reps * team_size())
end function

integer(c_long) function f_copyin_allocatable(reps) bind(C)
  use iso_c_binding
  use allocatable_arrays
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, before, n
  n = parameter_value()
  call provide(n)
  before = delays()
  do j = 1, reps
    own(n) = real(j, c_double)
    !$omp parallel copyin(own)
    call expect(own(n), real(j, c_double))
    call array_delay(own)
    !$omp end parallel
  end do
  f_copyin_allocatable = all_wrong(before, reps * team_size())
end function
