/* timeline.c - PyTorch's memory timeline as raw JSON -> events of memory
 *
 * Format   the output of export_memory_timeline(".raw.json.gz") of torch.profiler: [[time, action, bytes, category],
 *          …], in ns, negative bytes for a release; time -1 marks earlier allocations
 * Sniffs   a list of lists of four integers
 * Maps     each -> an instant [memory] with its category; earlier allocations are at the first time
 */
#include <stdlib.h>

#include "base/error.h"
#include "format/torchmemory/torchmemory.h"

enum { PARTS = 4, ACTIONS = 5, CATEGORIES = 8 };
static const uint64_t SIZE_LIMIT = (uint64_t)1 << 30;

static const char *const actions[ACTIONS] = {NULL, "preexisting", "create", "increment_version", "destroy"};
static const char *const categories[CATEGORIES] = {"parameter",  "optimizer_state", "input",           "temporary",
                                                   "activation", "gradient",        "autograd_detail", "unknown"};

typedef struct timeline {
    hd_json_walk walk;
    hd_stack_samples samples;
    hd_builder *builder;
    uint32_t track, name, key_bytes, key_action;
    uint32_t actions[ACTIONS], categories[CATEGORIES]; /* string ids */
    int64_t first_ns;
} timeline;

static const hd_stack_code codes[] = {{"torchmemory.event-unreadable", HD_LEDGER_LOSS, NULL}};

/* Four integers; *out_whole false: something else. */
static hd_status read_parts(timeline *t, int64_t parts[PARTS], bool *out_whole, hd_walk_span span)
{
    bool is_null, first = true, is_number = true;
    int n = 0;
    hd_status status;
    const char *at = span.data;
    *out_whole = false;
    if (*at != '[') return HD_OK;
    HD_TRY(hd_walk_enter(&t->walk, &at, '[', &is_null));
    while ((status = hd_walk_item(&t->walk, &at, &first)) == HD_OK && is_number && n < PARTS)
        HD_TRY(hd_walk_int(&parts[n++], &is_number, &t->walk, &at));
    *out_whole = status == HD_END && n == PARTS && is_number;
    return status == HD_END ? HD_OK : status;
}

static hd_status add_event(timeline *t, const int64_t parts[PARTS])
{
    hd_row row = hd_row_of(HD_KIND_INSTANT, 'i');
    int64_t values[2] = {parts[2], parts[1]};
    hd_arg_key keys[2] = {{.key = t->key_bytes, .type = HD_ARG_INT}, {.key = t->key_action, .type = HD_ARG_INT}};
    row.track = t->track;
    row.name = t->name;
    row.start_ns = parts[0] == -1 ? t->first_ns : parts[0];
    if (parts[1] > 0 && parts[1] < ACTIONS) {
        keys[1].type = HD_ARG_STRING;
        values[1] = t->actions[parts[1]];
    }
    if (parts[3] >= 0 && parts[3] < CATEGORIES) row.category = t->categories[parts[3]];
    return hd_stack_samples_add_row(&t->samples, &row, keys, values, 2);
}

/* Once to find the first time, then for the events. */
static hd_status walk_events(timeline *t, bool add)
{
    bool is_null, first = true, whole;
    int64_t parts[PARTS];
    hd_walk_span span;
    hd_status status;
    const char *at = hd_walk_start(&t->walk);
    t->walk.quiet = !add;
    HD_TRY(hd_walk_enter(&t->walk, &at, '[', &is_null));
    while (!is_null && (status = hd_walk_item(&t->walk, &at, &first)) == HD_OK) {
        const hd_line place = {.offset = hd_walk_offset(&t->walk, at)};
        HD_TRY(hd_walk_skip(&span, &t->walk, &at));
        if (*span.data == 'n') continue; /* which is reported */
        HD_TRY(read_parts(t, parts, &whole, span));
        bool known = whole && parts[3] >= 0 && parts[3] < CATEGORIES;
        if (!add && whole && parts[0] != -1 && (t->first_ns == HD_NO_TIME || parts[0] < t->first_ns))
            t->first_ns = parts[0];
        if (add && !known) HD_TRY(hd_stack_samples_count(&t->samples, 0, 1, &place));
        if (add && known) HD_TRY(add_event(t, parts));
    }
    return is_null || status == HD_END ? HD_OK : status;
}

static hd_status read_timeline(timeline *t, hd_error *err)
{
    hd_ident pid = {HD_IDENT_STRING, hd_builder_intern_text(t->builder, "PyTorch memory")};
    hd_ident tid = {HD_IDENT_STRING, hd_builder_intern_text(t->builder, "timeline")};
    t->track = hd_builder_track(t->builder, pid, tid, false);
    if (t->track == HD_NONE) return HD_NOMEM(err);
    t->name = hd_builder_intern_text(t->builder, "[memory]");
    t->key_bytes = hd_builder_intern_text(t->builder, "Bytes");
    t->key_action = hd_builder_intern_text(t->builder, "action");
    for (int i = 1; i < ACTIONS; i++) t->actions[i] = hd_builder_intern_text(t->builder, actions[i]);
    for (int i = 0; i < CATEGORIES; i++) t->categories[i] = hd_builder_intern_text(t->builder, categories[i]);
    HD_TRY(walk_events(t, false));
    HD_TRY(walk_events(t, true));
    hd_trace_facts *facts = hd_builder_facts(t->builder);
    facts->input_bytes = t->walk.size;
    facts->base_ns = 0; /* Unix time */
    return hd_stack_samples_finish(&t->samples);
}

hd_status torchmemory_read_timeline(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    static const hd_walk_about about = {"memory timeline", "torchmemory", "torchmemory.value-damaged",
                                        "torchmemory.truncated"};
    hd_error own = {0};
    err = err ? err : &own;
    timeline t = {.builder = builder, .first_ns = HD_NO_TIME};
    hd_status status = hd_walk_init(&t.walk, &about, builder, input, SIZE_LIMIT, options, err);
    if (status == HD_OK) status = hd_stack_samples_open(&t.samples, builder, input, "torchmemory", codes, options, err);
    if (status == HD_OK) status = read_timeline(&t, err);
    hd_stack_samples_close(&t.samples);
    hd_walk_deinit(&t.walk);
    return status;
}

bool torchmemory_is_timeline(const unsigned char *head, size_t size)
{
    unsigned depth = 0, commas = 0, lists = 0;
    for (size_t i = 0; i < size && lists < 2; i++) {
        char c = (char)head[i];
        if (c == '[') {
            if (++depth > 2) return false;
            commas = 0;
        } else if (c == ']') {
            if (depth != 2 || commas != PARTS - 1) return false;
            depth--;
            lists++;
        } else if (c == ',') {
            commas++;
        } else if (!hd_json_is_digit(c) && c != '-' && !hd_json_is_space(c)) {
            return false;
        } else if (depth == 0 && !hd_json_is_space(c)) {
            return false;
        }
    }
    return lists > 0;
}
