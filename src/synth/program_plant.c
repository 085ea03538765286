/* program_plant.c - adds the cause of a finding to a program: in each step, before its forward pass
 *
 * The random program itself is unchanged, so that the program without the cause is the result of removing it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text/decimal.h"
#include "synth/random_program.h"

/* The form of a cause: a slice of the thread that takes the time, work of that time on stream 0, or a wait. */
typedef enum cause_form { A_SLICE, A_KERNEL, A_COPY, A_WAITING_COPY, AN_ITEM } cause_form;

static const struct {
    const char *code; /* of the finding */
    cause_form form;
    const char *name; /* of the slice or the kernel */
    bool is_annotation;
} causes[] = {
    {"data-loading", A_SLICE, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", true},
    {"garbage-collection", A_SLICE, "gc.collect", false},
    {"module-loading", A_SLICE, "cuModuleLoadData", false},
    {"recompilation", A_SLICE, "entire_frame_compile (dynamo_timed)", true},
    {"device-allocation", A_SLICE, "cudaMalloc", false},
    {"host-collectives", A_SLICE, "gloo:all_reduce", false},
    {"no-tensor-cores", A_KERNEL, "ampere_sgemm_128x64_tn", false},
    {"layout-conversions", A_KERNEL, "void cudnn::ops::nchwToNhwcKernel<float>", false},
    {"same-stream-copy", A_COPY, NULL, false},
    {"pageable-copy", A_WAITING_COPY, NULL, false},
    {"sync-item", AN_ITEM, NULL, false},
};
enum { CAUSES = sizeof causes / sizeof *causes, ITEMS_MAX = 6 };

static program_item *add(program_item *list, size_t *count, program_kind kind, uint32_t step)
{
    program_item *item = &list[(*count)++];
    *item = (program_item){.kind = (uint8_t)kind, .step = step, .host_ns = 500};
    if (kind != PROGRAM_OP && kind != PROGRAM_END) item->call_ns = 4000;
    item->gap_ns = 1000;
    item->latency_ns = 2000;
    item->wake_ns = 3000;
    return item;
}

/* The items of a cause in one step. */
static size_t make_items(program_item out[ITEMS_MAX], synth *s, size_t cause, int64_t ns, uint32_t step)
{
    size_t count = 0;
    const uint32_t *texts = s->texts;
    program_item *op = add(out, &count, PROGRAM_OP, step), *work;
    const char *name = causes[cause].name;
    op->is_annotation = causes[cause].is_annotation;
    op->name = causes[cause].form == AN_ITEM ? texts[SYNTH_TEXT_LOCAL_SCALAR] : texts[SYNTH_TEXT_TO];
    switch (causes[cause].form) {
    case A_SLICE: op->name = synth_text(s, "%s", name); break;
    case A_KERNEL:
        work = add(out, &count, PROGRAM_KERNEL, step);
        work->kernel = SYNTH_FILL;
        work->name = synth_text(s, "%s", name);
        work->work_ns = ns;
        break;
    case AN_ITEM: add(out, &count, PROGRAM_STREAM_SYNC, step); break;
    default:
        work = add(out, &count, causes[cause].form == A_COPY ? PROGRAM_COPY_IN : PROGRAM_COPY_OUT, step);
        work->name = texts[causes[cause].form == A_COPY ? SYNTH_TEXT_MEMCPY_HTOD : SYNTH_TEXT_MEMCPY_DTOH];
        work->bytes = ns * 24;
        work->work_ns = ns;
    }
    program_item *end = add(out, &count, PROGRAM_END, step);
    if (causes[cause].form == A_SLICE) end->host_ns = ns;
    return count;
}

static hd_status plant(program_list *list, synth *s, size_t cause, int64_t ns)
{
    size_t steps = 0, kept = 0;
    uint32_t forward = s->texts[SYNTH_TEXT_FORWARD];
    for (size_t i = 0; i < list->count; i++)
        steps += list->items[i].kind == PROGRAM_OP && list->items[i].name == forward;
    size_t capacity = list->count + steps * ITEMS_MAX + 1;
    program_item *items = calloc(capacity, sizeof *items);
    if (!items) return HD_NOMEM(s->err);
    for (size_t i = 0; i < list->count; i++) {
        const program_item *item = &list->items[i];
        if (item->kind == PROGRAM_OP && item->name == forward)
            kept += make_items(&items[kept], s, cause, ns, item->step);
        items[kept++] = *item;
    }
    free(list->items);
    list->items = items;
    list->count = kept;
    list->capacity = capacity;
    return HD_OK;
}

/* "garbage-collection=2ms": the code of a finding, and the time of it in each step in us or ms. */
hd_status program_plant(program *p, synth *s, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t size = equals ? strlen(equals + 1) : 0;
    hd_fixed number;
    for (size_t i = 0; i < CAUSES && size > 2; i++) {
        size_t length = strlen(causes[i].code);
        int shift = strcmp(equals + size - 1, "us") == 0 ? 3 : strcmp(equals + size - 1, "ms") == 0 ? 6 : 0;
        if (length != (size_t)(equals - text) || memcmp(causes[i].code, text, length) != 0) continue;
        if (!shift || !hd_fixed_parse(&number, equals + 1, size - 2, shift) || number.whole < 0 ||
            number.whole > INT64_C(1000000000))
            break;
        return plant(&p->threads[0], s, i, number.whole);
    }
    return hd_error_set(s->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "'plant:%.60s' is no cause that can be planted (such as data-loading=2ms, sync-item=1us)",
                        text);
}
