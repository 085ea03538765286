/* flight.h - dumps of PyTorch's flight recorder: flight.c maps them, json.c makes a pickle of one in JSON
 *
 * In: a pickle, or JSON with the same members. Out: slices of a builder. Begin with flight.c.
 */
#ifndef HD_FORMAT_FLIGHT_FLIGHT_H
#define HD_FORMAT_FLIGHT_FLIGHT_H

#include "format/json_walk.h"

/* The same values as a pickle, which is the one form that is mapped. The caller frees *out also after an error. Damaged
 * values are reported by the walk, and are null. *out_size_bytes is the size of the JSON. */
hd_status flight_pickle_of_json(hd_bytes *out, uint64_t *out_size_bytes, hd_builder *builder, hd_input *input,
                                const hd_read_options *options, hd_error *err);

#endif
