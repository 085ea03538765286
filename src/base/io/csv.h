/* csv.h - the records of comma-separated values, read as a stream
 *
 * RFC 4180: fields may stand in quotes, a quote within them is doubled, and a quoted field may hold ends of lines. A
 * quote that is neither doubled nor before a separator is text, as careless writers have it. A quoted field that does
 * not close ends with its line, and so does one over several lines that holds such a quote, or whose record would not
 * have `expected` fields.
 */
#ifndef HD_BASE_IO_CSV_H
#define HD_BASE_IO_CSV_H

#include "base/io/input.h"

enum { HD_CSV_RECORD_BYTES = 1 << 20, HD_CSV_FIELD_LIMIT = 1024 };

typedef struct hd_csv_field {
    const char *data; /* zero bytes stand behind the buffer, as JSON wants them; valid until the next record */
    size_t size;
    bool doubled, loose; /* of the reader: holds doubled quotes, others */
} hd_csv_field;

/* Zero-initialise, with `input` set; free with hd_csv_deinit. */
typedef struct hd_csv {
    hd_input *input; /* borrowed */
    size_t expected; /* fields of a record, 0: any number */
    hd_csv_field fields[HD_CSV_FIELD_LIMIT];
    size_t count;        /* of the record: at least 1 */
    bool unclosed, cut;  /* it has a quote that does not close; more fields, or more bytes, than the limits */
    bool has_zero;       /* a byte of it is 0: text is missing there */
    uint64_t offset;     /* of the record in the decompressed input */
    uint64_t read_bytes; /* of the input so far */
    char *buffer;
    size_t capacity, at, end;
    bool ended;
} hd_csv;

/* The next record that is no empty line; HD_END. Errors: of hd_input_next; MEMORY. */
hd_status hd_csv_next(hd_csv *csv, hd_error *err);
void hd_csv_deinit(hd_csv *csv);

#endif
