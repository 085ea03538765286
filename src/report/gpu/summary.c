/* summary.c - one screen: what the other reports say, and what to do first
 *
 * The tables are the first rows of other reports, so that no figure is computed twice; findings are sentences about
 * them. Each tells how much time it would save at most, and where to look.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/gpu/gpu.h"
#include "trace/event.h"

typedef struct summary_options {
    gpu_options gpu;
    uint64_t rows;
} summary_options;

enum { BREAKDOWN, KERNELS, COPIES, IDLE, COMMUNICATION, LAUNCHES, STEPS, MEMORY, PARTS };
static const char *const part_names[PARTS] = {"breakdown",     "kernels",  "copies", "idle",
                                              "communication", "launches", "steps",  "memory"};

/* What is wrong with a device, or a rank. */
typedef struct finding {
    int64_t rank, device; /* HD_NO_NUMBER: unknown, or of the rank */
    char process[96];     /* of a device without number; "": none */
    int64_t saves, span;  /* ns at most, of so much */
    int64_t start, duration;
    int64_t id; /* row of the slice that shows it; HD_NO_NUMBER */
    size_t row; /* of breakdown */
    char text[512];
} finding;

typedef struct summary {
    const hd_trace *trace;
    const summary_options *options;
    hd_report parts[PARTS];
    finding *findings;
    size_t count, capacity;
} summary;

/* ---- cells of other reports ---- */

/* Rows [first, end) of a table of which some columns are read by name. */
typedef struct reader {
    const hd_table *table; /* NULL: there is none, and so no rows */
    size_t first, end;
} reader;

static reader read_table(const summary *s, int part, const char *name)
{
    const hd_table *table = hd_report_table(&s->parts[part], name);
    return (reader){table, 0, table ? hd_table_row_count(table) : 0};
}

/* HD_NO_NUMBER where it is null, or a text. */
static int64_t number(const reader *r, size_t row, const char *column)
{
    size_t c = hd_table_find_column(r->table, column);
    if (c == SIZE_MAX || hd_table_is_null(r->table, row, c)) return HD_NO_NUMBER;
    hd_value_type type = hd_table_get_column(r->table, c)->type;
    if (type == HD_VALUE_STRING) return HD_NO_NUMBER;
    if (type == HD_VALUE_COUNT || type == HD_VALUE_BYTES) return (int64_t)hd_table_get_count(r->table, row, c);
    return hd_table_get_int(r->table, row, c);
}

/* "" where it is null. Names are cut so that a sentence has room. */
static const char *text(char out[96], const reader *r, size_t row, const char *column)
{
    size_t size, c = hd_table_find_column(r->table, column);
    *out = '\0';
    if (c == SIZE_MAX || hd_table_is_null(r->table, row, c)) return out;
    const char *data = hd_table_get_string(&size, r->table, row, c);
    size_t kept = size;
    if (size > 90) {
        for (kept = 87; kept && ((unsigned char)data[kept] & 0xc0) == 0x80;) kept--;
    }
    snprintf(out, 96, "%.*s%s", (int)kept, data, kept < size ? "…" : "");
    return out;
}

static bool stands_before(const reader *a, size_t i, const reader *b, size_t k, bool of_device)
{
    int64_t x = number(a, i, "rank"), y = number(b, k, "rank");
    if (x != y || !of_device) return x < y;
    x = number(a, i, "device"), y = number(b, k, "device");
    char one[96], other[96];
    return x != y ? x < y : strcmp(text(one, a, i, "process"), text(other, b, k, "process")) < 0;
}

/* The rows of a table that are of the rank, and with of_device of the device, of a row of another one: tables of reports
   have these together, and in order. */
static reader read_rows(const summary *s, int part, const char *name, const reader *of, size_t row, bool of_device)
{
    reader r = read_table(s, part, name);
    size_t high = r.end;
    HD_PARTITION_POINT(r.first, high, at, stands_before(&r, at, of, row, of_device));
    high = r.end;
    r.end = r.first;
    HD_PARTITION_POINT(r.end, high, at, !stands_before(of, row, &r, at, of_device));
    return r;
}

/* The row with the most of something; SIZE_MAX: there are no rows. */
static size_t most(const reader *r, const char *column)
{
    size_t best = SIZE_MAX;
    for (size_t i = r->first; i < r->end; i++) {
        if (best == SIZE_MAX || number(r, i, column) > number(r, best, column)) best = i;
    }
    return best;
}

/* ---- findings ---- */

static finding *add_finding(summary *s, const reader *breakdown, size_t row, int64_t saves)
{
    if (!hd_grow((void **)&s->findings, &s->capacity, s->count, sizeof *s->findings)) return NULL;
    finding *f = &s->findings[s->count++];
    *f = (finding){.rank = number(breakdown, row, "rank"),
                   .device = number(breakdown, row, "device"),
                   .saves = saves,
                   .span = number(breakdown, row, "span"),
                   .start = HD_NO_TIME,
                   .duration = HD_NO_TIME,
                   .id = HD_NO_NUMBER,
                   .row = row};
    text(f->process, breakdown, row, "process");
    return f;
}

/* The evidence is one event. */
static void show_event(finding *f, const summary *s, int64_t id)
{
    if (id == HD_NO_NUMBER) return;
    hd_event event = hd_event_at(s->trace, HD_KIND_SLICE, (uint64_t)id);
    f->id = id;
    f->start = event.start_ns;
    f->duration = event.duration_ns;
}

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* Less than a hundredth of the time is not worth a sentence. */
static bool is_worth(int64_t time, int64_t span)
{
    return time > 0 && time >= span / 100;
}

static const char *sentence_of(const char *cause)
{
    static const char *const sentences[][2] = {
        {"host", "is idle until the host comes to launch"},
        {"sync", "is idle behind a call in which the host waited for it"},
        {"launch", "is idle while the host is in the call that launches"},
        {"dependency", "is idle while a stream waits for an event of another"},
        {"transfer", "is idle while another device copies or communicates"},
        {"device", "is idle though work was queued"},
        {"unknown", "is idle before work whose launch is not known"},
    };
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        if (strcmp(sentences[i][0], cause) == 0) return sentences[i][1];
    }
    return NULL; /* outside of the device's span */
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* Where the host was in the longest gap of a cause. */
static void say_where(char *out, size_t size, const reader *gaps, size_t row, const char *cause)
{
    char op[96], frame[96], call[96], length[HD_VALUE_TEXT_BYTES];
    text(op, gaps, row, "op");
    text(frame, gaps, row, "frame");
    text(call, gaps, row, "call");
    bool is_host = strcmp(cause, "host") == 0, is_sync = strcmp(cause, "sync") == 0, any = *op || *frame;
    const char *how = is_sync ? ", in " : is_host ? (any ? ", with the host in " : ", until ") : ", launched by ";
    const char *what = is_sync || !any ? call : *op ? op : frame;
    const char *beside = is_sync ? (*op ? op : frame) : *op ? frame : "";
    hd_text_duration(length, number(gaps, row, "duration"));
    snprintf(out, size, "; the longest, %s%s%s%s%s%s", length, *what ? how : "", what, *beside ? " (" : "", beside,
             *beside ? ")" : "");
}

static bool find_idle(summary *s, const reader *breakdown, size_t row)
{
    const reader idle = read_rows(s, IDLE, "idle", breakdown, row, true);
    const reader gaps = read_rows(s, IDLE, "gaps", breakdown, row, true);
    for (size_t i = idle.first; i < idle.end; i++) {
        char cause[96], other[96];
        const char *sentence = sentence_of(text(cause, &idle, i, "cause"));
        int64_t total = number(&idle, i, "total"), span = number(breakdown, row, "span"), count;
        if (!sentence || !is_worth(total, span)) continue;
        finding *f = add_finding(s, breakdown, row, total);
        if (!f) return false;
        count = number(&idle, i, "gaps");
        int used = snprintf(f->text, sizeof f->text, "%.1f %% of the time the GPU %s (%lld gap%s)",
                            percent(total, span), sentence, (long long)count, plural(count));
        for (size_t g = gaps.first; g < gaps.end; g++) { /* longest first */
            if (strcmp(text(other, &gaps, g, "cause"), cause) != 0) continue;
            f->start = number(&gaps, g, "start");
            f->duration = number(&gaps, g, "duration");
            f->id = number(&gaps, g, "work_id");
            say_where(f->text + used, sizeof f->text - (size_t)used, &gaps, g, cause);
            break;
        }
    }
    return true;
}

/* Communication and copies that nothing hides, with what has most of it. */
static bool find_exposed(summary *s, const reader *breakdown, size_t row)
{
    const reader communication = read_rows(s, COMMUNICATION, "communication", breakdown, row, true);
    const reader copies = read_rows(s, COPIES, "copies", breakdown, row, true);
    int64_t span = number(breakdown, row, "span"), exposed = number(breakdown, row, "exposed_communication");
    int64_t copied = number(breakdown, row, "exposed_copy");
    char name[96], more[96];
    const reader collectives = read_rows(s, COMMUNICATION, "collectives", breakdown, row, true);
    size_t at = most(&communication, "exposed"), worst = most(&collectives, "exposed");
    if (is_worth(exposed, span)) {
        finding *f = add_finding(s, breakdown, row, exposed);
        if (!f) return false;
        int used = snprintf(f->text, sizeof f->text, "%.1f %% of the time is communication that no compute hides",
                            percent(exposed, span));
        if (worst != SIZE_MAX) show_event(f, s, number(&collectives, worst, "id"));
        if (at != SIZE_MAX && *text(name, &communication, at, "collective"))
            snprintf(f->text + used, sizeof f->text - (size_t)used, "; most of it %s%s%s", name,
                     *text(more, &communication, at, "dtype") ? " " : "", more);
    }
    at = most(&copies, "total");
    if (is_worth(copied, span)) {
        finding *f = add_finding(s, breakdown, row, copied);
        if (!f) return false;
        int used = snprintf(f->text, sizeof f->text, "%.1f %% of the time is copies that nothing hides",
                            percent(copied, span));
        if (at != SIZE_MAX) show_event(f, s, number(&copies, at, "longest_id"));
        if (at != SIZE_MAX && *text(name, &copies, at, "kind"))
            snprintf(f->text + used, sizeof f->text - (size_t)used, "; of all copies %s%s%s takes most", name,
                     *text(more, &copies, at, "memory") ? " " : "", more);
    }
    return true;
}

static bool find_kernel(summary *s, const reader *breakdown, size_t row)
{
    const reader kernels = read_rows(s, KERNELS, "kernels", breakdown, row, true);
    size_t at = most(&kernels, "total");
    char name[96];
    if (at == SIZE_MAX || !is_worth(number(&kernels, at, "total"), number(breakdown, row, "span"))) return true;
    finding *f = add_finding(s, breakdown, row, number(&kernels, at, "total"));
    if (!f) return false;
    size_t share = hd_table_find_column(kernels.table, "share");
    int64_t count = number(&kernels, at, "count");
    snprintf(f->text, sizeof f->text, "%.1f %% of the time in kernels is %s (%lld call%s)",
             hd_table_get_decimal(kernels.table, at, share), text(name, &kernels, at, "name"), (long long)count,
             plural(count));
    show_event(f, s, number(&kernels, at, "longest_id"));
    return true;
}

/* Of a rank; beside the first of its devices. */
static bool find_short(summary *s, const reader *breakdown, size_t row)
{
    const reader totals = read_rows(s, LAUNCHES, "launch_totals", breakdown, row, false);
    if (row && !stands_before(breakdown, row - 1, breakdown, row, false)) return true;
    for (size_t i = totals.first; i < totals.end; i++) {
        int64_t count = number(&totals, i, "short"), all = number(&totals, i, "launches");
        size_t share = hd_table_find_column(totals.table, "short_share");
        if (count <= 0 || hd_table_is_null(totals.table, i, share)) continue;
        if (hd_table_get_decimal(totals.table, i, share) < 50) continue;
        finding *f = add_finding(s, breakdown, row, HD_NO_TIME);
        if (!f) return false;
        f->device = HD_NO_NUMBER;
        f->process[0] = '\0';
        snprintf(
            f->text, sizeof f->text,
            "%.0f %% of launches (%lld of %lld) take the host longer than the GPU: graphs, larger batches or fused "
            "kernels save calls",
            hd_table_get_decimal(totals.table, i, share), (long long)count, (long long)all);
    }
    return true;
}

/* ---- steps ---- */

typedef struct step_sum {
    int64_t rank, median, slowest, start, id;
    uint64_t count;
    char name[96];
} step_sum;

/* Of the steps of a rank, which stand in rows [from, until). */
static bool sum_steps(step_sum *out, const reader *steps, size_t from, size_t until)
{
    size_t count = until - from, slowest = from;
    gpu_stats durations = {0};
    gpu_value *list = calloc(count, sizeof *list);
    if (!list) return false;
    for (size_t i = 0; i < count; i++) {
        list[i].value = number(steps, from + i, "duration");
        if (list[i].value > number(steps, slowest, "duration")) slowest = from + i;
    }
    bool fine = gpu_stats_of(&durations, 1, list, count, UINT64_MAX);
    free(list);
    out->rank = number(steps, from, "rank");
    out->count = count;
    out->median = durations.median;
    out->slowest = durations.max;
    out->start = number(steps, slowest, "start");
    out->id = number(steps, slowest, "id");
    text(out->name, steps, slowest, "step");
    return fine;
}

static hd_status add_steps(hd_report *out, summary *s, hd_error *err)
{
    const reader steps = read_table(s, STEPS, "steps");
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &report_summary_about, "steps", err));
    for (size_t from = 0, until; from < steps.end; from = until) {
        step_sum sum;
        for (until = from + 1; until < steps.end && !stands_before(&steps, from, &steps, until, false);) until++;
        bool fine = sum_steps(&sum, &steps, from, until);
        finding *f = NULL;
        const reader breakdown = read_rows(s, BREAKDOWN, "breakdown", &steps, from, false);
        bool is_guess = gpu_steps_are_guessed(&s->options->gpu); /* no base of a finding */
        bool is_slow =
            fine && !is_guess && sum.count > 2 && sum.slowest / 2 > sum.median && breakdown.first < breakdown.end;
        if (is_slow) fine = (f = add_finding(s, &breakdown, breakdown.first, sum.slowest - sum.median)) != NULL;
        if (!fine) {
            hd_table_builder_free(b);
            return HD_NOMEM(err);
        }
        report_cell_int(b, sum.rank);
        hd_table_add_count(b, sum.count);
        hd_table_add_int(b, sum.median);
        hd_table_add_int(b, sum.slowest);
        hd_table_add_text(b, sum.name);
        hd_table_add_int(b, sum.start);
        if (!f) continue;
        f->device = HD_NO_NUMBER;
        f->process[0] = '\0';
        f->start = sum.start;
        f->id = sum.id;
        f->duration = sum.slowest;
        snprintf(f->text, sizeof f->text, "the slowest step, %s, takes %.1f times the median", sum.name,
                 sum.median ? (double)sum.slowest / (double)sum.median : 0);
    }
    return report_add(out, b, err);
}

/* ---- tables ---- */

/* Some columns of the first rows of each device (all: of all) of a table of another report. */
static hd_status add_rows(hd_report *out, const summary *s, int part, const char *from, const char *table, size_t rows,
                          hd_error *err)
{
    const reader r = read_table(s, part, from);
    const hd_report_table_about *about = report_summary_about.tables;
    hd_table_builder *b;
    while (strcmp(about->name, table) != 0) about++;
    HD_TRY(report_builder(&b, &report_summary_about, table, err));
    for (size_t i = 0, first = 0; i < r.end; i++) {
        if (i && stands_before(&r, first, &r, i, true)) first = i;
        if (i - first >= rows) continue;
        for (const hd_report_column *c = about->columns; c->name; c++)
            hd_table_add_cell(b, r.table, i, hd_table_find_column(r.table, c->name));
    }
    return report_add(out, b, err);
}

static int by_saving(const void *a, const void *b)
{
    const finding *x = a, *y = b;
    if (x->saves != y->saves) return x->saves > y->saves ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static hd_status add_findings(hd_report *out, summary *s, hd_error *err)
{
    const reader breakdown = read_table(s, BREAKDOWN, "breakdown");
    hd_table_builder *b;
    bool fine = true;
    for (size_t i = 0; fine && i < breakdown.end; i++)
        fine = find_idle(s, &breakdown, i) && find_exposed(s, &breakdown, i) && find_kernel(s, &breakdown, i) &&
               find_short(s, &breakdown, i);
    if (!fine) return HD_NOMEM(err);
    if (s->count) qsort(s->findings, s->count, sizeof *s->findings, by_saving);
    HD_TRY(report_builder(&b, &report_summary_about, "findings", err));
    for (size_t i = 0; i < s->count; i++) {
        const finding *f = &s->findings[i];
        report_cell_int(b, f->rank);
        report_cell_int(b, f->device);
        if (f->process[0])
            hd_table_add_text(b, f->process);
        else
            hd_table_add_null(b);
        report_cell_int(b, f->saves);
        gpu_cell_ratio(b, f->saves == HD_NO_TIME ? 0 : f->saves, f->saves == HD_NO_TIME ? 0 : f->span, 100);
        hd_table_add_text(b, f->text);
        report_cell_int(b, f->start);
        report_cell_int(b, f->duration);
        report_cell_int(b, f->id);
        hd_table_add_cell(b, breakdown.table, f->row, hd_table_find_column(breakdown.table, "doubt"));
    }
    return report_add(out, b, err);
}

/* ---- the report ---- */

/* The options that all of them know, as they were given, behind `own`. */
static const char **options_of_parts(const hd_report_input *input, const char *own)
{
    size_t count = 0, kept = 1;
    while (input->options && input->options[count]) count++;
    const char **options = calloc(count + 2, sizeof *options);
    if (options) options[0] = own;
    for (size_t i = 0; options && i < count; i++) {
        if (strncmp(input->options[i], "rows=", 5) != 0) options[kept++] = input->options[i];
    }
    return options;
}

static hd_status run_parts(summary *s, const hd_report_input *input, hd_error *err)
{
    hd_launches *own = NULL;
    const char **options = options_of_parts(input, "rows=1000"); /* gaps to look for the longest of each cause */
    hd_report_input of_parts = *input;
    hd_status status = options ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK && !input->launches) status = hd_launches_new(&own, input->trace, err);
    if (own) of_parts.launches = own;
    for (int part = 0; part < PARTS && status == HD_OK; part++) {
        static const char *const of_memory[] = {"no-stacks", NULL};
        if (part == MEMORY) { /* the last: it has no use for launches, and needs their room */
            of_parts.launches = NULL;
            hd_launches_free(own);
            own = NULL;
        }
        of_parts.options = part == MEMORY ? of_memory : part == IDLE ? options : options + 1;
        status = hd_report_run(&s->parts[part], part_names[part], &of_parts, err);
    }
    free(options);
    hd_launches_free(own);
    return status;
}

static hd_status add_notes(hd_report *out, summary *s, hd_error *err)
{
    hd_table_builder *b;
    const reader notes = read_table(s, BREAKDOWN, "notes");
    HD_TRY(report_builder(&b, &report_summary_about, "notes", err));
    for (size_t i = 0; i < notes.end; i++) hd_table_add_cell(b, notes.table, i, 0);
    hd_report *breakdown = &s->parts[BREAKDOWN];
    out->trust = breakdown->trust;
    breakdown->trust = NULL;
    memcpy(out->trust_text, breakdown->trust_text, sizeof out->trust_text);
    return report_add(out, b, err);
}

static hd_status add_tables(hd_report *out, summary *s, hd_error *err)
{
    hd_report steps = {0}; /* made first, as it finds something, and shown behind the findings */
    size_t rows = s->options->rows;
    hd_status status = add_steps(&steps, s, err);
    if (status == HD_OK) status = add_findings(out, s, err);
    if (status == HD_OK) {
        out->tables[out->table_count++] = steps.tables[0];
        steps.table_count = 0;
    }
    hd_report_free(&steps);
    if (status == HD_OK) status = add_rows(out, s, BREAKDOWN, "breakdown", "breakdown", SIZE_MAX, err);
    if (status == HD_OK) status = add_rows(out, s, KERNELS, "kernels", "kernels", rows, err);
    if (status == HD_OK) status = add_rows(out, s, IDLE, "idle", "idle", rows, err);
    if (status == HD_OK) status = add_rows(out, s, COMMUNICATION, "communication", "communication", rows, err);
    if (status == HD_OK) status = add_rows(out, s, MEMORY, "devices", "memory", SIZE_MAX, err);
    return status == HD_OK ? add_notes(out, s, err) : status;
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    summary s = {.trace = input->trace, .options = options};
    hd_status status = run_parts(&s, input, err);
    if (status == HD_OK) status = add_tables(out, &s, err);
    for (int part = 0; part < PARTS; part++) hd_report_free(&s.parts[part]);
    free(s.findings);
    return status;
}

/* ---- about ---- */

#define DEVICE                                                                                                         \
    {"rank", HD_VALUE_INT, "null: unknown"}, {"device", HD_VALUE_INT, "null: a process that tells none"},              \
    {                                                                                                                  \
        "process", HD_VALUE_STRING, "of a device without number, which it tells apart; null beside a number"           \
    }

static const hd_report_column findings_columns[] = {
    DEVICE,
    {"saves", HD_VALUE_DURATION, "if it went away, at most; findings overlap, so that these do not add up"},
    {"share", HD_VALUE_DECIMAL, "percent of the device's span that this is"},
    {"finding", HD_VALUE_STRING, "what takes the time"},
    {"start", HD_VALUE_TIME, "where to look: the worst of it"},
    {"duration", HD_VALUE_DURATION, "how long that takes"},
    {"id", HD_VALUE_INT, GPU_ID_OF "the event there: the kernel, copy or step, or the work that ended the gap"},
    GPU_COLUMN_DOUBT,
    {0},
};
static const hd_report_column steps_columns[] = {
    {"rank", HD_VALUE_INT, "null: unknown"},
    {"steps", HD_VALUE_COUNT, "how many"},
    {"median", HD_VALUE_DURATION, "of their durations"},
    {"slowest", HD_VALUE_DURATION, "the longest"},
    {"step", HD_VALUE_STRING, "which that is"},
    {"start", HD_VALUE_TIME, "when it began"},
    {0},
};
static const hd_report_column breakdown_columns[] = {
    DEVICE,
    {"span", HD_VALUE_DURATION, "from the first start of its work to the last end"},
    {"compute", HD_VALUE_DURATION, "a kernel that is no communication, or a set, runs"},
    {"exposed_communication", HD_VALUE_DURATION, "communication runs, and no compute"},
    {"exposed_copy", HD_VALUE_DURATION, "a copy runs, and neither compute nor communication"},
    {"idle", HD_VALUE_DURATION, "nothing runs"},
    {"works", HD_VALUE_COUNT, "kernels, copies and sets"},
    {"unlinked", HD_VALUE_COUNT, "of them, whose launch is not known"},
    GPU_COLUMN_DOUBT,
    {0},
};
static const hd_report_column kernels_columns[] = {
    DEVICE,
    {"share", HD_VALUE_DECIMAL, "percent of the time of all kernels"},
    {"total", HD_VALUE_DURATION, "sum of the durations"},
    {"count", HD_VALUE_COUNT, "calls"},
    {"mean", HD_VALUE_DURATION, "of the durations"},
    {"name", HD_VALUE_STRING, "of the kernel"},
    GPU_COLUMN_DOUBT,
    {0},
};
static const hd_report_column idle_columns[] = {
    DEVICE,
    {"cause", HD_VALUE_STRING, "why nothing ran; heddle help report idle tells what each means"},
    {"total", HD_VALUE_DURATION, "sum of its gaps"},
    {"share", HD_VALUE_DECIMAL, "percent of idle time"},
    {"gaps", HD_VALUE_COUNT, "how many"},
    {"longest", HD_VALUE_DURATION, "of them"},
    GPU_COLUMN_DOUBT,
    {0},
};
static const hd_report_column communication_columns[] = {
    DEVICE,
    {"collective", HD_VALUE_STRING, "AllReduce, AllGather …; null: not known"},
    {"dtype", HD_VALUE_STRING, "type of the elements"},
    {"size", HD_VALUE_INT, "ranks in the group"},
    {"count", HD_VALUE_COUNT, "kernels"},
    {"total", HD_VALUE_DURATION, "sum of their durations"},
    {"exposed", HD_VALUE_DURATION, "of the total, while no compute runs"},
    {"bus_bandwidth", HD_VALUE_DECIMAL, "GB/s, as nccl-tests counts it"},
    {0},
};
static const hd_report_column memory_columns[] = {
    {"process", HD_VALUE_STRING, "pid of the process"},
    {"device", HD_VALUE_STRING, "name of the device or allocator"},
    {"peak", HD_VALUE_BYTES, "most that was live at once"},
    {"peak_time", HD_VALUE_TIME, "when that was"},
    {"final", HD_VALUE_BYTES, "live at the end"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"findings", "what takes the time, by what it would save at most", findings_columns},
    {"steps", "how long steps take, by rank", steps_columns},
    {"breakdown", "where the time of each device goes; see report breakdown", breakdown_columns, HD_CHART_BARS,
     "rank,device", "compute,exposed_communication,exposed_copy,idle"},
    {"kernels", "those that take most time; see report kernels", kernels_columns, HD_CHART_BARS, "name", "total"},
    {"idle", "why nothing ran; see report idle", idle_columns, HD_CHART_BARS, "rank,device,cause", "total"},
    {"communication", "collectives that take most time; see report communication", communication_columns},
    {"memory", "the peak of each device; see report memory", memory_columns},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {
    {"rows", HD_OPTION_COUNT, "5", "of each device, of kernels, idle causes and collectives",
     offsetof(summary_options, rows)},
    GPU_OPTIONS_SCOPE,
    {0},
};

const hd_report_about report_summary_about = {
    .name = "summary",
    .title = "one screen: where the time goes, and what to look at first",
    .text = "What takes the time of each GPU, as sentences with what each would save at most, and the first rows of "
            "the reports breakdown, kernels, idle, communication, steps and memory.",
    .says_trust = true,
    .options = options,
    .options_size = sizeof(summary_options),
    .tables = tables,
    .run = run,
};
