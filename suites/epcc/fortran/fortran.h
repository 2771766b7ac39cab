  ! What Fortran rows know of the C part (rows.c, delay.c, epcc.c). Included by
  ! every procedure, so that the files can be compiled in any order.
  interface
    subroutine delay(length) bind(C, name="delay")
      import :: c_long
      integer(c_long), value :: length
    end subroutine
    integer(c_long) function delays() bind(C, name="delays")
      import :: c_long
    end function
    subroutine array_delay(array) bind(C, name="array_delay")
      import :: c_double
      real(c_double), intent(inout) :: array(*)
    end subroutine
    subroutine change(array, n) bind(C, name="change")
      import :: c_double, c_long
      real(c_double), intent(inout) :: array(*)
      integer(c_long), value :: n
    end subroutine
    ! Steps of the delay in one repetition, and in one iteration of a loop.
    integer(c_long) function delay_steps() bind(C, name="delay_steps")
      import :: c_long
    end function
    integer(c_long) function iteration_steps() bind(C, name="iteration_steps")
      import :: c_long
    end function
    integer(c_long) function team_size() bind(C, name="team_size")
      import :: c_long
    end function
    integer(c_long) function iterations() bind(C, name="iterations")
      import :: c_long
    end function
    ! The row's parameter: chunk or size of the array.
    integer(c_long) function parameter_value() bind(C, name="parameter_value")
      import :: c_long
    end function
    subroutine expect(found, wanted) bind(C, name="expect")
      import :: c_double
      real(c_double), value :: found, wanted
    end subroutine
    ! What `expect` found wrong, and whether delays() counts other than wanted.
    integer(c_long) function all_wrong(before, calls) bind(C, name="all_wrong")
      import :: c_long
      integer(c_long), value :: before, calls
    end function
  end interface
