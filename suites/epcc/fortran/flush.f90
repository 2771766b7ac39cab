! Flush in Fortran, after each thread has written its own section of n doubles.

module flush_sections
  use iso_c_binding
  implicit none
  ! A column for each thread. Columns are whole pages apart, as in C.
  real(c_double), allocatable, save :: sections(:, :)
  integer(c_long), parameter :: page = 512
contains
  subroutine provide()
    integer(c_long) :: rows
    include 'fortran.h'
    rows = (parameter_value() + 2 * page - 1) / page * page
    if (allocated(sections)) then
      if (size(sections, 1, c_long) == rows) return
      deallocate (sections)
    end if
    allocate (sections(rows, team_size()))
    sections = 0
  end subroutine
end module

subroutine f_change(reps) bind(C)
  use iso_c_binding
  use flush_sections
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, n
  call provide()
  n = parameter_value()
  do j = 1, reps
    call change(sections(:, 1), n)
  end do
end subroutine

integer(c_long) function f_flush_section(reps) bind(C)
  use iso_c_binding
  use omp_lib
  use flush_sections
  implicit none
  include 'fortran.h'
  integer(c_long), value :: reps
  integer(c_long) :: j, n, me, wrong
  real(c_double) :: first
  call provide()
  n = parameter_value()
  wrong = 0
  !$omp parallel private(j, me, first) reduction(+ : wrong)
  me = omp_get_thread_num() + 1
  first = sections(n, me)
  do j = 1, reps
    call change(sections(:, me), n)
    !$omp flush
  end do
  if (nint(sections(n, me) - first, c_long) /= reps) wrong = wrong + 1
  !$omp end parallel
  f_flush_section = wrong
end function
