! Each thread adds to a copy of a whole table, and the copies are added up one after another:
! that takes longer than the few rows that are worked on.
program reduction
  implicit none
  integer, parameter :: n = 600, rows = 24
  real(8), allocatable :: table(:,:)
  integer :: i, j, step

  allocate(table(n, n))
  table = 0
  do step = 1, 40
    !$omp parallel do reduction(+:table) private(j)
    do i = 1, rows
      do j = 1, n
        table(j, i) = table(j, i) + 1d0 / (i + j)
        table(i, j) = table(i, j) + 1d0 / (i + j)
      end do
    end do
    !$omp end parallel do
  end do
  print '(f16.6)', sum(table)
end program
