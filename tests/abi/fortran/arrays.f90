! Private and reduced arrays, allocatables, pointers to procedures in regions.
program arrays
  use omp_lib
  implicit none
  integer, parameter :: n = 64
  integer :: i, failures
  real(8), allocatable :: a(:), b(:)
  real(8) :: histogram(8)
  failures = 0
  allocate(a(n), b(n))
  a = 1d0
  histogram = 0d0
  !$omp parallel do reduction(+:histogram) schedule(guided)
  do i = 1, 800
     histogram(mod(i, 8) + 1) = histogram(mod(i, 8) + 1) + 1d0
  end do
  if (any(histogram /= 100d0)) failures = failures + 1
  b = 0d0
  !$omp parallel firstprivate(a) reduction(+:b)
  a(1) = a(1) + omp_get_thread_num()
  b(1) = b(1) + a(1)
  b(2:n) = b(2:n) + a(2:n)
  !$omp end parallel
  i = omp_get_max_threads()
  if (b(n) /= i) failures = failures + 1
  if (b(1) /= i + i * (i - 1) / 2) failures = failures + 1
  if (a(1) /= 1d0) failures = failures + 1
  print '(a)', 'ok'
  if (failures /= 0) stop 1
end program arrays
