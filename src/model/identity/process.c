/* process.c - which process a track belongs to */
#include "model/identity/process.h"

#include <stdio.h>

uint32_t hd_process_of(const hd_trace *trace, uint32_t track)
{
    uint32_t count = hd_trace_track_count(trace);
    if (track >= count) return HD_NONE;
    uint32_t parent = hd_trace_track_at(trace, track)->parent, process = parent < count ? parent : track;
    uint32_t twin = hd_trace_track_at(trace, process)->same_as;
    return twin < count ? twin : process;
}

void hd_process_text(char *out, size_t size, const hd_trace *trace, uint32_t process)
{
    const hd_track *track = hd_trace_track_at(trace, process);
    hd_string name = hd_trace_string(trace, track->name), pid = hd_trace_string(trace, track->pid.text);
    snprintf(out, size, name.size ? "%.*s (%.*s)" : "%.*s%.*s", name.size < 120 ? (int)name.size : 120, name.data,
             pid.size < 120 ? (int)pid.size : 120, pid.data);
}

static size_t digits(hd_string text, size_t from)
{
    size_t at = from;
    while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9') at++;
    return at - from;
}

/* The pid in "GPU 0 of 4711", as a string id; HD_NONE: there is none, or no such text in the trace. */
static uint32_t told_pid(const hd_trace *trace, hd_string text)
{
    if (text.size < 4 || memcmp(text.data, "GPU ", 4) != 0) return HD_NONE;
    size_t at = 4 + digits(text, 4);
    if (at == 4 || text.size - at < 4 || memcmp(text.data + at, " of ", 4) != 0) return HD_NONE;
    at += 4;
    size_t size = digits(text, at);
    return size && at + size == text.size ? hd_trace_find_string(trace, text.data + at, size) : HD_NONE;
}

uint32_t hd_process_told(const hd_trace *trace, uint32_t track)
{
    uint32_t process = hd_process_of(trace, track);
    if (process == HD_NONE) return HD_NONE;
    const hd_ident *of = &hd_trace_track_at(trace, process)->pid;
    uint32_t pid = of->type == HD_IDENT_STRING ? told_pid(trace, hd_trace_string(trace, of->text)) : HD_NONE;
    for (uint32_t t = 0; pid != HD_NONE && t < hd_trace_track_count(trace); t++) {
        const hd_track *other = hd_trace_track_at(trace, t);
        if (other->kind == HD_TRACK_PROCESS && other->pid.type != HD_IDENT_NONE && other->pid.text == pid)
            return hd_process_of(trace, t);
    }
    return HD_NONE;
}
