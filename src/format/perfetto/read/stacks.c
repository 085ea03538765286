/* stacks.c - PerfSample packets -> stack samples
 *
 * Call stacks are interned: they consist of frames, which have a function name and a mapping, which consists of parts
 * of a path. A frame without a name is named after its mapping, else its address. Samples are held until all is read:
 * only then it is known whether the trace has its own stackFrames, whose frames are then used (see
 * perfetto_finish_stacks).
 */
#include <stdlib.h>

#include "format/perfetto/read/reader.h"
#include "format/stack_text.h"
#include "trace/stacks/trace_stacks.h"

enum { PATH_BYTES = 4096 };
static const uint64_t FOREIGN_BASE = (uint64_t)1 << 40; /* no frame of another tree is called by such a number */

struct perfetto_stack_sample {
    int64_t time_ns, counter; /* counter HD_NO_NUMBER: none */
    uint32_t track, node;
    int32_t cpu;  /* -1: none */
    uint8_t mode; /* PF_CPU_… */
};

/* ---- interned data ---- */

/* Texts joined by '/', as a path comes in parts. */
static hd_status read_mapping(perfetto_reader *reader, perfetto_sequence *s, const hd_proto_field *entry)
{
    hd_proto_reader message = hd_proto_reader_of(entry->data, entry->size);
    hd_proto_field f;
    uint64_t iid = 0, part;
    reader->text.size = 0;
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_VARINT(PF_MAPPING_IID)) iid = f.value;
        if (hd_proto_number(&f) != PF_MAPPING_PATH) continue;
        for (size_t at = 0; hd_proto_repeated(&part, &f, HD_WIRE_VARINT, &at, &message);) {
            uint32_t id = perfetto_interned_text(reader, s, PF_INTERNED_MAPPING_PATHS, part);
            hd_string text = hd_builder_string(reader->builder, id);
            if (reader->text.size && text.size) hd_json_put_text(&reader->text, "/");
            if (reader->text.size + text.size > PATH_BYTES) break;
            hd_json_put(&reader->text, text.data, text.size);
        }
    }
    HD_TRY(perfetto_check(reader, &message));
    uint32_t path = hd_builder_intern(reader->builder, reader->text.data, reader->text.size);
    return hd_map_set(&s->interned, PF_INTERNED_MAPPINGS, iid, path) ? HD_OK : HD_NOMEM(reader->err);
}

/* Adds a frame with its name and kind. */
static hd_status add_frame(uint32_t *out, perfetto_reader *reader, hd_string function, hd_string file, uint64_t rel_pc)
{
    hd_bytes name = {0};
    hd_frame_kind kind = hd_frame_kind_by_name(function.data, function.size);
    bool is_kernel = file.size == 6 && memcmp(file.data, "kernel", 6) == 0; /* traced_perf's name for the kernel's
                                                                               mapping */
    if (hd_file_is_os(file) || is_kernel) kind = HD_FRAME_OS;
    if (!function.size) hd_text_put_unknown(&name, file, rel_pc != 0, rel_pc);
    if (!function.size) function = (hd_string){(char *)name.data, name.size};
    uint32_t id = name.failed ? HD_NONE : hd_stacks_name(reader->stack_tree, function.data, function.size);
    hd_bytes_deinit(&name);
    if (id == HD_NONE) return HD_NOMEM(reader->err);
    return perfetto_add_record(reader, out, (perfetto_record){.text = {id}, .number = kind});
}

static hd_status read_frame(perfetto_reader *reader, perfetto_sequence *s, const hd_proto_field *entry)
{
    hd_proto_reader message = hd_proto_reader_of(entry->data, entry->size);
    hd_proto_field f;
    uint64_t iid = 0, rel_pc = 0;
    hd_string function = {"", 0}, file = {"", 0};
    uint32_t path;
    while (hd_proto_next(&f, &message)) {
        switch (f.tag) {
        case HD_PROTO_VARINT(PF_FRAME_IID): iid = f.value; break;
        case HD_PROTO_VARINT(PF_FRAME_FUNCTION_NAME): {
            uint32_t id = f.value ? perfetto_interned_text(reader, s, PF_INTERNED_FUNCTION_NAMES, f.value) : 0;
            function = hd_builder_string(reader->builder, id);
            break;
        }
        case HD_PROTO_VARINT(PF_FRAME_MAPPING):
            if (f.value && hd_map_get(&path, &s->interned, PF_INTERNED_MAPPINGS, f.value))
                file = hd_builder_string(reader->builder, path);
            else if (f.value)
                perfetto_note(reader, "perfetto.iid-unknown", HD_LEDGER_LOSS, 1);
            break;
        case HD_PROTO_VARINT(PF_FRAME_REL_PC): rel_pc = f.value; break;
        default: break;
        }
    }
    uint32_t index = 0;
    HD_TRY(perfetto_check(reader, &message));
    HD_TRY(add_frame(&index, reader, function, file, rel_pc));
    return hd_map_set(&s->interned, PF_INTERNED_FRAMES, iid, index) ? HD_OK : HD_NOMEM(reader->err);
}

/* Its frames are from the outermost to the innermost. An unknown frame leaves a mark. */
static hd_status read_callstack(perfetto_reader *reader, perfetto_sequence *s, const hd_proto_field *entry)
{
    hd_proto_reader message = hd_proto_reader_of(entry->data, entry->size);
    hd_proto_field f;
    uint64_t iid = 0, id;
    uint32_t node = HD_STACK_NONE, index;
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_VARINT(PF_CALLSTACK_IID)) iid = f.value;
        if (hd_proto_number(&f) != PF_CALLSTACK_FRAMES) continue;
        for (size_t at = 0; hd_proto_repeated(&id, &f, HD_WIRE_VARINT, &at, &message);) {
            perfetto_record frame = {.text = {HD_NONE}, .number = HD_FRAME_MARK};
            if (hd_map_get(&index, &s->interned, PF_INTERNED_FRAMES, id)) {
                frame = reader->records[index];
            } else {
                perfetto_note(reader, "perfetto.iid-unknown", HD_LEDGER_LOSS, 1);
                frame.text[0] = hd_stacks_name(reader->stack_tree, "[unknown]", 9);
            }
            node = hd_stacks_push(reader->stack_tree, node, frame.text[0], (hd_frame_kind)frame.number);
        }
    }
    HD_TRY(perfetto_check(reader, &message));
    if (node == HD_NONE) return HD_NOMEM(reader->err);
    return hd_map_set(&s->interned, PF_INTERNED_CALLSTACKS, iid, node) ? HD_OK : HD_NOMEM(reader->err);
}

hd_status perfetto_read_stacks(perfetto_reader *reader, perfetto_sequence *sequence, const hd_proto_field *field)
{
    static const uint32_t order[] = {PF_INTERNED_MAPPINGS, PF_INTERNED_FRAMES, PF_INTERNED_CALLSTACKS};
    if (!reader->stack_tree) HD_TRY(hd_stacks_new(&reader->stack_tree, reader->err));
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
        hd_proto_field f;
        while (hd_proto_next(&f, &message)) {
            if (f.tag != HD_PROTO_BYTES(order[i])) continue;
            switch (order[i]) {
            case PF_INTERNED_MAPPINGS: HD_TRY(read_mapping(reader, sequence, &f)); break;
            case PF_INTERNED_FRAMES: HD_TRY(read_frame(reader, sequence, &f)); break;
            default: HD_TRY(read_callstack(reader, sequence, &f)); break;
            }
        }
    }
    return HD_OK;
}

/* ---- samples ---- */

/* What a packet says. */
typedef struct perf_sample {
    bool has_cpu, has_tid, has_callstack, is_skipped, is_event;
    uint32_t cpu, pid, tid, mode;
    int64_t counter;
    uint64_t callstack, lost;
} perf_sample;

static hd_status read_fields(perf_sample *out, perfetto_reader *reader, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    *out = (perf_sample){.counter = HD_NO_NUMBER};
    while (hd_proto_next(&f, &message)) {
        switch (f.tag) {
        case HD_PROTO_VARINT(PF_PERF_SAMPLE_CPU):
            out->has_cpu = f.value <= INT32_MAX;
            out->cpu = (uint32_t)f.value;
            break;
        case HD_PROTO_VARINT(PF_PERF_SAMPLE_PID): out->pid = (uint32_t)f.value; break;
        case HD_PROTO_VARINT(PF_PERF_SAMPLE_TID):
            out->has_tid = true;
            out->tid = (uint32_t)f.value;
            break;
        case HD_PROTO_VARINT(PF_PERF_SAMPLE_CALLSTACK):
            out->has_callstack = true;
            out->callstack = f.value;
            break;
        case HD_PROTO_VARINT(PF_PERF_SAMPLE_CPU_MODE): out->mode = f.value > UINT8_MAX ? 0 : (uint32_t)f.value; break;
        case HD_PROTO_VARINT(PF_PERF_SAMPLE_COUNTER):
            if (f.value <= INT64_MAX) out->counter = (int64_t)f.value;
            break;
        case HD_PROTO_VARINT(PF_PERF_SAMPLE_UNWIND_ERROR):
            if (f.value) perfetto_note(reader, "perfetto.sample-unwind-error", HD_LEDGER_NOTE, 1);
            break;
        case HD_PROTO_VARINT(PF_PERF_SAMPLE_LOST): out->lost = f.value; break;
        case HD_PROTO_VARINT(PF_PERF_SAMPLE_SKIPPED): out->is_skipped = true; break;
        case HD_PROTO_BYTES(PF_PERF_SAMPLE_PRODUCER_EVENT): out->is_event = true; break;
        default: perfetto_note(reader, "perfetto.sample-field", HD_LEDGER_LOSS, 1); break;
        }
    }
    return perfetto_check(reader, &message);
}

hd_status perfetto_read_perf_sample(perfetto_reader *reader, const perfetto_sequence *sequence,
                                    const hd_proto_field *field, int64_t time_ns, bool has_time)
{
    perf_sample p;
    HD_TRY(read_fields(&p, reader, field));
    if (p.lost || p.is_skipped || p.is_event) { /* the recorder's own status */
        if (p.lost) perfetto_note(reader, "perfetto.samples-lost-by-writer", HD_LEDGER_LOSS, p.lost);
        if (p.is_skipped) perfetto_note(reader, "perfetto.samples-skipped-by-writer", HD_LEDGER_LOSS, 1);
        if (p.is_event) perfetto_note(reader, "perfetto.sample-recorder-event", HD_LEDGER_NOTE, 1);
        return HD_OK;
    }
    perfetto_stack_sample out = {.time_ns = has_time ? time_ns : HD_NO_TIME,
                                 .counter = p.counter,
                                 .track = HD_NONE,
                                 .cpu = p.has_cpu ? (int32_t)p.cpu : -1,
                                 .mode = (uint8_t)p.mode};
    uint32_t node;
    if (p.has_callstack && p.callstack) {
        if (hd_map_get(&node, &sequence->interned, PF_INTERNED_CALLSTACKS, p.callstack))
            out.node = node;
        else
            perfetto_note(reader, "perfetto.iid-unknown", HD_LEDGER_LOSS, 1);
    }
    if (p.has_tid) HD_TRY(perfetto_thread_track(&out.track, reader, (int32_t)p.pid, (int32_t)p.tid));
    HD_TRY(perfetto_grow(reader, (void **)&reader->stack_samples, &reader->stack_sample_capacity,
                         reader->stack_sample_count, sizeof *reader->stack_samples));
    reader->stack_samples[reader->stack_sample_count++] = out;
    return HD_OK;
}

/* ---- at the end ---- */

/* The ids of the samples' frames in the trace's stackFrames: ids[node]. */
typedef struct frame_ids {
    uint64_t *ids;
    uint8_t *kinds; /* hd_frame_kind by node */
    uint32_t count;
} frame_ids;

/* A frame of one tree, called from `caller`, in another. */
static uint32_t push_frame(hd_stacks *to, uint32_t caller, const hd_stacks *from, uint32_t node)
{
    hd_frame frame = hd_stacks_at(from, node);
    hd_string text = hd_stacks_text(from, frame.name);
    return hd_stacks_push(to, caller, hd_stacks_name(to, text.data, text.size), frame.kind);
}

/* The ids of frames that the trace already has; *out_all: all of them. `ids` and `nodes` are scratch. A copy of the
 * trace's tree, in which frames have the same numbers, shows which frames must be added. */
static hd_status match(bool *out_all, frame_ids *out, const hd_stacks *tree, const hd_stacks *frames,
                       const uint64_t *ids, uint32_t *nodes)
{
    hd_stacks *copy;
    uint32_t count = hd_stacks_count(frames);
    hd_status status = hd_stacks_new(&copy, NULL);
    if (status != HD_OK) return status;
    for (uint32_t i = 1; i < count && status == HD_OK; i++) {
        if (push_frame(copy, hd_stacks_at(frames, i).caller, frames, i) != i) status = HD_ERR_MEMORY;
    }
    nodes[0] = HD_STACK_NONE;
    *out_all = status == HD_OK;
    for (uint32_t i = 1; i < out->count && *out_all; i++) {
        nodes[i] = push_frame(copy, nodes[hd_stacks_at(tree, i).caller], tree, i);
        *out_all = nodes[i] < count && ids[nodes[i]] != UINT64_MAX;
        if (!*out_all) break;
        out->ids[i] = ids[nodes[i]];
        out->kinds[i] = (uint8_t)hd_stacks_at(frames, nodes[i]).kind;
    }
    hd_stacks_free(copy);
    return status;
}

static hd_status find_known(bool *out_all, frame_ids *out, const hd_stacks *tree, const hd_trace_stacks *known)
{
    const hd_stacks *frames = hd_trace_stacks_tree(known);
    uint64_t *ids = malloc((size_t)hd_stacks_count(frames) * sizeof *ids);
    uint32_t *nodes = malloc((size_t)out->count * sizeof *nodes);
    hd_status status = ids && nodes ? HD_OK : HD_ERR_MEMORY;
    if (status == HD_OK) hd_trace_stacks_ids(ids, known);
    if (status == HD_OK) status = match(out_all, out, tree, frames, ids, nodes);
    free(ids);
    free(nodes);
    return status;
}

static hd_status frame_ids_init(frame_ids *out, const hd_stacks *tree)
{
    out->count = hd_stacks_count(tree);
    out->ids = malloc((size_t)out->count * sizeof *out->ids);
    out->kinds = malloc(out->count);
    if (!out->ids || !out->kinds) return HD_ERR_MEMORY;
    for (uint32_t i = 0; i < out->count; i++) out->kinds[i] = (uint8_t)hd_stacks_at(tree, i).kind;
    return HD_OK;
}

/* Whether events name frames: they are of a stackFrames that the trace may lack. */
static bool has_names_of_frames(const hd_trace *trace)
{
    uint32_t key = hd_trace_find_string(trace, "sf", 2);
    for (uint32_t i = 0; key != HD_NONE && i < hd_trace_shape_count(trace); i++) {
        if (hd_shape_find(hd_trace_shape_at(trace, i), key, HD_SCOPE_EVENT) >= 0) return true;
    }
    return false;
}

/* Files of this program have every stack twice, as packets and as stackFrames: then the latter are used. If stackFrames
 * does not have a frame, that of the packets is added. */
static hd_status name_frames(frame_ids *out, perfetto_reader *reader)
{
    hd_trace_stacks *known = NULL;
    hd_error unused = {0};
    uint64_t base = 0;
    bool beside = false, all_known = false;
    hd_status status = frame_ids_init(out, reader->stack_tree);
    if (status == HD_OK) status = hd_trace_stacks_new(&known, hd_builder_trace(reader->builder), &unused);
    if (status == HD_ERR_DAMAGED) {
        perfetto_note(reader, "perfetto.stack-frames-damaged", HD_LEDGER_LOSS, 1);
        status = HD_OK;
    } else if (status == HD_OK) {
        beside = hd_stacks_count(hd_trace_stacks_tree(known)) > 1;
        base = hd_trace_stacks_last_id(known);
        if (!beside && has_names_of_frames(hd_builder_trace(reader->builder))) base = FOREIGN_BASE;
        status = find_known(&all_known, out, reader->stack_tree, known);
    }
    hd_trace_stacks_free(known);
    if (status == HD_ERR_MEMORY) return HD_NOMEM(reader->err);
    if (status != HD_OK || all_known) return status;
    for (uint32_t i = 0; i < out->count; i++) {
        out->ids[i] = base + i;
        out->kinds[i] = (uint8_t)hd_stacks_at(reader->stack_tree, i).kind;
    }
    return hd_stacks_save_from(reader->stack_tree, base, beside, reader->builder, reader->err);
}

static hd_status add_row(perfetto_reader *reader, const frame_ids *frames, uint32_t name,
                         const perfetto_stack_sample *sample)
{
    const char *mode = pf_cpu_mode_name(sample->mode);
    hd_row row = hd_row_of(HD_KIND_SAMPLE, 'P');
    row.track = sample->track;
    row.name = name;
    row.start_ns = sample->time_ns;
    reader->args.count = 0;
    if (sample->node != HD_STACK_NONE)
        HD_TRY(perfetto_add_member(reader, "sf", HD_ARG_INT, (int64_t)frames->ids[sample->node]));
    if (sample->cpu >= 0) HD_TRY(perfetto_add_int_arg(reader, "cpu", sample->cpu));
    if (sample->counter != HD_NO_NUMBER) HD_TRY(perfetto_add_int_arg(reader, "timebase_count", sample->counter));
    uint32_t implied = frames->kinds[sample->node] == HD_FRAME_OS ? PF_CPU_KERNEL : PF_CPU_USER;
    if (mode && sample->mode != implied)
        HD_TRY(perfetto_add_text_arg(reader, "cpu_mode", hd_builder_intern_text(reader->builder, mode)));
    return perfetto_add_row(reader, &row, &reader->args);
}

hd_status perfetto_finish_stacks(perfetto_reader *reader)
{
    frame_ids frames = {0};
    uint32_t name = hd_builder_intern_text(reader->builder, "stack");
    hd_status status = HD_OK;
    if (reader->stack_sample_count == 0) return HD_OK;
    if (!reader->stack_tree) HD_TRY(hd_stacks_new(&reader->stack_tree, reader->err));
    status = name_frames(&frames, reader);
    for (size_t i = 0; status == HD_OK && i < reader->stack_sample_count; i++)
        status = add_row(reader, &frames, name, &reader->stack_samples[i]);
    free(frames.ids);
    free(frames.kinds);
    return status;
}

void perfetto_stacks_free(perfetto_reader *reader)
{
    hd_stacks_free(reader->stack_tree);
    free(reader->stack_samples);
}
