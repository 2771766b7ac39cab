use super::*;

#[test]
fn integers_saturate() {
    assert_eq!(saturated(i64::MAX), i32::MAX);
    assert_eq!(saturated(i64::MIN), i32::MIN);
    assert_eq!(saturated(-3), -3);
    assert_eq!(count(u32::MAX), i32::MAX);
}

#[test]
fn the_number_of_threads_of_the_next_team() {
    threads::set_num_threads(5);
    assert_eq!(threads::omp_get_max_threads(), 5);
    threads::set_num_threads_wide(&i64::MAX);
    assert_eq!(threads::omp_get_max_threads_(), i32::MAX);
    threads::set_num_threads_fortran(&-2);
    assert_eq!(threads::omp_get_max_threads(), 1);
}

#[test]
fn schedules_as_c_and_fortran_see_them() {
    let (mut kind, mut chunk) = (0, 0);
    threads::omp_set_schedule(3, 7);
    threads::omp_set_schedule(9, 1);
    threads::omp_get_schedule(&mut kind, &mut chunk);
    assert_eq!((kind, chunk), (3, 7));
    threads::omp_set_schedule_8_(&0x8000_0002, &(1 << 40));
    let mut wide = 0;
    threads::omp_get_schedule_8_(&mut kind, &mut wide);
    assert_eq!((kind, wide), (0x8000_0002, i64::from(i32::MAX)));
}

#[test]
fn levels_outside_all_regions() {
    assert_eq!(levels::omp_get_level(), 0);
    assert_eq!(levels::omp_get_ancestor_thread_num(0), 0);
    assert_eq!(levels::omp_get_ancestor_thread_num(1), -1);
    assert_eq!(levels::omp_get_team_size(-1), -1);
    assert_eq!(levels::omp_get_team_size_8_(&0), 1);
    levels::omp_set_max_active_levels(1000);
    assert_eq!(levels::omp_get_max_active_levels(), 255);
    assert_eq!(levels::omp_get_nested(), 1);
    levels::omp_set_max_active_levels(-1);
    assert_eq!(levels::omp_get_max_active_levels(), 255);
    levels::omp_set_nested(0);
    assert_eq!(levels::omp_get_max_active_levels(), 1);
}

#[test]
fn the_affinity_format_goes_in_and_out() {
    // SAFETY: C strings, and buffers of the lengths given.
    unsafe {
        affinity::omp_set_affinity_format(c"thread %n".as_ptr());
        let mut buffer = [0x7f_u8; 6];
        let length = affinity::omp_get_affinity_format(buffer.as_mut_ptr().cast(), 6);
        assert_eq!((length, &buffer), (9, b"threa\0"));
        let length = affinity::omp_get_affinity_format(std::ptr::null_mut(), 0);
        assert_eq!(length, 9);
        let mut wide = [0_u8; 12];
        let length = affinity::omp_capture_affinity_(wide.as_mut_ptr(), b"%N|".as_ptr(), 12, 3);
        assert_eq!((length, &wide), (2, b"1|          "));
        let length = affinity::omp_capture_affinity(wide.as_mut_ptr().cast(), 12, c"".as_ptr());
        assert_eq!((length, &wide), (8, b"thread 0\0   "));
    }
}

#[test]
fn time_goes_on() {
    let before = time::omp_get_wtime();
    assert!(time::omp_get_wtime_() >= before);
    assert!(time::omp_get_wtick() > 0.0);
}

#[test]
fn the_host_is_the_only_device() {
    assert_eq!(control::omp_get_num_devices(), 0);
    assert_eq!(control::omp_get_initial_device(), 0);
    assert_eq!(control::omp_is_initial_device(), 1);
    assert_eq!(control::omp_pause_resource(1, 0), 0);
    assert_eq!(control::omp_pause_resource(1, 4), -1);
    assert_eq!(control::omp_pause_resource(3, 0), -1);
    assert_eq!(control::omp_pause_resource_all(3), 0);
}
