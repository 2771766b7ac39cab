! A threadprivate common block and saved variables, with copyin.
module store
  implicit none
  integer, save :: saved = 9
  !$omp threadprivate(saved)
end module store

program threadprivate
  use omp_lib
  use store
  implicit none
  integer :: i, failures, common_value
  real(8) :: common_array(20)
  common /block/ common_value, common_array
  !$omp threadprivate(/block/)
  failures = 0
  common_value = 30
  common_array = 1.5d0
  !$omp parallel copyin(/block/, saved) reduction(+:failures)
  if (common_value /= 30) failures = failures + 1
  if (any(common_array /= 1.5d0)) failures = failures + 1
  common_value = common_value + omp_get_thread_num()
  saved = omp_get_thread_num()
  !$omp end parallel
  do i = 1, 5
     !$omp parallel reduction(+:failures)
     if (common_value /= 30 + omp_get_thread_num()) failures = failures + 1
     if (saved /= omp_get_thread_num()) failures = failures + 1
     !$omp end parallel
  end do
  print '(a)', 'ok'
  if (failures /= 0) stop 1
end program threadprivate
