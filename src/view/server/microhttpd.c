/* microhttpd.c - see microhttpd.h */
#include "view/server/microhttpd.h"

#ifdef HD_MICROHTTPD

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"

view_microhttpd_functions view_microhttpd;

static bool loaded;

static void load(void)
{
    void *library = dlopen(HD_MICROHTTPD, RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    static const char *const names[] = {
#define VIEW_MICROHTTPD_NAME(name) #name,
        VIEW_MICROHTTPD(VIEW_MICROHTTPD_NAME)
#undef VIEW_MICROHTTPD_NAME
    };
    void **functions = (void **)&view_microhttpd;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(functions[i] = dlsym(library, names[i]))) return;
    loaded = true;
}

hd_status view_microhttpd_load(hd_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (loaded) return HD_OK;
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                        "the page's server needs " HD_MICROHTTPD ": install libmicrohttpd (Debian: libmicrohttpd12)");
}

#endif
