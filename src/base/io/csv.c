/* csv.c - splitting a buffer into records and fields */
#include "base/io/csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"

enum { STEP = 256 << 10, PADDING = 64 };

void hd_csv_deinit(hd_csv *csv)
{
    free(csv->buffer);
}

static hd_status fill(hd_csv *csv, hd_error *err)
{
    size_t got = 0;
    if (csv->at) memmove(csv->buffer, csv->buffer + csv->at, csv->end - csv->at);
    csv->end -= csv->at;
    csv->at = 0;
    if (!hd_reserve(&csv->buffer, &csv->capacity, csv->end + STEP + PADDING)) return HD_NOMEM(err);
    hd_status status = hd_input_next(csv->input, csv->buffer + csv->end, csv->capacity - PADDING - csv->end, &got, err);
    if (status != HD_OK && status != HD_END) return status;
    csv->ended = status == HD_END;
    csv->end += got;
    csv->read_bytes += got;
    memset(csv->buffer + csv->end, 0, PADDING);
    return HD_OK;
}

static bool is_separator(const char *p, const char *end)
{
    return p == end || *p == ',' || *p == '\n' || (*p == '\r' && (p + 1 == end || p[1] == '\n'));
}

/* The position after the closing quote of the field at p; NULL: none before `end`. */
static const char *quoted_end(hd_csv_field *out, const char *p, const char *end)
{
    *out = (hd_csv_field){.data = p};
    while ((p = memchr(p, '"', (size_t)(end - p))) != NULL) {
        if (p + 1 < end && p[1] == '"') {
            out->doubled = true;
            p += 2;
        } else if (is_separator(p + 1, end)) {
            out->size = (size_t)(p - out->data);
            return p + 1;
        } else {
            out->loose = true;
            p++;
        }
    }
    return NULL;
}

static const char *plain_end(hd_csv_field *out, const char *p, const char *end)
{
    *out = (hd_csv_field){.data = p};
    while (p < end && *p != ',' && *p != '\n') p++;
    out->size = (size_t)(p - out->data);
    if (out->size && (p == end || *p == '\n') && p[-1] == '\r') out->size--;
    return p;
}

/* Splits [p, end) into fields up to the end of the record, and returns that position; NULL: a quote is open at the
 * end. */
static const char *split(hd_csv *csv, const char *p, const char *end)
{
    for (csv->count = 0;; p++) {
        hd_csv_field field;
        p = p < end && *p == '"' ? quoted_end(&field, p + 1, end) : plain_end(&field, p, end);
        if (!p) return NULL;
        if (csv->count < HD_CSV_FIELD_LIMIT)
            csv->fields[csv->count++] = field;
        else
            csv->cut = true;
        if (p < end && *p == '\r') p++;
        if (p == end || *p == '\n') return p;
    }
}

static void undouble(hd_csv_field *field)
{
    char *out = (char *)field->data;
    size_t size = 0;
    for (size_t i = 0; i < field->size; i++) {
        out[size++] = field->data[i];
        i += field->data[i] == '"' && i + 1 < field->size && field->data[i + 1] == '"';
    }
    field->size = size;
}

/* Splits a single line, in which a quote may stay open. */
static const char *split_line(hd_csv *csv, const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p)), *line_end = newline ? newline : end;
    const char *stop = split(csv, p, line_end);
    csv->unclosed = !stop;
    if (stop) return line_end;
    hd_csv_field rest; /* the text after the last complete field */
    const char *from = csv->count ? csv->fields[csv->count - 1].data + csv->fields[csv->count - 1].size : p;
    while (from < line_end && *from != ',') from++;
    if (from < line_end && csv->count && csv->count < HD_CSV_FIELD_LIMIT) {
        plain_end(&rest, from + 1, line_end);
        csv->fields[csv->count++] = rest;
    }
    if (!csv->count) csv->fields[csv->count++] = (hd_csv_field){.data = p, .size = (size_t)(line_end - p)};
    return line_end;
}

static bool has_newline(const char *p, const char *end)
{
    return memchr(p, '\n', (size_t)(end - p)) != NULL;
}

static bool has_loose_quote(const hd_csv *csv)
{
    for (size_t i = 0; i < csv->count; i++)
        if (csv->fields[i].loose) return true;
    return false;
}

hd_status hd_csv_next(hd_csv *csv, hd_error *err)
{
    if (!csv->buffer) HD_TRY(fill(csv, err));
    for (;;) {
        const char *p = csv->buffer + csv->at, *end = csv->buffer + csv->end;
        while (csv->at < csv->end && (*p == '\n' || *p == '\r')) p++, csv->at++;
        csv->unclosed = csv->cut = false;
        const char *stop = csv->at < csv->end ? split(csv, p, end) : NULL;
        bool is_long = csv->end - csv->at >= HD_CSV_RECORD_BYTES;
        if ((!stop || stop == end) && !csv->ended && !is_long) {
            HD_TRY(fill(csv, err));
            continue;
        }
        if (csv->at == csv->end) return HD_END;
        bool is_odd =
            stop && has_newline(p, stop) && ((csv->expected && csv->count != csv->expected) || has_loose_quote(csv));
        if (!stop || is_odd || (size_t)(stop - p) > HD_CSV_RECORD_BYTES) stop = split_line(csv, p, end);
        csv->cut |= stop == end && !csv->ended; /* a line beyond the limit: its rest is a record of its own */
        csv->has_zero = memchr(p, 0, (size_t)(stop - p)) != NULL;
        for (size_t i = 0; i < csv->count; i++)
            if (csv->fields[i].doubled) undouble(&csv->fields[i]);
        csv->offset = csv->read_bytes - csv->end + csv->at;
        if (stop == end && csv->ended) hd_input_note_cut(csv->input, csv->offset);
        csv->at = (size_t)(stop - csv->buffer) + (stop < end);
        return HD_OK;
    }
}
