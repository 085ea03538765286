/* unique.h - JSON text in which no object has a key twice */
#ifndef HD_BASE_JSON_UNIQUE_H
#define HD_BASE_JSON_UNIQUE_H

#include "base/error.h"
#include "base/json/write.h"

/* Copies JSON text; of the members of an object with equal keys only the last is kept, as in every JSON parser.
 * *out_gone: the number of removed members. Invalid JSON (from a damaged store) becomes a string. Time: n log n. */
hd_status hd_json_put_unique(hd_json_out *out, uint64_t *out_gone, const char *text, size_t size, hd_error *err);

#endif
