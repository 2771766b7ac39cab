! Threadprivate arrays of n doubles in Fortran, each in a common block of its own.

module own_block_arrays
  use iso_c_binding
  implicit none
contains
  subroutine own_block_1(reps, copy)
    integer(c_long), parameter :: n = 1
    include 'sized.h'
    common /block_1/ array
    !$omp threadprivate(/block_1/)
    include 'copyin.h'
  end subroutine

  subroutine own_block_3(reps, copy)
    integer(c_long), parameter :: n = 3
    include 'sized.h'
    common /block_3/ array
    !$omp threadprivate(/block_3/)
    include 'copyin.h'
  end subroutine

  subroutine own_block_9(reps, copy)
    integer(c_long), parameter :: n = 9
    include 'sized.h'
    common /block_9/ array
    !$omp threadprivate(/block_9/)
    include 'copyin.h'
  end subroutine

  subroutine own_block_27(reps, copy)
    integer(c_long), parameter :: n = 27
    include 'sized.h'
    common /block_27/ array
    !$omp threadprivate(/block_27/)
    include 'copyin.h'
  end subroutine

  subroutine own_block_81(reps, copy)
    integer(c_long), parameter :: n = 81
    include 'sized.h'
    common /block_81/ array
    !$omp threadprivate(/block_81/)
    include 'copyin.h'
  end subroutine

  subroutine own_block_243(reps, copy)
    integer(c_long), parameter :: n = 243
    include 'sized.h'
    common /block_243/ array
    !$omp threadprivate(/block_243/)
    include 'copyin.h'
  end subroutine

  subroutine own_block_729(reps, copy)
    integer(c_long), parameter :: n = 729
    include 'sized.h'
    common /block_729/ array
    !$omp threadprivate(/block_729/)
    include 'copyin.h'
  end subroutine

  subroutine own_block_2187(reps, copy)
    integer(c_long), parameter :: n = 2187
    include 'sized.h'
    common /block_2187/ array
    !$omp threadprivate(/block_2187/)
    include 'copyin.h'
  end subroutine

  subroutine own_block_6561(reps, copy)
    integer(c_long), parameter :: n = 6561
    include 'sized.h'
    common /block_6561/ array
    !$omp threadprivate(/block_6561/)
    include 'copyin.h'
  end subroutine

  subroutine own_block_19683(reps, copy)
    integer(c_long), parameter :: n = 19683
    include 'sized.h'
    common /block_19683/ array
    !$omp threadprivate(/block_19683/)
    include 'copyin.h'
  end subroutine

  subroutine own_block_59049(reps, copy)
    integer(c_long), parameter :: n = 59049
    include 'sized.h'
    common /block_59049/ array
    !$omp threadprivate(/block_59049/)
    include 'copyin.h'
  end subroutine

  subroutine own_block_177147(reps, copy)
    integer(c_long), parameter :: n = 177147
    include 'sized.h'
    common /block_177147/ array
    !$omp threadprivate(/block_177147/)
    include 'copyin.h'
  end subroutine

  integer(c_long) function counted(reps, copy)
    integer(c_long), intent(in) :: reps
    logical, intent(in) :: copy
    integer(c_long) :: before
    include 'fortran.h'
    before = delays()
    select case (parameter_value())
    case (1)
      call own_block_1(reps, copy)
    case (3)
      call own_block_3(reps, copy)
    case (9)
      call own_block_9(reps, copy)
    case (27)
      call own_block_27(reps, copy)
    case (81)
      call own_block_81(reps, copy)
    case (243)
      call own_block_243(reps, copy)
    case (729)
      call own_block_729(reps, copy)
    case (2187)
      call own_block_2187(reps, copy)
    case (6561)
      call own_block_6561(reps, copy)
    case (19683)
      call own_block_19683(reps, copy)
    case (59049)
      call own_block_59049(reps, copy)
    case (177147)
      call own_block_177147(reps, copy)
    end select
    counted = all_wrong(before, reps * team_size())
  end function
end module

integer(c_long) function f_threadprivate_own_block(reps) bind(C)
  use iso_c_binding
  use own_block_arrays
  implicit none
  integer(c_long), value :: reps
  f_threadprivate_own_block = counted(reps, .false.)
end function

integer(c_long) function f_copyin_own_block(reps) bind(C)
  use iso_c_binding
  use own_block_arrays
  implicit none
  integer(c_long), value :: reps
  f_copyin_own_block = counted(reps, .true.)
end function
