! A detached task; omp_lib passes the event by value.
program detach
  use omp_lib
  implicit none
  integer(omp_event_handle_kind) :: event
  integer :: x, seen, failures, i
  failures = 0
  do i = 1, 20
     x = 0
     seen = 0
     !$omp parallel
     !$omp single
     !$omp task detach(event) depend(out: x) shared(x)
     x = x + 1
     !$omp end task
     !$omp task firstprivate(event)
     call omp_fulfill_event(event)
     !$omp end task
     !$omp task depend(in: x) shared(x, seen)
     seen = x
     !$omp end task
     !$omp end single
     !$omp end parallel
     if (seen /= 1) failures = failures + 1
  end do
  print '(a)', 'ok'
  if (failures /= 0) stop 1
end program detach
