/* temporary.c - files of our own, in $TMPDIR, or else /tmp and for large ones /var/tmp */
#include "base/io/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    HD_TRY(make_file(out_fd, &path, "/var/tmp", "", err));
    unlink(path);
    free(path);
    return HD_OK;
}
