/* write.c - trace -> folder of Parquet files
 *
 * Maps     each table of arrow.h to FOLDER/TABLE.parquet; of launches only columns that cannot be joined from slices
 * Losses   see losses.c; each table of events has as many rows as the trace
 */
#include "parquet/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/out_folder.h"
#include "format/parquet/parquet.h"
#include "heddle/arrow.h"
#include "trace/clock.h"

/* ---- the folder ---- */

static bool is_part(const char *name)
{
    char table[64];
    size_t size = strlen(name);
    static const char extension[] = ".parquet";
    if (size < sizeof extension || size - sizeof extension + 1 >= sizeof table) return false;
    memcpy(table, name, size - sizeof extension + 1);
    table[size - sizeof extension + 1] = '\0';
    return strcmp(name + size - sizeof extension + 1, extension) == 0 && hd_arrow_table_find(table);
}

static const hd_out_folder_kind folder_kind = {"a folder of Parquet files", "slices.parquet", is_part};

/* ---- what every file says of the trace ---- */

enum { KEY_MOST = 6 };

typedef struct file_keys {
    const char *names[KEY_MOST], *values[KEY_MOST];
    char texts[KEY_MOST][24];
    size_t count;
} file_keys;

static void add_key(file_keys *keys, const char *name, const char *value)
{
    keys->names[keys->count] = name;
    keys->values[keys->count++] = value;
}

static void add_number(file_keys *keys, const char *name, int64_t value)
{
    if (value == INT64_MIN) return; /* HD_NO_TIME, HD_NO_NUMBER */
    snprintf(keys->texts[keys->count], sizeof *keys->texts, "%" PRId64, value);
    add_key(keys, name, keys->texts[keys->count]);
}

static void describe(file_keys *keys, const hd_trace *trace)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    add_key(keys, "heddle.format", facts->origin ? facts->origin : facts->format);
    add_number(keys, "heddle.base_ns", hd_trace_clock_base(trace));
    add_number(keys, "heddle.rank", facts->rank);
    add_number(keys, "heddle.world_size", facts->world_size);
}

/* ---- tables ---- */

static hd_status write_file(uint64_t *out_rows, const char *path, struct ArrowArrayStream *stream, file_keys *keys,
                            const hd_write_options *options, hd_error *err)
{
    hd_output *output;
    hd_output_options file = {.compression = HD_OUTPUT_NONE, .sync = options->sync};
    hd_parquet_options parquet = {.level = options->level,
                                  .threads = options->threads,
                                  .keys = keys->names,
                                  .values = keys->values,
                                  .key_count = keys->count};
    hd_status status = hd_output_create(&output, path, &file, err);
    if (status != HD_OK) {
        stream->release(stream);
        return status;
    }
    status = parquet_write(out_rows, output, stream, &parquet, err);
    if (status == HD_OK) return hd_output_commit(output, err);
    hd_output_abort(output);
    return status;
}

/* Each event has a row; counters have one per series, which are more. */
static hd_status check_rows(uint64_t *in_out_events, const hd_trace *trace, const char *table, uint64_t rows,
                            hd_error *err)
{
    static const char *const kinds[HD_KIND_COUNT] = {
        [HD_KIND_SLICE] = "slices",     [HD_KIND_END] = "ends",       [HD_KIND_INSTANT] = "instants",
        [HD_KIND_COUNTER] = "counters", [HD_KIND_FLOW] = "flows",     [HD_KIND_ASYNC] = "async",
        [HD_KIND_SAMPLE] = "samples",   [HD_KIND_OBJECT] = "objects", [HD_KIND_META] = "meta_events",
        [HD_KIND_OTHER] = "other"};
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        uint64_t events = hd_trace_row_count(trace, (hd_kind)kind);
        if (strcmp(kinds[kind], table) != 0) continue;
        *in_out_events += events;
        if (rows == events || (kind == HD_KIND_COUNTER && rows > events)) return HD_OK;
        return hd_error_set(err, HD_ERR_INTERNAL, NULL, HD_OFFSET_NONE,
                            "a fault of this program: %s has %" PRIu64 " rows of %" PRIu64 " events", table, rows,
                            events);
    }
    return HD_OK;
}

static hd_status write_table(uint64_t *in_out_events, const hd_trace *trace, const char *table, const char *folder,
                             file_keys *keys, const hd_write_options *options, hd_error *err)
{
    struct ArrowArrayStream stream;
    uint64_t rows = 0;
    hd_arrow_options columns = {0};
    if (strcmp(table, "launches") == 0)
        columns.columns = "call_id,work_id,correlation,call_kind,work_kind,graph_call_id,rank";
    char *path;
    if (asprintf(&path, "%s/%s.parquet", folder, table) < 0) return HD_NOMEM(err);
    hd_status status = hd_trace_arrow_stream(&stream, trace, table, &columns, err);
    if (status == HD_OK) status = write_file(&rows, path, &stream, keys, options, err);
    if (status == HD_OK) status = check_rows(in_out_events, trace, table, rows, err);
    if (status != HD_OK) hd_error_add_cause(err, "cannot write %s.parquet", table);
    free(path);
    return status;
}

static hd_status write_tables(const hd_trace *trace, const char *folder, const hd_write_options *options, hd_error *err)
{
    file_keys keys = {0};
    uint64_t events = 0, all = hd_trace_event_count(trace);
    describe(&keys, trace);
    for (size_t i = 0; hd_arrow_table_at(i); i++) {
        HD_TRY(write_table(&events, trace, hd_arrow_table_at(i)->name, folder, &keys, options, err));
        if (options->progress) options->progress(options->progress_user, events, all);
    }
    if (events == all) return HD_OK;
    return hd_error_set(err, HD_ERR_INTERNAL, NULL, HD_OFFSET_NONE,
                        "a fault of this program: %" PRIu64 " of %" PRIu64 " events are written", events, all);
}

hd_status parquet_format_write(const hd_trace *trace, hd_output *output, const hd_write_options *options, hd_error *err)
{
    hd_error own = {0};
    const char *path = hd_output_folder(output);
    hd_out_folder folder;
    if (!err) err = &own;
    HD_TRY(hd_out_folder_create(&folder, path, &folder_kind, options, err));
    hd_status status = write_tables(trace, folder.folder, options, err);
    if (status == HD_OK) {
        parquet_tell_losses(trace, options);
        status = hd_write_refused(options, path, err);
    }
    if (status == HD_OK) return hd_out_folder_commit(&folder, options, err);
    hd_out_folder_abort(&folder);
    return status;
}
