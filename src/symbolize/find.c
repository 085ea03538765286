/* find.c - the files of a module, all of one build
 *
 * A file is used only if it has the module's build-id in the trace. If the trace has none, the file at the module's
 * path is used unchecked, and other files must be of its build; if that has no build-id either, they must have the
 * checksum stored in it (.gnu_debuglink).
 */
#include <elfutils/libdwelf.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/elf.h"

#define SYSTEM_DEBUG "/usr/lib/debug"
#define DELETED " (deleted)"

enum { PATH_BYTES = 2 * PATH_MAX };

typedef struct finder {
    sym_files *files;
    sym_module *module;
    const hd_symbolize_options *options;
    const char *root;
    uint8_t build_id[SYM_BUILD_ID_BYTES];
    size_t build_id_bytes;   /* 0: none is known */
    char link[NAME_MAX + 1]; /* .gnu_debuglink, "": none */
    uint32_t link_crc;
    bool want_lines;
    atomic_bool *silent;
} finder;

static bool is_done(const finder *f)
{
    return f->files->symbols_elf && (f->files->lines_elf || !f->want_lines);
}

/* ---- one file ---- */

/* Records the module's fault, in case nothing is found: a file of another build is more informative than none. */
static void note(finder *f, hd_symbolize_result result, const char *why)
{
    static const int weight[] = {[HD_SYMBOLIZE_NOT_FOUND] = 1,
                                 [HD_SYMBOLIZE_UNREADABLE] = 2,
                                 [HD_SYMBOLIZE_OTHER] = 3,
                                 [HD_SYMBOLIZE_AMBIGUOUS] = 0};
    if (f->files->why[0] && weight[result] <= weight[f->files->result]) return;
    f->files->result = result;
    snprintf(f->files->why, sizeof f->files->why, "%s", why);
}

static void note_other(finder *f, const char *path, bool has_build_id)
{
    char why[SYM_WHY_BYTES];
    size_t size = strlen(path), most = sizeof why - 48;
    snprintf(why, sizeof why, "%s%s: %s", size > most ? "…" : "", size > most ? path + size - most : path,
             has_build_id ? "is of another build" : "has no build-id");
    note(f, HD_SYMBOLIZE_OTHER, why);
}

/* Keeps the file for the data that was still missing. */
static void keep(finder *f, sym_file *file, bool is_main)
{
    sym_files *files = f->files;
    bool symbols = !files->symbols_elf && sym_file_has_symbols(file->elf);
    bool lines = f->want_lines && !files->lines_elf && sym_file_has_lines(file->elf);
    if (symbols) {
        files->symbols_elf = file->elf;
        files->symbols_path = file->path;
    }
    if (lines) {
        files->lines_elf = file->elf;
        files->lines_path = file->path;
    }
    if (is_main)
        files->main = *file;
    else if (symbols)
        files->symbols = *file;
    else if (lines)
        files->lines = *file;
    else
        sym_file_close(file);
}

static void try_path(finder *f, const char *path, bool is_main, bool by_checksum)
{
    hd_symbolize_result result;
    char why[SYM_WHY_BYTES];
    sym_file file;
    bool has_build_id;
    if (!sym_file_open(&file, &result, why, path)) {
        note(f, result, why);
        return;
    }
    bool fits = sym_file_is(file.elf, &has_build_id, f->build_id, f->build_id_bytes);
    if (!f->build_id_bytes) fits = is_main || (by_checksum && sym_file_crc(file.fd) == f->link_crc);
    if (fits) {
        keep(f, &file, is_main);
    } else {
        note_other(f, path, has_build_id);
        sym_file_close(&file);
    }
}

static void try_format(finder *f, bool is_main, const char *format, ...) HD_PRINTF(3, 4);
static void try_format(finder *f, bool is_main, const char *format, ...)
{
    char path[PATH_BYTES];
    va_list list;
    if (is_done(f)) return;
    va_start(list, format);
    int size = vsnprintf(path, sizeof path, format, list);
    va_end(list);
    if (size > 0 && (size_t)size < sizeof path) try_path(f, path, is_main, false);
}

/* ---- the program or library itself ---- */

/* Without its build-id a file that was deleted, or is named from a folder that we do not know, could be any. */
static void try_own_path(finder *f)
{
    char path[PATH_BYTES];
    const char *own = f->module->path;
    size_t size = strlen(own), deleted = sizeof DELETED - 1;
    bool is_sure = own[0] == '/';
    if (size > deleted && strcmp(own + size - deleted, DELETED) == 0) {
        size -= deleted;
        is_sure = false;
    }
    if (!is_sure && !f->build_id_bytes) {
        note(f, HD_SYMBOLIZE_NOT_FOUND,
             own[0] == '/' ? "it was deleted, and its build-id is not known"
                           : "its path is not whole, and its build-id is not known");
        return;
    }
    int made = snprintf(path, sizeof path, "%s%s%.*s", f->root, *f->root && own[0] != '/' ? "/" : "", (int)size, own);
    if (made > 0 && (size_t)made < sizeof path) try_path(f, path, true, false);
}

/* Reads the file's references to others. */
static void ask_main(finder *f)
{
    Elf *elf = f->files->main.elf;
    const void *id;
    GElf_Word crc;
    if (!elf) return;
    if (!f->build_id_bytes) {
        ssize_t size = dwelf_elf_gnu_build_id(elf, &id);
        f->module->unchecked = true;
        if (size > 0 && size <= SYM_BUILD_ID_BYTES) {
            memcpy(f->build_id, id, (size_t)size);
            f->build_id_bytes = (size_t)size;
        }
    }
    const char *link = dwelf_elf_gnu_debuglink(elf, &crc);
    if (!link || !*link || strchr(link, '/') || strlen(link) > NAME_MAX || strcmp(link, "..") == 0) return;
    snprintf(f->link, sizeof f->link, "%s", link);
    f->link_crc = crc;
}

/* ---- files of symbols ---- */

static void try_build_id(finder *f, const char *root, const char *folder)
{
    char hex[2 * SYM_BUILD_ID_BYTES + 1];
    if (f->build_id_bytes < 2) return;
    for (size_t i = 0; i < f->build_id_bytes; i++) snprintf(hex + 2 * i, 3, "%02x", f->build_id[i]);
    try_format(f, false, "%s%s/.build-id/%.2s/%s.debug", root, folder, hex, hex + 2);
    if (!f->files->main.elf) try_format(f, true, "%s%s/.build-id/%.2s/%s", root, folder, hex, hex + 2);
}

static void try_link(finder *f, const char *format, const char *a, const char *b, int b_size)
{
    char path[PATH_BYTES];
    if (is_done(f) || !f->link[0]) return;
    int size = snprintf(path, sizeof path, format, a, b_size, b, f->link);
    if (size > 0 && (size_t)size < sizeof path) try_path(f, path, false, true);
}

/* In gdb's order: next to the file, in .debug there, in each folder by the file's own path. */
static void try_links(finder *f)
{
    const char *own = f->files->main.path, *slash = own ? strrchr(own, '/') : NULL;
    if (!slash) return;
    int folder = (int)(slash - own);
    try_link(f, "%s%.*s/%s", "", own, folder);
    try_link(f, "%s%.*s/.debug/%s", "", own, folder);
    const char *module = f->module->path, *end = strrchr(module, '/');
    int below = end ? (int)(end - module) : 0;
    for (size_t i = 0; i < f->options->debug_dir_count; i++) {
        try_link(f, "%s%.*s/%s", f->options->debug_dirs[i], module, below);
        try_link(f, "%s%.*s/%s", f->options->debug_dirs[i], "", 0);
    }
    try_link(f, "%s" SYSTEM_DEBUG "%.*s/%s", f->root, module, below);
}

/* Folders that the user named may hold files by their names. */
static void try_names(finder *f)
{
    const char *path = f->module->path, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!*name) name = f->module->name;
    if (strchr(name, '/') || strcmp(name, "..") == 0) return;
    for (size_t i = 0; i < f->options->debug_dir_count; i++) {
        const char *folder = f->options->debug_dirs[i];
        bool is_main = !f->files->main.elf;
        if (path[0] == '/' && !strstr(path, "/../")) {
            try_format(f, is_main && !f->files->main.elf, "%s%s", folder, path);
            try_format(f, false, "%s%s.debug", folder, path);
        }
        try_format(f, is_main && !f->files->main.elf, "%s/%s", folder, name);
        try_format(f, false, "%s/%s.debug", folder, name);
    }
}

static void try_debuginfod(finder *f)
{
    sym_file file;
    bool has_build_id;
    if (is_done(f) || !f->options->debuginfod || !f->build_id_bytes) return;
    bool is_silent = atomic_load(f->silent);
    int fd = is_silent
                 ? -1
                 : sym_debuginfod_find(&is_silent, f->build_id, f->build_id_bytes, f->options->debuginfod_timeout_s);
    if (is_silent) {
        atomic_store(f->silent, true);
        f->files->has_silent_servers = true;
        if (f->files->result == HD_SYMBOLIZE_NOT_FOUND)
            snprintf(f->files->why, sizeof f->files->why, "not here, and " SYM_SILENT);
    }
    if (fd < 0 || !sym_file_take(&file, fd, "debuginfod")) return;
    if (sym_file_is(file.elf, &has_build_id, f->build_id, f->build_id_bytes))
        keep(f, &file, false);
    else
        sym_file_close(&file);
}

/* ---- all ---- */

void sym_files_find(sym_files *out, sym_module *module, const hd_symbolize_options *options, atomic_bool *silent)
{
    finder f = {.files = out, .module = module, .options = options, .silent = silent};
    f.root = options->root ? options->root : "";
    *out = (sym_files){.result = HD_SYMBOLIZE_NOT_FOUND};
    f.want_lines = options->lines || !options->no_inline;
    memcpy(f.build_id, module->build_id, module->build_id_bytes);
    f.build_id_bytes = module->build_id_bytes;
    try_own_path(&f);
    ask_main(&f);
    for (size_t i = 0; i < options->debug_dir_count; i++) try_build_id(&f, "", options->debug_dirs[i]);
    try_build_id(&f, f.root, SYSTEM_DEBUG);
    if (*f.root) try_build_id(&f, "", SYSTEM_DEBUG);
    try_links(&f);
    if (f.build_id_bytes) try_names(&f);
    try_debuginfod(&f);
}

void sym_files_close(sym_files *files)
{
    sym_file_close(&files->main);
    sym_file_close(&files->symbols);
    sym_file_close(&files->lines);
}
