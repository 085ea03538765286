/* device.c - the kind of a device, by words that producers use */
#include "model/identity/device.h"

#include <string.h>

#include "model/identity/process.h"

static const char gpu[] = "GPU";

/* Words in names and labels of processes, and in names of models. */
static const char *const kinds[][2] = {
    {"TPU", "TPU"},   {"NPU", "NPU"},   {"Ascend", "NPU"}, {"AICORE", "NPU"},
    {"MTIA", "MTIA"}, {"Gaudi", "HPU"}, {"HPU", "HPU"},
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Digits may follow: "Ascend910B". */
static bool has_word(hd_string text, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= text.size; i++) {
        if (memcmp(text.data + i, word, size) != 0 || (i && is_letter(text.data[i - 1]))) continue;
        if (i + size == text.size || !is_letter(text.data[i + size])) return true;
    }
    return false;
}

const char *hd_device_kind_in(hd_string text)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (has_word(text, kinds[i][0])) return kinds[i][1];
    return gpu;
}

const char *hd_device_kind(const hd_trace *trace, uint32_t track)
{
    uint32_t id = hd_process_of(trace, track);
    if (id == HD_NONE) return gpu;
    const hd_track *process = hd_trace_track_at(trace, id);
    const char *kind = hd_device_kind_in(hd_trace_string(trace, process->name));
    return kind != gpu ? kind : hd_device_kind_in(hd_trace_string(trace, process->labels));
}

const char *hd_device_kinds(const hd_trace *trace)
{
    const char *all = NULL;
    for (uint32_t t = 0; t < hd_trace_track_count(trace); t++) {
        if (hd_trace_track_at(trace, t)->kind != HD_TRACK_STREAM) continue;
        const char *kind = hd_device_kind(trace, t);
        if (all && strcmp(all, kind) != 0) return "device";
        all = kind;
    }
    return all ? all : gpu;
}
