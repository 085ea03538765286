/* dump.c - a trace as text */
#include "dump.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/write.h"

typedef struct dump {
    const hd_trace *trace;
    hd_json_out out;
    unsigned flags;
} dump;

static void put(dump *d, const char *format, ...) HD_PRINTF(2, 3);

static void put(dump *d, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert(size >= 0 && (size_t)size < sizeof text);
    hd_json_put(&d->out, text, (size_t)size);
}

static void put_string(dump *d, uint32_t id)
{
    hd_string s = hd_trace_string(d->trace, id);
    if (id == HD_STRING_NONE)
        hd_json_put_text(&d->out, "-");
    else
        hd_json_put_string(&d->out, s.data, s.size);
}

static void put_text(dump *d, uint32_t id)
{
    hd_string s = hd_trace_string(d->trace, id);
    hd_json_put(&d->out, s.data, s.size);
}

/* JSON text; without its layout where only the content counts. */
static void put_json(dump *d, uint32_t id)
{
    hd_string s = hd_trace_string(d->trace, id);
    bool in_string = false;
    for (size_t i = 0; i < s.size && d->flags & DUMP_CONTENT; i++) {
        size_t step = in_string && s.data[i] == '\\' ? 2 : 1;
        if (s.data[i] == '"') in_string = !in_string;
        if (in_string || !strchr(" \t\r\n", s.data[i])) hd_json_put(&d->out, s.data + i, step);
        i += step - 1;
    }
    if (!(d->flags & DUMP_CONTENT)) put_text(d, id);
}

/* ---- facts, ledger, metadata ---- */

static void put_number(dump *d, const char *name, int64_t value, int64_t none)
{
    if (value != none) put(d, "  %s %" PRId64 "\n", name, value);
}

static void put_facts(dump *d)
{
    const hd_trace_facts *f = hd_trace_facts_of(d->trace);
    hd_json_put_text(&d->out, "facts\n");
    put(d, "  format %s\n", f->format);
    put_number(d, "start_ns", f->start_ns, HD_NO_TIME);
    put_number(d, "end_ns", f->end_ns, HD_NO_TIME);
    put_number(d, "base_ns", f->base_ns, HD_NO_TIME);
    put_number(d, "rank", f->rank, HD_NO_NUMBER);
    put_number(d, "world_size", f->world_size, HD_NO_NUMBER);
    if (d->flags & DUMP_CONTENT) return;
    put(d, "  input_bytes %" PRIu64 "\n", f->input_bytes);
    if (strcmp(f->compression, "none") != 0) put(d, "  compression %s\n", f->compression);
    if (f->top_level_array) hd_json_put_text(&d->out, "  top_level_array\n");
    if (f->needs_rewrite) hd_json_put_text(&d->out, "  needs_rewrite\n");
    if (f->has_sources) hd_json_put_text(&d->out, "  has_sources\n");
    if (!f->has_args) hd_json_put_text(&d->out, "  no_args\n");
}

static int by_code(const void *a, const void *b)
{
    const hd_ledger_row *const *x = a, *const *y = b;
    int order = strcmp((*x)->stage, (*y)->stage);
    return order ? order : strcmp((*x)->code, (*y)->code);
}

static void put_ledger(dump *d)
{
    static const char *const levels[] = {"note", "repair", "loss"};
    size_t count = hd_trace_ledger_count(d->trace);
    if (d->flags & DUMP_CONTENT || count == 0) return;
    const hd_ledger_row **rows = calloc(count, sizeof *rows);
    assert(rows);
    for (size_t i = 0; i < count; i++) rows[i] = hd_trace_ledger_at(d->trace, i);
    qsort(rows, count, sizeof *rows, by_code);
    hd_json_put_text(&d->out, "ledger\n");
    for (size_t i = 0; i < count; i++) {
        put(d, "  %s %s %s %" PRIu64, levels[rows[i]->level], rows[i]->stage, rows[i]->code, rows[i]->count);
        if (rows[i]->first_offset != HD_OFFSET_NONE) put(d, " at %" PRIu64, rows[i]->first_offset);
        hd_json_put_text(&d->out, "\n");
    }
    free(rows);
}

static void put_metadata(dump *d)
{
    size_t count = hd_trace_metadata_count(d->trace);
    if (count) hd_json_put_text(&d->out, "metadata\n");
    for (size_t i = 0; i < count; i++) {
        const hd_metadata *m = hd_trace_metadata_at(d->trace, i);
        hd_json_put_text(&d->out, m->after_events ? "  after " : "  before ");
        put_string(d, m->key);
        hd_json_put_text(&d->out, ": ");
        put_json(d, m->value);
        hd_json_put_text(&d->out, "\n");
    }
}

static void put_patches(dump *d)
{
    size_t count = hd_trace_patch_count(d->trace);
    if (d->flags & DUMP_CONTENT || count == 0) return;
    hd_json_put_text(&d->out, "patches\n");
    for (size_t i = 0; i < count; i++) {
        const hd_source_patch *p = hd_trace_patch_at(d->trace, i);
        put(d, "  %" PRIu64 "+%" PRIu64 " ", p->offset, p->size);
        put_text(d, p->text);
        hd_json_put_text(&d->out, "\n");
    }
}

/* ---- sorted lines: tracks and shapes ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines made by `line` for 0 … count - 1, sorted; a line may be left out by writing nothing. */
static void put_sorted(dump *d, const char *title, uint32_t count, void (*line)(dump *, uint32_t, const void *),
                       const void *user)
{
    char **lines = calloc((size_t)count + 1, sizeof *lines);
    uint32_t used = 0;
    assert(lines);
    for (uint32_t i = 0; i < count; i++) {
        dump one = {.trace = d->trace, .flags = d->flags};
        line(&one, i, user);
        if (one.out.size) {
            hd_json_put(&one.out, "", 1);
            lines[used++] = one.out.data;
        } else {
            free(one.out.data);
        }
    }
    qsort(lines, used, sizeof *lines, by_text);
    if (used) put(d, "%s\n", title);
    for (uint32_t i = 0; i < used; i++) {
        hd_json_put_text(&d->out, lines[i]);
        free(lines[i]);
    }
    free(lines);
}

static void put_ident(dump *d, const char *name, hd_ident ident)
{
    if (ident.type == HD_IDENT_NONE) return;
    put(d, " %s=", name);
    if (ident.type == HD_IDENT_STRING)
        put_string(d, ident.text);
    else
        put_text(d, ident.text);
}

static void put_track(dump *d, uint32_t index, const void *twins)
{
    static const char *const kinds[] = {"process", "thread", "stream"};
    const hd_track *t = hd_trace_track_at(d->trace, index);
    put(d, "  %s", kinds[t->kind]);
    put_ident(d, "pid", t->pid);
    put_ident(d, "tid", t->tid);
    if (t->name) hd_json_put_text(&d->out, " name=");
    if (t->name) put_string(d, t->name);
    if (t->labels) hd_json_put_text(&d->out, " labels=");
    if (t->labels) put_string(d, t->labels);
    if (t->sort_index != HD_NO_NUMBER) put(d, " sort=%" PRId64, t->sort_index);
    if (t->device != HD_NO_NUMBER) put(d, " device=%" PRId64, t->device);
    if (t->stream != HD_NO_NUMBER) put(d, " stream=%" PRId64, t->stream);
    if (t->rank != HD_NO_NUMBER) put(d, " rank=%" PRId64, t->rank);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        if (t->rows[kind]) put(d, " %s:%" PRIu64, hd_kind_name((hd_kind)kind), t->rows[kind]);
    }
    if (t->start_ns != HD_NO_TIME) put(d, " [%" PRId64 ", %" PRId64 "]", t->start_ns, t->end_ns);
    if (((const bool *)twins)[index]) hd_json_put_text(&d->out, " twin");
    hd_json_put_text(&d->out, "\n");
}

static void put_tracks(dump *d)
{
    uint32_t count = hd_trace_track_count(d->trace);
    bool *twins = calloc((size_t)count + 1, sizeof *twins);
    assert(twins);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t same_as = hd_trace_track_at(d->trace, i)->same_as;
        if (same_as != i) twins[i] = twins[same_as] = true;
    }
    put_sorted(d, "tracks", count, put_track, twins);
    free(twins);
}

static const char *const type_names[] = {"null", "bool", "int", "decimal", "number", "string", "json"};

/* The key that stands at place n: as in the input, or, where only the content counts, first those outside of args. */
static uint32_t nth_key(const dump *d, const hd_shape *shape, uint32_t n)
{
    if (!(d->flags & DUMP_CONTENT)) return n;
    for (int scope = HD_SCOPE_EVENT; scope >= HD_SCOPE_ARGS; scope--) {
        for (uint32_t i = 0; i < shape->key_count; i++) {
            if (shape->keys[i].scope == scope && n-- == 0) return i;
        }
    }
    return 0;
}

static void put_shape(dump *d, uint32_t index, const void *used)
{
    const hd_shape *shape = hd_trace_shape_at(d->trace, index);
    if (!((const bool *)used)[index] || index == 0) return;
    hd_json_put_text(&d->out, " ");
    for (uint32_t n = 0; n < shape->key_count; n++) {
        uint32_t i = nth_key(d, shape, n);
        hd_json_put_text(&d->out, shape->keys[i].scope == HD_SCOPE_EVENT ? " event." : " ");
        put_string(d, shape->keys[i].key);
        put(d, ":%s", type_names[shape->keys[i].type]);
    }
    hd_json_put_text(&d->out, shape->has_args ? " args\n" : "\n");
}

static void put_shapes(dump *d)
{
    uint32_t count = hd_trace_shape_count(d->trace);
    bool *used = calloc((size_t)count + 1, sizeof *used);
    assert(used);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (size_t i = 0; i < hd_trace_block_count(d->trace, (hd_kind)kind); i++) {
            const hd_block *block = hd_trace_block_at(d->trace, (hd_kind)kind, i);
            for (uint32_t row = 0; row < block->row_count; row++)
                used[hd_column_at(&block->columns[HD_COL_SHAPE], row)] = true;
        }
    }
    put_sorted(d, "shapes", count, put_shape, used);
    free(used);
}

/* ---- events ---- */

static void put_time(dump *d, const char *name, int64_t ns, uint32_t ps)
{
    if (ns == HD_NO_TIME) return;
    put(d, " %s=%" PRId64, name, ns);
    if (ps) put(d, "+%" PRIu32 "ps", ps);
}

static void put_id(dump *d, const hd_event *e)
{
    if (e->id_type == HD_ID_NONE) return;
    hd_json_put_text(&d->out, e->id_type & HD_ID_LOCAL    ? " id2.local="
                              : e->id_type & HD_ID_GLOBAL ? " id2.global="
                                                          : " id=");
    switch (e->id_type & HD_ID_VALUE_MASK) {
    case HD_ID_INT: put(d, "%" PRId64, e->id); break;
    case HD_ID_STRING: put_string(d, (uint32_t)e->id); break;
    default: put_text(d, (uint32_t)e->id); break;
    }
}

static void put_value(dump *d, unsigned type, int64_t bits)
{
    switch (type) {
    case HD_ARG_NULL: hd_json_put_text(&d->out, "null"); break;
    case HD_ARG_BOOL: hd_json_put_text(&d->out, bits ? "true" : "false"); break;
    case HD_ARG_INT: put(d, "%" PRId64, bits); break;
    case HD_ARG_DECIMAL: hd_json_put_decimal(&d->out, hd_decimal_mantissa(bits), hd_decimal_scale(bits)); break;
    case HD_ARG_STRING: put_string(d, (uint32_t)bits); break;
    case HD_ARG_JSON: put_json(d, (uint32_t)bits); break;
    default: put_text(d, (uint32_t)bits); break;
    }
}

static void put_args(dump *d, const hd_event *e)
{
    const hd_shape *shape = hd_trace_shape_at(d->trace, e->shape);
    for (uint32_t n = 0; n < shape->key_count; n++) {
        uint32_t i = nth_key(d, shape, n);
        hd_json_put_text(&d->out, shape->keys[i].scope == HD_SCOPE_EVENT ? "      event." : "      ");
        put_string(d, shape->keys[i].key);
        put(d, " (%s) ", type_names[shape->keys[i].type]);
        put_value(d, shape->keys[i].type, hd_column_at(&e->args->columns[i], e->args_row));
        hd_json_put_text(&d->out, "\n");
    }
}

static void put_event(dump *d, uint64_t number, const hd_event *e)
{
    put(d, "  %" PRIu64 " %s", number, hd_kind_name(e->kind));
    if (e->phase) put(d, " %c", e->phase);
    if (e->track != HD_NONE) {
        const hd_track *track = hd_trace_track_at(d->trace, e->track);
        put_ident(d, "pid", track->pid);
        put_ident(d, "tid", track->tid);
    }
    put_time(d, "start", e->start_ns, e->start_ps);
    put_time(d, "dur", e->duration_ns, 0);
    if (e->end_ps) put(d, " end_ps=%" PRIu32, e->end_ps);
    if (e->name) hd_json_put_text(&d->out, " name=");
    if (e->name) put_string(d, e->name);
    if (e->category) hd_json_put_text(&d->out, " cat=");
    if (e->category) put_string(d, e->category);
    put_id(d, e);
    if (e->flags & HD_FLAG_BIND_ENCLOSING) hd_json_put_text(&d->out, " bp=e");
    if (e->partner >= 0) put(d, " partner=%" PRId64, e->partner);
    if (!(d->flags & DUMP_CONTENT) && hd_trace_facts_of(d->trace)->has_sources)
        put(d, " source=%" PRIu64 "+%" PRIu32, e->source_offset, e->source_size);
    if (hd_trace_shape_at(d->trace, e->shape)->has_args) hd_json_put_text(&d->out, " args");
    hd_json_put_text(&d->out, "\n");
    put_args(d, e);
}

static void put_events(dump *d)
{
    uint64_t next[HD_KIND_COUNT] = {0}, number = 0;
    hd_json_put_text(&d->out, "events\n");
    for (size_t run = 0; run < hd_trace_order_count(d->trace); run++) {
        size_t count;
        const uint8_t *order = hd_trace_order_at(&count, d->trace, run);
        for (size_t i = 0; i < count; i++) {
            hd_event e;
            uint32_t row;
            const hd_block *block = hd_trace_block_of(&row, d->trace, (hd_kind)order[i], next[order[i]]);
            hd_block_event(&e, block, row);
            assert(e.row == next[order[i]]);
            next[order[i]]++;
            put_event(d, number++, &e);
        }
    }
    assert(number == hd_trace_event_count(d->trace));
}

char *dump_trace(const hd_trace *trace, unsigned flags)
{
    dump d = {.trace = trace, .flags = flags};
    put_facts(&d);
    put_ledger(&d);
    put_metadata(&d);
    put_patches(&d);
    put_tracks(&d);
    put_shapes(&d);
    put_events(&d);
    hd_json_put(&d.out, "", 1);
    assert(!d.out.failed);
    return d.out.data;
}

void dump_require_same(const char *before, const char *after)
{
    size_t at = 0, line = 0;
    if (strcmp(before, after) == 0) return;
    for (; before[at] == after[at]; at++) line = before[at] == '\n' ? at + 1 : line;
    fprintf(stderr, "dumps differ\n before: %.*s\n after:  %.*s\n", (int)strcspn(before + line, "\n"), before + line,
            (int)strcspn(after + line, "\n"), after + line);
    abort();
}
