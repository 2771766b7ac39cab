! Atomic updates of which nobody uses what they found or left.
program blind
  implicit none
  integer, parameter :: n = 64
  double precision :: d(n), total, half
  real :: f(n), small
  integer :: i(n), m(n), k, to
  integer(8) :: l(n)

  d = 0
  f = 0
  i = 0
  m = 0
  l = 0
  total = 0
  small = 0.25
  !$omp parallel private(to, half)
  !$omp do
  do k = 1, 40 * n
    to = mod(k * 7, n) + 1
    half = 0.5d0 * k
    !$omp atomic
    d(to) = d(to) + half
    !$omp atomic
    d(mod(to, n) + 1) = d(mod(to, n) + 1) - 1.5d0
    !$omp atomic
    f(to) = small + f(to)
    !$omp atomic
    total = total + 1
  end do
  !$omp end do
  !$omp do
  do k = 1, 2 * n
    !$omp atomic
    d(mod(k, n) + 1) = d(mod(k, n) + 1) * 1.5d0
  end do
  !$omp end do
  !$omp do
  do k = 1, 40 * n
    !$omp atomic
    i(mod(k, n) + 1) = i(mod(k, n) + 1) + k
    !$omp atomic
    l(mod(k * 3, n) + 1) = l(mod(k * 3, n) + 1) - 1
    !$omp atomic
    m(mod(k * 5, n) + 1) = ieor(m(mod(k * 5, n) + 1), 4096)
  end do
  !$omp end do
  !$omp end parallel
  print *, d, f, i, m, l, total
end program blind
