! Tasks, taskwait, depend, taskloop, taskgroup.
recursive integer function fib(n) result(r)
  implicit none
  integer, intent(in) :: n
  integer :: a, b
  if (n < 2) then
     r = n
     return
  end if
  !$omp task shared(a)
  a = fib(n - 1)
  !$omp end task
  !$omp task shared(b)
  b = fib(n - 2)
  !$omp end task
  !$omp taskwait
  r = a + b
end function fib

program tasks
  use omp_lib
  implicit none
  integer, external :: fib
  integer :: r, i, x, order, failures
  integer :: seen(100)
  failures = 0
  r = 0
  !$omp parallel
  !$omp single
  r = fib(15)
  !$omp end single
  !$omp end parallel
  if (r /= 610) failures = failures + 1
  x = 0
  order = 0
  !$omp parallel
  !$omp single
  do i = 1, 50
     !$omp task depend(inout: x) shared(x, order) firstprivate(i)
     if (x == i - 1) order = order + 1
     x = i
     !$omp end task
  end do
  !$omp end single
  !$omp end parallel
  if (order /= 50) failures = failures + 1
  seen = 0
  !$omp parallel
  !$omp single
  !$omp taskgroup
  !$omp taskloop grainsize(7)
  do i = 1, 100
     seen(i) = seen(i) + 1
  end do
  !$omp end taskloop
  !$omp end taskgroup
  !$omp end single
  !$omp end parallel
  if (any(seen /= 1)) failures = failures + 1
  print '(i0)', r
  if (failures /= 0) stop 1
end program tasks
