/* test_json_stream.c - a document walked as it comes: whole, cut anywhere, and damaged */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json/stream.h"

typedef struct text_source {
    const char *data;
    size_t size, at, step;
} text_source;

static hd_status give(void *user, void *buffer, size_t capacity, size_t *out_size, hd_error *err)
{
    text_source *t = user;
    size_t left = t->size - t->at, n = left < t->step ? left : t->step;
    (void)err;
    if (n > capacity) n = capacity;
    memcpy(buffer, t->data + t->at, n);
    t->at += n;
    *out_size = n;
    return n ? HD_OK : HD_END;
}

typedef struct result {
    char text[4096];
    bool cut;
    uint64_t damaged, offset;
} result;

static void put(result *r, const char *data, size_t size)
{
    size_t at = strlen(r->text);
    assert_true(at + size + 1 < sizeof r->text);
    memcpy(r->text + at, data, size);
    r->text[at + size] = '\0';
}

/* Members of the document: "key=value " or "key[item item ]". */
static result walk(const char *text, size_t size, size_t step)
{
    static result r;
    text_source from = {text, size, 0, step};
    hd_byte_source *source;
    hd_input *input;
    hd_json_span key, value;
    memset(&r, 0, sizeof r);
    assert_int_equal(hd_byte_source_new_callback(&source, give, &from, "text", NULL), HD_OK);
    assert_int_equal(hd_input_open_source(&input, source, NULL, NULL), HD_OK);
    hd_json_stream s = {.input = input};
    if (hd_json_stream_enter(&s, '{', NULL) == HD_OK) {
        while (hd_json_stream_member(&s, &key, NULL) == HD_OK) {
            put(&r, key.data, key.size);
            if (hd_json_stream_enter(&s, '[', NULL) == HD_OK) {
                put(&r, "[", 1);
                while (hd_json_stream_item(&s, NULL) == HD_OK) {
                    if (hd_json_stream_value(&s, &value, NULL) != HD_OK) continue;
                    put(&r, value.data, value.size);
                    put(&r, " ", 1);
                }
                put(&r, "]", 1);
            } else if (hd_json_stream_value(&s, &value, NULL) == HD_OK) {
                put(&r, "=", 1);
                put(&r, value.data, value.size);
                put(&r, " ", 1);
            }
        }
    }
    r.cut = s.cut;
    r.damaged = s.damaged;
    r.offset = s.damage_offset;
    hd_json_stream_deinit(&s);
    hd_input_close(input);
    hd_byte_source_free(source);
    return r;
}

static const char whole[] =
    "{ \"a\" : [ {\"n\":1}, {\"n\":[2,{}]} ,{\"n\":\"]}\"}],\"b\":12.5,\"c\":[],\"d\":{\"x\":null}}";
static const char walked[] = "a[{\"n\":1} {\"n\":[2,{}]} {\"n\":\"]}\"} ]b=12.5 c[]d={\"x\":null} ";

static void test_json_stream__members_and_items_come_whole_however_the_bytes_do(void **state)
{
    (void)state;
    for (size_t step = 1; step < sizeof whole; step++) {
        result r = walk(whole, sizeof whole - 1, step);
        assert_string_equal(r.text, walked);
        assert_false(r.cut);
        assert_int_equal(r.damaged, 0);
    }
}

static void test_json_stream__a_cut_document_says_so_and_gives_what_stands_before(void **state)
{
    (void)state;
    size_t before = 0;
    for (size_t size = 1; size < sizeof whole - 1; size++) {
        result r = walk(whole, size, 7);
        assert_true(r.cut || r.damaged);
        size_t items = 0;
        for (const char *p = r.text; (p = strstr(p, "\"n\"")) != NULL; p++) items++;
        assert_true(items >= before);
        before = items;
    }
    assert_int_equal(before, 3);
}

static void expect(const char *text, const char *wanted, uint64_t damaged, bool cut)
{
    result r = walk(text, strlen(text), 5);
    assert_string_equal(r.text, wanted);
    assert_int_equal(r.damaged, damaged);
    assert_int_equal(r.cut, cut);
}

static void test_json_stream__damage_costs_its_own_element(void **state)
{
    (void)state;
    expect("{\"a\":[{\"n\":1},{\"n\":x},{\"n\":3}]}", "a[{\"n\":1} {\"n\":3} ]", 1, false);
    expect("{\"a\":[{\"n\":1}?{\"n\":2},{\"n\":3}]}", "a[{\"n\":1} {\"n\":3} ]", 1, false);
    expect("{\"a\":[{\"n\":1},,{\"n\":3}]}", "a[{\"n\":1} {\"n\":3} ]", 1, false);
    expect("{\"a\":[{\"n\":1},]}", "a[{\"n\":1} ]", 1, false);
    /* the last of a list; what looks like it in the next list is not taken for it */
    expect("{\"a\":[{\"n\":1},{\"n\":x}],\"b\":[{\"n\":3},{\"n\":4}]}", "a[{\"n\":1} ]b[{\"n\":3} {\"n\":4} ]", 1,
           false);
    /* a list that is none: on with the next */
    expect("{\"a\":?[{\"n\":1}],\"b\":[{\"n\":3}]}", "ab[{\"n\":3} ]", 1, false);
    expect("{\"a\":[{\"n\":1}],?:[{\"n\":2}],\"c\":[3]}", "a[{\"n\":1} ]c[3 ]", 1, false);
    expect("{\"a\":[{\"n\":\"\xff\"},{\"n\":3}]}", "a[{\"n\":3} ]", 1, false);
    expect("[1]", "", 0, false);
}

static void test_json_stream__changed_bits_never_hang(void **state)
{
    (void)state;
    char text[sizeof whole];
    memcpy(text, whole, sizeof whole);
    for (size_t bit = 0; bit < (sizeof whole - 1) * 8; bit++) {
        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
        walk(text, sizeof whole - 1, 3);
        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_stream__members_and_items_come_whole_however_the_bytes_do),
        cmocka_unit_test(test_json_stream__a_cut_document_says_so_and_gives_what_stands_before),
        cmocka_unit_test(test_json_stream__damage_costs_its_own_element),
        cmocka_unit_test(test_json_stream__changed_bits_never_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
