/* What the answers are written with. */
#include "json.h"
#include <stdio.h>

void json_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        if ((unsigned char)*text >= 0x20)
            putchar(*text);
    }
    putchar('"');
}

void json_array(const char *name, const double *numbers, long count)
{
    printf(",\"%s\":[", name);
    for (long i = 0; i < count; i++)
        printf("%s%.3f", i ? "," : "", numbers[i]);
    printf("]");
}

void json_list(const char *name, const long *numbers)
{
    printf(",\"%s\":[", name);
    for (long i = 0; numbers[i]; i++)
        printf("%s%ld", i ? "," : "", numbers[i]);
    printf("]");
}

void json_or_null(const char *name, double number)
{
    if (number == 0.0)
        printf(",\"%s\":null", name);
    else
        printf(",\"%s\":%.1f", name, number);
}
