/* stacks.c - samples of the synthetic run as a trace, and as extended folded text */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/io/output.h"
#include "base/memory/vector.h"
#include "heddle/synth.h"

void hd_synth_stacks_deinit(hd_synth_stacks *stacks)
{
    hd_stacks_free(stacks->stacks);
    free(stacks->samples);
    *stacks = (hd_synth_stacks){0};
}

/* ---- trace ---- */

enum { KEYS = 4 };

static uint32_t sample_shape(hd_builder *builder, bool correlation)
{
    hd_arg_key keys[KEYS] = {
        {.key = hd_builder_intern_text(builder, "sf"), .type = HD_ARG_INT, .scope = HD_SCOPE_EVENT},
        {.key = hd_builder_intern_text(builder, "cpu"), .type = HD_ARG_INT, .scope = HD_SCOPE_ARGS},
        {.key = hd_builder_intern_text(builder, "truth"), .type = HD_ARG_INT, .scope = HD_SCOPE_ARGS},
        {.key = hd_builder_intern_text(builder, "correlation"), .type = HD_ARG_INT, .scope = HD_SCOPE_ARGS},
    };
    return hd_builder_shape(builder, keys, correlation ? KEYS : KEYS - 1, true);
}

static hd_status add_samples(hd_builder *builder, hd_batch *batch, const hd_synth_stacks *stacks, bool correlation,
                             hd_error *err)
{
    hd_row row = hd_row_of(HD_KIND_SAMPLE, 'P');
    row.name = hd_builder_intern_text(builder, "stack");
    row.shape = sample_shape(builder, correlation);
    if (row.shape == HD_NONE) return HD_NOMEM(err);
    const hd_synth_sample *last = NULL;
    for (size_t i = 0; i < stacks->count; i++) {
        const hd_synth_sample *sample = &stacks->samples[i];
        if (sample->lost) continue;
        if (!last || last->tid != sample->tid || last->pid != sample->pid) {
            hd_string comm = hd_stacks_text(stacks->stacks, sample->comm);
            row.track = hd_builder_thread(builder, sample->pid, sample->tid);
            if (row.track == HD_NONE) return HD_NOMEM(err);
            hd_builder_name_track(builder, row.track, hd_builder_intern(builder, comm.data, comm.size));
            last = sample;
        }
        row.start_ns = sample->time_ns;
        int64_t values[KEYS] = {sample->stack, sample->cpu, sample->correlation, sample->correlation};
        HD_TRY(hd_batch_add(batch, &row, values, err));
    }
    hd_chunk *chunk;
    HD_TRY(hd_batch_take(&chunk, batch, err));
    return hd_builder_append(builder, chunk, err);
}

hd_status hd_synth_stacks_trace(hd_trace **out, const hd_synth_stacks *stacks, bool correlation, hd_error *err)
{
    hd_builder *builder;
    hd_batch *batch = NULL;
    *out = NULL;
    HD_TRY(hd_builder_new(&builder, err));
    hd_status status = hd_batch_new(&batch, builder, err);
    if (status == HD_OK) status = add_samples(builder, batch, stacks, correlation, err);
    if (status == HD_OK) status = hd_stacks_save(stacks->stacks, builder, err);
    hd_batch_free(batch);
    if (status != HD_OK) {
        hd_builder_free(builder);
        return status;
    }
    hd_trace_facts *facts = hd_builder_facts(builder);
    facts->format = "synth";
    facts->base_ns = HD_NO_TIME;
    facts->has_args = true;
    return hd_builder_finish(out, builder, err);
}

/* ---- text ---- */

typedef struct text_line {
    char *data;
    size_t size, capacity;
    hd_string *frames; /* of one stack, from the leaf */
    size_t frame_capacity;
} text_line;

static bool append(text_line *line, hd_string text)
{
    if (!hd_reserve(&line->data, &line->capacity, line->size + text.size + 1)) return false;
    memcpy(line->data + line->size, text.data, text.size);
    line->size += text.size;
    return true;
}

/* A program's main is called by the C library; a reader knows that and drops it. */
static bool append_start(text_line *line, hd_string root)
{
    static const char start[] = "_start;__libc_start_main;";
    if (root.size != 4 || memcmp(root.data, "main", 4) != 0) return true;
    return append(line, (hd_string){start, sizeof start - 1});
}

static bool append_stack(text_line *line, const hd_stacks *stacks, uint32_t node)
{
    size_t count = 0;
    for (; node != HD_STACK_NONE; count++) {
        hd_frame frame = hd_stacks_at(stacks, node);
        if (!hd_grow((void **)&line->frames, &line->frame_capacity, count, sizeof *line->frames)) return false;
        line->frames[count] = hd_stacks_text(stacks, frame.name);
        node = frame.caller;
    }
    if (count && !append_start(line, line->frames[count - 1])) return false;
    while (count--) {
        if (!append(line, line->frames[count])) return false;
        line->data[line->size++] = count ? ';' : '\n'; /* append keeps room for it */
    }
    return true;
}

static bool make_line(text_line *line, const hd_synth_stacks *stacks, const hd_synth_sample *sample)
{
    char head[128];
    hd_string comm = hd_stacks_text(stacks->stacks, sample->comm);
    int size = snprintf(head, sizeof head, "%" PRId64 " %.*s %" PRId64 " %" PRId64 " %u ", sample->time_ns,
                        (int)comm.size, comm.data, sample->pid, sample->tid, (unsigned)sample->cpu);
    line->size = 0;
    return append(line, (hd_string){head, (size_t)size}) && append_stack(line, stacks->stacks, sample->stack);
}

static hd_status write_lines(hd_output *out, const hd_synth_stacks *stacks, hd_error *err)
{
    text_line line = {0};
    hd_status status = HD_OK;
    for (size_t i = 0; i < stacks->count && status == HD_OK; i++) {
        if (stacks->samples[i].lost) continue;
        if (make_line(&line, stacks, &stacks->samples[i]))
            status = hd_output_write(out, line.data, line.size, err);
        else
            status = HD_NOMEM(err);
    }
    free(line.data);
    free(line.frames);
    return status;
}

hd_status hd_synth_stacks_write(const hd_synth_stacks *stacks, const char *path, hd_error *err)
{
    hd_output *out = NULL;
    HD_TRY(hd_output_create(&out, path, NULL, err));
    hd_status status = write_lines(out, stacks, err);
    if (status == HD_OK) return hd_output_commit(out, err);
    hd_output_abort(out);
    return status;
}
