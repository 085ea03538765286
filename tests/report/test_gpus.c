/* test_gpus.c - tables of GPUs: which counts, what is refused, and limits */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/gpus.h"

static hd_gpus *own_table(void)
{
    hd_gpus *gpus;
    assert_int_equal(hd_gpus_new(&gpus, NULL), HD_OK);
    return gpus;
}

static const report_gpu *find(const hd_gpus *gpus, const char *name)
{
    return report_gpu_find(gpus, (hd_string){name, strlen(name)});
}

static hd_status add(hd_gpus *gpus, const char *text, hd_error *err)
{
    return hd_gpus_add_text(gpus, text, strlen(text), "my.toml", err);
}

static void assert_refused(const char *text, hd_status status, const char *message)
{
    hd_error err = {0};
    hd_gpus *gpus = own_table();
    assert_int_equal(add(gpus, text, &err), status);
    assert_string_equal(err.path, "my.toml");
    if (!strstr(err.message, message)) fail_msg("%s: '%s' is not '%s'", text, err.message, message);
    assert_null(find(gpus, "a"));
    assert_non_null(find(gpus, "NVIDIA H100 PCIe"));
    hd_gpus_free(gpus);
}

static void test_gpus__names_of_the_own_table_have_their_peaks(void **state)
{
    (void)state;
    hd_gpus *gpus = own_table();
    const report_gpu *gpu = find(gpus, "NVIDIA H100 80GB HBM3");
    assert_non_null(gpu);
    assert_true(gpu->bandwidth == 3352 && gpu->peaks[REPORT_BF16] == 989.4 && gpu->peaks[REPORT_TF32] == 494.7);
    assert_true(find(gpus, "Tesla T4")->peaks[REPORT_FP64] == 0);
    assert_null(find(gpus, "NVIDIA H100"));
    assert_null(find(gpus, ""));
    hd_gpus_free(gpus);
}

static void test_gpus__of_two_tables_the_last_counts(void **state)
{
    (void)state;
    hd_gpus *gpus = own_table();
    assert_int_equal(add(gpus, "[[gpu]]\nnames = [\"Tesla T4\", \"a\"]\nbandwidth = 1\n", NULL), HD_OK);
    assert_int_equal(add(gpus, "[[gpu]] # \xc3\xbc\r\n\tnames=[ # b\n\"\\\"\\\\\",\n\"a\" ,]\nbandwidth=0.5", NULL),
                     HD_OK);
    assert_true(find(gpus, "Tesla T4")->bandwidth == 1 && find(gpus, "Tesla T4")->peaks[REPORT_FP16] == 0);
    assert_true(find(gpus, "a")->bandwidth == 0.5 && find(gpus, "\"\\")->bandwidth == 0.5);
    assert_int_equal(add(gpus, "", NULL), HD_OK);
    assert_int_equal(add(gpus, "# nothing", NULL), HD_OK);
    hd_gpus_free(gpus);
}

static void test_gpus__what_is_refused_names_its_line_and_adds_nothing(void **state)
{
    static const char *const cases[][2] = {
        {"\n\n[gpu]", "line 3: the only kind of table"},
        {"fp64 = 1", "line 1: a line [[gpu]] must come before"},
        {"[[gpu]]\nnames = [\"a\"]", "line 1: this [[gpu]] has no bandwidth"},
        {"[[gpu]]\nbandwidth = 1\n[[gpu]]", "line 1: this [[gpu]] has no names"},
        {"[[gpu]]\nnames = [\"a\"]\nbandwidth = 1\nfp63 = 2", "line 4: a key is one of"},
        {"[[gpu]]\nnames = [\"a\"]\nbandwidth = 1\nbandwidth = 1", "line 4: 'bandwidth' is given a second time"},
        {"[[gpu]]\nnames = [\"a\", \"a\"]", "line 2: 'a' is named a second time"},
        {"[[gpu]]\nnames = []", "line 2: names are strings"},
        {"[[gpu]]\nnames = \"a\"", "line 2: names are an array"},
        {"[[gpu]]\nnames = [\"a\" \"b\"]", "line 2: a name is followed by a comma"},
        {"[[gpu]]\nnames = [\"\"]", "line 2: a name is empty"},
        {"[[gpu]]\nnames = [\"\"\"a\"\"\"]", "line 2: a name is empty"},
        {"[[gpu]]\nnames = [\"a\n\"]", "line 2: a string without its end"},
        {"[[gpu]]\nnames = [\"a\\u0041\"]", "line 2: of escapes only"},
        {"[[gpu]]\nnames = ['a']", "line 2: names are strings"},
        {"[[gpu]]\nnames = [\"a\"] bandwidth = 1", "line 2: 'bandwidth = 1' stands where only a comment"},
        {"[[gpu]]\nbandwidth 1", "line 2: a key is followed by ="},
        {"[[gpu]]\nbandwidth = 0", "line 2: a number above 0 is expected, up to"},
        {"[[gpu]]\nbandwidth = -1", "line 2: a number above 0 in digits"},
        {"[[gpu]]\nbandwidth = 01", "line 2: a number above 0 in digits"},
        {"[[gpu]]\nbandwidth = 1.", "line 2: a number above 0 in digits"},
        {"[[gpu]]\nbandwidth = 1_000", "line 2: '_000' stands where"},
        {"[[gpu]]\nbandwidth = 1000000001", "line 2: a number above 0 is expected, up to"},
        {"[[gpu]]\nbandwidth = 1\r", "line 2: a control character (13)"},
        {"[[gpu]]\n# \x7f", "line 2: a control character (127)"},
        {"[[gpu]]\n# \xff", "this is not text in UTF-8"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_refused(cases[i][0], HD_ERR_FORMAT, cases[i][1]);
    hd_error err = {0};
    hd_gpus *gpus = own_table();
    assert_int_equal(hd_gpus_add_text(gpus, "# a\n\0", 5, "my.toml", &err), HD_ERR_FORMAT);
    assert_string_equal(err.message, "line 2: a control character (0)");
    hd_gpus_free(gpus);
}

/* A table with so many names, and comments up to a size. The caller frees it. */
static char *long_table(size_t names, size_t size)
{
    char *text = malloc(size + 1);
    size_t used = (size_t)snprintf(text, size, "[[gpu]]\nbandwidth = 1\nnames = [");
    for (size_t i = 0; i < names; i++) used += (size_t)snprintf(text + used, size - used, "\"%zu\",", i);
    used += (size_t)snprintf(text + used, size - used, "]\n#");
    memset(text + used, '#', size - used);
    text[size] = '\0';
    return text;
}

static void test_gpus__limits_of_names_and_bytes(void **state)
{
    enum { NAMES = 1000, BYTES = 1 << 20 };
    const struct {
        size_t names, size;
        hd_status status;
    } cases[] = {{NAMES - 1, 20000, HD_OK}, {NAMES, 20000, HD_OK}, {NAMES + 1, 20000, HD_ERR_LIMIT},
                 {1, BYTES - 1, HD_OK},     {1, BYTES, HD_OK},     {1, BYTES + 1, HD_ERR_LIMIT}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_gpus *gpus = own_table();
        char *text = long_table(cases[i].names, cases[i].size), last[32];
        assert_int_equal(hd_gpus_add_text(gpus, text, cases[i].size, "my.toml", NULL), cases[i].status);
        snprintf(last, sizeof last, "%zu", cases[i].names - 1);
        assert_true((find(gpus, last) != NULL) == (cases[i].status == HD_OK));
        free(text);
        hd_gpus_free(gpus);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpus__names_of_the_own_table_have_their_peaks),
        cmocka_unit_test(test_gpus__of_two_tables_the_last_counts),
        cmocka_unit_test(test_gpus__what_is_refused_names_its_line_and_adds_nothing),
        cmocka_unit_test(test_gpus__limits_of_names_and_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
