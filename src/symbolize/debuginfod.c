/* debuginfod.c - symbol files from the servers that the user configured, only on request
 *
 * The library is loaded on demand: it brings an HTTP client with it. With a server that accepts the connection and
 * sends nothing it would wait 90 s per file; a callback, called about once a second, ends the wait earlier.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "symbolize/elf.h"

#define LIBRARY "libdebuginfod.so.1"

enum { LIMIT_S = 30 };

typedef struct client_library {
    void *library;
    void *(*begin)(void);
    int (*find)(void *client, const unsigned char *build_id, int size, char **out_path);
    void (*end)(void *client);
    void (*set_user_data)(void *client, void *data);
    void *(*get_user_data)(void *client);
    void (*set_progress)(void *client, int (*watch)(void *client, long a, long b));
    const char *(*get_url)(void *client);
} client_library;

static bool open_library(client_library *out)
{
    *out = (client_library){.library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL)};
    if (!out->library) return false;
    const struct {
        const char *name;
        void *to;
    } functions[] = {{"debuginfod_begin", &out->begin},
                     {"debuginfod_find_debuginfo", &out->find},
                     {"debuginfod_end", &out->end},
                     {"debuginfod_set_user_data", &out->set_user_data},
                     {"debuginfod_get_user_data", &out->get_user_data},
                     {"debuginfod_set_progressfn", &out->set_progress},
                     {"debuginfod_get_url", &out->get_url}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        *(void **)functions[i].to = dlsym(out->library, functions[i].name);
        if (!*(void **)functions[i].to) return false;
    }
    return true;
}

/* ---- how long a server may be silent ---- */

typedef struct wait_state {
    int64_t since_ms, limit_ms; /* since the last bytes */
    long bytes;
    bool is_silent;
} wait_state;

/* Called by the library about once a second while it waits: `a` is the number of received bytes once a server sends.
 * Not 0: give up. */
static int watch_server(void *client, long a, long b)
{
    client_library c;
    (void)b;
    wait_state *w = open_library(&c) ? c.get_user_data(client) : NULL;
    if (!w) return 0;
    int64_t now_ms = hd_now_ms();
    if (c.get_url(client) && a != w->bytes) {
        w->bytes = a;
        w->since_ms = now_ms;
    }
    w->is_silent = now_ms - w->since_ms >= w->limit_ms;
    return w->is_silent;
}

static int64_t limit_of(unsigned limit_s)
{
    const char *text = getenv("DEBUGINFOD_TIMEOUT");
    long of_library = text ? strtol(text, NULL, 10) : 0;
    return INT64_C(1000) * (limit_s ? (int64_t)limit_s : of_library > 0 && of_library < 86400 ? of_library : LIMIT_S);
}

/* The library stays loaded: it starts threads and keeps state that do not survive unloading. */
int sym_debuginfod_find(bool *out_silent, const uint8_t *build_id, size_t size, unsigned limit_s)
{
    client_library c;
    *out_silent = false;
    void *client = open_library(&c) ? c.begin() : NULL;
    if (!client) return -1;
    wait_state wait = {.since_ms = hd_now_ms(), .limit_ms = limit_of(limit_s)};
    c.set_user_data(client, &wait);
    c.set_progress(client, watch_server);
    int fd = c.find(client, build_id, (int)size, NULL);
    c.end(client);
    *out_silent = fd < 0 && wait.is_silent;
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
