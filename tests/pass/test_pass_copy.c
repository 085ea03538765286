/* Copies of traces: everything arrives, what is dropped is gone with its arguments, ids are those of the builder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dump.h"
#include "pass/copy/copy.h"
#include "random_trace.h"
#include "read_text.h"
#include "rounds.h"

#define NO_STATE void **state __attribute__((unused))

static hd_trace *copy_with(const hd_trace *trace, const hd_copy_hooks *hooks, const char *first_string)
{
    hd_builder *builder;
    hd_copy *copy;
    hd_trace *out;
    hd_error err = {0};
    assert_int_equal(hd_builder_new(&builder, &err), HD_OK);
    if (first_string) hd_builder_intern_text(builder, first_string);
    assert_int_equal(hd_copy_new(&copy, trace, builder, &err), HD_OK);
    assert_int_equal(hd_copy_tracks(copy, NULL, NULL, &err), HD_OK);
    assert_int_equal(hd_copy_events(copy, hooks, &err), HD_OK);
    assert_int_equal(hd_copy_surroundings(copy, &err), HD_OK);
    uint64_t dropped = hd_copy_dropped(copy);
    hd_copy_free(copy);
    assert_int_equal(hd_builder_finish(&out, builder, &err), HD_OK);
    assert_int_equal(hd_trace_event_count(trace), hd_trace_event_count(out) + dropped);
    return out;
}

static hd_trace *read_all(const char *text, size_t size, size_t piece)
{
    hd_trace *trace;
    hd_error err = {0};
    const hd_read_options options = {0};
    if (read_text(&trace, text, size, &options, piece, &err) != HD_OK) fail_msg("%s", err.message);
    return trace;
}

static void assert_same_dump(const hd_trace *a, const hd_trace *b, unsigned flags)
{
    char *x = dump_trace(a, flags), *y = dump_trace(b, flags);
    if (strcmp(x, y) != 0) fail_msg("copies differ:\n%s\n----\n%s", x, y);
    free(x);
    free(y);
}

static hd_json_out random_text(uint64_t seed, unsigned events)
{
    hd_json_out text = {0};
    random_document(&text, &seed, events);
    assert_false(text.failed);
    return text;
}

static void test_pass_copy__a_copy_dumps_the_same(NO_STATE)
{
    for (uint64_t first = hd_test_seed(1), seed = first; seed < first + 60; seed++) {
        hd_json_out text = random_text(seed, 10 + (unsigned)(seed - first) * 7);
        hd_trace *trace = read_all(text.data, text.size, seed % 3 ? 0 : 512);
        /* the second has other string ids than the source */
        hd_trace *same = copy_with(trace, NULL, NULL), *other = copy_with(trace, NULL, "in the way");
        assert_same_dump(trace, same, DUMP_ALL);
        assert_same_dump(trace, other, DUMP_ALL);
        hd_trace_free(trace);
        hd_trace_free(same);
        hd_trace_free(other);
        free(text.data);
    }
}

/* ---- dropping, against the reader ---- */

static bool number_stays(unsigned number, uint64_t seed)
{
    return (number * 2654435761u >> 7 ^ seed) % 3 != 0;
}

static hd_status drop_some(void *user, hd_copy *copy, hd_copy_rows *rows, hd_error *err)
{
    const uint64_t *seed = user;
    (void)copy;
    (void)err;
    const int64_t *names = hd_copy_look(rows, HD_COL_NAME);
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        hd_string name = hd_trace_string(rows->trace, (uint32_t)names[i]);
        unsigned number = 0;
        for (size_t k = strlen("event "); k < name.size; k++) number = number * 10 + (unsigned)(name.data[k] - '0');
        rows->keep[i] = number_stays(number, *seed);
    }
    return HD_OK;
}

/* The text of only those events that stay. */
static hd_json_out sieved_text(uint64_t seed, unsigned events, bool all)
{
    hd_json_out text = {0};
    uint64_t at = seed;
    bool first = true;
    hd_json_put_text(&text, "[");
    for (unsigned i = 0; i < events; i++) {
        hd_json_out event = {0};
        random_event(&event, &at, i);
        if (all || number_stays(i, seed)) {
            if (!first) hd_json_put_text(&text, ",\n");
            hd_json_put(&text, event.data, event.size);
            first = false;
        }
        free(event.data);
    }
    hd_json_put_text(&text, "]");
    return text;
}

static void test_pass_copy__dropping_events_is_like_never_reading_them(NO_STATE)
{
    for (uint64_t first = hd_test_seed(1), seed = first; seed < first + 60; seed++) {
        hd_json_out all = sieved_text(seed, 400, true), some = sieved_text(seed, 400, false);
        hd_trace *trace = read_all(all.data, all.size, seed % 3 ? 0 : 700), *wanted = read_all(some.data, some.size, 0);
        hd_copy_hooks hooks = {.user = &seed, .rows = drop_some};
        hd_trace *got = copy_with(trace, &hooks, NULL);
        /* tracks stay though their events go, so only the events are compared */
        char *x = dump_trace(got, DUMP_CONTENT), *y = dump_trace(wanted, DUMP_CONTENT);
        assert_string_equal(strstr(x, "\nshapes\n"), strstr(y, "\nshapes\n"));
        free(x);
        free(y);
        hd_trace_free(trace);
        hd_trace_free(wanted);
        hd_trace_free(got);
        free(all.data);
        free(some.data);
    }
}

/* ---- changing ---- */

typedef struct change {
    hd_builder *builder;
    uint32_t calls;
} change;

static hd_status shift_all(void *user, hd_copy *copy, hd_copy_rows *rows, hd_error *err)
{
    (void)user;
    (void)err;
    int64_t *start = hd_copy_change(rows, HD_COL_START);
    int64_t *track = hd_copy_change(rows, HD_COL_TRACK);
    rows->changes_values = true;
    uint32_t lane = hd_copy_add_track(copy, hd_copy_track(copy, (uint32_t)track[0]));
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        start[i] += 1000;
        track[i] = lane;
    }
    return HD_OK;
}

static hd_status double_values(void *user, hd_copy *copy, hd_copy_rows *rows, const hd_arg_key *key, int64_t *values,
                               const uint32_t *row_of, uint32_t count, hd_error *err)
{
    (void)user;
    (void)copy;
    (void)rows;
    (void)err;
    for (uint32_t i = 0; i < count; i++) {
        assert_in_range(row_of[i], 0, rows->block->row_count - 1);
        if (key->type == HD_ARG_INT) values[i] *= 2;
    }
    return HD_OK;
}

static void test_pass_copy__hooks_change_times_tracks_and_arguments(NO_STATE)
{
    static const char text[] =
        "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"args\":{\"n\":21}},"
        "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":2,\"ts\":2,\"dur\":2,\"args\":{\"n\":4}}]";
    static const char wanted[] =
        "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":2,\"dur\":2,\"args\":{\"n\":42}},"
        "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":2,\"args\":{\"n\":8}}]";
    hd_trace *trace = read_all(text, sizeof text - 1, 0), *expected = read_all(wanted, sizeof wanted - 1, 0);
    hd_copy_hooks hooks = {.rows = shift_all, .values = double_values};
    hd_trace *got = copy_with(trace, &hooks, "in the way");
    char *x = dump_trace(got, DUMP_CONTENT), *y = dump_trace(expected, DUMP_CONTENT);
    assert_string_equal(strstr(x, "\nshapes\n"), strstr(y, "\nshapes\n"));
    assert_int_equal(hd_trace_facts_of(got)->start_ns, 2000);
    assert_int_equal(hd_trace_facts_of(got)->end_ns, 5000);
    free(x);
    free(y);
    hd_trace_free(trace);
    hd_trace_free(expected);
    hd_trace_free(got);
}

/* ---- more shapes than a trace may have ---- */

static void test_pass_copy__beyond_the_limit_of_shapes_arguments_become_text(NO_STATE)
{
    hd_builder *builder;
    hd_copy *copy;
    hd_error err = {0};
    static const char text[] = "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"x\":\"e\",\"args\":{\"n\":1,\"s\":\"q\\\"\",\"d\":"
                               "1.50,\"j\":[1,{}],\"b\":true,"
                               "\"z\":null,\"l\":1e-9}},{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"args\":{}},{\"ph\":\"X\","
                               "\"ts\":3,\"dur\":1,\"y\":2}]";
    hd_trace *trace = read_all(text, sizeof text - 1, 0), *out;
    assert_int_equal(hd_builder_new(&builder, &err), HD_OK);
    for (uint32_t i = 0; i < HD_SHAPE_LIMIT; i++) {
        char name[16];
        snprintf(name, sizeof name, "key %u", i);
        hd_arg_key key = {.key = hd_builder_intern_text(builder, name), .type = HD_ARG_INT};
        hd_builder_shape(builder, &key, 1, true);
    }
    assert_int_equal(hd_copy_new(&copy, trace, builder, &err), HD_OK);
    assert_int_equal(hd_copy_tracks(copy, NULL, NULL, &err), HD_OK);
    assert_int_equal(hd_copy_events(copy, NULL, &err), HD_OK);
    hd_copy_free(copy);
    assert_int_equal(hd_builder_finish(&out, builder, &err), HD_OK);
    size_t size;
    const hd_write_options options = {0};
    char *written = write_text(out, &options, &size);
    assert_non_null(strstr(written, "\"x\":\"e\",\"args\":{\"n\":1,\"s\":\"q\\\"\",\"d\":1.50,\"j\":[1,{}],\"b\":true,"
                                    "\"z\":null,\"l\":1e-9}}"));
    assert_non_null(strstr(written, "\"ts\":2,\"dur\":1}"));
    assert_non_null(strstr(written, "\"y\":2}"));
    free(written);
    hd_trace_free(out);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pass_copy__a_copy_dumps_the_same),
        cmocka_unit_test(test_pass_copy__dropping_events_is_like_never_reading_them),
        cmocka_unit_test(test_pass_copy__hooks_change_times_tracks_and_arguments),
        cmocka_unit_test(test_pass_copy__beyond_the_limit_of_shapes_arguments_become_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
