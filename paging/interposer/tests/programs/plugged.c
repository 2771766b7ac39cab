/* Loads a library that reads, named by the argument. */
#include "check.h"
#include <dlfcn.h>

int main(int count, char **arguments)
{
    CHECK(count == 2);
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(library);
    long (*plugin)(void);
    *(void **)&plugin = dlsym(library, "plugin");
    CHECK(plugin && plugin() == 100 && dlclose(library) == 0);
    return 0;
}
