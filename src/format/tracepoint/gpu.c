/* gpu.c - drm_sched, amdgpu, i915, dma_fence, gpu_mem_total -> activities on queues, waits, counters
 *
 * A job is queued by a thread (a call of length 0, category gpu_driver), run by the scheduler, and done when its fence
 * is signalled. From run to done it is an activity on the queue of its ring; `correlation` joins it with the call, so
 * that the latency between the two is a launch latency. Forms of drm_sched:
 *     up to Linux 6.15   drm_sched_job, drm_run_job, drm_sched_process_job; a job is identified by the address of its
 *     fence from 6.16 on       drm_sched_job_queue, drm_sched_job_run, drm_sched_job_done; by context:number of its
 *     fence
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text/ends.h"
#include "format/stack_text.h"
#include "format/tracepoint/tracepoint.h"

enum { JOB_VALUES = 12 };

struct tp_job {
    int64_t run_ns; /* HD_NO_TIME: not yet */
    int64_t correlation;
    uint32_t track, name, category;
    bool ends_with_fence; /* no event of its own says that it is done */
    tp_value values[JOB_VALUES];
    uint32_t count;
};

/* The identity of a job: its fence's context and number, or whatever is known. */
typedef struct job_key {
    uint64_t a, b;
} job_key;

/* ---- fences ---- */

/* "12:34", or anything up to the first blank. */
static job_key key_of_text(tp_place *p, uint32_t text)
{
    hd_string all = hd_builder_string(p->builder, text), word = all;
    const char *blank = memchr(all.data, ' ', all.size), *colon;
    int64_t context, number;
    if (blank) word.size = (size_t)(blank - all.data);
    while (word.size && word.data[word.size - 1] == ',') word.size--;
    colon = memchr(word.data, ':', word.size);
    if (colon && hd_text_int(&context, word.data, (size_t)(colon - word.data)) &&
        hd_text_int(&number, colon + 1, word.size - (size_t)(colon - word.data) - 1))
        return (job_key){(uint64_t)context, (uint64_t)number};
    return (job_key){UINT64_MAX, tp_text(p, word.data, word.size)};
}

static bool fence_of(job_key *out, tp_place *p, const tp_event *event)
{
    int64_t context, number;
    if ((tp_int(&context, p, event, "fence_context") && tp_int(&number, p, event, "fence_seqno")) ||
        (tp_int(&context, p, event, "context") && tp_int(&number, p, event, "seqno"))) {
        *out = (job_key){(uint64_t)context, (uint64_t)number};
        return true;
    }
    uint32_t key = tp_key(p, "fence");
    for (uint32_t i = 0; i < event->count; i++) {
        const tp_value *value = &event->values[i];
        if (value->key != key) continue;
        *out = value->type == HD_ARG_INT ? (job_key){UINT64_MAX - 1, (uint64_t)value->bits}
                                         : key_of_text(p, (uint32_t)value->bits);
        return true;
    }
    return false;
}

/* ---- queues ---- */

static int64_t number_of(hd_map *numbers, uint64_t a, uint64_t b)
{
    hd_map_entry *entry = hd_map_at(numbers, a, b);
    if (entry && !entry->value) entry->value = (uint32_t)numbers->count;
    return entry ? (int64_t)entry->value - 1 : 0;
}

/* Devices and their rings are numbered in order of appearance. */
static uint32_t queue_track(tp_place *p, uint32_t device, uint32_t ring)
{
    hd_map_entry *entry = hd_map_at(&p->rings, device, ring);
    if (!entry) return HD_NONE;
    if (entry->value) return entry->value - 1;
    hd_string name = hd_builder_string(p->builder, device);
    p->text.size = 0;
    hd_bytes_put(&p->text, "GPU ", 4);
    hd_bytes_put(&p->text, name.data, name.size);
    uint32_t process = hd_builder_intern(p->builder, (char *)p->text.data, device ? p->text.size : 3);
    uint32_t track =
        hd_builder_track(p->builder, (hd_ident){HD_IDENT_STRING, process}, (hd_ident){HD_IDENT_STRING, ring}, false);
    int64_t number = number_of(&p->devices, process, 0), streams = (int64_t)p->rings.count - 1;
    hd_builder_set_stream(p->builder, track, number, streams);
    entry->value = track + 1;
    return track;
}

static uint32_t ring_of(tp_place *p, const tp_event *event)
{
    static const char *const keys[] = {"ring", "ring_name", "name", "timeline"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        uint32_t text = tp_string(p, event, keys[i]);
        if (text) return text;
    }
    return tp_key(p, "ring");
}

/* Rings that only copy have names for it. */
static bool is_copy_ring(hd_string ring)
{
    return hd_starts_with(ring.data, ring.size, "sdma") || hd_starts_with(ring.data, ring.size, "bcs") ||
           hd_starts_with(ring.data, ring.size, "engine 1:");
}

/* ---- jobs ---- */

static tp_job *job_of(tp_place *p, job_key key)
{
    hd_map_entry *entry = hd_map_at(&p->jobs, key.a, key.b);
    if (!entry) return NULL;
    if (!entry->pointer) {
        tp_job *job = entry->pointer = calloc(1, sizeof(tp_job));
        if (!job) return NULL;
        job->run_ns = HD_NO_TIME;
        job->correlation = ++p->correlations;
    }
    return entry->pointer;
}

static hd_status emit_job(tp_place *p, const tp_job *job, int64_t end_ns)
{
    hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
    tp_value values[JOB_VALUES + 1];
    row.track = job->track;
    row.name = job->name;
    row.category = job->category;
    row.start_ns = job->run_ns;
    row.duration_ns = end_ns == HD_NO_TIME ? HD_NO_TIME : end_ns - job->run_ns;
    memcpy(values, job->values, job->count * sizeof *values);
    values[job->count] = (tp_value){tp_key(p, "correlation"), HD_ARG_INT, job->correlation};
    return tp_emit(p, &row, values, job->count + 1);
}

static hd_status queue_job(tp_place *p, const tp_event *event, job_key key)
{
    hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
    tp_event call = *event;
    tp_job *job = job_of(p, key);
    if (!job) return HD_NOMEM(p->err);
    tp_put_int(p, &call, tp_key(p, "correlation"), job->correlation);
    row.track = tp_track_of(p, event);
    row.name = event->name;
    row.category = tp_key(p, "gpu_driver");
    row.start_ns = event->time_ns;
    row.duration_ns = 0;
    return tp_emit(p, &row, call.values, call.count);
}

static hd_status run_job(tp_place *p, const tp_event *event, job_key key, uint32_t ring, bool ends_with_fence)
{
    tp_job *job = job_of(p, key);
    if (!job) return HD_NOMEM(p->err);
    if (job->run_ns != HD_NO_TIME) return tp_instant(p, event); /* two layers report it: the first one counts */
    bool copies = is_copy_ring(hd_builder_string(p->builder, ring));
    job->run_ns = event->time_ns;
    job->track = queue_track(p, tp_string(p, event, "dev"), ring);
    job->name = ring;
    job->category = tp_key(p, copies ? "gpu_memcpy" : "kernel");
    job->ends_with_fence = ends_with_fence;
    job->count = event->count < JOB_VALUES ? event->count : JOB_VALUES;
    memcpy(job->values, event->values, job->count * sizeof *job->values);
    return HD_OK;
}

static hd_status end_job(tp_place *p, const tp_event *event, job_key key)
{
    tp_job *job = hd_map_pointer(&p->jobs, key.a, key.b);
    if (!job || job->run_ns == HD_NO_TIME) return tp_instant(p, event);
    hd_status status = emit_job(p, job, event->time_ns);
    hd_map_remove(&p->jobs, key.a, key.b);
    free(job);
    return status;
}

hd_status tp_finish_jobs(tp_place *p)
{
    hd_status status = HD_OK;
    for (size_t i = 0; i < p->jobs.count; i++) {
        tp_job *job = p->jobs.entries[i].pointer;
        if (job && job->run_ns != HD_NO_TIME && status == HD_OK) status = emit_job(p, job, HD_NO_TIME);
    }
    return status;
}

void tp_close_jobs(tp_place *p)
{
    for (size_t i = 0; i < p->jobs.count; i++) free(p->jobs.entries[i].pointer);
    hd_map_deinit(&p->jobs);
}

hd_status tp_on_job_queue(tp_place *p, const tp_event *event)
{
    job_key key;
    return fence_of(&key, p, event) ? queue_job(p, event, key) : tp_instant(p, event);
}
hd_status tp_on_job_run(tp_place *p, const tp_event *event)
{
    job_key key;
    return fence_of(&key, p, event) ? run_job(p, event, key, ring_of(p, event), false) : tp_instant(p, event);
}
hd_status tp_on_job_done(tp_place *p, const tp_event *event)
{
    job_key key;
    return fence_of(&key, p, event) ? end_job(p, event, key) : tp_instant(p, event);
}
hd_status tp_on_amdgpu_run(tp_place *p, const tp_event *event)
{
    job_key key;
    return fence_of(&key, p, event) ? run_job(p, event, key, ring_of(p, event), true) : tp_instant(p, event);
}

/* ---- i915: a request is known by engine, context and number ---- */

static bool request_of(job_key *out, uint32_t *out_ring, tp_place *p, const tp_event *event)
{
    char text[64];
    int64_t context, number, class_of, instance;
    uint32_t engine = tp_string(p, event, "engine");
    if (!tp_int(&context, p, event, "ctx") || !tp_int(&number, p, event, "seqno")) return false;
    if (!engine && tp_int(&class_of, p, event, "class") && tp_int(&instance, p, event, "instance"))
        engine = tp_text(p, text,
                         (size_t)snprintf(text, sizeof text, "%lld:%lld", (long long)class_of, (long long)instance));
    hd_string name = hd_builder_string(p->builder, engine);
    int size =
        snprintf(text, sizeof text, "engine %.*s", (int)(name.size < 40 ? name.size : 40), name.size ? name.data : "");
    *out_ring = tp_text(p, text, (size_t)size);
    *out = (job_key){(uint64_t)context ^ (uint64_t)*out_ring << 32 ^ UINT64_C(1) << 63, (uint64_t)number};
    return true;
}

hd_status tp_on_i915_queue(tp_place *p, const tp_event *event)
{
    job_key key;
    uint32_t ring;
    return request_of(&key, &ring, p, event) ? queue_job(p, event, key) : tp_instant(p, event);
}
hd_status tp_on_i915_run(tp_place *p, const tp_event *event)
{
    job_key key;
    uint32_t ring;
    return request_of(&key, &ring, p, event) ? run_job(p, event, key, ring, false) : tp_instant(p, event);
}
hd_status tp_on_i915_done(tp_place *p, const tp_event *event)
{
    job_key key;
    uint32_t ring;
    return request_of(&key, &ring, p, event) ? end_job(p, event, key) : tp_instant(p, event);
}

/* ---- dma_fence ---- */

static hd_status fence_point(tp_place *p, const tp_event *event, char phase, int64_t id)
{
    hd_row row = hd_row_of(HD_KIND_ASYNC, phase);
    uint32_t timeline = tp_string(p, event, "timeline");
    row.track = hd_builder_track(p->builder, (hd_ident){HD_IDENT_STRING, tp_key(p, "dma_fence")}, (hd_ident){0}, true);
    row.name = timeline ? timeline : tp_key(p, "fence");
    row.category = tp_key(p, "dma_fence");
    row.start_ns = event->time_ns;
    row.id_type = HD_ID_INT;
    row.id = id;
    return tp_emit(p, &row, event->values, event->count);
}

hd_status tp_on_fence_emit(tp_place *p, const tp_event *event)
{
    job_key key;
    if (!fence_of(&key, p, event)) return tp_instant(p, event);
    uint32_t id = (uint32_t)(++p->correlations & UINT32_MAX);
    if (!hd_map_set(&p->fences, key.a, key.b, id)) return HD_NOMEM(p->err);
    return fence_point(p, event, 'b', id);
}

hd_status tp_on_fence_signaled(tp_place *p, const tp_event *event)
{
    job_key key;
    uint32_t id;
    if (!fence_of(&key, p, event)) return tp_instant(p, event);
    const tp_job *job = hd_map_pointer(&p->jobs, key.a, key.b);
    if (job && job->ends_with_fence) HD_TRY(end_job(p, event, key));
    bool was_emitted = hd_map_get(&id, &p->fences, key.a, key.b);
    if (was_emitted) hd_map_remove(&p->fences, key.a, key.b);
    if (was_emitted) return fence_point(p, event, 'e', id);
    return job ? HD_OK : tp_instant(p, event);
}

static hd_status wait_point(tp_place *p, const tp_event *event, bool begins)
{
    hd_row row = hd_row_of(begins ? HD_KIND_SLICE : HD_KIND_END, begins ? 'B' : 'E');
    row.track = tp_track_of(p, event);
    row.name = begins ? tp_key(p, "dma_fence_wait") : HD_STRING_NONE;
    row.category = tp_key(p, "dma_fence");
    row.start_ns = event->time_ns;
    return tp_emit(p, &row, event->values, event->count);
}
hd_status tp_on_fence_wait(tp_place *p, const tp_event *event)
{
    return wait_point(p, event, true);
}
hd_status tp_on_fence_wait_end(tp_place *p, const tp_event *event)
{
    return wait_point(p, event, false);
}

/* ---- memory and work by process ---- */

hd_status tp_on_memory_total(tp_place *p, const tp_event *event)
{
    int64_t device = 0, pid = 0, bytes;
    char text[40];
    hd_row row = hd_row_of(HD_KIND_COUNTER, 'C');
    if (!tp_int(&bytes, p, event, "size")) return tp_instant(p, event);
    tp_int(&device, p, event, "gpu_id");
    tp_int(&pid, p, event, "pid");
    row.track = hd_builder_track(p->builder, tp_ident(p, pid), (hd_ident){0}, true);
    row.name = tp_key(p, "GPU memory");
    row.start_ns = event->time_ns;
    snprintf(text, sizeof text, "GPU %lld", (long long)device);
    const tp_value value = {tp_key(p, text), HD_ARG_INT, bytes};
    return tp_emit(p, &row, &value, 1);
}

/* How long a user's work was on a GPU within a period: a track about the device, without activities. */
hd_status tp_on_work_period(tp_place *p, const tp_event *event)
{
    int64_t device = 0, uid = 0, start, end;
    char text[48];
    hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
    if (!tp_int(&start, p, event, "start_time_ns") || !tp_int(&end, p, event, "end_time_ns") || end < start)
        return tp_instant(p, event);
    tp_int(&device, p, event, "gpu_id");
    tp_int(&uid, p, event, "uid");
    snprintf(text, sizeof text, "GPU %lld work periods", (long long)device);
    const hd_ident process = {HD_IDENT_STRING, tp_key(p, text)};
    snprintf(text, sizeof text, "uid %lld", (long long)uid);
    row.track = hd_builder_track(p->builder, process, (hd_ident){HD_IDENT_STRING, tp_key(p, text)}, false);
    row.name = row.category = tp_key(p, "gpu_work_period");
    row.start_ns = start;
    row.duration_ns = end - start;
    return tp_emit(p, &row, event->values, event->count);
}
