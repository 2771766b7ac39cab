! A region, a loop and a critical section in Fortran.
program main
  use omp_lib
  implicit none
  integer :: i, total
  total = 0
  do i = 1, 4
    call work(total)
  end do
  if (total /= 4 * 210) stop 1
contains
  subroutine work(total)
    integer, intent(inout) :: total
    integer :: k
    !$omp parallel num_threads(2)
    !$omp do schedule(dynamic)
    do k = 1, 20
      !$omp critical
      total = total + k
      !$omp end critical
    end do
    !$omp end do
    !$omp end parallel
  end subroutine
end program
