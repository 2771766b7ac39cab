! What threads print is there, in the order that barriers give.
program units
  use omp_lib
  implicit none
  integer :: turn
  print *, 'begin'
  !$omp parallel private(turn)
  do turn = 0, omp_get_num_threads() - 1
    if (omp_get_thread_num() == turn) print *, 'thread', turn
    !$omp barrier
  end do
  !$omp end parallel
  !$omp parallel
  !$omp single
  print *, 'one of them'
  !$omp end single
  !$omp end parallel
  print *, 'end'
end program units
