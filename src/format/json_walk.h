/* json_walk.h - walking a JSON document that is no list of events: members and items one by one, damage where it is met
 *
 *     bool first = true;
 *     while ((status = hd_walk_member(&key, &w, &at, &first)) == HD_OK)
 *         if (hd_string_is(key, "frames")) … else HD_TRY(hd_walk_skip(&span, &w, &at));
 *     if (status != HD_END) return status;
 *
 * Damage costs what it is in: an object that is no valid JSON is mended by repair/repair.h; of what cannot be mended,
 * the bytes up to the next comma or bracket of the same level. Each is a row of the ledger, or with --strict an error.
 */
#ifndef HD_FORMAT_JSON_WALK_H
#define HD_FORMAT_JSON_WALK_H

#include "base/json/json.h"
#include "base/json/write.h"
#include "base/memory/arena.h"
#include "format/format.h"
#include "format/repair/repair.h"
#include "trace/text.h"

/* A value where it stands in the text. */
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
    bool cut;   /* the text has ended, and that is told */
    bool lost;  /* something was left out */
    bool quiet; /* the caller's: what is met now will be met, and told, again */
    hd_bytes bytes;
    hd_json_repair repair;
    hd_arena mended;      /* values that had to be mended */
    size_t mended_offset; /* of what they stand in */
    char *scratch;
    size_t scratch_capacity;
} hd_json_walk;

/* All of the input becomes the text. Free it with hd_walk_deinit, also after an error. Errors: of hd_input_all. */
hd_status hd_walk_init(hd_json_walk *w, const hd_walk_about *about, hd_builder *builder, hd_input *input,
                       uint64_t limit, const hd_read_options *options, hd_error *err);
void hd_walk_deinit(hd_json_walk *w);
/* The first value of the document. */
const char *hd_walk_start(const hd_json_walk *w);

/* What is at p is left out: a row of the ledger, or with --strict an error. */
hd_status hd_walk_lose(hd_json_walk *w, const char *p, const char *what);
/* The same for what came to nothing with `status`; all but damage is handed on. */
hd_status hd_walk_pass(hd_json_walk *w, hd_status status);
/* An error at p. */
hd_status hd_walk_damaged(const hd_json_walk *w, const char *p, const char *what);
/* Where p stands in the file. */
size_t hd_walk_offset(const hd_json_walk *w, const char *p);

/* *at is behind `{`, or behind a value. HD_OK: *key (valid until the next call), and *at is at its value. HD_END:
 * behind `}`. */
hd_status hd_walk_member(hd_string *key, hd_json_walk *w, const char **at, bool *first);
/* The same for `[` and `]`. */
hd_status hd_walk_item(hd_json_walk *w, const char **at, bool *first);
/* *at goes behind the value that it is at; one that is no valid JSON is mended, or becomes null. */
hd_status hd_walk_skip(hd_walk_span *out, hd_json_walk *w, const char **at);
/* The same for what is walked once more: nothing is told. */
void hd_walk_pass_over(hd_json_walk *w, const char **at);
/* The member whose value is at *at becomes one of the object that `rest` is being filled with. */
hd_status hd_walk_keep(hd_json_walk *w, hd_json_out *rest, hd_string key, const char **at);
/* Whether *at is at `open`, which it goes behind; or at null, which stands for nothing (*is_null). DAMAGED: neither. */
hd_status hd_walk_enter(hd_json_walk *w, const char **at, char open, bool *is_null);
/* The same, but what is neither is left out, and told (*is_null). *at may be NULL, which is null. */
hd_status hd_walk_try_enter(hd_json_walk *w, const char **at, char open, bool *is_null);

/* The value at *at decoded, if it is a string, else {NULL, 0}; *at goes behind it. Valid until the next call. DAMAGED:
 * it is not UTF-8. */
hd_status hd_walk_string(hd_string *out, hd_json_walk *w, const char **at);
/* The number at *at as text; size 0: it is none. One that ends where the text does may be cut off, and is none. */
hd_status hd_walk_number(hd_walk_span *out, hd_json_walk *w, const char **at);
/* The same as an integer; *out_is false: it is none. */
hd_status hd_walk_int(int64_t *out, bool *out_is, hd_json_walk *w, const char **at);

/* Which of some top-level keys comes first, from 1; 0: none does in these bytes. */
int hd_walk_first_key(const unsigned char *head, size_t size, const char *const *keys, size_t count);
/* Whether a text begins as an object does. */
bool hd_walk_is_object(const unsigned char *head, size_t size);

#endif
