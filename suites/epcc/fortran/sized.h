    ! The arguments and the array of a procedure for arrays of `n` doubles.
    include 'fortran.h'
    integer(c_long), intent(in) :: reps
    logical, intent(in) :: copy
    integer(c_long) :: j
    real(c_double) :: array(n)
