    ! `reps` regions that use the threadprivate `array` of `n` doubles, copied
    ! in or left alone.
    if (copy) then
      do j = 1, reps
        array(n) = real(j, c_double)
        !$omp parallel copyin(array)
        call expect(array(n), real(j, c_double))
        call array_delay(array)
        !$omp end parallel
      end do
    else
      do j = 1, reps
        !$omp parallel
        if (j > 1) call expect(array(1), 1.0_c_double)
        call array_delay(array)
        !$omp end parallel
      end do
    end if
