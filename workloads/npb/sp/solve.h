/* SP's three sweeps. */
#ifndef FATHOMP_NPB_SP_SOLVE_H
#define FATHOMP_NPB_SP_SOLVE_H

void x_solve(void);
void y_solve(void);
void z_solve(void);

#endif
