/* csv.h - the records of comma-separated values, read as a stream
 *
 * RFC 4180: fields may be quoted; a quote within a quoted field is doubled; a quoted field may contain line ends. A
 * quote that is neither doubled nor before a separator is text, as careless writers produce it. A quoted field without
 * a closing quote ends with its line, and so does one over several lines that contains such a quote, or whose record
 * would not have `expected` fields.
 */
#ifndef HD_BASE_IO_CSV_H
#define HD_BASE_IO_CSV_H

#include "base/io/input.h"

enum { HD_CSV_RECORD_BYTES = 1 << 20, HD_CSV_FIELD_LIMIT = 1024 };

typedef struct hd_csv_field {
    const char *data; /* followed by zero bytes in the buffer, as the JSON scanner requires; valid until the next record
                         */
    size_t size;
    bool doubled, loose; /* for the reader: contains doubled quotes, or other quotes */
} hd_csv_field;

/* Zero-initialise, with `input` set; free with hd_csv_deinit. */
typedef struct hd_csv {
    hd_input *input; /* borrowed */
    size_t expected; /* fields of a record, 0: any number */
    hd_csv_field fields[HD_CSV_FIELD_LIMIT];
    size_t count;        /* of the record: at least 1 */
    bool unclosed, cut;  /* it has an unclosed quote; it exceeds the limit of fields or bytes */
    bool has_zero;       /* it contains a zero byte: text is missing there */
    uint64_t offset;     /* of the record in the decompressed input */
    uint64_t read_bytes; /* of the input so far */
    char *buffer;
    size_t capacity, at, end;
    bool ended;
} hd_csv;

/* The next record that is not an empty line; HD_END. Errors: of hd_input_next; MEMORY. */
hd_status hd_csv_next(hd_csv *csv, hd_error *err);
void hd_csv_deinit(hd_csv *csv);

#endif
