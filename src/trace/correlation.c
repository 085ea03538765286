/* correlation.c - the column of correlation ids */
#include "trace/correlation.h"

#include <stdlib.h>

#include "trace/column.h"
#include "trace/event.h"
#include "trace/impl.h"
#include "trace/text.h"

enum { CHUNK_ROWS = 512 };

int32_t hd_correlation_key(const hd_strings *strings, const hd_arg_key *keys, uint32_t count)
{
    static const char *const names[] = {"correlation", "correlationId", "correlation_id"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        for (uint32_t k = count; k-- > 0;) {
            if (keys[k].scope == HD_SCOPE_ARGS && hd_string_is(hd_strings_at(strings, keys[k].key), names[n]))
                return (int32_t)k;
        }
    }
    return -1;
}

/* Where a shape of the block has its ids. */
typedef struct id_place {
    const hd_column *column; /* NULL: nowhere */
    hd_arg_type type;
    uint32_t row_count;
} id_place;

static int64_t id_at(const id_place *place, const hd_trace *trace, uint32_t args_row)
{
    int64_t id;
    if (args_row >= place->row_count) return HD_NO_CORRELATION;
    int64_t bits = hd_column_at(place->column, args_row);
    if (place->type == HD_ARG_INT) return bits;
    return hd_value_int(&id, trace, (hd_value){place->type, bits}) ? id : HD_NO_CORRELATION;
}

/* Groups are sorted by shape, so the last one gives the number of places. */
static id_place *find_places(const hd_block *block, const hd_trace *trace, uint32_t limit)
{
    id_place *places = calloc(limit, sizeof *places);
    for (uint32_t g = 0; places && g < block->group_count; g++) {
        const hd_arg_group *group = &block->groups[g];
        const hd_shape *shape = hd_trace_shape_at(trace, group->shape);
        if (shape->correlation < 0) continue;
        places[group->shape] = (id_place){&group->columns[shape->correlation],
                                          (hd_arg_type)shape->keys[shape->correlation].type, group->row_count};
    }
    return places;
}

static bool fill_ids(hd_block *block, const hd_trace *trace, hd_arena *arena, int64_t *ids)
{
    int64_t shapes[CHUNK_ROWS];
    const hd_column *args_rows = &block->columns[HD_COL_ARGS_ROW];
    uint32_t limit = block->groups[block->group_count - 1].shape + 1;
    id_place *places = find_places(block, trace, limit);
    if (!places) return false;
    for (uint32_t first = 0, count; first < block->row_count; first += count) {
        count = block->row_count - first < CHUNK_ROWS ? block->row_count - first : CHUNK_ROWS;
        hd_column_decode(shapes, &block->columns[HD_COL_SHAPE], first, count);
        for (uint32_t i = 0; i < count; i++) {
            const id_place *place = (uint64_t)shapes[i] < limit ? &places[shapes[i]] : places; /* shape 0 has no keys */
            ids[first + i] =
                !place->column ? HD_NO_CORRELATION : id_at(place, trace, (uint32_t)hd_column_at(args_rows, first + i));
        }
    }
    free(places);
    return hd_column_seal(&block->columns[HD_COL_CORRELATION], arena, ids, block->row_count);
}

bool hd_correlation_fill(hd_block *block, const hd_trace *trace, hd_arena *arena, int64_t *scratch)
{
    bool any = false,
         counts = block->kind == HD_KIND_SLICE || block->kind == HD_KIND_INSTANT || block->kind == HD_KIND_SAMPLE;
    block->columns[HD_COL_CORRELATION] = (hd_column){.base = HD_NO_CORRELATION};
    for (uint32_t g = 0; counts && !any && g < block->group_count; g++)
        any = hd_trace_shape_at(trace, block->groups[g].shape)->correlation >= 0;
    if (!any) return true;
    int64_t *ids = scratch ? scratch : malloc(block->row_count * sizeof *ids);
    bool fine = ids && fill_ids(block, trace, arena, ids);
    if (!scratch) free(ids);
    return fine;
}
