/* symbolize.c - names for the addresses in the stacks of a trace: requests, answers and reports */
#include "heddle/symbolize.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/sorted.h"
#include "symbolize/impl.h"

#ifdef HD_HAS_LIBDW
hd_status sym_debuginfod_check(hd_error *err);
#endif

const char *hd_symbolize_result_name(hd_symbolize_result result)
{
    static const char *const names[] = {
        [HD_SYMBOLIZE_NAMED] = "named",           [HD_SYMBOLIZE_NOT_FOUND] = "not-found",
        [HD_SYMBOLIZE_OTHER] = "other-build",     [HD_SYMBOLIZE_UNREADABLE] = "unreadable",
        [HD_SYMBOLIZE_NO_SYMBOLS] = "no-symbols", [HD_SYMBOLIZE_AMBIGUOUS] = "ambiguous",
    };
    return (size_t)result < sizeof names / sizeof *names ? names[result] : "";
}

/* ---- the report ---- */

typedef struct own_report {
    hd_symbolize_report report; /* as callers see it; first */
    hd_arena arena;
} own_report;

void hd_symbolize_report_free(hd_symbolize_report *report)
{
    if (!report) return;
    hd_arena_deinit(&((own_report *)report)->arena);
    free(report);
}

static const char *copy_text(hd_arena *arena, const char *text)
{
    size_t size = text ? strlen(text) : 0;
    char *copy = hd_arena_alloc(arena, size + 1);
    if (!copy) return NULL;
    if (size) memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

static bool fill_module(hd_symbolize_module *out, hd_arena *arena, const sym_module *m)
{
    *out = (hd_symbolize_module){
        .name = copy_text(arena, m->name),
        .path = copy_text(arena, m->path),
        .build_id = copy_text(arena, m->build_id_text),
        .symbols = copy_text(arena, m->symbols_path),
        .lines = copy_text(arena, m->lines_path),
        .why = copy_text(arena, m->why),
        .addresses = m->request_count,
        .named = m->named,
        .result = m->result,
        .unchecked = m->unchecked,
    };
    return out->name && out->path && out->build_id && out->symbols && out->lines && out->why;
}

/* The most frames first. */
static int by_addresses(const void *a, const void *b)
{
    const hd_symbolize_module *x = a, *y = b;
    if (x->addresses != y->addresses) return x->addresses > y->addresses ? -1 : 1;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->path, y->path);
}

static hd_status fill_modules(own_report *own, const symbolizer *s)
{
    hd_symbolize_report *out = &own->report;
    hd_arena *arena = &own->arena;
    out->modules = hd_arena_alloc(arena, (s->module_count + 1) * sizeof *out->modules);
    if (!out->modules) return HD_NOMEM(s->err);
    for (size_t i = 0; i < s->module_count; i++) {
        if (!s->modules[i].request_count) continue;
        if (!fill_module(&out->modules[out->module_count++], arena, &s->modules[i])) return HD_NOMEM(s->err);
    }
    hd_sort(out->modules, out->module_count, sizeof *out->modules, by_addresses);
    return HD_OK;
}

static void count(hd_symbolize_report *out, const symbolizer *s)
{
    uint64_t addresses = s->process.request_count;
    out->by_maps = out->named = s->process.named;
    for (size_t i = 0; i < s->module_count; i++) {
        addresses += s->modules[i].request_count;
        out->named += s->modules[i].named;
        out->inlined += s->modules[i].inlined;
    }
    out->frames = addresses + s->others;
    out->others = s->others;
    out->unnamed = addresses - out->named;
    out->no_module = s->no_module;
    out->nodes_in = hd_stacks_count(s->tree) - 1;
}

/* ---- the whole ---- */

static hd_status check_options(const hd_symbolize_options *options, hd_error *err)
{
    if (!options->debuginfod) return HD_OK;
#ifdef HD_HAS_LIBDW
    return sym_debuginfod_check(err);
#else
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                        "debuginfod needs a heddle that was built with libdw (Debian: libdw-dev)");
#endif
}

static hd_status answer(symbolizer *s)
{
    if (!sym_answers_init(&s->process.answers)) return HD_NOMEM(s->err);
    HD_TRY(hd_trace_stacks_new(&s->stacks, s->trace, s->err));
    s->tree = hd_trace_stacks_tree(s->stacks);
    HD_TRY(sym_modules_read(s));
    HD_TRY(sym_maps_read(s));
    HD_TRY(sym_ranges_settle(s));
    HD_TRY(sym_frames_read(s));
    return sym_resolve(s);
}

static void deinit_module(sym_module *module)
{
    sym_answers_deinit(&module->answers);
    free(module->requests);
    free((char *)(uintptr_t)module->symbols_path);
    free((char *)(uintptr_t)module->lines_path);
}

static void deinit(symbolizer *s)
{
    for (size_t i = 0; i < s->module_count; i++) deinit_module(&s->modules[i]);
    deinit_module(&s->process);
    if (s->has_keys) hd_strings_deinit(&s->keys);
    hd_trace_stacks_free(s->stacks);
    hd_arena_deinit(&s->arena);
    free(s->modules);
    free(s->key_modules);
    free(s->mapped);
    free(s->ranges);
    free(s->name_module);
    free(s->name_request);
}

hd_status hd_symbolize(hd_trace **out, hd_symbolize_report **out_report, const hd_trace *trace,
                       const hd_symbolize_options *options, hd_error *err)
{
    *out = NULL;
    if (out_report) *out_report = NULL;
    HD_OWN_OPTIONS(hd_symbolize_options, options, err);
    own_report *own = calloc(1, sizeof *own);
    if (!own) return HD_NOMEM(err);
    hd_error error = {0};
    symbolizer s = {.trace = trace, .options = options, .err = &error};
    hd_status status = check_options(s.options, &error);
    if (status == HD_OK) status = answer(&s);
    if (status == HD_OK) {
        count(&own->report, &s);
        status = fill_modules(own, &s);
    }
    if (status == HD_OK) status = sym_rewrite(out, &own->report, &s);
    deinit(&s);
    if (status != HD_OK && err && err->status == HD_OK) *err = error;
    if (status == HD_OK && out_report)
        *out_report = &own->report;
    else
        hd_symbolize_report_free(&own->report);
    return status;
}
