/* test_save.c - a page with traces inside: what is written, and that the stores in it are the traces */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "heddle/format.h"
#include "heddle/view.h"

static char folder[] = "/tmp/heddle-save-XXXXXX", engine[64], page[64];

static const char template[] = "<!doctype html><meta name=\"heddle-version\" content=\"" HD_VERSION "\">\n"
                               "<title><!--heddle:title-->Heddle</title>\n<!--heddle:traces-->\nthe end\n";
static const char text[] = "{\"traceEvents\":["
                           "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"</script><b>\",\"ts\":10,\"dur\":40},"
                           "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"name\":\"late\",\"ts\":1000,\"dur\":5}]}";

static void write_file(const char *path, const char *content, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *content = calloc(1, 1 << 20);
    assert_true(fread(content, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return content;
}

static char *file_in(const char *name)
{
    char *path;
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    return path;
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(engine, sizeof engine, "%s/engine.html", folder);
    snprintf(page, sizeof page, "%s/page.html", folder);
    write_file(engine, template, sizeof template - 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(engine);
    unlink(page);
    return rmdir(folder);
}

/* The store in the n-th trace of the page, decoded into a file of its own, is read. The caller frees the trace. */
static hd_trace *trace_of(const char *content, int n)
{
    const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", *at = content;
    for (int i = 0; i <= n; i++) {
        at = strstr(at + 1, "class=\"heddle-trace\"");
        assert_non_null(at);
    }
    at = strchr(at, '>') + 1;
    size_t size = (size_t)(strchr(at, '<') - at), count = 0;
    assert_int_equal(size % 4, 0);
    uint8_t *bytes = calloc(1, size + 4);
    for (size_t i = 0; i < size; i += 4) {
        uint32_t four = 0;
        for (int k = 0; k < 4; k++)
            four = four << 6 | (at[i + k] == '=' ? 0 : (uint32_t)(strchr(digits, at[i + k]) - digits));
        for (int k = 0; k < 3; k++)
            if (at[i + k + 1] != '=') bytes[count++] = (uint8_t)(four >> (16 - 8 * k));
    }
    char *path = file_in("store.heddle");
    write_file(path, (char *)bytes, count);
    hd_trace *trace;
    hd_error err = {0};
    if (hd_trace_read(&trace, path, NULL, &err) != HD_OK) fail_msg("%s", err.message);
    unlink(path);
    free(path);
    free(bytes);
    return trace;
}

static uint64_t slices_of(const char *content, int n)
{
    hd_trace *trace = trace_of(content, n);
    uint64_t slices = hd_trace_row_count(trace, HD_KIND_SLICE);
    hd_trace_free(trace);
    return slices;
}

/* Of the first slice. */
static char *name_of(const char *content, int n)
{
    hd_trace *trace = trace_of(content, n);
    uint32_t row;
    const hd_block *block = hd_trace_block_of(&row, trace, HD_KIND_SLICE, 0);
    hd_string name = hd_trace_string(trace, (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], row));
    char *copy = strndup(name.data, name.size);
    hd_trace_free(trace);
    return copy;
}

static void test_save__the_page_has_the_traces(void **state)
{
    char *paths[] = {file_in("a \"<b>&.json"), file_in("two.json")};
    hd_error err = {0};
    const hd_view_save_options options = {.engine = engine};
    (void)state;
    for (int i = 0; i < 2; i++) write_file(paths[i], text, sizeof text - 1);
    if (hd_view_save(page, (const char *const *)paths, 2, &options, &err) != HD_OK) fail_msg("%s", err.message);
    char *content = read_file(page);
    assert_non_null(strstr(content, "<title>a &quot;&lt;b&gt;&amp;.json, two.json \xe2\x80\x93 Heddle</title>"));
    assert_non_null(strstr(content, "data-name=\"a &quot;&lt;b&gt;&amp;.json\">"));
    assert_non_null(strstr(content, "\nthe end\n"));
    assert_null(strstr(content, "<!--heddle"));
    assert_null(strstr(content, "</script><b>"));
    assert_int_equal(slices_of(content, 0), 2);
    assert_int_equal(slices_of(content, 1), 2);
    free(content);

    hd_view_save_options early = options;
    assert_int_equal(hd_convert_time_parse(&early.until, "500us", NULL), HD_OK);
    assert_int_equal(hd_view_save(page, (const char *const *)paths, 1, &early, &err), HD_OK);
    content = read_file(page);
    assert_int_equal(slices_of(content, 0), 1);
    free(content);
    for (int i = 0; i < 2; i++) {
        unlink(paths[i]);
        free(paths[i]);
    }
}

/* Neither the names of files nor the replaced texts stay, and equal texts of two inputs stay equal. */
static void test_save__anonymizes(void **state)
{
    static const char secret[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"qzsecret\",\"ts\":10,\"dur\":40}]}";
    char *paths[] = {file_in("customer.json"), file_in("customer2.json")};
    hd_error err = {0};
    const hd_view_save_options options = {.engine = engine, .anonymize = "names,paths,args,hosts"};
    (void)state;
    for (int i = 0; i < 2; i++) write_file(paths[i], secret, sizeof secret - 1);
    if (hd_view_save(page, (const char *const *)paths, 2, &options, &err) != HD_OK) fail_msg("%s", err.message);
    char *content = read_file(page);
    assert_non_null(strstr(content, "<title>trace 1, trace 2 \xe2\x80\x93 Heddle</title>"));
    assert_null(strstr(content, "customer"));
    char *names[] = {name_of(content, 0), name_of(content, 1)};
    assert_string_equal(names[0], names[1]);
    assert_null(strstr(names[0], "secret"));
    assert_int_equal(names[0][0], 'x');
    free(content);
    for (int i = 0; i < 2; i++) {
        unlink(paths[i]);
        free(names[i]);
        free(paths[i]);
    }
}

static void test_save__without_a_trace_is_an_empty_viewer(void **state)
{
    hd_error err = {0};
    const hd_view_save_options options = {.engine = engine};
    (void)state;
    if (hd_view_save(page, NULL, 0, &options, &err) != HD_OK) fail_msg("%s", err.message);
    char *content = read_file(page);
    assert_non_null(strstr(content, "<title>Heddle</title>\n\nthe end\n"));
    free(content);
}

static void assert_fails(const char *page_of_engine, hd_status status, const char *part)
{
    const char *input = "/nonexistent/trace.json";
    hd_error err = {0};
    char *other = file_in("other.html"), *out = file_in("out.html");
    write_file(other, page_of_engine, strlen(page_of_engine));
    const hd_view_save_options options = {.engine = other};
    assert_int_equal(hd_view_save(out, &input, 1, &options, &err), status);
    assert_non_null(strstr(err.message, part));
    assert_int_not_equal(access(out, F_OK), 0);
    unlink(other);
    free(other);
    free(out);
}

static void test_save__leaves_nothing_after_a_failure(void **state)
{
    (void)state;
    assert_fails("<title>Another page</title>", HD_ERR_DAMAGED, "no page with the engine");
    assert_fails("<!--heddle:title--><!--heddle:traces-->", HD_ERR_UNSUPPORTED, "another version");
    assert_fails(template, HD_ERR_IO, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_save__the_page_has_the_traces),
        cmocka_unit_test(test_save__anonymizes),
        cmocka_unit_test(test_save__without_a_trace_is_an_empty_viewer),
        cmocka_unit_test(test_save__leaves_nothing_after_a_failure),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
