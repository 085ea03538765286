/* test_lookalikes.c - what is told of files that no reader takes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "format/format.h"
#include "format/lookalikes.h"
#include "read_text.h"

static void expect(const char *bytes, size_t size, const char *what)
{
    const hd_lookalike *l = hd_lookalike_of((const unsigned char *)bytes, size);
    if (!l != !what || (l && !strstr(l->what, what)))
        fail_msg("%.20s: %s, expected %s", bytes, l ? l->what : "nothing", what ? what : "nothing");
}
#define EXPECT(bytes, what) expect(bytes, sizeof(bytes) - 1, what)

static void test_lookalikes__first_bytes_tell_what_a_file_is(void **state)
{
    (void)state;
    EXPECT("PERFILE2\0\0", "perf.data");
    EXPECT("2ELIFREP", "big-endian");
    EXPECT("HEDDLEHS\1", "summary of a job");
    EXPECT("PERFFILE", "before 3.2");
    EXPECT("NVR\0\x10", "Nsight Compute");
    EXPECT("\x89HDF\r\n\x1a\n", "HDF5");
    EXPECT("\x80\x04\x95\x01", "pickle");
    EXPECT("PK\x03\x04xxxxxxxxxxxxxxxxxxxxxxxxxxarchive/data.pkl", "PyTorch");
    EXPECT("PK\x03\x04xxxxxxxxxxxxxxxxxxxxxxxxxxtrace.json", "ZIP");
    EXPECT("\xfd"
           "7zXZ\0",
           "xz");
    EXPECT("BZh91AY&SY", "bzip2");
    EXPECT("BZhFunction;x 1", NULL);
    EXPECT("PAR1;main 1", NULL);
    EXPECT("<?xml version=\"1.0\"?><svg>", "SVG");
    EXPECT("main;a 10\n", NULL);
    EXPECT("# HELP up Whether\nup 1\n", "metrics");
    EXPECT("gpu_clock{gpu=\"1\"} 1410\n", "metrics");
    EXPECT("# gpu    pwr  gtemp     sm\n# Idx      W      C      %\n    0     63     33      0\n", "nvidia-smi dmon");
    EXPECT("#Time        gpu    pwr\n#HH:MM:SS    Idx      W\n 10:00:00      0     63\n", "nvidia-smi dmon");
    EXPECT("#Entity   SMCLK\nID\nGPU 0     1410\n", "dcgmi dmon");
    EXPECT("#gpu;main 7\n", NULL);
    EXPECT("main{lambda} 7\n", NULL);
    EXPECT("main{a=b} 7\n", NULL);
    EXPECT("[  12.5] usb 1-1: new device\n", "times in brackets");
    EXPECT("[01:02:03.4] (+?.?) h lttng:e: { }\n", "times in brackets");
    EXPECT("[12.5]\n", NULL);
    EXPECT("[1] , [2]", NULL);
    EXPECT("[", NULL);
    EXPECT("{\"distributedInfo\": {\"pg_config\": [], \"nccl_version\": \"2\"}", "JSON");
    EXPECT("", NULL);
    char tar[512] = "trace.json";
    memcpy(tar + 257, "ustar", 5);
    expect(tar, sizeof tar, "tar");
    expect(tar, 261, NULL);
}

static void test_lookalikes__names_tell_what_has_no_mark(void **state)
{
    static const char *const names[][2] = {{"a/report1.nsys-rep", "Nsight Systems"},
                                           {"old.QDREP", "Nsight Systems"},
                                           {"run.trace/", "Instruments"},
                                           {"r000ge.vtune", "VTune"},
                                           {"model.pt", "PyTorch"},
                                           {"x.ncu-rep", "Nsight Compute"}};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const hd_lookalike *l = hd_lookalike_named(names[i][0]);
        if (!l || !strstr(l->what, names[i][1])) fail_msg("%s: %s", names[i][0], l ? l->what : "nothing");
    }
    assert_null(hd_lookalike_named("trace.json"));
    assert_null(hd_lookalike_named(""));
}

static void test_lookalikes__refused_files_say_what_to_do(void **state)
{
    hd_trace *trace;
    hd_error err = {0};
    (void)state;
    assert_int_equal(read_text(&trace, "NVR\0abcdef", 10, &read_fast, 0, &err), HD_ERR_FORMAT);
    assert_non_null(strstr(err.message, "looks like a report of Nsight Compute: "));
    assert_non_null(strstr(err.message, "nsys profile"));
}

/* What there is advice about is read by nothing. */
static void test_lookalikes__advice_is_of_what_no_reader_takes(void **state)
{
    static const char *const read[] = {"PERFILE2",
                                       "\x17\x08"
                                       "Dtracing"
                                       "6",
                                       "SQLite format 3",
                                       "# tracer: nop\n",
                                       "#Entity   SMCLK\n",
                                       "# HELP up Whether\n"};
    (void)state;
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        const hd_lookalike *l = hd_lookalike_of((const unsigned char *)read[i], strlen(read[i]));
        if (!l || l->advice || l->names) fail_msg("%s: %s", read[i], l ? l->what : "nothing");
    }
}

/* With what stands around it in the message. */
static void test_lookalikes__all_fit_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < hd_lookalike_count(); i++) {
        char text[1024];
        hd_lookalike_put(text, sizeof text, hd_lookalike_at(i));
        if (strlen(text) > HD_ERROR_MESSAGE_BYTES - 80) fail_msg("%s", text);
    }
    assert_null(hd_lookalike_at(hd_lookalike_count()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookalikes__first_bytes_tell_what_a_file_is),
        cmocka_unit_test(test_lookalikes__names_tell_what_has_no_mark),
        cmocka_unit_test(test_lookalikes__refused_files_say_what_to_do),
        cmocka_unit_test(test_lookalikes__advice_is_of_what_no_reader_takes),
        cmocka_unit_test(test_lookalikes__all_fit_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
