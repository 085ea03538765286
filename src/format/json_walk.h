/* json_walk.h - walks a JSON document other than a list of events: members and items one by one, with damage handled
 * locally
 *
 *     bool first = true;
 *     while ((status = hd_walk_member(&key, &w, &at, &first)) == HD_OK)
 *         if (hd_string_is(key, "frames")) … else HD_TRY(hd_walk_skip(&span, &w, &at));
 *     if (status != HD_END) return status;
 *
 * Damage affects only the value that contains it: an invalid object is repaired by repair/repair.h; if that fails, the
 * bytes up to the next comma or bracket of the same level are skipped. Each is a row of the ledger, or with --strict an
 * error.
 */
#ifndef HD_FORMAT_JSON_WALK_H
#define HD_FORMAT_JSON_WALK_H

#include "base/json/json.h"
#include "base/json/write.h"
#include "base/memory/arena.h"
#include "format/format.h"
#include "format/repair/repair.h"
#include "trace/text.h"

/* The position of a value in the text. */
typedef struct hd_walk_span {
    const char *data;
    size_t size;
} hd_walk_span;

/* Static texts. */
typedef struct hd_walk_about {
    const char *title;               /* "memory profile" */
    const char *stage;               /* of the ledger */
    const char *damaged, *truncated; /* codes */
} hd_walk_about;

typedef struct hd_json_walk {
    hd_walk_about about;
    hd_builder *builder;
    const hd_read_options *options;
    hd_error *err;
    const char *text; /* padded with zero bytes */
    size_t size;
    bool cut;   /* the end of the text was reached and reported */
    bool lost;  /* something was left out */
    bool quiet; /* set by the caller: damage is not reported, since it will be found again */
    hd_bytes bytes;
    hd_json_repair repair;
    hd_arena mended;      /* repaired values */
    size_t mended_offset; /* offset of the text that they replace */
    char *scratch;
    size_t scratch_capacity;
} hd_json_walk;

/* All of the input becomes the text. Free it with hd_walk_deinit, also after an error. Errors: of hd_input_all. */
hd_status hd_walk_init(hd_json_walk *w, const hd_walk_about *about, hd_builder *builder, hd_input *input,
                       uint64_t limit, const hd_read_options *options, hd_error *err);
void hd_walk_deinit(hd_json_walk *w);
/* The first value of the document. */
const char *hd_walk_start(const hd_json_walk *w);

/* Skips the text at p: a row of the ledger, or with --strict an error. */
hd_status hd_walk_lose(hd_json_walk *w, const char *p, const char *what);
/* The same for a value that failed with `status`; errors other than damage are returned. */
hd_status hd_walk_pass(hd_json_walk *w, hd_status status);
/* An error at p. */
hd_status hd_walk_damaged(const hd_json_walk *w, const char *p, const char *what);
/* The offset of p in the file. */
size_t hd_walk_offset(const hd_json_walk *w, const char *p);

/* *at is after `{`, or after a value. HD_OK: *key (valid until the next call), and *at is at its value. HD_END: after
 * `}`. */
hd_status hd_walk_member(hd_string *key, hd_json_walk *w, const char **at, bool *first);
/* The same for `[` and `]`. */
hd_status hd_walk_item(hd_json_walk *w, const char **at, bool *first);
/* Moves *at behind the value; invalid JSON is repaired, or becomes null. */
hd_status hd_walk_skip(hd_walk_span *out, hd_json_walk *w, const char **at);
/* The same for a second pass: nothing is reported. */
void hd_walk_pass_over(hd_json_walk *w, const char **at);
/* Adds the member whose value is at *at to the object being built in `rest`. */
hd_status hd_walk_keep(hd_json_walk *w, hd_json_out *rest, hd_string key, const char **at);
/* If *at is at `open`, moves after it; at null, which means empty, sets *is_null. DAMAGED: neither. */
hd_status hd_walk_enter(hd_json_walk *w, const char **at, char open, bool *is_null);
/* The same, but any other value is skipped and reported (*is_null). *at may be NULL, which means null. */
hd_status hd_walk_try_enter(hd_json_walk *w, const char **at, char open, bool *is_null);

/* The decoded string at *at, or {NULL, 0} for any other value; moves *at after it. Valid until the next call. DAMAGED:
 * it is not UTF-8. */
hd_status hd_walk_string(hd_string *out, hd_json_walk *w, const char **at);
/* The number at *at as text; size 0: not a number. A number at the end of the text may be cut off, and is not
 * returned. */
hd_status hd_walk_number(hd_walk_span *out, hd_json_walk *w, const char **at);
/* The same as an integer; *out_is false: it is none. */
hd_status hd_walk_int(int64_t *out, bool *out_is, hd_json_walk *w, const char **at);

/* Which of some top-level keys comes first, from 1; 0: none in these bytes. */
int hd_walk_first_key(const unsigned char *head, size_t size, const char *const *keys, size_t count);
/* Whether a text begins as an object does. */
bool hd_walk_is_object(const unsigned char *head, size_t size);

#endif
