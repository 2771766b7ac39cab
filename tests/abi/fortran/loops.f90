! Worksharing loops with every schedule, reductions, lastprivate, collapse.
program loops
  use omp_lib
  implicit none
  integer, parameter :: n = 500
  integer :: i, j, failures, last, total, given
  integer :: seen(n)
  integer(8) :: big, wide
  real(8) :: x
  logical :: all_true
  failures = 0
  seen = 0
  !$omp parallel do schedule(static)
  do i = 1, n
     seen(i) = seen(i) + 1
  end do
  !$omp parallel do schedule(dynamic, 3)
  do i = n, 1, -1
     seen(i) = seen(i) + 1
  end do
  !$omp parallel do schedule(guided)
  do i = 1, n
     seen(i) = seen(i) + 1
  end do
  !$omp parallel do schedule(runtime)
  do i = 1, n
     seen(i) = seen(i) + 1
  end do
  if (any(seen /= 4)) failures = failures + 1
  total = 0
  given = 5
  x = 1d0
  all_true = .true.
  !$omp parallel do reduction(+:total) reduction(*:x) reduction(.and.:all_true) &
  !$omp& lastprivate(last) firstprivate(given) schedule(dynamic)
  do i = 1, n
     total = total + i
     if (mod(i, 50) == 0) x = x * 2d0
     all_true = all_true .and. given == 5
     last = i
  end do
  if (total /= n * (n + 1) / 2) failures = failures + 1
  if (x /= 1024d0) failures = failures + 1
  if (.not. all_true) failures = failures + 1
  if (last /= n) failures = failures + 1
  total = 0
  !$omp parallel do collapse(2) reduction(+:total) schedule(dynamic, 2)
  do i = 1, 20
     do j = 1, 30
        total = total + i * j
     end do
  end do
  if (total /= 210 * 465) failures = failures + 1
  wide = 0
  !$omp parallel do reduction(+:wide) schedule(dynamic)
  do big = 5000000000_8, 5000000099_8
     wide = wide + 1
  end do
  if (wide /= 100) failures = failures + 1
  last = 0
  !$omp parallel do ordered schedule(dynamic)
  do i = 1, n
     !$omp ordered
     if (last /= i - 1) failures = failures + 1
     last = i
     !$omp end ordered
  end do
  print '(a,i0)', 'total ', total
  if (failures /= 0) stop 1
end program loops
