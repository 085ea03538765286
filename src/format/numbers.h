/* numbers.h - numbers of binary formats as values of arguments, and as JSON
 *
 * Doubles are reproduced exactly: short ones are decimals, all others the text with the fewest digits.
 */
#ifndef HD_FORMAT_NUMBERS_H
#define HD_FORMAT_NUMBERS_H

#include "base/json/write.h"
#include "heddle/builder.h"

/* The type of the value, its bits in *out_bits. NaN and infinities, which JSON has no number for, are strings. */
hd_arg_type hd_value_of_double(int64_t *out_bits, hd_builder *builder, double value);
hd_arg_type hd_value_of_unsigned(int64_t *out_bits, hd_builder *builder, uint64_t value);

void hd_json_put_double(hd_json_out *out, double value);
void hd_json_put_unsigned(hd_json_out *out, uint64_t value);
/* A value of an argument; strings are the builder's. */
void hd_json_put_value(hd_json_out *out, const hd_builder *builder, hd_value value);

/* Among tracks: where the processes of devices begin, and below all others those of monitors. */
enum { HD_SORT_DEVICES = 5000000, HD_SORT_MONITORS = 6000000 };

/* Rows of a kind follow one another by number: `first` and up; numbers that are too large for a place share the
 * last. */
static inline void hd_sort_numbered(hd_builder *builder, uint32_t track, int64_t first, int64_t number)
{
    hd_builder_sort_track(builder, track, number > INT64_MAX - first ? INT64_MAX : first + number);
}

#endif
