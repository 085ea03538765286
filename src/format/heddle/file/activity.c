/* activity.c - the time that GPU activities cover on the queues of devices, as bytes, and back with every value
 * checked */
#include <stdlib.h>

#include "base/error.h"
#include "format/heddle/file/tables.h"
#include "model/roles/busy.h"
#include "trace/index/lane_index.h"

enum { ACTIVITY_VERSION = 1 };

void store_put_activity(hd_bytes *out, const hd_index *index, const int64_t *work_ns)
{
    size_t count = 0, last = 0;
    for (size_t i = 0; i < index->lane_count; i++) count += work_ns[i] != HD_NO_TIME;
    hd_bytes_put_u8(out, ACTIVITY_VERSION);
    hd_bytes_put_le(out, hd_role_rules(), 8);
    hd_bytes_put_varint(out, count);
    for (size_t i = 0; i < index->lane_count; i++) {
        if (work_ns[i] == HD_NO_TIME) continue;
        hd_bytes_put_varint(out, i - last);
        hd_bytes_put_varint(out, (uint64_t)work_ns[i]);
        last = i;
    }
}

/* Activities of a lane cover no more than all its slices. */
static bool get_lanes(int64_t *work_ns, const hd_index *index, hd_byte_reader *r)
{
    uint64_t count = hd_byte_reader_varint(r), lane = 0;
    if (count > index->lane_count) return false;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t step = hd_byte_reader_varint(r), busy = hd_byte_reader_varint(r);
        if (r->failed || (i && step == 0) || step >= index->lane_count - lane) return false;
        lane += step;
        if (busy > (uint64_t)index->lanes[lane].busy_ns) return false;
        work_ns[lane] = (int64_t)busy;
    }
    return !r->failed && hd_byte_reader_left(r) == 0;
}

hd_status store_get_activity(hd_index *index, hd_byte_reader body)
{
    uint8_t version = hd_byte_reader_u8(&body);
    uint64_t rules = hd_byte_reader_le(&body, 8);
    if (body.failed) return HD_ERR_DAMAGED;
    if (version != ACTIVITY_VERSION || rules != hd_role_rules()) return HD_OK;
    int64_t *work_ns = malloc((index->lane_count + 1) * sizeof *work_ns);
    if (!work_ns) return HD_ERR_MEMORY;
    for (size_t i = 0; i < index->lane_count; i++) work_ns[i] = HD_NO_TIME;
    if (!get_lanes(work_ns, index, &body)) {
        free(work_ns);
        return HD_ERR_DAMAGED;
    }
    free(index->work_ns);
    index->work_ns = work_ns;
    return HD_OK;
}
