/* graph.c - lines of the tracer function_graph -> slices
 *
 *      0)               |  do_sys_open() {                       CPU, duration, call
 *      0)   0.541 us    |    getname();
 *     360.774522 |   1)    sh-4802    |  d..1 |   0.541 us    |  } // times, threads and flags, if enabled
 *     sh-4802 [000] 17284.993652: funcgraph_exit:   1.382 us   |  }  of trace-cmd
 *
 * A call's slice is written when it ends, with the duration on the line of its end. Lines without times are in order of
 * time: a call begins where the previous one of its caller, or of its CPU, ended.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "base/text/ends.h"
#include "format/ftrace/ftrace.h"
#include "format/stack_text.h"

enum { SHIFT_NS = 9, SHIFT_US_NS = 3, LOOK_CALLS = 64 };
enum { OF_CPU = 1 };

static hd_string rest_behind(hd_string text, const char *at)
{
    return hd_text_trim(at, (size_t)(text.data + text.size - at));
}

/* ---- one line ---- */

static bool is_task(hd_string *out_comm, int64_t *out_tid, hd_string text)
{
    const char *dash = text.size ? memrchr(text.data, '-', text.size) : NULL;
    if (!dash || !hd_text_int(out_tid, dash + 1, (size_t)(text.data + text.size - dash) - 1) || *out_tid < 0)
        return false;
    *out_comm = (hd_string){text.data, (size_t)(dash - text.data)};
    return true;
}

/* "", "0.541 us", "+ 10.541 us", "==========>": preceded by marks of long calls. */
static bool is_duration(int64_t *out_ns, hd_string text)
{
    hd_fixed number;
    *out_ns = HD_NO_TIME;
    if (!text.size || *text.data == '=' || *text.data == '<') return true;
    if (!hd_ends_with(text.data, text.size, " us")) return false;
    text = hd_text_trim(text.data, text.size - 3);
    if (text.size > 1 && strchr("+!#*@$", *text.data)) text = hd_text_trim(text.data + 1, text.size - 1);
    if (!text.size || !hd_is_digit(*text.data) || !hd_fixed_parse(&number, text.data, text.size, SHIFT_US_NS))
        return false;
    *out_ns = number.whole;
    return true;
}

bool ftrace_graph_call(ftrace_graph_line *out, hd_string text)
{
    const char *bar;
    for (; (bar = memchr(text.data, '|', text.size)); text = rest_behind(text, bar + 1)) {
        hd_string field = hd_text_trim(text.data, (size_t)(bar - text.data));
        if (is_duration(&out->duration_ns, field)) {
            out->is_interrupt = field.size && (*field.data == '=' || *field.data == '<');
            out->call = out->is_interrupt ? field : rest_behind(text, bar + 1);
            return true;
        }
        bool is_flags = field.size <= 6 && !memchr(field.data, ' ', field.size);
        if (!is_task(&out->comm, &out->tid, field) && !is_flags) return false;
    }
    return false;
}

bool ftrace_graph_parse(ftrace_graph_line *out, hd_string line)
{
    hd_fixed time;
    *out = (ftrace_graph_line){.time_ns = HD_NO_TIME, .tid = HD_NO_NUMBER};
    const char *bar = memchr(line.data, '|', line.size);
    hd_string first = bar ? hd_text_trim(line.data, (size_t)(bar - line.data)) : (hd_string){0};
    if (first.size && memchr(first.data, '.', first.size) && hd_is_digit(*first.data) &&
        hd_fixed_parse(&time, first.data, first.size, SHIFT_NS)) {
        out->time_ns = time.whole;
        line = rest_behind(line, bar + 1);
    }
    const char *close = memchr(line.data, ')', line.size < 8 ? line.size : 8);
    if (!close || !hd_text_int(&out->cpu, line.data, (size_t)(close - line.data)) || out->cpu < 0) return false;
    hd_string rest = rest_behind(line, close + 1);
    const char *arrow = memmem(rest.data, rest.size, " => ", 4);
    if (arrow && !memchr(rest.data, '|', rest.size)) {
        out->is_switch = true;
        return is_task(&out->comm, &out->tid, rest_behind(rest, arrow + 4));
    }
    return ftrace_graph_call(out, rest);
}

/* ---- whose calls ---- */

typedef struct graph_call {
    int64_t start_ns;
    uint32_t name, arguments; /* string ids */
} graph_call;

/* Calls of a thread, or of a CPU if the thread is unknown. */
typedef struct graph_owner {
    int64_t number, cursor_ns; /* of a thread: tid; of a CPU: the tid that it runs; end of its last call */
    uint32_t track;
    graph_call *calls; /* not ended yet */
    size_t depth, capacity;
} graph_owner;

static graph_owner *owner_of(ftrace_reader *r, int64_t number, uint64_t kind)
{
    ftrace_graph *g = &r->graph;
    hd_map_entry *entry = hd_map_at(&g->by_number, (uint64_t)number, kind);
    if (!entry || !hd_grow((void **)&g->owners, &g->capacity, g->count, sizeof *g->owners)) return NULL;
    if (entry->value) return &g->owners[entry->value - 1];
    g->owners[g->count] = (graph_owner){.number = kind == OF_CPU ? HD_NO_NUMBER : number, .track = HD_NONE};
    entry->value = (uint32_t)++g->count;
    return &g->owners[entry->value - 1];
}

static uint32_t track_of(ftrace_reader *r, graph_owner *owner, const ftrace_graph_line *line, int64_t tid)
{
    const tp_event where = {.tid = tid, .cpu = line->cpu};
    if (owner->track == HD_NONE) owner->track = tp_track_of(&r->place, &where);
    return owner->track;
}

/* ---- rows ---- */

static hd_status put_call(ftrace_reader *r, const graph_owner *owner, const graph_call *call, int64_t end_ns,
                          uint32_t returned)
{
    hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
    tp_value values[2];
    uint32_t count = 0;
    row.track = owner->track;
    row.name = call->name;
    row.category = tp_key(&r->place, "function_graph");
    row.start_ns = call->start_ns;
    row.duration_ns = end_ns == HD_NO_TIME ? HD_NO_TIME : end_ns - call->start_ns;
    if (call->arguments) values[count++] = (tp_value){tp_key(&r->place, "args"), HD_ARG_STRING, call->arguments};
    if (returned) values[count++] = (tp_value){tp_key(&r->place, "comment"), HD_ARG_STRING, returned};
    r->place.events++;
    return tp_emit(&r->place, &row, values, count);
}

/* The text within a comment behind `at`; empty: there is none. */
static hd_string comment_in(hd_string text)
{
    const char *open = memmem(text.data, text.size, "/*", 2);
    hd_string inner = open ? rest_behind(text, open + 2) : (hd_string){"", 0};
    if (hd_ends_with(inner.data, inner.size, "*/")) inner = hd_text_trim(inner.data, inner.size - 2);
    return inner;
}

/* "name(arguments)" */
static graph_call call_of(ftrace_reader *r, hd_string text, int64_t start_ns)
{
    const char *open = memchr(text.data, '(', text.size);
    const char *close = open ? memrchr(open, ')', (size_t)(text.data + text.size - open)) : NULL;
    hd_string name = hd_text_trim(text.data, open ? (size_t)(open - text.data) : text.size);
    graph_call call = {start_ns, tp_text(&r->place, name.data, name.size), HD_STRING_NONE};
    if (close && close > open + 1) call.arguments = tp_text(&r->place, open + 1, (size_t)(close - open) - 1);
    return call;
}

/* The call that "}" ends. If the line names an outer call, the ends of the inner ones were lost. */
static hd_status take_call(ftrace_reader *r, bool *out_found, graph_call *out, graph_owner *owner, uint32_t name)
{
    size_t least = owner->depth > LOOK_CALLS ? owner->depth - LOOK_CALLS : 0, at = owner->depth;
    while (at > least && name && owner->calls[at - 1].name != name) at--;
    *out_found = at > least;
    if (!*out_found) return HD_OK;
    while (owner->depth > at) HD_TRY(put_call(r, owner, &owner->calls[--owner->depth], HD_NO_TIME, HD_STRING_NONE));
    *out = owner->calls[--owner->depth];
    return HD_OK;
}

static int64_t latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static hd_status end_call(ftrace_reader *r, graph_owner *owner, const ftrace_graph_line *line, int64_t now_ns,
                          uint64_t offset)
{
    graph_call call;
    bool found;
    int64_t end_ns = now_ns;
    hd_string about = comment_in(line->call);
    const char *blank = about.size ? memchr(about.data, ' ', about.size) : NULL;
    uint32_t name =
        about.size ? tp_text(&r->place, about.data, blank ? (size_t)(blank - about.data) : about.size) : HD_STRING_NONE;
    HD_TRY(take_call(r, &found, &call, owner, name));
    bool has_duration = line->duration_ns != HD_NO_TIME;
    if (!found) { /* it began before the trace */
        call = (graph_call){now_ns, name ? name : tp_key(&r->place, "unknown"), HD_STRING_NONE};
        if (has_duration) call.start_ns -= line->duration_ns;
    } else if (has_duration) {
        end_ns = call.start_ns + line->duration_ns;
    }
    /* Its calls may end later if times are rounded, or derived from durations. */
    if (end_ns < owner->cursor_ns)
        HD_TRY(ftrace_note(r, "ftrace.call-longer", HD_LEDGER_NOTE, found && has_duration, offset));
    owner->cursor_ns = latest(end_ns, owner->cursor_ns);
    return put_call(r, owner, &call, owner->cursor_ns,
                    blank && found ? tp_text(&r->place, about.data, about.size) : HD_STRING_NONE);
}

static hd_status add_call(ftrace_reader *r, graph_owner *owner, const ftrace_graph_line *line, int64_t now_ns)
{
    hd_string text = line->call;
    const char *note = memmem(text.data, text.size, "/*", 2);
    hd_string head = note ? hd_text_trim(text.data, (size_t)(note - text.data)) : text, about = comment_in(text);
    graph_call call = call_of(r, head, now_ns);
    owner->cursor_ns = latest(owner->cursor_ns, now_ns);
    if (hd_ends_with(head.data, head.size, "{")) {
        if (!hd_grow((void **)&owner->calls, &owner->capacity, owner->depth, sizeof *owner->calls))
            return HD_NOMEM(r->err);
        owner->calls[owner->depth++] = call;
        return HD_OK;
    }
    if (line->duration_ns != HD_NO_TIME) owner->cursor_ns = now_ns + line->duration_ns;
    return put_call(r, owner, &call, owner->cursor_ns,
                    about.size ? tp_text(&r->place, about.data, about.size) : HD_STRING_NONE);
}

/* A comment: an event of another kind, "sched_switch: prev_comm=…", or trace_printk's. */
static hd_status add_comment(ftrace_reader *r, const ftrace_graph_line *line, int64_t tid, int64_t now_ns)
{
    hd_string about = line->is_interrupt ? (hd_string){"", 0} : comment_in(line->call), rest = about;
    const char *colon = about.size ? memmem(about.data, about.size, ": ", 2) : NULL;
    hd_string name = {"print", 5};
    if (line->is_interrupt)
        name = *line->call.data == '=' ? (hd_string){"interrupt entry", 15} : (hd_string){"interrupt exit", 14};
    if (colon && !memchr(about.data, ' ', (size_t)(colon - about.data))) {
        name = (hd_string){about.data, (size_t)(colon - about.data)};
        rest = rest_behind(about, colon + 2);
    }
    return ftrace_add_event(r, name, rest,
                            &(tp_event){.time_ns = now_ns, .cpu = line->cpu, .tid = tid, .pid = HD_NO_NUMBER});
}

/* ---- lines ---- */

/* The owner and time of a line, from the line or from previous ones. */
static hd_status place_line(ftrace_reader *r, graph_owner **out, int64_t *out_tid, int64_t *out_now_ns,
                            const ftrace_graph_line *line)
{
    graph_owner *cpu = owner_of(r, line->cpu, OF_CPU);
    if (!cpu) return HD_NOMEM(r->err);
    if (line->tid != HD_NO_NUMBER) {
        cpu->number = line->tid;
        if (line->comm.size) HD_TRY(tp_know_name(&r->place, line->tid, line->comm));
    }
    int64_t tid = *out_tid = cpu->number, cursor_ns = cpu->cursor_ns;
    bool has_thread = tid > 0 && tid != HD_NO_NUMBER;
    graph_owner *owner = *out = has_thread ? owner_of(r, tid, 0) : cpu;
    if (!owner) return HD_NOMEM(r->err);
    /* Only outermost calls wait for others of the CPU: within a call, the duration limits what its thread did. */
    *out_now_ns = owner->depth ? owner->cursor_ns : latest(owner->cursor_ns, cursor_ns);
    if (line->time_ns != HD_NO_TIME) *out_now_ns = line->time_ns;
    r->graph.times_made += line->time_ns == HD_NO_TIME;
    return HD_OK;
}

hd_status ftrace_graph_add(ftrace_reader *r, const ftrace_graph_line *line, uint64_t offset)
{
    graph_owner *owner = NULL;
    int64_t tid = HD_NO_NUMBER, now_ns = 0;
    HD_TRY(place_line(r, &owner, &tid, &now_ns, line));
    hd_string text = line->call;
    bool is_end = text.size && *text.data == '}',
         is_comment = line->is_interrupt || hd_starts_with(text.data, text.size, "/*");
    bool is_call = text.size && memchr(text.data, '(', text.size) && !is_comment && !is_end;
    if (line->is_switch) return HD_OK;
    hd_status status = HD_OK;
    int64_t latest_ns = latest(now_ns, owner->cursor_ns), end_ns;
    bool fits = !__builtin_add_overflow(latest_ns, line->duration_ns == HD_NO_TIME ? 0 : line->duration_ns, &end_ns);
    if ((is_end || is_call) && fits && track_of(r, owner, line, tid) == HD_NONE) return HD_NOMEM(r->err);
    if (is_comment)
        status = add_comment(r, line, tid, now_ns);
    else if (is_end && fits)
        status = end_call(r, owner, line, now_ns, offset);
    else if (is_call && fits)
        status = add_call(r, owner, line, latest_ns);
    else
        status = ftrace_note(r, "ftrace.line-unreadable", HD_LEDGER_LOSS, 1, offset);
    int64_t cursor_ns = owner->cursor_ns;
    graph_owner *cpu = owner_of(r, line->cpu, OF_CPU); /* owners may move */
    if (cpu && line->time_ns == HD_NO_TIME) cpu->cursor_ns = latest(cpu->cursor_ns, cursor_ns);
    return status;
}

hd_status ftrace_graph_finish(ftrace_reader *r)
{
    ftrace_graph *g = &r->graph;
    for (size_t i = 0; i < g->count; i++) {
        for (size_t n = g->owners[i].depth; n-- > 0;)
            HD_TRY(put_call(r, &g->owners[i], &g->owners[i].calls[n], HD_NO_TIME, HD_STRING_NONE));
    }
    return ftrace_note(r, "ftrace.time-made", HD_LEDGER_NOTE, g->times_made, HD_OFFSET_NONE);
}

void ftrace_graph_deinit(ftrace_graph *g)
{
    for (size_t i = 0; i < g->count; i++) free(g->owners[i].calls);
    free(g->owners);
    hd_map_deinit(&g->by_number);
}
