/* test_chrome_hostile.c - input that was made to hurt: an error or a repaired trace, soon, and in little memory
 *
 * Every case ends within its time or the alarm ends the test. HEDDLE_VERBOSE=1 prints the time of every case and the
 * events that damage to a neighbour changed. Fixtures that are cut: test_chrome_pieces.c.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "dump.h"
#include "fixtures.h"
#include "patience.h"
#include "random_trace.h"
#include "read_text.h"
#include "rounds.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void report(const char *what, double start, hd_status status, uint64_t events)
{
    struct rusage usage;
    if (!getenv("HEDDLE_VERBOSE")) return;
    getrusage(RUSAGE_SELF, &usage);
    printf("%6.2f s, peak so far %5ld MB: %s: %s, %llu events\n", now() - start, usage.ru_maxrss >> 10, what,
           hd_status_name(status), (unsigned long long)events);
}

/* ---- text from a pipe: before, `unit` again and again, after ---- */

typedef struct source {
    const char *before, *unit, *after;
    uint64_t size; /* of all units */
    int fd;
} source;

static void *feed(void *argument)
{
    const source *s = argument;
    enum { BLOCK = 1 << 16 };
    size_t unit = strlen(s->unit), per_block = BLOCK / unit * unit;
    char *block = malloc(BLOCK);
    for (size_t i = 0; i < per_block; i++) block[i] = s->unit[i % unit];
    bool open = write(s->fd, s->before, strlen(s->before)) >= 0;
    for (uint64_t done = 0; open && done < s->size; done += per_block) {
        size_t size = s->size - done < per_block ? (size_t)(s->size - done) : per_block;
        for (size_t at = 0; open && at < size;) {
            ssize_t n = write(s->fd, block + at, size - at);
            open = n > 0;
            at += n > 0 ? (size_t)n : 0;
        }
    }
    if (open && write(s->fd, s->after, strlen(s->after)) < 0) open = false;
    close(s->fd);
    free(block);
    return NULL;
}

static hd_status read_source(const char *what, source s, uint64_t *out_events, hd_error *err)
{
    int ends[2];
    char path[64];
    pthread_t thread;
    hd_trace *trace = NULL;
    const hd_read_options options = {.sources = true, .threads = 2};
    double start = now();
    assert_int_equal(pipe(ends), 0);
    s.fd = ends[1];
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(pthread_create(&thread, NULL, feed, &s), 0);
    *err = (hd_error){0};
    alarm((unsigned)hd_test_patience(600));
    hd_status status = hd_trace_read(&trace, path, &options, err);
    alarm(0);
    close(ends[0]); /* a writer that is not done sees EPIPE */
    pthread_join(thread, NULL);
    *out_events = trace ? hd_trace_event_count(trace) : 0;
    report(what, start, status, *out_events);
    if (status != HD_OK) assert_true(err->message[0] && err->status == status && !trace);
    hd_trace_free(trace);
    return status;
}

/* 16 are two chunks of the reader; what is quadratic hangs at half of one. */
enum { MB = HD_TEST_BY_BUILD(3 << 17, 1 << 15) };

static void test_chrome_hostile__endless_repetition_ends(void **state)
{
    (void)state;
    static const source cases[] = {
        {"", "[", "", 16 * MB, 0},
        {"", "{\"a\":", "", 16 * MB, 0},
        {"", "[{", "", 16 * MB, 0},
        {"", "{", "", 16 * MB, 0},
        {"{\"traceEvents\":[", "[", "]}", 16 * MB, 0},
        {"{\"traceEvents\":[", "{", "]}", 16 * MB, 0},
        {"{\"traceEvents\":[", "[{", "]}", 16 * MB, 0},
        {"{\"traceEvents\":[", "\"", "]}", 16 * MB, 0},
        {"{\"traceEvents\":[", "\\", "]}", 64 * MB, 0},
        {"{\"traceEvents\":[", ",", "]}", 64 * MB, 0},
        {"{\"traceEvents\":[", " ", "]}", 64 * MB, 0},
        {"{\"traceEvents\":[", "}", "]}", 16 * MB, 0},
        {"{\"traceEvents\":[", "]", "]}", 16 * MB, 0},
        {"{\"traceEvents\":[", "null ", "]}", 16 * MB, 0},
        {"{\"traceEvents\":[", "1", "]}", 16 * MB, 0},
        {"{\"traceEvents\":[", "1 ", "]}", 4 * MB, 0},
        {"{\"traceEvents\":[", "x", "]}", 16 * MB, 0},
        {"{\"traceEvents\":[", "{\"ph\":", "]}", 16 * MB, 0},
        {"{\"traceEvents\":[", "{\"ph\":\"X", "]}", 16 * MB, 0},
        {"{\"traceEvents\":[", "{}", "]}", 8 * MB, 0},
        {"{\"traceEvents\":[", "},{\"a\":[", "]}", 16 * MB, 0},
        {"{\"traceEvents\":[", "{},{\"a\":[", "]}", 16 * MB, 0},
        {"{\"traceEvents\":[", "\"},{\"ph\":", "]}", 16 * MB, 0},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"name\":", "\"", "]}", 16 * MB, 0},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"", "\\", "}]}", 64 * MB, 0},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"", "x", "}]}", 64 * MB, 0},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"", "a\" b", "\"}]}", 16 * MB, 0},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"args\":", "{\"a\":", "}]}", 16 * MB, 0},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"args\":", "[", "}]}", 16 * MB, 0},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"ts\":", "1", "}]}", 16 * MB, 0},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"a\":1", ",\"a\":1", "}]}", 16 * MB, 0},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"args\":{\"a\":1", ",\"a\":NaN", "}}]}", 16 * MB, 0},
        {"{\"a\":", "\"", "}", 16 * MB, 0},
        {"{\"a\":", "[", "}", 16 * MB, 0},
        {"{\"a\":", "1", ",\"traceEvents\":[]}", 16 * MB, 0},
        {"{", "\"a\":1,", "\"traceEvents\":[]}", 16 * MB, 0},
        {"{", "\"a\" ", "\"traceEvents\":[]}", 8 * MB, 0},
        {"{", ",", "\"traceEvents\":[]}", 16 * MB, 0},
        {"{", "x", "\"traceEvents\":[]}", 16 * MB, 0},
        {"", " ", "[]", 64 * MB, 0},
        {"[]", "[]", "", 4 * MB, 0},
        {"[]", "{}", "", 4 * MB, 0},
        {"[]", "{", "", 4 * MB, 0},
        {"[]", "x", "", 64 * MB, 0},
        {"", "{\"ph\":\"i\",\"ts\":1}\n", "", 16 * MB, 0},
        {"", "{\"ph\":\"i\",\"ts\":1}", "]", 16 * MB, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char what[96];
        uint64_t events;
        hd_error err;
        snprintf(what, sizeof what, "%s and %llu units of %s", cases[i].before, (unsigned long long)cases[i].size / MB,
                 cases[i].unit);
        read_source(what, cases[i], &events, &err);
    }
}

static void test_chrome_hostile__an_element_over_the_limit_is_an_error_with_its_place(void **state)
{
    (void)state;
    static const source cases[] = {
        {"[{\"ph\":\"i\",\"ts\":1},{\"ph\":\"X\",\"name\":\"", "x", "\"}]", (uint64_t)1 << 30, 0},
        {"[{\"ph\":\"i\",\"ts\":1},{\"ph\":\"X\",\"args\":{\"a\":[1", ",\"abcdefghijklmnopqrstuvwxyz\"", "]}}]",
         (uint64_t)1 << 30, 0},
        {"{\"a\":\"", "x", "\",\"traceEvents\":[]}", (uint64_t)1 << 30, 0},
        {"", " ", "[]", (uint64_t)1 << 30, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t events;
        hd_error err;
        assert_int_equal(read_source(cases[i].before, cases[i], &events, &err), HD_ERR_LIMIT);
        assert_true(err.offset != HD_OFFSET_NONE);
    }
}

/* ---- events that differ in what is kept once ---- */

static void expect_events(const char *what, hd_json_out *out, uint64_t expected)
{
    hd_trace *trace;
    hd_error err = {0};
    const hd_read_options options = {.threads = 2};
    double start = now();
    hd_json_put_text(out, "]");
    alarm((unsigned)hd_test_patience(600));
    hd_status status = read_text(&trace, out->data, out->size, &options, 0, &err);
    alarm(0);
    assert_int_equal(status, HD_OK);
    report(what, start, status, hd_trace_event_count(trace));
    assert_int_equal(hd_trace_event_count(trace), expected);
    hd_trace_free(trace);
    free(out->data);
    *out = (hd_json_out){0};
}

static void test_chrome_hostile__a_new_key_in_every_event_costs_no_more_than_its_bytes(void **state)
{
    (void)state;
    enum { EVENTS = 100000 };
    static const char *const formats[] = {
        "%s{\"ph\":\"i\",\"ts\":1,\"args\":{\"key %d\":1}}", "%s{\"ph\":\"i\",\"ts\":1,\"key %d\":1}",
        "%s{\"ph\":\"i\",\"ts\":1,\"name\":\"name %d\",\"args\":{}}", "%s{\"ph\":\"i\",\"ts\":1,\"pid\":%d}"};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        hd_json_out out = {0};
        hd_json_put_text(&out, "[");
        for (int i = 0; i < EVENTS; i++) {
            char event[96];
            snprintf(event, sizeof event, formats[f], i ? "," : "", i);
            hd_json_put_text(&out, event);
        }
        expect_events(formats[f], &out, EVENTS);
    }
}

static void test_chrome_hostile__damage_in_every_event_costs_no_more_than_its_bytes(void **state)
{
    (void)state;
    enum { EVENTS = 30000 };
    static const char *const events[] = {"{\"ph\":\"i\",\"ts\":1,\"name\":\"a \"quoted\" name\"}",
                                         "{\"ph\":\"i\",\"ts\":1,\"name\":\"lost}",
                                         "{\"ph\":\"i\",\"ts\":NaN}",
                                         "{\"ph\":\"i\",\"ts\":1",
                                         "{\"ph\":\"i\",\"ts\":1,\"args\":{\"a\":[1,2}",
                                         "{]",
                                         "{\"ph\"",
                                         "\"ph\":\"i\"}",
                                         "{\"ph\":\"i\",\"ts\":1,\"name\":\"back\\slash\\\"}"};
    for (size_t e = 0; e < sizeof events / sizeof *events; e++) {
        hd_json_out out = {0};
        hd_trace *trace;
        hd_json_put_text(&out, "[");
        for (int i = 0; i < EVENTS; i++) {
            if (i) hd_json_put_text(&out, ",\n");
            hd_json_put_text(&out, events[e]);
        }
        double start = now();
        alarm((unsigned)hd_test_patience(600));
        hd_status status = read_text(&trace, out.data, out.size, NULL, 0, NULL);
        alarm(0);
        assert_true(status == HD_OK || (status == HD_ERR_DAMAGED && !trace)); /* all may be lost */
        report(events[e], start, status, trace ? hd_trace_event_count(trace) : 0);
        hd_trace_free(trace);
        free(out.data);
    }
}

/* ---- fixtures with random damage ---- */

/* Exactly `size` bytes at the end of a page, so that reading on is seen: the reader copies, the scanner must not care.
 */
static void read_any(const char *text, size_t size, bool strict)
{
    hd_trace *trace;
    hd_error err = {0};
    const hd_read_options options = {.sources = true, .threads = 1, .strict = strict};
    hd_status status = read_text(&trace, text, size, &options, 0, &err);
    if (status == HD_OK)
        free(dump_trace(trace, DUMP_ALL));
    else
        assert_true(err.message[0]);
    hd_trace_free(trace);
}

static void test_chrome_hostile__fixtures_with_random_damage_are_read_or_refused(void **state)
{
    (void)state;
    fixtures all = fixtures_load("tests/format/chrome");
    unsigned count = hd_test_rounds(800);
    for (unsigned i = 0; i < count; i++) {
        const fixture *f = &all.list[i % all.count];
        uint64_t seed = i;
        char *text = malloc(f->size + 64);
        assert_non_null(text);
        memcpy(text, f->text, f->size);
        size_t size = f->size;
        for (unsigned d = 0; d <= i % 5; d++) size = random_damage(text, size, 0, size, &seed);
        alarm((unsigned)hd_test_patience(600));
        read_any(text, size, i % 16 == 0);
        free(text);
    }
    alarm(0);
    fixtures_free(&all);
}

/* ---- one bad event loses one event at most ---- */

/* Over what an event's begin or end gave it. */
static const char *skip_partner(const char *p, bool is_begin)
{
    static const char *const fields[] = {" partner=", " dur=", " end_ps="};
    for (size_t i = 0; i < (is_begin ? 3 : 1); i++) {
        size_t size = strlen(fields[i]);
        if (strncmp(p, fields[i], size) == 0) return skip_partner(p + size + strspn(p + size, "-0123456789"), is_begin);
    }
    return p;
}

/* The dump's lines of the event named "event <number>": 1 found as expected, 0 missing or changed. */
static bool has_event(const char *dump, const char *expected, unsigned number)
{
    char name[32];
    snprintf(name, sizeof name, "name=\"event %u\"", number);
    const char *want = strstr(expected, name), *got = strstr(dump, name);
    if (!want || !got) return false;
    while (want[-1] != '\n') want--;
    while (got[-1] != '\n') got--;
    want += strspn(want, " 0123456789"); /* the number of an event is not its own */
    got += strspn(got, " 0123456789");
    bool is_begin = strncmp(want, "slice B", 7) == 0;
    for (;; want++, got++) {
        want = skip_partner(want, is_begin);
        got = skip_partner(got, is_begin);
        if (*want == '\n' && strncmp(want + 1, "      ", 6) != 0) return *got == '\n' || *got == '\0';
        if (*want != *got) return false;
        if (*want == '\0') return true;
    }
}

/* As profilers write them; random_event makes those whose arguments look like events. */
static void plain_event(hd_json_out *out, uint64_t *seed, unsigned number)
{
    char text[512];
    uint32_t r = random_next(seed);
    snprintf(
        text, sizeof text,
        "{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"event %u\", \"pid\": %u, \"tid\": %s,\n    \"ts\": %u.%03u, "
        "\"dur\": %u, "
        "\"args\": {\"External id\": %u, \"grid\": [%u, 1, 1], \"Input type\": [\"float\", \"\", \"\"], \"bytes\": %u, "
        "\"stream\": 7, \"name \\\"x\\\"\": \"void f<int, (bool)1>(int*)\"}}",
        r & 1 ? "kernel" : "cpu_op", number, r >> 1 & 3, r & 8 ? "\"stream 7\"" : "7334", number * 10, r >> 8 & 511,
        r >> 4 & 63, r >> 12 & 0xffff, r >> 3 & 255, r);
    hd_json_put_text(out, text);
}

typedef void event_maker(hd_json_out *out, uint64_t *seed, unsigned number);

static unsigned lost_neighbours(event_maker *make, unsigned seed_number, unsigned events)
{
    uint64_t seed = seed_number;
    hd_json_out out = {0};
    size_t begin[64], end[64];
    unsigned lost = 0, damaged = seed_number % events;
    hd_json_put_text(&out, "{\"traceEvents\":[\n");
    for (unsigned i = 0; i < events; i++) {
        begin[i] = out.size;
        make(&out, &seed, i);
        end[i] = out.size;
        hd_json_put_text(&out, i + 1 < events ? ",\n" : "\n");
    }
    hd_json_put_text(&out, "]}    ");
    out.size -= 4;
    char *before = dump_text(out.data, out.size, NULL, 0, DUMP_CONTENT);
    out.size = random_damage(out.data, out.size, begin[damaged], end[damaged], &seed);
    char *after = dump_text(out.data, out.size, NULL, 0, DUMP_CONTENT);
    for (unsigned i = 0; i < events; i++) {
        if (i != damaged && !has_event(after, before, i)) lost++;
    }
    if (lost && getenv("HEDDLE_VERBOSE")) {
        unsigned from = damaged ? damaged - 1 : 0;
        printf("seed %u: event %u was damaged, %u others differ: %.*s\n", seed_number, damaged, lost,
               (int)(end[damaged] - begin[from] + 40), out.data + begin[from]);
    }
    free(before);
    free(after);
    free(out.data);
    return lost;
}

/* How many per mille of the seeds changed another event than the damaged one. */
static unsigned bad_per_mille(const char *what, event_maker *make)
{
    unsigned count = hd_test_rounds(500), bad = 0, lost = 0, worst = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned n = lost_neighbours(make, i, 20);
        bad += n > 0;
        lost += n;
        worst = n > worst ? n : worst;
    }
    printf("%s: %u of %u seeds changed a neighbour, %u events of %u, at worst %u at once\n", what, bad, count, lost,
           count * 19, worst);
    return (bad * 1000 + count - 1) / count;
}

static void test_chrome_hostile__one_bad_event_loses_one_event_at_most(void **state)
{
    (void)state;
    assert_true(bad_per_mille("events of profilers", plain_event) <= 5);
    assert_true(bad_per_mille("events that hold what looks like events", random_event) <= 20);
}

static void test_chrome_hostile__directories_and_missing_and_empty_files_are_errors(void **state)
{
    (void)state;
    static const char *const paths[] = {"/", "/tmp", "/nonexistent/trace.json", "/dev/null", "/proc/self/mem"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        hd_trace *trace;
        hd_error err = {0};
        assert_int_not_equal(hd_trace_read(&trace, paths[i], NULL, &err), HD_OK);
        assert_null(trace);
        assert_true(err.message[0]);
    }
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chrome_hostile__directories_and_missing_and_empty_files_are_errors),
        cmocka_unit_test(test_chrome_hostile__endless_repetition_ends),
        cmocka_unit_test(test_chrome_hostile__an_element_over_the_limit_is_an_error_with_its_place),
        cmocka_unit_test(test_chrome_hostile__a_new_key_in_every_event_costs_no_more_than_its_bytes),
        cmocka_unit_test(test_chrome_hostile__damage_in_every_event_costs_no_more_than_its_bytes),
        cmocka_unit_test(test_chrome_hostile__fixtures_with_random_damage_are_read_or_refused),
        cmocka_unit_test(test_chrome_hostile__one_bad_event_loses_one_event_at_most),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]); /* with * and ? */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
