/* write.c - trace -> OTF2 archive
 *
 * docs/formats/otf2.md has the mapping. The plan is made first (write.h), then locations are written one after the
 * other, so that the library holds one buffer, then the definitions that need counts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "format/otf2/write/write.h"
#include "trace/spill.h"

/* A disk that is full is "The structural integrity is not given" to the library. */
hd_status ow_error(ow_writer *w, OTF2_ErrorCode code)
{
    bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
    return hd_error_set(w->err,
                        code == OTF2_ERROR_MEM_FAULT || code == OTF2_ERROR_MEM_ALLOC_FAILED ? HD_ERR_MEMORY : HD_ERR_IO,
                        w->path, HD_OFFSET_NONE, "the OTF2 library failed: %s",
                        full ? strerror(errno) : OTF2_Error_GetDescription(code));
}

static OTF2_FlushType flush(void *user, OTF2_FileType type, OTF2_LocationRef location, void *data, bool final)
{
    (void)user, (void)type, (void)location, (void)data, (void) final;
    return OTF2_FLUSH;
}

/* ---- the plan ---- */

static uint32_t find(const ow_writer *w, const char *text)
{
    return hd_trace_find_string(w->trace, text, strlen(text));
}

static hd_status prepare(ow_writer *w)
{
    const hd_trace *trace = w->trace;
    size_t tracks = (size_t)hd_trace_track_count(trace) + 1;
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        if (hd_trace_row_count(trace, (hd_kind)kind) >= UINT32_MAX / 2)
            return hd_error_set(w->err, HD_ERR_LIMIT, w->path, HD_OFFSET_NONE, "more than 2^31 events of one kind");
    }
    w->row_place = malloc(tracks * sizeof *w->row_place);
    w->metric_place = malloc(tracks * sizeof *w->metric_place);
    w->string_refs = calloc((size_t)hd_trace_string_count(trace) + 1, sizeof *w->string_refs);
    w->shapes = calloc((size_t)hd_trace_shape_count(trace) + 1, sizeof *w->shapes);
    w->has_series = calloc((size_t)hd_trace_shape_count(trace) + 1, 1);
    w->flow_written = calloc((size_t)hd_trace_row_count(trace, HD_KIND_FLOW) + 1, 1);
    w->attributes = OTF2_AttributeList_New();
    if (!w->flow_written || !w->row_place || !w->metric_place || !w->string_refs || !w->shapes || !w->has_series ||
        !w->attributes)
        return HD_NOMEM(w->err);
    memset(w->row_place, 0xff, tracks * sizeof *w->row_place);
    memset(w->metric_place, 0xff, tracks * sizeof *w->metric_place);
    w->low_ns = INT64_MAX;
    w->high_ns = INT64_MIN;
    if (facts->start_ns != HD_NO_TIME && facts->start_ns > 0) w->clamp_low = facts->start_ns;
    w->is_hip = ow_is_hip(w);
    w->accelerator = w->is_hip ? OTF2_PARADIGM_HIP : OTF2_PARADIGM_CUDA;
    w->keys = (ow_keys){find(w, "bytes"),
                        find(w, "Collective name"),
                        find(w, "In msg nelems"),
                        find(w, "Out msg nelems"),
                        find(w, "dtype"),
                        find(w, "Process Group Name"),
                        find(w, "Process Group Description"),
                        find(w, "Process Group Ranks"),
                        find(w, "Root rank"),
                        find(w, "Src Rank"),
                        find(w, "Dst Rank"),
                        find(w, "[memory]"),
                        find(w, "Total Allocated"),
                        find(w, "Total Reserved"),
                        find(w, "Device Type"),
                        find(w, "Device Id")};
    if (w->keys.allocated == HD_NONE && w->keys.reserved == HD_NONE) w->keys.memory = HD_NONE;
    return HD_OK;
}

/* The process that created each device: of the same rank, the one with most runtime calls. */
static void find_creators(ow_writer *w)
{
    for (size_t i = 0; i < w->group_count; i++) {
        ow_group *device = &w->groups[i];
        if (device->device == HD_NO_NUMBER) continue;
        for (uint32_t k = 0; k < w->group_count; k++) {
            const ow_group *g = &w->groups[k];
            const ow_group *best = device->creator == HD_NONE ? NULL : &w->groups[device->creator];
            if (g->device != HD_NO_NUMBER || g->rank != device->rank || g->slices == 0) continue;
            if (!best || g->launches > best->launches || (g->launches == best->launches && g->slices > best->slices))
                device->creator = k;
        }
    }
}

static void number_groups(ow_writer *w)
{
    uint32_t next = 0;
    for (int device = 0; device < 2; device++) {
        for (size_t i = 0; i < w->group_count; i++) {
            if ((w->groups[i].device != HD_NO_NUMBER) == device) w->groups[i].ref = next++;
        }
    }
}

static void find_main_locations(ow_writer *w)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < w->location_count; i++) {
        ow_location *location = &w->locations[i];
        const ow_place *place = &w->places[location->place];
        ow_group *group = &w->groups[place->group];
        location->rank = rank;
        rank += place->type != OW_PLACE_METRICS;
        if (place->type != OW_PLACE_ROW) continue;
        if (group->main_location == HD_NONE || location->count > w->locations[group->main_location].count)
            group->main_location = i;
    }
}

static hd_status plan_archive(ow_writer *w)
{
    HD_TRY(prepare(w));
    HD_TRY(ow_scan_counters(w));
    HD_TRY(ow_find_messages(w));
    HD_TRY(ow_find_async(w));
    HD_TRY(ow_collect(w));
    /* Readers refuse an archive without locations. */
    if (!w->place_count && ow_place_of(w, OW_PLACE_ROW, HD_NONE, HD_STRING_NONE) == HD_NONE) return HD_NOMEM(w->err);
    for (uint32_t i = 0; i < w->place_count; i++) HD_TRY(ow_deal_lanes(w, i));
    find_creators(w);
    number_groups(w);
    find_main_locations(w);
    HD_TRY(ow_find_launches(w));
    if (w->item_count == 0) w->low_ns = w->high_ns = 0;
    if (w->low_ns < 0) {
        w->shift = 0 - (uint64_t)w->low_ns;
        w->notes[OW_SHIFTED] = 1;
    }
    return HD_OK;
}

/* ---- the archive ---- */

hd_status ow_open_archive(ow_writer *w, const char *folder)
{
    static const OTF2_FlushCallbacks callbacks = {.otf2_pre_flush = flush};
    w->archive = OTF2_Archive_Open(folder, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
                                   OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!w->archive)
        return hd_error_set(w->err, HD_ERR_IO, w->path, HD_OFFSET_NONE, "the OTF2 library cannot open an archive");
    OW_TRY(w, OTF2_Archive_SetFlushCallbacks(w->archive, &callbacks, NULL));
    OW_TRY(w, OTF2_Archive_SetSerialCollectiveCallbacks(w->archive));
    OW_TRY(w, OTF2_Archive_SetCreator(w->archive, "heddle " HD_VERSION));
    w->defs = OTF2_Archive_GetGlobalDefWriter(w->archive);
    return w->defs ? HD_OK : ow_error(w, OTF2_ERROR_MEM_FAULT);
}

/* The library draws an id of the trace by the time of day; that of the definitions is the same for the same input. */
static bool set_trace_id(const char *folder)
{
    enum { BEHIND = 8 + 4 + 4 + 3 }; /* of the anchor, from the id on: anchor.c */
    char path[4200];
    uint64_t id;
    snprintf(path, sizeof path, "%s/traces.def", folder);
    FILE *definitions = fopen(path, "rb");
    snprintf(path, sizeof path, "%s/traces.otf2", folder);
    FILE *anchor = fopen(path, "r+b");
    bool fine = definitions && anchor && otf2_file_checksum(&id, definitions) &&
                fseek(anchor, -BEHIND, SEEK_END) == 0 && fwrite(&id, sizeof id, 1, anchor) == 1;
    if (definitions) fclose(definitions);
    if (anchor) fine = fclose(anchor) == 0 && fine;
    return fine;
}

hd_status ow_close_archive(ow_writer *w, const char *folder)
{
    OTF2_Archive *archive = w->archive;
    w->archive = NULL;
    OW_TRY(w, OTF2_Archive_Close(archive));
    return set_trace_id(folder) ? HD_OK
                                : hd_error_set(w->err, HD_ERR_IO, w->path, HD_OFFSET_NONE, "cannot be read again");
}

hd_status ow_write_clock(ow_writer *w)
{
    const hd_trace_facts *facts = hd_trace_facts_of(w->trace);
    int64_t real;
    uint64_t stamp = OTF2_UNDEFINED_TIMESTAMP;
    if (facts->base_ns != HD_NO_TIME && !__builtin_add_overflow(facts->base_ns, w->low_ns, &real) && real >= 0)
        stamp = (uint64_t)real;
    OW_TRY(w, OTF2_GlobalDefWriter_WriteClockProperties(w->defs, 1000000000, (uint64_t)w->low_ns + w->shift,
                                                        (uint64_t)w->high_ns - (uint64_t)w->low_ns, stamp));
    return HD_OK;
}

static hd_status write_paradigm(ow_writer *w)
{
    uint32_t name = ow_text(w, w->is_hip ? "HIP" : "CUDA");
    if (name == HD_NONE) return w->err->status;
    OW_TRY(w, OTF2_GlobalDefWriter_WriteParadigm(w->defs, w->accelerator, name, OTF2_PARADIGM_CLASS_ACCELERATOR));
    return HD_OK;
}

/* The library has closed the file. */
static hd_status find_checksum(ow_writer *w, const char *folder, uint32_t location)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/traces/%u.evt", folder, location);
    FILE *file = fopen(path, "rb");
    if (!file && errno == ENOENT) return HD_OK;
    bool fine = file && otf2_file_checksum(&w->locations[location].checksum, file);
    if (file) fclose(file);
    w->locations[location].has_checksum = fine;
    return fine ? HD_OK : hd_error_set(w->err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot be read again");
}

hd_status ow_copy_file(ow_writer *w, const char *from, const char *to)
{
    char piece[1 << 14];
    FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
    bool fine = out != NULL;
    for (size_t got; fine && (got = fread(piece, 1, sizeof piece, in)) > 0;) fine = fwrite(piece, 1, got, out) == got;
    if (in) fine = !ferror(in) && fine;
    if (in) fclose(in);
    if (out) fine = fclose(out) == 0 && fine;
    return fine ? HD_OK : hd_error_set(w->err, HD_ERR_IO, to, HD_OFFSET_NONE, "cannot be written: %s", strerror(errno));
}

/* Readers require a file of local definitions per location, though there are none. The library clears 4 MiB for each
 * that it writes; all are equal, so only the first is written, and then copied. */
static hd_status write_local_definitions(ow_writer *w, const char *folder)
{
    char first[4200], path[4200];
    OTF2_DefWriter *out = NULL;
    OW_TRY(w, OTF2_Archive_OpenDefFiles(w->archive));
    if (!(out = OTF2_Archive_GetDefWriter(w->archive, 0))) return ow_error(w, OTF2_ERROR_MEM_FAULT);
    OW_TRY(w, OTF2_Archive_CloseDefWriter(w->archive, out));
    OW_TRY(w, OTF2_Archive_CloseDefFiles(w->archive));
    snprintf(first, sizeof first, "%s/traces/0.def", folder);
    for (uint32_t i = 1; i < w->location_count; i++) {
        snprintf(path, sizeof path, "%s/traces/%u.def", folder, i);
        HD_TRY(ow_copy_file(w, first, path));
    }
    return HD_OK;
}

static hd_status write_all_events(ow_writer *w, const char *folder)
{
    OW_TRY(w, OTF2_Archive_OpenEvtFiles(w->archive));
    for (uint32_t i = 0; i < w->location_count; i++) {
        HD_TRY(ow_write_events(w, i));
        HD_TRY(find_checksum(w, folder, i));
        if (w->options->progress)
            w->options->progress(w->options->progress_user, w->written, hd_trace_event_count(w->trace));
    }
    OW_TRY(w, OTF2_Archive_CloseEvtFiles(w->archive));
    return w->options->part ? HD_OK : write_local_definitions(w, folder); /* a part gets them when it is joined */
}

static hd_status write_archive(ow_writer *w, const char *folder)
{
    HD_TRY(ow_open_archive(w, folder));
    HD_TRY(ow_write_clock(w));
    HD_TRY(write_paradigm(w));
    HD_TRY(write_all_events(w, folder));
    HD_TRY(ow_write_markers(w));
    HD_TRY(ow_write_tree(w));
    HD_TRY(ow_write_comms(w));
    HD_TRY(ow_write_metrics(w));
    return ow_close_archive(w, folder);
}

/* ---- accounts ---- */

static const struct {
    const char *code;
    hd_ledger_level level;
    bool is_event; /* an event that is not written */
} note_codes[OW_NOTE_COUNT] = {
    [OW_NO_TIME] = {"otf2.event-without-time", HD_LEDGER_LOSS, true},
    [OW_OUTSIDE] = {"otf2.time-outside-trace", HD_LEDGER_NOTE, false},
    [OW_PICOSECONDS] = {"otf2.picoseconds-lost", HD_LEDGER_LOSS, false},
    [OW_NO_END] = {"otf2.slice-without-end", HD_LEDGER_REPAIR, false},
    [OW_NEGATIVE] = {"otf2.negative-duration", HD_LEDGER_LOSS, false},
    [OW_CLAMPED] = {"otf2.slice-cut-to-lane", HD_LEDGER_LOSS, false},
    [OW_FLOW_UNMATCHED] = {"otf2.flow-unmatched", HD_LEDGER_LOSS, true},
    [OW_ASYNC_OPEN] = {"otf2.async-unmatched", HD_LEDGER_REPAIR, false},
    [OW_META_LOST] = {"otf2.metadata-event-lost", HD_LEDGER_LOSS, true},
    [OW_ARGS_LOST] = {"otf2.arguments-lost", HD_LEDGER_LOSS, false},
    [OW_ARG_TWICE] = {"otf2.argument-twice", HD_LEDGER_LOSS, false},
    [OW_STRING_CUT] = {"otf2.string-cut", HD_LEDGER_LOSS, false},
    [OW_STRING_NUL] = {"otf2.nul-in-string", HD_LEDGER_LOSS, false},
    [OW_LANES] = {"otf2.lanes-added", HD_LEDGER_NOTE, false},
    [OW_TRACKS_EMPTY] = {"otf2.track-without-events", HD_LEDGER_NOTE, false},
    [OW_SHIFTED] = {"otf2.times-shifted", HD_LEDGER_NOTE, false},
    [OW_BYTES_LOST] = {"otf2.bytes-beyond-64-bits", HD_LEDGER_LOSS, false},
};

static hd_status account(ow_writer *w)
{
    uint64_t lost = 0;
    for (uint32_t i = 0; i < hd_trace_track_count(w->trace); i++) {
        const hd_track *t = hd_trace_track_at(w->trace, i);
        uint64_t rows = 0;
        for (int kind = 0; kind < HD_KIND_COUNT; kind++) rows += kind == HD_KIND_META ? 0 : t->rows[kind];
        w->notes[OW_TRACKS_EMPTY] += t->kind != HD_TRACK_PROCESS && rows == 0;
    }
    for (int i = 0; i < OW_NOTE_COUNT; i++) lost += note_codes[i].is_event ? w->notes[i] : 0;
    if (w->written + lost != hd_trace_event_count(w->trace))
        return hd_error_set(w->err, HD_ERR_IO, w->path, HD_OFFSET_NONE,
                            "a fault of this program: %llu events, of which %llu are written and %llu are lost",
                            (unsigned long long)hd_trace_event_count(w->trace), (unsigned long long)w->written,
                            (unsigned long long)lost);
    return HD_OK;
}

/* The ledger is filled before the archive gets its name, so that strict can refuse it. */
static hd_status tell_notes(ow_writer *w)
{
    for (int i = 0; i < OW_NOTE_COUNT; i++) {
        if (note_codes[i].is_event)
            hd_write_lost_events(w->options, "otf2", note_codes[i].code, w->notes[i]);
        else
            hd_write_note(w->options, "otf2", note_codes[i].code, note_codes[i].level, w->notes[i]);
    }
    return hd_write_refused(w->options, w->path, w->err);
}

void ow_deinit(ow_writer *w)
{
    hd_map *maps[] = {&w->async_places,     &w->group_of,       &w->launches,       &w->memory_classes,
                      &w->memory_instances, &w->literals,       &w->attribute_of,   &w->region_of,
                      &w->frames,           &w->metric_members, &w->counter_shapes, &w->metric_classes,
                      &w->metric_instances, &w->flow_comms,     &w->process_groups, &w->rank_pairs};
    void *lists[] = {w->places,       w->row_place,   w->metric_place, w->locations, w->groups,  w->has_series,
                     w->flow_written, w->string_refs, w->shapes,       w->regions,   w->metrics, w->members};
    void *large[] = {w->items, w->messages, w->pairs};
    if (w->archive) OTF2_Archive_Close(w->archive);
    if (w->attributes) OTF2_AttributeList_Delete(w->attributes);
    for (size_t i = 0; i < w->comm_count; i++) free(w->comms[i].members);
    free(w->comms);
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) hd_map_deinit(maps[i]);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) hd_large_free(large[i]);
    hd_bytes_deinit(&w->text);
    hd_arena_deinit(&w->arena);
}

hd_status otf2_write(const hd_trace *trace, hd_output *output, const hd_write_options *options, hd_error *err)
{
    hd_error own = {0};
    const char *path = hd_output_folder(output);
    hd_out_folder folder;
    ow_writer w = {.trace = trace, .options = options, .err = err ? err : &own, .path = path};
    w.large = hd_trace_large_bytes(trace);
    HD_TRY(hd_out_folder_create(&folder, path, &otf2_folder, options, w.err));
    otf2_be_quiet(true);
    hd_status status = plan_archive(&w);
    if (status == HD_OK) status = write_archive(&w, folder.folder);
    if (status == HD_OK) status = account(&w);
    ow_deinit(&w);
    otf2_be_quiet(false);
    if (status == HD_OK) status = tell_notes(&w);
    if (status == HD_OK) return hd_out_folder_commit(&folder, options, w.err);
    hd_out_folder_abort(&folder);
    return status;
}
