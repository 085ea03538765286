/* samples.c - writes stack samples as PerfSample packets
 *
 * A sample needs a time, a thread, whose pid and tid are numbers or get some (places.c), and a stack; its CPU, mode and
 * counter are included. Callstacks, frames and function names are interned at first use: the iid of a callstack is its
 * node, that of a frame its name + 1. All frames are in one mapping, which importers require, at addresses that differ
 * if the names do.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/protobuf/write.h"
#include "format/perfetto/fields.h"
#include "format/perfetto/write/writer.h"
#include "trace/lazy.h"
#include "trace/text.h"

enum { MAPPING = 1 };

static bool is_text(const hd_trace *trace, uint32_t id, const char *text)
{
    hd_string s = hd_trace_string(trace, id);
    return hd_string_is(s, text);
}

/* Whether a sample has data beyond such a packet: an event's name, a weight, other values. */
static bool has_more(const hd_trace *trace, const hd_event *event)
{
    const hd_shape *shape = hd_trace_shape_at(trace, event->shape);
    if (event->name && !is_text(trace, event->name, "stack")) return true;
    for (uint32_t i = 0; i < shape->key_count; i++) {
        uint32_t key = shape->keys[i].key;
        bool is_known = shape->keys[i].scope != HD_SCOPE_ARGS
                            ? is_text(trace, key, "sf")
                            : is_text(trace, key, "cpu") || is_text(trace, key, "cpu_mode") ||
                                  is_text(trace, key, "timebase_count");
        if (!is_known) return true;
    }
    return false;
}

static hd_status collect(pf_writer *w, const hd_event *event, hd_error *err)
{
    uint32_t pid, tid;
    if (event->start_ns == HD_NO_TIME || !pf_numbers_of_track(&pid, &tid, w, event->track) ||
        hd_trace_stacks_of(w->stacks, event) == HD_STACK_NONE) {
        w->notes[PF_NOTE_SAMPLE]++;
        return HD_OK;
    }
    if (!pf_check_time(w, event->start_ns, event->start_ns)) return HD_OK;
    uint32_t place = pf_place_of_track(w, event->track);
    if (place == HD_NONE ||
        !hd_large_grow((void **)&w->samples, &w->sample_capacity, w->sample_count, sizeof *w->samples, w->large))
        return HD_NOMEM(err);
    w->places[place].events++;
    w->samples[w->sample_count++] = (pf_sample){event->start_ns, (uint32_t)event->row};
    if (event->start_ps || event->start_finer) w->notes[PF_NOTE_PICOSECONDS]++;
    if (has_more(w->trace, event)) w->notes[PF_NOTE_SAMPLE_VALUES]++;
    return HD_OK;
}

static int by_time(const void *a, const void *b)
{
    const pf_sample *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

hd_status pf_collect_samples(pf_writer *w, hd_error *err)
{
    uint64_t rows = hd_trace_row_count(w->trace, HD_KIND_SAMPLE);
    if (rows == 0) return HD_OK;
    hd_status status = hd_trace_stacks_new(&w->stacks, w->trace, NULL);
    if (status == HD_ERR_MEMORY) return HD_NOMEM(err);
    if (status != HD_OK || rows >= UINT32_MAX) {
        w->notes[PF_NOTE_SAMPLE] = rows;
        return HD_OK;
    }
    const hd_stacks *tree = hd_trace_stacks_tree(w->stacks);
    w->sample_nodes = calloc(hd_stacks_count(tree), 1);
    w->sample_names = calloc(hd_stacks_name_count(tree), 1);
    if (!w->sample_nodes || !w->sample_names) return HD_NOMEM(err);
    for (size_t b = 0; b < hd_trace_block_count(w->trace, HD_KIND_SAMPLE); b++) {
        const hd_block *block = hd_trace_block_at(w->trace, HD_KIND_SAMPLE, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            HD_TRY(collect(w, &event, err));
        }
    }
    return hd_large_sort(w->samples, w->sample_count, sizeof *w->samples, by_time, w->large) ? HD_OK : HD_NOMEM(err);
}

void pf_samples_deinit(pf_writer *w)
{
    hd_trace_stacks_free(w->stacks);
    hd_large_free(w->samples);
    free(w->sample_nodes);
    free(w->sample_names);
}

/* ---- packets ---- */

static void intern_frame(pf_writer *w, hd_frame frame)
{
    hd_bytes *out = &w->interned;
    uint64_t iid = (uint64_t)frame.name + 1;
    hd_string name = hd_stacks_text(hd_trace_stacks_tree(w->stacks), frame.name);
    if (w->sample_names[frame.name]) return;
    w->sample_names[frame.name] = 1;
    size_t mark = hd_pb_begin(out, PF_INTERNED_FUNCTION_NAMES);
    hd_pb_put_uint(out, PF_STRING_IID, iid);
    hd_pb_put_bytes(out, PF_STRING_TEXT, name.data, name.size);
    hd_pb_end(out, mark);
    mark = hd_pb_begin(out, PF_INTERNED_FRAMES);
    hd_pb_put_uint(out, PF_FRAME_IID, iid);
    hd_pb_put_uint(out, PF_FRAME_FUNCTION_NAME, iid);
    hd_pb_put_uint(out, PF_FRAME_MAPPING, MAPPING);
    hd_pb_put_uint(out, PF_FRAME_REL_PC, iid);
    hd_pb_end(out, mark);
}

/* Importers want the outermost frame first; the tree is followed from the innermost. */
static void intern_callstack(pf_writer *w, uint32_t node)
{
    const hd_stacks *tree = hd_trace_stacks_tree(w->stacks);
    hd_bytes *out = &w->interned;
    if (w->sample_nodes[node]) return;
    w->sample_nodes[node] = 1;
    if (!w->has_mapping) {
        size_t mark = hd_pb_begin(out, PF_INTERNED_MAPPINGS);
        hd_pb_put_uint(out, PF_MAPPING_IID, MAPPING);
        hd_pb_end(out, mark);
        w->has_mapping = true;
    }
    uint32_t depth = hd_stacks_at(tree, node).depth;
    w->event.size = 0; /* the names from the leaf, for a moment */
    for (uint32_t at = node; at != HD_STACK_NONE;) {
        hd_frame frame = hd_stacks_at(tree, at);
        intern_frame(w, frame);
        hd_bytes_put_le(&w->event, frame.name, 4);
        at = frame.caller;
    }
    if (w->event.failed || w->event.size < (size_t)depth * 4) return; /* reported when the packet is made */
    size_t mark = hd_pb_begin(out, PF_INTERNED_CALLSTACKS);
    hd_pb_put_uint(out, PF_CALLSTACK_IID, node);
    for (uint32_t i = depth; i-- > 0;) {
        hd_byte_reader name = hd_byte_reader_of(w->event.data + (size_t)i * 4, 4);
        hd_pb_put_uint(out, PF_CALLSTACK_FRAMES, hd_byte_reader_le(&name, 4) + 1);
    }
    hd_pb_end(out, mark);
    w->event.size = 0;
}

/* From its argument, else from its innermost frame. */
static uint32_t mode_of(const hd_trace *trace, const hd_event *event, hd_frame_kind leaf)
{
    hd_value value;
    uint32_t key = hd_trace_find_string(trace, "cpu_mode", 8);
    bool is_said = hd_event_arg(&value, trace, event, key) && value.type == HD_ARG_STRING;
    for (uint32_t mode = 1; is_said && mode < PF_CPU_MODES; mode++) {
        if (is_text(trace, (uint32_t)value.bits, pf_cpu_mode_name(mode))) return mode;
    }
    return leaf == HD_FRAME_UNKNOWN ? 0 : leaf == HD_FRAME_OS ? PF_CPU_KERNEL : PF_CPU_USER;
}

static bool int_arg(int64_t *out, const hd_trace *trace, const hd_event *event, const char *name)
{
    uint32_t key = hd_trace_find_string(trace, name, strlen(name));
    return hd_event_arg_int(out, trace, event, key);
}

void pf_put_sample(pf_writer *w, const hd_event *event)
{
    uint32_t pid = 0, tid = 0, node = hd_trace_stacks_of(w->stacks, event);
    int64_t value;
    pf_numbers_of_track(&pid, &tid, w, event->track);
    intern_callstack(w, node);
    hd_frame leaf = hd_stacks_at(hd_trace_stacks_tree(w->stacks), node);
    if (int_arg(&value, w->trace, event, "cpu") && value >= 0 && value <= INT32_MAX)
        hd_pb_put_uint(&w->event, PF_PERF_SAMPLE_CPU, (uint64_t)value);
    hd_pb_put_uint(&w->event, PF_PERF_SAMPLE_PID, pid);
    hd_pb_put_uint(&w->event, PF_PERF_SAMPLE_TID, tid);
    hd_pb_put_uint(&w->event, PF_PERF_SAMPLE_CALLSTACK, node);
    uint32_t mode = mode_of(w->trace, event, leaf.kind);
    if (mode) hd_pb_put_uint(&w->event, PF_PERF_SAMPLE_CPU_MODE, mode);
    if (int_arg(&value, w->trace, event, "timebase_count") && value >= 0)
        hd_pb_put_uint(&w->event, PF_PERF_SAMPLE_COUNTER, (uint64_t)value);
}
