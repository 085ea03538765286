/* join.c - adds the events of a second trace as further tracks of a first one, on the same clock */
#include "pass/join.h"

#include "base/error.h"

typedef struct joiner {
    hd_builder *builder;
    hd_batch *names;
    hd_copy *copy; /* of the second trace */
    hd_error *err;
} joiner;

static hd_status copy_first(joiner *j, const hd_trace *trace)
{
    hd_copy *copy;
    HD_TRY(hd_copy_new(&copy, trace, j->builder, j->err));
    hd_status status = hd_copy_tracks(copy, NULL, NULL, j->err);
    if (status == HD_OK) status = hd_copy_events(copy, NULL, j->err);
    if (status == HD_OK) status = hd_copy_surroundings(copy, j->err);
    hd_copy_free(copy);
    return status;
}

/* The names of the tracks as events, if the second trace has none of its own. */
static hd_status add_names(joiner *j, const hd_trace *more)
{
    hd_chunk *chunk;
    if (hd_trace_row_count(more, HD_KIND_META)) return HD_OK;
    for (uint32_t i = 0; i < hd_trace_track_count(more); i++) {
        const hd_track *track = hd_trace_track_at(more, i);
        if (!track->name) continue;
        hd_meta_event event = {
            .track = hd_copy_track(j->copy, i),
            .name = track->kind == HD_TRACK_PROCESS ? "process_name" : "thread_name",
            .key = "name",
            .type = HD_ARG_STRING,
            .value = hd_copy_string(j->copy, track->name),
        };
        HD_TRY(hd_copy_add_meta(j->builder, j->names, &event, j->err));
    }
    HD_TRY(hd_batch_take(&chunk, j->names, j->err));
    return hd_builder_append(j->builder, chunk, j->err);
}

static hd_status copy_second(joiner *j, hd_pass_result *result, const hd_trace *trace, const hd_trace *more)
{
    HD_TRY(hd_copy_tracks(j->copy, NULL, NULL, j->err));
    if (hd_names_are_events(trace)) {
        HD_TRY(hd_batch_new(&j->names, j->builder, j->err));
        hd_status status = add_names(j, more);
        result->added = hd_trace_event_count(hd_builder_trace(j->builder)) - hd_trace_event_count(trace);
        hd_batch_free(j->names);
        HD_TRY(status);
    }
    HD_TRY(hd_copy_events(j->copy, NULL, j->err));
    for (size_t i = 0; i < hd_trace_metadata_count(more); i++) {
        const hd_metadata *m = hd_trace_metadata_at(more, i);
        const uint32_t key_id = hd_copy_string(j->copy, m->key);
        hd_builder_metadata(j->builder, key_id, hd_copy_string(j->copy, m->value), true);
    }
    return hd_copy_ledger(j->copy, j->err);
}

hd_status hd_join(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_trace *more, hd_error *err)
{
    joiner j = {.err = err};
    *out = NULL;
    *result = (hd_pass_result){0};
    HD_TRY(hd_builder_new(&j.builder, err));
    hd_status status = copy_first(&j, trace);
    if (status == HD_OK) status = hd_copy_new(&j.copy, more, j.builder, err);
    if (status == HD_OK) status = copy_second(&j, result, trace, more);
    hd_copy_free(j.copy);
    if (status == HD_OK) return hd_builder_finish(out, j.builder, err);
    hd_builder_free(j.builder);
    return status;
}
