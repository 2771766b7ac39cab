! Reads and writes by Fortran's formatted and unformatted files.
program files
  implicit none
  integer :: line, number, total
  open (10, file="lines", status="old", action="read")
  open (11, file="numbers", form="unformatted", action="write")
  total = 0
  do line = 1, 100000
    read (10, *) number
    write (11) number
    total = mod(total + number, 65536)
  end do
  close (10)
  close (11)
  print *, total
end program files
