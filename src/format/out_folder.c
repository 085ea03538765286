/* out_folder.c - a folder that appears whole or not at all */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/temporary.h"
#include "base/text/ends.h"
#include "base/thread.h"
#include "format/out_folder.h"

/* ---- names ---- */

/* The folder for a path: DIR/ANCHOR is DIR, any other path is itself. malloc'ed. */
static char *folder_of(const char *path, const char *anchor)
{
    char *out = strdup(path);
    if (!out) return NULL;
    size_t size = strlen(out), anchor_size = strlen(anchor);
    while (size > 1 && out[size - 1] == '/') out[--size] = '\0';
    if (hd_ends_with(out, size, anchor) && size > anchor_size + 1 && out[size - anchor_size - 1] == '/') {
        size -= anchor_size + 1;
        out[size] = '\0';
        while (size > 1 && out[size - 1] == '/') out[--size] = '\0';
    }
    char *real = realpath(out, NULL); /* behind links, and for "." and ".." */
    if (!real) return out;
    free(out);
    return real;
}

/* ---- what is there ---- */

typedef enum there { THERE_NOTHING, THERE_ARCHIVE, THERE_OTHER } there;

static there folder_content(const char *folder, const hd_out_folder_kind *kind)
{
    DIR *dir = opendir(folder);
    if (!dir) return errno == ENOENT ? THERE_NOTHING : THERE_OTHER;
    there found = THERE_NOTHING;
    bool other = false;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        bool is_link = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        other |= !is_link && !kind->is_part(entry->d_name);
        if (strcmp(entry->d_name, kind->anchor) == 0) found = THERE_ARCHIVE;
    }
    closedir(dir);
    return other ? THERE_OTHER : found;
}

static hd_status check_target(const hd_out_folder *folder, bool clean, hd_error *err)
{
    const hd_out_folder_kind *kind = folder->kind;
    switch (folder_content(folder->target, kind)) {
    case THERE_NOTHING: return HD_OK;
    case THERE_ARCHIVE:
        if (clean) return HD_OK;
        return hd_error_set(err, HD_ERR_IO, folder->target, HD_OFFSET_NONE, "%s is there already; --clean replaces it",
                            kind->title);
    default: break;
    }
    return hd_error_set(err, HD_ERR_IO, folder->target, HD_OFFSET_NONE,
                        "is not a folder, or holds files that are not part of %s, which needs a folder of its own",
                        kind->title);
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path) != 0 && errno != ENOENT ? -1 : 0;
}

static void remove_tree(const char *path)
{
    nftw(path, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
}

/* ---- making ---- */

static char *beside(const char *target)
{
    const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
    char *out;
    return asprintf(&out, "%.*s.%.200s.XXXXXX", (int)(name - target), target, name) < 0 ? NULL : out;
}

hd_status hd_out_folder_create(hd_out_folder *out, const char *path, const hd_out_folder_kind *kind,
                               const hd_write_options *options, hd_error *err)
{
    *out = (hd_out_folder){.kind = kind, .leftover = -1};
    if (strcmp(path, "-") == 0 || hd_ends_with(path, strlen(path), ".gz") || hd_ends_with(path, strlen(path), ".zst"))
        return hd_error_set(err, HD_ERR_ARGUMENT, path, HD_OFFSET_NONE,
                            "%s is a folder: it cannot be written to a stream or compressed", kind->title);
    out->target = folder_of(path, kind->anchor);
    out->temporary = out->target ? beside(out->target) : NULL;
    if (!out->temporary) {
        hd_out_folder_abort(out);
        return HD_NOMEM(err);
    }
    hd_status status = check_target(out, options->clean, err);
    const hd_signals signals = hd_signals_block();
    bool is_made = status == HD_OK && mkdtemp(out->temporary);
    if (is_made) out->leftover = hd_leftover_add(out->temporary, true);
    hd_signals_restore(&signals);
    if (status == HD_OK && !is_made) {
        status = hd_error_set(err, HD_ERR_IO, out->target, HD_OFFSET_NONE, "cannot make a folder next to it: %s",
                              strerror(errno));
        free(out->temporary);
        out->temporary = NULL;
    }
    /* mkdtemp's folder is for its owner only; one inside gets the permissions that every folder gets. */
    if (status == HD_OK && asprintf(&out->folder, "%s/new", out->temporary) < 0) {
        out->folder = NULL;
        status = HD_NOMEM(err);
    }
    if (status == HD_OK && mkdir(out->folder, 0777) != 0)
        status = hd_error_set(err, HD_ERR_IO, out->folder, HD_OFFSET_NONE, "cannot make it: %s", strerror(errno));
    if (status != HD_OK) hd_out_folder_abort(out);
    return status;
}

void hd_out_folder_abort(hd_out_folder *folder)
{
    if (folder->temporary) {
        remove_tree(folder->temporary);
        hd_leftover_done(folder->leftover);
    }
    free(folder->target);
    free(folder->temporary);
    free(folder->folder);
    *folder = (hd_out_folder){0};
}

/* ---- giving it its name ---- */

static int sync_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    int status = fsync(fd);
    close(fd);
    return status;
}

static bool sync_parent(const char *target)
{
    const char *slash = strrchr(target, '/');
    char *parent = slash ? strndup(target, slash == target ? 1 : (size_t)(slash - target)) : strdup(".");
    bool fine = parent && sync_entry(parent, NULL, 0, NULL) == 0;
    free(parent);
    return fine;
}

/* Replaces the existing folder by the new one; the old one is removed once the new one is in place. */
static bool rename_over(const hd_out_folder *folder)
{
    if (rename(folder->folder, folder->target) == 0) return true; /* nothing there, or an empty folder */
    if (errno != ENOTEMPTY && errno != EEXIST) return false;
    char *old;
    if (asprintf(&old, "%s/old", folder->temporary) < 0) return false;
    bool fine = rename(folder->target, old) == 0;
    if (fine && rename(folder->folder, folder->target) != 0) {
        int problem = errno;
        fine = false;
        rename(old, folder->target);
        errno = problem;
    }
    free(old);
    return fine;
}

hd_status hd_out_folder_commit(hd_out_folder *folder, const hd_write_options *options, hd_error *err)
{
    hd_status status = HD_OK;
    if (options->sync && nftw(folder->folder, sync_entry, 32, FTW_DEPTH | FTW_PHYS) != 0)
        status = hd_error_set(err, HD_ERR_IO, folder->target, HD_OFFSET_NONE, "cannot sync: %s", strerror(errno));
    if (status == HD_OK) status = check_target(folder, options->clean, err); /* it may have appeared meanwhile */
    hd_leftover_done(folder->leftover); /* what is at the target will be in it for a moment */
    folder->leftover = -1;
    if (status == HD_OK && !rename_over(folder))
        status = hd_error_set(err, HD_ERR_IO, folder->target, HD_OFFSET_NONE, "cannot give it its name: %s",
                              strerror(errno));
    if (status == HD_OK && options->sync && !sync_parent(folder->target))
        status =
            hd_error_set(err, HD_ERR_IO, folder->target, HD_OFFSET_NONE, "cannot sync its folder: %s", strerror(errno));
    hd_out_folder_abort(folder);
    return status;
}
