    ! The common block that holds arrays of all sizes, the smaller ones before
    ! `array`: 1 + 3 + ... + n/3 is (n - 1)/2. Every procedure names its own.
    integer(c_long), parameter :: total = (3 * 177147_c_long - 1) / 2
    integer(c_long), parameter :: smaller = (n - 1) / 2
    real(c_double) :: before_array(smaller + 1)
    real(c_double) :: after_array(total - smaller - n + 1)
    common /every_array/ before_array, array, after_array
    !$omp threadprivate(/every_array/)
