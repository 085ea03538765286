/* program_change.c - makes a change to a program, as who wrote it would have */
#include <string.h>

#include "base/text/decimal.h"
#include "base/text/pattern.h"
#include "synth/random_program.h"

typedef struct change {
    synth *s;
    char pattern[HD_PATTERN_BYTES];
    int64_t number;               /* millionths, ns, or streams */
    uint8_t has[PROGRAM_STREAMS]; /* by stream: work that is not communication, of any thread */
} change;

/* ---- what a change is about ---- */

static bool matches_text(const change *c, uint32_t name)
{
    hd_string text = hd_builder_string(c->s->builder, name);
    return text.data && hd_glob_matches(c->pattern, text.data, text.size, false);
}

static bool matches(const change *c, const program_item *item)
{
    return program_is_work(item) && !item->is_gone && matches_text(c, item->name);
}

static bool is_communication(const program_item *item)
{
    return item->kind == PROGRAM_KERNEL &&
           (item->kernel == SYNTH_NCCL_ALLREDUCE || item->kernel == SYNTH_NCCL_ALLGATHER);
}

/* ---- changes ---- */

/* A thread's own time in a slice, without the slices in it. */
static void scale(const change *c, program_list *list)
{
    bool open[PROGRAM_DEPTH + 1] = {false};
    int depth = 0;
    for (size_t i = 0; i < list->count; i++) {
        program_item *item = &list->items[i];
        if (open[depth]) item->host_ns = item->host_ns * c->number / 1000000;
        if (matches(c, item)) item->work_ns = item->work_ns * c->number / 1000000;
        if (item->kind == PROGRAM_OP)
            open[++depth] = matches_text(c, item->name);
        else if (item->kind == PROGRAM_END)
            depth--;
        else if (matches_text(c, program_call_name(c->s, item)))
            item->call_ns = item->call_ns * c->number / 1000000;
    }
}

/* Work goes with its call, a slice with all that is in it. */
static void remove_named(const change *c, program_list *list)
{
    int depth = 0;
    for (size_t i = 0; i < list->count; i++) {
        program_item *item = &list->items[i];
        if (depth) {
            item->host_ns = 0;
            item->is_gone = true;
            depth += item->kind == PROGRAM_OP ? 1 : item->kind == PROGRAM_END ? -1 : 0;
        } else if (item->kind == PROGRAM_OP) {
            depth += item->is_gone = matches_text(c, item->name);
        } else if (matches(c, item)) {
            item->is_gone = true;
        }
    }
}

static void set_launch_cost(const change *c, program_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (program_is_work(&list->items[i])) list->items[i].call_ns = c->number;
    }
}

static void find_streams(change *c, const program_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        c->has[list->items[i].stream] |= program_is_work(&list->items[i]) && !is_communication(&list->items[i]);
}

/* Streams become so many, in turn, but those of communication alone. */
static void set_streams(const change *c, program_list *list)
{
    uint8_t becomes[PROGRAM_STREAMS], used = 0;
    for (uint8_t k = 0; k < PROGRAM_STREAMS; k++) becomes[k] = c->has[k] ? (uint8_t)(used++ % c->number) : k;
    for (size_t i = 0; i < list->count; i++) {
        program_item *item = &list->items[i];
        item->stream = becomes[item->stream];
    }
}

/* Kernels of communication get a stream of their own, and wait for no others. */
static void overlap(const change *c, program_list *list)
{
    (void)c;
    for (size_t i = 0; i < list->count; i++) {
        if (is_communication(&list->items[i])) list->items[i].stream = PROGRAM_COMM;
    }
}

/* The first launch of a step launches all its work. The thread's activity between that and the last launch is removed,
 * except for waits. */
static void make_graphs(const change *c, program_list *list)
{
    (void)c;
    for (size_t first = 0, end; first < list->count; first = end) {
        size_t last = first;
        for (end = first; end < list->count && list->items[end].step == list->items[first].step; end++) {
            if (program_is_work(&list->items[end])) last = end;
        }
        while (first < last && !program_is_work(&list->items[first])) first++;
        for (size_t i = first + 1; i <= last; i++) {
            program_item *item = &list->items[i];
            item->host_ns = 0;
            if (item->kind < PROGRAM_EVENT_SYNC) item->call_ns = 0;
            if (program_is_work(item)) item->in_graph = true;
        }
    }
}

/* Kernels that follow one another on a stream become the first of them, if the thread does not wait between them, nor
 * an event parts them. */
static void fuse(const change *c, program_list *list)
{
    program_item *firsts[PROGRAM_STREAMS] = {NULL};
    for (size_t i = 0; i < list->count; i++) {
        program_item *item = &list->items[i];
        if (item->kind == PROGRAM_OP || item->kind == PROGRAM_END || item->is_gone) continue;
        program_item *first = firsts[item->stream];
        bool is_fusible = item->kind == PROGRAM_KERNEL && matches(c, item);
        if (item->kind >= PROGRAM_EVENT_SYNC || item->kind == PROGRAM_COPY_OUT) memset(firsts, 0, sizeof firsts);
        firsts[item->stream] = is_fusible ? first ? first : item : NULL;
        if (!is_fusible || !first) continue;
        first->work_ns += item->work_ns;
        item->is_gone = true;
    }
}

/* ---- their texts ---- */

typedef enum operand { NO_OPERAND, A_PATTERN, A_FACTOR, A_TIME, A_NUMBER } operand;

static const struct {
    const char *name;
    operand operand;
    void (*make)(const change *c, program_list *list);
} kinds[] = {
    {"scale", A_FACTOR, scale},         {"remove", A_PATTERN, remove_named},
    {"fuse", A_PATTERN, fuse},          {"launch-cost", A_TIME, set_launch_cost},
    {"streams", A_NUMBER, set_streams}, {"overlap", NO_OPERAND, overlap},
    {"graph", NO_OPERAND, make_graphs},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool parse_number(change *c, const char *text, size_t size, int shift, int64_t least, int64_t most)
{
    hd_fixed number;
    if (!hd_fixed_parse(&number, text, size, shift)) return false;
    c->number = number.whole;
    return c->number >= least && c->number <= most;
}

static bool parse_operand(change *c, operand form, const char *text)
{
    size_t size = strlen(text);
    const char *equals = form == A_FACTOR ? strrchr(text, '=') : NULL;
    if (form == A_NUMBER) return parse_number(c, text, size, 0, 1, PROGRAM_COMPUTE);
    if (form == A_TIME)
        return size > 2 && strcmp(text + size - 2, "us") == 0 && parse_number(c, text, size - 2, 3, 0, 1000000);
    if (form == A_FACTOR && (!equals || !parse_number(c, equals + 1, strlen(equals + 1), 6, 0, 100000000)))
        return false;
    if (equals) size = (size_t)(equals - text);
    if (size == 0 || size >= sizeof c->pattern) return false;
    memcpy(c->pattern, text, size);
    return true;
}

hd_status program_change(program *p, synth *s, const char *text)
{
    change c = {.s = s};
    const char *colon = strchr(text, ':');
    size_t size = colon ? (size_t)(colon - text) : strlen(text);
    if (colon && size == strlen("plant") && memcmp(text, "plant", size) == 0) return program_plant(p, s, colon + 1);
    for (size_t k = 0; k < KINDS; k++) {
        if (strlen(kinds[k].name) != size || memcmp(kinds[k].name, text, size) != 0) continue;
        bool is_bare = kinds[k].operand == NO_OPERAND;
        if (is_bare ? colon != NULL : !colon || !parse_operand(&c, kinds[k].operand, colon + 1)) break;
        for (int i = 0; i < PROGRAM_THREADS; i++) find_streams(&c, &p->threads[i]);
        for (int i = 0; i < PROGRAM_THREADS; i++) kinds[k].make(&c, &p->threads[i]);
        return HD_OK;
    }
    return hd_error_set(s->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "'%.60s' is no change of a program (such as scale:*gemm*=0.5, remove:*gelu*, fuse:*norm*, "
                        "launch-cost:2us, streams:1, overlap, graph, plant:data-loading=2ms)",
                        text);
}
