/* test_stacks.c - the tree of frames; stackFrames of traces, whole, odd and hostile; the way through a store */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pthread.h>

#include <cmocka.h>

#include "base/json/write.h"
#include "fixtures.h"
#include "heddle/stacks.h"
#include "random_trace.h"
#include "read_text.h"
#include "rounds.h"
#include "trace/stacks/trace_stacks.h"

static uint32_t name_of(hd_stacks *stacks, const char *text)
{
    return hd_stacks_name(stacks, text, strlen(text));
}

static uint32_t push(hd_stacks *stacks, uint32_t caller, const char *text)
{
    return hd_stacks_push(stacks, caller, name_of(stacks, text), HD_FRAME_NATIVE);
}

/* "main;f;g" of a node. */
static const char *path_of(const hd_stacks *stacks, uint32_t node)
{
    static char path[512];
    size_t at = sizeof path - 1;
    path[at] = '\0';
    for (; node != HD_STACK_NONE; node = hd_stacks_at(stacks, node).caller) {
        hd_string name = hd_stacks_text(stacks, hd_stacks_at(stacks, node).name);
        assert_true(name.size + 1 < at);
        if (path[at]) path[--at] = ';';
        at -= name.size;
        memcpy(path + at, name.data, name.size);
    }
    return path + at;
}

/* ---- the tree ---- */

static void test_stacks__equal_frames_under_one_caller_are_one_node(void **state)
{
    (void)state;
    hd_stacks *s;
    assert_int_equal(hd_stacks_new(&s, NULL), HD_OK);
    assert_int_equal(hd_stacks_count(s), 1);
    uint32_t main_node = push(s, HD_STACK_NONE, "main"), f = push(s, main_node, "f");
    assert_int_equal(push(s, HD_STACK_NONE, "main"), main_node);
    assert_int_equal(push(s, main_node, "f"), f);
    assert_int_not_equal(push(s, f, "f"), f);
    assert_int_not_equal(push(s, HD_STACK_NONE, "f"), f);
    assert_int_equal(hd_stacks_count(s), 5);
    assert_int_equal(hd_stacks_name_count(s), 3);
    assert_string_equal(path_of(s, f), "main;f");
    assert_int_equal(hd_stacks_at(s, f).depth, 2);
    assert_int_equal(hd_stacks_at(s, f).caller, main_node);
    assert_int_equal(hd_stacks_at(s, HD_STACK_NONE).depth, 0);
    hd_stacks_free(s);
}

static void test_stacks__failures_pass_through_a_row_of_calls(void **state)
{
    (void)state;
    hd_stacks *s;
    assert_int_equal(hd_stacks_new(&s, NULL), HD_OK);
    assert_int_equal(hd_stacks_push(s, HD_NONE, 1, HD_FRAME_OS), HD_NONE);
    assert_int_equal(hd_stacks_push(s, HD_STACK_NONE, HD_NONE, HD_FRAME_OS), HD_NONE);
    assert_int_equal(hd_stacks_count(s), 1);
    hd_stacks_free(s);
    hd_stacks_free(NULL);
}

static void test_stacks__the_first_call_gives_a_node_its_kind(void **state)
{
    (void)state;
    hd_stacks *s;
    assert_int_equal(hd_stacks_new(&s, NULL), HD_OK);
    uint32_t name = name_of(s, "f"), node = hd_stacks_push(s, HD_STACK_NONE, name, HD_FRAME_PYTHON);
    assert_int_equal(hd_stacks_push(s, HD_STACK_NONE, name, HD_FRAME_OS), node);
    assert_int_equal(hd_stacks_at(s, node).kind, HD_FRAME_PYTHON);
    for (int kind = 0; kind < HD_FRAME_KINDS; kind++) {
        const char *text = hd_frame_kind_name((hd_frame_kind)kind);
        assert_int_equal(hd_frame_kind_of((hd_string){text, strlen(text)}), kind);
    }
    assert_int_equal(hd_frame_kind_of((hd_string){"Chrome", 6}), HD_FRAME_UNKNOWN);
    hd_stacks_free(s);
}

static void test_stacks__random_pushes_agree_with_a_list(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    hd_stacks *s;
    uint32_t callers[COUNT], names[COUNT], count = 1;
    uint64_t seed = hd_test_seed(5);
    assert_int_equal(hd_stacks_new(&s, NULL), HD_OK);
    callers[0] = names[0] = 0;
    for (int i = 0; i < 20000; i++) {
        char text[8];
        snprintf(text, sizeof text, "n%u", random_next(&seed) % 20);
        uint32_t name = name_of(s, text), caller = random_next(&seed) % (count < 400 ? count : 400), known = 1;
        while (known < count && (callers[known] != caller || names[known] != name)) known++;
        if (known == count && count == COUNT) continue;
        assert_int_equal(hd_stacks_push(s, caller, name, HD_FRAME_NATIVE), known);
        if (known < count) continue;
        callers[count] = caller;
        names[count++] = name;
    }
    assert_int_equal(hd_stacks_count(s), count);
    for (uint32_t i = 1; i < count; i++) assert_int_equal(hd_stacks_at(s, i).caller, callers[i]);
    hd_stacks_free(s);
}

/* ---- stackFrames ---- */

typedef struct opened {
    hd_trace *trace;
    hd_trace_stacks *stacks;
} opened;

static opened open_text(const char *json, size_t size)
{
    opened o;
    hd_error err = {0};
    assert_int_equal(read_text(&o.trace, json, size, NULL, 0, &err), HD_OK);
    if (hd_trace_stacks_new(&o.stacks, o.trace, &err) != HD_OK) fail_msg("%s", err.message);
    return o;
}

static void close_it(opened *o)
{
    hd_trace_stacks_free(o->stacks);
    hd_trace_free(o->trace);
}

/* A trace whose events' `sf` are the values in `sfs`, comma by comma, with such frames. */
static opened open_frames(const char *frames, const char *sfs)
{
    hd_json_out out = {0};
    hd_json_put_text(&out, "{\"traceEvents\":[");
    for (const char *p = sfs; *p;) {
        size_t size = strcspn(p, ",");
        hd_json_put_text(&out, p == sfs ? "" : ",");
        hd_json_put_text(&out, "{\"ph\":\"P\",\"name\":\"cycles\",\"pid\":1,\"tid\":2,\"ts\":5,\"sf\":");
        hd_json_put(&out, p, size);
        hd_json_put_text(&out, "}");
        p += size + (p[size] == ',');
    }
    hd_json_put_text(&out, "],\"stackFrames\":");
    hd_json_put_text(&out, frames);
    hd_json_put_text(&out, "}");
    opened o = open_text(out.data, out.size);
    free(out.data);
    return o;
}

/* The stack of the n-th sample. */
static const char *stack_of(const opened *o, uint64_t row)
{
    uint32_t at;
    hd_event event;
    const hd_block *block = hd_trace_block_of(&at, o->trace, HD_KIND_SAMPLE, row);
    hd_block_event(&event, block, at);
    return path_of(hd_trace_stacks_tree(o->stacks), hd_trace_stacks_of(o->stacks, &event));
}

static void test_trace_stacks__ids_are_numbers_or_strings(void **state)
{
    (void)state;
    opened o =
        open_frames("{\"1\":{\"name\":\"main\"},\"2\":{\"name\":\"f\",\"parent\":1},"
                    "\"3\":{\"name\":\"g\",\"parent\":\"2\",\"category\":\"os\"},"
                    "\"a b\":{\"name\":\"h\",\"parent\":3.0},\"007\":{\"name\":\"bond\"},\"-4\":{\"name\":\"minus\"}}",
                    "3,\"3\",\"a b\",7,\"007\",2.0,-4,99999999999999999999,1.5,null,[3],true");
    assert_string_equal(stack_of(&o, 0), "main;f;g");
    assert_string_equal(stack_of(&o, 1), "main;f;g");
    assert_string_equal(stack_of(&o, 2), "main;f;g;h");
    assert_string_equal(stack_of(&o, 3), "");
    assert_string_equal(stack_of(&o, 4), "bond");
    assert_string_equal(stack_of(&o, 5), "main;f");
    assert_string_equal(stack_of(&o, 6), "minus");
    for (uint64_t i = 7; i < 12; i++) assert_string_equal(stack_of(&o, i), "");
    assert_int_equal(hd_trace_stacks_damaged(o.stacks), 0);
    assert_int_equal(hd_stacks_at(hd_trace_stacks_tree(o.stacks), 3).kind, HD_FRAME_OS);
    close_it(&o);
}

static void test_trace_stacks__callers_may_come_behind(void **state)
{
    (void)state;
    opened o = open_frames("{\"9\":{\"parent\":8,\"name\":\"c\"},\"8\":{\"parent\":5,\"name\":\"b\"},"
                           "\"5\":{\"name\":\"a\"},\"6\":{\"name\":\"b\",\"parent\":5}}",
                           "9,6,8");
    assert_string_equal(stack_of(&o, 0), "a;b;c");
    assert_string_equal(stack_of(&o, 1), "a;b");
    assert_int_equal(hd_stacks_count(hd_trace_stacks_tree(o.stacks)), 4); /* 6 and 8 are one */
    assert_int_equal(hd_trace_stacks_damaged(o.stacks), 0);
    close_it(&o);
}

static void test_trace_stacks__names_may_be_escaped(void **state)
{
    (void)state;
    opened o = open_frames("{\"\\u0031\":{\"name\":\"a\\u0041\\\"\\n\",\"category\":\"os\"},"
                           "\"2\":{\"name\":\"b\",\"parent\":\"\\u0031\"}}",
                           "2,\"1\"");
    assert_string_equal(stack_of(&o, 0), "aA\"\n;b");
    close_it(&o);
}

static void test_trace_stacks__a_missing_caller_is_unknown(void **state)
{
    (void)state;
    opened o = open_frames("{\"1\":{\"name\":\"a\",\"parent\":7},\"2\":{\"name\":\"b\",\"parent\":1},"
                           "\"3\":{\"name\":\"c\",\"parent\":{}},\"4\":{\"name\":\"d\",\"parent\":null},"
                           "\"5\":{\"name\":\"e\",\"parent\":\"x\"},\"6\":{\"name\":\"f\",\"parent\":1e99}}",
                           "2,3,4,5,6");
    assert_string_equal(stack_of(&o, 0), "[unknown];a;b");
    assert_string_equal(stack_of(&o, 1), "[unknown];c");
    assert_string_equal(stack_of(&o, 2), "d");
    assert_string_equal(stack_of(&o, 3), "[unknown];e");
    assert_string_equal(stack_of(&o, 4), "[unknown];f");
    assert_int_equal(hd_trace_stacks_damaged(o.stacks), 4);
    close_it(&o);
}

static void test_trace_stacks__circles_are_opened(void **state)
{
    (void)state;
    opened o = open_frames("{\"0\":{\"name\":\"z\",\"parent\":1},\"1\":{\"name\":\"a\",\"parent\":2},"
                           "\"2\":{\"name\":\"b\",\"parent\":3},\"3\":{\"name\":\"c\",\"parent\":1},"
                           "\"4\":{\"name\":\"self\",\"parent\":4}}",
                           "0,1,2,3,4");
    assert_string_equal(stack_of(&o, 0), "[unknown];c;b;a;z");
    assert_string_equal(stack_of(&o, 3), "[unknown];c");
    assert_string_equal(stack_of(&o, 4), "[unknown];self");
    assert_int_equal(hd_trace_stacks_damaged(o.stacks), 4); /* not 0, which is only called from the circle */
    close_it(&o);
}

static void test_trace_stacks__frames_of_wrong_types_are_unknown(void **state)
{
    (void)state;
    opened o = open_frames("{\"1\":7,\"2\":{\"name\":5,\"parent\":6},\"3\":[],\"4\":{},\"5\":{\"name\":\"\"},"
                           "\"6\":{\"name\":\"a\",\"category\":[1],\"x\":{\"name\":\"n\"}},\"7\":null,"
                           "\"8\":{\"name\":\"last\",\"parent\":2}}",
                           "1,2,3,4,5,6,7,8");
    assert_string_equal(stack_of(&o, 0), "[unknown]");
    assert_string_equal(stack_of(&o, 1), "a;[unknown]");
    assert_string_equal(stack_of(&o, 4), "[unknown]");
    assert_string_equal(stack_of(&o, 5), "a");
    assert_string_equal(stack_of(&o, 7), "a;[unknown];last");
    assert_int_equal(hd_trace_stacks_damaged(o.stacks), 6);
    close_it(&o);
}

static void test_trace_stacks__of_equal_ids_the_last_counts(void **state)
{
    (void)state;
    opened o = open_frames("{\"1\":{\"name\":\"a\"},\"2\":{\"name\":\"b\",\"parent\":1},\"1\":{\"name\":\"c\"}}", "2");
    assert_string_equal(stack_of(&o, 0), "c;b");
    assert_int_equal(hd_trace_stacks_damaged(o.stacks), 1);
    close_it(&o);
}

static void test_trace_stacks__what_is_no_object_is_an_error(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "[1]",
        "7",
        "\"x\"",
        "{\"1\":{\"name\":\"a\"}",
        "{\"1\"}",
        "{\"1\":{\"name\":\"a\"},}",
        "{\"1\":{\"name\":}}",
        "{} {}",
        "{",
        "{\"",
        "{\"1\":",
        "{\"1\":{\"name\":\"a\" \"b\":1}}",
        "nul",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hd_builder *b;
        hd_trace *trace;
        hd_trace_stacks *stacks;
        hd_error err = {0};
        assert_int_equal(hd_builder_new(&b, NULL), HD_OK);
        hd_builder_metadata(b, hd_builder_intern_text(b, "stackFrames"), hd_builder_intern_text(b, bad[i]), true);
        assert_int_equal(hd_builder_finish(&trace, b, NULL), HD_OK);
        if (hd_trace_stacks_new(&stacks, trace, &err) != HD_ERR_DAMAGED) fail_msg("%s", bad[i]);
        assert_null(stacks);
        hd_trace_free(trace);
    }
}

static void test_trace_stacks__a_trace_without_frames_has_the_empty_stack(void **state)
{
    (void)state;
    const char json[] = "[{\"ph\":\"P\",\"name\":\"c\",\"pid\":1,\"tid\":2,\"ts\":5,\"sf\":1}]";
    opened o = open_text(json, sizeof json - 1);
    assert_string_equal(stack_of(&o, 0), "");
    assert_int_equal(hd_stacks_count(hd_trace_stacks_tree(o.stacks)), 1);
    close_it(&o);
    hd_trace_stacks_free(NULL);
}

/* ---- much ---- */

static void test_trace_stacks__very_many_frames_deep_is_fine(void **state)
{
    (void)state;
    enum { DEEP = HD_TEST_BY_BUILD(1000000, 200000) }; /* a call for each would not fit on a stack of 8 MB either */
    for (int way = 0; way < 3; way++) {                /* callers before, behind, and all in one circle */
        hd_json_out out = {0};
        hd_json_put_text(&out, "{\"traceEvents\":[],\"stackFrames\":{\"0\":{\"name\":\"root\"");
        if (way == 2) hd_json_put_text(&out, ",\"parent\":1");
        for (int i = 1; i < DEEP; i++) {
            int64_t parent = way == 0 ? i - 1 : (i + 1) % DEEP;
            hd_json_put_text(&out, "},\"");
            hd_json_put_int(&out, i);
            hd_json_put_text(&out, "\":{\"name\":\"f\",\"parent\":");
            hd_json_put_int(&out, parent);
        }
        hd_json_put_text(&out, "}}}");
        opened o = open_text(out.data, out.size);
        const hd_stacks *tree = hd_trace_stacks_tree(o.stacks);
        uint32_t deepest = 0;
        for (uint32_t i = 0; i < hd_stacks_count(tree); i++) {
            if (hd_stacks_at(tree, i).depth > deepest) deepest = hd_stacks_at(tree, i).depth;
            assert_true(i == 0 || hd_stacks_at(tree, i).caller < i);
        }
        assert_int_equal(deepest, way == 2 ? DEEP + 1 : DEEP);
        assert_int_equal(hd_trace_stacks_damaged(o.stacks), way == 2 ? DEEP : 0);
        close_it(&o);
        free(out.data);
    }
}

/* ---- saving ---- */

static hd_stacks *copy_of(const hd_stacks *tree)
{
    hd_stacks *copy;
    assert_int_equal(hd_stacks_new(&copy, NULL), HD_OK);
    for (uint32_t i = 1; i < hd_stacks_count(tree); i++) {
        hd_frame frame = hd_stacks_at(tree, i);
        hd_string name = hd_stacks_text(tree, frame.name);
        assert_int_equal(hd_stacks_push(copy, frame.caller, hd_stacks_name(copy, name.data, name.size), frame.kind), i);
    }
    return copy;
}

/* A trace with a random tree and a sample per node; the tree stays with the caller, the trace may keep a copy of it. */
static hd_trace *random_samples(hd_stacks *tree, bool keep, uint64_t *seed)
{
    hd_builder *b;
    hd_batch *batch;
    hd_chunk *chunk;
    hd_trace *trace;
    assert_int_equal(hd_builder_new(&b, NULL), HD_OK);
    assert_int_equal(hd_batch_new(&batch, b, NULL), HD_OK);
    uint32_t pushes = random_next(seed) % 300;
    for (uint32_t i = 0; i < pushes; i++) {
        static const char *const names[] = {"main", "f;g", "\"q\"", "a\nb", "n\xc3\xa4h", "<&>", "x", "operator()"};
        hd_stacks_push(tree, random_next(seed) % hd_stacks_count(tree), name_of(tree, names[random_next(seed) % 8]),
                       (hd_frame_kind)(random_next(seed) % HD_FRAME_KINDS));
    }
    hd_arg_key key = {.key = hd_builder_intern_text(b, "sf"), .type = HD_ARG_INT, .scope = HD_SCOPE_EVENT};
    hd_row row = hd_row_of(HD_KIND_SAMPLE, 'P');
    row.shape = hd_builder_shape(b, &key, 1, false);
    row.name = hd_builder_intern_text(b, "cycles");
    row.track = hd_builder_thread(b, 1, 2);
    for (int64_t i = 0; i < hd_stacks_count(tree); i++) {
        row.start_ns = i * 1000;
        assert_int_equal(hd_batch_add(batch, &row, &i, NULL), HD_OK);
    }
    assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
    assert_int_equal(hd_builder_append(b, chunk, NULL), HD_OK);
    hd_batch_free(batch);
    assert_int_equal(hd_stacks_save(tree, b, NULL), HD_OK);
    assert_int_equal(hd_stacks_save(tree, b, NULL), HD_OK); /* in place of the first */
    if (keep) assert_int_equal(hd_stacks_give(copy_of(tree), b, NULL), HD_OK);
    assert_int_equal(hd_builder_finish(&trace, b, NULL), HD_OK);
    return trace;
}

static void check_samples(const hd_trace *trace, const hd_stacks *tree)
{
    hd_trace_stacks *stacks;
    char expected[512];
    assert_int_equal(hd_trace_stacks_new(&stacks, trace, NULL), HD_OK);
    assert_int_equal(hd_trace_stacks_damaged(stacks), 0);
    assert_int_equal(hd_stacks_count(hd_trace_stacks_tree(stacks)), hd_stacks_count(tree));
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SAMPLE), hd_stacks_count(tree));
    for (uint32_t i = 0; i < hd_stacks_count(tree); i++) {
        uint32_t at;
        hd_event event;
        const hd_block *block = hd_trace_block_of(&at, trace, HD_KIND_SAMPLE, i);
        hd_block_event(&event, block, at);
        uint32_t node = hd_trace_stacks_of(stacks, &event);
        snprintf(expected, sizeof expected, "%s", path_of(tree, i));
        assert_string_equal(path_of(hd_trace_stacks_tree(stacks), node), expected);
        assert_int_equal(hd_stacks_at(hd_trace_stacks_tree(stacks), node).kind, hd_stacks_at(tree, i).kind);
    }
    hd_trace_stacks_free(stacks);
}

static hd_trace *through(const hd_trace *trace, const char *path)
{
    hd_trace *back;
    hd_error err = {0};
    if (hd_trace_write(trace, path, NULL, &err) != HD_OK) fail_msg("%s", err.message);
    assert_int_equal(hd_trace_read(&back, path, NULL, NULL), HD_OK);
    unlink(path);
    return back;
}

static void test_trace_stacks__json_and_store_keep_them(void **state)
{
    (void)state;
    uint64_t seed = hd_test_seed(3);
    char json[64], store[64];
    snprintf(json, sizeof json, "/tmp/test-stacks-%ld.json", (long)getpid());
    snprintf(store, sizeof store, "/tmp/test-stacks-%ld.heddle", (long)getpid());
    for (int round = 0; round < 20; round++) {
        hd_stacks *tree;
        assert_int_equal(hd_stacks_new(&tree, NULL), HD_OK);
        hd_trace *first = random_samples(tree, round % 2, &seed), *second = through(first, json),
                 *third = through(second, store), *fourth = through(third, json);
        check_samples(first, tree);
        check_samples(second, tree);
        check_samples(third, tree);
        check_samples(fourth, tree);
        hd_string a = hd_trace_metadata_find(first, "stackFrames"), z = hd_trace_metadata_find(fourth, "stackFrames");
        assert_int_equal(a.size, z.size);
        assert_memory_equal(a.data, z.data, a.size);
        hd_trace_free(first);
        hd_trace_free(second);
        hd_trace_free(third);
        hd_trace_free(fourth);
        hd_stacks_free(tree);
    }
}

static void test_stacks__a_tree_upon_another_grows_on_its_own(void **state)
{
    (void)state;
    hd_stacks *tree, *upon[2], *other;
    assert_int_equal(hd_stacks_new(&tree, NULL), HD_OK);
    for (uint32_t i = 0; i < 5000; i++) {
        char text[16];
        snprintf(text, sizeof text, "f%u", i % 70);
        push(tree, i / 10, text);
    }
    uint32_t count = hd_stacks_count(tree);
    hd_stacks *whole = copy_of(tree);
    assert_int_equal(hd_stacks_new(&other, NULL), HD_OK);
    assert_false(hd_stacks_stand_upon(other, tree)); /* which may still grow */
    hd_stacks_freeze(tree);
    name_of(other, "other");
    assert_false(hd_stacks_stand_upon(other, tree)); /* its ids are taken */
    hd_stacks_free(other);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hd_stacks_new(&upon[i], NULL), HD_OK);
        assert_true(hd_stacks_stand_upon(upon[i], tree));
        assert_false(hd_stacks_stand_upon(upon[i], tree));
    }
    hd_stacks_free(tree); /* the others hold it */
    uint64_t seed = hd_test_seed(11);
    for (int i = 0; i < 20000; i++) {
        char text[16];
        snprintf(text, sizeof text, "f%u", random_next(&seed) % 75); /* old frames and new ones */
        uint32_t caller = random_next(&seed) % hd_stacks_count(whole), expected = push(whole, caller, text);
        assert_int_equal(push(upon[0], caller, text), expected);
        if (i % 500 == 0) hd_stacks_rest(upon[0]); /* and goes on */
        if (i % 500 == 0) hd_stacks_rest(whole);
        assert_int_equal(hd_stacks_count(upon[1]), count);
    }
    assert_int_equal(hd_stacks_count(upon[0]), hd_stacks_count(whole));
    assert_true(hd_stacks_count(whole) > count + 4000);
    for (uint32_t n = 0; n < hd_stacks_count(whole); n++) {
        hd_frame a = hd_stacks_at(whole, n), b = hd_stacks_at(upon[0], n);
        assert_int_equal(a.caller, b.caller);
        assert_int_equal(a.depth, b.depth);
        assert_int_equal(a.kind, b.kind);
        hd_string x = hd_stacks_text(whole, a.name), y = hd_stacks_text(upon[0], b.name);
        assert_int_equal(x.size, y.size);
        assert_memory_equal(x.data, y.data, x.size);
    }
    for (int i = 0; i < 2; i++) hd_stacks_free(upon[i]);
    hd_stacks_free(whole);
}

/* ---- kept by the trace ---- */

/* Trees whose text says something else than they: of a name that is none, and of bytes that are not UTF-8. */
static hd_stacks *odd_tree(int which)
{
    hd_stacks *tree;
    assert_int_equal(hd_stacks_new(&tree, NULL), HD_OK);
    uint32_t f = push(tree, HD_STACK_NONE, "f");
    push(tree, push(tree, f, which ? "b\xff" : ""), "leaf");
    return tree;
}

static hd_trace *trace_with(hd_stacks *tree, bool keep)
{
    hd_builder *b;
    hd_trace *trace;
    assert_int_equal(hd_builder_new(&b, NULL), HD_OK);
    hd_builder_metadata(b, hd_builder_intern_text(b, "first"), hd_builder_intern_text(b, "1"), false);
    if (keep)
        assert_int_equal(hd_stacks_give(copy_of(tree), b, NULL), HD_OK);
    else
        assert_int_equal(hd_stacks_save(tree, b, NULL), HD_OK);
    for (int i = 0; i < 3000; i++) { /* the table of strings grows */
        char text[16];
        snprintf(text, sizeof text, "s%d", i);
        hd_builder_intern_text(b, text);
    }
    hd_builder_metadata(b, hd_builder_intern_text(b, "last"), hd_builder_intern(b, "", 0), true);
    assert_int_equal(hd_builder_finish(&trace, b, NULL), HD_OK);
    return trace;
}

static void test_kept_stacks__metadata_is_as_if_it_were_saved(void **state)
{
    (void)state;
    uint64_t seed = hd_test_seed(7);
    for (int round = 0; round < 30; round++) {
        hd_stacks *tree = round < 2 ? odd_tree(round) : NULL;
        if (!tree) {
            assert_int_equal(hd_stacks_new(&tree, NULL), HD_OK);
            hd_trace_free(random_samples(tree, false, &seed));
        }
        hd_trace *saved = trace_with(tree, false), *kept = trace_with(tree, true);
        hd_trace_stacks *x, *y;
        assert_int_equal(hd_trace_stacks_new(&x, saved, NULL), HD_OK);
        assert_int_equal(hd_trace_stacks_new(&y, kept, NULL), HD_OK);
        assert_int_equal(hd_trace_stacks_damaged(x), hd_trace_stacks_damaged(y));
        assert_int_equal(hd_trace_stacks_last_id(x), hd_trace_stacks_last_id(y));
        const hd_stacks *a = hd_trace_stacks_tree(x), *b = hd_trace_stacks_tree(y);
        assert_int_equal(hd_stacks_count(a), hd_stacks_count(b));
        for (uint32_t n = 1; n < hd_stacks_count(a); n++) {
            char path[512];
            snprintf(path, sizeof path, "%s", path_of(a, n));
            assert_string_equal(path, path_of(b, n));
            assert_int_equal(hd_stacks_at(a, n).kind, hd_stacks_at(b, n).kind);
        }
        assert_int_equal(hd_trace_string_count(saved), hd_trace_string_count(kept));
        assert_int_equal(hd_trace_metadata_count(saved), hd_trace_metadata_count(kept));
        for (size_t i = 0; i < hd_trace_metadata_count(saved); i++) {
            const hd_metadata *m = hd_trace_metadata_at(saved, i), *n = hd_trace_metadata_at(kept, i);
            hd_string s = hd_trace_string(saved, m->value), t = hd_trace_string(kept, n->value);
            assert_int_equal(m->key, n->key);
            assert_int_equal(m->after_events, n->after_events);
            assert_int_equal(s.size, t.size);
            assert_memory_equal(s.data, t.data, s.size);
            if (s.size == 0) assert_int_equal(n->value, hd_trace_find_string(kept, "", 0));
        }
        hd_trace_stacks_free(x);
        hd_trace_stacks_free(y);
        hd_trace_free(saved);
        hd_trace_free(kept);
        hd_stacks_free(tree);
    }
}

static void test_kept_stacks__text_that_takes_their_place_counts(void **state)
{
    (void)state;
    hd_builder *b;
    hd_trace *trace;
    hd_trace_stacks *stacks;
    for (int way = 0; way < 3; way++) {
        hd_stacks *tree, *more;
        assert_int_equal(hd_builder_new(&b, NULL), HD_OK);
        assert_int_equal(hd_stacks_new(&tree, NULL), HD_OK);
        assert_int_equal(hd_stacks_new(&more, NULL), HD_OK);
        push(tree, HD_STACK_NONE, "old");
        push(more, HD_STACK_NONE, "new");
        assert_int_equal(hd_stacks_give(tree, b, NULL), HD_OK);
        if (way == 0) assert_int_equal(hd_stacks_save(more, b, NULL), HD_OK);
        if (way == 1) assert_int_equal(hd_stacks_save_from(more, 1, true, b, NULL), HD_OK);
        if (way == 2) assert_int_equal(hd_stacks_give(copy_of(more), b, NULL), HD_OK);
        hd_stacks_free(more);
        assert_int_equal(hd_builder_finish(&trace, b, NULL), HD_OK);
        assert_int_equal(hd_trace_metadata_count(trace), 1);
        assert_int_equal(hd_trace_stacks_new(&stacks, trace, NULL), HD_OK);
        assert_int_equal(hd_stacks_count(hd_trace_stacks_tree(stacks)), way == 1 ? 3 : 2);
        assert_string_equal(path_of(hd_trace_stacks_tree(stacks), 1), way == 1 ? "old" : "new");
        if (way == 1) assert_string_equal(path_of(hd_trace_stacks_tree(stacks), 2), "new");
        hd_trace_stacks_free(stacks);
        hd_trace_free(trace);
    }
}

typedef struct asker {
    const hd_trace *trace;
    hd_string text;
} asker;

static void *ask(void *user)
{
    asker *a = user;
    a->text = hd_trace_metadata_find(a->trace, "stackFrames");
    return NULL;
}

static void test_kept_stacks__threads_that_ask_get_one_text(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    for (int round = 0; round < 20; round++) {
        hd_stacks *tree;
        assert_int_equal(hd_stacks_new(&tree, NULL), HD_OK);
        uint32_t node = HD_STACK_NONE;
        for (int i = 0; i < 2000; i++) node = push(tree, node, i % 3 ? "f" : "g");
        hd_trace *trace = trace_with(tree, true);
        asker askers[THREADS];
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            askers[i] = (asker){trace, {NULL, 0}};
            assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (int i = 0; i < THREADS; i++) {
            assert_ptr_equal(askers[i].text.data, askers[0].text.data);
            assert_int_equal(askers[i].text.size, askers[0].text.size);
        }
        assert_memory_equal(askers[0].text.data, "{\"1\":{\"name\":\"g\",\"category\":\"native\"},", 38);
        hd_trace_free(trace);
        hd_stacks_free(tree);
    }
}

static void test_trace_stacks__damaged_text_never_hangs(void **state)
{
    (void)state;
    const char frames[] = "{\"1\":{\"name\":\"a\",\"parent\":2},\"2\":{\"name\":\"b\\u0041\",\"category\":\"os\"},"
                          "\"x\":{\"parent\":\"1\",\"name\":\"c\"}}";
    uint64_t seed = hd_test_seed(9);
    for (int round = 0; round < 4000; round++) {
        char text[sizeof frames + 64];
        size_t size = sizeof frames - 1;
        memcpy(text, frames, size);
        size = round < (int)size ? (size_t)round : random_damage(text, size, 0, size, &seed);
        hd_builder *b;
        hd_trace *trace;
        hd_trace_stacks *stacks;
        assert_int_equal(hd_builder_new(&b, NULL), HD_OK);
        hd_builder_metadata(b, hd_builder_intern_text(b, "stackFrames"), hd_builder_intern(b, text, size), true);
        assert_int_equal(hd_builder_finish(&trace, b, NULL), HD_OK);
        hd_status status = hd_trace_stacks_new(&stacks, trace, NULL);
        assert_true(status == HD_OK || status == HD_ERR_DAMAGED);
        if (round < (int)sizeof frames - 1) assert_int_equal(status, round ? HD_ERR_DAMAGED : HD_OK);
        hd_trace_stacks_free(stacks);
        hd_trace_free(trace);
    }
}

static void test_trace_stacks__real_frames_are_read(void **state)
{
    (void)state;
    char path[1024];
    hd_trace *trace;
    hd_trace_stacks *stacks;
    snprintf(path, sizeof path, "%s/../shared/data/chrome/perf_sampling_trace_with_trace_events.json.gz",
             getenv("HEDDLE_SOURCE_ROOT") ? getenv("HEDDLE_SOURCE_ROOT") : ".");
    if (access(path, R_OK) != 0) {
        print_message("skipped: no %s\n", path);
        skip();
    }
    assert_int_equal(hd_trace_read(&trace, path, NULL, NULL), HD_OK);
    assert_int_equal(hd_trace_stacks_new(&stacks, trace, NULL), HD_OK);
    assert_int_equal(hd_trace_stacks_damaged(stacks), 0);
    assert_int_equal(hd_stacks_count(hd_trace_stacks_tree(stacks)), 13373); /* of 13408 frames 36 are twins */
    hd_trace_stacks_free(stacks);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacks__equal_frames_under_one_caller_are_one_node),
        cmocka_unit_test(test_stacks__failures_pass_through_a_row_of_calls),
        cmocka_unit_test(test_stacks__the_first_call_gives_a_node_its_kind),
        cmocka_unit_test(test_stacks__random_pushes_agree_with_a_list),
        cmocka_unit_test(test_trace_stacks__ids_are_numbers_or_strings),
        cmocka_unit_test(test_trace_stacks__callers_may_come_behind),
        cmocka_unit_test(test_trace_stacks__names_may_be_escaped),
        cmocka_unit_test(test_trace_stacks__a_missing_caller_is_unknown),
        cmocka_unit_test(test_trace_stacks__circles_are_opened),
        cmocka_unit_test(test_trace_stacks__frames_of_wrong_types_are_unknown),
        cmocka_unit_test(test_trace_stacks__of_equal_ids_the_last_counts),
        cmocka_unit_test(test_trace_stacks__what_is_no_object_is_an_error),
        cmocka_unit_test(test_trace_stacks__a_trace_without_frames_has_the_empty_stack),
        cmocka_unit_test(test_trace_stacks__very_many_frames_deep_is_fine),
        cmocka_unit_test(test_trace_stacks__json_and_store_keep_them),
        cmocka_unit_test(test_stacks__a_tree_upon_another_grows_on_its_own),
        cmocka_unit_test(test_kept_stacks__metadata_is_as_if_it_were_saved),
        cmocka_unit_test(test_kept_stacks__text_that_takes_their_place_counts),
        cmocka_unit_test(test_kept_stacks__threads_that_ask_get_one_text),
        cmocka_unit_test(test_trace_stacks__damaged_text_never_hangs),
        cmocka_unit_test(test_trace_stacks__real_frames_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
