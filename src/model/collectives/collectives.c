/* collectives.c - bytes, group and bandwidth factor of collectives: see "communication" in
 * docs/reports/definitions.md */
#include "model/collectives/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "model/host/slices.h"
#include "trace/event.h"
#include "trace/text.h"

/* ---- sizes of types, bandwidths ---- */

static bool is_word(hd_string text, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i < size && i < text.size; i++) {
        if ((text.data[i] >= 'A' && text.data[i] <= 'Z' ? text.data[i] + 32 : text.data[i]) != word[i]) return false;
    }
    return text.size == size;
}

static unsigned type_bytes(hd_string type)
{
    static const struct type {
        const char *name;
        unsigned bytes;
    } types[] = {{"float", 4},    {"int", 4},   {"long", 8}, {"double", 8}, {"half", 2},
                 {"bfloat16", 2}, {"short", 2}, {"byte", 1}, {"bool", 1},   {"char", 1}};
    if (type.size >= 6 && is_word((hd_string){type.data, 6}, "float8")) return 1;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (is_word(type, types[i].name)) return types[i].bytes;
    }
    return 0;
}

bool gpu_bus_factor(double *out, gpu_collective collective, int64_t ranks)
{
    double others = (double)ranks - 1, all = (double)ranks;
    if (collective == GPU_NO_COLLECTIVE || collective == GPU_BARRIER || ranks == HD_NO_NUMBER || ranks < 1)
        return false;
    switch (collective) {
    case GPU_ALL_REDUCE: *out = 2 * others / all; return true;
    case GPU_ALL_GATHER:
    case GPU_REDUCE_SCATTER:
    case GPU_ALL_TO_ALL:
    case GPU_GATHER:
    case GPU_SCATTER: *out = others / all; return true;
    default: *out = 1; return true;
    }
}

bool gpu_bus_factor_named(double *out, hd_string collective, int64_t ranks)
{
    for (int i = 0; i < GPU_COLLECTIVES; i++) {
        if (hd_string_is(collective, gpu_collective_names[i])) return gpu_bus_factor(out, (gpu_collective)i, ranks);
    }
    return false;
}

/* ---- one collective ---- */

enum { NAME, GROUP, RANKS, SIZE, TYPE, IN, OUT, MESSAGE, COMMUNICATOR, ARGUMENTS };
_Static_assert((int)ARGUMENTS == (int)GPU_COLLECTIVE_ARGUMENTS, "arguments of a collective");
static const char *const argument_names[ARGUMENTS] = {
    "Collective name", "Process Group Name", "Process Group Ranks",  "Group size",          "dtype",
    "In msg nelems",   "Out msg nelems",     "Message size [bytes]", "NCCL communicator ID"};

static gpu_collective collective_of_string(gpu_collectives *c, uint32_t string)
{
    uint8_t *known = &c->known[string];
    if (!*known) *known = (uint8_t)(gpu_collective_of(hd_trace_string(c->scope->trace, string)) + 1);
    return (gpu_collective)(*known - 1);
}

/* The event with a collective's arguments: the kernel, or the op around its launch. */
static const hd_block *teller_of(uint32_t *out_row, gpu_collectives *c, uint32_t work)
{
    uint32_t row, launch = c->scope->works[work].launch;
    uint64_t slice = c->scope->launches->works[work].row;
    const hd_block *block = hd_trace_block_of(&row, c->scope->trace, HD_KIND_SLICE, slice);
    hd_value value;
    if (c->op_of && launch != HD_NONE && c->op_of[launch] != HD_NONE &&
        !gpu_arg_get(&value, &c->args[NAME], block, row))
        block = hd_trace_block_of(&row, c->scope->trace, HD_KIND_SLICE, c->ops.list[c->op_of[launch]].row);
    *out_row = row;
    return block;
}

/* The number of elements for the bytes of nccl-tests: for an all-gather those that a rank receives, for most others
 * those it sends; for a gather those the root receives, for a scatter those it sends, as known to any rank from its own
 * part. HD_NO_NUMBER */
static int64_t elements_of(const gpu_collective_facts *t)
{
    int64_t all, ranks = t->size;
    switch (t->collective) {
    case GPU_ALL_GATHER: return t->out;
    case GPU_GATHER: return ranks > 0 && !__builtin_mul_overflow(t->in, ranks, &all) ? all : HD_NO_NUMBER;
    case GPU_SCATTER: return ranks > 0 && !__builtin_mul_overflow(t->out, ranks, &all) ? all : HD_NO_NUMBER;
    default: return t->in;
    }
}

static void find_bytes(gpu_collective_facts *t, const gpu_collectives *c, int64_t message)
{
    int64_t elements = elements_of(t);
    unsigned width = t->type == HD_NONE ? 0 : type_bytes(gpu_text_of(&c->texts, t->type));
    t->bytes = message >= 0 ? message : HD_NO_NUMBER;
    if (t->collective != GPU_NO_COLLECTIVE && width && elements >= 0 &&
        __builtin_mul_overflow(elements, width, &t->bytes))
        t->bytes = HD_NO_NUMBER;
}

bool gpu_collective_facts_of(gpu_collective_facts *t, gpu_collectives *c, uint32_t work)
{
    uint32_t at;
    int64_t message;
    const hd_block *block = teller_of(&at, c, work);
    uint32_t said = gpu_arg_text(&c->args[NAME], block, at);
    *t = (gpu_collective_facts){.collective =
                                    said != HD_STRING_NONE ? collective_of_string(c, said) : GPU_NO_COLLECTIVE};
    if (t->collective == GPU_NO_COLLECTIVE)
        t->collective = collective_of_string(c, c->scope->launches->works[work].name);
    int64_t *const numbers[] = {[SIZE] = &t->size, [IN] = &t->in, [OUT] = &t->out, [MESSAGE] = &message};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i] && !gpu_arg_whole(numbers[i], &c->args[i], block, at)) *numbers[i] = HD_NO_NUMBER;
    }
    if (!gpu_arg_written(&t->group, &c->texts, &c->args[GROUP], block, at) ||
        (t->group == HD_NONE && !gpu_arg_written(&t->group, &c->texts, &c->args[COMMUNICATOR], block, at)) ||
        !gpu_arg_written(&t->ranks, &c->texts, &c->args[RANKS], block, at) ||
        !gpu_arg_written(&t->type, &c->texts, &c->args[TYPE], block, at))
        return false;
    find_bytes(t, c, message);
    return true;
}

/* ---- all of a trace ---- */

/* All slices of a role with one of these names. */
static hd_status find_named(gpu_collectives *c, hd_role role, const char *const *wanted, hd_error *err)
{
    const hd_trace *trace = c->scope->trace;
    uint8_t *names = calloc((size_t)hd_trace_string_count(trace) + 1, 1);
    bool any = false;
    if (!names) return HD_NOMEM(err);
    for (; *wanted; wanted++) {
        uint32_t id = hd_trace_find_string(trace, *wanted, strlen(*wanted));
        if (id != HD_NONE) names[id] = any = true;
    }
    hd_status status = any ? gpu_slices_named(&c->ops, c->scope, 1u << role, names, err) : HD_OK;
    free(names);
    return status;
}

static hd_status find_ops(gpu_collectives *c, hd_error *err)
{
    static const char *const ops[] = {"record_param_comms", NULL};
    /* Without ncclAllGather and the like, where NCCL gives the bytes of one rank. */
    static const char *const ranges[] = {"ncclAllReduce", "ncclBroadcast", "ncclReduce", "ncclSend", "ncclRecv", NULL};
    HD_TRY(find_named(c, HD_ROLE_OP, ops, err));
    if (!c->ops.count) {
        gpu_slices_deinit(&c->ops);
        HD_TRY(find_named(c, HD_ROLE_ANNOTATION, ranges, err));
    }
    return c->ops.count ? gpu_innermost_of_launches(&c->op_of, c->scope, &c->ops, err) : HD_OK;
}

hd_status gpu_collectives_init(gpu_collectives *c, const gpu_scope *scope, hd_error *err)
{
    *c = (gpu_collectives){.scope = scope};
    bool fine = (c->known = calloc((size_t)hd_trace_string_count(scope->trace) + 1, 1)) != NULL;
    for (int i = 0; i < ARGUMENTS && fine; i++) fine = gpu_arg_init(&c->args[i], scope->trace, argument_names[i]);
    return fine ? find_ops(c, err) : HD_NOMEM(err);
}

void gpu_collectives_deinit(gpu_collectives *c)
{
    for (int i = 0; i < ARGUMENTS; i++) gpu_arg_deinit(&c->args[i]);
    free(c->known);
    gpu_texts_deinit(&c->texts);
    gpu_slices_deinit(&c->ops);
    hd_large_free(c->op_of);
}
