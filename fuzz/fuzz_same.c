/* fuzz_same.c - libFuzzer target: one input, one answer
 *
 * Properties, of any format: what fresh memory contains and what was read before change nothing; by way of a store an
 * input becomes the same JSON as without, and so does that JSON; the beginning of an input without damage has other
 * events only with an error, a loss or a repair.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "read_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_at(bool holds, int line)
{
    if (holds) return;
    fprintf(stderr, "fuzz_same.c:%d does not hold\n", line);
    abort();
}
#define require(holds) require_at(holds, __LINE__)

/* What is allocated is filled with the complement of the byte. No effect under ASan, which fills by itself. */
static void fill_memory(int byte)
{
#ifdef M_PERTURB
    mallopt(M_PERTURB, byte);
#else
    (void)byte;
#endif
}

static char *dump_filled(const char *text, size_t size, int byte)
{
    fill_memory(byte);
    char *dump = dump_text(text, size, &read_fast, 0, DUMP_ALL);
    fill_memory(0);
    return dump;
}

/* A text is read, its first half, and the text again, each in other memory. */
static void check_memory(const char *text, size_t size)
{
    char *before = dump_filled(text, size, 65);
    free(dump_filled(text, size / 2, 3));
    char *after = dump_filled(text, size, 170);
    dump_require_same(before, after);
    free(before);
    free(after);
}

/* ---- by way of a store ---- */

static hd_trace *through_store(const hd_trace *trace)
{
    static const hd_write_options store = {.format = "heddle", .threads = 1};
    hd_trace *again;
    size_t size;
    char *written = write_text(trace, &store, &size);
    require(read_text(&again, written, size, &read_fast_strict, 0, NULL) == HD_OK);
    free(written);
    return again;
}

/* The JSON of a trace, which is the same by way of a store. */
static char *json_of(const hd_trace *trace, size_t *size)
{
    static const hd_write_options json = {.format = "chrome", .threads = 1};
    size_t stored_size;
    hd_trace *stored = through_store(trace);
    char *direct = write_text(trace, &json, size), *by_store = write_text(stored, &json, &stored_size);
    require(stored_size == *size && memcmp(direct, by_store, *size) == 0);
    free(by_store);
    hd_trace_free(stored);
    return direct;
}

static void check_store(const hd_trace *trace)
{
    hd_trace *again;
    size_t size;
    char *json = json_of(trace, &size);
    require(read_text(&again, json, size, &read_fast_strict, 0, NULL) == HD_OK);
    free(json_of(again, &size));
    free(json);
    hd_trace_free(again);
}

/* ---- cut ---- */

static uint64_t count_damage(const hd_trace *trace, hd_ledger_level least)
{
    uint64_t count = 0;
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (row->level >= least) count += row->count;
    }
    return count;
}

static void check_cut(const hd_trace *whole, const char *text, size_t size)
{
    hd_trace *cut;
    if (count_damage(whole, HD_LEDGER_REPAIR)) return;
    if (read_text(&cut, text, size, &read_fast, 0, NULL) != HD_OK) return;
    /* A beginning may be taken for another format. Some have no end that could be missing: folded stacks, lists of
     * messages and blocks, and behind a line's end texts of lines. */
    const char *format = hd_trace_facts_of(cut)->format;
    bool is_text = strcmp(format, "chrome") == 0 || strcmp(format, "perf-script") == 0 || strcmp(format, "ftrace") == 0;
    bool may_end = strcmp(format, "folded") == 0 || strcmp(format, "pprof") == 0 || strcmp(format, "xray") == 0 ||
                   strcmp(format, "perfetto") == 0 || strcmp(format, "xplane") == 0 ||
                   (is_text && (text[size - 1] == '\n' || text[size] == '\n'));
    if (strcmp(format, hd_trace_facts_of(whole)->format) == 0 && !may_end)
        require(hd_trace_event_count(cut) == hd_trace_event_count(whole) || count_damage(cut, HD_LEDGER_REPAIR));
    hd_trace_free(cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    hd_trace *trace;
    if (size > 1 << 14 || size < 4) return 0;
    check_memory(text, size);
    if (read_text(&trace, text, size, &read_fast, 0, NULL) != HD_OK) return 0;
    check_store(trace);
    for (size_t part = 1; part < 4; part++) check_cut(trace, text, size * part / 4);
    hd_trace_free(trace);
    return 0;
}
