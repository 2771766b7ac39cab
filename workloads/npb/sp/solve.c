#include "waves.h"

/* The three matrices of a line, by the speed of their waves: that of the flow,
 * for three of the five, and that with sound forwards and backwards. */
#define MATRICES 3
static const double sound_sign[MATRICES] = {0.0, 1.0, -1.0};
static const int matrix_of[ADI_COMPONENTS] = {0, 0, 0, 1, 2};

void adi_solve_lines(double *restrict u, double *restrict rhs, const struct sweep *s)
{
    const enum direction direction = s->direction;
    struct flow flow[ADI_GRID];
    lanes sound[ADI_GRID], spread[ADI_GRID];
    lanes x[ADI_GRID][ADI_COMPONENTS];
    lanes next[ADI_GRID][MATRICES], after_next[ADI_GRID][MATRICES]; /* above the diagonal */
    const lanes zero = {0.0};

    for (int p = 0; p < ADI_GRID; p++) {
        gather_flow(&flow[p], u + p * s->along, s);
        sound[p] = square_root(sound_squared(&flow[p]));
        /* Of the coefficients of diffusion the energy's is the greatest. */
        spread[p] = SWEEP_SECOND * (s->spread + ADI_CONDUCTIVITY * flow[p].volume);
        for (int m = 0; m < ADI_COMPONENTS; m++)
            x[p][m] = gather(rhs + p * s->along + m * ADI_ROW, s->across);
        if (direction == X)
            components_to_x(x[p], &flow[p], sound[p]);
    }

    for (int m = 0; m < ADI_COMPONENTS; m++)
        x[0][m] = x[ADI_GRID - 1][m] = zero;
    for (int k = 0; k < MATRICES; k++)
        next[0][k] = after_next[0][k] = zero;

    for (int p = 1; p < ADI_GRID - 1; p++) {
        const int p2 = p > 1 ? p - 2 : 0; /* the weight of what is beyond is zero */
        lanes below[MATRICES], inverse[MATRICES];
        double w[5];
        adi_fourth_difference(p, w);
        for (int n = 0; n < 5; n++)
            w[n] *= ADI_TIME_STEP * ADI_DISSIPATION;

        for (int k = 0; k < MATRICES; k++) {
            const lanes before = flow[p - 1].along + sound_sign[k] * sound[p - 1];
            const lanes after = flow[p + 1].along + sound_sign[k] * sound[p + 1];
            below[k] = w[1] - SWEEP_FIRST * before - spread[p - 1] - w[0] * next[p2][k];
            inverse[k] = 1.0 / (1.0 + w[2] + 2.0 * spread[p] - w[0] * after_next[p2][k] -
                                below[k] * next[p - 1][k]);
            next[p][k] = (w[3] + SWEEP_FIRST * after - spread[p + 1] -
                          below[k] * after_next[p - 1][k]) * inverse[k];
            after_next[p][k] = w[4] * inverse[k];
        }
        for (int m = 0; m < ADI_COMPONENTS; m++) {
            const int k = matrix_of[m];
            x[p][m] = (x[p][m] - w[0] * x[p2][m] - below[k] * x[p - 1][m]) * inverse[k];
        }
    }

    for (int p = ADI_GRID - 3; p >= 1; p--)
        for (int m = 0; m < ADI_COMPONENTS; m++) {
            const int k = matrix_of[m];
            x[p][m] -= next[p][k] * x[p + 1][m] + after_next[p][k] * x[p + 2][m];
        }

    for (int p = 1; p < ADI_GRID - 1; p++) {
        double *to = (direction == Z ? u : rhs) + p * s->along;
        if (direction == X)
            x_to_y(x[p]);
        else if (direction == Y)
            y_to_z(x[p]);
        else
            z_to_components(x[p], &flow[p], sound[p]);
        for (int m = 0; m < ADI_COMPONENTS; m++) {
            if (direction == Z)
                x[p][m] += gather(to + m * ADI_ROW, s->across);
            scatter(to + m * ADI_ROW, s->across, x[p][m]);
        }
    }
}
