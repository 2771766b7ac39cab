// Callees of which gcc knows what they change.
#include <stdlib.h>
#include <stdio.h>
#include <math.h>

int shared;

__attribute__((noinline)) static int leaf(int a) { return a * 3 + 1; }

__attribute__((noinline)) static int stores(int a) {
    shared = a;
    return a;
}

__attribute__((noinline)) static double vector(double a) { return a * a + 1.0; }

__attribute__((noinline)) static int through(int a) { return leaf(a) + leaf(a + 1); }

__attribute__((noinline)) static int outside(int a) { return rand() + a; }

__attribute__((noinline, noreturn)) static void stops(int a) {
    fprintf(stderr, "%d\n", a);
    exit(a);
}

__attribute__((noinline)) static int recursive(int a) {
    return a < 2 ? stores(a) : recursive(a - 1) + recursive(a - 2);
}

__attribute__((noinline)) int guarded(int a) {
    if (a < 0) {
        stops(a);
    }
    return leaf(a);
}

int main(int argc, char **argv) {
    (void)argv;
    return through(argc) + outside(argc) + guarded(argc) + recursive(argc) +
           (int)vector(argc) + (int)sin(argc);
}
