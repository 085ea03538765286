/* annotate_samples.c - adds the stack samples of the CPU side, on the clock and threads of the GPU side
 *
 * A sample that was matched to a launch is put on the launch's thread, since the two sides may have different thread
 * ids, and gets the launch's correlation id, so that readers of the result need not guess. Other samples keep theirs.
 * If no clock offset was found and no sample matched, times are unchanged, and the ledger reports it:
 * attribution.clock-unknown. Other events of the CPU trace are not copied.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "pass/attribution/annotate.h"
#include "trace/lazy.h"

typedef struct matched {
    uint64_t sample;
    int64_t id;        /* of the launch, 0: none */
    uint32_t track;    /* of the GPU trace */
    int64_t launch_ns; /* when its launch started */
} matched;

typedef struct sample_copy {
    annotate *t;
    hd_copy *copy;
    hd_trace_stacks *known;
    attribution_map map;
    matched *list; /* by sample */
    size_t count;
    uint32_t *launch_tracks; /* by track of the GPU trace, own_tracks by track of the CPU trace: the new value of the
                                column */
    uint32_t *own_tracks;
    uint32_t sf;                 /* of the CPU trace */
    int64_t offset_ns, since_ns; /* GPU side minus samples, at since_ns */
    double drift;                /* how fast it grows */
    hd_arg_key correlation;      /* the argument added to matched samples */
    bool names_are_events;
} sample_copy;

static int by_sample(const void *a, const void *b)
{
    const matched *x = a, *y = b;
    return (x->sample > y->sample) - (x->sample < y->sample);
}

static bool list_matches(sample_copy *s)
{
    const hd_attribution *a = s->t->a;
    s->list = hd_large_new(a->launches->launch_count + 1, sizeof *s->list, s->t->large);
    if (!s->list) return false;
    for (size_t i = 0; i < a->launches->launch_count; i++) {
        const hd_launch *launch = &a->launches->launches[i];
        if (a->launch_sample[i] != UINT64_MAX)
            s->list[s->count++] = (matched){a->launch_sample[i], launch->id, launch->track, launch->start_ns};
    }
    return hd_large_sort(s->list, s->count, sizeof *s->list, by_sample, s->t->large);
}

/* ---- tracks ---- */

static hd_ident ident_of(sample_copy *s, hd_ident ident)
{
    if (ident.type != HD_IDENT_NONE) ident.text = hd_copy_string(s->copy, ident.text);
    return ident;
}

/* Names a track that is new to the GPU side, by an event too if that trace names tracks by events. */
static hd_status name_track(sample_copy *s, uint32_t track, const hd_track *from, hd_error *err)
{
    hd_builder *builder = s->t->builder;
    if (!from->name) return HD_OK;
    uint32_t name = hd_copy_string(s->copy, from->name);
    hd_builder_name_track(builder, track, name);
    if (!s->names_are_events) return HD_OK;
    bool process = from->kind == HD_TRACK_PROCESS;
    const hd_meta_event event = {track, process ? "process_name" : "thread_name", "name", HD_ARG_STRING, name};
    return hd_copy_add_meta(builder, s->t->names, &event, err);
}

/* The CPU trace's own track. */
static hd_status own_track(uint32_t *out, sample_copy *s, uint32_t track, hd_error *err)
{
    if (track >= hd_trace_track_count(s->t->cpu)) {
        *out = HD_NONE;
        return HD_OK;
    }
    uint32_t *known = &s->own_tracks[track];
    if (*known == HD_NONE) {
        const hd_track *from = hd_trace_track_at(s->t->cpu, track);
        uint32_t before = hd_trace_track_count(hd_builder_trace(s->t->builder));
        const hd_ident pid_ident = ident_of(s, from->pid);
        uint32_t made =
            hd_builder_track(s->t->builder, pid_ident, ident_of(s, from->tid), from->kind == HD_TRACK_PROCESS);
        if (made == HD_NONE) return HD_NOMEM(err);
        if (made >= before) HD_TRY(name_track(s, made, from, err));
        *known = hd_copy_add_track(s->copy, made);
        if (*known == HD_NONE) return HD_NOMEM(err);
    }
    *out = *known;
    return HD_OK;
}

static hd_status track_of_launch(uint32_t *out, sample_copy *s, uint32_t track, hd_error *err)
{
    uint32_t *known = &s->launch_tracks[track];
    if (*known == HD_NONE) *known = hd_copy_add_track(s->copy, hd_copy_track(s->t->copy, track));
    *out = *known;
    return *known == HD_NONE ? HD_NOMEM(err) : HD_OK;
}

/* ---- times ---- */

static int64_t saturating_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return b < 0 ? INT64_MIN + 1 : INT64_MAX;
    return sum == HD_NO_TIME ? sum + 1 : sum;
}

static int64_t drifted(const sample_copy *s, int64_t time_ns)
{
    double more = s->drift * ((double)time_ns - (double)s->since_ns);
    return s->drift == 0 || !(more > -9e18 && more < 9e18) ? 0 : (int64_t)more;
}

/* The clock offset from samples and launches that were not matched by time, or whose clocks drift: the median of their
 * distances. */
static hd_status find_offset(sample_copy *s, hd_error *err)
{
    const hd_clock_fit *fit = &s->t->a->clock;
    s->offset_ns = fit->known ? fit->offset_ns : 0;
    if (!fit->known && s->count == 0) s->t->no_clock = hd_trace_row_count(s->t->cpu, HD_KIND_SAMPLE);
    if ((fit->known && fit->drift_ppm == 0) || s->count == 0) return HD_OK;
    int64_t *list = hd_large_new(2 * s->count, sizeof *list, s->t->large), *times = list + s->count;
    size_t found = 0;
    if (!list) return HD_NOMEM(err);
    for (size_t i = 0; i < s->count; i++) {
        uint32_t at;
        const hd_block *block = hd_trace_block_of(&at, s->t->cpu, HD_KIND_SAMPLE, s->list[i].sample);
        times[found] = hd_column_at(&block->columns[HD_COL_START], at);
        list[found] = s->list[i].launch_ns;
        found += times[found] != HD_NO_TIME && list[found] != HD_NO_TIME;
    }
    s->since_ns = found ? times[found / 2] : 0;
    s->drift = fit->known ? fit->drift_ppm / 1e6 : 0;
    for (size_t i = 0; i < found; i++) {
        int64_t there = saturating_add(times[i], drifted(s, times[i]));
        if (__builtin_sub_overflow(list[i], there, &list[i])) list[i] = list[i] < there ? INT64_MIN : INT64_MAX;
    }
    bool sorted = hd_large_sort(list, found, sizeof *list, hd_compare_int64_t, s->t->large);
    if (sorted && found) s->offset_ns = list[found / 2];
    hd_large_free(list);
    return sorted ? HD_OK : HD_NOMEM(err);
}

/* ---- rows ---- */

static void move_starts(const sample_copy *s, hd_copy_rows *rows)
{
    if (s->offset_ns == 0 && s->drift == 0) return;
    int64_t *starts = hd_copy_change(rows, HD_COL_START);
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        if (starts[i] == HD_NO_TIME) continue;
        starts[i] = saturating_add(saturating_add(starts[i], drifted(s, starts[i])), s->offset_ns);
    }
}

static hd_status name_launch(sample_copy *s, uint32_t row, int64_t id, hd_error *err)
{
    int64_t *values[HD_COPY_ADDED];
    if (id == 0) return HD_OK;
    uint8_t *added = hd_copy_add_arguments(s->copy, values);
    if (!added) return HD_NOMEM(err);
    values[0][row] = id;
    added[row] = 1;
    return HD_OK;
}

static hd_status sample_rows(void *user, hd_copy *copy, hd_copy_rows *rows, hd_error *err)
{
    sample_copy *s = user;
    (void)copy;
    if (rows->block->kind != HD_KIND_SAMPLE) {
        memset(rows->keep, 0, rows->block->row_count);
        return HD_OK;
    }
    move_starts(s, rows);
    int64_t *tracks = hd_copy_change(rows, HD_COL_TRACK);
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        const matched key = {.sample = rows->block->first_row + i};
        const matched *found = s->count ? bsearch(&key, s->list, s->count, sizeof *s->list, by_sample) : NULL;
        uint32_t track = HD_NONE;
        if (found && found->track != HD_NONE)
            HD_TRY(track_of_launch(&track, s, found->track, err));
        else
            HD_TRY(own_track(&track, s, (uint32_t)tracks[i], err));
        tracks[i] = track;
        if (found) HD_TRY(name_launch(s, i, found->id, err));
    }
    rows->changes_values = s->sf != HD_NONE;
    return HD_OK;
}

/* ---- stacks ---- */

/* A number as a value of the type that the key has. */
static int64_t value_of(sample_copy *s, unsigned type, uint64_t id, int64_t old)
{
    char digits[24];
    switch (type) {
    case HD_ARG_INT: return (int64_t)id;
    case HD_ARG_DECIMAL: return hd_decimal_pack((int64_t)id, 0);
    case HD_ARG_STRING:
    case HD_ARG_NUMBER:
        snprintf(digits, sizeof digits, "%" PRIu64, id);
        return hd_copy_add_string(s->copy, hd_builder_intern_text(s->t->builder, digits));
    default: return old;
    }
}

static hd_status sample_values(void *user, hd_copy *copy, hd_copy_rows *rows, const hd_arg_key *key, int64_t *values,
                               const uint32_t *row_of, uint32_t count, hd_error *err)
{
    sample_copy *s = user;
    (void)copy;
    if (key->key != s->sf || key->scope != HD_SCOPE_EVENT) return HD_OK;
    for (uint32_t i = 0; i < count; i++) {
        hd_event event;
        hd_block_event(&event, rows->block, row_of[i]);
        uint32_t node = s->known ? attribution_map_node(&s->map, hd_trace_stacks_of(s->known, &event)) : HD_STACK_NONE;
        if (node == HD_NONE) return HD_NOMEM(err);
        values[i] = value_of(s, key->type, node == HD_STACK_NONE ? s->t->no_frame : s->t->base + node, values[i]);
    }
    return HD_OK;
}

/* ---- the whole ---- */

static uint32_t *unknown_tracks(const hd_trace *trace)
{
    size_t count = (size_t)hd_trace_track_count(trace) + 1;
    uint32_t *list = malloc(count * sizeof *list);
    if (list) memset(list, 0xff, count * sizeof *list);
    return list;
}

static hd_status copy_samples(sample_copy *s, hd_error *err)
{
    const hd_trace *cpu = s->t->cpu;
    s->correlation = (hd_arg_key){
        .key = hd_builder_intern_text(s->t->builder, "correlation"), .type = HD_ARG_INT, .scope = HD_SCOPE_ARGS};
    const hd_copy_hooks hooks = {
        .user = s, .rows = sample_rows, .values = sample_values, .added_keys = &s->correlation};
    HD_TRY(hd_copy_new(&s->copy, cpu, s->t->builder, err));
    s->launch_tracks = unknown_tracks(s->t->gpu);
    s->own_tracks = unknown_tracks(cpu);
    s->sf = hd_trace_find_string(cpu, "sf", 2);
    s->names_are_events = hd_names_are_events(s->t->gpu);
    if (!s->launch_tracks || !s->own_tracks || !list_matches(s)) return HD_NOMEM(err);
    HD_TRY(find_offset(s, err));
    hd_status status = hd_trace_stacks_new(&s->known, cpu, NULL);
    if (status != HD_OK && status != HD_ERR_DAMAGED) return HD_NOMEM(err); /* frames that cannot be read are none */
    if (s->known && !attribution_map_init(&s->map, s->t->stacks, hd_trace_stacks_tree(s->known), s->t->large))
        return HD_NOMEM(err);
    return hd_copy_events(s->copy, &hooks, err);
}

hd_status annotate_samples(annotate *t, hd_error *err)
{
    sample_copy s = {.t = t};
    if (!t->cpu || hd_trace_row_count(t->cpu, HD_KIND_SAMPLE) == 0) return HD_OK;
    hd_status status = copy_samples(&s, err);
    attribution_map_deinit(&s.map);
    hd_trace_stacks_free(s.known);
    hd_copy_free(s.copy);
    hd_large_free(s.list);
    free(s.launch_tracks);
    free(s.own_tracks);
    return status;
}
