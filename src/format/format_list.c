/* format_list.c - the formats of this build, and the choice among them */
#include "format/format.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/text/ends.h"
#include "format/stack_text.h"
#include "trace/lazy.h"

static const hd_format *const formats[] = {
    &hd_chrome_format,     &hd_heddle_format,   &hd_perfetto_format,
#ifdef HD_HAS_OTF2
    &hd_otf2_format,
#endif
    &hd_sbt_format,        &hd_tfmemory_format, &hd_folded_format,
    &hd_perfscript_format, &hd_cupti_format,    &hd_capture_format,
};

enum { FORMAT_COUNT = sizeof formats / sizeof *formats, SNIFF_BYTES = 4096 };

size_t hd_format_count(void)
{
    return FORMAT_COUNT;
}
const hd_format_info *hd_format_at(size_t index)
{
    return index < FORMAT_COUNT ? &formats[index]->info : NULL;
}

const hd_format_info *hd_format_find(const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (strcmp(formats[i]->info.name, name) == 0) return &formats[i]->info;
    }
    return NULL;
}

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

static const char *compression_name(hd_compression compression)
{
    switch (compression) {
    case HD_COMPRESSION_GZIP: return "gzip";
    case HD_COMPRESSION_ZSTD: return "zstd";
    default: return "none";
    }
}

/* What went wrong below the format. */
static void note_damage(hd_builder *builder, const hd_input *input)
{
    for (size_t i = 0; i < hd_input_damage_count(input); i++) {
        const hd_input_damage *damage = hd_input_damage_at(input, i);
        hd_builder_ledger(builder, "input", damage->code, HD_LEDGER_LOSS, damage->count, damage->offset);
    }
}

static hd_status choose(const hd_format **out, hd_input *input, hd_error *err)
{
    const uint8_t *head;
    size_t size;
    int best = 0;
    HD_TRY(hd_input_peek(input, &head, &size, err));
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        int bid = formats[i]->info.reads ? formats[i]->sniff(head, size) : 0;
        if (bid <= best) continue;
        best = bid;
        *out = formats[i];
    }
    if (best) return HD_OK;
    const char *like = hd_text_looks_like(head, size);
    return hd_error_set(err, HD_ERR_FORMAT, hd_input_path(input), 0,
                        "no reader knows this content%s%s; `heddle formats` lists what can be read",
                        like ? ", which looks like " : "", like ? like : "");
}

hd_status hd_format_note_input(hd_builder *builder, const hd_format *format, const hd_input *input,
                               const hd_read_options *options, hd_error *err)
{
    hd_trace_facts *facts = hd_builder_facts(builder);
    note_damage(builder, input);
    facts->format = format->info.name;
    facts->compression = compression_name(hd_input_compression(input));
    facts->stored_bytes = hd_input_size_bytes(input);
    const hd_input_damage *damage = hd_input_damage_at(input, 0);
    if (options->strict && damage)
        return hd_error_set(err, HD_ERR_DAMAGED, hd_input_path(input), damage->offset,
                            "%s: the compressed data are damaged, and --strict refuses repairs", damage->code);
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

/* A trace without an event or metadata, of whose input something was lost, is an error: it would look as if all were
 * well. What a store tells of the losses of earlier steps does not count. */
static hd_status refuse_nothing(hd_trace **trace, const hd_format *format, const hd_input *input, hd_error *err)
{
    const hd_ledger_row *most = NULL;
    if (has_content(*trace)) return HD_OK;
    for (size_t i = 0; i < hd_trace_ledger_count(*trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(*trace, i);
        bool own = strcmp(row->stage, format->info.name) == 0 || strcmp(row->stage, "input") == 0;
        if (own && row->level == HD_LEDGER_LOSS && (!most || row->count > most->count)) most = row;
    }
    if (!most) return HD_OK;
    hd_error_set(err, HD_ERR_DAMAGED, hd_input_path(input), most->first_offset,
                 "nothing of it can be read as %s (%s: %llu); `heddle formats` lists what can be read",
                 format->info.name, most->code, (unsigned long long)most->count);
    hd_trace_free(*trace);
    *trace = NULL;
    return HD_ERR_DAMAGED;
}

static hd_status read_as(hd_trace **out, const hd_format *format, hd_input *input, const hd_read_options *options,
                         hd_error *err)
{
    hd_builder *builder;
    if (format->read_path) return format->read_path(out, hd_input_path(input), options, err);
    if (format->read_input) return format->read_input(out, input, options, err);
    HD_TRY(hd_builder_new(&builder, err));
    hd_builder_limit_memory(builder, options->memory_limit);
    hd_status status = format->read(builder, input, options, err);
    if (status == HD_OK) status = hd_format_note_input(builder, format, input, options, err);
    if (status == HD_OK) return hd_builder_finish(out, builder, err);
    hd_builder_free(builder);
    if (err && !err->path[0]) hd_error_set_path(err, hd_input_path(input));
    return status;
}

hd_status hd_format_read(hd_trace **out, hd_input *input, const hd_read_options *options, hd_error *err)
{
    static const hd_read_options defaults = {0};
    const hd_format *format = NULL;
    *out = NULL;
    if (!options) options = &defaults;
    HD_TRY(choose(&format, input, err));
    hd_status status = read_as(out, format, input, options, err);
    if (status == HD_OK) return refuse_nothing(out, format, input, err);
    /* What the reader was at stands behind the name of the file. */
    if (err && err->cause_count) hd_error_add_cause(err, "cannot read %.240s", hd_input_path(input));
    return status;
}

static bool has_extension(const hd_format *format, const char *path, size_t size);

/* Whether a file of that name is likely to be a trace. */
static bool is_named_as_a_trace(const char *name)
{
    size_t size = strlen(name);
    if (hd_ends_with(name, size, ".gz"))
        size -= 3;
    else if (hd_ends_with(name, size, ".zst"))
        size -= 4;
    for (size_t i = 0; i < FORMAT_COUNT && name[0] != '.'; i++) {
        if (has_extension(formats[i], name, size)) return true;
    }
    return false;
}

/* What a folder without an archive has, and what to write instead of its name. */
static hd_status say_what_to_name(const char *folder, size_t traces, const char *example, hd_error *err)
{
    if (traces == 0)
        return hd_error_set(err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE,
                            "a folder is read if it holds an OTF2 archive; there is no *.otf2 in this one, and no file "
                            "that is named as a trace");
    if (traces == 1)
        return hd_error_set(err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE,
                            "a folder is read if it holds an OTF2 archive; there is no *.otf2 in this one. Name its "
                            "trace: %s/%s",
                            folder, example);
    return hd_error_set(
        err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE,
        "a folder is read if it holds an OTF2 archive; there is no *.otf2 in this one. %zu of its files "
        "are named as traces, as %s: name them, as %s/*%s",
        traces, example, folder, strchr(example, '.') ? strchr(example, '.') : "");
}

/* The one file *.otf2 of a folder, as FOLDER/NAME; which is what a folder can be read as. */
static hd_status find_anchor(char **out, const char *folder, hd_error *err)
{
    DIR *entries = opendir(folder);
    size_t count = 0, traces = 0;
    char example[256] = "";
    *out = NULL;
    if (!entries) return hd_error_set(err, HD_ERR_IO, folder, HD_OFFSET_NONE, "cannot be opened: %s", strerror(errno));
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        size_t size = strlen(entry->d_name);
        if (size < 6 || strcmp(entry->d_name + size - 5, ".otf2") != 0) {
            if (size >= sizeof example || !is_named_as_a_trace(entry->d_name)) continue;
            if (traces++ == 0 || strcmp(entry->d_name, example) < 0) memcpy(example, entry->d_name, size + 1);
            continue;
        }
        if (count++) continue;
        *out = malloc(strlen(folder) + size + 2);
        if (*out) sprintf(*out, "%s/%s", folder, entry->d_name);
    }
    closedir(entries);
    if (count == 1) return *out ? HD_OK : HD_NOMEM(err);
    free(*out);
    *out = NULL;
    if (count)
        return hd_error_set(err, HD_ERR_FORMAT, folder, HD_OFFSET_NONE,
                            "%zu archives (*.otf2) are in this folder: name the one to read", count);
    return say_what_to_name(folder, traces, example, err);
}

static hd_status read_folder(hd_trace **out, const char *folder, const hd_read_options *options, hd_error *err)
{
    char *anchor;
    struct stat info;
    HD_TRY(find_anchor(&anchor, folder, err));
    hd_status status;
    if (stat(anchor, &info) == 0 && S_ISDIR(info.st_mode)) /* no folders in folders, which could go on for ever */
        status = hd_error_set(err, HD_ERR_FORMAT, anchor, HD_OFFSET_NONE, "is a folder, not the file of an archive");
    else
        status = hd_trace_read(out, anchor, options, err);
    free(anchor);
    return status;
}

hd_status hd_trace_read(hd_trace **out, const char *path, const hd_read_options *options, hd_error *err)
{
    hd_input *input;
    struct stat info;
    *out = NULL;
    if (strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return read_folder(out, path, options, err);
    hd_input_options input_options = {.spool = options && options->keep_input};
    HD_TRY(hd_input_open(&input, path, &input_options, err));
    hd_status status = hd_format_read(out, input, options, err);
    hd_input_close(input);
    return status;
}

/* Whether a path ends with one of the extensions of a format. */
static bool has_extension(const hd_format *format, const char *path, size_t size)
{
    char extensions[128];
    char *rest = NULL;
    snprintf(extensions, sizeof extensions, "%s", format->info.extensions);
    for (char *one = strtok_r(extensions, " ", &rest); one; one = strtok_r(NULL, " ", &rest)) {
        if (hd_ends_with(path, size, one)) return true;
    }
    return false;
}

/* By the extension under that of the compression; NULL for unknown ones. */
static const hd_format *format_for(const char *path)
{
    size_t size = strlen(path);
    if (hd_ends_with(path, size, ".gz"))
        size -= 3;
    else if (hd_ends_with(path, size, ".zst"))
        size -= 4;
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (formats[i]->info.writes && has_extension(formats[i], path, size)) return formats[i];
    }
    return NULL;
}

const hd_format_info *hd_format_for_path(const char *path)
{
    const hd_format *format = format_for(path);
    return format ? &format->info : NULL;
}

static const hd_format *format_named(const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (formats[i]->info.writes && strcmp(formats[i]->info.name, name) == 0) return formats[i];
    }
    return NULL;
}

/* ---- strict: losses are counted on their way to the caller's ledger --------------------------------------------- */

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

static hd_status write_stream(const hd_format *format, const hd_trace *trace, const char *path,
                              const hd_write_options *options, hd_error *err)
{
    hd_output *output;
    hd_output_options output_options = {.level = options->level, .sync = options->sync};
    if (options->gzip) output_options.compression = HD_OUTPUT_GZIP;
    HD_TRY(hd_output_create(&output, path, &output_options, err));
    hd_status status = format->write(trace, output, options, err);
    if (status == HD_OK) status = hd_write_refused(options, path, err);
    if (status == HD_OK) return hd_output_commit(output, err);
    hd_output_abort(output);
    return status;
}

static hd_status find_writer(const hd_format **out, const char *path, const hd_write_options *options, hd_error *err)
{
    *out = options->format ? format_named(options->format) : format_for(path);
    if (!*out && !options->format) *out = &hd_chrome_format;
    if (*out) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, path, HD_OFFSET_NONE,
                        "no format \"%s\" can be written; `heddle formats` lists those that can", options->format);
}

hd_status hd_trace_write(const hd_trace *trace, const char *path, const hd_write_options *options, hd_error *err)
{
    static const hd_write_options defaults = {0};
    if (!options) options = &defaults;
    const hd_format *format;
    HD_TRY(find_writer(&format, path, options, err));
    loss_count count = {.outer = options};
    hd_write_options counted = *options;
    if (options->strict) {
        counted.ledger = count_losses;
        counted.ledger_user = &count;
    }
    if (!format->write_path) return write_stream(format, trace, path, &counted, err);
    HD_TRY(format->write_path(trace, path, &counted, err));
    return hd_write_refused(&counted, path, err);
}

hd_status hd_trace_write_check(const char *path, const hd_write_options *options, hd_error *err)
{
    static const hd_write_options defaults = {0};
    const hd_format *format;
    if (!options) options = &defaults;
    HD_TRY(find_writer(&format, path, options, err));
    if (format->write_path) return HD_OK;
    return hd_output_try(path, &(hd_output_options){.level = options->level}, err);
}
