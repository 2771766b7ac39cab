! Sections, workshare, single, critical, atomic, master, barrier, copyprivate.
program regions
  use omp_lib
  implicit none
  integer :: failures, a, b, c, counter, threads, shared_value, mine, k
  real(8) :: v(300), w(300), s
  failures = 0
  a = 0
  b = 0
  c = 0
  !$omp parallel sections
  !$omp section
  a = 1
  !$omp section
  b = 2
  !$omp section
  c = 3
  !$omp end parallel sections
  if (a + b + c /= 6) failures = failures + 1
  v = 2d0
  !$omp parallel workshare
  w = v * 3d0
  v = w + 1d0
  s = sum(v)
  !$omp end parallel workshare
  if (s /= 2100d0) failures = failures + 1
  threads = omp_get_max_threads()
  counter = 0
  !$omp parallel private(k)
  do k = 1, 200
     !$omp critical
     counter = counter + 1
     !$omp end critical
     !$omp critical (named)
     counter = counter + 0
     !$omp end critical (named)
  end do
  !$omp end parallel
  if (counter /= 200 * threads) failures = failures + 1
  counter = 0
  !$omp parallel private(mine) reduction(+:failures)
  !$omp single
  mine = 77
  !$omp end single copyprivate(mine)
  if (mine /= 77) failures = failures + 1
  !$omp master
  shared_value = 5
  !$omp end master
  !$omp barrier
  if (shared_value /= 5) failures = failures + 1
  !$omp atomic
  counter = counter + 1
  !$omp end parallel
  if (counter /= threads) failures = failures + 1
  print '(a)', 'ok'
  if (failures /= 0) stop 1
end program regions
