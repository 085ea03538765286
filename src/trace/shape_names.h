/* shape_names.h - what the keys of a shape are called in an object of JSON, where each name may stand but once */
#ifndef HD_TRACE_SHAPE_NAMES_H
#define HD_TRACE_SHAPE_NAMES_H

#include "base/json/write.h"
#include "heddle/trace.h"

/* A slice that was made of a begin and an end has the keys of both. Of arguments the last of a name keeps it, as in
 * every JSON parser, in hd_event_arg and where Chrome joins ends; of the event's own members the first, which tells of
 * the begin. Others are called KEY#n, where n counts from 1; but for names that the shape has itself.
 */
typedef struct hd_shape_name {
    uint32_t number; /* that n, 0: the plain name */
    uint32_t spare;  /* an n for it where something else has the plain name */
    uint32_t keeper; /* index of the key that has the plain name */
} hd_shape_name;

/* out has room for key_count names. */
hd_status hd_shape_names(hd_shape_name *out, const hd_trace *trace, const hd_shape *shape, hd_error *err);
/* The quoted name of a key with its number. */
void hd_shape_put_key(hd_json_out *out, const hd_trace *trace, uint32_t key, uint32_t number);

#endif
