/* folder.c - chooses the file of a folder to read
 *
 * Archives of folders are those of OTF2, whether this build reads them or not. Files of a format with several files per
 * folder (XPlane) are read together. Any other folder with one trace is that trace.
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

/* A file of a format without an extension, as the dumps of PyTorch's flight recorder, is known by its content. */
static bool is_nameless_trace(const char *folder, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0) return false;
    const hd_format_info *format = hd_format_of_file(path);
    free(path);
    return format && !*format->extensions;
}

/* The files that are named as traces or, if none is, those that are traces without an extension; the first by name. */
static size_t count_traces(char *first, size_t room, const char *folder)
{
    size_t traces = 0;
    for (int nameless = 0; nameless < 2 && traces == 0; nameless++) {
        DIR *entries = opendir(folder);
        if (!entries) return 0;
        for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
            const char *name = entry->d_name;
            const size_t size = strlen(name);
            if (size >= room || *name == '.' || hd_format_is_extension_of_any(name) == nameless) continue;
            if (nameless && !is_nameless_trace(folder, name)) continue;
            if (traces++ == 0 || strcmp(name, first) < 0) memcpy(first, name, size + 1);
        }
        closedir(entries);
    }
    return traces;
}

hd_status hd_folder_find_only(char **out, const char *folder, hd_error *err)
{
    char first[256] = "";
    const hd_lookalike *like = hd_lookalike_named(folder);
    *out = NULL;
    if (like && like->advice)
        return hd_error_set(err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE, "a folder that looks like %s: %s", like->what,
                            like->advice);
    if (is_of_perf(folder))
        return hd_error_set(
            err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE,
            "a folder of perf, whose samples are in several files: `perf script -i %s > FILE.perf` makes "
            "text of it that can be read",
            folder);
    const size_t traces = count_traces(first, sizeof first, folder);
    if (traces == 1) return asprintf(out, "%s/%s", folder, first) < 0 ? HD_NOMEM(err) : HD_OK;
    if (traces == 0)
        return hd_error_set(err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE,
                            "this folder has no OTF2 archive (*.otf2), no CSVs of rocprofv3, no dump of a flight "
                            "recorder, and no file that is named as a trace");
    return hd_error_set(
        err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE,
        "%zu files of this folder are traces: name the one to read, as %s/%s, or read them as the ranks of a "
        "job: `heddle report job %s`",
        traces, folder, first, folder);
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
    size_t count = 0;
    *out = NULL;
    if (!entries) return hd_error_set(err, HD_ERR_IO, folder, HD_OFFSET_NONE, "cannot be opened: %s", strerror(errno));
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (!hd_folder_is_archive(entry->d_name) || count++) continue;
        if (asprintf(out, "%s/%s", folder, entry->d_name) < 0) *out = NULL;
    }
    closedir(entries);
    if (count == 0) return HD_END;
    if (count == 1) return *out ? HD_OK : HD_NOMEM(err);
    free(*out);
    *out = NULL;
    return hd_error_set(err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE,
                        "%zu archives (*.otf2) are in this folder: name the one to read", count);
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
