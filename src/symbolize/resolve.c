/* resolve.c - modules to threads, the largest first; names of the addresses of one */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "base/thread.h"
#include "symbolize/elf.h"

/* ---- one module ---- */

typedef struct namer {
    sym_module *module;
    const hd_symbolize_options *options;
    sym_table table;
    sym_places places; /* list NULL: there is no DWARF */
} namer;

/* "name (file.c:12)", if there is a line. */
static bool put(namer *n, uint32_t name, uint32_t file, uint32_t line)
{
    sym_answers *answers = &n->module->answers;
    if (file == HD_STRING_NONE || !line) return sym_answers_add(answers, name);
    hd_string a = hd_strings_at(&answers->texts, name), b = hd_strings_at(&answers->texts, file);
    char *text = malloc(a.size + b.size + 32);
    if (!text) return false;
    int size = sprintf(text, "%.*s (%.*s:%u)", (int)a.size, a.data, (int)b.size, b.data, line);
    uint32_t id = hd_strings_intern(&answers->texts, text, (size_t)size);
    free(text);
    return sym_answers_add(answers, id);
}

/* Without the version that the linker appends: "__libc_start_main@@GLIBC_2.34". */
static size_t plain_size(const char *name)
{
    size_t size = strcspn(name, "@");
    return size ? size : strlen(name);
}

/* The function that contains the code: by the linker's table, else by the compiler's. */
static bool outer_name(uint32_t *out, namer *n, uint64_t address, const sym_scope *scope)
{
    sym_symbol *symbol = sym_table_find(&n->table, address);
    *out = scope ? scope->name : HD_STRING_NONE;
    if (!symbol) return true;
    if (symbol->text == HD_STRING_NONE)
        symbol->text = sym_answers_text(&n->module->answers, symbol->name, plain_size(symbol->name));
    *out = symbol->text;
    return *out != HD_STRING_NONE;
}

static bool name_request(namer *n, size_t index)
{
    sym_request *request = &n->module->requests[index];
    const sym_place *place = n->places.list ? &n->places.list[index] : NULL;
    uint32_t file = place ? place->file : HD_STRING_NONE, line = place ? place->line : 0, name;
    uint32_t scope = place ? place->scope : HD_NONE;
    const sym_scope *s = NULL;
    size_t first = n->module->answers.count;
    while (scope != HD_NONE && (s = &n->places.scopes[scope])->outer != HD_NONE) {
        bool named = s->name != HD_STRING_NONE;
        if (named && n->module->answers.count - first < SYM_FRAMES_MAX && !put(n, s->name, file, line)) return false;
        file = s->call_file;
        line = s->call_line;
        scope = s->outer;
    }
    if (!outer_name(&name, n, request->address, scope == HD_NONE ? NULL : s)) return false;
    if (name != HD_STRING_NONE && !put(n, name, file, line)) return false;
    request->first = (uint32_t)first;
    request->count = (uint32_t)(n->module->answers.count - first);
    n->module->named += request->count > 0;
    n->module->inlined += request->count > 1 ? request->count - 1 : 0;
    return n->module->answers.count <= UINT32_MAX - SYM_FRAMES_MAX;
}

static bool keep_path(const char **out, const char *path)
{
    *out = path ? strdup(path) : NULL;
    return *out || !path;
}

static int by_address(const void *a, const void *b)
{
    const sym_request *x = a, *y = b;
    if (x->address != y->address) return x->address < y->address ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

/* Converts offsets in the file to addresses, by its segments. */
static void settle_offsets(sym_module *m, Elf *elf)
{
    size_t count;
    if (elf_getphdrnum(elf, &count) != 0) return;
    for (size_t i = 0; i < m->request_count; i++) {
        uint64_t offset = m->requests[i].address;
        GElf_Phdr segment;
        for (size_t k = 0; k < count; k++) {
            if (!gelf_getphdr(elf, (int)k, &segment) || segment.p_type != PT_LOAD) continue;
            if (offset < segment.p_offset || offset - segment.p_offset >= segment.p_filesz) continue;
            m->requests[i].address = offset - segment.p_offset + segment.p_vaddr;
            break;
        }
    }
    hd_sort(m->requests, m->request_count, sizeof *m->requests, by_address);
}

static bool name_all(namer *n, sym_files *files)
{
    sym_module *m = n->module;
    Elf *any = files->main.elf ? files->main.elf : files->symbols.elf ? files->symbols.elf : files->lines.elf;
    if (!any) {
        m->result = files->result;
        memcpy(m->why, files->why, sizeof m->why);
        return true;
    }
    if (m->has_offsets) settle_offsets(m, any);
    if (!sym_answers_init(&m->answers) || !sym_table_load(&n->table, files->symbols_elf, any)) return false;
    if (files->lines_elf && !sym_places_find(&n->places, m, files->lines_elf, files->lines_path, n->options))
        return false;
    const char *symbols = files->symbols_path ? files->symbols_path : n->table.count ? files->main.path : NULL;
    if (!keep_path(&m->symbols_path, symbols) || !keep_path(&m->lines_path, files->lines_path)) return false;
    m->result = n->table.count || files->lines_elf ? HD_SYMBOLIZE_NAMED : HD_SYMBOLIZE_NO_SYMBOLS;
    if (m->result == HD_SYMBOLIZE_NO_SYMBOLS)
        snprintf(m->why, sizeof m->why, "it is stripped, and %s",
                 files->has_silent_servers ? SYM_SILENT : "its file of symbols is not here");
    for (size_t i = 0; i < m->request_count; i++) {
        if (!name_request(n, i)) return false;
    }
    return true;
}

/* false: no memory. */
static bool resolve(sym_module *module, const hd_symbolize_options *options, atomic_bool *silent)
{
    namer n = {.module = module, .options = options};
    sym_files files;
    hd_sort(module->requests, module->request_count, sizeof *module->requests, by_address);
    sym_files_find(&files, module, options, silent);
    bool fine = name_all(&n, &files);
    sym_places_deinit(&n.places);
    sym_table_deinit(&n.table);
    sym_files_close(&files);
    return fine;
}

/* ---- all ---- */

typedef struct work {
    const hd_symbolize_options *options;
    sym_module **modules;
    size_t count;
    atomic_size_t next;
    atomic_bool failed;
    atomic_bool silent;   /* debuginfod servers: no other module waits for them */
    pthread_mutex_t lock; /* of what follows */
    uint64_t done, total;
} work;

static void resolve_some(void *user)
{
    work *w = user;
    for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < w->count && !atomic_load(&w->failed);) {
        if (!resolve(w->modules[i], w->options, &w->silent)) atomic_store(&w->failed, true);
        pthread_mutex_lock(&w->lock);
        w->done += w->modules[i]->request_count;
        if (w->options->progress) w->options->progress(w->options->progress_user, w->done, w->total);
        pthread_mutex_unlock(&w->lock);
    }
}

static int largest_first(const void *a, const void *b)
{
    const sym_module *const *x = a, *const *y = b;
    if ((*x)->request_count != (*y)->request_count) return (*x)->request_count > (*y)->request_count ? -1 : 1;
    return (*x > *y) - (*x < *y);
}

/* Afterwards the requests are in another order. */
static void find_again(symbolizer *s, sym_module *module)
{
    for (size_t i = 0; i < module->request_count; i++) s->name_request[module->requests[i].name] = (uint32_t)i;
}

hd_status sym_resolve(symbolizer *s)
{
    work w = {.options = s->options, .modules = malloc((s->module_count + 1) * sizeof *w.modules)};
    if (!w.modules) return HD_NOMEM(s->err);
    for (size_t i = 0; i < s->module_count; i++) {
        sym_module *m = &s->modules[i];
        if (m->is_ambiguous) m->result = HD_SYMBOLIZE_AMBIGUOUS;
        if (!m->request_count || m->is_ambiguous) continue;
        w.modules[w.count++] = m;
        w.total += m->request_count;
    }
    elf_version(EV_CURRENT);
    hd_sort(w.modules, w.count, sizeof *w.modules, largest_first);
    pthread_mutex_init(&w.lock, NULL);
    hd_threads_run(resolve_some, &w, 0, hd_thread_count(s->options->threads, w.count));
    pthread_mutex_destroy(&w.lock);
    for (size_t i = 0; i < w.count; i++) find_again(s, w.modules[i]);
    free(w.modules);
    return atomic_load(&w.failed) ? HD_NOMEM(s->err) : HD_OK;
}

bool hd_symbolize_has_files(void)
{
    return true;
}
