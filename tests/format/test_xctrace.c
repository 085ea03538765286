/* test_xctrace.c - XML that is refused as an export of xctrace; test_importers.c has the fixtures */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "read_text.h"

/* An entity of an entity of an entity has no bound. */
static void test_xctrace__a_document_type_is_refused(void **state)
{
    (void)state;
    static const char text[] = "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY b \"c\">]><trace-query-result><node><row>"
                               "<start-time>&b;</start-time></row></node></trace-query-result>";
    hd_trace *trace;
    hd_error err = {0};
    assert_int_equal(read_text(&trace, text, sizeof text - 1, &read_fast, 0, &err), HD_ERR_FORMAT);
    assert_non_null(strstr(err.message, "DOCTYPE"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xctrace__a_document_type_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
