/* cupti.c - the part of the synthetic run that an injected CUPTI library records, with its names
 *
 * The run is simulated as always; only when its events are moved into the trace, runtime calls and GPU activities get
 * the names, categories and arguments that such a library writes, and everything else is left out.
 */
#include <stdio.h>
#include <stdlib.h>

#include "synth/impl.h"

static bool in(const synth *s, const synth_event *event, synth_text_id category)
{
    return event->category == s->texts[category];
}

bool synth_cupti_keeps(const synth *s, const synth_event *event)
{
    return event->kind == HD_KIND_SLICE && (in(s, event, SYNTH_TEXT_CUDA_RUNTIME) || in(s, event, SYNTH_TEXT_KERNEL) ||
                                            in(s, event, SYNTH_TEXT_GPU_MEMCPY) || in(s, event, SYNTH_TEXT_GPU_MEMSET));
}

uint64_t synth_count_lists(const synth *s)
{
    if (!s->options.cupti) return s->lists[SYNTH_CPU].count + s->lists[SYNTH_GPU].count;
    uint64_t count = 0;
    for (int side = 0; side < SYNTH_SIDES; side++) {
        const synth_list *list = &s->lists[side];
        for (size_t i = 0; i < list->count; i++) count += synth_cupti_keeps(s, &list->events[i]);
    }
    return count;
}

/* ---- names ---- */

/* CUPTI's names end with the version of CUDA that the call has its form from. */
static const char *version_of(const synth *s, uint32_t name)
{
    static const struct {
        synth_text_id name;
        const char *version;
    } versions[] = {
        {SYNTH_TEXT_LAUNCH, "_v7000"},        {SYNTH_TEXT_LAUNCH_EX, "_v11060"},
        {SYNTH_TEXT_GRAPH_LAUNCH, "_v10000"}, {SYNTH_TEXT_BEGIN_CAPTURE, "_v10000"},
        {SYNTH_TEXT_END_CAPTURE, "_v10000"},  {SYNTH_TEXT_INSTANTIATE, "_v12000"},
    };
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        if (s->texts[versions[i].name] == name) return versions[i].version;
    }
    return "_v3020";
}

/* A library does not demangle. */
static uint32_t mangled_name(synth *s, uint32_t name)
{
    char text[300];
    for (int i = 0; i < SYNTH_KERNEL_COUNT; i++) {
        if (s->kernels[i].name != name) continue;
        synth_mangle(text, sizeof text, (synth_kernel_id)i);
        return synth_text(s, "Kernel: %s", text);
    }
    return HD_STRING_NONE;
}

static uint32_t new_name(synth *s, const synth_event *event)
{
    hd_string name = hd_builder_string(s->builder, event->name);
    int size = (int)name.size;
    if (in(s, event, SYNTH_TEXT_CUDA_RUNTIME))
        return synth_text(s, "Runtime: %.*s%s", size, name.data, version_of(s, event->name));
    if (in(s, event, SYNTH_TEXT_KERNEL)) return mangled_name(s, event->name);
    if (in(s, event, SYNTH_TEXT_GPU_MEMSET)) return synth_text(s, "Memset: Device");
    return synth_text(s, event->name == s->texts[SYNTH_TEXT_MEMCPY_DTOH] ? "MemCopy: DtoH" : "MemCopy: HtoD");
}

static uint32_t name_of(synth *s, const synth_event *event)
{
    uint32_t *known = synth_memo_at(&s->cupti_names, event->name);
    if (!known) {
        s->failed = true;
        return HD_STRING_NONE;
    }
    if (!*known) *known = new_name(s, event) + 1;
    return *known - 1;
}

/* ---- arguments ---- */

typedef struct cupti_form {
    synth_shape shape;
    synth_text_id category;
    int64_t values[8];
} cupti_form;

/* The values of a kernel are in the order of KERNEL_KEYS, followed by those of the graph. */
static cupti_form kernel_form(const synth *s, const synth_event *event)
{
    const int64_t *v = s->values + event->values;
    cupti_form form = {SYNTH_SHAPE_CUPTI_KERNEL, SYNTH_TEXT_CUPTI_KERNEL, {v[10], v[11], v[2], v[4], v[5]}};
    if (event->shape != SYNTH_SHAPE_GRAPH_KERNEL) return form;
    form.shape = SYNTH_SHAPE_CUPTI_GRAPH_KERNEL;
    for (int i = 0; i < 3; i++) form.values[5 + i] = v[13 + i];
    return form;
}

static cupti_form form_of(synth *s, const synth_event *event)
{
    const int64_t *v = s->values + event->values;
    if (in(s, event, SYNTH_TEXT_KERNEL)) return kernel_form(s, event);
    if (in(s, event, SYNTH_TEXT_CUDA_RUNTIME))
        return (cupti_form){
            SYNTH_SHAPE_CUPTI_CALL, SYNTH_TEXT_CUPTI_RUNTIME, {synth_text(s, "%lld", (long long)v[1]), v[2]}};
    if (in(s, event, SYNTH_TEXT_GPU_MEMSET))
        return (cupti_form){SYNTH_SHAPE_CUPTI_SET, SYNTH_TEXT_CUPTI_SET, {v[5], v[1], v[3], v[4]}};
    bool back = event->name == s->texts[SYNTH_TEXT_MEMCPY_DTOH];
    return (cupti_form){
        SYNTH_SHAPE_CUPTI_COPY, SYNTH_TEXT_CUPTI_COPY, {synth_text(s, back ? "DtoH" : "HtoD"), v[5], v[1], v[3], v[4]}};
}

const int64_t *synth_cupti_row(synth *s, hd_row *row, const synth_event *event, int64_t values[8])
{
    cupti_form form = form_of(s, event);
    row->name = name_of(s, event);
    row->category = s->texts[form.category];
    row->shape = s->shapes[form.shape];
    memcpy(values, form.values, sizeof form.values);
    return values;
}
