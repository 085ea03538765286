/* test_protobuf.c - messages of the protobuf wire format, written */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/protobuf/write.h"

static void assert_bytes(hd_bytes *out, const void *data, size_t size)
{
    assert_false(out->failed);
    assert_int_equal(out->size, size);
    assert_memory_equal(out->data, data, size);
    hd_bytes_deinit(out);
}

static void test_protobuf__each_wire_type_has_its_bytes(void **state)
{
    (void)state;
    hd_bytes out = {0};
    hd_pb_put_uint(&out, 1, 150);
    hd_pb_put_uint(&out, 16, 0);
    assert_bytes(&out, "\x08\x96\x01\x80\x01\x00", 6);
    hd_pb_put_int(&out, 2, -2);
    assert_bytes(&out, "\x10\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    hd_pb_put_fixed64(&out, 3, 0x0102030405060708);
    assert_bytes(&out, "\x19\x08\x07\x06\x05\x04\x03\x02\x01", 9);
    hd_pb_put_double(&out, 3, 1.0);
    assert_bytes(&out, "\x19\0\0\0\0\0\0\xf0\x3f", 9);
    hd_pb_put_text(&out, 2, "testing");
    hd_pb_put_bytes(&out, 3, "", 0);
    assert_bytes(&out, "\x12\x07testing\x1a\x00", 11);
}

static void test_protobuf__a_message_within_moves_up_for_its_length(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 125, 126, 127, 128, 16380, 16384, 70000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hd_bytes out = {0}, expected = {0}, inner = {0};
        char *text = malloc(sizes[i] + 1);
        for (size_t k = 0; k < sizes[i]; k++) text[k] = (char)(k * 7);
        hd_pb_put_bytes(&inner, 2, text, sizes[i]);
        hd_bytes outer = {0};
        hd_pb_put_bytes(&outer, 1, inner.data, inner.size);
        hd_pb_put_uint(&outer, 3, 5);
        hd_pb_put_bytes(&expected, 9, outer.data, outer.size);
        size_t first = hd_pb_begin(&out, 9), second = hd_pb_begin(&out, 1);
        hd_pb_put_bytes(&out, 2, text, sizes[i]);
        hd_pb_end(&out, second);
        hd_pb_put_uint(&out, 3, 5);
        hd_pb_end(&out, first);
        assert_bytes(&out, expected.data, expected.size);
        hd_bytes_deinit(&expected);
        hd_bytes_deinit(&inner);
        hd_bytes_deinit(&outer);
        free(text);
    }
}

static void test_protobuf__a_failed_buffer_stays_as_it_is(void **state)
{
    (void)state;
    hd_bytes out = {.failed = true};
    size_t mark = hd_pb_begin(&out, 1);
    hd_pb_put_text(&out, 1, "text");
    hd_pb_end(&out, mark);
    assert_true(out.failed);
    assert_int_equal(out.size, 0);
    assert_null(out.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_protobuf__each_wire_type_has_its_bytes),
        cmocka_unit_test(test_protobuf__a_message_within_moves_up_for_its_length),
        cmocka_unit_test(test_protobuf__a_failed_buffer_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
