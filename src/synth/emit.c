/* emit.c - events of the synthetic run on their way into the trace */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "synth/impl.h"

uint32_t synth_text(synth *s, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return hd_builder_intern_text(s->builder, text);
}

/* ---- shapes and texts ---- */

static uint8_t arg_type(char letter)
{
    switch (letter) {
    case 'i': return HD_ARG_INT;
    case 'd': return HD_ARG_DECIMAL;
    case 's': return HD_ARG_STRING;
    case 'j': return HD_ARG_JSON;
    default: return HD_ARG_NULL;
    }
}

/* "name:type|…", see synth_shape_keys. */
static void make_shape(synth *s, synth_shape shape)
{
    hd_arg_key keys[40];
    uint32_t count = 0;
    for (const char *p = synth_shape_keys[shape]; p && *p;) {
        bool of_event = *p == '!';
        const char *name = p + of_event, *colon = strchr(name, ':');
        keys[count++] = (hd_arg_key){
            .key = hd_builder_intern(s->builder, name, (size_t)(colon - name)),
            .type = arg_type(colon[1]),
            .scope = of_event ? HD_SCOPE_EVENT : HD_SCOPE_ARGS,
        };
        p = colon[2] ? colon + 3 : NULL;
    }
    bool has_args = count && keys[count - 1].scope == HD_SCOPE_ARGS;
    s->shapes[shape] = hd_builder_shape(s->builder, keys, count, has_args);
    s->shape_keys[shape] = (uint8_t)count;
    if (s->shapes[shape] == HD_NONE) s->failed = true;
}

static void make_kernel(synth *s, synth_kernel_id id)
{
    const synth_kernel_spec *spec = &synth_kernel_specs[id];
    static const uint16_t small[3] = {16, 1, 1}; /* kernels of all streams of a program fit side by side */
    const uint16_t *grid = s->options.program ? small : spec->grid, *block = spec->block;
    int64_t blocks = (int64_t)grid[0] * grid[1] * grid[2] * 1000000 / 132;
    int64_t warps = (block[0] * block[1] * block[2] + 31) / 32;
    s->kernels[id] = (synth_kernel_ids){
        .name = hd_builder_intern_text(s->builder, spec->name),
        .grid = synth_text(s, "[%d, %d, %d]", grid[0], grid[1], grid[2]),
        .block = synth_text(s, "[%d, %d, %d]", block[0], block[1], block[2]),
        .blocks_per_sm = hd_decimal_pack(blocks, 6),
        .warps_per_sm = hd_decimal_pack(blocks * warps, 6),
    };
}

static uint32_t text_or_none(synth *s, const char *text)
{
    return text ? hd_builder_intern_text(s->builder, text) : HD_STRING_NONE;
}

static void make_op(synth *s, int index)
{
    const synth_op_spec *spec = &synth_op_specs[index];
    synth_op_ids *ids = &s->ops[index];
    for (int i = 0; i < SYNTH_CHAIN; i++) ids->names[i] = text_or_none(s, spec->names[i]);
    for (int i = 0; i < SYNTH_GRADS; i++) ids->grads[i] = text_or_none(s, spec->grads[i]);
    ids->node = text_or_none(s, spec->node);
    ids->evaluate = synth_text(s, "autograd::engine::evaluate_function: %s", spec->node);
    ids->source = text_or_none(s, spec->source);
    ids->dims = text_or_none(s, spec->dims);
    ids->types = text_or_none(s, spec->types);
    ids->strides = text_or_none(s, spec->strides);
    ids->concrete = text_or_none(s, spec->concrete);
}

hd_status synth_emit_init(synth *s)
{
    HD_TRY(hd_builder_new(&s->builder, s->err));
    HD_TRY(hd_batch_new(&s->batch, s->builder, s->err));
    for (int i = 0; i < SYNTH_SHAPE_COUNT; i++) make_shape(s, (synth_shape)i);
    for (int i = 0; i < SYNTH_TEXT_COUNT; i++) s->texts[i] = hd_builder_intern_text(s->builder, synth_texts[i]);
    for (int i = 0; i < SYNTH_KERNEL_COUNT; i++) make_kernel(s, (synth_kernel_id)i);
    for (int i = 0; i < SYNTH_OP_COUNT; i++) make_op(s, i);
    return HD_OK;
}

void synth_emit_deinit(synth *s)
{
    for (int side = 0; side < SYNTH_SIDES; side++) free(s->lists[side].events);
    free(s->values);
    free(s->graph_nodes);
    free(s->cupti_names.known);
    free(s->frames.known);
    hd_batch_free(s->batch);
    hd_builder_free(s->builder);
}

/* ---- the lists ---- */

static bool grow(void **data, size_t *capacity, size_t need, size_t element_size)
{
    if (need <= *capacity) return true;
    size_t wider = *capacity ? *capacity * 2 : 4096;
    void *p = realloc(*data, wider * element_size);
    if (!p) return false;
    *data = p;
    *capacity = wider;
    return true;
}

uint32_t synth_put(synth *s, synth_side side, const synth_event *event, const int64_t *values)
{
    synth_list *list = &s->lists[side];
    size_t key_count = s->shape_keys[event->shape];
    if (!grow((void **)&list->events, &list->capacity, list->count + 1, sizeof *list->events) ||
        !grow((void **)&s->values, &s->value_capacity, s->value_count + key_count, sizeof *s->values)) {
        s->failed = true;
        return 0;
    }
    synth_event *copy = &list->events[list->count];
    *copy = *event;
    copy->values = (uint32_t)s->value_count;
    if (key_count) memcpy(s->values + s->value_count, values, key_count * sizeof *values);
    s->value_count += key_count;
    return (uint32_t)list->count++;
}

/* The true time on the rank's clock. Rounded down, in steps that keep the order and so the nesting. */
int64_t synth_clock(const synth *s, int64_t true_ns)
{
    return s->clock_base_ns + s->clock_offset_ns + true_ns + true_ns / 1000 * s->clock_drift_ppb / 1000000;
}

static hd_status flush_event(synth *s, const synth_event *event)
{
    int64_t space[8];
    const int64_t *values = s->values + event->values;
    if (s->options.cupti && !synth_cupti_keeps(s, event)) return HD_OK;
    hd_row row = hd_row_of((hd_kind)event->kind, event->phase);
    row.track = event->track;
    row.name = event->name;
    row.category = event->category;
    row.shape = s->shapes[event->shape];
    row.id_type = event->id_type;
    row.id = event->id;
    if (event->enclosing) row.phase |= HD_FLAG_BIND_ENCLOSING;
    row.start_ns = synth_clock(s, event->start_ns);
    if (event->duration_ns != HD_NO_TIME)
        row.duration_ns = synth_clock(s, event->start_ns + event->duration_ns) - row.start_ns;
    if (s->options.cupti) values = synth_cupti_row(s, &row, event, space);
    s->now.truth.events++;
    return hd_batch_add(s->batch, &row, values, s->err);
}

hd_status synth_flush(synth *s)
{
    if (s->failed) return HD_NOMEM(s->err);
    for (int side = 0; side < SYNTH_SIDES; side++) {
        const synth_list *list = &s->lists[side];
        for (size_t i = 0; i < list->count; i++) HD_TRY(flush_event(s, &list->events[i]));
    }
    synth_drop(s);
    return HD_OK;
}

void synth_drop(synth *s)
{
    for (int side = 0; side < SYNTH_SIDES; side++) s->lists[side].count = 0;
    s->value_count = 0;
}
