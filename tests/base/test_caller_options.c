/* test_caller_options.c - options of programs that were built with an older or a newer release */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/options.h"

/* The struct as three releases had it. */
typedef struct first_options {
    size_t size;
    int a;
    int b;
} first_options;
typedef struct our_options {
    size_t size;
    int a;
    int b;
    int c;
    int reserved;
} our_options;
typedef struct later_options {
    size_t size;
    int a;
    int b;
    int c;
    int d;
    char text[16];
} later_options;

static hd_status copied(our_options *out, const void *options, hd_error *err)
{
    memset(out, 0xff, sizeof *out);
    return hd_options_copy(out, sizeof *out, sizeof(first_options), options, err);
}

static void test_options__none_are_zeros(void **state)
{
    (void)state;
    our_options out;
    assert_int_equal(copied(&out, NULL, NULL), HD_OK);
    assert_memory_equal(&out, &(our_options){0}, sizeof out);
}

/* The program's struct ends before our last members: nothing behind it is looked at. */
static void test_options__an_older_program_has_the_members_it_knows(void **state)
{
    (void)state;
    our_options out;
    struct {
        first_options options;
        int behind[4];
    } given = {{.a = 1, .b = 2}, {7, 7, 7, 7}};
    for (int sized = 0; sized < 2; sized++) {
        given.options.size = sized ? sizeof given.options : 0;
        assert_int_equal(copied(&out, &given.options, NULL), HD_OK);
        assert_int_equal(out.a, 1);
        assert_int_equal(out.b, 2);
        assert_int_equal(out.c, 0);
        assert_int_equal(out.size, sizeof out);
    }
}

static void test_options__members_of_this_release_count_with_their_size(void **state)
{
    (void)state;
    our_options out, given = {.size = sizeof given, .a = 1, .c = 3};
    assert_int_equal(copied(&out, &given, NULL), HD_OK);
    assert_int_equal(out.c, 3);
}

static void test_options__a_newer_program_may_set_nothing_that_is_not_known(void **state)
{
    (void)state;
    our_options out;
    hd_error err = {0};
    later_options given = {.size = sizeof given, .a = 1, .c = 3};
    assert_int_equal(copied(&out, &given, &err), HD_OK);
    assert_int_equal(out.c, 3);
    given.text[15] = 1; /* the last byte */
    assert_int_equal(copied(&out, &given, &err), HD_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "does not know"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options__none_are_zeros),
        cmocka_unit_test(test_options__an_older_program_has_the_members_it_knows),
        cmocka_unit_test(test_options__members_of_this_release_count_with_their_size),
        cmocka_unit_test(test_options__a_newer_program_may_set_nothing_that_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
