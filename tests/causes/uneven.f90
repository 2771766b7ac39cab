! The lower triangle of a matrix: columns shrink, and blocks of them are dealt out.
program uneven
  implicit none
  integer, parameter :: n = 900
  real(8), allocatable :: a(:,:)
  real(8) :: x
  integer :: i, j, k
  allocate(a(n, n))
  a = 0
  !$omp parallel do private(i, k, x) schedule(static)
  do j = 1, n
    do i = j, n
      x = i - j
      do k = 1, 150
        x = x * 0.5d0 + 1d0 / (x + j)
      end do
      a(i, j) = x
    end do
  end do
  !$omp end parallel do
  print '(f14.4)', sum(a)
end program
