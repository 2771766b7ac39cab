! Allocators, teams, scope, affinity capture, depend objects in Fortran.
program alloc_teams
  use omp_lib
  use iso_c_binding
  implicit none
  integer :: failures, members, total
  integer(omp_allocator_handle_kind) :: handle
  type(omp_alloctrait) :: traits(1)
  type(c_ptr) :: block
  integer(omp_depend_kind) :: object
  integer :: x
  failures = 0
  traits(1) = omp_alloctrait(omp_atk_alignment, 128)
  handle = omp_init_allocator(omp_default_mem_space, 1, traits)
  if (handle == omp_null_allocator) failures = failures + 1
  block = omp_alloc(1000_c_size_t, handle)
  if (.not. c_associated(block)) failures = failures + 1
  if (mod(transfer(block, 0_c_intptr_t), 128_c_intptr_t) /= 0) failures = failures + 1
  call omp_free(block, handle)
  call omp_destroy_allocator(handle)
  if (omp_get_default_allocator() /= omp_default_mem_alloc) failures = failures + 1
  members = 0
  !$omp teams num_teams(2) reduction(+:members)
  members = members + 1
  !$omp end teams
  if (members < 1 .or. members > 2) failures = failures + 1
  total = 0
  !$omp parallel
  !$omp scope reduction(+:total)
  total = total + 1
  !$omp end scope
  !$omp end parallel
  if (total /= omp_get_max_threads()) failures = failures + 1
  x = 0
  !$omp parallel
  !$omp single
  !$omp depobj(object) depend(inout: x)
  !$omp task depend(depobj: object) shared(x)
  x = x + 1
  !$omp end task
  !$omp task depend(in: x) shared(x)
  if (x /= 1) x = -100
  !$omp end task
  !$omp taskwait
  !$omp depobj(object) destroy
  !$omp end single
  !$omp end parallel
  if (x /= 1) failures = failures + 1
  print '(a)', 'ok'
  if (failures /= 0) stop 1
end program alloc_teams
