/* alternate.c - the file into which dwz moved debug information shared by several files
 *
 * libdw would open whatever path the file contains at first use: the verified file is set before.
 */
#include <elfutils/libdwelf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "symbolize/elf.h"

#define SYSTEM_DEBUG "/usr/lib/debug"

typedef struct seeker {
    sym_file *file;
    Dwarf **out;
    const uint8_t *build_id;
    size_t size;
} seeker;

static bool try_file(seeker *s, const char *path)
{
    hd_symbolize_result result;
    char why[SYM_WHY_BYTES];
    bool has_build_id;
    if (!sym_file_open(s->file, &result, why, path)) return false;
    if (sym_file_is(s->file->elf, &has_build_id, s->build_id, s->size)) *s->out = sym_file_dwarf(s->file->elf);
    if (!*s->out) sym_file_close(s->file);
    return *s->out != NULL;
}

static bool try_folder(seeker *s, const char *root, const char *folder)
{
    char path[PATH_MAX], hex[2 * SYM_BUILD_ID_BYTES + 1];
    for (size_t i = 0; i < s->size; i++) snprintf(hex + 2 * i, 3, "%02x", s->build_id[i]);
    int size = snprintf(path, sizeof path, "%s%s/.build-id/%.2s/%s.debug", root, folder, hex, hex + 2);
    return size > 0 && (size_t)size < sizeof path && try_file(s, path);
}

static bool try_name(seeker *s, const char *name, const char *path)
{
    char beside[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (name[0] == '/') return try_file(s, name);
    if (!slash) return false;
    int size = snprintf(beside, sizeof beside, "%.*s/%s", (int)(slash - path), path, name);
    return size > 0 && (size_t)size < sizeof beside && try_file(s, beside);
}

bool sym_alternate_find(sym_file *out_file, Dwarf **out_alternate, Dwarf *dwarf, const char *path,
                        const hd_symbolize_options *options)
{
    const char *name, *root = options->root ? options->root : "";
    const void *build_id;
    ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &build_id);
    *out_alternate = NULL;
    if (size == 0) return true;
    if (size < 2 || size > SYM_BUILD_ID_BYTES) return false;
    seeker s = {.file = out_file, .out = out_alternate, .build_id = build_id, .size = (size_t)size};
    for (size_t i = 0; i < options->debug_dir_count; i++) {
        if (try_folder(&s, "", options->debug_dirs[i])) return true;
    }
    return try_folder(&s, root, SYSTEM_DEBUG) || (*root && try_folder(&s, "", SYSTEM_DEBUG)) ||
           try_name(&s, name, path);
}
