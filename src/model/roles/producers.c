/* producers.c - recognises the producer of a trace, and the tracks of devices: conventions of producers, one per line
 *
 * Queues   tracks that are streams, and tracks listed in the table
 * Told     other tracks of a device: spans of collectives, sums, modules, steps, idle time. They overlap the queues'
 *          activities and are neither activities nor CPU time
 * Host     all others. "/device:CPU:0" and "/host:CPU" are threads
 */
#include <string.h>

#include "model/identity/process.h"
#include "model/roles/trace_roles.h"
#include "trace/text.h"

/* Where a word is looked for. */
typedef enum convention_place {
    PROCESS,  /* names of processes */
    LABELS,   /* their labels */
    ROW,      /* names of rows */
    METADATA, /* top-level keys */
    TEXTS,    /* any name, category or key of an argument */
    CATEGORY, /* the same; slices of that category are classified by name, as if they had none */
} convention_place;

typedef enum convention_match {
    IS,
    BEGINS,
    HAS,
    NUMBERED,  /* the word, then digits alone */
    TF_DEVICE, /* "/device:GPU:0", "/job:localhost/replica:0/task:0/device:TPU:1 Compute", of old "/gpu:0" */
} convention_match;

/* The kind of a process by that. BY_STREAM: its tracks called "Stream #13(Kernel)" are queues; BY_XLA: "XLA Ops" is, as
 * on a TPU, which has no streams, until a track is a stream. */
enum { HOST = HD_ROW_HOST, QUEUES = HD_ROW_QUEUE, THREADS = HD_ROW_THREAD, TOLD = HD_ROW_TOLD, BY_STREAM, BY_XLA };

typedef struct convention {
    const char *producer; /* of the first line that fits; NULL: others write so, too */
    convention_place place;
    convention_match match;
    const char *word;
    uint8_t sort; /* of PROCESS and LABELS; of ROW within a device's process */
} convention;

/* Keys added by our own readers and writers are not evidence for a producer: baseTimeNanoseconds, distributedInfo and
 * deviceProperties, which Kineto has as well. */
/* clang-format off */
static const convention conventions[] = {
    {"Heddle",                       METADATA, IS,        "heddle.capture", HOST},
    {"MindSpore",                    LABELS,   IS,        "AICORE OP", QUEUES},
    {"MindSpore",                    LABELS,   IS,        "Ascend Op", QUEUES},
    {"MindSpore",                    LABELS,   IS,        "AICPU OP", QUEUES},
    {"MindSpore",                    LABELS,   IS,        "Communication Op", QUEUES},
    {"MindSpore",                    LABELS,   IS,        "Activity Op", QUEUES}, /* kernels of a GPU */
    {"MindSpore",                    LABELS,   IS,        "GPU Op", TOLD},        /* the operators they are of */
    {"MindSpore",                    LABELS,   IS,        "Op Overlap Analyse", TOLD},
    {"MindSpore",                    LABELS,   IS,        "Host CPU OP", HOST},
    {"MindSpore",                    PROCESS,  IS,        "MindSpore", HOST},
    {"Ascend (CANN)",                PROCESS,  IS,        "Ascend Hardware", QUEUES},
    {"Ascend (CANN)",                PROCESS,  IS,        "Overlap Analysis", TOLD},
    {"Ascend (CANN)",                PROCESS,  IS,        "HCCL", TOLD},
    {"Ascend (CANN)",                LABELS,   IS,        "NPU", TOLD},
    {"PaddlePaddle",                 METADATA, IS,        "span_indx", HOST},
    {"PaddlePaddle",                 PROCESS,  BEGINS,    "Deivce ", QUEUES}, /* as it is spelt */
    {"Intel unitrace",               PROCESS,  HAS,       " DEVICE<", QUEUES}, /* "RANK 1 DEVICE<node>0:3a:0:0 #0" */
    {"Intel unitrace",               PROCESS,  BEGINS,    "DEVICE<", QUEUES},
    {"Intel unitrace",               PROCESS,  BEGINS,    "HOST<", HOST},
    {"Intel unitrace",               PROCESS,  HAS,       " HOST<", HOST},
    {"Intel unitrace",               TEXTS,    IS,        "gpu_op", HOST},
    {"Intel unitrace",               CATEGORY, IS,        "cpu_op", HOST}, /* calls of Level Zero and OpenCL */
    {"MetaX mcTracer",               TEXTS,    IS,        "mtreg_occupancy(%)", HOST},
    {"MetaX mcTracer",               CATEGORY, IS,        "0", HOST},
    {"MetaX mcTracer",               CATEGORY, IS,        "1", HOST},
    {"ONNX Runtime",                 TEXTS,    IS,        "model_loading_uri", HOST},
    {"ONNX Runtime",                 TEXTS,    IS,        "model_loading_array", HOST},
    {"rocprof",                      PROCESS,  IS,        "CPU HIP API", HOST},
    {"rocprof",                      PROCESS,  IS,        "CPU HSA API", HOST},
    {"rocprof",                      PROCESS,  IS,        "COPY", QUEUES},
    {"rocmProfileData",              ROW,      BEGINS,    "Hip ", HOST},
    {NULL,                           PROCESS,  NUMBERED,  "GPU", QUEUES},
    {"TensorFlow 1",                 PROCESS,  HAS,       "/stream:all", TOLD}, /* the same activities as the numbered
                                                                                   streams */
    {"TensorFlow 1",                 PROCESS,  HAS,       "/stream:", QUEUES},
    {"TensorFlow 1",                 PROCESS,  BEGINS,    "/job:", BY_XLA},
    {"TensorFlow or JAX",            PROCESS,  TF_DEVICE, "", BY_XLA},
    {"TensorFlow or JAX",            PROCESS,  BEGINS,    "/host:", THREADS},
    {"CUPTI injection",              TEXTS,    IS,        "GPU_Kernel", HOST},
    {"PyTorch (Kineto)",             METADATA, IS,        "schemaVersion", HOST},
    {"PyTorch (Kineto)",             TEXTS,    IS,        "External id", HOST},
    {"PyTorch (Kineto)",             TEXTS,    IS,        "External Id", HOST},
    {"Chrome (catapult)",            PROCESS,  IS,        "Browser", HOST},
    {"Chrome (catapult)",            METADATA, IS,        "systemTraceEvents", HOST},
    {NULL,                           ROW,      IS,        "Steps", TOLD},
    {NULL,                           ROW,      IS,        "Scope Name", TOLD},
    {NULL,                           ROW,      IS,        "Free Time", TOLD},
};
/* clang-format on */
/* Formats that only one program writes. */
static const char *const by_format[][2] = {
    {"nsys", "Nsight Systems"}, {"rpd", "rocmProfileData"}, {"rocpd", "ROCprofiler"}, {"rocprofv3", "rocprofv3"}};
enum { CONVENTIONS = sizeof conventions / sizeof *conventions };

/* ---- words ---- */

/* The text after `word`; NULL: it does not occur. */
static const char *find(hd_string text, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= text.size; i++) {
        if (memcmp(text.data + i, word, size) == 0) return text.data + i + size;
    }
    return NULL;
}

static bool is_numbered(hd_string text, const char *word)
{
    size_t size = strlen(word);
    if (text.size == size || !hd_string_begins(text, word)) return false;
    for (size_t i = size; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
    }
    return true;
}

static bool is_tensorflow_device(hd_string name)
{
    const char *kind = find(name, "/device:");
    if (!hd_string_begins(name, "/")) return false;
    if (!kind) return find(name, "/gpu:") != NULL;
    hd_string rest = {kind, name.size - (size_t)(kind - name.data)};
    return !hd_string_begins(rest, "CPU:") && !hd_string_begins(rest, "cpu:") && rest.size && rest.data[0] > '9';
}

static bool fits(const convention *c, hd_string text)
{
    switch (c->match) {
    case BEGINS: return hd_string_begins(text, c->word);
    case HAS: return find(text, c->word) != NULL;
    case NUMBERED: return is_numbered(text, c->word);
    case TF_DEVICE: return is_tensorflow_device(text);
    default: return text.size == strlen(c->word) && hd_string_begins(text, c->word);
    }
}

/* The first line for a text in that place; NULL: none. */
static const convention *convention_of(const hd_trace *trace, convention_place place, uint32_t id)
{
    hd_string text = hd_trace_string(trace, id);
    for (size_t i = 0; text.size && i < CONVENTIONS; i++) {
        if (conventions[i].place == place && fits(&conventions[i], text)) return &conventions[i];
    }
    return NULL;
}

/* ---- producers ---- */

static const convention *earlier(const convention *a, const convention *b)
{
    if (!b || !b->producer) return a;
    return !a || b < a ? b : a;
}

static bool is_in_trace(const hd_trace *trace, const convention *c)
{
    if (c->place == METADATA) return hd_trace_metadata_find(trace, c->word).size > 0;
    return c->place == TEXTS && hd_trace_find_string(trace, c->word, strlen(c->word)) != HD_NONE;
}

const char *hd_producer_of(const hd_trace *trace)
{
    const convention *first = NULL;
    if (hd_trace_is_made_from(trace, "capture")) return "Heddle";
    for (uint32_t t = 0; t < hd_trace_track_count(trace); t++) {
        const hd_track *track = hd_trace_track_at(trace, t);
        bool is_process = track->kind == HD_TRACK_PROCESS;
        first = earlier(first, convention_of(trace, is_process ? PROCESS : ROW, track->name));
        if (is_process) first = earlier(first, convention_of(trace, LABELS, track->labels));
    }
    for (size_t i = 0; i < CONVENTIONS; i++) {
        if (is_in_trace(trace, &conventions[i])) first = earlier(first, &conventions[i]);
    }
    if (first) return first->producer;
    for (size_t i = 0; i < sizeof by_format / sizeof *by_format; i++)
        if (hd_trace_is_made_from(trace, by_format[i][0])) return by_format[i][1];
    return NULL;
}

uint32_t hd_producer_unsaid(const hd_trace *trace, const char *producer, size_t index)
{
    for (size_t i = 0; producer && i < CONVENTIONS; i++) {
        const convention *c = &conventions[i];
        if (c->place != CATEGORY || strcmp(c->producer, producer) != 0) continue;
        uint32_t id = hd_trace_find_string(trace, c->word, strlen(c->word));
        if (id != HD_NONE && index-- == 0) return id;
    }
    return HD_NONE;
}

/* ---- rows ---- */

/* A TensorFlow 1 device without streams is recognised by its tracks, like those of its successors. */
static uint8_t sort_of_process(const hd_trace *trace, const hd_track *track)
{
    const convention *name = convention_of(trace, PROCESS, track->name);
    const convention *labels = convention_of(trace, LABELS, track->labels);
    if (name && name->sort == BY_XLA && !is_tensorflow_device(hd_trace_string(trace, track->name))) return HOST;
    if (name && name->sort != HOST) return name->sort;
    return labels ? labels->sort : HOST;
}

static bool is_stream_name(const hd_trace *trace, const hd_track *track)
{
    return hd_string_begins(hd_trace_string(trace, track->name), "Stream #");
}

static hd_row_sort sort_in(const hd_trace *trace, const hd_track *track, uint8_t process)
{
    hd_string name = hd_trace_string(trace, track->name);
    const convention *row = process == HOST ? NULL : convention_of(trace, ROW, track->name);
    if (row && row->sort == TOLD) return HD_ROW_TOLD;
    switch (process) {
    case QUEUES: return HD_ROW_QUEUE;
    case BY_STREAM: return is_stream_name(trace, track) ? HD_ROW_QUEUE : HD_ROW_TOLD;
    case BY_XLA: return name.size == 7 && hd_string_begins(name, "XLA Ops") ? HD_ROW_QUEUE : HD_ROW_TOLD;
    case TOLD: return HD_ROW_TOLD;
    case THREADS: return HD_ROW_THREAD;
    default: return HD_ROW_HOST;
    }
}

/* First the processes, under the lowest of their twins: ROCm's tools name pid 6 and have slices of pid "6". */
void hd_row_sorts_find(uint8_t *out, const hd_trace *trace)
{
    uint32_t count = hd_trace_track_count(trace), process;
    memset(out, HOST, count);
    for (uint32_t t = 0; t < count; t++) {
        const hd_track *track = hd_trace_track_at(trace, t);
        uint8_t sort = track->parent >= count ? sort_of_process(trace, track) : HOST;
        if (sort != HOST && track->same_as < count) out[track->same_as] = sort;
    }
    for (uint32_t t = 0; t < count; t++) {
        const hd_track *track = hd_trace_track_at(trace, t);
        process = hd_process_of(trace, t);
        if (process != HD_NONE && out[process] == BY_XLA && is_stream_name(trace, track)) out[process] = BY_STREAM;
    }
    for (int own = 0; own < 2; own++) { /* tracks of processes themselves last: others depend on theirs */
        for (uint32_t t = 0; t < count; t++) {
            const hd_track *track = hd_trace_track_at(trace, t);
            process = hd_process_of(trace, t);
            if ((process == t) != own) continue;
            uint8_t sort = process == HD_NONE ? HOST : out[process];
            out[t] = (uint8_t)(track->kind == HD_TRACK_STREAM ? HD_ROW_QUEUE : sort_in(trace, track, sort));
        }
    }
}
