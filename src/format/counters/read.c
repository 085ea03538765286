/* read.c - reads the lines of tables: a row is a GPU at a time, a column is a counter */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/ends.h"
#include "format/counters/counters.h"
#include "format/format.h"
#include "format/numbers.h"
#include "trace/clock.h"
#include "trace/text.h"

enum { NUMBER_BYTES = 100 };

/* ---- what is counted ---- */

static const struct {
    const char *code;
    hd_ledger_level level;
} codes[COUNTERS_CODES] = {
    [LOST_LINES] = {"counters.line-unreadable", HD_LEDGER_LOSS},
    [LOST_VALUES] = {"counters.value-unreadable", HD_LEDGER_LOSS},
    [MISSING_VALUES] = {"counters.value-missing", HD_LEDGER_NOTE},
    [TEXT_VALUES] = {"counters.text-left-out", HD_LEDGER_NOTE},
    [NO_TIMES] = {"counters.no-time", HD_LEDGER_NOTE},
    [LOCAL_TIMES] = {"counters.local-time", HD_LEDGER_NOTE},
};

void counters_count(counters_reader *r, size_t code, const hd_line *line)
{
    if (!r->tally[code].count++) r->tally[code].offset = line->offset;
}

/* ---- values ---- */

static bool is_unit(const char *text, size_t size)
{
    if (!size) return true;
    if (size > 16 || !strchr("%/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *text)) return false;
    for (size_t i = 0; i < size; i++)
        if (hd_is_digit(text[i]) || text[i] == ' ' || text[i] == '.') return false;
    return true;
}

static bool is_one_of(hd_string text, const char *const *words)
{
    while (*words && !counters_is_text(text, *words)) words++;
    return *words != NULL;
}

counters_value counters_parse_value(hd_string text)
{
    static const char *const missing[] = {"", "-", "N/A", "NaN", "+Inf", "-Inf", "Inf", "Not Supported", NULL};
    static const char *const yes[] = {"Active", NULL}, *const no[] = {"Not Active", NULL};
    counters_value value = {.number = {"1", 1}, .unit = {"", 0}};
    if (is_one_of(text, missing) || (*text.data == '[' && text.data[text.size - 1] == ']')) {
        value.is_missing = true;
        return value;
    }
    value.is_number = true;
    if (is_one_of(text, yes)) return value;
    if (is_one_of(text, no)) value.number.data = "0";
    if (*value.number.data == '0') return value;
    if (*text.data == '(' && text.data[text.size - 1] == ')') text.data++, text.size -= 2;
    if (text.size >= 2 && text.size <= 3 && *text.data == 'P') text.data++, text.size--; /* performance state P0 */
    value.number = text;
    if (text.size > 2 && text.data[0] == '0' && (text.data[1] == 'x' || text.data[1] == 'X')) return value;
    size_t digits = text.size && *text.data == '-';
    while (digits < text.size && (hd_is_digit(text.data[digits]) || text.data[digits] == '.' ||
                                  (digits && strchr("eE", text.data[digits]) && digits + 1 < text.size &&
                                   (hd_is_digit(text.data[digits + 1]) || strchr("+-", text.data[digits + 1]))) ||
                                  (digits && strchr("+-", text.data[digits]) && strchr("eE", text.data[digits - 1]))))
        digits++;
    value.number.size = digits;
    value.unit = hd_text_trim(text.data + digits, text.size - digits);
    const char *point = memchr(text.data, '.', digits);
    bool is_version = point && memchr(point + 1, '.', digits - (size_t)(point + 1 - text.data));
    value.is_number =
        digits && !is_version && hd_is_digit(text.data[digits - 1]) && is_unit(value.unit.data, value.unit.size);
    return value;
}

hd_status counters_add(counters_reader *r, uint32_t track, uint32_t name, int64_t time_ns, const counters_value *value,
                       hd_string id)
{
    char number[NUMBER_BYTES + HD_JSON_PADDING] = {0};
    int64_t whole;
    hd_json_number n;
    hd_row row = hd_row_of(HD_KIND_COUNTER, 'C');
    memcpy(number, value->number.data, value->number.size);
    row.track = track;
    row.name = name;
    row.start_ns = time_ns;
    if (id.size) {
        row.id_type = HD_ID_STRING;
        row.id = hd_args_intern(&r->args, id.data, id.size);
    }
    bool is_hex = value->number.size > 2 && (number[1] == 'x' || number[1] == 'X');
    if (is_hex) number[1] = 'x';
    hd_json_span span = {number, value->number.size};
    if (is_hex && !hd_json_span_int(&whole, span)) return HD_END;
    if (!is_hex && hd_json_scan_number(&n, number) != number + span.size) return HD_END;
    if (is_hex && r->args.wanted)
        hd_args_add(&r->args, r->key, HD_ARG_INT, whole, HD_SCOPE_ARGS);
    else if (!is_hex)
        hd_args_plain(&r->args, r->key, span);
    return hd_args_add_row(&r->args, &row, r->err);
}

uint32_t counters_track(counters_reader *r, hd_string gpu, hd_string label)
{
    int64_t number = 0;
    int size = gpu.size > 120 ? 120 : (int)gpu.size;
    bool is_named = size > 0 && !hd_is_digit(*gpu.data); /* "metrics", "GPU-3c5f…" */
    uint32_t name = size == 0  ? hd_builder_intern_text(r->builder, "GPU counters")
                    : is_named ? hd_intern_format(r->builder, "%.*s counters", size, gpu.data)
                               : hd_intern_format(r->builder, "GPU %.*s counters", size, gpu.data);
    if (name == HD_STRING_NONE) return HD_NONE;
    uint32_t track = hd_builder_track(r->builder, (hd_ident){HD_IDENT_STRING, name}, (hd_ident){0}, true);
    if (track == HD_NONE) return track;
    if (!hd_text_int(&number, gpu.data, gpu.size) || number < 0 || number > HD_SORT_MONITORS) number = 0;
    hd_builder_name_track(r->builder, track, name);
    hd_sort_numbered(r->builder, track, HD_SORT_MONITORS, number);
    if (label.size) hd_builder_label_track(r->builder, track, hd_args_intern(&r->args, label.data, label.size));
    return track;
}

/* ---- rows ---- */

typedef struct table_row {
    hd_string gpu, uuid, label, stamp, date, clock;
} table_row;

/* "card0" of rocm-smi, and dmon's number. */
static hd_string number_of(hd_string text)
{
    bool is_card = hd_starts_with(text.data, text.size, "card") && text.size > 4;
    return is_card ? (hd_string){text.data + 4, text.size - 4} : text;
}

static void sort_fields(counters_reader *r, table_row *row, const hd_string *fields)
{
    for (size_t i = 0; i < r->column_count; i++) {
        switch (r->columns[i].role) {
        case COUNTERS_STAMP: row->stamp = fields[i]; break;
        case COUNTERS_DATE: row->date = fields[i]; break;
        case COUNTERS_CLOCK: row->clock = fields[i]; break;
        case COUNTERS_NUMBER: row->gpu = number_of(fields[i]); break;
        case COUNTERS_UUID: row->uuid = row->uuid.size ? row->uuid : fields[i]; break;
        case COUNTERS_LABEL: row->label = fields[i]; break;
        case COUNTERS_VALUE: break;
        }
    }
    if (!row->gpu.size) row->gpu = row->uuid;
}

static bool find_time(counters_reader *r, int64_t *out_ns, const table_row *row, uint32_t track, const hd_line *line)
{
    bool is_known;
    if (row->stamp.size || (row->clock.size && !row->date.size)) {
        hd_string text = row->stamp.size ? row->stamp : row->clock;
        is_known = counters_time_parse(&r->times, out_ns, text.data, text.size);
    } else if (row->date.size) {
        is_known = counters_time_of_two(&r->times, out_ns, row->date, row->clock);
    } else {
        is_known = counters_time_of_row(&r->times, out_ns, track);
        counters_count(r, NO_TIMES, line);
    }
    if (is_known && (r->times.clock == COUNTERS_LOCAL || r->times.clock == COUNTERS_DAY))
        counters_count(r, LOCAL_TIMES, line);
    return is_known;
}

static hd_status add_field(counters_reader *r, counters_column *column, uint32_t track, int64_t time_ns,
                           hd_string field, const hd_line *line)
{
    counters_value value = counters_parse_value(field);
    if (value.is_missing || !value.is_number) {
        counters_count(r, value.is_missing ? MISSING_VALUES : TEXT_VALUES, line);
        return HD_OK;
    }
    if (column->name == HD_STRING_NONE)
        column->name = counters_name(r->builder, hd_builder_string(r->builder, column->title), value.unit);
    hd_status status = HD_END;
    if (value.number.size <= NUMBER_BYTES)
        status = counters_add(r, track, column->name, time_ns, &value, (hd_string){"", 0});
    if (status != HD_END) return status;
    counters_count(r, LOST_VALUES, line);
    return HD_OK;
}

static hd_status add_row(counters_reader *r, const hd_string *fields, const hd_line *line)
{
    table_row row = {0};
    int64_t time_ns;
    sort_fields(r, &row, fields);
    uint32_t track = counters_track(r, row.gpu, row.label);
    if (track == HD_NONE) return HD_NOMEM(r->err);
    if (!find_time(r, &time_ns, &row, track, line)) {
        counters_count(r, LOST_LINES, line);
        return HD_OK;
    }
    for (size_t i = 0; i < r->column_count; i++) {
        if (r->columns[i].role == COUNTERS_VALUE) HD_TRY(add_field(r, &r->columns[i], track, time_ns, fields[i], line));
    }
    return HD_OK;
}

/* ---- columns ---- */

static void set_columns(counters_reader *r, const hd_string *titles, size_t count)
{
    r->column_count = count;
    for (size_t i = 0; i < count; i++) r->columns[i] = counters_column_of(r->builder, titles[i], (hd_string){"", 0});
}

/* Units below the names, as dmon and dcgmi print them. */
static void set_units(counters_reader *r, const hd_string *units, size_t count)
{
    for (size_t i = 0; i < count && count == r->column_count; i++) {
        counters_column *column = &r->columns[i];
        if (column->role != COUNTERS_VALUE) continue;
        *column = counters_column_of(r->builder, hd_builder_string(r->builder, column->title), units[i]);
    }
}

static bool is_uuid(hd_string text)
{
    return hd_starts_with(text.data, text.size, "GPU-") || hd_starts_with(text.data, text.size, "MIG-") ||
           (text.size == 16 && text.data[8] == ':' && text.data[11] == ':' && text.data[14] == '.');
}

/* Without names: the number of the GPU is the column that counts 0, 1, … again and again, as the rows of a time do; of
 * one GPU there is none. */
static size_t find_counting(const char *text, size_t size)
{
    hd_string fields[COUNTERS_FIELDS];
    int64_t most[COUNTERS_FIELDS] = {0}, last[COUNTERS_FIELDS] = {0}, value;
    bool counts[COUNTERS_FIELDS];
    size_t columns = 0, lines = 0;
    for (const char *at = text, *end = text + size, *stop; (stop = memchr(at, '\n', (size_t)(end - at)));
         at = stop + 1) {
        hd_string line = hd_text_trim(at, (size_t)(stop - at));
        size_t count = counters_split(fields, line.data, line.size, true);
        if (count == SIZE_MAX || (lines && count != columns)) break;
        for (size_t i = 0; i < count; i++) {
            bool is_number = hd_text_int(&value, fields[i].data, fields[i].size);
            if (!lines) {
                counts[i] = is_number && value == 0;
            } else {
                bool is_next = is_number && (value == 0 || (value > 0 && value - 1 == last[i]));
                bool is_short = is_next && value == 0 && most[i] && last[i] != most[i];
                bool is_new = is_next && value > most[i] && lines > (size_t)most[i] + 1;
                counts[i] &= is_next && !is_short && !is_new;
            }
            if (!is_number) continue;
            last[i] = value;
            if (counts[i] && value > most[i]) most[i] = value;
        }
        columns = count;
        lines++;
    }
    for (size_t i = 0; i < columns; i++)
        if (counts[i] && most[i] > 0) return i;
    return SIZE_MAX;
}

static void set_bare_columns(counters_reader *r, const hd_string *fields, size_t count)
{
    counters_times times = {0};
    int64_t ignored;
    for (size_t i = 0; i < count; i++) {
        uint32_t title = hd_intern_format(r->builder, "column %zu", i + 1);
        bool is_stamp = fields[i].size > 8 && counters_time_parse(&times, &ignored, fields[i].data, fields[i].size) &&
                        times.clock == COUNTERS_LOCAL;
        r->columns[i] = (counters_column){.role = i == r->number_column ? COUNTERS_NUMBER
                                                  : is_stamp            ? COUNTERS_STAMP
                                                  : is_uuid(fields[i])  ? COUNTERS_UUID
                                                                        : COUNTERS_VALUE,
                                          .title = title};
    }
    r->column_count = count;
    r->has_columns = true;
}

/* ---- lines ---- */

/* A row of names, or of units: it may come again. */
static bool is_head(counters_reader *r, hd_string text)
{
    hd_string fields[COUNTERS_FIELDS];
    if (!text.size || *text.data != '#') return false;
    text = hd_text_trim(text.data + 1, text.size - 1);
    size_t count = counters_split(fields, text.data, text.size, r->commas);
    if (count == SIZE_MAX || !count) return false;
    bool is_units = hd_starts_with(fields[0].data, fields[0].size, "Idx") ||
                    hd_starts_with(fields[0].data, fields[0].size, "YYYY") ||
                    hd_starts_with(fields[0].data, fields[0].size, "HH:");
    if (is_units)
        set_units(r, fields, count);
    else
        set_columns(r, fields, count);
    return true;
}

/* "GPU 0", "GPU-I 3", and the values. Below the names there is "ID", and there may be units. */
static hd_status add_entity(counters_reader *r, hd_string *fields, size_t count, const hd_line *line)
{
    char entity[64];
    if (count && counters_is_text(fields[0], "Id")) {
        set_units(r, fields, count);
        return HD_OK;
    }
    if (count != r->column_count + 1 || count < 2 || fields[0].size + fields[1].size > 40) {
        counters_count(r, LOST_LINES, line);
        return HD_OK;
    }
    bool is_gpu = hd_string_is(fields[0], "GPU");
    int size = snprintf(entity, sizeof entity, "%.*s %.*s", (int)fields[0].size, fields[0].data, (int)fields[1].size,
                        fields[1].data);
    if (!is_gpu) fields[1] = (hd_string){entity, (size_t)size};
    return add_row(r, fields + 1, line);
}

static hd_status add_line(counters_reader *r, const hd_line *line)
{
    hd_string fields[COUNTERS_FIELDS], text = hd_text_trim(line->text, line->size);
    if (!text.size) return HD_OK;
    if (r->dialect == COUNTERS_METRICS) return counters_metrics_line(r, line);
    bool has_heads = r->dialect == COUNTERS_DMON || r->dialect == COUNTERS_DCGMI;
    if (has_heads && is_head(r, text)) {
        if (r->dialect == COUNTERS_DCGMI) r->columns[0].role = COUNTERS_NUMBER;
        return HD_OK;
    }
    size_t count = counters_split(fields, text.data, text.size, r->commas);
    if (count != SIZE_MAX && r->dialect == COUNTERS_DCGMI) return add_entity(r, fields, count, line);
    bool is_title =
        count && count != SIZE_MAX && r->dialect == COUNTERS_CSV &&
        (!r->column_count || counters_dialect_of((const unsigned char *)text.data, text.size) == COUNTERS_CSV);
    if (is_title) {
        set_columns(r, fields, count);
        return HD_OK;
    }
    if (r->dialect == COUNTERS_BARE && !r->has_columns) set_bare_columns(r, fields, count == SIZE_MAX ? 0 : count);
    if (count == r->column_count) return add_row(r, fields, line);
    counters_count(r, LOST_LINES, line);
    return HD_OK;
}

static hd_status read_lines(counters_reader *r, hd_lines *lines)
{
    hd_status status;
    hd_line line;
    bool is_cut = false;
    while ((status = hd_lines_next(&line, lines, r->err)) == HD_OK) {
        bool is_rest = is_cut;
        is_cut = line.cut;
        if (line.offset == 0 && hd_starts_with(line.text, line.size, "\xef\xbb\xbf")) line.text += 3, line.size -= 3;
        if (line.cut || is_rest || line.has_zero) {
            if (!is_rest) counters_count(r, LOST_LINES, &line);
            continue;
        }
        HD_TRY(add_line(r, &line));
    }
    return status == HD_END ? HD_OK : status;
}

static hd_status finish(counters_reader *r, uint64_t input_bytes)
{
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    facts->input_bytes = input_bytes;
    facts->base_ns = r->times.clock == COUNTERS_UNIX ? 0 : HD_NO_TIME;
    const char *from = r->times.clock == COUNTERS_DAY    ? "day"
                       : r->times.clock == COUNTERS_ROWS ? "rows"
                                                         : r->times.first_date;
    if (r->times.clock > COUNTERS_UNIX) {
        uint32_t key = hd_builder_intern_text(r->builder, HD_COUNTERS_CLOCK);
        hd_builder_metadata(r->builder, key, hd_intern_format(r->builder, "\"%s\"", from), true);
    }
    for (size_t i = 0; i < COUNTERS_CODES; i++)
        if (r->tally[i].count)
            hd_builder_ledger(r->builder, "counters", codes[i].code, codes[i].level, r->tally[i].count,
                              r->tally[i].offset);
    return hd_args_finish(&r->args, r->err);
}

hd_status counters_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    const uint8_t *head;
    size_t size;
    hd_lines lines = {.input = input};
    HD_TRY(hd_input_peek(input, &head, &size, err));
    counters_reader *r = calloc(1, sizeof *r);
    if (!r) return HD_NOMEM(err);
    r->builder = builder;
    r->err = err;
    r->dialect = counters_dialect_of(head, size);
    const char *end = memchr(head, '\n', size);
    r->commas = r->dialect == COUNTERS_CSV || r->dialect == COUNTERS_BARE ||
                (r->dialect == COUNTERS_DMON && memchr(head, ',', end ? (size_t)(end - (const char *)head) : size));
    if (r->dialect == COUNTERS_BARE) r->number_column = find_counting((const char *)head, size);
    r->key = hd_builder_intern_text(builder, "value");
    hd_status status = hd_args_init(&r->args, builder, options, err);
    if (status == HD_OK) status = read_lines(r, &lines);
    if (status == HD_OK) status = finish(r, lines.read_bytes);
    hd_args_deinit(&r->args);
    hd_memo_deinit(&r->names);
    hd_bytes_deinit(&r->id);
    hd_lines_deinit(&lines);
    free(r);
    return status;
}
