/* folder.c - chooses the file of a folder to read
 *
 * Archives of folders are those of OTF2, whether this build reads them or not. Files of a format with several files per
 * folder (XPlane) are read together.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/ends.h"
#include "format/format.h"
#include "format/lookalikes.h"

/* `perf record --threads` writes a folder: data, and data.N with the records of each thread. */
static bool is_of_perf(const char *folder)
{
    static const char mark[8] = {'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'};
    char head[sizeof mark], *path;
    if (asprintf(&path, "%s/data", folder) < 0) return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head && memcmp(head, mark, sizeof mark) == 0;
    if (fd >= 0) close(fd);
    free(path);
    return is;
}

/* Describes a folder without an archive, and suggests which file to name. */
static hd_status say_what_to_name(const char *folder, size_t traces, const char *example, hd_error *err)
{
    const hd_lookalike *like = hd_lookalike_named(folder);
    if (like && like->advice)
        return hd_error_set(err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE, "a folder that looks like %s: %s", like->what,
                            like->advice);
    if (is_of_perf(folder))
        return hd_error_set(
            err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE,
            "a folder of perf, whose samples are in several files: `perf script -i %s > FILE.perf` makes "
            "text of it that can be read",
            folder);
    if (traces == 0)
        return hd_error_set(
            err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE,
            "a folder is read if it holds an OTF2 archive or CSVs of rocprofv3; there is no *.otf2 in this "
            "one, no such CSV, and no file that is named as a trace");
    if (traces == 1)
        return hd_error_set(err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE,
                            "a folder is read if it holds an OTF2 archive; there is no *.otf2 in this one. Name its "
                            "trace: %s/%s",
                            folder, example);
    return hd_error_set(
        err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE,
        "a folder is read if it holds an OTF2 archive; there is no *.otf2 in this one. %zu of its files "
        "are named as traces, as %s: name them, as %s/*%s",
        traces, example, folder, strchr(example, '.') ? strchr(example, '.') : "");
}

bool hd_folder_is_archive(const char *name)
{
    static const char extension[] = ".otf2";
    size_t size = strlen(name);
    return size >= sizeof extension && hd_ends_with(name, size, extension);
}

hd_status hd_folder_find_archive(char **out, const char *folder, hd_error *err)
{
    DIR *entries = opendir(folder);
    size_t count = 0, traces = 0;
    char example[256] = "";
    *out = NULL;
    if (!entries) return hd_error_set(err, HD_ERR_IO, folder, HD_OFFSET_NONE, "cannot be opened: %s", strerror(errno));
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        size_t size = strlen(entry->d_name);
        if (!hd_folder_is_archive(entry->d_name)) {
            if (size >= sizeof example || !hd_format_is_extension_of_any(entry->d_name)) continue;
            if (traces++ == 0 || strcmp(entry->d_name, example) < 0) memcpy(example, entry->d_name, size + 1);
            continue;
        }
        if (count++) continue;
        *out = malloc(strlen(folder) + size + 2);
        if (*out) sprintf(*out, "%s/%s", folder, entry->d_name);
    }
    closedir(entries);
    if (count == 1) return *out ? HD_OK : HD_NOMEM(err);
    free(*out);
    *out = NULL;
    if (count)
        return hd_error_set(err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE,
                            "%zu archives (*.otf2) are in this folder: name the one to read", count);
    return say_what_to_name(folder, traces, example, err);
}

/* ---- lists ---- */

void hd_folder_list_free(char **paths, size_t count)
{
    for (size_t i = 0; i < count; i++) free(paths[i]);
    free(paths);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The entries of a folder with this extension (NULL: subfolders), sorted by name. */
static hd_status list(char ***out, size_t *count, const char *folder, const char *extension, hd_error *err)
{
    DIR *entries = opendir(folder);
    size_t capacity = 0;
    bool fine = true;
    *out = NULL;
    *count = 0;
    for (struct dirent *entry; entries && fine && (entry = readdir(entries)) != NULL;) {
        struct stat about;
        char *path;
        size_t size = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || (extension && !hd_ends_with(entry->d_name, size, extension))) continue;
        fine = asprintf(&path, "%s/%s", folder, entry->d_name) >= 0;
        if (!fine) break;
        bool wanted = stat(path, &about) == 0 && (extension ? S_ISREG(about.st_mode) : S_ISDIR(about.st_mode));
        fine = !wanted || hd_grow((void **)out, &capacity, *count, sizeof **out);
        if (wanted && fine)
            (*out)[(*count)++] = path;
        else
            free(path);
    }
    if (entries) closedir(entries);
    if (*count) hd_sort(*out, *count, sizeof **out, by_name);
    if (fine) return HD_OK;
    hd_folder_list_free(*out, *count);
    *out = NULL;
    *count = 0;
    return HD_NOMEM(err);
}

hd_status hd_folder_list(char ***out, size_t *out_count, const char *folder, const char *extension, const char *runs,
                         hd_error *err)
{
    char *below, **folders;
    size_t count;
    HD_TRY(list(out, out_count, folder, extension, err));
    if (*out_count) return HD_OK;
    if (asprintf(&below, "%s/%s", folder, runs) < 0) return HD_NOMEM(err);
    hd_status status = list(&folders, &count, below, NULL, err);
    if (status == HD_OK && count > 1)
        status =
            hd_error_set(err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE,
                         "%zu runs are in %.200s: name the one to read, as %.200s", count, runs, folders[count - 1]);
    if (status == HD_OK && count == 1) status = list(out, out_count, folders[0], extension, err);
    hd_folder_list_free(folders, count);
    free(below);
    return status;
}
