/* rows.c - columns of the tables other than events: tracks, strings, ledger, metadata, stacks */
#include "arrow/impl.h"
#include "base/error.h"
#include "heddle/stacks.h"
#include "model/identity/process.h"

/* ---- tracks ---- */

static const hd_track *track_at(const arrow_rows *rows, uint32_t i)
{
    return hd_trace_track_at(rows->stream->trace, (uint32_t)rows->first + i);
}

#define TRACK_FIELD(name, expression)                                                                                  \
    static void make_track_##name(arrow_rows *rows, int64_t *out)                                                      \
    {                                                                                                                  \
        for (uint32_t i = 0; i < rows->count; i++) {                                                                   \
            const hd_track *track = track_at(rows, i);                                                                 \
            out[i] = (int64_t)(expression);                                                                            \
        }                                                                                                              \
    }

TRACK_FIELD(id, track->id)
TRACK_FIELD(kind, track->kind)
TRACK_FIELD(parent, track->parent)
TRACK_FIELD(name, track->name)
TRACK_FIELD(pid, hd_process_track(rows->stream->trace, track)->pid.text)
TRACK_FIELD(tid, track->tid.text)
TRACK_FIELD(process_name, hd_process_track(rows->stream->trace, track)->name)
TRACK_FIELD(labels, hd_process_track(rows->stream->trace, track)->labels)
TRACK_FIELD(same_as, track->same_as)
TRACK_FIELD(sort_index, track->sort_index)
TRACK_FIELD(device, track->device)
TRACK_FIELD(stream, track->stream)
TRACK_FIELD(rank, rows->stream->ranks[track->id])
TRACK_FIELD(slices, track->rows[HD_KIND_SLICE])
TRACK_FIELD(start, track->start_ns)
TRACK_FIELD(end, track->end_ns)

static void make_track_events(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        out[i] = 0;
        for (int kind = 0; kind < HD_KIND_COUNT; kind++) out[i] += (int64_t)track_at(rows, i)->rows[kind];
    }
}

static const char *const track_kinds[] = {"process", "thread", "stream", NULL};

const arrow_field arrow_track_fields[] = {
    {.name = "id", .make = make_track_id, .null = ARROW_NEVER},
    {.name = "kind", .make = make_track_kind, .null = ARROW_NEVER, .dictionary = ARROW_WORDS, .words = track_kinds},
    {.name = "parent_id", .make = make_track_parent, .null = HD_NONE},
    {.name = "name", .make = make_track_name, .null = HD_STRING_NONE},
    {.name = "pid", .make = make_track_pid, .null = HD_STRING_NONE},
    {.name = "tid", .make = make_track_tid, .null = HD_STRING_NONE},
    {.name = "process_name", .make = make_track_process_name, .null = HD_STRING_NONE},
    {.name = "process_labels", .make = make_track_labels, .null = HD_STRING_NONE},
    {.name = "same_as", .make = make_track_same_as, .null = ARROW_NEVER},
    {.name = "sort_index", .make = make_track_sort_index, .null = HD_NO_NUMBER},
    {.name = "device", .make = make_track_device, .null = HD_NO_NUMBER},
    {.name = "stream", .make = make_track_stream, .null = HD_NO_NUMBER},
    {.name = "rank", .make = make_track_rank, .null = HD_NO_NUMBER},
    {.name = "slices", .make = make_track_slices, .null = ARROW_NEVER},
    {.name = "events", .make = make_track_events, .null = ARROW_NEVER},
    {.name = "start_ts", .make = make_track_start, .null = HD_NO_TIME},
    {.name = "end_ts", .make = make_track_end, .null = HD_NO_TIME},
    {0},
};

uint64_t arrow_count_tracks(const arrow_stream *stream)
{
    return hd_trace_track_count(stream->trace);
}

/* ---- strings ---- */

static void make_row(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++) out[i] = (int64_t)(rows->first + i);
}

const arrow_field arrow_string_fields[] = {
    {.name = "id", .make = make_row, .null = ARROW_NEVER},
    {.name = "text", .make = make_row, .null = HD_STRING_NONE, .dictionary = ARROW_OWN},
    {0},
};

hd_status arrow_open_strings(arrow_stream *stream, hd_error *err)
{
    return arrow_texts_of_trace(&stream->own, stream->trace, NULL, err);
}

uint64_t arrow_count_strings(const arrow_stream *stream)
{
    return hd_trace_string_count(stream->trace);
}

/* ---- the ledger ---- */

#define LEDGER_FIELD(name, expression)                                                                                 \
    static void make_ledger_##name(arrow_rows *rows, int64_t *out)                                                     \
    {                                                                                                                  \
        for (uint32_t i = 0; i < rows->count; i++) {                                                                   \
            const hd_ledger_row *row = hd_trace_ledger_at(rows->stream->trace, rows->first + i);                       \
            out[i] = (int64_t)(expression);                                                                            \
        }                                                                                                              \
    }

LEDGER_FIELD(level, row->level)
LEDGER_FIELD(count, row->count)
LEDGER_FIELD(offset, row->first_offset)
LEDGER_FIELD(detail, row->detail)

/* Of each row the stage, then the code. */
static hd_string ledger_text(const void *user, uint32_t index)
{
    const hd_ledger_row *row = hd_trace_ledger_at(user, index / 2);
    const char *text = index % 2 ? row->code : row->stage;
    return (hd_string){text, strlen(text)};
}

hd_status arrow_open_ledger(arrow_stream *stream, hd_error *err)
{
    uint32_t count = (uint32_t)hd_trace_ledger_count(stream->trace);
    return arrow_texts_of_list(&stream->own, 2 * count, ledger_text, stream->trace, err);
}

static void make_stage(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++) out[i] = (int64_t)(2 * (rows->first + i));
}

static void make_code(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++) out[i] = (int64_t)(2 * (rows->first + i) + 1);
}

static const char *const level_words[] = {"note", "repair", "loss", NULL};

const arrow_field arrow_ledger_fields[] = {
    {.name = "stage", .make = make_stage, .null = ARROW_NEVER, .dictionary = ARROW_OWN},
    {.name = "code", .make = make_code, .null = ARROW_NEVER, .dictionary = ARROW_OWN},
    {.name = "level", .make = make_ledger_level, .null = ARROW_NEVER, .dictionary = ARROW_WORDS, .words = level_words},
    {.name = "count", .make = make_ledger_count, .null = ARROW_NEVER},
    {.name = "first_offset", .make = make_ledger_offset, .null = (int64_t)HD_OFFSET_NONE},
    {.name = "detail", .make = make_ledger_detail, .null = HD_STRING_NONE},
    {0},
};

uint64_t arrow_count_ledger(const arrow_stream *stream)
{
    return hd_trace_ledger_count(stream->trace);
}

/* ---- metadata ---- */

static void make_metadata_key(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++) out[i] = hd_trace_metadata_at(rows->stream->trace, rows->first + i)->key;
}

static void make_metadata_value(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++)
        out[i] = hd_trace_metadata_at(rows->stream->trace, rows->first + i)->value;
}

static void make_metadata_after(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++)
        out[i] = hd_trace_metadata_at(rows->stream->trace, rows->first + i)->after_events;
}

const arrow_field arrow_metadata_fields[] = {
    {.name = "name", .make = make_metadata_key, .null = HD_STRING_NONE},
    {.name = "value", .make = make_metadata_value, .null = HD_STRING_NONE},
    {.name = "after_events", .make = make_metadata_after, .null = ARROW_NEVER},
    {0},
};

uint64_t arrow_count_metadata(const arrow_stream *stream)
{
    return hd_trace_metadata_count(stream->trace);
}

/* ---- stacks: row n is node n + 1, as node 0 is the empty stack ---- */

static const hd_stacks *tree_of(const arrow_stream *stream)
{
    return hd_trace_stacks_tree(stream->side[0].data);
}

static void make_stack_id(arrow_rows *rows, int64_t *out)
{
    for (uint32_t i = 0; i < rows->count; i++) out[i] = (int64_t)(rows->first + i + 1);
}

#define STACK_FIELD(name, member)                                                                                      \
    static void make_stack_##name(arrow_rows *rows, int64_t *out)                                                      \
    {                                                                                                                  \
        const hd_stacks *tree = tree_of(rows->stream);                                                                 \
        for (uint32_t i = 0; i < rows->count; i++) out[i] = hd_stacks_at(tree, (uint32_t)rows->first + i + 1).member;  \
    }

STACK_FIELD(caller, caller)
STACK_FIELD(name, name)
STACK_FIELD(kind, kind)
STACK_FIELD(depth, depth)

/* By hd_frame_kind. */
static const char *const frame_kinds[] = {"",    "native", "os",   "python", "op",   "annotation",
                                          "api", "kernel", "copy", "group",  "mark", NULL};

const arrow_field arrow_stack_fields[] = {
    {.name = "id", .make = make_stack_id, .null = ARROW_NEVER},
    {.name = "parent_id", .make = make_stack_caller, .null = HD_STACK_NONE},
    {.name = "name", .make = make_stack_name, .null = ARROW_NEVER, .dictionary = ARROW_OWN},
    {.name = "kind",
     .make = make_stack_kind,
     .null = HD_FRAME_UNKNOWN,
     .dictionary = ARROW_WORDS,
     .words = frame_kinds},
    {.name = "depth", .make = make_stack_depth, .null = ARROW_NEVER},
    {0},
};

uint64_t arrow_count_stacks(const arrow_stream *stream)
{
    return hd_stacks_count(tree_of(stream)) - 1;
}

static hd_string frame_name(const void *user, uint32_t index)
{
    return hd_stacks_text(user, index);
}

static void free_stacks(void *data)
{
    hd_trace_stacks_free(data);
}

hd_status arrow_open_stacks(arrow_stream *stream, hd_error *err)
{
    hd_trace_stacks *stacks;
    HD_TRY(hd_trace_stacks_new(&stacks, stream->trace, err));
    stream->side[0] = (arrow_side){stacks, free_stacks};
    const hd_stacks *tree = hd_trace_stacks_tree(stacks);
    return arrow_texts_of_list(&stream->own, hd_stacks_name_count(tree), frame_name, tree, err);
}
