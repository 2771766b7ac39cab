! Three planes of equal size: more than three threads cannot help, although the planes
! have many columns.
program pieces
  implicit none
  integer, parameter :: n = 160, planes = 3
  real(8), allocatable :: field(:,:,:)
  integer :: i, j, k, step
  allocate(field(n, n, planes))
  field = 1d0
  do step = 1, 40
    !$omp parallel do private(i, j) schedule(static)
    do k = 1, planes
      do j = 1, n
        do i = 1, n
          field(i, j, k) = relaxed(field(i, j, k), i + j)
        end do
      end do
    end do
    !$omp end parallel do
  end do
  print '(f16.6)', sum(field)
contains
  pure function relaxed(start, seed) result(x)
    real(8), intent(in) :: start
    integer, intent(in) :: seed
    real(8) :: x
    integer :: turn
    x = start + seed
    do turn = 1, 130
      x = x * 0.75d0 + 0.125d0
    end do
  end function
end program
