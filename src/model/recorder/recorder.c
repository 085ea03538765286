/* recorder.c - entries of PyTorch's flight recorder, from slices and their arguments */
#include "model/recorder/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/map.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "model/args/args.h"
#include "model/stacks/event_stacks.h"
#include "trace/event.h"
#include "trace/lazy.h"
#include "trace/ranks.h"

enum {
    GROUP,
    DESCRIPTION,
    RANKS,
    STATE,
    IN_SIZES,
    OUT_SIZES,
    IN_TYPES,
    OUT_TYPES,
    TEXTS,
    RECORD = TEXTS,
    SEQUENCE,
    CREATED,
    STARTED,
    COMPLETED,
    GROUP_NUMBER,
    IS_P2P,
    ARGUMENTS
};
static const char *const names[ARGUMENTS] = {"Process Group Name",
                                             "Process Group Description",
                                             "Process Group Ranks",
                                             "state",
                                             "input_sizes",
                                             "output_sizes",
                                             "input_dtypes",
                                             "output_dtypes",
                                             "record_id",
                                             "Seq",
                                             "time_created_ns",
                                             "time_discovered_started_ns",
                                             "time_discovered_completed_ns",
                                             "pg_id",
                                             "is_p2p"};

typedef struct recorder {
    const hd_trace *trace;
    gpu_texts *texts;
    gpu_arg args[ARGUMENTS];
    hd_event_stacks *stacks;
    uint32_t *lines; /* by node */
    char *status;    /* pg_status; NULL: none */
    hd_map enqueued; /* by number of a group; HD_NONE: unknown */
    uint32_t enqueued_count;
    hd_recorded *list;
    size_t count, capacity;
} recorder;

/* ---- frames ---- */

/* The user's line of a stack; without a frame of Python, its last. */
static bool find_frame(uint32_t *out, recorder *r, uint32_t node)
{
    const hd_stacks *tree = hd_event_stacks_tree(r->stacks);
    *out = HD_NONE;
    if (node == HD_STACK_NONE) return true;
    hd_string name = hd_stacks_text(tree, hd_stacks_at(tree, r->lines[node] ? r->lines[node] : node).name);
    *out = gpu_text(r->texts, name.data, name.size);
    return *out != HD_NONE;
}

/* ---- entries ---- */

/* A whole number, which JSON's dumps have as text; HD_NONE: there is none. */
static uint32_t look_up_enqueued(const recorder *r, int64_t group)
{
    char key[24];
    const char *found, *value;
    size_t size;
    int64_t out;
    snprintf(key, sizeof key, "%lld", (long long)group);
    if (!hd_json_find(&found, &size, r->status, key) || *found != '{') return HD_NONE;
    if (!hd_json_find(&value, &size, found, "last_enqueued_collective")) return HD_NONE;
    bool quoted = *value == '"' && size >= 2;
    bool fine = hd_fixed_parse_whole(&out, value + quoted, size - 2 * quoted);
    return fine && out >= 0 && out < HD_NONE ? (uint32_t)out : HD_NONE;
}

/* false: no memory. Each group of the first GROUPS is looked up once, so that time does not grow with their product. */
static bool find_enqueued(int64_t *out, recorder *r, int64_t group)
{
    enum { GROUPS = 4096 };
    uint32_t value = HD_NONE;
    *out = HD_NO_NUMBER;
    if (!r->status || group == HD_NO_NUMBER) return true;
    if (!hd_map_get(&value, &r->enqueued, (uint64_t)group, 0)) {
        if (r->enqueued_count == GROUPS) return true;
        r->enqueued_count++;
        value = look_up_enqueued(r, group);
        if (!hd_map_set(&r->enqueued, (uint64_t)group, 0, value)) return false;
    }
    if (value != HD_NONE) *out = value;
    return true;
}

static bool add_entry(recorder *r, const hd_block *block, uint32_t row, const hd_event *event)
{
    int64_t numbers[ARGUMENTS];
    uint32_t texts[TEXTS];
    hd_value value;
    hd_string name = hd_trace_string(r->trace, event->name);
    for (int i = 0; i < TEXTS; i++)
        if (!gpu_arg_written(&texts[i], r->texts, &r->args[i], block, row)) return false;
    for (int i = TEXTS; i < ARGUMENTS; i++)
        if (!gpu_arg_whole(&numbers[i], &r->args[i], block, row)) numbers[i] = HD_NO_NUMBER;
    for (int i = CREATED; i <= COMPLETED; i++)
        if (numbers[i] <= 0) numbers[i] = HD_NO_TIME;
    hd_recorded e = {.name = gpu_text(r->texts, name.data, name.size),
                     .group = texts[GROUP],
                     .description = texts[DESCRIPTION],
                     .ranks = texts[RANKS],
                     .state = texts[STATE],
                     .in_sizes = texts[IN_SIZES],
                     .out_sizes = texts[OUT_SIZES],
                     .in_types = texts[IN_TYPES],
                     .out_types = texts[OUT_TYPES],
                     .is_p2p =
                         gpu_arg_get(&value, &r->args[IS_P2P], block, row) && value.type == HD_ARG_BOOL && value.bits,
                     .rank = hd_trace_rank_of(r->trace, event->track),
                     .record = numbers[RECORD],
                     .sequence = numbers[SEQUENCE],
                     .created_ns = numbers[CREATED],
                     .started_ns = numbers[STARTED],
                     .completed_ns = numbers[COMPLETED]};
    if (!find_enqueued(&e.enqueued, r, numbers[GROUP_NUMBER])) return false;
    if (e.name == HD_NONE || !find_frame(&e.frame, r, hd_event_stacks_of(NULL, r->stacks, event))) return false;
    if (!hd_grow((void **)&r->list, &r->capacity, r->count, sizeof *r->list)) return false;
    r->list[r->count++] = e;
    return true;
}

static bool add_entries(recorder *r, uint32_t category)
{
    bool fine = true;
    hd_block_room room = {0};
    for (size_t i = 0; fine && i < hd_trace_block_count(r->trace, HD_KIND_SLICE); i++) {
        const hd_block *block = hd_walk_block(&room, r->trace, HD_KIND_SLICE, i);
        for (uint32_t row = 0; fine && row < block->row_count; row++) {
            hd_event event;
            hd_block_event(&event, block, row);
            if (event.category == category) fine = add_entry(r, block, row, &event);
        }
    }
    hd_walk_end(&room, r->trace);
    return fine;
}

hd_status hd_recorded_new(hd_recorded **out, size_t *out_count, gpu_texts *texts, const hd_trace *trace, hd_error *err)
{
    enum { STATUS_LIMIT = 1 << 20 };
    recorder r = {.trace = trace, .texts = texts};
    uint32_t category = hd_trace_find_string(trace, HD_FLIGHT_CATEGORY, strlen(HD_FLIGHT_CATEGORY));
    hd_string status_text = hd_trace_metadata_find(trace, "pg_status");
    *out = NULL;
    *out_count = 0;
    if (category == HD_NONE) return HD_OK;
    hd_status status = hd_event_stacks_new(&r.stacks, trace, err);
    bool fine = true;
    for (int i = 0; i < ARGUMENTS; i++) fine &= gpu_arg_init(&r.args[i], trace, names[i]);
    if (status == HD_OK) r.lines = hd_stack_lines(hd_event_stacks_tree(r.stacks), "");
    if (status_text.size && status_text.size <= STATUS_LIMIT && *status_text.data == '{') {
        r.status = hd_json_copy(status_text.data, status_text.size);
        fine &= r.status != NULL;
    }
    if (status == HD_OK && !(fine && r.lines && add_entries(&r, category))) status = HD_NOMEM(err);
    for (int i = 0; i < ARGUMENTS; i++) gpu_arg_deinit(&r.args[i]);
    hd_event_stacks_free(r.stacks);
    free(r.lines);
    free(r.status);
    hd_map_deinit(&r.enqueued);
    if (status != HD_OK) {
        free(r.list);
        return status;
    }
    *out = r.list;
    *out_count = r.count;
    return HD_OK;
}
