/* debuginfod.c - files of symbols from the servers that the user named, only when asked for
 *
 * The library is loaded then and not before: it brings a client of HTTP with it.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "base/error.h"
#include "symbolize/elf.h"

#define LIBRARY "libdebuginfod.so.1"

typedef struct client_library {
    void *library, *client;
    void *(*begin)(void);
    int (*find)(void *client, const unsigned char *build_id, int size, char **out_path);
    void (*end)(void *client);
} client_library;

static bool open_library(client_library *out)
{
    *out = (client_library){.library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL)};
    if (!out->library) return false;
    *(void **)&out->begin = dlsym(out->library, "debuginfod_begin");
    *(void **)&out->find = dlsym(out->library, "debuginfod_find_debuginfo");
    *(void **)&out->end = dlsym(out->library, "debuginfod_end");
    return out->begin && out->find && out->end;
}

/* The library stays loaded: it starts threads and keeps state that do not like to be unloaded. */
int sym_debuginfod_find(const uint8_t *build_id, size_t size)
{
    client_library c;
    void *client = open_library(&c) ? c.begin() : NULL;
    if (!client) return -1;
    int fd = c.find(client, build_id, (int)size, NULL);
    c.end(client);
    return fd;
}

hd_status sym_debuginfod_check(hd_error *err)
{
    client_library c;
    const char *servers = getenv("DEBUGINFOD_URLS");
    if (!servers || !*servers)
        return hd_error_set(
            err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
            "debuginfod needs a server: set DEBUGINFOD_URLS to one, such as https://debuginfod.elfutils.org/");
    if (!open_library(&c))
        return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                            LIBRARY " is not there: install it (Debian: libdebuginfod1)");
    return HD_OK;
}
