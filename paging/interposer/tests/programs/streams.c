/* C's streams: what the buffer answers, and what the kernel is asked. Prints the number of
   bytes of its file. */
#include "check.h"
#include <wchar.h>

enum { LINES = 100000 };

static long length;

static void write_lines(void)
{
    FILE *file = fopen("lines", "w");
    CHECK(file);
    for (int line = 0; line < LINES; line++)
        switch (line % 5) {
        case 0:
            CHECK(fprintf(file, "%d\n", 100000 + line) == 7);
            break;
        case 1:
            CHECK(fputs("by fputs\n", file) >= 0);
            break;
        case 2:
            CHECK(fwrite("by fwrite\n", 1, 10, file) == 10);
            break;
        case 3:
            for (const char *c = "by putc\n"; *c; c++)
                CHECK(putc(*c, file) == *c);
            break;
        default:
            for (const char *c = "by a macro\n"; *c; c++)
                CHECK(putc_unlocked(*c, file) == *c);
        }
    length = ftell(file);
    CHECK(fclose(file) == 0);
}

static void by_characters(void)
{
    FILE *file = fopen("lines", "r");
    CHECK(file);
    long seen = 0;
    while (getc(file) != EOF)
        seen++;
    CHECK(seen == length && feof(file) && getc(file) == EOF);
    rewind(file);
    seen = 0;
    while (getc_unlocked(file) != EOF)
        seen++;
    CHECK(seen == length && fclose(file) == 0);
}

static void by_lines(void)
{
    FILE *file = fopen("lines", "r");
    CHECK(file);
    char line[64];
    long lines = 0;
    while (fgets(line, sizeof line, file))
        lines++;
    CHECK(lines == LINES && fclose(file) == 0);

    file = fopen("lines", "r");
    CHECK(file);
    char *text = NULL;
    size_t room = 0;
    lines = 0;
    while (getline(&text, &room, file) > 0)
        lines++;
    CHECK(lines == LINES && fclose(file) == 0);
    free(text);
}

static void by_blocks(void)
{
    static char block[100000];
    FILE *file = fopen("lines", "r");
    CHECK(file);
    long seen = 0;
    for (size_t got; (got = fread(block, 1, sizeof block, file)) > 0;)
        seen += got;
    CHECK(seen == length);
    CHECK(fseek(file, 10000, SEEK_SET) == 0 && fread(block, 1, 100, file) == 100);
    CHECK(fclose(file) == 0);
    file = fopen("blocks", "w");
    CHECK(file && fwrite(block, 1, 10, file) == 10);
    CHECK(fwrite(block, 1, sizeof block, file) == sizeof block);
    CHECK(fflush(file) == 0 && fflush(file) == 0 && fclose(file) == 0);
}

static void by_numbers(void)
{
    FILE *file = fopen("numbers", "w");
    CHECK(file);
    for (int number = 0; number < 10000; number++)
        fprintf(file, "%d ", number);
    CHECK(fclose(file) == 0);
    file = fopen("numbers", "r");
    CHECK(file);
    int number, count = 0;
    while (fscanf(file, "%d", &number) == 1)
        CHECK(number == count++);
    CHECK(count == 10000 && fclose(file) == 0);
}

static void wide(void)
{
    FILE *file = fopen("wide", "w");
    CHECK(file);
    for (int line = 0; line < 2000; line++)
        CHECK(fputwc(L'w', file) == L'w' && fputws(L"ide\n", file) >= 0);
    CHECK(fwprintf(file, L"%ls", L"end\n") == 4 && fclose(file) == 0);
    file = fopen("wide", "r");
    CHECK(file);
    long seen = 0;
    while (fgetwc(file) != WEOF)
        seen++;
    CHECK(seen == 2000 * 5 + 4 && fclose(file) == 0);
}

static void in_memory(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    CHECK(file);
    for (int line = 0; line < 10000; line++)
        CHECK(fprintf(file, "line %d\n", line) > 0);
    CHECK(fclose(file) == 0 && strlen(text) == bytes);
    file = fmemopen(text, bytes, "r");
    CHECK(file);
    size_t seen = 0;
    while (getc(file) != EOF)
        seen++;
    CHECK(seen == bytes && fclose(file) == 0);
    free(text);
}

int main(void)
{
    write_lines();
    by_characters();
    by_lines();
    by_blocks();
    by_numbers();
    wide();
    in_memory();
    printf("%ld\n", length);
    puts("done");
    /* Left in the buffer: written when the program has left main. */
    return 0;
}
