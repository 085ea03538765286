/* text.c - the text of the kernel's `trace` file and of `trace-cmd report` -> rows
 *
 *     # tracer: nop
 *               bash-1977  (   1977) [000] d..3 17284.993652: sched_waking: comm=sh pid=12 prio=120 target_cpu=001
 *               bash-1977  [000] 17284.993652123: sched_waking:         comm=sh pid=12 prio=120 target_cpu=001
 *
 *             bash-1977  [000] 17284.993652: do_filp_open <-do_sys_open         tracer function: an instant
 *
 * Fields begin with "key=" or "key:"; text without one is the argument `text`.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/io/lines.h"
#include "base/text/decimal.h"
#include "base/text/ends.h"
#include "format/ftrace/ftrace.h"
#include "format/stack_text.h"

enum { PROGRESS_LINES = 1 << 14, SHIFT_NS = 9 };

typedef struct text_line {
    hd_string comm, name, rest;
    int64_t tid, pid, cpu, time_ns;
} text_line;

/* ---- one line ---- */

/* "[000]" with a blank before it. */
static const char *find_cpu(int64_t *out, const char **out_end, const char *text, size_t size)
{
    const char *end = text + size;
    for (const char *at = text; (at = memchr(at, '[', (size_t)(end - at))); at++) {
        const char *close = memchr(at, ']', (size_t)(end - at));
        if (!close) return NULL;
        bool is_digits = close > at + 1 && close - at <= 6;
        for (const char *c = at + 1; c < close && is_digits; c++) is_digits = hd_is_digit(*c);
        if (!is_digits || at == text || at[-1] != ' ' || !hd_text_int(out, at + 1, (size_t)(close - at) - 1)) continue;
        *out_end = close + 1;
        return at;
    }
    return NULL;
}

/* "comm-123", followed by "(  45)" or "(-----)". */
static bool parse_task(text_line *out, hd_string text)
{
    out->pid = HD_NO_NUMBER;
    if (text.size && text.data[text.size - 1] == ')') {
        const char *open = memrchr(text.data, '(', text.size);
        if (!open) return false;
        hd_string inner = hd_text_trim(open + 1, (size_t)(text.data + text.size - open) - 2);
        if (!hd_text_int(&out->pid, inner.data, inner.size)) out->pid = HD_NO_NUMBER;
        text = hd_text_trim(text.data, (size_t)(open - text.data));
    }
    const char *dash = memrchr(text.data, '-', text.size);
    if (!dash || !hd_text_int(&out->tid, dash + 1, (size_t)(text.data + text.size - dash) - 1)) return false;
    out->comm = (hd_string){text.data, (size_t)(dash - text.data)};
    return out->tid >= 0;
}

static hd_string next_word(hd_string *rest)
{
    size_t size = 0;
    *rest = hd_text_trim(rest->data, rest->size);
    while (size < rest->size && !hd_is_blank(rest->data[size])) size++;
    hd_string word = {rest->data, size};
    rest->data += size;
    rest->size -= size;
    return word;
}

/* Seconds with a point, followed by a colon. */
static bool parse_time(int64_t *out, hd_string word)
{
    hd_fixed number;
    if (word.size < 2 || word.data[word.size - 1] != ':' || !hd_is_digit(*word.data)) return false;
    if (!memchr(word.data, '.', word.size) || !hd_fixed_parse(&number, word.data, word.size - 1, SHIFT_NS))
        return false;
    *out = number.whole;
    return true;
}

static bool parse_line(text_line *out, hd_string line)
{
    const char *behind, *open;
    hd_string all = hd_text_trim(line.data, line.size);
    if (!(open = find_cpu(&out->cpu, &behind, all.data, all.size))) return false;
    if (!parse_task(out, hd_text_trim(all.data, (size_t)(open - all.data)))) return false;
    hd_string rest = {behind, (size_t)(all.data + all.size - behind)}, word = next_word(&rest);
    if (!parse_time(&out->time_ns, word)) { /* preceded by flags of interrupts and preemption */
        word = next_word(&rest);
        if (!parse_time(&out->time_ns, word)) return false;
    }
    rest = hd_text_trim(rest.data, rest.size);
    const char *colon = memchr(rest.data, ':', rest.size);
    while (colon && colon + 1 < rest.data + rest.size && colon[1] != ' ')
        colon = memchr(colon + 1, ':', (size_t)(rest.data + rest.size - colon) - 1);
    bool is_event = colon && !memchr(rest.data, ' ', (size_t)(colon - rest.data));
    out->name = is_event ? (hd_string){rest.data, (size_t)(colon - rest.data)} : (hd_string){"function", 8};
    out->rest = rest;
    if (is_event) out->rest = hd_text_trim(colon + 1, (size_t)(rest.data + rest.size - colon) - 1);
    return true;
}

/* ---- fields ---- */

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || hd_is_digit(c);
}

/* Where the next "key=" begins at or after `at`: at the start, or after a blank, a comma or "==> ". */
static const char *next_key(size_t *out_size, const char *start, const char *at, const char *end)
{
    for (const char *equals = at; (equals = memchr(equals, '=', (size_t)(end - equals))); equals++) {
        const char *key = equals;
        while (key > at && is_key_char(key[-1])) key--;
        if (key == equals || (key > start && !hd_is_blank(key[-1]) && key[-1] != ',' && key[-1] != '[')) continue;
        *out_size = (size_t)(equals - key);
        return key;
    }
    return NULL;
}

/* "client_id:7" and "job count:3" after a value, as in drm_sched: the last word of the key counts. */
static void put_value(ftrace_reader *r, tp_event *event, const char *key, size_t key_size, const char *from,
                      const char *to);

static void put_colons(ftrace_reader *r, tp_event *event, const char *from, const char *to)
{
    while (from < to) {
        const char *comma = memchr(from, ',', (size_t)(to - from)), *end = comma ? comma : to;
        const char *colon = memchr(from, ':', (size_t)(end - from));
        hd_string key = colon ? hd_text_trim(from, (size_t)(colon - from)) : (hd_string){0};
        if (key.size) put_value(r, event, key.data, key.size, colon + 1, end);
        from = comma ? comma + 1 : to;
    }
}

static void put_value(ftrace_reader *r, tp_event *event, const char *key, size_t key_size, const char *from,
                      const char *to)
{
    int64_t number;
    hd_string value = hd_text_trim(from, (size_t)(to - from));
    const char *comma = memchr(value.data, ',', value.size), *rest = NULL;
    if (hd_ends_with(value.data, value.size, "==>")) value = hd_text_trim(value.data, value.size - 3);
    if (comma && (comma + 1 == value.data + value.size || comma[1] == ' ')) {
        rest = comma + 1;
        to = value.data + value.size;
        value.size = (size_t)(comma - value.data);
    }
    if (value.size && value.data[value.size - 1] == ']' && !memchr(value.data, '[', value.size)) value.size--;
    uint32_t id = tp_text(&r->place, key, key_size);
    if (hd_text_int(&number, value.data, value.size))
        tp_put_int(&r->place, event, id, number);
    else
        tp_put_text(event, id, tp_text(&r->place, value.data, value.size));
    if (rest) put_colons(r, event, rest, to);
}

/* "gpu_id=0 pid=7 size=12": each value goes on to the next key. */
static void parse_fields(ftrace_reader *r, tp_event *event, hd_string rest)
{
    const char *end = rest.data + rest.size, *at = rest.data;
    size_t size, next_size;
    const char *key = next_key(&size, rest.data, at, end);
    if (rest.size && key != rest.data) {
        hd_string lead = hd_text_trim(at, (size_t)((key ? key : end) - at));
        const uint32_t key_id = tp_key(&r->place, "text");
        tp_put_text(event, key_id, tp_text(&r->place, lead.data, lead.size));
    }
    while (key && event->count < TP_VALUES - 1) {
        const char *next = next_key(&next_size, rest.data, key + size + 1, end);
        const char *stop = next ? next : end;
        while (stop > key + size + 1 && (hd_is_blank(stop[-1]) || stop[-1] == ',' || stop[-1] == '[')) stop--;
        put_value(r, event, key, size, key + size + 1, stop);
        key = next;
        size = next_size;
    }
}

/* ---- what trace-cmd prints in its own words ---- */

/* "rs:main Q:Reg:1593 [120]"; *rest is after it. */
static bool take_task(ftrace_reader *r, tp_event *event, const char *const keys[3], hd_string *rest)
{
    int64_t tid, priority;
    const char *end = rest->data + rest->size, *open = memmem(rest->data, rest->size, " [", 2);
    const char *close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;
    const char *colon = open ? memrchr(rest->data, ':', (size_t)(open - rest->data)) : NULL;
    if (!close || !colon || !hd_text_int(&tid, colon + 1, (size_t)(open - colon) - 1) ||
        !hd_text_int(&priority, open + 2, (size_t)(close - open) - 2))
        return false;
    const uint32_t key_id = tp_key(&r->place, keys[0]);
    tp_put_text(event, key_id, tp_text(&r->place, rest->data, (size_t)(colon - rest->data)));
    tp_put_int(&r->place, event, tp_key(&r->place, keys[1]), tid);
    tp_put_int(&r->place, event, tp_key(&r->place, keys[2]), priority);
    *rest = hd_text_trim(close + 1, (size_t)(end - close) - 1);
    return true;
}

/* "a:1 [120] S ==> b:2 [120]", "a:1 [120] success=1 CPU:003" */
static bool parse_tasks(ftrace_reader *r, tp_event *event, hd_string rest, bool is_switch)
{
    static const char *const from[3] = {"prev_comm", "prev_pid", "prev_prio"}, *const woken[3] = {"comm", "pid",
                                                                                                  "prio"};
    static const char *const to[3] = {"next_comm", "next_pid", "next_prio"};
    int64_t cpu;
    if (!take_task(r, event, is_switch ? from : woken, &rest)) return false;
    if (is_switch) {
        hd_string state = next_word(&rest), arrow = next_word(&rest);
        const uint32_t key_id = tp_key(&r->place, "prev_state");
        tp_put_text(event, key_id, tp_text(&r->place, state.data, state.size));
        rest = hd_text_trim(rest.data, rest.size);
        return arrow.size == 3 && take_task(r, event, to, &rest);
    }
    const char *place = memmem(rest.data, rest.size, "CPU:", 4);
    if (place && hd_text_int(&cpu, place + 4, (size_t)(rest.data + rest.size - place) - 4))
        tp_put_int(&r->place, event, tp_key(&r->place, "target_cpu"), cpu);
    return true;
}

static void parse_rest(ftrace_reader *r, tp_event *event, hd_string name, hd_string rest)
{
    bool is_switch = name.size == 12 && memcmp(name.data, "sched_switch", 12) == 0;
    bool is_wakeup = hd_starts_with(name.data, name.size, "sched_wak");
    bool has_keys = memmem(rest.data, rest.size, is_switch ? "prev_pid=" : "pid=", is_switch ? 9 : 4) != NULL;
    if ((is_switch || is_wakeup) && !has_keys && parse_tasks(r, event, rest, is_switch)) return;
    event->count = 0;
    parse_fields(r, event, rest);
}

/* "callee <-caller" of the tracer function. */
static bool parse_function(ftrace_reader *r, tp_event *event, hd_string rest)
{
    const char *arrow = memmem(rest.data, rest.size, " <-", 3);
    if (!arrow || arrow == rest.data) return false;
    event->name = tp_text(&r->place, rest.data, (size_t)(arrow - rest.data));
    const uint32_t key_id = tp_key(&r->place, "caller");
    tp_put_text(event, key_id, tp_text(&r->place, arrow + 3, (size_t)(rest.data + rest.size - arrow) - 3));
    return true;
}

hd_status ftrace_add_event(ftrace_reader *r, hd_string name, hd_string rest, tp_event *event)
{
    bool is_function = name.size == 8 && memcmp(name.data, "function", 8) == 0;
    event->name = tp_text(&r->place, name.data, name.size);
    if (!is_function || !parse_function(r, event, rest)) parse_rest(r, event, name, rest);
    return tp_add(&r->place, event);
}

/* ---- lines ---- */

/* "CPU:0 [LOST 12 EVENTS]" */
static hd_status add_lost(ftrace_reader *r, hd_string text, uint64_t offset)
{
    static const char lost[] = "[LOST ";
    int64_t count = 1;
    const char *hole = memmem(text.data, text.size, lost, 6), *end = text.data + text.size;
    const char *blank = hole ? memchr(hole + 6, ' ', (size_t)(end - hole) - 6) : NULL;
    if (!hole) return ftrace_note(r, "ftrace.line-unreadable", HD_LEDGER_LOSS, 1, offset);
    if (!blank || !hd_text_int(&count, hole + 6, (size_t)(blank - hole) - 6) || count < 1) count = 1;
    return ftrace_note(r, "ftrace.events-lost", HD_LEDGER_LOSS, (uint64_t)count, offset);
}

static hd_status add_text_line(ftrace_reader *r, const text_line *t, uint64_t offset)
{
    tp_event event = {.time_ns = t->time_ns, .cpu = t->cpu, .tid = t->tid, .pid = HD_NO_NUMBER};
    ftrace_graph_line g = {.time_ns = t->time_ns, .cpu = t->cpu, .tid = t->tid, .comm = t->comm};
    if (t->pid != HD_NO_NUMBER) HD_TRY(tp_know_process(&r->place, t->tid, t->pid));
    HD_TRY(tp_know_name(&r->place, t->tid, t->comm));
    if (hd_starts_with(t->name.data, t->name.size, "funcgraph_e") && ftrace_graph_call(&g, t->rest))
        return ftrace_graph_add(r, &g, offset);
    return ftrace_add_event(r, t->name, t->rest, &event);
}

static bool is_heading(hd_string text)
{
    static const char *const starts[] = {"#", "cpus=", "version =", "----------------"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (hd_starts_with(text.data, text.size, starts[i])) return true;
    }
    return !text.size;
}

static hd_status add_line(ftrace_reader *r, const hd_line *line)
{
    text_line t;
    ftrace_graph_line g;
    uint64_t repaired = r->place.repaired;
    hd_string text = hd_text_trim(line->text, line->size);
    if (is_heading(text)) return HD_OK;
    if (hd_starts_with(text.data, text.size, "CPU:")) return add_lost(r, text, line->offset);
    if (ftrace_graph_parse(&g, text))
        HD_TRY(ftrace_graph_add(r, &g, line->offset));
    else if (parse_line(&t, text))
        HD_TRY(add_text_line(r, &t, line->offset));
    else
        return ftrace_note(r, "ftrace.line-unreadable", HD_LEDGER_LOSS, 1, line->offset);
    return ftrace_note(r, "ftrace.utf8", HD_LEDGER_REPAIR, r->place.repaired - repaired, line->offset);
}

static hd_status read_lines(ftrace_reader *r, hd_lines *lines)
{
    hd_status status;
    hd_line line;
    bool skipping = false;
    while ((status = hd_lines_next(&line, lines, r->err)) == HD_OK) {
        bool skip = skipping;
        skipping = line.cut;
        if (line.cut && !skip) HD_TRY(ftrace_note(r, "ftrace.line-unreadable", HD_LEDGER_LOSS, 1, line.offset));
        if (skip || line.cut) continue;
        if (line.has_zero) {
            HD_TRY(ftrace_note(r, "ftrace.zeros", HD_LEDGER_LOSS, 1, line.offset));
            continue;
        }
        HD_TRY(add_line(r, &line));
        if (r->options->progress && ++r->records % PROGRESS_LINES == 0)
            r->options->progress(r->options->progress_user, hd_input_stored_position(lines->input),
                                 hd_input_size_bytes(lines->input));
    }
    return status == HD_END ? HD_OK : status;
}

static hd_status read_text(ftrace_reader *r, hd_lines *lines)
{
    HD_TRY(read_lines(r, lines));
    HD_TRY(ftrace_graph_finish(r));
    hd_builder_facts(r->builder)->input_bytes = lines->read_bytes;
    HD_TRY(ftrace_note(r, "ftrace.switch-missing", HD_LEDGER_NOTE, r->place.switches_lost, HD_OFFSET_NONE));
    if (!r->place.events)
        return hd_error_set(r->err, HD_ERR_FORMAT, NULL, 0,
                            "no event as ftrace prints it, \"comm-tid [cpu] time: event: fields\", is in it");
    return tp_finish(&r->place);
}

hd_status ftrace_read_text(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    ftrace_reader r = {.builder = builder, .options = options, .err = err};
    hd_lines lines = {.input = input};
    hd_builder_facts(builder)->has_args = options->args == HD_ARGS_ALL;
    hd_status status = tp_open(&r.place, builder, options, err);
    if (status == HD_OK) status = read_text(&r, &lines);
    tp_close(&r.place);
    ftrace_graph_deinit(&r.graph);
    hd_lines_deinit(&lines);
    return status;
}

/* A head of its own, or most lines read as events. */
bool ftrace_is_text(const unsigned char *head, size_t size)
{
    static const char *const heads[] = {"# tracer: ", "version = 6\n", "version = 7\n", "cpus="};
    hd_string rest = {(const char *)head, size};
    unsigned lines = 0, events = 0;
    while (rest.size) {
        text_line t;
        const char *newline = memchr(rest.data, '\n', rest.size);
        if (!newline && lines && size >= HD_INPUT_PEEK_BYTES) break; /* it may be cut */
        size_t line = newline ? (size_t)(newline - rest.data) : rest.size, skip = line + (newline ? 1 : 0);
        hd_string text = hd_text_trim(rest.data, line);
        bool is_head = !text.size || *text.data == '#';
        for (size_t i = 0; i < sizeof heads / sizeof *heads && !events; i++) {
            is_head |= hd_starts_with(rest.data, rest.size, heads[i]) && i > 0;
            if (hd_starts_with(text.data, text.size, heads[i]) && i == 0) return true;
        }
        if (!is_head) lines++;
        ftrace_graph_line g;
        if (!is_head && (ftrace_graph_parse(&g, text) || parse_line(&t, text))) events++;
        rest.data += skip;
        rest.size -= skip;
    }
    return events && events * 2 > lines;
}
