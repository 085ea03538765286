/* test_xctrace.c - XML that is refused as an export of xctrace, or is one long token; test_importers.c has the
 * fixtures */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "growth.h"
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

/* An export with one row, whose only value has so many bytes as its text. */
static double read_long_attribute(void *context, size_t size)
{
    static const char head[] =
        "<?xml version=\"1.0\"?><trace-query-result><node xpath=\"//trace-toc[1]/run[1]/data[1]/table[1]\"><schema "
        "name=\"os-signpost\"><col><mnemonic>time</mnemonic><name>T</name><engineering-type>event-time"
        "</engineering-type></col></schema><row><event-time id=\"1\" fmt=\"";
    static const char tail[] = "\">5</event-time></row></node></trace-query-result>";
    (void)context;
    char *text = malloc(sizeof head + size + sizeof tail);
    assert_non_null(text);
    memcpy(text, head, sizeof head - 1);
    memset(text + sizeof head - 1, 'x', size);
    memcpy(text + sizeof head - 1 + size, tail, sizeof tail - 1);
    hd_trace *trace;
    hd_error err = {0};
    double start = hd_test_cpu_seconds();
    assert_int_equal(read_text(&trace, text, sizeof head + size + sizeof tail - 2, &read_fast, 0, &err), HD_OK);
    double taken = hd_test_cpu_seconds() - start;
    assert_int_equal(hd_trace_event_count(trace), 1);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    hd_trace_free(trace);
    free(text);
    return taken;
}

static void test_xctrace__a_long_attribute_takes_linear_time(void **state)
{
    (void)state;
    hd_test_assert_linear("an attribute", read_long_attribute, NULL, 3 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xctrace__a_document_type_is_refused),
        cmocka_unit_test(test_xctrace__a_long_attribute_takes_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
