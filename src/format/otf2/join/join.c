/* join.c - part after part: the files of its locations, its clock */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/otf2/join/join.h"

hd_status oj_refuse(joiner *j, const char *what)
{
    return hd_error_set(j->w.err, HD_ERR_DAMAGED, j->part->path, HD_OFFSET_NONE, "is no part of an archive: %s", what);
}

/* ---- files of a location ---- */

static void path_of(char out[4200], const char *folder, uint64_t location, const char *extension)
{
    snprintf(out, 4200, "%s/traces/%" PRIu64 ".%s", folder, location, extension);
}

static hd_status move_events(joiner *j, const otf2_def *location)
{
    char from[4200], to[4200];
    snprintf(from, sizeof from, "%.*s/%" PRIu64 ".evt", (int)(strlen(j->part->path) - strlen(".otf2")), j->part->path,
             location->ref);
    path_of(to, j->folder, location->joined, "evt");
    if (rename(from, to) == 0) return HD_OK;
    if (errno == ENOENT && !location->values[LOCATION_EVENTS]) return HD_OK; /* none was written */
    return hd_error_set(j->w.err, HD_ERR_IO, from, HD_OFFSET_NONE, "cannot be moved: %s", strerror(errno));
}

static hd_status write_table(joiner *j, OTF2_DefWriter *out, def_kind kind)
{
    const def_table *table = &j->r->defs[kind];
    uint64_t *ids = calloc(table->count + 1, sizeof *ids);
    bool same = true, dense = true;
    if (!ids) return HD_NOMEM(j->w.err);
    for (size_t i = 0; i < table->count; i++) {
        const otf2_def *def = table->list[i];
        dense = dense && def->ref < table->count;
        if (dense) ids[def->ref] = def->joined;
        same = same && def->ref == def->joined;
    }
    OTF2_IdMap *map = dense && !same ? OTF2_IdMap_CreateFromUint64Array(table->count, ids, false) : NULL;
    free(ids);
    if (!dense) return oj_refuse(j, "its definitions are not numbered in a row");
    if (same) return HD_OK;
    if (!map) return HD_NOMEM(j->w.err);
    OTF2_ErrorCode code = OTF2_DefWriter_WriteMappingTable(out, (OTF2_MappingType)kind, map);
    OTF2_IdMap_Free(map);
    OW_TRY(&j->w, code);
    return HD_OK;
}

static hd_status write_offset(joiner *j, OTF2_DefWriter *out, int64_t at_ns)
{
    const double bars = 2.575829; /* standard deviations that 99 % lie within */
    int64_t bar_ns, offset = hd_format_part_offset(&bar_ns, j->part, at_ns);
    offset = (int64_t)((uint64_t)offset - j->r->shift + j->w.shift);
    OW_TRY(&j->w, OTF2_DefWriter_WriteClockOffset(out, (uint64_t)at_ns + j->r->shift, offset, (double)bar_ns / bars));
    return HD_OK;
}

/* Offsets at its first and last time, and at the last known time before and the first after each clock step: readers
 * interpolate linearly between two consecutive records, and ignore a single one. */
static hd_status write_offsets(joiner *j, OTF2_DefWriter *out)
{
    const hd_format_part *part = j->part;
    const int64_t first = (int64_t)(j->r->offset - j->r->shift),
                  last = first + (int64_t)(j->r->length ? j->r->length : 1);
    bool is_plain = !part->clock_count || (part->clock_count == 1 && !part->clocks->drift && !part->clocks->bar_ns);
    if (is_plain && hd_format_part_offset(NULL, part, first) == (int64_t)(j->r->shift - j->w.shift)) return HD_OK;
    HD_TRY(write_offset(j, out, first));
    for (size_t i = 1; i < part->clock_count; i++) {
        const int64_t edges[] = {part->clocks[i - 1].last_ns, part->clocks[i].first_ns};
        for (int e = 0; e < 2; e++)
            if (edges[e] > first && edges[e] < last) HD_TRY(write_offset(j, out, edges[e]));
    }
    return write_offset(j, out, last);
}

/* All locations of a part have equal local definitions; the library clears 4 MiB for each file that it writes, so only
 * one is written. */
static hd_status write_local_definitions(joiner *j)
{
    const def_table *locations = &j->r->defs[DEF_LOCATION];
    char first[4200], path[4200];
    OTF2_DefWriter *out = OTF2_Archive_GetDefWriter(j->w.archive, locations->list[0]->joined);
    if (!out) return ow_error(&j->w, OTF2_ERROR_MEM_FAULT);
    for (int kind = DEF_STRING; kind <= DEF_RMA_WIN; kind++) HD_TRY(write_table(j, out, (def_kind)kind));
    HD_TRY(write_offsets(j, out));
    OW_TRY(&j->w, OTF2_Archive_CloseDefWriter(j->w.archive, out));
    path_of(first, j->folder, locations->list[0]->joined, "def");
    for (size_t i = 0; i < locations->count; i++) {
        path_of(path, j->folder, locations->list[i]->joined, "def");
        if (i) HD_TRY(ow_copy_file(&j->w, first, path));
        HD_TRY(move_events(j, locations->list[i]));
    }
    return HD_OK;
}

/* ---- clocks ---- */

/* The span of all times; adjusted times are rounded by readers. */
static hd_status widen_span(joiner *j)
{
    const otf2_reader *r = j->r;
    uint64_t events = 0;
    const hd_format_part *part = j->part;
    int64_t low = (int64_t)(r->offset - r->shift), high;
    int64_t bent = part->clock_count > 1 || (part->clock_count && part->clocks->drift != 0);
    for (size_t i = 0; i < r->defs[DEF_LOCATION].count; i++)
        events += r->defs[DEF_LOCATION].list[i]->values[LOCATION_EVENTS];
    if (!events) return HD_OK;
    if (__builtin_add_overflow(low, (int64_t)r->length, &high) ||
        __builtin_add_overflow(high, hd_format_part_offset(NULL, part, high) + bent, &high) ||
        __builtin_add_overflow(low, hd_format_part_offset(NULL, part, low) - bent, &low))
        return hd_error_set(j->w.err, HD_ERR_LIMIT, part->path, HD_OFFSET_NONE,
                            "its times with the offset of its "
                            "clock are beyond 2^63");
    if (low < j->w.low_ns) j->w.low_ns = low;
    if (high > j->w.high_ns) j->w.high_ns = high;
    return HD_OK;
}

/* ---- all parts ---- */

typedef hd_status join_step(joiner *j);

static hd_status join_part(joiner *j)
{
    HD_TRY(oj_join_definitions(j));
    HD_TRY(oj_join_markers(j));
    return write_local_definitions(j);
}

static hd_status for_each_part(joiner *j, const hd_format_part *parts, size_t count, join_step *step)
{
    const hd_read_options options = {.strict = true};
    for (size_t i = 0; i < count; i++) {
        hd_builder *builder;
        j->part = &parts[i];
        HD_TRY(hd_builder_new(&builder, j->w.err));
        hd_status status = otf2_reader_open(&j->r, builder, parts[i].path, &options, j->w.err);
        if (status == HD_OK && !j->r->defs[DEF_LOCATION].count) status = oj_refuse(j, "it has no locations");
        if (status == HD_OK) status = step(j);
        otf2_reader_close(j->r);
        hd_builder_free(builder);
        HD_TRY(status);
    }
    return HD_OK;
}

static hd_status join_all(joiner *j, const hd_format_part *parts, size_t count)
{
    HD_TRY(for_each_part(j, parts, count, widen_span));
    if (j->w.low_ns > j->w.high_ns) j->w.low_ns = j->w.high_ns = 0;
    if (j->w.low_ns < 0) j->w.shift = 0 - (uint64_t)j->w.low_ns;
    HD_TRY(ow_open_archive(&j->w, j->folder));
    HD_TRY(ow_write_clock(&j->w));
    OW_TRY(&j->w, OTF2_Archive_OpenDefFiles(j->w.archive));
    HD_TRY(ow_write_machine(&j->w));
    HD_TRY(for_each_part(j, parts, count, join_part));
    HD_TRY(oj_write_late(j));
    if (j->markers) OW_TRY(&j->w, OTF2_Archive_CloseMarkerWriter(j->w.archive, j->markers));
    OW_TRY(&j->w, OTF2_Archive_CloseDefFiles(j->w.archive));
    return ow_close_archive(&j->w, j->folder);
}

static void deinit(joiner *j)
{
    for (size_t i = 0; i < j->groups.count; i++) free(j->groups.at[i].members.at);
    free(j->groups.at);
    free(j->late.at);
    free(j->marker_refs.at);
    free(j->known_refs.at);
    hd_strings_deinit(&j->known);
    ow_deinit(&j->w);
}

hd_status otf2_join(const char *folder, const hd_format_part *parts, size_t count, const hd_trace *whole, hd_error *err)
{
    hd_error own = {0};
    joiner j = {.folder = folder};
    j.w =
        (ow_writer){.trace = whole, .err = err ? err : &own, .path = folder, .low_ns = INT64_MAX, .high_ns = INT64_MIN};
    j.next[DEF_SYSTEM_TREE_NODE] = OW_NODE_HOST;
    HD_TRY(hd_strings_init(&j.known, j.w.err));
    otf2_be_quiet(true);
    j.w.string_refs = calloc((size_t)hd_trace_string_count(whole) + 1, sizeof *j.w.string_refs);
    hd_status status = j.w.string_refs && PUSH(j.known_refs, 0) ? join_all(&j, parts, count) : HD_NOMEM(j.w.err);
    deinit(&j);
    otf2_be_quiet(false);
    return status;
}
