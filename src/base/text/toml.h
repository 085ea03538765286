/* toml.h - a strict reader of a subset of TOML: comments, [[tables]] and bare keys with strings, arrays of strings and
 * what the caller reads by itself
 *
 * Every accepted text is TOML with the same meaning. Errors are FORMAT, with the line and what to write there.
 *
 *     HD_TRY(hd_toml_open(&t, text, size, name, &texts, err));
 *     while (hd_toml_more(&t) && status == HD_OK) {
 *         if (*t.p == '[') status = hd_toml_head(&word, &t); else { status = hd_toml_key(&word, &t); … the value }
 *         if (status == HD_OK) status = hd_toml_end_line(&t);
 *     }
 *     hd_toml_close(&t);
 */
#ifndef HD_BASE_TEXT_TOML_H
#define HD_BASE_TEXT_TOML_H

#include "base/json/stream.h"
#include "base/memory/arena.h"

enum { HD_TOML_BYTES = 1 << 20 };

typedef struct hd_toml {
    const char *text, *p, *end; /* of a copy, followed by HD_JSON_PADDING zeros */
    const char *name;           /* of the file, for messages */
    hd_arena *texts;            /* of strings */
    hd_error *err;
} hd_toml;

/* Errors: LIMIT: over HD_TOML_BYTES; FORMAT: not UTF-8, or a control character; MEMORY. Close it if it succeeds. */
hd_status hd_toml_open(hd_toml *out, const char *text, size_t size, const char *name, hd_arena *texts, hd_error *err);
void hd_toml_close(hd_toml *t);
/* The text of a file, plain or compressed; the caller frees *out. Errors: IO, DAMAGED, MEMORY. */
hd_status hd_toml_read_file(char **out, size_t *out_size, const char *path, hd_error *err);

/* FORMAT, with the line of `at`. */
__attribute__((format(printf, 3, 4))) hd_status hd_toml_refuse(const hd_toml *t, const char *at, const char *form, ...);

/* Moves past blank lines and comments; false: the end. */
bool hd_toml_more(hd_toml *t);
/* "gpu" of [[gpu]]. */
hd_status hd_toml_head(hd_json_span *out, hd_toml *t);
/* How long the bare key is that begins there; 0: none. */
size_t hd_toml_key_size(const char *p);
/* A bare key; moves to its value. */
hd_status hd_toml_key(hd_json_span *out, hd_toml *t);
/* In double quotes, where \" and \\ are the only escapes, and not empty. `form`: what to write, for an error. */
hd_status hd_toml_string(hd_json_span *out, hd_toml *t, const char *form);
/* An array of at least one string; `add` is called for each. */
hd_status hd_toml_strings(hd_toml *t, const char *form, hd_status (*add)(void *user, hd_json_span text, const char *at),
                          void *user);
hd_status hd_toml_end_line(hd_toml *t);

#endif
