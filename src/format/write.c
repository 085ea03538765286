/* write.c - from a trace to a sink: by the requested writer, or the one for the name's extension */
#include "format/format.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/io/temporary.h"
#include "base/options.h"

void hd_write_note(const hd_write_options *options, const char *stage, const char *code, hd_ledger_level level,
                   uint64_t count)
{
    if (!options->ledger || !count) return;
    hd_ledger_row row = {.stage = stage, .code = code, .level = level, .count = count, .first_offset = HD_OFFSET_NONE};
    options->ledger(options->ledger_user, &row);
}

void hd_write_lost_events(const hd_write_options *options, const char *stage, const char *code, uint64_t count)
{
    if (!options->ledger || !count) return;
    hd_ledger_row row = {.stage = stage,
                         .code = code,
                         .level = HD_LEDGER_LOSS,
                         .count = count,
                         .first_offset = HD_OFFSET_NONE,
                         .lost_events = count};
    options->ledger(options->ledger_user, &row);
}

/* ---- strict: losses are counted on their way to the caller's ledger ---- */

typedef struct loss_count {
    const hd_write_options *outer;
    uint64_t losses;
    char first[64]; /* code */
} loss_count;

static void count_losses(void *user, const hd_ledger_row *row)
{
    loss_count *count = user;
    if (row->level == HD_LEDGER_LOSS && count->losses == 0)
        snprintf(count->first, sizeof count->first, "%s", row->code);
    if (row->level == HD_LEDGER_LOSS) count->losses += row->count;
    if (count->outer->ledger) count->outer->ledger(count->outer->ledger_user, row);
}

hd_status hd_write_refused(const hd_write_options *options, const char *path, hd_error *err)
{
    if (!options->strict || options->ledger != count_losses) return HD_OK;
    const loss_count *count = options->ledger_user;
    if (count->losses == 0) return HD_OK;
    return hd_error_set(err, HD_ERR_UNSUPPORTED, path, HD_OFFSET_NONE,
                        "the format cannot hold everything (%s, in all %llu), and strict refuses losses: nothing is "
                        "written",
                        count->first, (unsigned long long)count->losses);
}

/* ---- writing ---- */

static hd_status write_as(const hd_format *format, const hd_trace *trace, hd_byte_sink *sink,
                          const hd_write_options *options, hd_error *err)
{
    hd_output *output;
    hd_output_options output_options = {.level = options->level, .sync = options->sync, .folder = format->is_folder};
    if (options->gzip) output_options.compression = HD_OUTPUT_GZIP;
    HD_TRY(hd_output_create_sink(&output, sink, &output_options, err));
    hd_status status = format->write(trace, output, options, err);
    if (status == HD_OK) status = hd_write_refused(options, sink->name, err);
    if (status == HD_OK) return hd_output_commit(output, err);
    hd_output_abort(output);
    return status;
}

static hd_status find_writer(const hd_format **out, const char *path, const hd_write_options *options, hd_error *err)
{
    *out = options->format ? hd_format_named(options->format, strlen(options->format)) : hd_format_writing(path);
    if (!*out && !options->format) *out = &hd_chrome_format;
    if (*out && (*out)->info.writes) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, path, HD_OFFSET_NONE,
                        "no format \"%s\" can be written; `heddle formats` lists those that can", options->format);
}

hd_status hd_trace_write_to(const hd_trace *trace, hd_byte_sink *sink, const hd_write_options *options, hd_error *err)
{
    hd_bytes_deinit(&sink->memory);
    HD_OWN_OPTIONS(hd_write_options, options, err);
    const hd_format *format;
    HD_TRY(find_writer(&format, sink->name, options, err));
    loss_count count = {.outer = options};
    hd_write_options counted = *options;
    if (options->strict) {
        counted.ledger = count_losses;
        counted.ledger_user = &count;
    }
    return write_as(format, trace, sink, &counted, err);
}

hd_status hd_trace_write(const hd_trace *trace, const char *path, const hd_write_options *options, hd_error *err)
{
    return hd_trace_write_to(trace, &(hd_byte_sink){.name = path}, options, err);
}

hd_status hd_trace_write_check(const char *path, const hd_write_options *options, hd_error *err)
{
    HD_OWN_OPTIONS(hd_write_options, options, err);
    const hd_format *format;
    HD_TRY(find_writer(&format, path, options, err));
    if (format->is_folder) return HD_OK;
    return hd_output_try(path, &(hd_output_options){.level = options->level}, err);
}

void hd_outputs_abandon(void)
{
    hd_leftovers_remove();
}
