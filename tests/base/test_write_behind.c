/* Text made by one thread and written by another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io/write_behind.h"

static void test_write_behind__everything_arrives_in_order(void **state)
{
    (void)state;
    enum { PIECES = 500 };
    char path[] = "/tmp/heddle-behind-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    hd_output *output;
    hd_error err = {0};
    hd_write_behind behind;
    hd_json_out text = {0};
    assert_int_equal(hd_output_create(&output, path, NULL, &err), HD_OK);
    hd_write_behind_init(&behind, output);
    for (int i = 0; i < PIECES; i++) {
        for (int n = 0; n <= i % 97; n++) hd_json_put_int(&text, i);
        hd_json_put_text(&text, "\n");
        assert_int_equal(hd_write_behind_give(&behind, &text, &err), HD_OK);
        assert_int_equal(text.size, 0);
    }
    assert_int_equal(hd_write_behind_drain(&behind, &err), HD_OK);
    hd_write_behind_deinit(&behind);
    free(text.data);
    assert_int_equal(hd_output_commit(output, &err), HD_OK);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (int i = 0; i < PIECES; i++) {
        char line[512], expected[512], number[16];
        size_t size = 0;
        snprintf(number, sizeof number, "%d", i);
        for (int n = 0; n <= i % 97; n++)
            size += (size_t)snprintf(expected + size, sizeof expected - size, "%s", number);
        snprintf(expected + size, sizeof expected - size, "\n");
        assert_non_null(fgets(line, sizeof line, file));
        assert_string_equal(line, expected);
    }
    fclose(file);
    unlink(path);
}

static void test_write_behind__a_full_disk_is_told_by_a_later_call(void **state)
{
    (void)state;
    hd_output *output;
    hd_error err = {0};
    hd_write_behind behind;
    hd_json_out text = {0};
    char *megabytes = calloc(1, 1 << 21);
    assert_non_null(megabytes);
    assert_int_equal(hd_output_create(&output, "/dev/full", NULL, &err), HD_OK);
    hd_write_behind_init(&behind, output);
    hd_json_put(&text, megabytes, 1 << 21);
    assert_int_equal(hd_write_behind_give(&behind, &text, &err), HD_OK);
    assert_int_equal(hd_write_behind_drain(&behind, &err), HD_ERR_IO);
    assert_int_equal(err.status, HD_ERR_IO);
    hd_json_put_text(&text, "more");
    assert_int_equal(hd_write_behind_give(&behind, &text, &err), HD_ERR_IO);
    hd_write_behind_deinit(&behind);
    hd_output_abort(output);
    free(text.data);
    free(megabytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_behind__everything_arrives_in_order),
        cmocka_unit_test(test_write_behind__a_full_disk_is_told_by_a_later_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
