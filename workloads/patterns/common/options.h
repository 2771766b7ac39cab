/* From the command line to a plan. */
#ifndef FATHOMP_PATTERN_OPTIONS_H
#define FATHOMP_PATTERN_OPTIONS_H

#include "pattern.h"

struct request {
    struct pattern_plan plan;
    bool describe;
};

/* Exits with 0 after --help and with 2 if the arguments make no sense. */
struct request read_arguments(int argc, char **argv);

#endif
