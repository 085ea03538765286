/* memory.c - the tables `memory_event`, `stack_frame` and `stack_sample` */
#include <stdlib.h>

#include "heddle/analysis/memory.h"
#include "query/tables/rows.h"
#include "trace/stacks/trace_stacks.h"

/* ---- memory_event ---- */

static const hd_query_column_about memory_columns[] = {
    {"id", "INT", "the event, in the order of time", false},
    {"ts", "INT", "time, ns", false},
    {"type", "TEXT", "alloc or free", false},
    {"address", "INT", "address; null: unknown", false},
    {"bytes", "INT", "size, as the event says", false},
    {"freed_by", "INT", "of an allocation: the event that freed or replaced it; null: live at the end", false},
    {"allocation", "INT", "of a free: the event that allocated; null: not in the trace", false},
    {"allocated", "INT", "bytes that the allocator had allocated after it; null: unknown", false},
    {"reserved", "INT", "bytes that the allocator had reserved after it; null: unknown", false},
    {"device_type", "INT", "as PyTorch numbers them: 0 is the CPU", false},
    {"device", "INT", "number of the device", false},
    {"category", "TEXT", "what it is for, if the trace has it", false},
    {"rank", "INT", "its rank; null: not known", false},
    QUERY_INPUT_COLUMN,
    {0},
};

static void free_memory(void *made)
{
    hd_memory_free(made);
}

static hd_status make_memory(void **out, uint64_t *out_count, query_source *source, hd_error *err)
{
    const hd_memory_options options = {.size = sizeof options, .no_stacks = true};
    hd_memory *memory;
    HD_TRY(hd_memory_new(&memory, source->trace, &options, err));
    *out = memory;
    *out_count = memory->event_count;
    return HD_OK;
}

static void memory_cell(query_cell *out, const query_source *source, const void *made, uint64_t row, int column)
{
    const hd_memory *memory = made;
    const hd_memory_event *event = &memory->events[row];
    const hd_memory_group *group = &memory->groups[event->group];
    switch (column) {
    case 1: query_cell_int(out, query_time(source, event->time_ns)); break;
    case 2: query_cell_word(out, event->is_free ? "free" : "alloc"); break;
    case 3:
        if (event->has_address) query_cell_int(out, (int64_t)event->address);
        break;
    case 4: query_cell_int(out, (int64_t)event->bytes); break;
    case 5:
        if (!event->is_free) query_cell_id(out, source, event->end);
        break;
    case 6:
        if (event->is_free) query_cell_id(out, source, event->end);
        break;
    case 7: query_cell_int(out, event->allocated); break;
    case 8: query_cell_int(out, event->reserved); break;
    case 9: query_cell_int(out, memory->pools[group->pool].device_type); break;
    case 10: query_cell_int(out, memory->pools[group->pool].device); break;
    default: query_cell_string(out, source, group->category);
    }
}

/* ---- stack_frame ---- */

static const hd_query_column_about frame_columns[] = {
    {"id", "INT", "the stack: this frame, called by those of parent_id", false},
    {"parent_id", "INT", "stack of the caller; null: none", false},
    {"name", "TEXT", "name of the function", false},
    {"kind", "TEXT", "native, python, kernel …", false},
    {"depth", "INT", "frames from the root to here, 1 for one without a caller", false},
    {"rank", "INT", "its rank; null: not known", false},
    QUERY_INPUT_COLUMN,
    {0},
};

static void free_frames(void *made)
{
    hd_trace_stacks_free(made);
}

static hd_status make_frames(void **out, uint64_t *out_count, query_source *source, hd_error *err)
{
    hd_trace_stacks *stacks;
    HD_TRY(hd_trace_stacks_new(&stacks, source->trace, err));
    *out = stacks;
    *out_count = hd_stacks_count(hd_trace_stacks_tree(stacks)) - 1; /* without the empty stack */
    return HD_OK;
}

static void frame_cell(query_cell *out, const query_source *source, const void *made, uint64_t row, int column)
{
    const hd_stacks *tree = hd_trace_stacks_tree(made);
    hd_frame frame = hd_stacks_at(tree, (uint32_t)row + 1);
    const char *kind = hd_frame_kind_name(frame.kind);
    switch (column) {
    case 0: query_cell_id(out, source, (uint32_t)row + 1); break;
    case 1:
        if (frame.caller != HD_STACK_NONE) query_cell_id(out, source, frame.caller);
        break;
    case 2: query_cell_text(out, hd_stacks_text(tree, frame.name)); break;
    case 3:
        if (kind[0]) query_cell_word(out, kind);
        break;
    default: query_cell_int(out, frame.depth);
    }
}

/* ---- stack_sample ---- */

static const hd_query_column_about sample_columns[] = {
    {"id", "INT", "the sample", false},
    {"ts", "INT", "time, ns; null: unknown", false},
    {"track_id", "INT", "its track", false},
    {"stack_id", "INT", "its stack: stack_frame.id of the innermost frame", false},
    {"name", "TEXT", "event that was sampled", false},
    {"category", "TEXT", "category", false},
    {"rank", "INT", "its rank; null: not known", false},
    QUERY_INPUT_COLUMN,
    {0},
};

static hd_status make_samples(void **out, uint64_t *out_count, query_source *source, hd_error *err)
{
    hd_trace_stacks *stacks;
    HD_TRY(hd_trace_stacks_new(&stacks, source->trace, err));
    *out = stacks;
    *out_count = hd_trace_row_count(source->trace, HD_KIND_SAMPLE);
    return HD_OK;
}

static void sample_cell(query_cell *out, const query_source *source, const void *made, uint64_t row, int column)
{
    hd_event event;
    uint32_t at, stack;
    const hd_block *block = hd_trace_block_of(&at, source->trace, HD_KIND_SAMPLE, row);
    hd_block_event(&event, block, at);
    switch (column) {
    case 1: query_cell_int(out, query_time(source, event.start_ns)); break;
    case 2: query_cell_id(out, source, event.track); break;
    case 3:
        stack = hd_trace_stacks_of(made, &event);
        if (stack != HD_STACK_NONE) query_cell_id(out, source, stack);
        break;
    case 4: query_cell_string(out, source, event.name); break;
    default: query_cell_string(out, source, event.category);
    }
}

static uint32_t track_of_sample(const query_source *source, const void *made, uint64_t row)
{
    (void)made;
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, source->trace, HD_KIND_SAMPLE, row);
    return (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], at);
}

const query_rows_about query_memory_tables[] = {
    {{"memory_event", "allocations and frees, paired", memory_columns}, make_memory, free_memory, memory_cell, true},
    {{"stack_frame", "stacks as a tree: each a frame and the stack of its caller", frame_columns},
     make_frames,
     free_frames,
     frame_cell,
     false},
    {{"stack_sample", "stack samples", sample_columns}, make_samples, free_frames, sample_cell, true, track_of_sample},
    {.about = {0}},
};
