/* companion.c - finds the memory profile of TensorFlow that belongs to a trace
 *
 * TensorFlow writes plugins/profile/TIME/HOST.trace.json.gz and, next to it, HOST.memory_profile.json.gz.
 */
#include "format/tfmemory/tfmemory.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

static const char trace_end[] = ".trace.json", profile_end[] = ".memory_profile.json";

/* The size of a name without `end` and a compression suffix; 0: it has another ending. */
static size_t stem_of(const char *name, const char *end)
{
    size_t size = strlen(name), n = strlen(end);
    if (size > 3 && strcmp(name + size - 3, ".gz") == 0)
        size -= 3;
    else if (size > 4 && strcmp(name + size - 4, ".zst") == 0)
        size -= 4;
    return size > n && memcmp(name + size - n, end, n) == 0 ? size - n : 0;
}

typedef struct folder {
    size_t traces, profiles, archives;
    char *trace, *profile; /* the first of each, as FOLDER/NAME */
} folder;

static void folder_deinit(folder *f)
{
    free(f->trace);
    free(f->profile);
}

static bool keep_first(char **out, const char *path, size_t path_size, const char *name)
{
    if (*out) return true;
    size_t size = path_size + strlen(name) + 2;
    *out = malloc(size);
    if (*out) snprintf(*out, size, "%.*s/%s", (int)path_size, path, name);
    return *out != NULL;
}

/* A folder that cannot be opened is treated as empty: its reader will report the reason. */
static hd_status look_into(folder *out, const char *path, hd_error *err)
{
    DIR *entries = opendir(path);
    bool fine = true;
    *out = (folder){0};
    if (!entries) return HD_OK;
    for (struct dirent *entry; fine && (entry = readdir(entries)) != NULL;) {
        const char *name = entry->d_name;
        if (name[0] == '.') continue;
        if (stem_of(name, trace_end)) {
            out->traces++;
            fine = keep_first(&out->trace, path, strlen(path), name);
        } else if (stem_of(name, profile_end)) {
            out->profiles++;
            fine = keep_first(&out->profile, path, strlen(path), name);
        }
        out->archives += hd_folder_is_archive(name);
    }
    closedir(entries);
    if (fine) return HD_OK;
    folder_deinit(out);
    return HD_NOMEM(err);
}

/* The only *.trace.json, if there is no archive. */
static hd_status find_trace(char **out, const char *path, hd_error *err)
{
    folder f;
    *out = NULL;
    HD_TRY(look_into(&f, path, err));
    hd_status status = HD_OK;
    if (!f.archives && f.traces > 1)
        status = hd_error_set(err, HD_ERR_FORMAT, path, HD_OFFSET_NONE,
                              "%zu traces (*.trace.json) are in this folder: name the one to read", f.traces);
    if (!f.archives && f.traces == 1) {
        *out = f.trace;
        f.trace = NULL;
    }
    folder_deinit(&f);
    return status;
}

/* The one of the same name. */
static hd_status find_twin(char **out, const char *trace, size_t stem, hd_error *err)
{
    static const char *const compressions[] = {".gz", "", ".zst"};
    size_t size = stem + sizeof profile_end + 4;
    char *path = malloc(size);
    if (!path) return HD_NOMEM(err);
    for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++) {
        snprintf(path, size, "%.*s%s%s", (int)stem, trace, profile_end, compressions[i]);
        if (access(path, F_OK) != 0) continue;
        *out = path;
        return HD_OK;
    }
    free(path);
    return HD_OK;
}

/* NAME.memory_profile.json next to NAME.trace.json, or the only one if the trace is the only one too; each of them
 * plain, .gz or .zst. */
static hd_status find_profile(char **out, const char *trace, hd_error *err)
{
    const char *slash = strrchr(trace, '/'), *name = slash ? slash + 1 : trace;
    size_t stem = stem_of(name, trace_end);
    folder f;
    *out = NULL;
    if (stem == 0) return HD_OK;
    HD_TRY(find_twin(out, trace, (size_t)(name - trace) + stem, err));
    if (*out) return HD_OK;
    char *path = slash ? strndup(trace, slash == trace ? 1 : (size_t)(slash - trace)) : strdup(".");
    if (!path) return HD_NOMEM(err);
    hd_status status = look_into(&f, path, err);
    free(path);
    if (status != HD_OK) return status;
    if (f.traces == 1 && f.profiles == 1) {
        *out = f.profile;
        f.profile = NULL;
    }
    folder_deinit(&f);
    return HD_OK;
}

const hd_companion tfmemory_companion = {
    .title = "memory profile of TensorFlow",
    .find = find_profile,
    .find_trace = find_trace,
};
