/* read.c - OTF2 archive -> trace
 *
 * Format   OTF2 3, read through its library (libotf2); Score-P 9.0 (OTF2 3.1.1) and our own writer were seen
 * Sniffs   the anchor file NAME.otf2; definitions are in NAME.def, events in NAME/LOCATION.evt
 * Maps     Enter and Leave -> slice 'X'; messages, RMA and I/O operations -> flow; metrics -> counter; samples ->
 *          sample; all others -> instant; definitions -> metadata "otf2.…"; findings -> ledger "otf2.…" and
 *          "otf2.findings"
 * Units    ticks -> ns, rounded down at both ends, with picoseconds if a tick is not a whole number of ns. Times are
 *          those of the archive's clock; base_ns is the Unix time of its zero
 * Shapes   n regions -> n slices; a metric of n members -> n counters; any other event -> one row
 * Limits   those of the library: chunks of 16 MiB, locations of 2^64 events; one location at a time is in memory
 * Errors   HD_ERR_DAMAGED: the anchor is damaged, or no location is defined; HD_ERR_UNSUPPORTED: SION files. All other
 *          damage is skipped and recorded in the ledger
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "format/otf2/otf2.h"
#include "format/otf2/read/read.h"
#include "trace/lazy.h"
#include "trace/spill.h"

uint64_t otf2_file_bytes(const otf2_reader *r, const char *end)
{
    char path[4096];
    struct stat info;
    int size = snprintf(path, sizeof path, "%.*s%s", (int)(strlen(r->path) - strlen(".otf2")), r->path, end);
    bool found = size > 0 && (size_t)size < sizeof path && stat(path, &info) == 0 && S_ISREG(info.st_mode);
    return found ? (uint64_t)info.st_size : 0;
}

/* ---- opening ---- */

static hd_status read_anchor(otf2_reader *r)
{
    enum { ANCHOR_BYTES = 16 << 20 }; /* far more than properties fill */
    struct stat info;
    FILE *file = fopen(r->path, "rb");
    if (!file || fstat(fileno(file), &info) != 0) {
        if (file) fclose(file);
        return hd_error_set(r->err, HD_ERR_IO, r->path, HD_OFFSET_NONE, "cannot be opened: %s", strerror(errno));
    }
    size_t size = info.st_size > ANCHOR_BYTES ? ANCHOR_BYTES : (size_t)info.st_size;
    uint8_t *data = malloc(size + 1);
    size_t got = data ? fread(data, 1, size, file) : 0;
    fclose(file);
    hd_status status = data ? otf2_anchor_parse(&r->anchor, data, got, r->path, r->err) : HD_NOMEM(r->err);
    free(data);
    return status;
}

static hd_status open_archive(otf2_reader *r)
{
    size_t size = strlen(r->path);
    if (size < 6 || strcmp(r->path + size - 5, ".otf2") != 0)
        return hd_error_set(r->err, HD_ERR_ARGUMENT, r->path, HD_OFFSET_NONE,
                            "an archive is read by the name of its anchor file, which must end in .otf2");
    HD_TRY(read_anchor(r));
    r->lib = OTF2_Reader_Open(r->path);
    if (!r->lib)
        return hd_error_set(r->err, HD_ERR_DAMAGED, r->path, HD_OFFSET_NONE,
                            "the OTF2 library cannot open the archive");
    OTF2_Reader_SetSerialCollectiveCallbacks(r->lib);
    char *creator = NULL;
    if (OTF2_Reader_GetCreator(r->lib, &creator) == OTF2_SUCCESS && creator)
        r->is_own = strncasecmp(creator, "heddle", 6) == 0;
    free(creator);
    if (r->anchor.snapshot_count)
        otf2_lint_place(&r->lint, LINT_SNAPSHOTS, 0, "%" PRIu32 " snapshots, which repeat events",
                        r->anchor.snapshot_count);
    if (r->anchor.thumbnail_count)
        otf2_lint_place(&r->lint, LINT_THUMBNAILS, 0, "%" PRIu32 " thumbnails, which sum up events",
                        r->anchor.thumbnail_count);
    return HD_OK;
}

/* ---- locations ---- */

/* Also reads event files of locations that no definition names. */
static void find_undefined_locations(otf2_reader *r)
{
    char path[4096];
    int size = snprintf(path, sizeof path, "%.*s", (int)(strlen(r->path) - strlen(".otf2")), r->path);
    DIR *folder = size > 0 && (size_t)size < sizeof path ? opendir(path) : NULL;
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char *end;
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
        errno = 0;
        uint64_t ref = strtoull(entry->d_name, &end, 10);
        if (errno || strcmp(end, ".evt") != 0 || otf2_get(r, DEF_LOCATION, ref)) continue;
        otf2_require(r, DEF_LOCATION, ref);
    }
    closedir(folder);
}

static OTF2_CallbackCode on_clock_offset(void *user, OTF2_TimeStamp time, int64_t offset, double deviation)
{
    otf2_reader *r = user;
    OTF2_AttributeValue value = {.float64 = deviation};
    uint64_t values[] = {r->location.def->ref, time, (uint64_t)offset, OTF2_TYPE_DOUBLE, value.uint64};
    otf2_lint_place(&r->lint, LINT_CLOCK_OFFSETS, r->location.def->ref, "location %" PRIu64 ", at %" PRIu64 " ticks",
                    r->location.def->ref, time);
    uint64_t count = r->definition_count;
    if (!r->location.def->offset_count++) r->location.def->first_offset = (uint32_t)r->defs[DEF_CLOCK_OFFSET].count;
    OTF2_CallbackCode code = otf2_add_definition(r, DEF_CLOCK_OFFSET, 0, values, NULL, 0, 8);
    r->definition_count = count;
    return code;
}

/* Mapping tables and clock offsets, which the library applies to the events of the location. */
static hd_status read_local_definitions(otf2_reader *r, otf2_def *location, OTF2_DefReaderCallbacks *callbacks)
{
    char end[40];
    uint64_t count;
    snprintf(end, sizeof end, "/%" PRIu64 ".def", location->ref);
    uint64_t most = otf2_file_bytes(r, end);
    if (!most) return HD_OK; /* they may be absent */
    r->location.def = location;
    OTF2_ErrorCode code = OTF2_ERROR_FILE_INTERACTION;
    OTF2_DefReader *reader = OTF2_Reader_GetDefReader(r->lib, location->ref);
    if (reader) {
        OTF2_Reader_RegisterDefCallbacks(r->lib, reader, callbacks, r);
        code = OTF2_Reader_ReadLocalDefinitions(r->lib, reader, most, &count);
        OTF2_Reader_CloseDefReader(r->lib, reader);
    }
    r->location.def = NULL;
    if (code != OTF2_SUCCESS)
        otf2_lint_place(&r->lint, LINT_LOCAL_DEFINITIONS_DAMAGED, location->ref, "location %" PRIu64 ": %s",
                        location->ref, OTF2_Error_GetDescription(code));
    return r->status;
}

static hd_status read_all_local_definitions(otf2_reader *r)
{
    OTF2_DefReaderCallbacks *callbacks = OTF2_DefReaderCallbacks_New();
    if (!callbacks) return HD_NOMEM(r->err);
    OTF2_DefReaderCallbacks_SetClockOffsetCallback(callbacks, on_clock_offset);
    hd_status status = HD_OK;
    if (OTF2_Reader_OpenDefFiles(r->lib) == OTF2_SUCCESS) {
        for (size_t i = 0; i < r->defs[DEF_LOCATION].count && status == HD_OK; i++)
            status = read_local_definitions(r, r->defs[DEF_LOCATION].list[i], callbacks);
        OTF2_Reader_CloseDefFiles(r->lib);
    }
    OTF2_DefReaderCallbacks_Delete(callbacks);
    return status;
}

static hd_status read_locations(otf2_reader *r)
{
    for (size_t i = 0; i < r->defs[DEF_LOCATION].count; i++) {
        const otf2_def *location = r->defs[DEF_LOCATION].list[i];
        if (location->values[LOCATION_EVENTS] < UINT64_MAX - r->total_events)
            r->total_events += location->values[LOCATION_EVENTS];
        OTF2_Reader_SelectLocation(r->lib, location->ref);
    }
    HD_TRY(read_all_local_definitions(r));
    if (OTF2_Reader_OpenEvtFiles(r->lib) != OTF2_SUCCESS) {
        otf2_lint_place(&r->lint, LINT_EVENTS_MISSING, 0, "the folder of the events is missing");
        return HD_OK;
    }
    hd_status status = HD_OK;
    for (size_t i = 0; i < r->defs[DEF_LOCATION].count && status == HD_OK; i++) {
        otf2_def *location = r->defs[DEF_LOCATION].list[i];
        status = otf2_read_location(r, location);
        if (status != HD_OK) hd_error_add_cause(r->err, "events of location %" PRIu64, location->ref);
    }
    r->location.def = NULL;
    OTF2_Reader_CloseEvtFiles(r->lib);
    return status;
}

/* ---- the whole ---- */

static uint64_t archive_bytes(const otf2_reader *r)
{
    char name[300];
    char path[4096];
    uint64_t bytes = otf2_file_bytes(r, ".otf2") + otf2_file_bytes(r, ".def") + otf2_file_bytes(r, ".marker");
    int size = snprintf(path, sizeof path, "%.*s", (int)(strlen(r->path) - strlen(".otf2")), r->path);
    DIR *folder = size > 0 && (size_t)size < sizeof path ? opendir(path) : NULL;
    if (!folder) return bytes;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        snprintf(name, sizeof name, "/%s", entry->d_name);
        bytes += otf2_file_bytes(r, name);
    }
    closedir(folder);
    return bytes;
}

static void set_facts(otf2_reader *r)
{
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    facts->stored_bytes = facts->input_bytes = archive_bytes(r);
    facts->has_args = r->wants_args;
    uint32_t ps;
    if (r->realtime == UINT64_MAX || r->realtime > INT64_MAX) return;
    /* The clock's zero, where the times of the trace count from. */
    if (__builtin_sub_overflow((int64_t)r->realtime, otf2_ns(r, r->offset, &ps), &facts->base_ns))
        facts->base_ns = HD_NO_TIME;
}

/* Findings that are known only after everything was read. */
static void finish_findings(otf2_reader *r)
{
    if (r->matches.open)
        otf2_lint_place(&r->lint, LINT_MESSAGE_UNMATCHED, 0, "%" PRIu64 " messages and operations have one end only",
                        r->matches.open);
    if (r->matches.open) r->lint.findings[LINT_MESSAGE_UNMATCHED].count = r->matches.open;
    if (r->late_parameters) {
        otf2_lint_place(&r->lint, LINT_PARAMETER_TIME, 0, "parameters became arguments, without their own time");
        r->lint.findings[LINT_PARAMETER_TIME].count = r->late_parameters;
    }
    if (r->relative_metrics) {
        otf2_lint_place(&r->lint, LINT_RELATIVE_METRIC, 0, "samples of relative metrics are differences");
        r->lint.findings[LINT_RELATIVE_METRIC].count = r->relative_metrics;
    }
    otf2_lint_finish(&r->lint, r->builder);
}

/* The first finding that repairs or loses something, for --strict. */
static hd_status check_strict(const otf2_reader *r)
{
    for (int code = 0; code < LINT_CODES && r->options->strict; code++) {
        const lint_finding *finding = &r->lint.findings[code];
        if (!finding->count || otf2_lint_level((lint_code)code) == HD_LEDGER_NOTE) continue;
        return hd_error_set(r->err, HD_ERR_DAMAGED, r->path, finding->place, "%s: %s; --strict refuses repairs",
                            otf2_lint_name((lint_code)code), finding->text);
    }
    return HD_OK;
}

static hd_status read_definitions(otf2_reader *r)
{
    HD_TRY(open_archive(r));
    HD_TRY(otf2_read_definitions(r));
    otf2_resolve_definitions(r);
    find_undefined_locations(r);
    if (r->defs[DEF_LOCATION].count != r->anchor.location_count)
        otf2_lint_place(&r->lint, LINT_LOCATION_COUNT, r->defs[DEF_LOCATION].count,
                        "%zu locations; the anchor says %" PRIu64, r->defs[DEF_LOCATION].count,
                        r->anchor.location_count);
    if (r->is_own) otf2_own_prepare(r);
    otf2_make_tracks(r);
    return r->status;
}

static hd_status read_archive(otf2_reader *r)
{
    hd_chunk *chunk;
    if (r->is_own) HD_TRY(otf2_own_add_names(r));
    HD_TRY(read_locations(r));
    HD_TRY(otf2_read_markers(r));
    HD_TRY(otf2_add_metadata(r));
    HD_TRY(hd_batch_take(&chunk, r->batch, r->err));
    HD_TRY(hd_builder_append(r->builder, chunk, r->err));
    finish_findings(r);
    set_facts(r);
    return check_strict(r);
}

void otf2_reader_close(otf2_reader *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->defs[DEF_GROUP].count; i++) {
        hd_map *ranks = r->defs[DEF_GROUP].list[i]->ranks;
        if (ranks) hd_map_deinit(ranks);
        free(ranks);
    }
    for (int kind = 0; kind < DEF_KINDS; kind++) {
        free(r->defs[kind].list);
        hd_map_deinit(&r->defs[kind].map);
    }
    hd_map_deinit(&r->pids);
    otf2_matches_deinit(&r->matches);
    otf2_location_deinit(&r->location);
    free(r->args.keys);
    free(r->args.values);
    free(r->markers.at);
    hd_arena_deinit(&r->arena);
    hd_batch_free(r->batch);
    if (r->lib) OTF2_Reader_Close(r->lib);
    otf2_be_quiet(false);
    free(r);
}

hd_status otf2_reader_open(otf2_reader **out, hd_builder *builder, const char *path, const hd_read_options *options,
                           hd_error *err)
{
    otf2_reader *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r) return HD_NOMEM(err);
    r->builder = builder;
    r->options = options;
    r->err = err;
    r->path = path;
    r->wants_args = options->args == HD_ARGS_ALL;
    r->lint.location = r->lint.event = r->lint.time = UINT64_MAX;
    r->matches.large = hd_trace_large_bytes(hd_builder_trace(builder));
    otf2_be_quiet(true);
    hd_status status = hd_batch_new(&r->batch, builder, err);
    if (status == HD_OK) status = read_definitions(r);
    if (status == HD_OK)
        *out = r;
    else
        otf2_reader_close(r);
    return status;
}

hd_status otf2_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    otf2_reader *r;
    HD_TRY(otf2_reader_open(&r, builder, hd_input_file(input), options, err));
    hd_status status = read_archive(r);
    otf2_reader_close(r);
    return status;
}

hd_status otf2_read_part(hd_trace **out, const char *path, hd_error *err)
{
    const hd_read_options options = {.strict = true};
    hd_builder *builder;
    otf2_reader *r;
    HD_TRY(hd_builder_new(&builder, err));
    hd_status status = otf2_reader_open(&r, builder, path, &options, err);
    if (status == HD_OK && !r->is_own)
        status = hd_error_set(err, HD_ERR_UNSUPPORTED, path, HD_OFFSET_NONE, "is not an archive that heddle wrote");
    if (status == HD_OK) status = otf2_own_add_metadata(r);
    if (status == HD_OK) set_facts(r);
    if (status == HD_OK) status = check_strict(r);
    otf2_reader_close(r);
    if (status == HD_OK) return hd_builder_finish(out, builder, err);
    hd_builder_free(builder);
    return status;
}
