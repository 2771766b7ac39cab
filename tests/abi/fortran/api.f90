! The routines through omp_lib, with default and eight-byte integers.
program api
  use omp_lib
  implicit none
  integer :: failures, before, chunk, i, counter
  integer(omp_sched_kind) :: kind
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  integer(8) :: eight
  real(8) :: t
  character(len=80) :: text
  failures = 0
  before = omp_get_max_threads()
  call check(omp_get_num_threads() == 1)
  call check(omp_get_thread_num() == 0)
  call check(.not. omp_in_parallel())
  call check(omp_get_num_procs() >= 1)
  call omp_set_num_threads(3)
  call check(omp_get_max_threads() == 3)
  eight = 4
  call omp_set_num_threads(eight)
  call check(omp_get_max_threads() == 4)
  call omp_set_dynamic(.true.)
  call check(omp_get_dynamic())
  call omp_set_dynamic(.false.)
  call check(.not. omp_get_dynamic())
  call omp_set_schedule(omp_sched_guided, 6)
  call omp_get_schedule(kind, chunk)
  call check(iand(kind, 255) == omp_sched_guided .and. chunk == 6)
  call omp_set_max_active_levels(2)
  call check(omp_get_max_active_levels() == 2)
  call check(omp_get_level() == 0)
  call check(omp_get_ancestor_thread_num(0) == 0)
  call check(omp_get_team_size(0) == 1)
  call check(.not. omp_in_final())
  call check(omp_get_num_devices() == 0)
  call check(omp_is_initial_device())
  call check(.not. omp_get_cancellation())
  t = omp_get_wtime()
  call check(omp_get_wtime() >= t)
  call check(omp_get_wtick() > 0d0)
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  counter = 0
  !$omp parallel private(i)
  do i = 1, 300
     call omp_set_lock(lock)
     counter = counter + 1
     call omp_unset_lock(lock)
     call omp_set_nest_lock(nest)
     call omp_set_nest_lock(nest)
     counter = counter + 0
     call omp_unset_nest_lock(nest)
     call omp_unset_nest_lock(nest)
  end do
  !$omp end parallel
  call check(counter == 1200)
  call check(omp_test_lock(lock))
  call check(.not. omp_test_lock(lock))
  call omp_unset_lock(lock)
  call check(omp_test_nest_lock(nest) == 1)
  call omp_unset_nest_lock(nest)
  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest)
  call omp_set_affinity_format('%n of %N')
  i = omp_get_affinity_format(text)
  call check(i == 8 .and. text == '%n of %N')
  i = omp_capture_affinity(text, 'thread %n')
  call check(i == 8 .and. text == 'thread 0')
  call omp_set_num_threads(before)
  print '(a)', 'ok'
  if (failures /= 0) stop 1
contains
  subroutine check(good)
    logical, intent(in) :: good
    if (good) return
    !$omp atomic
    failures = failures + 1
  end subroutine check
end program api
