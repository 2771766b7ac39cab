! Optional arguments that are absent, in device constructs that the host runs.
program target_optional
  implicit none
  integer :: failed
  integer, target :: x
  integer, pointer :: to_x
  integer, target :: z(3:5)
  real :: y(7)

  failed = 0
  x = 1
  y = 2
  call scalar(.false.)
  call scalar(.true., x)
  if (x /= 5) failed = failed + 1
  to_x => x
  call pointed(.false.)
  call pointed(.true., to_x)
  if (x /= 7) failed = failed + 1
  z = 3
  call pointed_array(.false.)
  call pointed_array(.true., z)
  if (any(z /= 8)) failed = failed + 1
  call array(.false.)
  call array(.true., y)
  if (any(y /= 6)) failed = failed + 1
  if (failed /= 0) stop 1
  print '(a)', 'ok'

contains

  subroutine scalar(is_there, a)
    logical, value :: is_there
    integer, optional :: a

    !$omp target data map(a) use_device_addr(a)
    !$omp target has_device_addr(a)
    if (is_there) a = 5
    !$omp end target
    !$omp end target data
  end subroutine scalar

  subroutine pointed(is_there, a)
    logical, value :: is_there
    integer, pointer, optional :: a

    !$omp target data map(a) use_device_addr(a)
    !$omp target has_device_addr(a)
    if (is_there) a = 7
    !$omp end target
    !$omp end target data
  end subroutine pointed

  subroutine pointed_array(is_there, a)
    logical, value :: is_there
    integer, optional, pointer, intent(in) :: a(:)

    !$omp target data map(a) use_device_addr(a)
    !$omp target has_device_addr(a)
    if (is_there) then
      if (lbound(a, dim=1) /= 3) stop 2
      a = 8
    end if
    !$omp end target
    !$omp end target data
  end subroutine pointed_array

  subroutine array(is_there, a)
    logical, value :: is_there
    real, optional :: a(:)

    !$omp target data map(a) use_device_addr(a)
    !$omp target has_device_addr(a)
    if (is_there) a = 6
    !$omp end target
    !$omp end target data
  end subroutine array
end program target_optional
