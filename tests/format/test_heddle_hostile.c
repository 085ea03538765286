/* test_heddle_hostile.c - stores that are cut, flipped, made to lie, or whose writer was killed */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "dump.h"
#include "format/heddle/file/tables.h"
#include "heddle/synth.h"
#include "patience.h"
#include "random_trace.h"
#include "read_text.h"
#include "rounds.h"
#include "store_seal.h"
#include "trace/index/lane_index.h"

enum {
    SECTIONS = 256,
    MANY_EVENTS = 110000, /* with more slices than are in a block */
};

typedef struct sample {
    hd_trace *trace;
    char *store;
    size_t size;
    store_section sections[SECTIONS];
    size_t count;
} sample;

static hd_trace *synthetic(uint64_t events)
{
    hd_trace *trace;
    hd_synth_options options = hd_synth_options_default();
    options.events = events;
    options.orphans = 40;
    assert_int_equal(hd_synth_trace(&trace, NULL, &options, NULL), HD_OK);
    return trace;
}

static void store_sample(sample *s)
{
    hd_write_options options = {.format = "heddle", .threads = 2};
    s->store = write_text(s->trace, &options, &s->size);
    s->count = store_list(s->sections, SECTIONS, (uint8_t *)s->store, s->size);
    assert_true(s->count > 8 && s->count < SECTIONS && s->sections[s->count - 1].type == STORE_FOOTER);
}

static sample sample_of(uint64_t events)
{
    sample s = {.trace = synthetic(events)};
    store_sample(&s);
    return s;
}

/* Begins, ends, strings with quotes, counters, several shapes: everything in few bytes. */
static sample small_sample(void)
{
    sample s = {0};
    uint64_t seed = 11;
    hd_json_out out = {0};
    random_document(&out, &seed, 40);
    assert_int_equal(read_text(&s.trace, out.data, out.size, NULL, 0, NULL), HD_OK);
    free(out.data);
    store_sample(&s);
    return s;
}

static void sample_free(sample *s)
{
    hd_trace_free(s->trace);
    free(s->store);
}

static hd_status read_bytes(hd_trace **out, const void *data, size_t size, bool strict, hd_error *err)
{
    /* Threads cost most of the time when thousands of small ones are read. */
    hd_read_options options = {.strict = strict, .threads = size < 1 << 16 ? 1 : 0};
    char *copy = malloc(size ? size : 1); /* exactly as many, so that a sanitizer sees a read past the end */
    assert_non_null(copy);
    memcpy(copy, data, size);
    hd_status status = read_text(out, copy, size, &options, 0, err);
    free(copy);
    return status;
}

static uint64_t ledger_count(const hd_trace *trace, const char *code)
{
    uint64_t count = 0;
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (strcmp(row->code, code) == 0) count += row->count;
    }
    return count;
}

/* Everything of a trace can be asked for. */
static void walk(const hd_trace *trace)
{
    char *dump = dump_trace(trace, DUMP_ALL);
    assert_true(strlen(dump) > 0);
    free(dump);
}

static bool same_string(const hd_trace *a, uint32_t x, const hd_trace *b, uint32_t y)
{
    hd_string s = hd_trace_string(a, x), t = hd_trace_string(b, y);
    return s.size == t.size && memcmp(s.data, t.data, s.size) == 0;
}

/* Rows [first, first + count) of a kind are rows [at, …) of what was left. Ends are paired anew, so durations of begins
 * may differ. */
static void expect_rows(const hd_trace *trace, uint64_t first, const hd_trace *left, uint64_t at, hd_kind kind,
                        uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint32_t row;
        hd_event a, b;
        const hd_block *block = hd_trace_block_of(&row, trace, kind, first + i);
        hd_block_event(&a, block, row);
        block = hd_trace_block_of(&row, left, kind, at + i);
        hd_block_event(&b, block, row);
        assert_int_equal(a.start_ns, b.start_ns);
        assert_int_equal(a.phase, b.phase);
        assert_int_equal(a.track, b.track);
        assert_true(same_string(trace, a.name, left, b.name) && same_string(trace, a.category, left, b.category));
        if (a.phase != 'B') assert_int_equal(a.duration_ns, b.duration_ns);
        assert_int_equal(a.args != NULL, b.args != NULL);
    }
}

/* ---- flipped bits ---- */

static void expect_block_lost(const sample *s, const store_section *section, const hd_trace *left)
{
    store_block_head head;
    assert_true(store_get_block_head(&head, section));
    assert_int_equal(hd_trace_event_count(s->trace) - hd_trace_event_count(left), head.row_count);
    assert_int_equal(ledger_count(left, "heddle.block-damaged"), head.row_count);
    hd_kind kind = (hd_kind)head.kind;
    uint64_t behind = head.first_row + head.row_count;
    expect_rows(s->trace, 0, left, 0, kind, head.first_row);
    expect_rows(s->trace, behind, left, head.first_row, kind, hd_trace_row_count(s->trace, kind) - behind);
    for (int other = 0; other < HD_KIND_COUNT; other++) {
        if (other == head.kind) continue;
        expect_rows(s->trace, 0, left, 0, (hd_kind)other, hd_trace_row_count(s->trace, (hd_kind)other));
    }
}

static void expect_section_lost(const sample *s, const store_section *section, const hd_trace *left)
{
    if (section->type == STORE_BLOCK) {
        expect_block_lost(s, section, left);
        return;
    }
    assert_int_equal(hd_trace_event_count(s->trace), hd_trace_event_count(left));
    static const char *const codes[STORE_TYPES] = {
        [STORE_FACTS] = "heddle.copy-used",     [STORE_STRINGS] = "heddle.strings-lost",
        [STORE_METADATA] = "heddle.copy-used",  [STORE_LEDGER] = "heddle.copy-used",
        [STORE_TRACKS] = "heddle.copy-used",    [STORE_SHAPES] = "heddle.copy-used",
        [STORE_ORDER] = "heddle.order-damaged", [STORE_INDEX] = "heddle.index-damaged",
        [STORE_FOOTER] = "heddle.recovered",    [STORE_ACTIVITY] = "heddle.activity-damaged",
    };
    const char *code = section->flags & STORE_COPY ? "heddle.copy-damaged" : codes[section->type];
    if (ledger_count(left, code) == 0) fail_msg("type %u, flags %u: no %s", section->type, section->flags, code);
    if (section->type == STORE_ORDER || section->type == STORE_STRINGS) return;
    char *expected = dump_trace(s->trace, DUMP_CONTENT), *got = dump_trace(left, DUMP_CONTENT);
    assert_string_equal(strchr(strstr(expected, "\n  format ") + 1, '\n'),
                        strchr(strstr(got, "\n  format ") + 1, '\n'));
    free(expected);
    free(got);
}

/* Blocks only: what other sections lose does not depend on how many events there are, and to compare all takes long. */
static void flip_sections(uint64_t events, bool only_blocks)
{
    sample s = sample_of(events);
    for (size_t i = 0; i < s.count; i++) {
        hd_trace *left;
        if (only_blocks && s.sections[i].type != STORE_BLOCK) continue;
        char *byte = &s.store[s.sections[i].offset + STORE_SECTION_BYTES + s.sections[i].payload_size * 3 / 4];
        *byte ^= 0x10;
        assert_int_equal(read_bytes(&left, s.store, s.size, true, NULL), HD_ERR_DAMAGED);
        assert_int_equal(read_bytes(&left, s.store, s.size, false, NULL), HD_OK);
        expect_section_lost(&s, &s.sections[i], left);
        hd_trace_free(left);
        *byte ^= 0x10;
    }
    sample_free(&s);
}

static void test_heddle__a_flipped_bit_costs_only_its_section(void **state)
{
    (void)state;
    flip_sections(MANY_EVENTS, true);
    flip_sections(3000, false);
}

/* Header of the file, of each section, trailer: all that they say is said elsewhere. */
static void test_heddle__a_flipped_bit_of_a_header_costs_nothing(void **state)
{
    (void)state;
    sample s = small_sample();
    for (size_t i = 0; i < s.count + 2; i++) {
        hd_trace *left;
        uint64_t at = i < s.count ? s.sections[i].offset : i == s.count ? 0 : s.size - STORE_TRAILER_BYTES;
        unsigned size = i < s.count ? STORE_SECTION_BYTES : i == s.count ? STORE_HEADER_BYTES : STORE_TRAILER_BYTES;
        for (unsigned byte = (unsigned)i % 2; byte < size; byte += 2) {
            char *p = &s.store[at + byte], kept = *p;
            *p = (char)(*p ^ 1 << (byte / 2 + i) % 8);
            assert_int_equal(read_bytes(&left, s.store, s.size, true, NULL), HD_ERR_DAMAGED);
            assert_int_equal(read_bytes(&left, s.store, s.size, false, NULL), HD_OK);
            assert_int_equal(hd_trace_event_count(s.trace), hd_trace_event_count(left));
            hd_trace_free(left);
            *p = kept;
        }
    }
    sample_free(&s);
}

/* Whether a test of single bytes takes this one: all of the footer and the trailer, of the file's header and of where
 * sections begin and end; of the rest some. */
static bool tells(const sample *s, size_t at)
{
    const store_section *section = NULL;
    for (size_t i = 0; i < s->count && s->sections[i].offset <= at; i++) section = &s->sections[i];
    if (!section || section->type == STORE_FOOTER) return true;
    if (at - section->offset < STORE_SECTION_BYTES) return (at - section->offset) % 4 == 0;
    return at - section->offset < STORE_SECTION_BYTES + 4 || store_section_end(section) - at <= 2 || at % 29 == 0;
}

static void test_heddle__every_flipped_bit_is_found(void **state)
{
    (void)state;
    sample s = small_sample();
    for (size_t at = 0; at < s.size; at++) {
        hd_trace *left = NULL;
        if (!tells(&s, at)) continue;
        char kept = s.store[at];
        s.store[at] = (char)(kept ^ 1 << at * 5 % 8);
        hd_status strict = read_bytes(&left, s.store, s.size, true, NULL);
        if (strict != HD_ERR_DAMAGED && strict != HD_ERR_FORMAT) fail_msg("byte %zu: status %d", at, strict);
        hd_status status = read_bytes(&left, s.store, s.size, false, NULL);
        assert_true(status == HD_OK || status == HD_ERR_DAMAGED || status == HD_ERR_FORMAT);
        if (status == HD_OK) walk(left);
        if (status == HD_OK) hd_trace_free(left);
        s.store[at] = kept;
    }
    sample_free(&s);
}

/* ---- cut ---- */

static void expect_complete_blocks(const sample *s, size_t size)
{
    hd_trace *left = NULL;
    hd_error err = {0};
    uint64_t rows[HD_KIND_COUNT] = {0}, complete = 0;
    size_t whole = 0;
    while (whole < s->count && store_section_end(&s->sections[whole]) <= size) whole++;
    hd_status status = read_bytes(&left, s->store, size, false, &err);
    if (whole == 0) {
        assert_int_not_equal(status, HD_OK);
        return;
    }
    for (size_t i = 0; i < whole; i++) {
        store_block_head head;
        if (s->sections[i].type != STORE_BLOCK || !store_get_block_head(&head, &s->sections[i])) continue;
        rows[head.kind] += head.row_count;
        complete += head.row_count;
    }
    if (complete == 0 && status == HD_ERR_DAMAGED) return; /* nothing but loss */
    if (status != HD_OK) fail_msg("%zu bytes: %s", size, err.message);
    uint64_t sum = 0;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        assert_int_equal(hd_trace_row_count(left, (hd_kind)kind), rows[kind]);
        expect_rows(s->trace, 0, left, 0, (hd_kind)kind, rows[kind]);
        sum += rows[kind];
    }
    assert_int_equal(ledger_count(left, "heddle.events-missing"), hd_trace_event_count(s->trace) - sum);
    assert_true(whole == s->count ? ledger_count(left, "heddle.trailer-damaged") == 1
                                  : ledger_count(left, "heddle.recovered") == 1);
    hd_trace_free(left);
}

static void test_heddle__of_a_cut_store_all_complete_blocks_are_read(void **state)
{
    (void)state;
    sample s = sample_of(MANY_EVENTS);
    for (size_t i = 0; i < s.count; i++) {
        const store_section *section = &s.sections[i];
        uint64_t sizes[] = {section->offset, section->offset + STORE_SECTION_BYTES + section->payload_size / 2,
                            store_section_end(section) - 1};
        expect_complete_blocks(&s, sizes[i % 3]);
    }
    expect_complete_blocks(&s, s.size - 1);
    sample_free(&s);
}

static void test_heddle__a_store_cut_anywhere_is_read_or_refused(void **state)
{
    (void)state;
    sample s = small_sample();
    for (size_t size = 1; size < s.size; size++) {
        hd_trace *left = NULL;
        if (!tells(&s, size)) continue;
        hd_status status = read_bytes(&left, s.store, size, false, NULL);
        assert_true(status == HD_OK || status == HD_ERR_DAMAGED || status == HD_ERR_FORMAT);
        if (status == HD_OK) walk(left);
        if (status == HD_OK) hd_trace_free(left);
        assert_int_not_equal(read_bytes(&left, s.store, size, true, NULL), HD_OK);
    }
    sample_free(&s);
}

static void test_heddle__what_stands_behind_a_hole_is_found(void **state)
{
    (void)state;
    sample s = sample_of(MANY_EVENTS);
    for (size_t i = 0; i + 1 < s.count; i += 2) {
        hd_trace *left;
        const store_section *section = &s.sections[i];
        size_t hole = (size_t)(store_section_end(section) - section->offset), behind = s.size - section->offset - hole;
        char *copy = malloc(s.size);
        assert_non_null(copy);
        memcpy(copy, s.store, section->offset); /* one section is taken out, and the footer is cut off */
        memcpy(copy + section->offset, s.store + section->offset + hole, behind);
        size_t size = s.size - hole - STORE_TRAILER_BYTES - (size_t)s.sections[s.count - 1].payload_size;
        assert_int_equal(read_bytes(&left, copy, size, false, NULL), HD_OK);
        if (section->type == STORE_BLOCK) {
            store_block_head head;
            assert_true(store_get_block_head(&head, section));
            assert_int_equal(hd_trace_event_count(s.trace) - hd_trace_event_count(left), head.row_count);
        } else {
            if (hd_trace_event_count(s.trace) != hd_trace_event_count(left)) {
                for (size_t k = 0; k < hd_trace_ledger_count(left); k++)
                    print_message("%s %llu\n", hd_trace_ledger_at(left, k)->code,
                                  (unsigned long long)hd_trace_ledger_at(left, k)->count);
                fail_msg("without section %zu of type %u, flags %u", i, section->type, section->flags);
            }
        }
        hd_trace_free(left);
        free(copy);
    }
    sample_free(&s);
}

/* ---- lies: checksums are right ---- */

static void expect_no_harm(const char *data, size_t size)
{
    static const bool both[] = {false, true};
    for (int i = 0; i < 2; i++) {
        hd_trace *left = NULL;
        hd_read_options options = {.lazy = both[i], .memory_limit = 64 << 20, .threads = 1};
        hd_status status = read_text(&left, data, size, &options, 0, NULL);
        if (status == HD_OK) walk(left);
        if (status == HD_OK) hd_trace_free(left);
    }
}

static void test_heddle__lies_under_right_checksums_do_no_harm(void **state)
{
    (void)state;
    sample s = small_sample();
    char *copy = malloc(s.size);
    assert_non_null(copy);
    for (unsigned first = hd_test_seed(0), seed = first; seed < first + hd_test_rounds(150); seed++) {
        uint64_t random = seed * 7919u + 3;
        memcpy(copy, s.store, s.size);
        for (unsigned n = 1 + random_next(&random) % 3; n-- > 0;) {
            size_t at = random_next(&random) % s.size;
            copy[at] =
                (char)(random_next(&random) % 2 ? (int)random_next(&random) : copy[at] ^ 1 << random_next(&random) % 8);
        }
        store_seal((uint8_t *)copy, s.size);
        expect_no_harm(copy, s.size);
    }
    free(copy);
    sample_free(&s);
}

/* Where the plain bytes of the section end in the file: so few are not compressed. */
static char *last_byte_of(sample *s, store_type type)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->sections[i].type == type && !(s->sections[i].flags & STORE_COPY))
            return &s->store[store_section_end(&s->sections[i]) - 1];
    }
    fail_msg("no section of type %d", type);
    return NULL;
}

static void test_heddle__a_wrong_time_of_activities_is_found_when_events_are_read(void **state)
{
    (void)state;
    sample s = sample_of(3000);
    hd_read_options all = {.threads = 1}, lazy = {.threads = 1, .lazy = true};
    const uint64_t counts[] = {0, 1};
    hd_trace *trace;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(read_text(&trace, s.store, s.size, &lazy, 0, NULL), HD_OK);
        assert_non_null(hd_trace_index(trace)->work_ns); /* which nothing contradicts */
        assert_int_equal(hd_trace_ledger_count(trace), hd_trace_ledger_count(s.trace));
        hd_trace_free(trace);
        assert_int_equal(read_text(&trace, s.store, s.size, &all, 0, NULL), HD_OK);
        assert_int_equal(ledger_count(trace, "heddle.sums-differ"), counts[i]);
        assert_int_equal(hd_trace_index(trace)->work_ns == NULL, i);
        hd_trace_free(trace);
        *last_byte_of(&s, STORE_ACTIVITY) -= 1; /* the highest bits of the last time */
        store_seal((uint8_t *)s.store, s.size);
    }
    sample_free(&s);
}

static void test_heddle__times_of_activities_are_checked(void **state)
{
    (void)state;
    sample s = sample_of(3000);
    hd_read_options options = {.threads = 1, .lazy = true};
    hd_trace *trace;
    hd_bytes bytes = {0};
    assert_int_equal(read_text(&trace, s.store, s.size, &options, 0, NULL), HD_OK);
    hd_index *index = (hd_index *)(uintptr_t)hd_trace_index(trace);
    int64_t *known = index->work_ns;
    index->work_ns = NULL;
    store_put_activity(&bytes, index, known);
    for (size_t size = 0; size < bytes.size; size++)
        assert_int_equal(store_get_activity(index, hd_byte_reader_of(bytes.data, size)), HD_ERR_DAMAGED);
    assert_null(index->work_ns);
    for (size_t at = 0; at < 9; at++) { /* of another version, of other rules */
        bytes.data[at] ^= 1;
        assert_int_equal(store_get_activity(index, hd_byte_reader_of(bytes.data, bytes.size)), HD_OK);
        assert_null(index->work_ns);
        bytes.data[at] ^= 1;
    }
    size_t last = index->lane_count;
    while (known[--last] == HD_NO_TIME) {}
    int64_t right = known[last], busy = index->lanes[last].busy_ns;
    for (int64_t more = 0; more < 2; more++) { /* all of the lane's time, and 1 ns more */
        known[last] = busy + more;
        bytes.size = 0;
        store_put_activity(&bytes, index, known);
        assert_int_equal(store_get_activity(index, hd_byte_reader_of(bytes.data, bytes.size)),
                         more ? HD_ERR_DAMAGED : HD_OK);
        assert_int_equal(index->work_ns[last], busy);
    }
    known[last] = right;
    bytes.size = 0;
    store_put_activity(&bytes, index, known);
    hd_bytes_put_u8(&bytes, 0);
    assert_int_equal(store_get_activity(index, hd_byte_reader_of(bytes.data, bytes.size)), HD_ERR_DAMAGED);
    assert_int_equal(store_get_activity(index, hd_byte_reader_of(bytes.data, bytes.size - 1)), HD_OK);
    assert_memory_equal(index->work_ns, known, index->lane_count * sizeof *known);
    free(known);
    hd_bytes_deinit(&bytes);
    hd_trace_free(trace);
    sample_free(&s);
}

/* A head of a block, an order run, strings or shapes with numbers of any size, in a file that is otherwise whole. */
static void put_lie(hd_bytes *file, store_type type, uint64_t a, uint64_t b, uint64_t c)
{
    uint8_t header[STORE_SECTION_BYTES];
    hd_bytes payload = {0}, head = {0};
    hd_bytes_put_varint(&head, a);
    hd_bytes_put_varint(&head, b);
    hd_bytes_put_varint(&head, c);
    for (int i = 0; i < 20; i++) hd_bytes_put_varint(&head, i % 2 ? b : c);
    hd_bytes_put_varint(&payload, head.size);
    hd_bytes_put(&payload, head.data, head.size);
    hd_bytes_put(&payload, "nonsense", 8);
    store_section section = {
        .type = (uint16_t)type, .payload_size = payload.size, .checksum = hd_checksum(payload.data, payload.size)};
    store_put_section(header, &section);
    hd_bytes_put(file, header, sizeof header);
    hd_bytes_put(file, payload.data, payload.size);
    hd_bytes_deinit(&payload);
    hd_bytes_deinit(&head);
}

static void test_heddle__hostile_counts_are_errors_soon(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {0, 1, 10, 65536, 65537, 1u << 26, UINT32_MAX, INT64_MAX, UINT64_MAX};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    alarm((unsigned)hd_test_patience(600));
    for (int type = STORE_FACTS; type < STORE_TYPES; type++) {
        for (int i = 0; i < COUNT * COUNT; i += 4) { /* each number at each place, not each pair */
            uint8_t header[STORE_HEADER_BYTES];
            hd_bytes file = {0};
            store_put_header(header);
            hd_bytes_put(&file, header, sizeof header);
            put_lie(&file, (store_type)type, type == STORE_ORDER ? 10 : numbers[i % COUNT], numbers[i / COUNT],
                    numbers[(i * 5) % COUNT]);
            put_lie(&file, (store_type)type, 2, 3, numbers[i % COUNT]);
            expect_no_harm((char *)file.data, file.size);
            hd_bytes_deinit(&file);
        }
    }
    alarm(0);
}

/* ---- a writer that is killed ---- */

/* The one file of the folder, or false. */
static bool find_file(char *out, size_t size, const char *folder)
{
    DIR *entries = opendir(folder);
    bool found = false;
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(out, size, "%s/%s", folder, entry->d_name);
        found = true;
    }
    closedir(entries);
    return found;
}

/* A process that writes, and is killed: by the kernel when its file reaches `size`, or by us after some microseconds.
 */
static void kill_writer(const hd_trace *trace, const char *path, rlim_t size, useconds_t after)
{
    pid_t child = fork();
    int status;
    assert_true(child >= 0);
    if (child == 0) {
        hd_write_options options = {.threads = 1};
        if (size != RLIM_INFINITY) {
            setrlimit(RLIMIT_CORE, &(struct rlimit){0});
            setrlimit(RLIMIT_FSIZE, &(struct rlimit){size, size});
        }
        hd_trace_write(trace, path, &options, NULL);
        _exit(0);
    }
    if (size == RLIM_INFINITY) {
        usleep(after);
        kill(child, SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (size != RLIM_INFINITY) assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
}

/* How many events are read of what a writer left; 0 too if it is not a store yet. */
static uint64_t expect_recovered(const hd_trace *trace, const char *path)
{
    hd_trace *left = NULL;
    hd_status status = hd_trace_read(&left, path, NULL, NULL);
    if (status == HD_ERR_IO || status == HD_ERR_FORMAT || status == HD_ERR_DAMAGED) return 0; /* nothing yet */
    assert_int_equal(status, HD_OK);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++)
        expect_rows(trace, 0, left, 0, (hd_kind)kind, hd_trace_row_count(left, (hd_kind)kind));
    uint64_t count = hd_trace_event_count(left);
    assert_int_equal(ledger_count(left, "heddle.events-missing"), hd_trace_event_count(trace) - count);
    hd_trace_free(left);
    return count;
}

static void test_heddle__what_a_killed_writer_left_is_read(void **state)
{
    (void)state;
    enum { SIZES = 8, TIMES = 4 };
    sample s = sample_of(MANY_EVENTS);
    char folder[] = "/tmp/heddle-test-XXXXXX", path[64], left[512];
    uint64_t seed = hd_test_seed((unsigned)getpid()), before = 0;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out.heddle", folder);
    for (unsigned i = 1; i < SIZES; i++) { /* the more was written, the more is read */
        kill_writer(s.trace, path, s.size * i / SIZES, 0);
        assert_true(find_file(left, sizeof left, folder));
        uint64_t count = expect_recovered(s.trace, left);
        assert_true(count >= before);
        before = count;
        unlink(left);
    }
    assert_true(before > HD_BLOCK_ROWS && before < hd_trace_event_count(s.trace));
    for (unsigned i = 0; i < TIMES; i++) {
        kill_writer(s.trace, path, RLIM_INFINITY, (useconds_t)(random_next(&seed) % 200000));
        if (!find_file(left, sizeof left, folder)) continue;
        if (strcmp(left, path) != 0) expect_recovered(s.trace, left);
        unlink(left);
    }
    assert_int_equal(rmdir(folder), 0);
    sample_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heddle__a_flipped_bit_costs_only_its_section),
        cmocka_unit_test(test_heddle__a_flipped_bit_of_a_header_costs_nothing),
        cmocka_unit_test(test_heddle__every_flipped_bit_is_found),
        cmocka_unit_test(test_heddle__of_a_cut_store_all_complete_blocks_are_read),
        cmocka_unit_test(test_heddle__a_store_cut_anywhere_is_read_or_refused),
        cmocka_unit_test(test_heddle__what_stands_behind_a_hole_is_found),
        cmocka_unit_test(test_heddle__lies_under_right_checksums_do_no_harm),
        cmocka_unit_test(test_heddle__hostile_counts_are_errors_soon),
        cmocka_unit_test(test_heddle__a_wrong_time_of_activities_is_found_when_events_are_read),
        cmocka_unit_test(test_heddle__times_of_activities_are_checked),
        cmocka_unit_test(test_heddle__what_a_killed_writer_left_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
