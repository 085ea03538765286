/* library.c - the injection library: where it is, and whether a process can load it */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "heddle/capture/devices.h"
#include "record/impl.h"

#define LIBRARY "libheddle-cuda.so"
enum { FINE = 'y', FAILED = 'n' };

/* In the helper: one byte, and why. */
_Noreturn static void try_library(const char *path, int out)
{
    char text[HD_ERROR_MESSAGE_BYTES] = "";
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) dup2(null, 1);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    bool fine = library && dlsym(library, "InitializeInjection");
    text[0] = fine ? FINE : FAILED;
    if (!fine) {
        const char *why = library ? "it has no function InitializeInjection" : dlerror();
        snprintf(text + 1, sizeof text - 1, "%s", why ? why : "unknown");
    }
    ssize_t n = write(out, text, strlen(text) + 1);
    _exit(n > 0 ? 0 : 1);
}

/* Loaded in a process of its own, since it never unloads and a broken one may crash the process. */
static hd_status check_library(const char *path, hd_error *err)
{
    int ends[2];
    char answer[HD_ERROR_MESSAGE_BYTES] = "";
    size_t size = 0;
    ssize_t n = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "no pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) try_library(path, ends[1]);
    int problem = pid < 0 ? errno : 0;
    close(ends[1]);
    while (pid > 0 && size < sizeof answer - 1) {
        n = read(ends[0], answer + size, sizeof answer - 1 - size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        size += (size_t)n;
    }
    close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
    if (answer[0] == FINE) return HD_OK;
    if (problem)
        return hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot start a process: %s", strerror(problem));
    return hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "does not load here: %.200s",
                        size > 1 ? answer + 1 : "the process that tried was killed");
}

hd_status hd_record_library(char **out, const char *path, hd_error *err)
{
    const char *named = path ? path : getenv("HEDDLE_CUDA_LIBRARY");
    char found[PATH_MAX];
    if (named && *named)
        *out = realpath(named, NULL);
    else
        *out = hd_devices_library(found, sizeof found, LIBRARY) ? realpath(found, NULL) : NULL;
    if (!*out && named && *named) return hd_error_set(err, HD_ERR_IO, named, HD_OFFSET_NONE, "%s", strerror(errno));
    if (!*out)
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE,
                            "there is no " LIBRARY " next to heddle or in ../lib/heddle: install it, or set "
                            "HEDDLE_CUDA_LIBRARY to where it is");
    hd_status status = check_library(*out, err);
    if (status == HD_OK) return HD_OK;
    free(*out);
    *out = NULL;
    return status;
}

bool record_cuda_missing(const recording *r)
{
    const hd_devices_options look = {.size = sizeof look, .ways_only = true, .library = r->library};
    hd_devices *devices;
    if (hd_devices_new(&devices, &look, NULL) != HD_OK) return false;
    const hd_way *way = hd_devices_way(devices, "cuda");
    bool is_missing = way && way->state == HD_WAY_MISSING;
    if (is_missing) record_say(r, "CUDA cannot be captured here: %s. %s", way->why, way->advice);
    hd_devices_free(devices);
    return is_missing;
}
