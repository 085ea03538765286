/* flows.c - producers and consumers -> flow points
 *
 * An event has a number, with a type, that it produces or consumes; only numbers with both ends become flows.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/xplane/xplane.h"

enum { PRODUCER = 1, CONSUMER = 2, BOTH = PRODUCER | CONSUMER };
static const uint64_t ENCODED = UINT64_C(1) << 63; /* types of `flow` are none of `_pt` and `_ct` */

static hd_status add_point(xplane_reader *r, const hd_row *row, uint64_t type, uint64_t id, uint32_t ends)
{
    static const char phases[] = {0, 's', 'f', 't'};
    hd_map_entry *known = hd_map_at(&r->flow_ends, type, id);
    if (!known || !hd_grow((void **)&r->flows, &r->flow_capacity, r->flow_count, sizeof *r->flows))
        return HD_NOMEM(r->err);
    if (ends != BOTH) known->value |= ends; /* a step alone has neither end */
    r->flows[r->flow_count++] = (xplane_flow_point){.type = type,
                                                    .id = id,
                                                    .start_ns = row->start_ns,
                                                    .start_ps = row->start_ps,
                                                    .track = row->track,
                                                    .phase = phases[ends]};
    return HD_OK;
}

hd_status xplane_note_flows(xplane_reader *r, const xplane_facts *facts, const hd_row *row)
{
    if (facts->has_id[0]) HD_TRY(add_point(r, row, facts->type[0], facts->id[0], PRODUCER));
    if (facts->has_id[1]) HD_TRY(add_point(r, row, facts->type[1], facts->id[1], CONSUMER));
    uint32_t way = facts->flow & 3; /* 1 in, 2 out, 3 both */
    if (!way) return HD_OK;
    uint32_t ends = way == 3 ? BOTH : way == 1 ? CONSUMER : PRODUCER;
    return add_point(r, row, ENCODED | facts->flow >> 58, facts->flow >> 2 & ((UINT64_C(1) << 56) - 1), ends);
}

hd_status xplane_finish_flows(xplane_reader *r)
{
    uint32_t name = hd_builder_intern_text(r->builder, "flow");
    hd_row row = hd_row_of(HD_KIND_FLOW, 's');
    row.name = row.category = name;
    row.id_type = HD_ID_INT;
    for (size_t i = 0; i < r->flow_count; i++) {
        const xplane_flow_point *p = &r->flows[i];
        const hd_map_entry *known = hd_map_find(&r->flow_ends, p->type, p->id);
        if (!known || known->value != BOTH) continue;
        row.phase = (uint32_t)p->phase | (p->phase == 's' ? 0 : HD_FLAG_BIND_ENCLOSING);
        row.start_ns = p->start_ns;
        row.start_ps = p->start_ps;
        row.track = p->track;
        row.id = r->flow_base + (known - r->flow_ends.entries) + 1;
        HD_TRY(hd_rows_out_add(&r->rows, &row, NULL, r->err));
    }
    r->flow_base += (int64_t)r->flow_ends.count;
    r->flow_count = 0;
    hd_map_clear(&r->flow_ends);
    return HD_OK;
}
