/* The course of BT and SP: warm-up, timed steps, verification. */
#include "adi.h"

double adi_u[ADI_FIELD];
double adi_rhs[ADI_FIELD];

static void step(void)
{
    adi_compute_rhs();
    adi_x_solve();
    adi_y_solve();
    adi_z_solve();
}

static enum workload_verdict verify(void)
{
    static const char *const rhs_names[] = {"rhs 1", "rhs 2", "rhs 3", "rhs 4", "rhs 5"};
    static const char *const error_names[] = {"error 1", "error 2", "error 3", "error 4",
                                              "error 5"};
    double rhs[ADI_COMPONENTS], error[ADI_COMPONENTS];
    struct npb_check checks[2 * ADI_COMPONENTS];

    adi_error_norms(error);
    adi_compute_rhs();
    adi_rhs_norms(rhs);
    for (int m = 0; m < ADI_COMPONENTS; m++) {
        checks[m] = (struct npb_check){rhs_names[m], rhs[m], adi_program.rhs_norms[m]};
        checks[ADI_COMPONENTS + m] =
            (struct npb_check){error_names[m], error[m], adi_program.error_norms[m]};
    }
    return npb_verify(checks, 2 * ADI_COMPONENTS, 1e-8);
}

int main(int argc, char **argv)
{
    workload_fixed_arguments(argc, argv, adi_program.name, NPB_CLASS_NAME, 0);
    workload_threads();
    adi_force();
    adi_initialise();
    step(); /* untimed: touches all data and code */
    adi_initialise();

    double start = workload_seconds();
    for (int n = 0; n < ADI_STEPS; n++)
        step();
    double seconds = workload_seconds() - start;

    struct workload_result result = {
        .suite = "npb",
        .name = adi_program.name,
        .size = NPB_CLASS_NAME,
        .iterations = ADI_STEPS,
        .seconds = seconds,
        .operations = ADI_STEPS * adi_program.operations_per_step,
        .unit = "floating-point",
        .checksum = NAN,
        .verdict = verify(),
    };
    return workload_finish(&result);
}
