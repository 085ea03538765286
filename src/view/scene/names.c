/* names.c - display names of tracks and sections: without repetition, and unique among processes with equal names */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "trace/text.h"
#include "view/scene/impl.h"

/* Profilers write "stream 7 ". */
static hd_string trimmed(hd_string text)
{
    while (text.size && text.data[text.size - 1] == ' ') text.size--;
    while (text.size && text.data[0] == ' ') text = (hd_string){text.data + 1, text.size - 1};
    return text;
}

static void put(hd_bytes *out, hd_string text)
{
    hd_bytes_put(out, text.data, text.size);
}

static void put_text(hd_bytes *out, const char *text)
{
    hd_bytes_put(out, text, strlen(text));
}

/* A name if the trace has none: "thread 7", the pid or tid itself if it is text, "unnamed thread". */
static void put_ident(hd_bytes *out, const hd_trace *trace, const char *what, hd_ident ident)
{
    hd_string text = trimmed(hd_trace_string(trace, ident.text));
    bool is_number = true;
    for (size_t i = 0; i < text.size; i++) is_number &= strchr("-0123456789", text.data[i]) && text.data[i];
    if (ident.type == HD_IDENT_NONE || text.size == 0) {
        put_text(out, "unnamed ");
        put_text(out, what);
        return;
    }
    if (is_number) {
        put_text(out, what);
        put_text(out, " ");
    }
    put(out, text);
}

static bool become_name(view_track *track, hd_bytes *name)
{
    hd_bytes_put_u8(name, 0);
    if (name->failed) {
        hd_bytes_deinit(name);
        return false;
    }
    track->name = (char *)name->data;
    track->name_size = name->size - 1;
    return true;
}

bool scene_name_lane(view_track *track, const hd_trace *trace, uint32_t name, const char *what, hd_ident ident)
{
    hd_bytes out = {0};
    hd_string text = trimmed(hd_trace_string(trace, name));
    if (text.size)
        put(&out, text);
    else
        put_ident(&out, trace, what, ident);
    return become_name(track, &out);
}

static bool contains(hd_string text, hd_string part)
{
    return memmem(text.data, text.size, part.data, part.size) != NULL;
}

/* Without "rank 3: ", which heddle merge writes before the names of processes. */
static hd_string without_rank(hd_string name, int64_t rank)
{
    char prefix[48];
    size_t size = (size_t)snprintf(prefix, sizeof prefix, "rank %lld: ", (long long)rank);
    if (rank == HD_NO_NUMBER || name.size < size || memcmp(name.data, prefix, size) != 0) return name;
    return (hd_string){name.data + size, name.size - size};
}

/* "/device:TPU:0" of XLA, "GPU 0". */
static bool names_device(hd_string name)
{
    static const char *const words[] = {"/device:", "GPU "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (name.size >= strlen(words[i]) && memcmp(name.data, words[i], strlen(words[i])) == 0) return true;
    }
    return false;
}

/* Name and labels of a process, the name alone where that says it all; of a device its labels, unless its name is no
 * program's. */
static void put_process(hd_bytes *out, const hd_trace *trace, const scene_process_name *process, hd_string name)
{
    hd_string labels = trimmed(hd_trace_string(trace, process->labels));
    bool has_labels = labels.size && !contains(name, labels);
    if (process->is_device && has_labels && !names_device(name)) {
        put(out, labels);
    } else if (name.size) {
        put(out, name);
        put_text(out, has_labels ? " \xc2\xb7 " : "");
        if (has_labels) put(out, labels);
    } else {
        put_ident(out, trace, process->is_device ? "device" : "process", process->pid);
    }
    if (!process->tell_pid || !name.size || process->pid.type == HD_IDENT_NONE) return;
    put_text(out, " (");
    put(out, hd_trace_string(trace, process->pid.text));
    put_text(out, ")");
}

bool scene_name_process(view_track *track, const hd_trace *trace, const scene_process_name *process)
{
    char rank[48];
    hd_bytes out = {0};
    hd_string name = without_rank(trimmed(hd_trace_string(trace, process->name)), track->rank);
    if (process->tell_rank && track->rank != HD_NO_NUMBER) {
        snprintf(rank, sizeof rank, "rank %lld", (long long)track->rank);
        put_text(&out, rank);
        if (hd_string_is(name, rank)) return become_name(track, &out); /* heddle merge knew no other name */
        put_text(&out, " \xc2\xb7 ");
    }
    put_process(&out, trace, process, name);
    return become_name(track, &out);
}
