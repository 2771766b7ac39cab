! MPI from Fortran: ranks compute, pass memory around a ring and agree on sums.
program ring
  use mpi
  implicit none
  integer, parameter :: values = 65536, rounds = 20
  integer :: rank, ranks, round, i, error, next, before
  integer :: status(MPI_STATUS_SIZE)
  real(8), allocatable :: given(:), taken(:)
  real(8) :: mine, all, total
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  total = 0
  do round = 1, rounds
     allocate(given(values), taken(values))
     do i = 1, values
        given(i) = rank + i * 1d-3 + round
     end do
     call MPI_Sendrecv(given, values, MPI_DOUBLE_PRECISION, next, 7, &
          taken, values, MPI_DOUBLE_PRECISION, before, 7, MPI_COMM_WORLD, status, error)
     mine = sum(taken)
     call MPI_Allreduce(mine, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
     total = total + all
     deallocate(given, taken)
  end do
  call MPI_Barrier(MPI_COMM_WORLD, error)
  if (rank == 0) print '(a,es13.6,a,i0,a)', 'total ', total, ' on ', ranks, ' ranks'
  call MPI_Finalize(error)
end program
