/* fuzz_behind.c - libFuzzer target: reports before and behind conversion
 *
 * The input is a list of steps that make a small trace: processes and threads, slices that nest and cross, calls with
 * work on devices, steps, counters, flows. So each input is a valid trace, and what is changed is what it says.
 * Properties: every report has the same rows of the trace and of what is read again of its store, JSON and .pftrace,
 * unless the writer's ledger has a loss or a repair; by way of the store the JSON is the same byte by byte.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/report.h"
#include "read_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_at(bool holds, const char *what, int line)
{
    if (holds) return;
    fprintf(stderr, "fuzz_behind.c:%d: %s does not hold\n", line, what);
    abort();
}
#define require(holds) require_at(holds, #holds, __LINE__)

/* ---- the trace ---- */

enum { STEPS = 24, ROOM = 1 << 15 };

typedef struct maker {
    const uint8_t *at, *end;
    char text[ROOM];
    size_t size;
    int64_t now;
    unsigned correlation, flow;
} maker;

static unsigned take(maker *m)
{
    return m->at < m->end ? *m->at++ : 0;
}

__attribute__((format(printf, 2, 3))) static void put(maker *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(m->text + m->size, ROOM - m->size, format, args);
    va_end(args);
    require(size >= 0 && (size_t)size < ROOM - m->size);
    m->size += (size_t)size;
}

static const char *const pids[] = {"1", "7", "4711", "\"host\"", "\"GPU 0\""};
static const char *const tids[] = {"1", "2", "7", "\"main\"", "\"stream 7\"", "8589934592", "-9"};
static const char *const calls[] = {"cudaLaunchKernel", "aten::mm", "cudaMemcpyAsync", "cudaDeviceSynchronize",
                                    "python"};
static const char *const works[] = {"gemm", "Memcpy HtoD (Pageable -> Device)",
                                    "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "Memset (Device)"};
static const char *const args[] = {"\"x\":1",    "\"t\":\"\"", "\"big\":18446744073709551615",
                                   "\"f\":0.25", "\"b\":true", "\"s\":\"\\u00e9\\n\""};
#define ONE_OF(m, list) list[take(m) % (sizeof(list) / sizeof *(list))]

/* Times are of a quarter of a microsecond: whole nanoseconds. */
static void begin(maker *m, const char *ph, const char *name, int64_t at)
{
    const char *pid = ONE_OF(m, pids), *tid = ONE_OF(m, tids);
    put(m, ",\n{\"ph\":\"%s\",\"name\":\"%s\",\"pid\":%s,\"tid\":%s,\"ts\":%" PRId64 ".%02u", ph, name, pid, tid,
        at / 4, (unsigned)(at % 4 * 25));
}

static void put_duration(maker *m)
{
    unsigned duration = take(m);
    put(m, ",\"dur\":%u.%02u", duration / 4, duration % 4 * 25);
}

static void put_call(maker *m)
{
    static const char *const categories[] = {"cpu_op", "cuda_runtime", "user_annotation", "python_function",
                                             "cuda_driver"};
    begin(m, "X", ONE_OF(m, calls), m->now);
    put_duration(m);
    put(m, ",\"cat\":\"%s\",\"args\":{%s,\"correlation\":%u}}", ONE_OF(m, categories), ONE_OF(m, args),
        ++m->correlation);
}

static void put_work(maker *m)
{
    static const char *const categories[] = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_sync", "gpu_user_annotation"};
    unsigned where = take(m), back = take(m) % 4;
    begin(m, "X", ONE_OF(m, works), m->now + 4);
    put_duration(m);
    put(m, ",\"cat\":\"%s\",\"args\":{%s,\"device\":%u,\"stream\":%u,\"correlation\":%u}}", ONE_OF(m, categories),
        ONE_OF(m, args), where % 2, where / 2 % 3 + 7, m->correlation > back ? m->correlation - back : 1);
}

static void put_step(maker *m)
{
    begin(m, "X", "ProfilerStep#", m->now);
    put_duration(m);
    put(m, ",\"cat\":\"user_annotation\",\"args\":{\"Ev Idx\":%u}}", take(m));
}

static void put_pair(maker *m)
{
    const uint8_t *place = m->at;
    begin(m, "B", "pair", m->now);
    put(m, ",\"args\":{%s}}", ONE_OF(m, args));
    const uint8_t *behind = m->at;
    m->at = place < m->end ? place : m->at;
    unsigned duration = take(m);
    begin(m, "E", "pair", m->now + 1 + duration);
    put(m, duration % 2 ? ",\"tts\":%u}" : "}", duration);
    m->at = behind > m->at ? behind : m->at;
}

static void put_async(maker *m)
{
    const uint8_t *place = m->at;
    unsigned id = ++m->flow;
    begin(m, "b", "async", m->now);
    put(m, ",\"cat\":\"a\",\"id\":%u}", id);
    m->at = place;
    begin(m, "e", "async", m->now + 9);
    put(m, ",\"cat\":\"a\",\"id\":%u}", id);
}

static void put_point(maker *m)
{
    static const char *const scopes[] = {"t", "p", "g"};
    begin(m, "i", "mark", m->now);
    put(m, ",\"s\":\"%s\"}", ONE_OF(m, scopes));
}

static void put_counter(maker *m)
{
    begin(m, "C", "count", m->now);
    put(m, ",\"args\":{\"value\":%u}}", take(m));
}

static void put_names(maker *m)
{
    static const char *const kinds[] = {"process_name", "thread_name", "process_labels"};
    static const char *const names[] = {"python", "GPU 1", "stream 3", "work, rank 3", "CPU"};
    const char *kind = ONE_OF(m, kinds);
    begin(m, "M", kind, 0);
    put(m, ",\"args\":{\"%s\":\"%s\"}}", kind[8] == 'l' ? "labels" : "name", ONE_OF(m, names));
}

static void make(maker *m)
{
    static void (*const puts[])(maker *) = {put_call, put_work,  put_call,  put_work,    put_step,
                                            put_pair, put_async, put_point, put_counter, put_names};
    unsigned head = take(m);
    m->now = head & 1 ? INT64_C(6800000000000000) : 4;
    put(m, "{");
    if (head & 2) put(m, "\"distributedInfo\":{\"rank\":%u,\"world_size\":9},", head >> 2 & 7);
    put(m, "\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"first\"}}");
    for (unsigned i = 0; i < STEPS && m->at < m->end; i++) {
        unsigned step = take(m);
        m->now += 1 + step / 16;
        puts[step % 16 % (sizeof puts / sizeof *puts)](m);
    }
    put(m, "\n]}\n");
}

/* ---- answers ---- */

typedef struct lines {
    char **list;
    size_t count, capacity;
} lines;

typedef struct text {
    char *data;
    size_t size, capacity;
} text;

static hd_status collect(void *user, const char *data, size_t size)
{
    text *t = user;
    if (t->size + size + 1 > t->capacity) {
        t->capacity = 2 * (t->size + size + 1);
        t->data = realloc(t->data, t->capacity);
        require(t->data != NULL);
    }
    memcpy(t->data + t->size, data, size);
    t->size += size;
    t->data[t->size] = '\0';
    return HD_OK;
}

static bool is_one_of(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name) != 0) list++;
    return *list != NULL;
}

/* What tells of the file: tests/doors/behind.py has the same. */
static const char *const columns_of_the_file[] = {"id",     "row",          "offset",  "other_offset",
                                                  "events", "other_events", "threads", NULL};
static const char *const tables_of_the_file[] = {"file",     "kinds",    "categories", "samples", "ledger",
                                                 "findings", "examples", "notes",      NULL};

static bool is_of_the_file(const char *column)
{
    size_t size = strlen(column);
    return is_one_of(column, columns_of_the_file) || (size > 3 && strcmp(column + size - 3, "_id") == 0);
}

/* A counter is of its process in most formats, a mark of a process on a track of it: neither tells of a track. */
static bool is_empty_track(const hd_table *table, size_t row)
{
    if (strcmp(hd_table_name(table), "tracks") != 0) return false;
    return hd_table_get_count(table, row, hd_table_find_column(table, "slices")) == 0;
}

static void add_row(lines *out, const char *report, const hd_table *table, size_t row)
{
    text line = {0};
    char number[64];
    collect(&line, report, strlen(report));
    collect(&line, ".", 1);
    collect(&line, hd_table_name(table), strlen(hd_table_name(table)));
    for (size_t c = 0; c < hd_table_column_count(table); c++) {
        const hd_table_column *column = hd_table_get_column(table, c);
        size_t size = 0;
        const char *value = number;
        if (is_of_the_file(column->name)) continue;
        collect(&line, " ", 1);
        collect(&line, column->name, strlen(column->name));
        if (hd_table_is_null(table, row, c)) continue;
        switch (column->type) {
        case HD_VALUE_STRING: value = hd_table_get_string(&size, table, row, c); break;
        case HD_VALUE_COUNT:
        case HD_VALUE_BYTES:
            size = (size_t)snprintf(number, sizeof number, "%" PRIu64, hd_table_get_count(table, row, c));
            break;
        case HD_VALUE_DECIMAL:
            size = (size_t)snprintf(number, sizeof number, "%.9g", hd_table_get_decimal(table, row, c));
            break;
        case HD_VALUE_BOOL:
            size = (size_t)snprintf(number, sizeof number, "%d", hd_table_get_bool(table, row, c));
            break;
        default: size = (size_t)snprintf(number, sizeof number, "%" PRId64, hd_table_get_int(table, row, c));
        }
        collect(&line, "=", 1);
        collect(&line, value, size);
    }
    if (out->count == out->capacity) {
        out->capacity = 2 * out->capacity + 64;
        out->list = realloc(out->list, out->capacity * sizeof *out->list);
        require(out->list != NULL);
    }
    out->list[out->count++] = line.data;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static lines ask(const hd_trace *trace)
{
    static const char *const reports[] = {
        "breakdown", "kernels", "copies",        "operators",     "modules", "ranges",   "steps",  "launches", "queue",
        "idle",      "syncs",   "critical-path", "communication", "flops",   "timeline", "memory", "info"};
    const hd_report_input input = {.trace = trace};
    lines out = {0};
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        hd_report report;
        hd_error err = {0};
        if (hd_report_run(&report, reports[i], &input, &err) != HD_OK) continue;
        for (size_t t = 0; t < report.table_count; t++) {
            if (is_one_of(hd_table_name(report.tables[t]), tables_of_the_file)) continue;
            for (size_t row = 0; row < hd_table_row_count(report.tables[t]); row++)
                if (!is_empty_track(report.tables[t], row)) add_row(&out, reports[i], report.tables[t], row);
        }
        hd_report_free(&report);
    }
    qsort(out.list, out.count, sizeof *out.list, by_text);
    return out;
}

static void free_lines(lines *l)
{
    for (size_t i = 0; i < l->count; i++) free(l->list[i]);
    free(l->list);
}

static void compare(const lines *before, const lines *behind, const char *format)
{
    for (size_t i = 0; i < before->count || i < behind->count; i++) {
        const char *a = i < before->count ? before->list[i] : "", *b = i < behind->count ? behind->list[i] : "";
        if (strcmp(a, b) == 0) continue;
        fprintf(stderr, "%s\n  before: %s\n  behind: %s\n", format, a, b);
        abort();
    }
}

static void note(void *user, const hd_ledger_row *row)
{
    if (row->level != HD_LEDGER_NOTE) *(bool *)user = true;
}

static void check_behind(const hd_trace *trace, const lines *before, const char *format)
{
    bool is_told = false;
    const hd_write_options options = {.format = format, .threads = 1, .ledger = note, .ledger_user = &is_told};
    hd_trace *again;
    size_t size;
    char *written = write_text(trace, &options, &size);
    require(read_text(&again, written, size, &read_fast_strict, 0, NULL) == HD_OK);
    free(written);
    if (!is_told) {
        lines behind = ask(again);
        compare(before, &behind, format);
        free_lines(&behind);
    }
    hd_trace_free(again);
}

static void check_way(const hd_trace *trace)
{
    static const hd_write_options json = {.format = "chrome", .threads = 1}, store = {.format = "heddle", .threads = 1};
    size_t size, stored_size, json_size;
    hd_trace *stored;
    char *file = write_text(trace, &store, &size), *direct = write_text(trace, &json, &json_size);
    require(read_text(&stored, file, size, &read_fast_strict, 0, NULL) == HD_OK);
    char *by_store = write_text(stored, &json, &stored_size);
    require(json_size == stored_size && memcmp(direct, by_store, json_size) == 0);
    hd_trace_free(stored);
    free(by_store);
    free(direct);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static maker m;
    hd_trace *trace;
    m = (maker){.at = data, .end = data + size};
    make(&m);
    require(read_text(&trace, m.text, m.size, &read_fast_strict, 0, NULL) == HD_OK);
    lines before = ask(trace);
    check_way(trace);
    check_behind(trace, &before, "heddle");
    check_behind(trace, &before, "chrome");
    check_behind(trace, &before, "perfetto");
    free_lines(&before);
    hd_trace_free(trace);
    return 0;
}
