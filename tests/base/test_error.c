/* test_error.c - errors: the first failure stays, levels above add what they were doing, and one line tells it all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "heddle/status.h"

static const char *text_of(const hd_error *err)
{
    static char text[HD_ERROR_TEXT_BYTES];
    return hd_error_text(text, sizeof text, err);
}

static void test_error__text_is_path_offset_and_message(void **state)
{
    (void)state;
    hd_error err = {0};
    hd_error_set(&err, HD_ERR_DAMAGED, "a.json", 812, "found %d", 3);
    assert_string_equal(text_of(&err), "a.json: at byte 812: found 3");
    err = (hd_error){0};
    hd_error_set(&err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    assert_string_equal(text_of(&err), "out of memory");
}

static void test_error__causes_stand_before_it_outermost_first(void **state)
{
    (void)state;
    hd_error err = {0};
    hd_error_set(&err, HD_ERR_DAMAGED, NULL, 812, "its checksum differs");
    hd_error_add_cause(&err, "block %d", 3);
    hd_error_add_cause(&err, "cannot convert a.heddle");
    assert_string_equal(text_of(&err), "cannot convert a.heddle: block 3: at byte 812: its checksum differs");
}

static void test_error__path_is_told_once(void **state)
{
    (void)state;
    hd_error err = {0};
    hd_error_set(&err, HD_ERR_IO, "a.json", HD_OFFSET_NONE, "cannot read");
    hd_error_add_cause(&err, "cannot merge");
    assert_string_equal(text_of(&err), "cannot merge: a.json: cannot read");
    hd_error_add_cause(&err, "cannot convert a.json");
    assert_string_equal(text_of(&err), "cannot convert a.json: cannot merge: cannot read");
}

static void test_error__first_failure_and_first_causes_stay(void **state)
{
    (void)state;
    hd_error err = {0};
    hd_error_add_cause(&err, "nothing has failed");
    assert_string_equal(text_of(&(hd_error){.offset = HD_OFFSET_NONE}), "ok");
    hd_error_set(&err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "first");
    hd_error_set(&err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "second");
    for (int i = 1; i <= HD_ERROR_CAUSES + 1; i++) hd_error_add_cause(&err, "%d", i);
    assert_int_equal(err.status, HD_ERR_IO);
    assert_string_equal(text_of(&err), "3: 2: 1: first");
}

/* The longest error fits, and a short buffer is filled and terminated. */
static void test_error__text_is_cut_to_its_room(void **state)
{
    (void)state;
    char longest[512], text[HD_ERROR_TEXT_BYTES], little[8];
    hd_error err = {0};
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    hd_error_set(&err, HD_ERR_IO, "/a", 18446744073709551614u, "%s", longest);
    memset(err.path + 1, 'p', sizeof err.path - 2);
    for (int i = 0; i < HD_ERROR_CAUSES; i++) hd_error_add_cause(&err, "%s", longest);
    size_t size = strlen(hd_error_text(text, sizeof text, &err));
    assert_int_equal(size, 4 * 255 + 3 * 2 + 255 + 2 + strlen("at byte 18446744073709551614: "));
    assert_true(size < HD_ERROR_TEXT_BYTES);
    assert_string_equal(hd_error_text(little, sizeof little, &err), "xxxxxxx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error__text_is_path_offset_and_message),
        cmocka_unit_test(test_error__causes_stand_before_it_outermost_first),
        cmocka_unit_test(test_error__path_is_told_once),
        cmocka_unit_test(test_error__first_failure_and_first_causes_stay),
        cmocka_unit_test(test_error__text_is_cut_to_its_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
