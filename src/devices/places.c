/* places.c - where programs and libraries lie */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "devices/devices_config.h" /* made by Meson: where libraries are installed */
#include "devices/impl.h"

static bool is_file(const char *path, int mode)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, mode) == 0;
}

/* The real path, if it is such a file and fits. */
static bool take(char *out, size_t size, const char *path, int mode)
{
    char real[PATH_MAX];
    if (!is_file(path, mode) || !realpath(path, real) || strlen(real) >= size) return false;
    memcpy(out, real, strlen(real) + 1);
    return true;
}

bool hd_devices_program(char *out, size_t size, const char *name)
{
    char path[PATH_MAX], folder[PATH_MAX];
    const char *at = getenv("PATH");
    if (!at || !*name || strchr(name, '/')) return false;
    for (;; at++) {
        size_t length = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)(length ? length : 1), length ? at : ".", name);
        if (length < sizeof path - 256 && is_file(path, X_OK)) {
            /* The file name stays unresolved, since programs may depend on it (pyenv, busybox). */
            path[strlen(path) - strlen(name) - 1] = '\0';
            if (!realpath(path[0] ? path : "/", folder)) return false;
            return snprintf(out, size, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name) < (int)size;
        }
        at += length;
        if (!*at) return false;
    }
}

/* ---- libraries of our own ---- */

static bool look_below(char *out, size_t size, const char *folder, const char *name)
{
    static const char *const places[] = {".",
                                         "../capture/cuda", /* in a build tree */
                                         "capture/cuda",
                                         "../mpi",
                                         "mpi",
                                         "../../../wasm",
                                         "../share/heddle",
                                         "../lib/heddle",
                                         "../lib64/heddle",
                                         "../lib/x86_64-linux-gnu/heddle",
                                         "../lib/aarch64-linux-gnu/heddle",
                                         "heddle", /* from the folder of libheddle itself */
                                         NULL};
    char path[PATH_MAX];
    for (const char *const *place = places; *place; place++)
        if ((size_t)snprintf(path, sizeof path, "%s/%s/%s", folder, *place, name) < sizeof path &&
            take(out, size, path, R_OK))
            return true;
    return false;
}

static bool beside(char *out, size_t size, char *file, const char *name)
{
    char *slash = strrchr(file, '/');
    if (!slash) return false;
    *slash = '\0';
    return look_below(out, size, file, name);
}

bool hd_devices_library(char *out, size_t size, const char *name)
{
    char path[PATH_MAX];
    Dl_info here;
    if (size) out[0] = '\0';
    if (!*name || strchr(name, '/')) return false;
    ssize_t got = readlink("/proc/self/exe", path, sizeof path - 1);
    if (got > 0) {
        path[got] = '\0';
        if (beside(out, size, path, name)) return true;
    }
    /* Where libheddle is a library of another program's, such as Python. */
    if (dladdr((void *)(uintptr_t)hd_devices_library, &here) && here.dli_fname &&
        strlen(here.dli_fname) < sizeof path) {
        memcpy(path, here.dli_fname, strlen(here.dli_fname) + 1);
        if (beside(out, size, path, name)) return true;
    }
    return (size_t)snprintf(path, sizeof path, "%s/heddle/%s", HD_LIBDIR, name) < sizeof path &&
           take(out, size, path, R_OK);
}
