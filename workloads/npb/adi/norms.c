#include "adi.h"
#include "flow.h"

/* Points by which the sums of squares are divided: the interior ones, also
 * where the sum goes over all. */
#define INTERIOR_POINTS ((double)(ADI_GRID - 2) * (ADI_GRID - 2) * (ADI_GRID - 2))

void adi_error_norms(double norm[ADI_COMPONENTS])
{
    double sum[ADI_COMPONENTS] = {0.0};
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int k = 0; k < ADI_GRID; k++)
        for (int j = 0; j < ADI_GRID; j++)
            for (int i = 0; i < ADI_GRID; i++) {
                double exact[ADI_COMPONENTS];
                flow_exact(i / ADI_PER_CELL, j / ADI_PER_CELL, k / ADI_PER_CELL, exact);
                for (int m = 0; m < ADI_COMPONENTS; m++) {
                    double error = adi_u[adi_line(j, k) + m * ADI_ROW + i] - exact[m];
                    sum[m] += error * error;
                }
            }
    for (int m = 0; m < ADI_COMPONENTS; m++)
        norm[m] = sqrt(sum[m] / INTERIOR_POINTS);
}

void adi_rhs_norms(double norm[ADI_COMPONENTS])
{
    double sum[ADI_COMPONENTS] = {0.0};
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int k = 1; k < ADI_GRID - 1; k++)
        for (int j = 1; j < ADI_GRID - 1; j++)
            for (int m = 0; m < ADI_COMPONENTS; m++)
                for (int i = 1; i < ADI_GRID - 1; i++) {
                    double rate = adi_rhs[adi_line(j, k) + m * ADI_ROW + i] / ADI_TIME_STEP;
                    sum[m] += rate * rate;
                }
    for (int m = 0; m < ADI_COMPONENTS; m++)
        norm[m] = sqrt(sum[m] / INTERIOR_POINTS);
}
