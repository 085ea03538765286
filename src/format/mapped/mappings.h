/* mappings.h - shared by the readers of profiles: files that were mapped, and names for addresses and lines in them
 *
 * In: mappings, addresses, lines. Out: names of frames, the metadata `modules`.
 */
#ifndef HD_FORMAT_MAPPED_MAPPINGS_H
#define HD_FORMAT_MAPPED_MAPPINGS_H

#include "base/bytes.h"
#include "base/map.h"
#include "format/stack_samples.h"

/* Texts are borrowed. */
typedef struct hd_mapping {
    uint64_t start, end, offset;
    hd_string file, build_id;
    uint64_t id;
} hd_mapping;

/* Zero-initialised is empty. */
typedef struct hd_mappings {
    hd_mapping *list; /* in the order of the input */
    size_t count, capacity;
    hd_map addresses; /* by address and mapping + 1: the name of a frame */
    hd_bytes text;
} hd_mappings;

void hd_mappings_deinit(hd_mappings *mappings);
hd_mapping *hd_mappings_add(hd_mappings *mappings); /* NULL: no memory */
void hd_mappings_sort(hd_mappings *mappings);
/* The mapping that contains an address, once they are sorted; NULL: none. */
const hd_mapping *hd_mappings_find(const hd_mappings *mappings, uint64_t address);
/* The name of a frame with only an address: libfoo.so+0x1234. HD_NONE: no memory. */
uint32_t hd_mappings_name(hd_mappings *mappings, hd_frame_kind *out_kind, hd_stack_samples *samples, uint64_t address,
                          const hd_mapping *mapping);
/* The name of a frame at a line of a function, which is called `mangled` if it has no name, else [unknown].
 * *out_repaired: bytes that were no UTF-8. HD_NONE: no memory. */
typedef struct hd_source_line {
    hd_string function, mangled, file;
    uint64_t line, column;
} hd_source_line;
uint32_t hd_mappings_line(hd_mappings *mappings, hd_frame_kind *out_kind, size_t *out_repaired,
                          hd_stack_samples *samples, const hd_source_line *at);
/* The metadata `modules`, by which addresses get their names later. */
hd_status hd_mappings_put(const hd_mappings *mappings, hd_builder *builder, hd_error *err);

#endif
