/* read.c - from a source to a trace: the reader that bids most for its first bytes */
#include "format/format.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/options.h"
#include "format/json_walk.h"
#include "format/lookalikes.h"
#include "format/sqlite/map.h"
#include "trace/lazy.h"
#include "trace/ranks.h"

enum { LIKE_BYTES = 400, BY_LOOKS = 50 }; /* BY_LOOKS: the bid for any JSON */

static const char *compression_name(hd_compression compression)
{
    switch (compression) {
    case HD_COMPRESSION_GZIP: return "gzip";
    case HD_COMPRESSION_ZSTD: return "zstd";
    default: return "none";
    }
}

/* Damage below the format. */
static void note_damage(hd_builder *builder, const hd_input *input)
{
    for (size_t i = 0; i < hd_input_damage_count(input); i++) {
        const hd_input_damage *damage = hd_input_damage_at(input, i);
        hd_builder_ledger(builder, "input", damage->code, HD_LEDGER_LOSS, damage->count, damage->offset);
    }
}

static int best_bid(const hd_format **out, const uint8_t *head, size_t size)
{
    int best = 0;
    for (size_t i = 0; i < hd_format_count(); i++) {
        const hd_format *format = hd_format_descriptor(i);
        int bid = format->info.reads ? format->sniff(head, size) : 0;
        if (bid <= best) continue;
        best = bid;
        *out = format;
    }
    return best;
}

/* Members of JSON have no order, and the one that identifies the format may come after a long one: while an object has
 * neither that nor the events of a trace, more of it is read. */
static hd_status look_farther(const hd_format **io_format, hd_input *input, const uint8_t *head, size_t size,
                              hd_error *err)
{
    enum { TIMES = 16, FAR = 16 << 20 };
    static const char *const events[] = {"traceEvents"};
    for (size_t most = size * TIMES; most <= FAR && hd_walk_is_object(head, size); most *= TIMES) {
        const hd_format *format = NULL;
        size_t before = size;
        if (hd_walk_first_key(head, size, events, 1)) return HD_OK;
        HD_TRY(hd_input_peek_far(input, most, &head, &size, err));
        if (size == before || hd_walk_first_key(head, size, events, 1)) return HD_OK;
        if (best_bid(&format, head, size) <= BY_LOOKS) continue;
        *io_format = format;
        return HD_OK;
    }
    return HD_OK;
}

static hd_status choose(const hd_format **out, hd_input *input, hd_error *err)
{
    const uint8_t *head;
    size_t size;
    HD_TRY(hd_input_peek(input, &head, &size, err));
    int best = best_bid(out, head, size);
    if (best && best <= BY_LOOKS && size >= HD_INPUT_PEEK_BYTES) return look_farther(out, input, head, size, err);
    if (best) return HD_OK;
    char like[LIKE_BYTES];
    const hd_lookalike *by_content = hd_lookalike_of(head, size);
    hd_lookalike_put(like, sizeof like, by_content ? by_content : hd_lookalike_named(hd_input_path(input)));
    return hd_error_set(err, HD_ERR_FORMAT, hd_input_path(input), 0,
                        "no reader knows this content%s; `heddle formats` lists what can be read", like);
}

const hd_format_info *hd_format_of_file(const char *path)
{
    const hd_format *format = NULL;
    hd_input *input;
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return NULL;
    if (hd_input_open_source(&input, &(hd_byte_source){.name = path}, NULL, NULL) != HD_OK) return NULL;
    bool is_known = choose(&format, input, NULL) == HD_OK;
    hd_input_close(input);
    return is_known ? &format->info : NULL;
}

static bool tells_ranks(const hd_trace *trace)
{
    for (uint32_t t = 0; t < hd_trace_track_count(trace); t++) {
        if (hd_trace_rank_of(trace, t) != HD_NO_NUMBER) return true;
    }
    return false;
}

/* After reading: records format and compression and, in the ledger, the damage of the input, which is DAMAGED when
 * strict. */
static hd_status note_input(hd_builder *builder, const hd_format *format, const hd_input *input,
                            const hd_read_options *options, hd_error *err)
{
    hd_trace_facts *facts = hd_builder_facts(builder);
    facts->format = format->info.name;
    if (facts->rank == HD_NO_NUMBER && !tells_ranks(hd_builder_trace(builder)))
        facts->rank = hd_rank_of_path(hd_input_path(input));
    if (format->is_folder) return HD_OK; /* its reader knows all of its files */
    note_damage(builder, input);
    facts->compression = compression_name(hd_input_compression(input));
    facts->stored_bytes = hd_input_size_bytes(input);
    const hd_input_damage *damage = hd_input_damage_at(input, 0);
    if (options->strict && damage)
        return hd_error_set(err, HD_ERR_DAMAGED, hd_input_path(input), damage->offset,
                            "%s: the input is damaged, and --strict refuses repairs", damage->code);
    return HD_OK;
}

static bool has_content(const hd_trace *trace)
{
    if (hd_trace_metadata_count(trace)) return true;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        if (kind != HD_KIND_META && hd_trace_row_count(trace, (hd_kind)kind)) return true;
    }
    return false;
}

/* Whether this reading noted it, not an earlier step that a store recorded. */
static bool is_own(const hd_ledger_row *row, const hd_format *format)
{
    return strcmp(row->stage, format->info.name) == 0 || strcmp(row->stage, "input") == 0;
}

/* For strict: what is missing from the trace, lost by the producer or by this reading, and what was repaired. The
 * ledger of a store has the losses of earlier steps too: its reader refuses its own. */
static hd_status refuse_damage(const hd_trace *trace, const hd_format *format, const char *path, hd_error *err)
{
    if (format == &hd_heddle_format) return HD_OK;
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        bool is_loss = row->level == HD_LEDGER_LOSS;
        if (row->level == HD_LEDGER_NOTE) continue;
        return hd_error_set(err, HD_ERR_DAMAGED, path, row->first_offset, "%s: %llu %s, and --strict refuses %s",
                            row->code, (unsigned long long)row->count, is_loss ? "lost" : "repaired",
                            is_loss ? "losses" : "repairs");
    }
    return HD_OK;
}

/* Consumes the builder. */
static hd_status finish(hd_trace **out, hd_builder *builder, const hd_format *format, const char *path,
                        const hd_read_options *options, hd_error *err)
{
    HD_TRY(hd_builder_finish(out, builder, err));
    hd_status status = options->strict ? refuse_damage(*out, format, path, err) : HD_OK;
    if (status == HD_OK) return HD_OK;
    hd_trace_free(*out);
    *out = NULL;
    return status;
}

/* A trace without an event or metadata, whose input lost something, is an error: it would look as if all were well.
 * Losses of earlier steps recorded in a store do not count. */
static hd_status refuse_nothing(hd_trace **trace, const hd_format *format, const hd_input *input, hd_error *err)
{
    const hd_ledger_row *most = NULL;
    if (has_content(*trace)) return HD_OK;
    for (size_t i = 0; i < hd_trace_ledger_count(*trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(*trace, i);
        if (is_own(row, format) && row->level == HD_LEDGER_LOSS && (!most || row->count > most->count)) most = row;
    }
    if (!most) return HD_OK;
    hd_error_set(err, HD_ERR_DAMAGED, hd_input_path(input), most->first_offset,
                 "nothing of it can be read as %s (%s: %llu); `heddle formats` lists what can be read",
                 format->info.name, most->code, (unsigned long long)most->count);
    hd_trace_free(*trace);
    *trace = NULL;
    return HD_ERR_DAMAGED;
}

/* An option that the reader would ignore is an error. */
static hd_status check_binary(const hd_format *format, const char *path, const hd_read_options *options, hd_error *err)
{
    if (!options->binary || format->takes_binary) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, path, HD_OFFSET_NONE,
                        "is of format %s, and a program (--binary) is looked into for XRay logs only",
                        format->info.name);
}

static hd_status read_as(hd_trace **out, const hd_format **io_format, hd_input *input, const hd_read_options *options,
                         hd_error *err)
{
    const hd_format *format = *io_format;
    hd_builder *builder;
    if (format->is_folder && !hd_input_file(input))
        return hd_error_set(err, HD_ERR_UNSUPPORTED, hd_input_path(input), HD_OFFSET_NONE,
                            "is one file of %s, which is a folder of files: only its path can be read",
                            format->info.title);
    HD_TRY(check_binary(format, hd_input_path(input), options, err));
    HD_TRY(hd_builder_new(&builder, err));
    hd_builder_limit_memory(builder, options->memory_limit);
    hd_builder_limit_events(builder, options->most_events);
    hd_status status =
        format->mapping ? sq_read(&format, builder, input, options, err) : format->read(builder, input, options, err);
    *io_format = format;
    if (status == HD_OK) status = note_input(builder, format, input, options, err);
    if (status == HD_OK) return finish(out, builder, format, hd_input_path(input), options, err);
    hd_builder_free(builder);
    if (err && !err->path[0]) hd_error_set_path(err, hd_input_path(input));
    return status;
}

hd_status hd_format_read(hd_trace **out, hd_input *input, const hd_read_options *options, hd_error *err)
{
    static const hd_read_options defaults = {0};
    const hd_format *format = NULL;
    uint64_t base;
    *out = NULL;
    if (!options) options = &defaults;
    bool is_report = hd_input_descriptor(input, &base) >= 0 && hd_format_is_nsys_report(hd_input_path(input));
    hd_status status = choose(&format, input, is_report ? NULL : err);
    if (status == HD_ERR_FORMAT && is_report)
        return hd_format_read_nsys_report(out, hd_input_path(input), options, err);
    if (status != HD_OK) return is_report ? choose(&format, input, err) : status;
    status = read_as(out, &format, input, options, err);
    if (status == HD_OK) return refuse_nothing(out, format, input, err);
    /* The reader's context comes after the name of the file. */
    if (err && err->cause_count) hd_error_add_cause(err, "cannot read %.240s", hd_input_path(input));
    return status;
}

static hd_status read_file_of(hd_trace **out, const char *file, const hd_read_options *options, hd_error *err)
{
    struct stat info;
    if (stat(file, &info) == 0 && S_ISDIR(info.st_mode)) /* no nested folders, which could recurse for ever */
        return hd_error_set(err, HD_ERR_FORMAT, file, HD_OFFSET_NONE, "is a folder, not a file of one");
    return hd_trace_read(out, file, options, err);
}

/* By the first format that finds its files in the folder; HD_END: none does. */
static hd_status read_loose_files(hd_trace **out, const char *folder, const hd_read_options *options, hd_error *err)
{
    for (size_t i = 0; i < hd_format_count(); i++) {
        const hd_format *format = hd_format_descriptor(i);
        hd_builder *builder;
        if (!format->read_folder) continue;
        HD_TRY(hd_builder_new(&builder, err));
        hd_builder_limit_memory(builder, options->memory_limit);
        hd_builder_limit_events(builder, options->most_events);
        hd_status status = format->read_folder(builder, folder, options, err);
        hd_builder_facts(builder)->format = format->info.name;
        hd_builder_facts(builder)->compression = "none";
        if (status == HD_OK) status = check_binary(format, folder, options, err);
        if (status == HD_OK) return finish(out, builder, format, folder, options, err);
        hd_builder_free(builder);
        if (status != HD_END) return status;
    }
    return HD_END;
}

/* Its archive; else what a format finds in it; else its only trace. */
static hd_status read_folder(hd_trace **out, const char *folder, const hd_read_options *options, hd_error *err)
{
    char *file;
    hd_status status = hd_folder_find_archive(&file, folder, err);
    if (status == HD_END) {
        status = read_loose_files(out, folder, options, err);
        if (status != HD_END) return status;
        status = hd_folder_find_only(&file, folder, err);
    }
    if (status == HD_OK) status = read_file_of(out, file, options, err);
    free(file);
    return status;
}

hd_status hd_trace_read_from(hd_trace **out, const hd_byte_source *source, const hd_read_options *options,
                             hd_error *err)
{
    hd_input *input;
    struct stat info;
    *out = NULL;
    HD_OWN_OPTIONS(hd_read_options, options, err);
    if (source->place == HD_PLACE_PATH && strcmp(source->name, "-") != 0 && stat(source->name, &info) == 0 &&
        S_ISDIR(info.st_mode))
        return read_folder(out, source->name, options, err);
    hd_input_options input_options = {.spool = options->keep_input};
    HD_TRY(hd_input_open_source(&input, source, &input_options, err));
    hd_status status = hd_format_read(out, input, options, err);
    hd_input_close(input);
    return status;
}

hd_status hd_trace_read(hd_trace **out, const char *path, const hd_read_options *options, hd_error *err)
{
    return hd_trace_read_from(out, &(hd_byte_source){.name = path}, options, err);
}
