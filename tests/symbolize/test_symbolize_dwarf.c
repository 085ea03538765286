/* Inlined functions and lines, of a library that was compiled for it and says where it was called from. */
#include "symbolize/symbolize_text.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "symbolize/sample.h"

typedef struct library {
    void *handle;
    sample_place places[SAMPLE_PLACES];
    int count;
    uint64_t bias;
} library;

static library load(void)
{
    library lib = {.handle = dlopen(SAMPLE_PATH, RTLD_NOW)};
    const sample_place *places;
    struct link_map *map;
    int (*list)(const sample_place **);
    if (!lib.handle) fail_msg("%s", dlerror());
    *(void **)&list = dlsym(lib.handle, "sample_list");
    assert_non_null(list);
    lib.count = list(&places);
    memcpy(lib.places, places, sizeof lib.places);
    assert_int_equal(dlinfo(lib.handle, RTLD_DI_LINKMAP, &map), 0);
    lib.bias = map->l_addr;
    return lib;
}

/* A trace with one frame for each place, `shift` behind it, and the answer to it. */
static hd_trace *answer(const library *lib, const hd_symbolize_options *options, hd_symbolize_report **report)
{
    char json[8192];
    int at = snprintf(json, sizeof json, "{\"traceEvents\":[");
    for (int i = 0; i < lib->count; i++) at += sprintf(json + at, "%s" SAMPLE(% d, "%d"), i ? "," : "", i + 1, i + 1);
    at += sprintf(json + at, "],\"modules\":[{\"name\":\"sample\",\"path\":\"%s\"}],\"stackFrames\":{", SAMPLE_PATH);
    for (int i = 0; i < lib->count; i++)
        at += sprintf(json + at, "%s\"%d\":{\"name\":\"sample+0x%llx\"}", i ? "," : "", i + 1,
                      (unsigned long long)((uintptr_t)lib->places[i].address - 1 - lib->bias));
    sprintf(json + at, "}}");
    return named(trace_of(json), report, options);
}

static void put(char *out, bool lines, const char *name, int line)
{
    sprintf(out + strlen(out), lines ? "%s (sample.c:%d)" : "%s", name, line);
}

/* As the library says. */
static const char *wanted(const library *lib, bool inlined, bool lines)
{
    static char text[4096];
    text[0] = '\0';
    for (int i = 0; i < lib->count; i++) {
        const int *at = lib->places[i].lines;
        if (i) strcat(text, " | ");
        if (!inlined) { /* the line is that of the code, whatever function it comes from */
            put(text, lines, "sample_outer", at[0] ? at[0] : at[2]);
            continue;
        }
        put(text, lines, "sample_outer", at[2]);
        if (at[1]) strcat(text, ";"), put(text, lines, "sample_middle", at[1]);
        if (at[0]) strcat(text, ";"), put(text, lines, "sample_inner", at[0]);
    }
    return text;
}

static void test_symbolize_dwarf__inlined_functions_become_frames(NO_STATE)
{
    library lib = load();
    hd_symbolize_report *report;
    hd_trace *out = answer(&lib, NULL, &report);
    assert_int_equal(lib.count, 5);
    assert_string_equal(stacks_text(out, HD_KIND_SAMPLE), wanted(&lib, true, false));
    assert_int_equal(report->inlined, 8);
    assert_int_equal(report->nodes, 3); /* all are calls of the same functions */
    assert_string_equal(report->modules[0].lines, SAMPLE_PATH);
    hd_symbolize_report_free(report);
    hd_trace_free(out);
    dlclose(lib.handle);
}

static void test_symbolize_dwarf__lines_are_those_of_the_calls(NO_STATE)
{
    library lib = load();
    hd_trace *out = answer(&lib, &(hd_symbolize_options){.lines = true}, NULL);
    assert_string_equal(stacks_text(out, HD_KIND_SAMPLE), wanted(&lib, true, true));
    hd_trace_free(out);
    dlclose(lib.handle);
}

static void test_symbolize_dwarf__without_inlining_each_frame_stays_one(NO_STATE)
{
    library lib = load();
    hd_symbolize_report *report;
    hd_trace *out = answer(&lib, &(hd_symbolize_options){.no_inline = true}, &report);
    assert_string_equal(stacks_text(out, HD_KIND_SAMPLE), wanted(&lib, false, false));
    assert_string_equal(report->modules[0].lines, ""); /* not even looked at */
    hd_symbolize_report_free(report);
    hd_trace_free(out);
    out = answer(&lib, &(hd_symbolize_options){.no_inline = true, .lines = true}, NULL);
    assert_string_equal(stacks_text(out, HD_KIND_SAMPLE), wanted(&lib, false, true));
    hd_trace_free(out);
    dlclose(lib.handle);
}

static void test_symbolize_dwarf__paths_are_whole_if_asked(NO_STATE)
{
    library lib = load();
    hd_trace *out = answer(&lib, &(hd_symbolize_options){.lines = true, .paths = true}, NULL);
    const char *text = stacks_text(out, HD_KIND_SAMPLE);
    assert_int_equal(strncmp(text, "sample_outer (/", 15), 0);
    assert_non_null(strstr(text, "/tests/symbolize/sample.c:"));
    hd_trace_free(out);
    dlclose(lib.handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symbolize_dwarf__inlined_functions_become_frames),
        cmocka_unit_test(test_symbolize_dwarf__lines_are_those_of_the_calls),
        cmocka_unit_test(test_symbolize_dwarf__without_inlining_each_frame_stays_one),
        cmocka_unit_test(test_symbolize_dwarf__paths_are_whole_if_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
