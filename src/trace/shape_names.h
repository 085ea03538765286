/* shape_names.h - the names of a shape's keys in a JSON object, where each name occurs only once */
#ifndef HD_TRACE_SHAPE_NAMES_H
#define HD_TRACE_SHAPE_NAMES_H

#include "base/json/write.h"
#include "heddle/trace.h"

/* A slice made of a begin and an end has the keys of both. Of equal arguments the last keeps its name, as in every JSON
 * parser, in hd_event_arg and in Chrome's joining of ends; of the event's own members the first, which is the begin's.
 * Others are called KEY#n, with n from 1, skipping names that the shape already has.
 */
typedef struct hd_shape_name {
    uint32_t number; /* that n, 0: the plain name */
    uint32_t spare;  /* its n if another key has the plain name */
    uint32_t keeper; /* index of the key that has the plain name */
} hd_shape_name;

/* out has room for key_count names. */
hd_status hd_shape_names(hd_shape_name *out, const hd_trace *trace, const hd_shape *shape, hd_error *err);
/* The quoted name of a key with its number. */
void hd_shape_put_key(hd_json_out *out, const hd_trace *trace, uint32_t key, uint32_t number);

#endif
