/* stages.c - GPU activities as render stages, in addition to their track events (options.typed_gpu)
 *
 * Perfetto's table gpu_slice, and its tracks of GPUs, are made of these. A queue is the track of the activities; a
 * stage has the activity's name. Arguments are texts. The id of the event begins with PF_STAGE_COPY, by which
 * Heddle's reader knows that the track event is there as well.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/protobuf/write.h"
#include "format/perfetto/fields.h"
#include "format/perfetto/write/writer.h"

hd_status pf_stages_init(pf_writer *w, hd_error *err)
{
    pf_stages *s = &w->stages;
    s->queue_count = (uint32_t)w->place_count;
    s->queues = calloc(w->place_count + 1, sizeof *s->queues);
    s->iids = calloc((size_t)hd_trace_string_count(w->trace) + 1, sizeof *s->iids);
    s->correlation_key = hd_trace_find_string(w->trace, "correlation", strlen("correlation"));
    return hd_roles_init(&s->roles, w->trace) && s->queues && s->iids ? HD_OK : HD_NOMEM(err);
}

void pf_stages_deinit(pf_writer *w)
{
    hd_roles_deinit(&w->stages.roles);
    free(w->stages.queues);
    free(w->stages.iids);
}

/* ---- specifications ---- */

static size_t begin_specification(pf_writer *w, uint32_t iid)
{
    size_t mark = hd_pb_begin(&w->interned, PF_INTERNED_GPU_SPECIFICATIONS);
    hd_pb_put_uint(&w->interned, PF_SPECIFICATION_IID, iid);
    return mark;
}

/* Its iid; all lanes of a track are one queue. */
static uint32_t queue_of(pf_writer *w, uint32_t place)
{
    pf_stages *s = &w->stages;
    const uint32_t first = w->places[place].first_lane, iid = first + 1;
    if (s->queues[first]) return iid;
    s->queues[first] = true;
    const uint32_t track = w->places[first].track, parent = w->places[first].parent;
    size_t mark = begin_specification(w, iid);
    pf_put_track_name(w, &w->interned, PF_SPECIFICATION_NAME, track);
    if (parent != HD_NONE) pf_put_track_name(w, &w->interned, PF_SPECIFICATION_DESCRIPTION, w->places[parent].track);
    hd_pb_end(&w->interned, mark);
    return iid;
}

static uint32_t stage_of(pf_writer *w, const hd_event *event, hd_role role)
{
    pf_stages *s = &w->stages;
    uint32_t *iid = &s->iids[event->name];
    if (*iid) return *iid;
    *iid = s->queue_count + ++s->stage_count;
    const hd_string name = hd_trace_string(w->trace, event->name);
    size_t mark = begin_specification(w, *iid);
    hd_pb_put_bytes(&w->interned, PF_SPECIFICATION_NAME, name.data, name.size);
    hd_pb_put_uint(&w->interned, PF_SPECIFICATION_CATEGORY, role == HD_ROLE_KERNEL ? PF_STAGE_COMPUTE : PF_STAGE_OTHER);
    hd_pb_end(&w->interned, mark);
    return *iid;
}

/* ---- arguments ---- */

static void put_extra(pf_writer *w, uint32_t key, unsigned type, int64_t bits)
{
    char number[PF_DECIMAL_BYTES];
    hd_string name = hd_trace_string(w->trace, key), text = {number, 0};
    switch (type) {
    case HD_ARG_NULL: text = (hd_string){"null", 4}; break;
    case HD_ARG_BOOL: text = bits ? (hd_string){"true", 4} : (hd_string){"false", 5}; break;
    case HD_ARG_INT: text.size = (size_t)snprintf(number, sizeof number, "%" PRId64, bits); break;
    case HD_ARG_DECIMAL: text.size = pf_decimal_text(number, bits); break;
    default: text = hd_trace_string(w->trace, (uint32_t)bits); break;
    }
    size_t mark = hd_pb_begin(&w->event, PF_STAGE_EXTRA_DATA);
    hd_pb_put_bytes(&w->event, PF_EXTRA_DATA_NAME, name.data, name.size);
    hd_pb_put_bytes(&w->event, PF_EXTRA_DATA_VALUE, text.data, text.size);
    hd_pb_end(&w->event, mark);
}

/* Perfetto has 32 bits for the id of a submission. */
static void put_arguments(pf_writer *w, const hd_event *event)
{
    const hd_shape *shape = hd_trace_shape_at(w->trace, event->shape);
    for (uint32_t k = 0; k < shape->key_count; k++) {
        const hd_arg_key *key = &shape->keys[k];
        if (key->scope != HD_SCOPE_ARGS) continue;
        int64_t bits = hd_column_at(&event->args->columns[k], event->args_row);
        if (key->key == w->stages.correlation_key && key->type == HD_ARG_INT && bits > 0 && bits <= UINT32_MAX)
            hd_pb_put_uint(&w->event, PF_STAGE_SUBMISSION_ID, (uint64_t)bits);
        put_extra(w, key->key, key->type, bits);
    }
}

bool pf_put_stage(pf_writer *w, const hd_event *event, const pf_item *item)
{
    pf_stages *s = &w->stages;
    const hd_role role = hd_roles_at(&s->roles, event->category, event->name, event->track);
    const uint32_t place = pf_item_place(item);
    if (!hd_role_is_work(role) || item->end == PF_OPEN_END || place >= s->queue_count) return false;
    const hd_track *track =
        event->track < hd_trace_track_count(w->trace) ? hd_trace_track_at(w->trace, event->track) : NULL;
    const int64_t device = track && track->device >= 0 && track->device <= INT32_MAX ? track->device : 0;
    hd_pb_put_uint(&w->event, PF_STAGE_EVENT_ID, PF_STAGE_COPY | ++s->event_count);
    hd_pb_put_uint(&w->event, PF_STAGE_DURATION, (uint64_t)(item->end - item->start));
    hd_pb_put_uint(&w->event, PF_STAGE_GPU_ID, (uint64_t)device);
    hd_pb_put_uint(&w->event, PF_STAGE_HW_QUEUE_IID, queue_of(w, place));
    hd_pb_put_uint(&w->event, PF_STAGE_STAGE_IID, stage_of(w, event, role));
    put_arguments(w, event);
    return true;
}
