! The same through the module of Fortran 2008, whose procedures have names of their own.
program ring
  use mpi_f08
  implicit none
  integer, parameter :: values = 65536, rounds = 20
  integer :: rank, ranks, round, i
  real(8), allocatable :: given(:)
  real(8) :: mine, all, total
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  total = 0
  do round = 1, rounds
     allocate(given(values))
     do i = 1, values
        given(i) = rank + i * 1d-3 + round
     end do
     mine = sum(given)
     call MPI_Allreduce(mine, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
     total = total + all
     deallocate(given)
  end do
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) print '(a,es13.6,a,i0,a)', 'total ', total, ' on ', ranks, ' ranks'
  call MPI_Finalize()
end program
