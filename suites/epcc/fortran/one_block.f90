! Threadprivate arrays of n doubles in Fortran, all in one common block.

module one_block_arrays
  use iso_c_binding
  implicit none
contains
  subroutine one_block_1(reps, copy)
    integer(c_long), parameter :: n = 1
    include 'sized.h'
    include 'one_block.h'
    include 'copyin.h'
  end subroutine

  subroutine one_block_3(reps, copy)
    integer(c_long), parameter :: n = 3
    include 'sized.h'
    include 'one_block.h'
    include 'copyin.h'
  end subroutine

  subroutine one_block_9(reps, copy)
    integer(c_long), parameter :: n = 9
    include 'sized.h'
    include 'one_block.h'
    include 'copyin.h'
  end subroutine

  subroutine one_block_27(reps, copy)
    integer(c_long), parameter :: n = 27
    include 'sized.h'
    include 'one_block.h'
    include 'copyin.h'
  end subroutine

  subroutine one_block_81(reps, copy)
    integer(c_long), parameter :: n = 81
    include 'sized.h'
    include 'one_block.h'
    include 'copyin.h'
  end subroutine

  subroutine one_block_243(reps, copy)
    integer(c_long), parameter :: n = 243
    include 'sized.h'
    include 'one_block.h'
    include 'copyin.h'
  end subroutine

  subroutine one_block_729(reps, copy)
    integer(c_long), parameter :: n = 729
    include 'sized.h'
    include 'one_block.h'
    include 'copyin.h'
  end subroutine

  subroutine one_block_2187(reps, copy)
    integer(c_long), parameter :: n = 2187
    include 'sized.h'
    include 'one_block.h'
    include 'copyin.h'
  end subroutine

  subroutine one_block_6561(reps, copy)
    integer(c_long), parameter :: n = 6561
    include 'sized.h'
    include 'one_block.h'
    include 'copyin.h'
  end subroutine

  subroutine one_block_19683(reps, copy)
    integer(c_long), parameter :: n = 19683
    include 'sized.h'
    include 'one_block.h'
    include 'copyin.h'
  end subroutine

  subroutine one_block_59049(reps, copy)
    integer(c_long), parameter :: n = 59049
    include 'sized.h'
    include 'one_block.h'
    include 'copyin.h'
  end subroutine

  subroutine one_block_177147(reps, copy)
    integer(c_long), parameter :: n = 177147
    include 'sized.h'
    include 'one_block.h'
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
      call one_block_1(reps, copy)
    case (3)
      call one_block_3(reps, copy)
    case (9)
      call one_block_9(reps, copy)
    case (27)
      call one_block_27(reps, copy)
    case (81)
      call one_block_81(reps, copy)
    case (243)
      call one_block_243(reps, copy)
    case (729)
      call one_block_729(reps, copy)
    case (2187)
      call one_block_2187(reps, copy)
    case (6561)
      call one_block_6561(reps, copy)
    case (19683)
      call one_block_19683(reps, copy)
    case (59049)
      call one_block_59049(reps, copy)
    case (177147)
      call one_block_177147(reps, copy)
    end select
    counted = all_wrong(before, reps * team_size())
  end function
end module

integer(c_long) function f_threadprivate_one_block(reps) bind(C)
  use iso_c_binding
  use one_block_arrays
  implicit none
  integer(c_long), value :: reps
  f_threadprivate_one_block = counted(reps, .false.)
end function

integer(c_long) function f_copyin_one_block(reps) bind(C)
  use iso_c_binding
  use one_block_arrays
  implicit none
  integer(c_long), value :: reps
  f_copyin_one_block = counted(reps, .true.)
end function
