/* row_sorts.c - which rows are a device's, and which of those its work stands on
 *
 * Queues   tracks that are streams; rows of a process "GPU2" (ROCm's tools); of Ascend's "Ascend Hardware"; of
 *          TensorFlow's and JAX's "/device:GPU:0" the rows "Stream #13(Kernel)", or "XLA Ops" where there is none (a
 *          TPU has no streams); TensorFlow 1's "/device:GPU:0/stream:7 Compute".
 * Told     all else of such a device, and whatever Ascend labels "NPU": spans of collectives, sums, modules, steps.
 *          They run at the time of the queues' work and are no work themselves, nor the time of a CPU.
 * Host     the rest. "/device:CPU:0" and "/host:CPU" are threads.
 */
#include <string.h>

#include "trace/roles/trace_roles.h"

static bool begins(hd_string text, const char *word)
{
    size_t size = strlen(word);
    return text.size >= size && memcmp(text.data, word, size) == 0;
}

static bool is(hd_string text, const char *word)
{
    return text.size == strlen(word) && begins(text, word);
}

/* What stands behind `word` in a text; NULL: it is not in it. */
static const char *find(hd_string text, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= text.size; i++) {
        if (memcmp(text.data + i, word, size) == 0) return text.data + i + size;
    }
    return NULL;
}

/* ---- processes ---- */

/* How the rows of a process are told apart. */
enum { HOST = HD_ROW_HOST, QUEUES = HD_ROW_QUEUE, TOLD = HD_ROW_TOLD, BY_STREAM, BY_XLA };

/* "GPU2" */
static bool is_gpu_name(hd_string name)
{
    if (name.size < 4 || !begins(name, "GPU")) return false;
    for (size_t i = 3; i < name.size; i++) {
        if (name.data[i] < '0' || name.data[i] > '9') return false;
    }
    return true;
}

/* "/device:GPU:0", "/job:localhost/replica:0/task:0/device:TPU:1 Compute", of old "/gpu:0". */
static bool is_tensorflow_device(hd_string name)
{
    const char *kind = find(name, "/device:");
    if (!begins(name, "/")) return false;
    if (!kind) return find(name, "/gpu:") != NULL;
    hd_string rest = {kind, name.size - (size_t)(kind - name.data)};
    return !begins(rest, "CPU:") && !begins(rest, "cpu:") && rest.size && rest.data[0] > '9';
}

static uint8_t sort_of_process(const hd_trace *trace, const hd_track *track)
{
    hd_string name = hd_trace_string(trace, track->name);
    if (is_gpu_name(name) || is(name, "Ascend Hardware")) return QUEUES;
    if (is(name, "Overlap Analysis") || is(name, "HCCL") || is(hd_trace_string(trace, track->labels), "NPU"))
        return TOLD;
    if (!is_tensorflow_device(name)) return HOST;
    /* "all" has once more what the numbered streams have. */
    if (find(name, "/stream:")) return find(name, "/stream:all") ? TOLD : QUEUES;
    return BY_XLA; /* until one of its rows is a stream */
}

static uint32_t process_of(const hd_trace *trace, const hd_track *track, uint32_t count)
{
    if (track->parent >= count) return HD_NONE;
    uint32_t process = hd_trace_track_at(trace, track->parent)->same_as;
    return process < count ? process : HD_NONE;
}

/* ---- rows ---- */

static hd_row_sort sort_in(uint8_t process, hd_string name)
{
    switch (process) {
    case QUEUES: return HD_ROW_QUEUE;
    case BY_STREAM: return begins(name, "Stream #") ? HD_ROW_QUEUE : HD_ROW_TOLD;
    case BY_XLA: return is(name, "XLA Ops") ? HD_ROW_QUEUE : HD_ROW_TOLD;
    case TOLD: return HD_ROW_TOLD;
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
        process = process_of(trace, track, count);
        if (process != HD_NONE && out[process] == BY_XLA && begins(hd_trace_string(trace, track->name), "Stream #"))
            out[process] = BY_STREAM;
    }
    /* The sorts of processes that stay are those of rows, so that it does not matter which comes first. */
    for (uint32_t t = 0; t < count; t++) {
        const hd_track *track = hd_trace_track_at(trace, t);
        process = process_of(trace, track, count);
        uint8_t sort = process != HD_NONE ? out[process] : track->same_as < count ? out[track->same_as] : HOST;
        out[t] = (uint8_t)(track->kind == HD_TRACK_STREAM ? HD_ROW_QUEUE
                                                          : sort_in(sort, hd_trace_string(trace, track->name)));
    }
}
