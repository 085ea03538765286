/* slices.c - slices of the host by lane and time, and those that enclose a time */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "base/system.h"
#include "base/thread.h"
#include "model/host/slices.h"
#include "model/roles/trace_roles.h"
#include "trace/event.h"
#include "trace/lazy.h"

enum { CHUNK_ROWS = 2048, THREAD_BLOCKS = 8 };

/* ---- gathering, by several threads ---- */

/* Some columns of rows of a block. */
typedef struct chunk {
    int64_t category[CHUNK_ROWS], name[CHUNK_ROWS], start[CHUNK_ROWS], duration[CHUNK_ROWS], track[CHUNK_ROWS];
} chunk;

/* Each thread lists the slices that it finds in its blocks, then puts them in order of lanes. */
typedef struct gatherer {
    const gpu_scope *s;
    hd_roles *roles;
    unsigned wanted;
    const uint8_t *names;    /* by string: not 0: wanted; NULL: all are */
    const gpu_place *places; /* sorted; NULL: all slices are wanted */
    const uint32_t *first;   /* of the places, by lane, one more at the end */
    uint32_t *next;          /* by lane, the place at which the search went on last */
    bool with_roles;         /* `user` of a slice is its role */
    size_t block_from, block_until;
    gpu_slice *found; /* as in the file */
    size_t found_count, found_capacity;
    bool failed;
    uint32_t *at;    /* by lane: number found; then the index of the next one */
    gpu_slice *list; /* of all threads */
    chunk *chunk;
} gatherer;

/* Whether a place is in [start, end). Most slices begin after the previous one of their lane. */
static bool is_near(gatherer *g, uint32_t lane, int64_t start, int64_t end)
{
    uint32_t low = g->first[lane], last = g->first[lane + 1], next = g->next[lane], high = last;
    if (low == last) return false;
    if (next > low && g->places[next - 1].time >= start)
        high = next - 1;
    else
        low = next > low ? next : low;
    for (int i = 0; i < 4 && low < high && g->places[low].time < start; i++) low++;
    HD_PARTITION_POINT(low, high, at, g->places[at].time < start);
    g->next[lane] = low;
    return low < last && g->places[low].time < end;
}

/* false: it has no time, is still open, or is on no track of a rank. */
static bool slice_of(gpu_slice *out, const gpu_scope *s, const hd_block *block, uint32_t row, int64_t start,
                     int64_t duration, uint32_t track)
{
    const hd_column *c = block->columns;
    bool is_open = duration == HD_NO_TIME && (hd_column_at(&c[HD_COL_PHASE], row) & HD_PHASE_MASK) == 'B';
    if (start == HD_NO_TIME || is_open || track >= hd_trace_track_count(s->trace) || !s->has_rank[track]) return false;
    *out = (gpu_slice){
        .start = gpu_time(start),
        .end = gpu_time(hd_end_or_last(start, duration)),
        .row = (uint32_t)(block->first_row + row),
        .lane = gpu_lane_of(s->trace, track),
        .user = HD_NONE,
    };
    return true;
}

/* Their times and tracks, once one of them is wanted. */
static void decode_chunk(gatherer *g, const hd_block *block, uint32_t first, uint32_t count)
{
    hd_column_decode(g->chunk->start, &block->columns[HD_COL_START], first, count);
    hd_column_decode(g->chunk->duration, &block->columns[HD_COL_DURATION], first, count);
    hd_column_decode(g->chunk->track, &block->columns[HD_COL_TRACK], first, count);
}

static bool find_in_chunk(gatherer *g, const hd_block *block, uint32_t first, uint32_t count)
{
    bool is_decoded = false;
    chunk *c = g->chunk;
    hd_column_decode(c->category, &block->columns[HD_COL_CATEGORY], first, count);
    if (g->names) hd_column_decode(c->name, &block->columns[HD_COL_NAME], first, count);
    for (uint32_t i = 0; i < count; i++) {
        gpu_slice slice;
        if (g->names && !g->names[c->name[i]]) continue;
        hd_role role = hd_roles_in(g->roles, block, first + i, (uint32_t)c->category[i]);
        if (!(g->wanted >> role & 1)) continue;
        if (!is_decoded) decode_chunk(g, block, first, count);
        is_decoded = true;
        if (!slice_of(&slice, g->s, block, first + i, c->start[i], c->duration[i], (uint32_t)c->track[i])) continue;
        if (g->places && !is_near(g, slice.lane, slice.start, slice.end)) continue;
        if (!hd_large_grow((void **)&g->found, &g->found_capacity, g->found_count, sizeof *g->found, g->s->large))
            return false;
        slice.name = (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], first + i);
        if (g->with_roles) slice.user = role;
        g->found[g->found_count++] = slice;
        g->at[slice.lane]++;
    }
    return true;
}

static bool find_in_block(gatherer *g, const hd_block *block)
{
    bool fine = true;
    for (uint32_t first = 0; fine && first < block->row_count; first += CHUNK_ROWS) {
        uint32_t left = block->row_count - first;
        fine = find_in_chunk(g, block, first, left < CHUNK_ROWS ? left : CHUNK_ROWS);
    }
    return fine;
}

static void find_in_blocks(void *state)
{
    gatherer *g = state;
    hd_block_room room = {0};
    for (size_t b = g->block_from; b < g->block_until && !g->failed; b++)
        g->failed = !find_in_block(g, hd_walk_columns(&room, g->s->trace, HD_KIND_SLICE, b));
    hd_walk_end(&room, g->s->trace);
}

static void put_in_lanes(void *state)
{
    enum { LEAVE = 1 << 16 }; /* so that memory does not hold both lists */
    gatherer *g = state;
    for (size_t i = 0; i < g->found_count; i++) {
        g->list[g->at[g->found[i].lane]++] = g->found[i];
        if ((i + 1) % LEAVE == 0) hd_pages_leave(&g->found[i + 1 - LEAVE], &g->found[i + 1]);
    }
}

/* ---- order ---- */

static inline bool stands_before(const gpu_slice *x, const gpu_slice *y)
{
    if (x->start != y->start) return x->start < y->start;
    if (x->end != y->end) return x->end > y->end;
    return x->row < y->row;
}

static bool sort_lane(gpu_slice *list, uint32_t count, uint64_t large)
{
    size_t end;
    HD_RUN_END(end, list, 0, count, x, y, stands_before(x, y));
    if (end >= count) return true;
    gpu_slice *spare = hd_large_new(count, sizeof *spare, large);
    if (spare) HD_SORT_RUNS(list, spare, count, x, y, stands_before(x, y));
    hd_large_free(spare);
    return spare != NULL;
}

/* Allocates the results of the threads, lane by lane, and in each lane thread by thread. */
static bool make_room(gpu_slices *out, gatherer *gatherers, unsigned threads, const gpu_scope *s)
{
    uint32_t lanes = hd_trace_track_count(s->trace);
    out->first = calloc((size_t)lanes + 1, sizeof *out->first);
    if (!out->first) return false;
    for (uint32_t l = 0; l < lanes; l++) {
        out->first[l] = (uint32_t)out->count;
        for (unsigned i = 0; i < threads; i++) {
            uint32_t count = gatherers[i].at[l];
            gatherers[i].at[l] = (uint32_t)out->count;
            out->count += count;
        }
    }
    out->first[lanes] = (uint32_t)out->count;
    out->list = hd_large_new(out->count + 1, sizeof *out->list, s->large);
    for (unsigned i = 0; i < threads; i++) gatherers[i].list = out->list;
    return out->list != NULL;
}

static bool open_gatherer(gatherer *g, size_t from, size_t until)
{
    size_t lanes = (size_t)hd_trace_track_count(g->s->trace) + 1;
    g->block_from = from;
    g->block_until = until;
    g->chunk = malloc(sizeof *g->chunk);
    g->at = calloc(lanes, sizeof *g->at);
    if (g->places) g->next = calloc(lanes, sizeof *g->next);
    return g->chunk && g->at && (g->next || !g->places);
}

/* like: common settings of the threads. */
static hd_status gather(gpu_slices *out, const gatherer *like, hd_error *err)
{
    hd_roles known;
    const gpu_scope *s = like->s;
    size_t blocks = like->wanted & ~s->launches->absent_roles ? hd_trace_block_count(s->trace, HD_KIND_SLICE) : 0;
    unsigned threads = hd_thread_count(0, blocks / THREAD_BLOCKS);
    *out = (gpu_slices){0};
    if (hd_trace_row_count(s->trace, HD_KIND_SLICE) >= HD_NONE)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 slices");
    gatherer *gatherers = calloc(threads, sizeof *gatherers);
    bool fine = hd_roles_init(&known, s->trace) && gatherers;
    for (unsigned i = 0; fine && i < threads; i++) {
        gatherers[i] = *like;
        gatherers[i].roles = &known;
        fine = open_gatherer(&gatherers[i], blocks * i / threads, blocks * (i + 1) / threads);
    }
    if (fine) hd_threads_run(find_in_blocks, gatherers, sizeof *gatherers, threads);
    for (unsigned i = 0; fine && i < threads; i++) fine = !gatherers[i].failed;
    fine = fine && make_room(out, gatherers, threads, s);
    if (fine) hd_threads_run(put_in_lanes, gatherers, sizeof *gatherers, threads);
    for (uint32_t l = 0; fine && l < hd_trace_track_count(s->trace); l++)
        fine = sort_lane(out->list + out->first[l], out->first[l + 1] - out->first[l], s->large);
    for (unsigned i = 0; gatherers && i < threads; i++) {
        hd_large_free(gatherers[i].found);
        free(gatherers[i].chunk);
        free(gatherers[i].at);
        free(gatherers[i].next);
    }
    free(gatherers);
    hd_roles_deinit(&known);
    return fine ? HD_OK : HD_NOMEM(err);
}

hd_status gpu_slices_init(gpu_slices *out, const gpu_scope *s, unsigned roles, hd_error *err)
{
    return gather(out, &(gatherer){.s = s, .wanted = roles}, err);
}

hd_status gpu_slices_named(gpu_slices *out, const gpu_scope *s, unsigned roles, const uint8_t *names, hd_error *err)
{
    return gather(out, &(gatherer){.s = s, .wanted = roles, .names = names}, err);
}

static hd_status slices_around(gpu_slices *out, const gpu_scope *s, unsigned roles, const gpu_place *places,
                               size_t count, bool with_roles, hd_error *err)
{
    uint32_t lanes = hd_trace_track_count(s->trace);
    uint32_t *first = calloc((size_t)lanes + 2, sizeof *first);
    *out = (gpu_slices){0};
    if (!first) return HD_NOMEM(err);
    for (size_t i = 0; i < count; i++) {
        if (places[i].lane < lanes) first[places[i].lane + 1]++;
    }
    for (uint32_t l = 0; l < lanes; l++) first[l + 1] += first[l];
    const gatherer like = {.s = s, .wanted = roles, .places = places, .first = first, .with_roles = with_roles};
    hd_status status = gather(out, &like, err);
    free(first);
    return status;
}

hd_status gpu_slices_around(gpu_slices *out, const gpu_scope *s, unsigned roles, const gpu_place *places, size_t count,
                            hd_error *err)
{
    return slices_around(out, s, roles, places, count, false, err);
}

const char gpu_module_word[GPU_MODULE_WORD + 1] = "nn.Module: ";

bool gpu_is_module(hd_string name)
{
    return name.size > GPU_MODULE_WORD && memcmp(name.data, gpu_module_word, GPU_MODULE_WORD) == 0;
}

hd_status gpu_modules_init(gpu_slices *out, const gpu_scope *s, hd_error *err)
{
    uint32_t strings = (uint32_t)hd_trace_string_count(s->trace);
    uint8_t *names = calloc((size_t)strings + 1, 1);
    *out = (gpu_slices){0};
    for (uint32_t i = 0; names && i < strings; i++) {
        hd_string name = hd_trace_string(s->trace, i);
        names[i] = name.size >= GPU_MODULE_WORD && memcmp(name.data, gpu_module_word, GPU_MODULE_WORD) == 0;
    }
    hd_status status = names ? gpu_slices_named(out, s, 1u << HD_ROLE_PYTHON, names, err) : HD_NOMEM(err);
    free(names);
    return status;
}

void gpu_slices_deinit(gpu_slices *slices)
{
    hd_large_free(slices->list);
    free(slices->first);
    *slices = (gpu_slices){0};
}

void gpu_slices_keep_outermost(gpu_slices *slices, const gpu_scope *s, gpu_slice_keep *keep, void *user)
{
    uint32_t kept = 0, lanes = hd_trace_track_count(s->trace);
    for (uint32_t l = 0; l < lanes; l++) {
        int64_t reach = INT64_MIN;
        uint32_t from = slices->first[l], until = slices->first[l + 1];
        slices->first[l] = kept;
        for (uint32_t i = from; i < until; i++) {
            gpu_slice slice = slices->list[i];
            if (!keep(user, &slice)) continue;
            if (slice.start >= reach) slices->list[kept++] = slice;
            if (slice.end > reach) reach = slice.end;
        }
    }
    slices->first[lanes] = kept;
    slices->count = kept;
}

/* ---- around ---- */

/* By lane, time and id. false: no memory. */
static bool sort_places(gpu_place *places, size_t count, uint64_t large)
{
    gpu_place *spare = hd_large_new(count + 1, sizeof *spare, large);
    if (!spare) return false;
    HD_SORT_RUNS(places, spare, count, x, y,
                 x->lane != y->lane   ? x->lane < y->lane
                 : x->time != y->time ? x->time < y->time
                                      : x->id < y->id);
    hd_large_free(spare);
    return true;
}

/* The slices open at ascending times of a lane. Ended ones stay below others until these end. */
typedef struct sweeper {
    const gpu_slices *slices;
    uint32_t lane, next, end;
    uint32_t *open;
    size_t count;
} sweeper;

static void move_to(sweeper *w, const gpu_place *place)
{
    const gpu_slice *list = w->slices->list;
    if (place->lane != w->lane) {
        w->lane = place->lane;
        w->count = 0;
        w->next = w->slices->first[place->lane];
        w->end = w->slices->first[place->lane + 1];
    }
    for (; w->next < w->end && list[w->next].start <= place->time; w->next++) {
        while (w->count && list[w->open[w->count - 1]].end <= list[w->next].start) w->count--;
        w->open[w->count++] = w->next;
    }
    while (w->count && list[w->open[w->count - 1]].end <= place->time) w->count--;
}

hd_status gpu_around(const gpu_slices *slices, const gpu_place *places, size_t count, gpu_around_found *found,
                     void *user, hd_error *err)
{
    sweeper w = {.slices = slices, .lane = HD_NONE};
    w.open = hd_large_new(slices->count + 1, sizeof *w.open, UINT64_MAX);
    hd_status status = w.open ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < count && places[i].lane != HD_NONE && status == HD_OK; i++) {
        size_t kept = 0;
        move_to(&w, &places[i]);
        for (size_t k = 0; k < w.count; k++) {
            if (slices->list[w.open[k]].end > places[i].time) w.open[kept++] = w.open[k];
        }
        w.count = kept;
        status = found(user, places[i].id, w.open, kept, err);
    }
    hd_large_free(w.open);
    return status;
}

/* For sorted places: out[id] is the index of the innermost slice around it, HD_NONE where there is none. */
static hd_status find_innermost(uint32_t *out, const gpu_slices *slices, const gpu_place *places, size_t count,
                                hd_error *err)
{
    sweeper w = {.slices = slices, .lane = HD_NONE};
    w.open = hd_large_new(slices->count + 1, sizeof *w.open, UINT64_MAX);
    if (!w.open) return HD_NOMEM(err);
    for (size_t i = 0; i < count; i++) {
        if (places[i].lane != HD_NONE) move_to(&w, &places[i]);
        out[places[i].id] = places[i].lane != HD_NONE && w.count ? w.open[w.count - 1] : HD_NONE;
    }
    hd_large_free(w.open);
    return HD_OK;
}

hd_status gpu_innermost_names(uint32_t *out, gpu_place *places, size_t count, const gpu_scope *s, hd_role role,
                              hd_error *err)
{
    gpu_slices slices;
    if (!sort_places(places, count, s->large)) return HD_NOMEM(err);
    hd_status status = gpu_slices_around(&slices, s, 1u << role, places, count, err);
    if (status == HD_OK) status = find_innermost(out, &slices, places, count, err);
    for (size_t i = 0; i < count && status == HD_OK; i++)
        out[i] = out[i] == HD_NONE ? HD_STRING_NONE : slices.list[out[i]].name;
    gpu_slices_deinit(&slices);
    return status;
}

typedef struct coverer {
    const gpu_covering *coverings;
    size_t count; /* of each */
    const gpu_slices *slices;
    const hd_trace *trace;
} coverer;

static hd_status choose_covering(void *user, uint32_t id, const uint32_t *around, size_t count, hd_error *err)
{
    const coverer *c = user;
    const gpu_covering *list = &c->coverings[id / c->count];
    const gpu_cover of = list->cover(list->user, id % c->count);
    (void)err;
    for (size_t i = count; i-- > 0;) {
        const gpu_slice *slice = &c->slices->list[around[i]];
        if (!(list->roles >> slice->user & 1)) continue;
        int64_t start = slice->start > of.start ? slice->start : of.start;
        int64_t end = slice->end < of.end ? slice->end : of.end;
        if ((gpu_i128)2 * (end - start) <= of.end - of.start) continue;
        if (hd_is_profiler_step(hd_trace_string(c->trace, slice->name))) continue;
        list->out[id % c->count] = slice->name;
        break;
    }
    return HD_OK;
}

/* A slice that covers more than half of a stretch is open in its middle, so that one lookup there finds all
 * candidates. */
hd_status gpu_covering_names(const gpu_covering *coverings, uint32_t lists, size_t count, const gpu_scope *s,
                             hd_error *err)
{
    gpu_slices slices = {0};
    unsigned roles = 0;
    size_t found = 0;
    gpu_place *places = hd_large_new(lists * count + 1, sizeof *places, s->large);
    for (uint32_t l = 0; places && l < lists; l++) {
        roles |= coverings[l].roles;
        for (size_t i = 0; i < count; i++) {
            const gpu_cover of = coverings[l].cover(coverings[l].user, i);
            int64_t half = (int64_t)(((uint64_t)of.end - (uint64_t)of.start) / 2);
            coverings[l].out[i] = HD_STRING_NONE;
            if (of.lane != HD_NONE && of.end > of.start)
                places[found++] = (gpu_place){of.start + half, of.lane, (uint32_t)(l * count + i)};
        }
    }
    hd_status status = places && sort_places(places, found, s->large) ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK && found) status = slices_around(&slices, s, roles, places, found, true, err);
    if (status == HD_OK && found)
        status =
            gpu_around(&slices, places, found, choose_covering, &(coverer){coverings, count, &slices, s->trace}, err);
    gpu_slices_deinit(&slices);
    hd_large_free(places);
    return status;
}

hd_status gpu_launch_places(gpu_place **out, size_t *out_count, const gpu_scope *s, hd_error *err)
{
    size_t launches = s->launches->launch_count;
    bool *needed = calloc(launches + 1, sizeof *needed);
    *out_count = 0;
    *out = hd_large_new(launches + 1, sizeof **out, s->large);
    if (needed && *out) {
        for (size_t i = 0; i < s->launches->work_count; i++) {
            if (s->works[i].device == HD_NONE || s->works[i].launch == HD_NONE) continue;
            needed[s->works[i].launch] = needed[s->works[i].origin] = true;
        }
        for (uint32_t i = 0; i < launches; i++) {
            const hd_launch *launch = &s->launches->launches[i];
            if (!needed[i] || launch->track >= hd_trace_track_count(s->trace)) continue;
            const hd_asked *asked = s->launches->asked && s->launches->asked[i].track < hd_trace_track_count(s->trace)
                                        ? &s->launches->asked[i]
                                        : NULL;
            uint32_t lane = gpu_lane_of(s->trace, asked ? asked->track : launch->track);
            (*out)[(*out_count)++] = (gpu_place){asked ? asked->start_ns : launch->start_ns, lane, i};
        }
    }
    bool fine = needed && *out && sort_places(*out, *out_count, s->large);
    free(needed);
    if (fine) return HD_OK;
    hd_large_free(*out);
    *out = NULL;
    return HD_NOMEM(err);
}

hd_status gpu_innermost_of_launches(uint32_t **out, const gpu_scope *s, const gpu_slices *slices, hd_error *err)
{
    gpu_place *places;
    size_t count;
    HD_TRY(gpu_launch_places(&places, &count, s, err));
    *out = hd_large_new(s->launches->launch_count + 1, sizeof **out, s->large);
    for (size_t i = 0; *out && i < s->launches->launch_count; i++) (*out)[i] = HD_NONE;
    hd_status status = *out ? find_innermost(*out, slices, places, count, err) : HD_NOMEM(err);
    hd_large_free(places);
    if (status == HD_OK) return HD_OK;
    hd_large_free(*out);
    *out = NULL;
    return status;
}

bool gpu_origins_init(gpu_origins *out, const gpu_scope *s)
{
    const size_t launches = s->launches->launch_count, works = s->launches->work_count;
    *out = (gpu_origins){.first = hd_large_zeroed(launches + 2, sizeof *out->first, s->large),
                         .works = hd_large_new(works + 1, sizeof *out->works, s->large)};
    if (!out->first || !out->works) return false;
    for (size_t i = 0; i < works; i++)
        if (s->works[i].origin != HD_NONE) out->first[s->works[i].origin + 2]++;
    for (size_t i = 2; i < launches + 2; i++) out->first[i] += out->first[i - 1];
    for (size_t i = 0; i < works; i++)
        if (s->works[i].origin != HD_NONE) out->works[out->first[s->works[i].origin + 1]++] = (uint32_t)i;
    return true;
}

void gpu_origins_deinit(gpu_origins *origins)
{
    hd_large_free(origins->first);
    hd_large_free(origins->works);
}
