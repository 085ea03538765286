/* write.h - writes JSON text from strings, numbers and other JSON text */
#ifndef HD_BASE_JSON_WRITE_H
#define HD_BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing text. Zero-initialised is empty; free data when done. `failed` stays set once memory ran out. */
typedef struct hd_json_out {
    char *data;
    size_t size, capacity;
    bool failed;
} hd_json_out;

void hd_json_put(hd_json_out *out, const char *data, size_t size);
void hd_json_put_text(hd_json_out *out, const char *text);
void hd_json_put_int(hd_json_out *out, int64_t value);
/* mantissa / 10^scale, with all its digits. */
void hd_json_put_decimal(hd_json_out *out, int64_t mantissa, unsigned scale);
/* A quoted string. Quotes, backslashes and control characters are escaped, a lone surrogate (three bytes ED A0…BF xx)
 * becomes its \u escape, any other byte that is not UTF-8 becomes U+FFFD. */
void hd_json_put_string(hd_json_out *out, const char *data, size_t size);

/* The same value with two-space indentation, every line but the first indented by `depth` more steps. The text is valid
 * JSON. Iterative. */
void hd_json_put_pretty(hd_json_out *out, const char *text, size_t size, unsigned depth);

#endif
