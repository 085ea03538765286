/* test_otf2_hostile.c - archives that are cut or changed, file by file
 *
 * Reading must end with a trace or an error, never with a crash of ours. Children read, since the OTF2 library itself
 * ends the process on some inputs (an assertion, a wild pointer); such cases are counted and told, and only our own
 * crashes, which a sanitizer or an assertion of Heddle reports, fail the test. Each case takes OTF2's reader several
 * chunks of 256 KiB, so places are evenly spread, not all; HEDDLE_TEST_ROUNDS=40 takes every one.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixtures.h"
#include "format/otf2/anchor.h"
#include "format/otf2/otf2.h"
#include "format/otf2/otf2_archive.h"
#include "patience.h"
#include "read_text.h"
#include "rounds.h"

static const char *const names[] = {"traces.otf2",  "traces.def",   "traces.marker",
                                    "traces/0.def", "traces/0.evt", "traces/4294967296.evt"};

/* Shared with the children. */
typedef struct progress {
    size_t at;                        /* the case that is being read */
    uint64_t traces, errors, reasons; /* reasons: traces with a loss or repair in the ledger */
    bool writes;                      /* traces are written as JSON */
} progress;

static void write_bytes(const char *path, const char *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) _exit(3);
}

static void read_case(const test_archive *a, progress *p)
{
    hd_trace *trace;
    hd_error err = {0};
    hd_status status = hd_trace_read(&trace, a->anchor, NULL, &err);
    if (status != HD_OK) {
        if (!err.message[0]) _exit(4);
        p->errors++;
        return;
    }
    p->traces++;
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        if (hd_trace_ledger_at(trace, i)->level == HD_LEDGER_NOTE) continue;
        p->reasons++;
        break;
    }
    size_t size;
    if (p->writes) free(write_text(trace, &(hd_write_options){0}, &size)); /* what was read can be used */
    hd_trace_free(trace);
}

typedef struct damage {
    const char *name;
    char path[160];
    char *text, *copy;
    size_t size, count; /* count: of cases, spread over all bytes */
    bool flips;
} damage;

static void damage_and_read(const test_archive *a, const damage *d, progress *p)
{
    size_t place = p->at * d->size / d->count;
    unlink(d->path); /* ext4 writes a file to the disk at once that was cut to nothing and filled again */
    if (d->flips) {
        memcpy(d->copy, d->text, d->size);
        d->copy[place] ^= (char)(p->at % 2 ? 0x80 : 1 << p->at / 2 % 7);
        write_bytes(d->path, d->copy, d->size);
    } else {
        write_bytes(d->path, d->text, place);
    }
    read_case(a, p);
}

/* Every case from p->at on, until one kills the child. False if it was we who died. */
static bool run_child(const test_archive *a, const damage *d, progress *p, uint64_t *died)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        for (; p->at < d->count; p->at++) {
            alarm((unsigned)hd_test_patience(300)); /* a reader that does not end is ended */
            damage_and_read(a, d, p);
        }
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    print_message("%s, case %zu: %s %d\n", d->name, p->at, WIFSIGNALED(status) ? "signal" : "exit",
                  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    if (getenv("HEDDLE_KEEP")) {
        char command[600];
        snprintf(command, sizeof command, "rm -rf %s-%zu && cp -r %s %s-%zu", getenv("HEDDLE_KEEP"), p->at, a->folder,
                 getenv("HEDDLE_KEEP"), p->at);
        if (system(command) != 0) fail();
    }
    ++*died;
    p->at++;
    return false;
}

static bool writes_what_it_reads;

/* About `usual` cases; at most one for each byte that is cut off, two for each that is changed. */
static void run_damage(const test_archive *a, const char *name, unsigned usual, bool flips)
{
    damage d = {.name = name, .count = hd_test_rounds(usual), .flips = flips};
    snprintf(d.path, sizeof d.path, "%s/%s", a->folder, name);
    d.text = file_text(d.path, &d.size);
    assert_non_null(d.text);
    d.copy = malloc(d.size + 1);
    progress *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    p->writes = writes_what_it_reads;
    size_t most = flips ? 2 * d.size : d.size;
    if (d.count > most) d.count = most;
    uint64_t died = 0;
    while (p->at < d.count) run_child(a, &d, p, &died);
    print_message("%s %s: %zu cases, %llu traces, %llu of them with findings, %llu errors, %llu died\n", name,
                  flips ? "flipped" : "cut", d.count, (unsigned long long)p->traces, (unsigned long long)p->reasons,
                  (unsigned long long)p->errors, (unsigned long long)died);
    assert_int_equal(died, 0);
    assert_int_equal(p->traces + p->errors, d.count);
    if (flips && writes_what_it_reads && strstr(name, ".evt")) assert_int_equal(p->reasons, p->traces); /* checksums */
    write_bytes(d.path, d.text, d.size);
    munmap(p, sizeof *p);
    free(d.text);
    free(d.copy);
}

static void test_otf2_hostile__files_that_are_cut(void **state)
{
    const test_archive *a = *state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) run_damage(a, names[i], 60, false);
}

static void test_otf2_hostile__files_with_flipped_bits(void **state)
{
    const test_archive *a = *state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) run_damage(a, names[i], 90, true);
}

/* Events of three chunks, cut and changed at a few places of each. */
static void test_otf2_hostile__files_of_several_chunks(void **state)
{
    enum { EVENTS = 60000 };
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    for (OTF2_TimeStamp i = 0; i < EVENTS; i++) {
        OTF2_EvtWriter_Enter(w, NULL, 2 * i, 0);
        OTF2_EvtWriter_Leave(w, NULL, 2 * i + 1, 0);
    }
    archive_definitions(&a, NULL, 0);
    archive_standard(&a);
    archive_region(&a, 0, "outer");
    archive_end(&a);
    hd_trace *trace = archive_read(&a);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), EVENTS);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    hd_trace_free(trace);
    run_damage(&a, "traces/0.evt", 12, false);
    run_damage(&a, "traces/0.evt", 20, true);
    archive_remove(&a);
}

/* What our own writer puts beside the facts of OTF2 is read in a way of its own. */
static void test_otf2_hostile__archives_of_our_writer(void **state)
{
    static const char json[] =
        "{\"k\":[1],\"distributedInfo\":{\"rank\":3,\"world_size\":8},\"traceEvents\":["
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"p\"}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":-3,\"dur\":9,\"args\":{\"device\":"
        "0,"
        "\"stream\":7,\"a\":[1],\"d\":0.12345678901234567,\"n\":null,\"b\":true,\"u\":18446744073709551615}},"
        "{\"ph\":\"s\",\"cat\":\"c\",\"name\":\"f\",\"id\":5,\"pid\":1,\"tid\":2,\"ts\":1},"
        "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"c\",\"name\":\"f\",\"id\":5,\"pid\":0,\"tid\":7,\"ts\":4},"
        "{\"ph\":\"b\",\"cat\":\"a\",\"name\":\"async\",\"id\":\"x\",\"pid\":1,\"tid\":2,\"ts\":2},"
        "{\"ph\":\"e\",\"cat\":\"a\",\"name\":\"async\",\"id\":\"x\",\"pid\":1,\"tid\":2,\"ts\":3,\"args\":{\"e\":1}},"
        "{\"ph\":\"C\",\"cat\":\"m\",\"name\":\"memory\",\"pid\":1,\"ts\":3,\"args\":{\"used\":5,\"free\":1.5}},"
        "{\"ph\":\"i\",\"name\":\"here\",\"s\":\"g\",\"pid\":1,\"tid\":2,\"ts\":5}]}";
    static const char *const files[] = {"traces.def", "traces/0.evt", "traces/1.evt", "traces/2.evt", "traces/3.evt"};
    (void)state;
    test_archive a;
    hd_trace *trace;
    hd_error err = {0};
    archive_begin(&a);
    archive_definitions(&a, NULL, 0);
    archive_standard(&a);
    archive_end(&a);
    assert_int_equal(read_text(&trace, json, sizeof json - 1, NULL, 0, &err), HD_OK);
    if (hd_trace_write(trace, a.folder, &(hd_write_options){.format = "otf2", .clean = true}, &err) != HD_OK)
        fail_msg("%s", err.message);
    hd_trace_free(trace);
    writes_what_it_reads = true;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        run_damage(&a, files[i], i ? 25 : 80, false);
        run_damage(&a, files[i], i ? 40 : 120, true);
    }
    writes_what_it_reads = false;
    archive_remove(&a);
}

static int setup(void **state)
{
    static test_archive a;
    archive_everything(&a);
    *state = &a;
    return 0;
}

static int teardown(void **state)
{
    archive_remove(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_otf2_hostile__files_that_are_cut),
        cmocka_unit_test(test_otf2_hostile__files_with_flipped_bits),
        cmocka_unit_test(test_otf2_hostile__files_of_several_chunks),
        cmocka_unit_test(test_otf2_hostile__archives_of_our_writer),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
