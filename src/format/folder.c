/* folder.c - which file of a folder is read
 *
 * The archives of folders are those of OTF2, whether this build reads them or not.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/ends.h"
#include "format/format.h"
#include "format/lookalikes.h"

/* What a folder without an archive has, and what to write instead of its name. */
static hd_status say_what_to_name(const char *folder, size_t traces, const char *example, hd_error *err)
{
    const hd_lookalike *like = hd_lookalike_named(folder);
    if (like && like->advice)
        return hd_error_set(err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE, "a folder that looks like %s: %s", like->what,
                            like->advice);
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
