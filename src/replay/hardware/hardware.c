/* hardware.c - replays a plan on a GPU, with kernels that measure their times, and makes the table `hardware` */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "replay/hardware/hardware.h"

typedef struct stamp {
    uint64_t start, end; /* of the GPU's clock */
} stamp;

/* ---- on the GPU ---- */

static hd_status make_objects(hardware *h, hd_error *err)
{
    const cuda_api *c = &h->cuda;
    h->event_list = calloc((size_t)h->event_count + 1, sizeof *h->event_list);
    h->streams = calloc((size_t)h->queue_count + 1, sizeof *h->streams);
    if (!h->event_list || !h->streams) return HD_NOMEM(err);
    int result = c->allocate(&h->stamps, ((size_t)h->kernel_count + 1) * sizeof(stamp));
    if (!result && h->buffer_bytes) result = c->allocate(&h->buffer, 2 * h->buffer_bytes);
    if (!result && h->buffer_bytes) result = c->allocate_pinned(&h->pinned, h->buffer_bytes, 0);
    for (uint32_t e = 0; !result && e < h->event_count; e++)
        result = c->event_create(&h->event_list[e], CUDA_EVENT_NO_TIMING);
    for (uint32_t q = 0; !result && q < h->queue_count; q++)
        result = c->stream_create(&h->streams[q], CUDA_STREAM_NON_BLOCKING);
    if (!result) result = c->set(h->stamps, 0, ((size_t)h->kernel_count + 1) * sizeof(stamp) / 4, NULL);
    return result ? cuda_failed("streams, events and memory", result, err) : HD_OK;
}

static void drop_objects(hardware *h)
{
    const cuda_api *c = &h->cuda;
    hardware_drop_graphs(h);
    for (uint32_t e = 0; h->event_list && e < h->event_count; e++)
        if (h->event_list[e]) c->event_destroy(h->event_list[e]);
    for (uint32_t q = 0; h->streams && q < h->queue_count; q++)
        if (h->streams[q]) c->stream_destroy(h->streams[q]);
    if (h->stamps) c->release(h->stamps);
    if (h->buffer) c->release(h->buffer);
    if (h->pinned) c->release_pinned(h->pinned);
    free(h->event_list);
    free(h->streams);
}

/* ---- what came of it ---- */

typedef struct outcome {
    int64_t start, end, was_start, was_end; /* since the first kernel */
} outcome;

static hd_status read_outcomes(outcome *out, hardware *h, hd_error *err)
{
    const replay *r = h->r;
    size_t bytes = (size_t)h->kernel_count * sizeof(stamp);
    stamp *stamps = malloc(bytes + 1);
    uint64_t first = UINT64_MAX;
    int64_t was_first = INT64_MAX;
    if (!stamps) return HD_NOMEM(err);
    int result = h->cuda.copy_out(stamps, h->stamps, bytes, NULL);
    if (!result) result = h->cuda.synchronize();
    for (uint32_t k = 0; k < h->kernel_count; k++) {
        uint32_t head = h->heads[k];
        out[k] = (outcome){.was_start = r->changed.starts[head], .was_end = r->changed.ends[head]};
        if (stamps[k].start < first) first = stamps[k].start;
        if (out[k].was_start < was_first) was_first = out[k].was_start;
    }
    for (uint32_t n = r->first_work; n < r->graph->node_count; n++) {
        uint32_t k = h->kernels[n - r->first_work];
        if (k != HD_NONE && r->changed.ends[n] > out[k].was_end) out[k].was_end = r->changed.ends[n];
    }
    for (uint32_t k = 0; k < h->kernel_count; k++) {
        out[k].start = (int64_t)(stamps[k].start - first);
        out[k].end = (int64_t)(stamps[k].end - first) + HARDWARE_SELF_NS;
        out[k].was_start -= was_first;
        out[k].was_end -= was_first;
    }
    free(stamps);
    return result ? cuda_failed("reading the times of kernels", result, err) : HD_OK;
}

static void add_row(hd_table_builder *t, const char *what, int64_t expected, int64_t ran, int64_t span)
{
    bool is_sum = expected >= 0;
    int64_t error = is_sum ? ran - expected : ran, of = is_sum ? expected : span;
    hd_table_add_text(t, what);
    report_cell_int(t, is_sum ? expected : HD_NO_NUMBER);
    report_cell_int(t, is_sum ? ran : HD_NO_NUMBER);
    hd_table_add_int(t, error);
    gpu_cell_decimal(t, 100.0 * (double)(error < 0 ? -error : error) / (double)of, of > 0);
}

static hd_status add_outcomes(hd_report *out, const outcome *list, size_t count, const replay *r, hd_error *err)
{
    static const char *const names[] = {"start of kernels: median", "start of kernels: 99 %",
                                        "start of kernels: largest"};
    hd_table_builder *t;
    int64_t span = 0, was_span = 0, sum = 0, was_sum = 0, middle[3];
    int64_t *errors = hd_large_new(count + 1, sizeof *errors, r->large);
    hd_status status = errors ? report_builder(&t, &replay_about, "hardware", err) : HD_NOMEM(err);
    for (size_t i = 0; status == HD_OK && i < count; i++) {
        int64_t error = list[i].start - list[i].was_start;
        if (list[i].end > span) span = list[i].end;
        if (list[i].was_end > was_span) was_span = list[i].was_end;
        sum += list[i].end - list[i].start;
        was_sum += list[i].was_end - list[i].was_start;
        errors[i] = error < 0 ? -error : error;
    }
    if (status == HD_OK) status = replay_middle(middle, errors, count, r, err);
    if (status == HD_OK) {
        add_row(t, "span of kernels", was_span, span, span);
        add_row(t, "time of kernels", was_sum, sum, span);
        for (int i = 0; i < 3; i++) add_row(t, names[i], -1, middle[i], was_span);
        status = report_add(out, t, err);
    }
    hd_large_free(errors);
    return status;
}

/* ---- the whole ---- */

static hd_status run_failed(const char *what, hardware *h, hd_error *err)
{
    int failed = atomic_load(&h->failed);
    if (failed != HARDWARE_STUCK) return cuda_failed(what, failed, err);
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "run: work waits for other work whose launch waits for it, or a thread did not start");
}

static hd_status run_once(hd_report *out, hardware *h, hd_error *err)
{
    const replay *r = h->r;
    outcome *list = hd_large_new((size_t)h->kernel_count + 1, sizeof *list, r->large);
    hd_status status = list ? make_objects(h, err) : HD_NOMEM(err);
    /* The first launch loads the kernel. */
    if (status == HD_OK && (!hardware_spin(h, NULL, h->kernel_count, 1000) || !hardware_make_graphs(h) ||
                            !hardware_did(h, h->cuda.synchronize())))
        status = run_failed("the first launch", h, err);
    if (status == HD_OK) status = hardware_issue(h, err);
    if (status == HD_OK) hardware_did(h, h->cuda.synchronize());
    if (status == HD_OK && atomic_load(&h->failed)) status = run_failed("the run", h, err);
    if (status == HD_OK) status = read_outcomes(list, h, err);
    if (status == HD_OK) status = add_outcomes(out, list, h->kernel_count, r, err);
    hd_large_free(list);
    drop_objects(h);
    return status;
}

hd_status replay_on_hardware(hd_report *out, replay *r, hd_error *err)
{
    hardware h = {.r = r};
    hd_status status = hardware_list(&h, err);
    if (status == HD_OK) status = cuda_open(&h.cuda, err);
    if (status == HD_OK) status = run_once(out, &h, err);
    r->cut_copies = h.cut_copies;
    r->orphans = h.orphan_count;
    hardware_list_deinit(&h);
    return status;
}
