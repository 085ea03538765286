/* unique.h - JSON text in which no object has a key twice */
#ifndef HD_BASE_JSON_UNIQUE_H
#define HD_BASE_JSON_UNIQUE_H

#include "base/error.h"
#include "base/json/write.h"

/* Copy JSON text; of the members of one object that have equal keys, only the last stays, as in every JSON parser.
 * *out_gone: how many went. What is no JSON (in a damaged store) becomes a
 * string. Time: n log n. */
hd_status hd_json_put_unique(hd_json_out *out, uint64_t *out_gone, const char *text, size_t size, hd_error *err);

#endif
