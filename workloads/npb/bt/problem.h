/* BT's classes. */
#ifndef FATHOMP_NPB_PROBLEM_H
#define FATHOMP_NPB_PROBLEM_H

#include "npb.h"

#define ADI_GRID NPB_BY_CLASS(12, 24, 64, 102, 162)
#define ADI_STEPS NPB_BY_CLASS(60, 200, 200, 200, 200)
#define ADI_TIME_STEP NPB_BY_CLASS(0.010, 0.0008, 0.0008, 0.0003, 0.0001)

#endif
