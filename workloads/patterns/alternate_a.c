/* Alternates between parallel and serial work, parallel first, then serial.
 *
 * Meant to run together with alternate_b, which wants the processors at the other
 * times: two programs that each leave them idle half of the time, and together
 * need not, if their threads wait in a way that lets the other one run.
 */
#include "alternate.h"

static void run(const struct pattern_plan *plan, long r)
{
    (void)r;
    alternate_parallel();
    alternate_serial(plan);
}

const struct pattern pattern = {
    .name = "alternate_a",
    .about = "alternates, parallel first, then serial",
    .option = {ALTERNATE_OPTION},
    .unit = "integer",
    .shape = alternate_shape,
    .prepare = alternate_prepare,
    .run = run,
    .operations = alternate_operations,
    .check = alternate_check,
};
