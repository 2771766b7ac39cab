// Jump tables of several kinds.
int sink;
void into(int);
#define CASES(F) \
    case 0: F(3); break; case 1: F(17); break; case 2: F(8); break; case 3: F(64); break; \
    case 4: F(1); break; case 5: F(9); break; case 6: F(99); break; case 7: F(-4); break;

__attribute__((noinline)) void into(int a) { sink = a; }

int plain(int a) {
    switch (a) { CASES(into) default: into(sink); }
    return sink;
}

int masked(unsigned a) {
    switch (a & 7) { CASES(into) }
    return sink;
}

int narrow(unsigned char a) {
    switch (a) { CASES(into) default: into(2); }
    return sink;
}

int shifted(long a) {
    switch (a - 1000) { CASES(into) default: into(2); }
    return sink;
}

int looped(const char *text) {
    for (;; text++) {
        switch (*text - 'a') { CASES(into) default: return sink; }
    }
}

int main(int argc, char **argv) {
    return plain(argc) + masked(argc) + narrow(argc) + shifted(argc) + looped(argv[0]);
}
