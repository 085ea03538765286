/* meta.c - who is who in a synthetic trace: tracks, metadata events, top-level keys */
#include <stdio.h>
#include <stdlib.h>

#include "synth/impl.h"

/* Unix time of the clock's zero, and the start of the run on that clock: weeks later, as in Kineto's traces. */
static const int64_t base_ns = 1735689600000000000;
static const int64_t run_ns = 3894127000000000;

int64_t synth_clock_base(bool cupti)
{
    return cupti ? base_ns + run_ns : run_ns;
}

enum { LOADER_TID = 209, WATCH_TID = 611 };

static hd_ident text_ident(synth *s, synth_text_id id)
{
    return (hd_ident){HD_IDENT_STRING, s->texts[id]};
}

/* ---- tracks ---- */

static void stream_track(synth *s, uint32_t index, int64_t number)
{
    synth_stream *stream = &s->now.streams[index];
    stream->number = number;
    stream->track = hd_builder_thread(s->builder, s->device, number);
    if (stream->track == HD_NONE) s->failed = true;
}

static uint32_t thread_track(synth *s, int64_t pid, int64_t tid)
{
    uint32_t track = hd_builder_thread(s->builder, pid, tid);
    if (track == HD_NONE) s->failed = true;
    return track;
}

uint32_t synth_host_of(const hd_synth_options *options, uint32_t rank)
{
    return options->host_ranks ? rank / options->host_ranks : rank;
}

static synth_slowness slowness(const hd_synth_job_fault *fault, uint32_t where)
{
    return (synth_slowness){.own = where == fault->where ? fault->amount : 0, .most = fault->amount};
}

static void rank_pace(synth *s, uint32_t host)
{
    const hd_synth_job_fault *faults = s->options.job_faults;
    s->slow_gpu = slowness(&faults[HD_SYNTH_SLOW_GPU], s->rank);
    s->slow_host = slowness(&faults[HD_SYNTH_SLOW_HOST], host);
    s->clock_offset_ns += slowness(&faults[HD_SYNTH_SHIFTED_CLOCK], host).own;
}

void synth_rank_tracks(synth *s)
{
    bool alone = s->first_rank == s->last_rank;
    uint32_t host = synth_host_of(&s->options, s->rank);
    synth_random clock = synth_seed(s->options.seed ^ 0x636c6f636b, host);
    s->pid = 41000 + (int64_t)s->rank * 1000;
    s->device = alone ? s->rank % 8 : s->rank;
    s->clock_base_ns = synth_clock_base(s->options.cupti);
    s->clock_offset_ns = host ? synth_below(&clock, 1200001) - 600000 : 0;
    s->clock_drift_ppb = host ? synth_below(&clock, 24001) - 12000 : 0;
    rank_pace(s, host);
    if (s->options.host_ranks) clock = synth_seed(s->options.seed ^ 0x70616365, s->rank);
    s->noise_percent = 60 + synth_below(&clock, 41);
    s->cpu_process = thread_track(s, s->pid, 0);
    s->gpu_process = thread_track(s, s->device, 0);
    s->now.main.track = thread_track(s, s->pid, s->pid + SYNTH_MAIN_TID);
    s->now.autograd.track = thread_track(s, s->pid, s->pid + SYNTH_AUTOGRAD_TID);
    s->begin_thread = thread_track(s, s->pid, s->pid + LOADER_TID);
    s->watch_thread = s->options.orphans ? thread_track(s, s->pid, s->pid + WATCH_TID) : HD_NONE;
    for (uint32_t i = 0; i < s->options.streams; i++) stream_track(s, i, i ? 16 + 4 * (int64_t)i : 7);
    if (s->options.ranks > 1) stream_track(s, SYNTH_COMM, 20 + 4 * (int64_t)HD_SYNTH_STREAMS_MAX);
    s->now.main.which = SYNTH_MAIN;
    s->now.autograd.which = SYNTH_AUTOGRAD;
    s->now.main.now = s->now.autograd.now = (synth_when){1000000, 1000000};
}

/* ---- metadata events ---- */

static void put_meta(synth *s, uint32_t track, synth_text_id name, synth_shape shape, int64_t value)
{
    synth_event event = {
        .kind = HD_KIND_META,
        .shape = (uint8_t)shape,
        .phase = 'M',
        .track = track,
        .name = s->texts[name],
        .start_ns = 0,
        .duration_ns = HD_NO_TIME,
    };
    synth_put(s, SYNTH_CPU, &event, &value);
}

/* The process itself has a track besides that of its tid 0, which carries its metadata. */
static uint32_t process_of(synth *s, int64_t pid)
{
    hd_ident ident = {HD_IDENT_NUMBER, synth_text(s, "%lld", (long long)pid)};
    return hd_builder_track(s->builder, ident, (hd_ident){0}, true);
}

static void process_meta(synth *s, uint32_t track, int64_t pid, uint32_t labels, int64_t sort_index)
{
    uint32_t process = process_of(s, pid);
    if (process == HD_NONE) {
        s->failed = true;
        return;
    }
    hd_builder_name_track(s->builder, process, s->texts[SYNTH_TEXT_PYTHON]);
    hd_builder_label_track(s->builder, process, labels);
    hd_builder_sort_track(s->builder, process, sort_index);
    if (s->options.ranks > 1) hd_builder_set_rank(s->builder, process, s->rank);
    put_meta(s, track, SYNTH_TEXT_PROCESS_NAME, SYNTH_SHAPE_NAME, s->texts[SYNTH_TEXT_PYTHON]);
    put_meta(s, track, SYNTH_TEXT_PROCESS_LABELS, SYNTH_SHAPE_LABELS, labels);
    put_meta(s, track, SYNTH_TEXT_PROCESS_SORT, SYNTH_SHAPE_SORT, sort_index);
}

static void thread_meta(synth *s, uint32_t track, uint32_t name, int64_t sort_index)
{
    if (s->failed) return;
    hd_builder_name_track(s->builder, track, name);
    hd_builder_sort_track(s->builder, track, sort_index);
    if (s->options.ranks > 1) hd_builder_set_rank(s->builder, track, s->rank);
    put_meta(s, track, SYNTH_TEXT_THREAD_NAME, SYNTH_SHAPE_NAME, name);
    put_meta(s, track, SYNTH_TEXT_THREAD_SORT, SYNTH_SHAPE_SORT, sort_index);
}

static void stream_meta(synth *s, uint32_t index)
{
    const synth_stream *stream = &s->now.streams[index];
    thread_meta(s, stream->track, synth_text(s, "stream %lld ", (long long)stream->number), stream->number);
    if (!s->failed) hd_builder_set_stream(s->builder, stream->track, s->device, stream->number);
}

void synth_rank_meta(synth *s)
{
    int64_t pid = s->pid;
    process_meta(s, s->cpu_process, pid, s->texts[SYNTH_TEXT_CPU], pid);
    process_meta(s, s->gpu_process, s->device, synth_text(s, "GPU %lld", (long long)s->device), 16777216 + s->device);
    thread_meta(s, s->now.main.track, synth_text(s, "thread %lld (python3)", (long long)pid), pid);
    thread_meta(s, s->now.autograd.track,
                synth_text(s, "thread %lld (pt_autograd_0)", (long long)pid + SYNTH_AUTOGRAD_TID),
                pid + SYNTH_AUTOGRAD_TID);
    thread_meta(s, s->begin_thread, synth_text(s, "thread %lld (pt_pin_memory)", (long long)pid + LOADER_TID),
                pid + LOADER_TID);
    if (s->watch_thread != HD_NONE)
        thread_meta(s, s->watch_thread, synth_text(s, "thread %lld (watchdog)", (long long)pid + WATCH_TID),
                    pid + WATCH_TID);
    for (uint32_t i = 0; i < s->options.streams; i++) stream_meta(s, i);
    if (s->options.ranks > 1) stream_meta(s, SYNTH_COMM);
}

/* ---- events that a trace has once ---- */

static void put_spans(synth *s, int64_t end_ns)
{
    hd_builder *b = s->builder;
    uint32_t spans = hd_builder_track(b, text_ident(s, SYNTH_TEXT_SPANS), text_ident(s, SYNTH_TEXT_PROFILER), false);
    uint32_t traces =
        hd_builder_track(b, text_ident(s, SYNTH_TEXT_TRACES), text_ident(s, SYNTH_TEXT_TRACE_PROFILER), false);
    uint32_t blank = hd_builder_track(b, text_ident(s, SYNTH_TEXT_BLANK), text_ident(s, SYNTH_TEXT_BLANK), false);
    if (spans == HD_NONE || traces == HD_NONE || blank == HD_NONE) s->failed = true;
    int64_t zero = 0, global = s->texts[SYNTH_TEXT_GLOBAL];
    synth_event event = {
        .kind = HD_KIND_SLICE,
        .shape = SYNTH_SHAPE_SPAN,
        .phase = 'X',
        .track = spans,
        .name = s->texts[SYNTH_TEXT_PROFILER_0],
        .category = s->texts[SYNTH_TEXT_TRACE],
        .duration_ns = end_ns,
    };
    synth_put(s, SYNTH_CPU, &event, &zero);
    event = (synth_event){
        .kind = HD_KIND_INSTANT,
        .shape = SYNTH_SHAPE_INSTANT,
        .phase = 'i',
        .track = traces,
        .name = s->texts[SYNTH_TEXT_ITERATION],
        .duration_ns = HD_NO_TIME,
    };
    synth_put(s, SYNTH_CPU, &event, &global);
    event.track = blank;
    event.name = s->texts[SYNTH_TEXT_RECORD_END];
    event.start_ns = end_ns;
    synth_put(s, SYNTH_CPU, &event, &global);
}

static void put_key(synth *s, const char *key, uint32_t value, bool after)
{
    hd_builder_metadata(s->builder, hd_builder_intern_text(s->builder, key), value, after);
}

static uint32_t device_properties(synth *s)
{
    return synth_text(s,
                      "[{\"id\": %d, \"name\": \"NVIDIA H100 80GB HBM3\", \"totalGlobalMem\": 85028765696, "
                      "\"computeMajor\": 9, \"computeMinor\": 0, \"maxThreadsPerBlock\": 1024, "
                      "\"maxThreadsPerMultiprocessor\": 2048, \"regsPerBlock\": 65536, \"warpSize\": 32, "
                      "\"sharedMemPerBlock\": 49152, \"numSms\": 132}]",
                      (int)s->first_rank % 8);
}

/* "[0, 1, …]", as Kineto shortens it beyond thirty ranks. */
static uint32_t ranks_text(synth *s)
{
    char text[256];
    int used = snprintf(text, sizeof text, "[0");
    for (uint32_t i = 1; i < s->options.ranks; i++) {
        if (i == 30) {
            used += snprintf(text + used, sizeof text - (size_t)used, ", ...");
            break;
        }
        used += snprintf(text + used, sizeof text - (size_t)used, ", %u", i);
    }
    snprintf(text + used, sizeof text - (size_t)used, "]");
    return hd_builder_intern_text(s->builder, text);
}

/* A trace of all ranks names none. */
static uint32_t distributed_info(synth *s)
{
    char rank[32] = "";
    if (s->first_rank == s->last_rank) snprintf(rank, sizeof rank, "\"rank\": %u, ", (unsigned)s->first_rank);
    return synth_text(s,
                      "{\"backend\": \"nccl\", %s\"world_size\": %u, \"pg_count\": 1, \"pg_config\": "
                      "[{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"pg_size\": %u}], "
                      "\"nccl_version\": \"2.27.5\"}",
                      rank, (unsigned)s->options.ranks, (unsigned)s->options.ranks);
}

void synth_trace_meta_before(synth *s)
{
    s->group_name = s->texts[SYNTH_TEXT_ZERO];
    s->group_ranks = ranks_text(s);
    hd_trace_facts *facts = hd_builder_facts(s->builder);
    facts->format = "synth";
    facts->base_ns = s->options.cupti ? 0 : base_ns;
    facts->has_args = true;
    facts->world_size = s->options.ranks > 1 ? s->options.ranks : HD_NO_NUMBER;
    if (s->options.ranks > 1 && s->first_rank == s->last_rank) facts->rank = s->first_rank;
    if (s->options.cupti) return;
    put_key(s, "schemaVersion", synth_text(s, "1"), false);
    put_key(s, "deviceProperties", device_properties(s), false);
    if (s->options.ranks > 1) put_key(s, "distributedInfo", distributed_info(s), false);
    if (s->options.host_ranks && s->first_rank == s->last_rank)
        put_key(s, "hostname", synth_text(s, "\"node%u\"", (unsigned)synth_host_of(&s->options, s->first_rank)), false);
    put_key(s, "record_shapes", synth_text(s, "1"), false);
    if (s->options.memory) put_key(s, "profile_memory", synth_text(s, "1"), false);
    if (s->options.python) put_key(s, "with_stack", synth_text(s, "1"), false);
}

static uint32_t trace_name(synth *s)
{
    return s->first_rank == s->last_rank ? synth_text(s, "\"synth_rank%u.json\"", (unsigned)s->first_rank)
                                         : synth_text(s, "\"synth.json\"");
}

void synth_trace_meta_after(synth *s)
{
    if (s->options.cupti) {
        put_key(s, "displayTimeUnit", synth_text(s, "\"ns\""), true);
        return;
    }
    put_spans(s, s->now.main.now.own + 50000);
    put_key(s, "traceName", trace_name(s), true);
    put_key(s, "displayTimeUnit", synth_text(s, "\"ms\""), true);
    put_key(s, "baseTimeNanoseconds", synth_text(s, "%lld", (long long)base_ns), true);
}
