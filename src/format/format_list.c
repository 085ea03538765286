/* format_list.c - the formats of this build, and lookups in their list */
#include "format/format.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/text/ends.h"

#define FORMAT(name) &hd_##name##_format,
static const hd_format *const formats[] = {
#include "format/formats.inc"
};
#undef FORMAT

enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

size_t hd_format_count(void)
{
    return FORMAT_COUNT;
}
const hd_format_info *hd_format_at(size_t index)
{
    return index < FORMAT_COUNT ? &formats[index]->info : NULL;
}
const hd_format *hd_format_descriptor(size_t index)
{
    return index < FORMAT_COUNT ? formats[index] : NULL;
}

const hd_format *hd_format_named(const char *data, size_t size)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        const char *name = formats[i]->info.name;
        if (strlen(name) == size && memcmp(name, data, size) == 0) return formats[i];
    }
    return NULL;
}

const hd_format_info *hd_format_find(const char *name)
{
    const hd_format *format = hd_format_named(name, strlen(name));
    return format ? &format->info : NULL;
}

/* ---- extensions ---- */

/* Whether a name ends with one of the extensions of a format. */
static bool has_extension(const hd_format *format, const char *path, size_t size)
{
    char extensions[128];
    char *rest = NULL;
    snprintf(extensions, sizeof extensions, "%s", format->info.extensions);
    for (char *one = strtok_r(extensions, " ", &rest); one; one = strtok_r(NULL, " ", &rest)) {
        if (hd_ends_with(path, size, one)) return true;
    }
    return false;
}

/* Without the extension of a compression. */
static size_t size_of_name(const char *path)
{
    size_t size = strlen(path);
    if (hd_ends_with(path, size, ".gz")) return size - 3;
    return hd_ends_with(path, size, ".zst") ? size - 4 : size;
}

bool hd_format_is_extension_of_any(const char *name)
{
    size_t size = size_of_name(name);
    for (size_t i = 0; i < FORMAT_COUNT && name[0] != '.'; i++) {
        if (formats[i]->info.reads && has_extension(formats[i], name, size)) return true;
    }
    return false;
}

const hd_format *hd_format_writing(const char *path)
{
    size_t size = size_of_name(path);
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (formats[i]->info.writes && has_extension(formats[i], path, size)) return formats[i];
    }
    return NULL;
}

const hd_format_info *hd_format_for_path(const char *path)
{
    const hd_format *format = hd_format_writing(path);
    return format ? &format->info : NULL;
}

/* ---- companions ---- */

hd_status hd_format_find_companion(char **out, const char *trace, hd_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < FORMAT_COUNT && !*out; i++) {
        if (formats[i]->companion) HD_TRY(formats[i]->companion->find(out, trace, err));
    }
    return HD_OK;
}

hd_status hd_format_find_trace(char **out, const char *folder, hd_error *err)
{
    struct stat info;
    *out = NULL;
    if (strcmp(folder, "-") == 0 || stat(folder, &info) != 0 || !S_ISDIR(info.st_mode)) return HD_OK;
    for (size_t i = 0; i < FORMAT_COUNT && !*out; i++) {
        if (formats[i]->companion) HD_TRY(formats[i]->companion->find_trace(out, folder, err));
    }
    return HD_OK;
}

hd_status hd_format_require_companion(const hd_trace *trace, const char *path, hd_error *err)
{
    const char *name = hd_trace_facts_of(trace)->format, *wanted = "";
    for (size_t i = FORMAT_COUNT; i-- > 0;) {
        if (!formats[i]->companion) continue;
        if (strcmp(formats[i]->info.name, name) == 0) return HD_OK;
        wanted = formats[i]->companion->title;
    }
    return hd_error_set(err, HD_ERR_ARGUMENT, path, HD_OFFSET_NONE, "is not a %s", wanted);
}
