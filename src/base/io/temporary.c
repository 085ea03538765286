/* temporary.c - temporary files, in $TMPDIR, else /tmp, or /var/tmp for large ones */
#include "base/io/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"

#if HD_HAS_PROGRAMS
#include <spawn.h>
#include <sys/wait.h>
#endif

static hd_status make_file(int *out_fd, char **out_path, const char *otherwise, const char *suffix, hd_error *err)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder) folder = otherwise;
    *out_path = NULL;
    if (asprintf(out_path, "%s/heddle-XXXXXX%s", folder, suffix) < 0) return HD_NOMEM(err);
    *out_fd = mkostemps(*out_path, (int)strlen(suffix), O_CLOEXEC);
    if (*out_fd >= 0) return HD_OK;
    int problem = errno;
    free(*out_path);
    *out_path = NULL;
    return hd_error_set(err, HD_ERR_IO, folder, HD_OFFSET_NONE,
                        "cannot make a temporary file: %s; set TMPDIR to a folder with space", strerror(problem));
}

hd_status hd_temporary_file(int *out_fd, char **out_path, const char *suffix, hd_error *err)
{
    return make_file(out_fd, out_path, "/tmp", suffix, err);
}

hd_status hd_temporary_nameless(int *out_fd, hd_error *err)
{
    char *path;
    /* A small container may have no /var/tmp. */
    if (make_file(out_fd, &path, "/var/tmp", "", NULL) != HD_OK) HD_TRY(make_file(out_fd, &path, "/tmp", "", err));
    unlink(path);
    free(path);
    return HD_OK;
}

/* ---- what a signal would leave behind ---- */

enum { LEFTOVERS = 64 };

typedef struct leftover {
    pid_t owner; /* a forked child has a copy of this, and must not remove anything */
    bool is_folder;
    char path[];
} leftover;

static _Atomic(leftover *) leftovers[LEFTOVERS];

int hd_leftover_add(const char *path, bool is_folder)
{
    leftover *l = malloc(sizeof *l + strlen(path) + 1), *none = NULL;
    if (!l) return -1;
    l->owner = getpid();
    l->is_folder = is_folder;
    strcpy(l->path, path);
    for (int i = 0; i < LEFTOVERS; i++, none = NULL) {
        if (atomic_compare_exchange_strong(&leftovers[i], &none, l)) return i;
    }
    free(l);
    return -1;
}

void hd_leftover_done(int number)
{
    if (number >= 0) free(atomic_exchange(&leftovers[number], NULL));
}

/* Runs rm, since reading a folder takes memory, which a signal handler must not do. */
static void remove_folder(const char *path)
{
#if HD_HAS_PROGRAMS
    char *words[] = {"rm", "-rf", "--", (char *)(uintptr_t)path, NULL};
    pid_t child;
    if (posix_spawn(&child, "/bin/rm", NULL, NULL, words, NULL) != 0) return;
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
#else
    (void)path;
#endif
}

void hd_leftovers_remove(void)
{
    int problem = errno;
    for (int i = 0; i < LEFTOVERS; i++) {
        leftover *l = atomic_exchange(&leftovers[i], NULL); /* never freed: a handler must not free */
        if (!l || l->owner != getpid()) continue;
        if (l->is_folder)
            remove_folder(l->path);
        else
            unlink(l->path);
    }
    errno = problem;
}
