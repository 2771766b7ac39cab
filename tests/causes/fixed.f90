! A team of two, whatever the program is given: the clause is in a procedure.
program fixed
  implicit none
  real(8) :: total
  integer :: round
  total = 0
  do round = 1, 4
    call pass(total)
  end do
  print '(f14.4)', total
contains
  subroutine pass(total)
    real(8), intent(inout) :: total
    real(8) :: x
    integer :: i, k
    !$omp parallel do num_threads(2) private(x, k) reduction(+ : total)
    do i = 1, 20
      x = i
      do k = 1, 1000000
        x = x * 0.999999d0 + 1d-3
      end do
      total = total + x
    end do
  end subroutine
end program
