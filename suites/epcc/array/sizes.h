/* Arrays whose size the compiler must know. */
#ifndef FATHOMP_SIZES_H
#define FATHOMP_SIZES_H

/* MACRO(n) for every size that `array_size` lists. */
#define EACH_SIZE(MACRO)                                                       \
    MACRO(1) MACRO(3) MACRO(9) MACRO(27) MACRO(81) MACRO(243) MACRO(729)       \
    MACRO(2187) MACRO(6561) MACRO(19683) MACRO(59049) MACRO(177147)
#define SIZES "this row is there for powers of 3 up to 177147 only"

#endif
