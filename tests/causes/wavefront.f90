! Diagonals of a table, each a worksharing loop of few microseconds inside one region.
program wavefront
  implicit none
  integer, parameter :: n = 500
  integer, allocatable :: cost(:,:)
  integer :: d, i, j
  allocate(cost(0:n, 0:n))
  cost = 0
  do i = 0, n
    cost(i, 0) = 2 * i
    cost(0, i) = 2 * i
  end do
  !$omp parallel default(shared) private(d, i, j)
  do d = 2, 2 * n
    !$omp do schedule(static)
    do i = max(1, d - n), min(n, d - 1)
      j = d - i
      cost(i, j) = min(cost(i - 1, j - 1) + mod(i * j, 3), cost(i - 1, j) + 2, cost(i, j - 1) + 2)
    end do
    !$omp end do
  end do
  !$omp end parallel
  print '(i0)', cost(n, n)
end program
