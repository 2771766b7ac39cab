#include "size.h"
#include <stdio.h>
#include <stdlib.h>

enum { BYTES_LEAST = 4096 };

static const size_t sizes[DATA_SETS] = {
    (size_t)64 << 10, (size_t)1 << 20, (size_t)16 << 20, (size_t)128 << 20, (size_t)1 << 30,
};

void size_print_data_set(int set)
{
    printf(" %12zu bytes", sizes[set]);
}

size_t size_bytes(const struct program *program, const struct request *request)
{
    int set = options_data_set(request);
    if (set >= 0)
        return sizes[set];

    const char *text = request->size;
    double bytes = options_cache_multiple(program, request);
    if (bytes <= 0.0) {
        char *end = NULL;
        bytes = strtod(text, &end);
        if (text[0] < '0' || text[0] > '9' || *end != '\0')
            options_refuse(program, "there is no size '%s'", text);
    }
    if (bytes < BYTES_LEAST || bytes >= (double)PTRDIFF_MAX)
        options_refuse(program, "size '%s' is less than %d bytes or more than can be addressed",
                       text, BYTES_LEAST);
    return (size_t)bytes;
}
