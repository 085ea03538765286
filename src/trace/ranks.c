/* ranks.c - which rank a track belongs to */
#include "trace/ranks.h"

/* "rank 3: python", as a merge of several ranks calls their processes: in formats without ranks that is left of them;
 * "RANK 3 HOST<node>", "RANK 3 DEVICE<node>…" of unitrace. */
static int64_t rank_of_name(hd_string name)
{
    int64_t rank = 0;
    size_t i = 5;
    bool is_merged = name.size > 5 && memcmp(name.data, "rank ", 5) == 0;
    if (name.size < 6 || (!is_merged && memcmp(name.data, "RANK ", 5) != 0)) return HD_NO_NUMBER;
    while (i < name.size && i < 14 && name.data[i] >= '0' && name.data[i] <= '9')
        rank = rank * 10 + name.data[i++] - '0';
    bool ends = i == name.size || name.data[i] == (is_merged ? ':' : ' ');
    return i > 5 && ends ? rank : HD_NO_NUMBER;
}

/* Twins of a process may have its name in its place. */
int64_t hd_trace_rank_of(const hd_trace *trace, uint32_t index)
{
    uint32_t count = hd_trace_track_count(trace);
    const hd_track *track = hd_trace_track_at(trace, index);
    if (track->rank != HD_NO_NUMBER) return track->rank;
    if (track->parent < count) track = hd_trace_track_at(trace, track->parent);
    if (track->rank != HD_NO_NUMBER) return track->rank;
    int64_t rank = rank_of_name(hd_trace_string(trace, track->name));
    if (rank != HD_NO_NUMBER || track->same_as >= count) return rank;
    return rank_of_name(hd_trace_string(trace, hd_trace_track_at(trace, track->same_as)->name));
}
