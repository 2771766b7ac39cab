/* Alternates between parallel and serial work, serial first, then parallel.
 *
 * Meant to run together with alternate_a, which wants the processors at the other
 * times: two programs that each leave them idle half of the time, and together
 * need not, if their threads wait in a way that lets the other one run.
 */
#include "alternate.h"

static void run(const struct pattern_plan *plan, long r)
{
    (void)r;
    alternate_serial(plan);
    alternate_parallel();
}

const struct pattern pattern = {
    .name = "alternate_b",
    .about = "alternates, serial first, then parallel",
    .option = {ALTERNATE_OPTION},
    .unit = "integer",
    .shape = alternate_shape,
    .prepare = alternate_prepare,
    .run = run,
    .operations = alternate_operations,
    .check = alternate_check,
};
