/* describe.c - notes and metadata: what was captured, what it cost, what is missing
 *
 * The program may be killed at any moment, so they are written again and again while it runs. They are small.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "capture/cuda/describe.h"
#include "capture/session/tracers.h"

/* ---- JSON ---- */

static void put_text(hd_bytes *out, const char *text)
{
    hd_bytes_put(out, text, strlen(text));
}

__attribute__((format(printf, 2, 3))) static void put(hd_bytes *out, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    put_text(out, text);
}

/* The bytes of a character of UTF-8 that is right, else 0. */
static size_t character(const unsigned char *p)
{
    size_t size = *p < 0x80                 ? 1
                  : *p >= 0xc2 && *p < 0xe0 ? 2
                  : *p >= 0xe0 && *p < 0xf0 ? 3
                  : *p >= 0xf0 && *p < 0xf5 ? 4
                                            : 0;
    for (size_t i = 1; i < size; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
    }
    bool is_long = (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xf0 && p[1] < 0x90);
    bool is_out = (*p == 0xed && p[1] > 0x9f) || (*p == 0xf4 && p[1] > 0x8f);
    return is_long || is_out ? 0 : size;
}

static void put_string(hd_bytes *out, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    hd_bytes_put_u8(out, '"');
    while (*p) {
        size_t size = character(p);
        if (*p == '"' || *p == '\\')
            put(out, "\\%c", *p);
        else if (*p < 0x20)
            put(out, "\\u%04x", *p);
        else if (size)
            hd_bytes_put(out, p, size);
        else
            put_text(out, "\\ufffd");
        p += size ? size : 1;
    }
    hd_bytes_put_u8(out, '"');
}

static void set_metadata(cuda_tracer *t, const char *key, hd_bytes *json)
{
    hd_bytes_put_u8(json, 0);
    if (!json->failed) hd_session_metadata(t->session, key, (const char *)json->data);
    hd_bytes_deinit(json);
}

/* ---- messages, once each ---- */

void cuda_tell(cuda_tracer *t, const char *code, hd_session_note_level level, const char *format, ...)
{
    uint32_t count = 0;
    va_list list;
    pthread_mutex_lock(&t->text_lock);
    if (t->problem_count < CUDA_PROBLEMS) {
        cuda_problem *problem = &t->problems[t->problem_count++];
        snprintf(problem->code, sizeof problem->code, "%s", code);
        va_start(list, format);
        vsnprintf(problem->text, sizeof problem->text, format, list);
        va_end(list);
    }
    for (uint32_t i = 0; i < t->problem_count; i++) count += strcmp(t->problems[i].code, code) == 0;
    pthread_mutex_unlock(&t->text_lock);
    hd_session_note(t->session, code, level, count);
}

void cuda_describe_window(cuda_tracer *t, const char *json)
{
    char *copy = strdup(json);
    if (!copy) return;
    pthread_mutex_lock(&t->text_lock);
    free(t->window);
    t->window = copy;
    pthread_mutex_unlock(&t->text_lock);
    pthread_mutex_lock(&t->lock); /* CUDA may be starting */
    if (!t->has_helper) cuda_describe(t);
    pthread_mutex_unlock(&t->lock);
    atomic_store(&t->wants_description, true);
}

/* ---- heddle.capture ---- */

static void put_options(hd_bytes *out, const cuda_options *o)
{
    static const char *const policies[] = {"newest", "oldest", "block"};
    put(out, "\"options\":{\"stacks\":%d,\"python\":%d,\"memory\":%d,\"graph\":\"%s\",\"nvtx\":%d,\"policy\":\"%s\"}",
        o->stacks, o->python, o->memory, o->graph_whole ? "whole" : "node", o->nvtx, policies[o->policy]);
}

static void put_cupti(hd_bytes *out, const cuda_tracer *t)
{
    if (!t->cupti) {
        put_text(out, "\"cupti\":null");
        return;
    }
    put(out, "\"cupti\":%u,\"cuptiPath\":", t->cupti->version);
    put_string(out, t->cupti->path);
    put(out, ",\"hasActivity\":%s,\"hasCallbacks\":%s", t->has_activity ? "true" : "false",
        t->has_callbacks ? "true" : "false");
}

static void put_costs(hd_bytes *out, const cuda_tracer *t)
{
    put(out, "\"callbacks\":%llu,\"callbackNs\":%llu,\"helperCpuNs\":%llu",
        (unsigned long long)atomic_load(&t->costs.callbacks), (unsigned long long)atomic_load(&t->costs.callback_ns),
        (unsigned long long)t->helper_ns);
}

static void put_counts(hd_bytes *out, cuda_tracer *t)
{
    const activity_counts *c = &t->activity->counts;
    cuda_buffers_stats buffers;
    cuda_buffers_statistics(&buffers, &t->buffers);
    put(out,
        ",\"records\":%llu,\"shown\":%llu,\"facts\":%llu,\"filtered\":%llu,\"unknown\":%llu,\"bad\":%llu,\"dropped\":%"
        "llu",
        (unsigned long long)c->records, (unsigned long long)c->shown, (unsigned long long)c->facts,
        (unsigned long long)c->filtered, (unsigned long long)c->unknown, (unsigned long long)c->bad,
        (unsigned long long)c->dropped);
    put(out, ",\"buffers\":%llu,\"bufferBytes\":%llu,\"poolBytes\":%llu", (unsigned long long)c->buffers,
        (unsigned long long)c->bytes, (unsigned long long)buffers.high * CUDA_BUFFER_BYTES);
}

static void put_clock(hd_bytes *out, const cuda_clock *clock)
{
    const cuda_clock_pair *last = cuda_clock_last(clock);
    if (!last) return;
    put(out, ",\"clock\":{\"source\":\"%s\",\"offsetNs\":%lld,\"uncertaintyNs\":%lld,\"pairs\":%u}",
        clock->is_ours ? "CLOCK_MONOTONIC" : "pairs", (long long)(last->theirs - last->ours),
        (long long)last->uncertainty_ns, clock->count);
}

static void put_streams(hd_bytes *out, const cuda_activity *a)
{
    put_text(out, ",\"streams\":[");
    for (uint32_t i = 0; i < a->stream_count; i++)
        put(out, "%s{\"context\":%u,\"stream\":%u,\"priority\":%d}", i ? "," : "", a->streams[i].context,
            a->streams[i].stream, a->streams[i].priority);
    put_text(out, "]");
}

static void put_problems(hd_bytes *out, cuda_tracer *t)
{
    pthread_mutex_lock(&t->text_lock);
    put_text(out, ",\"problems\":[");
    for (uint32_t i = 0; i < t->problem_count; i++) {
        put(out, "%s{\"code\":", i ? "," : "");
        put_string(out, t->problems[i].code);
        put_text(out, ",\"message\":");
        put_string(out, t->problems[i].text);
        put_text(out, "}");
    }
    put_text(out, "]");
    if (t->window) {
        put_text(out, ",\"window\":");
        put_text(out, t->window);
    }
    pthread_mutex_unlock(&t->text_lock);
}

static void write_notes(cuda_tracer *t)
{
    const activity_counts *c = &t->activity->counts;
    cuda_buffers_stats buffers;
    cuda_buffers_statistics(&buffers, &t->buffers);
    hd_session_note(t->session, "cuda.dropped", HD_SESSION_LOSS, c->dropped);
    hd_session_note(t->session, "cuda.bad-times", HD_SESSION_LOSS, c->bad_times);
    bool has_no_calls = !c->calls && atomic_load(&t->launches.are_recorded); /* though CUPTI took them on */
    hd_session_note(t->session, "cuda.no-calls", HD_SESSION_LOSS, has_no_calls ? c->kernels : 0);
    hd_session_note(t->session, "cuda.record-damaged", HD_SESSION_LOSS, c->bad);
    hd_session_note(t->session, "cuda.record-unknown", HD_SESSION_LOSS, c->unknown);
    hd_session_note(t->session, "cuda.no-buffer", HD_SESSION_NOTE, buffers.refused);
    hd_session_note(t->session, "cuda.thread-unknown", HD_SESSION_NOTE, c->threadless);
    hd_session_note(t->session, "cuda.context-unknown", HD_SESSION_NOTE, c->unmapped);
    hd_session_note(t->session, "cuda.streams-unlisted", HD_SESSION_NOTE, c->unlisted);
    hd_session_note(t->session, "cuda.graph-nodes-lost", HD_SESSION_LOSS, cuda_graph_lost());
    hd_session_note(t->session, "cuda.buffers-taken", HD_SESSION_LOSS, cuda_taken_count(t));
    hd_session_note(t->session, "cuda.clock-paired", HD_SESSION_NOTE, t->activity->clock.has_broken);
}

void cuda_describe(cuda_tracer *t)
{
    hd_bytes json = {0};
    if (!t->activity) t->helper_ns = session_cpu_ns(t->session); /* of our threads there is one alone */
    put_text(&json, "{\"tracer\":\"cuda\",\"version\":\"" HD_VERSION "\",");
    put_cupti(&json, t);
    put_text(&json, ",");
    put_options(&json, &t->options);
    put_text(&json, ",");
    put_costs(&json, t);
    if (t->activity) {
        put_counts(&json, t);
        put_clock(&json, &t->activity->clock);
        put_streams(&json, t->activity);
        write_notes(t);
    }
    put_problems(&json, t);
    put_text(&json, "}");
    set_metadata(t, "heddle.capture", &json);
}

/* Once a second, and when there are twice as many calls, which a program that is killed early may have made. */
void cuda_describe_costs(cuda_tracer *t, int64_t now)
{
    enum { SECOND_NS = 1000000000, MANY = 1024 };
    uint64_t before = atomic_load(&t->costs.described), calls = atomic_load(&t->costs.callbacks);
    bool is_time = now - atomic_load(&t->costs.described_ns) >= SECOND_NS || (calls >= MANY && calls >= 2 * before);
    if (!is_time || pthread_mutex_trylock(&t->lock) != 0) return; /* CUDA is starting, or another thread is here */
    atomic_store(&t->costs.described, calls);
    atomic_store(&t->costs.described_ns, now);
    if (!t->has_helper) cuda_describe(t);
    pthread_mutex_unlock(&t->lock);
    atomic_store(&t->wants_description, true);
}

/* ---- GPUs, as Kineto's deviceProperties ---- */

static char *device_json(const cupti_device *d, bool is_mig)
{
    hd_bytes out = {0};
    put(&out, "{\"id\":%u,\"name\":", d->id);
    put_string(&out, d->name ? d->name : "");
    put(&out, ",\"totalGlobalMem\":%llu,\"computeMajor\":%u,\"computeMinor\":%u", (unsigned long long)d->memory,
        d->capability_major, d->capability_minor);
    put(&out, ",\"maxThreadsPerBlock\":%u,\"maxThreadsPerMultiprocessor\":%llu,\"regsPerBlock\":%u,\"warpSize\":%u",
        d->block_threads_max, (unsigned long long)d->warps_max * d->warp_threads, d->block_registers_max,
        d->warp_threads);
    put(&out, ",\"sharedMemPerBlock\":%u,\"numSms\":%u,\"regsPerMultiprocessor\":%u,\"sharedMemPerMultiprocessor\":%u",
        d->block_shared_max, d->multiprocessors, d->registers_max, d->shared_max);
    put(&out, ",\"memoryBandwidthKBs\":%llu,\"clockKHz\":%u,\"l2CacheBytes\":%u", (unsigned long long)d->bandwidth,
        d->clock, d->l2_cache);
    if (is_mig) put(&out, ",\"gpuInstance\":%u,\"computeInstance\":%u", d->gpu_instance, d->compute_instance);
    put_text(&out, "}");
    hd_bytes_put_u8(&out, 0);
    if (!out.failed) return (char *)out.data;
    hd_bytes_deinit(&out);
    return NULL;
}

void cuda_describe_device(cuda_activity *a, const cupti_device *device)
{
    hd_bytes json = {0};
    bool is_mig = a->cupti->version >= 17 && device->mig == 1;
    char *text = device_json(device, is_mig);
    uint32_t at = 0;
    while (at < a->device_count && a->devices[at].id != device->id) at++;
    if (!text || at == ACTIVITY_DEVICES) {
        free(text);
        return;
    }
    if (at == a->device_count) {
        a->devices[a->device_count++] = (activity_device){.id = device->id};
        if (is_mig)
            cuda_tell(a->tracer, "cuda.mig", HD_SESSION_NOTE,
                      "GPU %u is a MIG instance (GPU instance %u, compute instance %u): the properties shown are those "
                      "of this part.",
                      device->id, device->gpu_instance, device->compute_instance);
    }
    free(a->devices[at].json);
    a->devices[at].json = text;
    put_text(&json, "[");
    for (uint32_t i = 0; i < a->device_count; i++) {
        if (i) put_text(&json, ",");
        put_text(&json, a->devices[i].json);
    }
    put_text(&json, "]");
    set_metadata(a->tracer, "deviceProperties", &json);
}

void cuda_describe_stream(cuda_activity *a, const cupti_stream *stream)
{
    if (a->stream_count == ACTIVITY_STREAMS) {
        a->counts.unlisted++;
        return;
    }
    a->streams[a->stream_count].context = stream->context;
    a->streams[a->stream_count].stream = stream->stream;
    a->streams[a->stream_count++].priority = (int32_t)stream->priority;
}
