/* BT's three sweeps. */
#ifndef FATHOMP_NPB_BT_SOLVE_H
#define FATHOMP_NPB_BT_SOLVE_H

void x_solve(void);
void y_solve(void);
void z_solve(void);

#endif
