! fathomp: env OMP_CANCELLATION=true
! fathomp: env OMP_PLACES={0},{1}
! Cancellation and place queries in Fortran.
program cancel_places
  use omp_lib
  implicit none
  integer :: i, failures, ran, after, ids(8), nums(8)
  integer(8) :: place
  failures = 0
  if (.not. omp_get_cancellation()) failures = failures + 1
  ran = 0
  after = 0
  !$omp parallel
  !$omp do schedule(dynamic)
  do i = 1, 100000000
     !$omp atomic
     ran = ran + 1
     if (i > 10) then
        !$omp cancel do
     end if
  end do
  !$omp end do
  !$omp atomic
  after = after + 1
  !$omp end parallel
  if (ran > 100000) failures = failures + 1
  if (after /= omp_get_max_threads()) failures = failures + 1
  if (omp_get_num_places() /= 2) failures = failures + 1
  if (omp_get_place_num_procs(0) /= 1) failures = failures + 1
  place = 1
  if (omp_get_place_num_procs(place) /= 1) failures = failures + 1
  call omp_get_place_proc_ids(1, ids)
  if (ids(1) /= 1) failures = failures + 1
  if (omp_get_partition_num_places() /= 2) failures = failures + 1
  call omp_get_partition_place_nums(nums)
  if (nums(1) /= 0 .or. nums(2) /= 1) failures = failures + 1
  print '(a)', 'ok'
  if (failures /= 0) stop 1
end program cancel_places
