/* test_perfetto_features.c - what each kind of packet becomes
 *
 * Packets are written as text with the numbers of Perfetto's .proto files, which nothing here takes from the reader:
 *
 *     1{ 10:1 8:100 11{ 9:1 11:7 23'name' } }      a packet of sequence 1 at 100: slice "name" begins on track 7
 *     7:5 varint   7~0.5 double   7#5 fixed64   7'text' bytes   7{…} message
 *
 * Compared is the whole dump of the trace, from behind its facts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/protobuf/write.h"
#include "dump.h"
#include "read_text.h"

/* The fields up to the end or the closing brace; returns what follows. */
static const char *put_fields(hd_bytes *out, const char *p)
{
    for (;;) {
        while (*p == ' ' || *p == '\n') p++;
        if (*p == '\0' || *p == '}') return p;
        char *end;
        uint32_t field = (uint32_t)strtoul(p, &end, 10);
        assert_true(end > p);
        p = end + 1;
        size_t mark;
        switch (*end) {
        case ':': hd_pb_put_int(out, field, strtoll(p, &end, 0)); break;
        case '#': hd_pb_put_fixed64(out, field, strtoull(p, &end, 0)); break;
        case '~': hd_pb_put_double(out, field, strtod(p, &end)); break;
        case '\'':
            end = strchr(p, '\'');
            assert_non_null(end);
            hd_pb_put_bytes(out, field, p, (size_t)(end - p));
            end++;
            break;
        case '{':
            mark = hd_pb_begin(out, field);
            p = put_fields(out, p);
            assert_true(*p == '}');
            hd_pb_end(out, mark);
            p++;
            continue;
        default: fail_msg("what is field %u at %s", field, end);
        }
        p = end;
    }
}

static hd_bytes packets(const char *text)
{
    hd_bytes out = {0};
    assert_true(*put_fields(&out, text) == '\0');
    assert_false(out.failed);
    return out;
}

/* The dump behind the size of the input, which ends the facts. */
static void expect_bytes(hd_bytes *in, const char *expected)
{
    char *dump = dump_text((const char *)in->data, in->size, NULL, 0, DUMP_ALL);
    const char *rest = strstr(dump, "  input_bytes");
    if (rest) rest = strchr(rest, '\n') + 1;
    assert_string_equal(rest ? rest : dump, expected);
    free(dump);
    hd_bytes_deinit(in);
}

static void expect(const char *text, const char *expected)
{
    hd_bytes in = packets(text);
    expect_bytes(&in, expected);
}

/* What stands in the facts. */
static void expect_fact(const char *text, const char *line)
{
    hd_bytes in = packets(text);
    char *dump = dump_text((const char *)in.data, in.size, NULL, 0, DUMP_ALL);
    if (!strstr(dump, line)) fail_msg("expected %s in:\n%s", line, dump);
    free(dump);
    hd_bytes_deinit(&in);
}

#define THREAD "1{ 60{ 1:7 4{ 1:10 2:11 5'worker' } } }"
/* The state of sequence 1 is cleared. */
#define CLEARED "1{ 10:1 13:1 } "

static void test_perfetto__stages_of_a_gpu_are_slices_of_its_queues(void **state)
{
    (void)state;
    expect("1{ 10:1 13:1 12{ 24{ 1:1 2'queue A' } 24{ 1:2 2'draw' } 1000{ 1:3 2'_Zgemm' 3'gemm<float>' } } }"
           "1{ 10:1 8:100 53{ 1:5 2:30 13:1 14:2 11:1 10:77 6{ 1'key' 2'text' } } }"
           "1{ 10:1 8:140 53{ 1:6 2:10 13:1 19:3 11:1 21{ 1{ 1:4 2:2 } 2{ 1:128 } 3{ 2'n' 3:9 } } } }"
           "1{ 10:1 8:150 53{ 13:1 17'mark' 11:1 } }",
           "tracks\n"
           "  process pid=\"GPU 1\" name=\"GPU 1\"\n"
           "  stream pid=\"GPU 1\" tid=\"queue A\" name=\"queue A\" device=1 stream=1 slice:2 instant:1 [100, 150]\n"
           "shapes\n"
           "  \"event_id\":int \"grid\":json \"block\":json \"n\":int args\n"
           "  \"event_id\":int \"submission_id\":int \"key\":string args\n"
           "events\n"
           "  0 slice X pid=\"GPU 1\" tid=\"queue A\" start=100 dur=30 name=\"draw\" cat=\"gpu_render_stage\" args\n"
           "      \"event_id\" (int) 5\n"
           "      \"submission_id\" (int) 77\n"
           "      \"key\" (string) \"text\"\n"
           "  1 slice X pid=\"GPU 1\" tid=\"queue A\" start=140 dur=10 name=\"gemm<float>\" cat=\"kernel\" args\n"
           "      \"event_id\" (int) 6\n"
           "      \"grid\" (json) [4,2,1]\n"
           "      \"block\" (json) [128,1,1]\n"
           "      \"n\" (int) 9\n"
           "  2 instant i pid=\"GPU 1\" tid=\"queue A\" start=150 name=\"mark\" cat=\"gpu_render_stage\"\n");
}

static void test_perfetto__stages_of_the_old_form_are_named_by_their_index(void **state)
{
    (void)state;
    expect("1{ 53{ 7{ 2{ 1'first' } 2{ 1'second' } 3{ 1'blit' } } } }"
           "1{ 8:100 53{ 1:1 2:5 3:1 4:0 } }",
           "tracks\n"
           "  process pid=\"GPU 0\" name=\"GPU 0\"\n"
           "  stream pid=\"GPU 0\" tid=\"second\" name=\"second\" device=0 stream=1 slice:1 [100, 105]\n"
           "shapes\n"
           "  \"event_id\":int args\n"
           "events\n"
           "  0 slice X pid=\"GPU 0\" tid=\"second\" start=100 dur=5 name=\"blit\" cat=\"gpu_render_stage\" args\n"
           "      \"event_id\" (int) 1\n");
}

static void test_perfetto__counters_of_a_gpu_have_their_unit(void **state)
{
    (void)state;
    expect("1{ 8:100 52{ 1{ 1{ 1:4 2'load' 7:37 } 1{ 1:5 2'read' 7:7 8:22 } } 2{ 1:4 2:55 } 2{ 1:5 3~0.5 } 3:1 } }"
           "1{ 8:110 52{ 2{ 1:4 2:60 } 3:1 } }",
           "tracks\n"
           "  process pid=\"GPU 1\" name=\"GPU 1\"\n"
           "  thread pid=\"GPU 1\" counter:3\n"
           "shapes\n"
           "  event.\"unit\":string \"value\":decimal args\n"
           "  event.\"unit\":string \"value\":int args\n"
           "events\n"
           "  0 counter C pid=\"GPU 1\" start=100 name=\"load\" args\n"
           "      event.\"unit\" (string) \"%\"\n"
           "      \"value\" (int) 55\n"
           "  1 counter C pid=\"GPU 1\" start=100 name=\"read\" args\n"
           "      event.\"unit\" (string) \"bytes/s\"\n"
           "      \"value\" (decimal) 0.5\n"
           "  2 counter C pid=\"GPU 1\" start=110 name=\"load\" args\n"
           "      event.\"unit\" (string) \"%\"\n"
           "      \"value\" (int) 60\n");
}

static void test_perfetto__phases_of_chrome_keep_their_kind(void **state)
{
    (void)state;
    expect("1{ 10:1 44{ 1:10 2:11 5'worker' } }"
           "1{ 10:1 8:1000 11{ 23'x' 22'c' 6{ 2:88 3:5 4:2 } } }"
           "1{ 10:1 8:2000 11{ 23'a' 6{ 2:98 6:7 7'scope' } } }"
           "1{ 10:1 8:2500 11{ 23'a' 6{ 2:110 6:7 7'scope' } } }"
           "1{ 10:1 8:3000 11{ 23'a' 6{ 2:101 6:7 7'scope' } } }"
           "1{ 10:1 8:3100 11{ 23'f' 6{ 2:115 11:9 } } }"
           "1{ 10:1 8:3200 11{ 23'f' 6{ 2:102 11:9 12:1 } } }"
           "1{ 10:1 8:3300 11{ 23'i' 6{ 2:73 14:2 } } }"
           "1{ 10:1 8:3400 11{ 23'b' 6{ 2:66 18:20 19:21 } } }"
           "1{ 10:1 8:3500 11{ 6{ 2:69 18:20 19:21 } } }",
           "tracks\n"
           "  process pid=10\n"
           "  process pid=20\n"
           "  thread pid=10 tid=11 name=\"worker\" slice:1 instant:1 flow:2 async:3 [1000, 6000]\n"
           "  thread pid=20 tid=21 slice:1 [3400, 3500]\n"
           "shapes\n"
           "  event.\"s\":string\n"
           "  event.\"scope\":string\n"
           "  event.\"tdur\":int\n"
           "events\n"
           "  0 slice X pid=10 tid=11 start=1000 dur=5000 name=\"x\" cat=\"c\"\n"
           "      event.\"tdur\" (int) 2\n"
           "  1 async b pid=10 tid=11 start=2000 name=\"a\" id=7\n"
           "      event.\"scope\" (string) \"scope\"\n"
           "  2 async n pid=10 tid=11 start=2500 name=\"a\" id=7\n"
           "      event.\"scope\" (string) \"scope\"\n"
           "  3 async e pid=10 tid=11 start=3000 name=\"a\" id=7\n"
           "      event.\"scope\" (string) \"scope\"\n"
           "  4 flow s pid=10 tid=11 start=3100 name=\"f\" id2.global=9\n"
           "  5 flow f pid=10 tid=11 start=3200 name=\"f\" id2.global=9 bp=e\n"
           "  6 instant I pid=10 tid=11 start=3300 name=\"i\"\n"
           "      event.\"s\" (string) \"p\"\n"
           "  7 slice X pid=20 tid=21 start=3400 dur=100 name=\"b\"\n");
}

static void test_perfetto__locations_and_messages_are_found_by_their_iid(void **state)
{
    (void)state;
    expect(THREAD "1{ 10:1 13:1 12{ 4{ 1:1 2'a.cc' 3'Run' 4:12 } 20{ 1:2 2'low memory' } 43{ 1:3 2'request 9' } } }"
                  "1{ 10:1 8:100 13:2 11{ 9:3 11:7 23'log' 21{ 1:1 2:2 3:6 } 54:3 } }"
                  "1{ 10:1 8:110 13:2 11{ 9:3 11:7 23'task' 5{ 1:1 } 52:-1 } }"
                  "1{ 10:1 8:120 13:2 11{ 9:3 11:7 23'here' 33{ 2'b.cc' 4:5 } 55{ 1{ 1'f' 2'f.py' 3:3 } 1{ 1'g' } } } }"
                  "1{ 10:1 8:130 13:2 11{ 9:3 11:7 23'lost' 34:99 56:4 } }",
           "ledger\n"
           "  loss perfetto perfetto.callstack 1 at 201\n"
           "  loss perfetto perfetto.iid-unknown 1 at 201\n"
           "tracks\n"
           "  process pid=10\n"
           "  thread pid=10 tid=11 name=\"worker\" instant:4\n"
           "shapes\n"
           "  \"source.file_name\":string \"source.function_name\":string \"source.line_number\":int "
           "\"message\":string \"priority\":string \"correlation_id\":string args\n"
           "  \"source.file_name\":string \"source.line_number\":int \"callstack\":json args\n"
           "  \"task.posted_from.file_name\":string \"task.posted_from.function_name\":string "
           "\"task.posted_from.line_number\":int \"correlation_id\":number args\n"
           "events\n"
           "  0 instant i pid=10 tid=11 start=100 name=\"log\" args\n"
           "      \"source.file_name\" (string) \"a.cc\"\n"
           "      \"source.function_name\" (string) \"Run\"\n"
           "      \"source.line_number\" (int) 12\n"
           "      \"message\" (string) \"low memory\"\n"
           "      \"priority\" (string) \"error\"\n"
           "      \"correlation_id\" (string) \"request 9\"\n"
           "  1 instant i pid=10 tid=11 start=110 name=\"task\" args\n"
           "      \"task.posted_from.file_name\" (string) \"a.cc\"\n"
           "      \"task.posted_from.function_name\" (string) \"Run\"\n"
           "      \"task.posted_from.line_number\" (int) 12\n"
           "      \"correlation_id\" (number) 18446744073709551615\n"
           "  2 instant i pid=10 tid=11 start=120 name=\"here\" args\n"
           "      \"source.file_name\" (string) \"b.cc\"\n"
           "      \"source.line_number\" (int) 5\n"
           "      \"callstack\" (json) [\"f (f.py:3)\",\"g\"]\n"
           "  3 instant i pid=10 tid=11 start=130 name=\"lost\"\n");
}

static void test_perfetto__a_process_tree_names_what_has_events(void **state)
{
    (void)state;
    expect("1{ 2{ 1{ 1:10 3'/bin/app' 3'-x' } 1{ 1:99 3'idle' } 2{ 1:11 2'main' 3:10 } 2{ 1:98 2'idle' 3:99 } } }"
           "1{ 8:5 11{ 9:3 11:7 23'i' } } 1{ 60{ 1:7 4{ 1:10 2:11 } } }",
           "ledger\n"
           "  note perfetto perfetto.event-without-sequence 1 at 56\n"
           "  note perfetto perfetto.packet-process-tree 1 at 0\n"
           "tracks\n"
           "  process pid=10 name=\"/bin/app\"\n"
           "  thread pid=10 tid=11 name=\"main\" instant:1\n"
           "events\n"
           "  0 instant i pid=10 tid=11 start=5 name=\"i\"\n");
}

static void test_perfetto__a_clock_of_steps_goes_on_with_packets_that_are_not_read(void **state)
{
    (void)state;
    expect(THREAD "1{ 10:1 13:1 6{ 1{ 1:64 2:1000 3:1 } 1{ 1:6 2:1000 } } 59{ 58:64 11{ 11:7 } } }"
                  "1{ 10:1 8:10 11{ 9:3 23'a' } }"
                  "1{ 10:1 8:5 37{ 1:0 } } 1{ 10:1 8:200 58:6 37{ 1:0 } }"
                  "1{ 10:1 8:7 11{ 9:3 23'b' } }",
           "ledger\n"
           "  loss perfetto perfetto.packet-profile 2 at 69\n"
           "tracks\n"
           "  process pid=10\n"
           "  thread pid=10 tid=11 name=\"worker\" instant:2\n"
           "events\n"
           "  0 instant i pid=10 tid=11 start=1010 name=\"a\"\n"
           "  1 instant i pid=10 tid=11 start=1022 name=\"b\"\n");
}

static void test_perfetto__times_of_the_old_form_count_from_the_thread(void **state)
{
    (void)state;
    expect("1{ 10:1 43{ 1:10 6'app' 3:4 8'one' 8'two' } }"
           "1{ 10:1 44{ 1:10 2:11 3:2 5'old' 6:1000 7:50 } }"
           "1{ 10:1 11{ 1:5 2:3 9:1 23'a' } }"
           "1{ 10:1 11{ 1:2 2:1 9:2 } }"
           "1{ 10:1 11{ 16:2000 17:90 9:3 23'b' } }",
           "tracks\n"
           "  process pid=10 name=\"app\" labels=\"one,two\" sort=4\n"
           "  thread pid=10 tid=11 name=\"old\" sort=2 slice:1 instant:1 [1005000, 1007000]\n"
           "shapes\n"
           "  event.\"tts\":int\n"
           "  event.\"tts\":int event.\"tdur\":int\n"
           "events\n"
           "  0 slice X pid=10 tid=11 start=1005000 dur=2000 name=\"a\"\n"
           "      event.\"tts\" (int) 53\n"
           "      event.\"tdur\" (int) 1\n"
           "  1 instant i pid=10 tid=11 start=2000000 name=\"b\"\n"
           "      event.\"tts\" (int) 90\n");
}

static void test_perfetto__values_beside_an_event_are_samples_of_its_counters(void **state)
{
    (void)state;
    expect(THREAD "1{ 60{ 1:8 5:7 2'steps' 8{ 5:1 4:10 } } } 1{ 60{ 1:9 5:7 2'load' 8{ 6'%' } } }"
                  "1{ 10:1 13:1 59{ 11{ 11:7 31:8 45:9 } } }"
                  "1{ 10:1 13:2 8:100 11{ 9:1 23'a' 12:3 46~0.25 } }"
                  "1{ 10:1 13:2 8:110 11{ 9:2 12:4 12:1 } }"
                  "1{ 10:1 13:2 8:120 11{ 9:4 11:8 30:2 } }",
           "ledger\n"
           "  loss perfetto perfetto.counter-without-track 1 at 110\n"
           "tracks\n"
           "  process pid=10\n"
           "  thread pid=10 tid=11 name=\"worker\" slice:1 counter:4 [100, 110]\n"
           "shapes\n"
           "  \"value\":int args\n"
           "  event.\"unit\":string \"value\":decimal args\n"
           "events\n"
           "  0 counter C pid=10 tid=11 start=100 name=\"steps\" args\n"
           "      \"value\" (int) 30\n"
           "  1 counter C pid=10 tid=11 start=100 name=\"load\" args\n"
           "      event.\"unit\" (string) \"%\"\n"
           "      \"value\" (decimal) 0.25\n"
           "  2 counter C pid=10 tid=11 start=110 name=\"steps\" args\n"
           "      \"value\" (int) 70\n"
           "  3 slice X pid=10 tid=11 start=100 dur=10 name=\"a\"\n"
           "  4 counter C pid=10 tid=11 start=120 name=\"steps\" args\n"
           "      \"value\" (int) 90\n");
}

static void test_perfetto__what_our_writer_does_not_take_apart_is_json_again(void **state)
{
    (void)state;
    expect(THREAD CLEARED "1{ 10:1 8:100 11{ 9:3 11:7 23'i' 4{ 10'object' 8{ 1:1 } } 4{ 10'array' 8{ 1:2 } }"
                          "  4{ 10'whole' 8{ 8'{\"a\": [1]}' } } 4{ 10'text' 8{ 8'\"\\ud800\"' } }"
                          "  4{ 10'words' 8{ 8'true' } } 4{ 10'broken' 8{ 8'[1' } } 4{ 10'event.sf' }"
                          "  4{ 10'list' 12{ } 12{ 8{ 1:1 } } 12{ 8{ 8'[2]' } } 12{ 8{ 1:2 4{ 8'[2]' } } } } } }",
           "tracks\n"
           "  process pid=10\n"
           "  thread pid=10 tid=11 name=\"worker\" instant:1\n"
           "shapes\n"
           "  \"object\":json \"array\":json \"whole\":json \"text\":json \"words\":string \"broken\":string "
           "event.\"sf\":null \"list\":json args\n"
           "events\n"
           "  0 instant i pid=10 tid=11 start=100 name=\"i\" args\n"
           "      \"object\" (json) {}\n"
           "      \"array\" (json) []\n"
           "      \"whole\" (json) {\"a\": [1]}\n"
           "      \"text\" (json) \"\\ud800\"\n"
           "      \"words\" (string) \"true\"\n"
           "      \"broken\" (string) \"[1\"\n"
           "      event.\"sf\" (null) null\n"
           "      \"list\" (json) [null,{},[2],[\"[2]\"]]\n");
}

static void test_perfetto__annotations_keep_their_type_and_nest(void **state)
{
    (void)state;
    expect(THREAD CLEARED
           "1{ 10:1 8:100 11{ 9:3 11:7 23'i'"
           "  4{ 10'bool' 2:1 } 4{ 10'uint' 3:-1 } 4{ 10'int' 4:-5 } 4{ 10'double' 5~2.5 } 4{ 10'text' 6'a b' }"
           "  4{ 10'pointer' 7:0x7f00 } 4{ 10'json' 9'{\"a\": [1]}' } 4{ 10'broken' 9'{\"a\":' } 4{ 10'nothing' }"
           "  4{ 10'dict' 11{ 10'a' 4:1 } 11{ 10'b' 12{ 6'x' } 12{ 2:0 } 12{ 11{ 10'c' 5~0.5 } } } }"
           "  4{ 10'old dict' 8{ 1:1 2'k' 2'l' 3{ 5:3 } 3{ 1:2 4{ 8'v' } 4{ 7:1 } } } }"
           "  4{ 10'event.tts' 4:8 } 4{ 10'event.ts' 4:9 } } }",
           "ledger\n"
           "  repair perfetto perfetto.bad-json 1 at 27\n"
           "tracks\n"
           "  process pid=10\n"
           "  thread pid=10 tid=11 name=\"worker\" instant:1\n"
           "shapes\n"
           "  \"bool\":bool \"uint\":number \"int\":int \"double\":decimal \"text\":string \"pointer\":string "
           "\"json\":json \"broken\":json \"nothing\":null \"dict\":json \"old dict\":json event.\"tts\":int "
           "\"event.ts\":int args\n"
           "events\n"
           "  0 instant i pid=10 tid=11 start=100 name=\"i\" args\n"
           "      \"bool\" (bool) true\n"
           "      \"uint\" (number) 18446744073709551615\n"
           "      \"int\" (int) -5\n"
           "      \"double\" (decimal) 2.5\n"
           "      \"text\" (string) \"a b\"\n"
           "      \"pointer\" (string) \"0x7f00\"\n"
           "      \"json\" (json) {\"a\": [1]}\n"
           "      \"broken\" (json) \"{\\\"a\\\":\"\n"
           "      \"nothing\" (null) null\n"
           "      \"dict\" (json) {\"a\":1,\"b\":[\"x\",false,{\"c\":0.5}]}\n"
           "      \"old dict\" (json) {\"k\":3,\"l\":[\"v\",true]}\n"
           "      event.\"tts\" (int) 8\n"
           "      \"event.ts\" (int) 9\n");
}

static void test_perfetto__slices_of_siblings_by_key_are_of_one_track(void **state)
{
    (void)state;
    expect(THREAD "1{ 60{ 1:8 5:7 2'worker' 15:3 17:7 } }"
                  "1{ 60{ 1:9 5:7 2'worker' 15:3 17:77 } }"
                  "1{ 10:1 8:100 11{ 9:1 11:7 23'a' } } 1{ 10:1 8:110 11{ 9:1 11:8 23'b' } }"
                  "1{ 10:1 8:120 11{ 9:2 11:7 } } 1{ 10:1 8:130 11{ 9:2 11:8 } }"
                  "1{ 10:1 8:140 11{ 9:3 11:9 23'other key' } }",
           "tracks\n"
           "  process pid=10\n"
           "  thread pid=10 tid=\"11/worker\" name=\"worker\" instant:1\n"
           "  thread pid=10 tid=11 name=\"worker\" slice:2 [100, 130]\n"
           "events\n"
           "  0 slice X pid=10 tid=11 start=100 dur=20 name=\"a\"\n"
           "  1 slice X pid=10 tid=11 start=110 dur=20 name=\"b\"\n"
           "  2 instant i pid=10 tid=\"11/worker\" start=140 name=\"other key\"\n");
}

static void test_perfetto__the_outer_of_equal_slices_comes_first(void **state)
{
    (void)state;
    expect(THREAD "1{ 10:1 8:100 11{ 9:1 11:7 23'outer' } } 1{ 10:1 8:100 11{ 9:1 11:7 23'inner' 4{ 10'k' 4:1 } } }"
                  "1{ 10:1 8:100 11{ 9:1 11:7 23'innermost' } } 1{ 10:1 8:100 11{ 9:2 11:7 } }"
                  "1{ 10:1 8:150 11{ 9:2 11:7 4{ 10'l' 4:2 } } } 1{ 10:1 8:150 11{ 9:2 11:7 4{ 10'm' 4:3 } } }",
           "tracks\n"
           "  process pid=10\n"
           "  thread pid=10 tid=11 name=\"worker\" slice:3 [100, 150]\n"
           "shapes\n"
           "  \"k\":int \"l\":int args\n"
           "  \"m\":int args\n"
           "events\n"
           "  0 slice X pid=10 tid=11 start=100 dur=50 name=\"outer\" args\n"
           "      \"m\" (int) 3\n"
           "  1 slice X pid=10 tid=11 start=100 dur=50 name=\"inner\" args\n"
           "      \"k\" (int) 1\n"
           "      \"l\" (int) 2\n"
           "  2 slice X pid=10 tid=11 start=100 dur=0 name=\"innermost\"\n");
}

static void test_perfetto__flow_points_stand_where_their_slice_takes_them(void **state)
{
    (void)state;
    expect(THREAD "1{ 10:1 8:100 11{ 9:1 11:7 23'from' 47#5 } } 1{ 10:1 8:100 11{ 9:1 11:7 23'within' } }"
                  "1{ 10:1 8:110 11{ 9:2 11:7 } } 1{ 10:1 8:120 11{ 9:2 11:7 } }"
                  "1{ 10:1 8:130 11{ 9:1 11:7 23'to' 48#5 } } 1{ 10:1 8:140 11{ 9:2 11:7 } }"
                  "1{ 10:1 8:150 11{ 9:1 11:7 23'again' 36:5 } } 1{ 10:1 8:160 11{ 9:2 11:7 42:6 } }",
           "tracks\n"
           "  process pid=10\n"
           "  thread pid=10 tid=11 name=\"worker\" slice:4 flow:4 [100, 160]\n"
           "events\n"
           "  0 slice X pid=10 tid=11 start=100 dur=20 name=\"from\"\n"
           "  1 slice X pid=10 tid=11 start=100 dur=10 name=\"within\"\n"
           "  2 slice X pid=10 tid=11 start=130 dur=10 name=\"to\"\n"
           "  3 slice X pid=10 tid=11 start=150 dur=10 name=\"again\"\n"
           "  4 flow s pid=10 tid=11 start=110 name=\"flow\" cat=\"flow\" id=5\n"
           "  5 flow f pid=10 tid=11 start=130 name=\"flow\" cat=\"flow\" id=5 bp=e\n"
           "  6 flow s pid=10 tid=11 start=150 name=\"flow\" cat=\"flow\" id=5\n"
           "  7 flow f pid=10 tid=11 start=150 name=\"flow\" cat=\"flow\" id=6 bp=e\n");
}

static void test_perfetto__what_was_interned_is_forgotten_when_the_state_is_cleared(void **state)
{
    (void)state;
    expect(THREAD "1{ 10:1 13:1 12{ 2{ 1:1 2'before' } } 59{ 11{ 11:7 } } }"
                  "1{ 10:1 13:2 8:1 11{ 9:3 10:1 } }"
                  "1{ 10:1 13:1 12{ 2{ 1:2 2'after' } } }"
                  "1{ 10:1 13:2 8:2 11{ 9:3 11:7 10:1 } }"
                  "1{ 10:1 13:2 8:3 11{ 9:3 11:7 10:2 } }"
                  "1{ 10:1 42:1 }"
                  "1{ 10:1 13:2 8:4 11{ 9:3 11:7 10:2 } }"
                  "1{ 10:2 41:1 12{ 2{ 1:2 2'of another' } } }"
                  "1{ 10:2 13:2 8:5 11{ 9:3 11:7 10:2 } }",
           "ledger\n"
           "  loss perfetto perfetto.iid-unknown 1 at 81\n"
           "  loss perfetto perfetto.packet-before-state 1 at 120\n"
           "  loss perfetto perfetto.packets-dropped-by-writer 1 at 113\n"
           "tracks\n"
           "  process pid=10\n"
           "  thread pid=10 tid=11 name=\"worker\" instant:4\n"
           "events\n"
           "  0 instant i pid=10 tid=11 start=1 name=\"before\"\n"
           "  1 instant i pid=10 tid=11 start=2\n"
           "  2 instant i pid=10 tid=11 start=3 name=\"after\"\n"
           "  3 instant i pid=10 tid=11 start=5 name=\"of another\"\n");
}

static void test_perfetto__times_of_all_clocks_become_those_of_the_primary_one(void **state)
{
    (void)state;
    expect(THREAD "1{ 6{ 1{ 1:6 2:1000 } 1{ 1:3 2:500 } 2:3 } }"
                  "1{ 6{ 1{ 1:3 2:600 } 1{ 1:128 2:7 4:10 } } }"
                  "1{ 6{ 1{ 1:6 2:3000 } 1{ 1:3 2:2400 } } }"
                  "1{ 10:1 8:1010 58:6 11{ 9:3 11:7 23'boottime' } }"
                  "1{ 10:1 8:3010 58:6 11{ 9:3 11:7 23'boottime, from the later reading' } }"
                  "1{ 10:1 8:20 58:128 11{ 9:3 11:7 23'tens, by two steps' } }"
                  "1{ 10:1 8:700 58:3 11{ 9:3 11:7 23'monotonic' } }"
                  "1{ 10:1 8:800 58:200 11{ 9:3 11:7 23'nobody knows' } }",
           "ledger\n"
           "  loss perfetto perfetto.clock-not-aligned 1 at 222\n"
           "tracks\n"
           "  process pid=10\n"
           "  thread pid=10 tid=11 name=\"worker\" instant:5\n"
           "events\n"
           "  0 instant i pid=10 tid=11 start=510 name=\"boottime\"\n"
           "  1 instant i pid=10 tid=11 start=2410 name=\"boottime, from the later reading\"\n"
           "  2 instant i pid=10 tid=11 start=730 name=\"tens, by two steps\"\n"
           "  3 instant i pid=10 tid=11 start=700 name=\"monotonic\"\n"
           "  4 instant i pid=10 tid=11 start=800 name=\"nobody knows\"\n");
}

static void test_perfetto__streams_are_found_by_arguments(void **state)
{
    (void)state;
    expect("1{ 60{ 1:5 3{ 1:3 6'gpu process' } } } 1{ 60{ 1:7 5:5 2'compute queue' } }"
           "1{ 10:1 8:100 11{ 9:1 11:7 23'k' 22'kernel' 4{ 10'device' 4:2 } 4{ 10'stream' 4:20 } } }"
           "1{ 10:1 8:110 11{ 9:2 11:7 } }",
           "tracks\n"
           "  process pid=3 name=\"gpu process\"\n"
           "  stream pid=3 tid=\"compute queue\" name=\"compute queue\" device=2 stream=20 slice:1 [100, 110]\n"
           "shapes\n"
           "  \"device\":int \"stream\":int args\n"
           "events\n"
           "  0 slice X pid=3 tid=\"compute queue\" start=100 dur=10 name=\"k\" cat=\"kernel\" args\n"
           "      \"device\" (int) 2\n"
           "      \"stream\" (int) 20\n");
}

static void test_perfetto__top_level_keys_come_back(void **state)
{
    (void)state;
    expect(
        "1{ 5{ 2{ 1'distributedInfo' 5'{\"rank\": 3, \"world_size\": 8}' } 2{ 1'traceName' 2'a \"b\"' } 2{ 1'n' 4:-3 }"
        "     2{ 1'yes' 3:1 } 2{ 1'traceEvents' 5'[]' } 2{ 1'broken' 5'[1' } 2{ 2'no name' } } }"
        "1{ 5{ 1{ 1'event' } } }",
        "ledger\n"
        "  repair perfetto perfetto.bad-json 1 at 0\n"
        "  loss perfetto perfetto.metadata-unusable 2 at 0\n"
        "  loss perfetto perfetto.packet-chrome-events 1 at 144\n"
        "metadata\n"
        "  before \"distributedInfo\": {\"rank\": 3, \"world_size\": 8}\n"
        "  before \"traceName\": \"a \\\"b\\\"\"\n"
        "  before \"n\": -3\n"
        "  before \"yes\": true\n"
        "  before \"broken\": \"[1\"\n"
        "events\n");
}

/* A frame of one stored block that states its size, made by hand. */
static void test_perfetto__packets_in_a_frame_of_zstd_are_read(void **state)
{
    (void)state;
    hd_bytes inner = packets(THREAD "1{ 8:100 11{ 9:3 11:7 23'i' } }"), out = {0}, plain = packets("");
    assert_true(inner.size < 256);
    const uint8_t head[] = {
        0x28, 0xb5, 0x2f, 0xfd, 0x20, (uint8_t)inner.size, (uint8_t)(inner.size << 3 | 1), (uint8_t)(inner.size >> 5),
        0};
    hd_bytes_put(&plain, head, sizeof head);
    hd_bytes_put(&plain, inner.data, inner.size);
    size_t packet = hd_pb_begin(&out, 1);
    hd_pb_put_bytes(&out, 133, plain.data, plain.size);
    hd_pb_end(&out, packet);
    char *direct = dump_text((const char *)inner.data, inner.size, NULL, 0, DUMP_CONTENT);
    char *packed = dump_text((const char *)out.data, out.size, NULL, 0, DUMP_CONTENT);
    assert_string_equal(direct, packed);
    assert_non_null(strstr(packed, "start=100 name=\"i\""));
    for (size_t i = 0; i < out.size; i++) { /* damage is an error, never a crash */
        hd_trace *trace;
        out.data[i] ^= 0x41;
        if (read_text(&trace, (const char *)out.data, out.size, NULL, 0, NULL) == HD_OK) hd_trace_free(trace);
        out.data[i] ^= 0x41;
    }
    free(direct);
    free(packed);
    hd_bytes_deinit(&inner);
    hd_bytes_deinit(&plain);
    hd_bytes_deinit(&out);
}

static void test_perfetto__rank_and_base_time_are_facts(void **state)
{
    (void)state;
    static const char *const info = "1{ 5{ 2{ 1'distributedInfo' 5'{\"rank\": 3, \"world_size\": 8}' }"
                                    " 2{ 1'baseTimeNanoseconds' 5'77' } } }";
    expect_fact(info, "\n  rank 3\n");
    expect_fact(info, "\n  world_size 8\n");
    expect_fact(info, "\n  base_ns 77\n");
    /* what clocks say is right: who writes a file may have moved its times */
    expect_fact("1{ 5{ 2{ 1'baseTimeNanoseconds' 4:77 } } } 1{ 6{ 1{ 1:6 2:1000 } 1{ 1:1 2:1090 } } }",
                "\n  base_ns 90\n");
}

/* Perfetto has no times below zero: all move, and what they count from moves with them. */
static void test_perfetto__base_time_moves_with_times_below_zero(void **state)
{
    (void)state;
    static const char json[] =
        "{\"baseTimeNanoseconds\": 5000, \"traceEvents\": [{\"ph\": \"X\", \"pid\": 1, \"tid\": 2, "
        "\"ts\": -1.5, \"dur\": 1}]}";
    hd_trace *trace;
    size_t size;
    assert_int_equal(read_text(&trace, json, sizeof json - 1, NULL, 0, NULL), HD_OK);
    hd_bytes in = {0};
    char *written = write_text(trace, &(hd_write_options){.format = "perfetto"}, &size);
    hd_bytes_put(&in, written, size);
    free(written);
    hd_trace_free(trace);
    char *dump = dump_text((const char *)in.data, in.size, NULL, 0, DUMP_ALL);
    assert_non_null(strstr(dump, "\n  base_ns 3500\n"));
    assert_non_null(strstr(dump, "\"baseTimeNanoseconds\": 3500\n"));
    assert_non_null(strstr(dump, "start=0 dur=1000"));
    assert_null(strstr(dump, "base-time-differs"));
    free(dump);
    hd_bytes_deinit(&in);
}

/* ---- stack samples ---- */

/* Frames come before the mappings they name; a path in parts; frames without a name; the system's kernel. */
#define STACKS                                                                                                         \
    "1{ 10:1 13:1 12{ 7{ 1:1 2:1 2:2 } 7{ 1:2 2'\001\003\004' } 6{ 1:1 2:1 3:1 4:16 } 6{ 1:2 3:1 4:32 }"               \
    " 6{ 1:3 2:2 3:2 } 6{ 1:4 4:255 } 5{ 1:1 2'main' } 5{ 1:2 2'sys_read' } 19{ 1:1 7:1 7:2 } 19{ 1:2 7:3 }"           \
    " 17{ 1:1 2'usr' } 17{ 1:2 2'libfoo.so' } 17{ 1:3 2'kernel' } } }"

static void test_perfetto__perf_samples_have_their_stacks(void **state)
{
    (void)state;
    expect(STACKS "1{ 10:1 8:100 66{ 1:2 2:10 3:11 4:1 5:2 6:7 } } 1{ 10:1 8:110 66{ 2:10 3:11 4:2 5:2 } }"
                  "1{ 10:1 8:120 66{ 2:10 3:12 4:9 5:3 } } 1{ 10:1 66{ 4:1 } }",
           "ledger\n"
           "  loss perfetto perfetto.iid-unknown 1 at 177\n"
           "metadata\n"
           "  after \"stackFrames\": {\"1\":{\"name\":\"main\",\"category\":\"native\"},"
           "\"2\":{\"name\":\"[libfoo.so]\",\"category\":\"native\",\"parent\":1},"
           "\"3\":{\"name\":\"sys_read\",\"category\":\"os\",\"parent\":1},"
           "\"4\":{\"name\":\"0xff\",\"category\":\"native\",\"parent\":3}}\n"
           "tracks\n"
           "  process pid=10\n"
           "  thread pid=10 tid=11 sample:2\n"
           "  thread pid=10 tid=12 sample:1\n"
           "shapes\n"
           "  \"cpu_mode\":string args\n"
           "  event.\"sf\":int\n"
           "  event.\"sf\":int \"cpu\":int \"timebase_count\":int args\n"
           "events\n"
           "  0 sample P pid=10 tid=11 start=100 name=\"stack\" args\n"
           "      event.\"sf\" (int) 2\n"
           "      \"cpu\" (int) 2\n"
           "      \"timebase_count\" (int) 7\n"
           "  1 sample P pid=10 tid=11 start=110 name=\"stack\"\n"
           "      event.\"sf\" (int) 4\n"
           "  2 sample P pid=10 tid=12 start=120 name=\"stack\" args\n"
           "      \"cpu_mode\" (string) \"hypervisor\"\n"
           "  3 sample P name=\"stack\"\n"
           "      event.\"sf\" (int) 2\n");
}

/* The second file has what the first had, where a sample has a thread and a stack. */
static void test_perfetto__perf_samples_survive_being_written_again(void **state)
{
    (void)state;
    hd_bytes in =
        packets(STACKS "1{ 10:1 8:100 66{ 1:2 2:10 3:11 4:1 5:3 6:7 } } 1{ 10:1 8:110 66{ 2:10 3:11 4:2 5:2 } }"
                       "1{ 10:1 8:110 66{ 2:10 3:12 4:2 5:1 } }");
    hd_trace *trace, *again;
    size_t size;
    assert_int_equal(read_text(&trace, (const char *)in.data, in.size, NULL, 0, NULL), HD_OK);
    char *written = write_text(trace, &(hd_write_options){.format = "perfetto"}, &size);
    assert_int_equal(read_text(&again, written, size, NULL, 0, NULL), HD_OK);
    char *before = dump_trace(trace, DUMP_CONTENT), *after = dump_trace(again, DUMP_CONTENT);
    assert_non_null(strstr(before, "\"cpu_mode\" (string) \"hypervisor\""));
    assert_non_null(strstr(before, "\"cpu_mode\" (string) \"kernel\""));
    const char *events = strstr(before, "tracks\n"), *events_again = strstr(after, "tracks\n");
    assert_non_null(events);
    assert_non_null(events_again);
    assert_string_equal(events, events_again);
    free(before);
    free(after);
    free(written);
    hd_trace_free(trace);
    hd_trace_free(again);
    hd_bytes_deinit(&in);
}

/* What the recorder says of itself is not a sample. */
static void test_perfetto__lost_and_skipped_perf_samples_are_counted(void **state)
{
    (void)state;
    expect(CLEARED "1{ 10:1 8:100 66{ 1:2 17:40 } } 1{ 10:1 8:110 66{ 2:10 3:11 18:2 } }"
                   "1{ 10:1 8:120 66{ 19{ 1:1 } } } 1{ 10:1 8:130 66{ 2:10 3:11 } }",
           "ledger\n"
           "  note perfetto perfetto.sample-recorder-event 1 at 36\n"
           "  loss perfetto perfetto.samples-lost-by-writer 40 at 6\n"
           "  loss perfetto perfetto.samples-skipped-by-writer 1 at 20\n"
           "tracks\n"
           "  process pid=10\n"
           "  thread pid=10 tid=11 sample:1\n"
           "events\n"
           "  0 sample P pid=10 tid=11 start=130 name=\"stack\"\n");
}

#define FRAMES(text) "1{ 5{ 2{ 1'stackFrames' 5'" text "' } } }"
#define SAMPLED STACKS "1{ 10:1 8:100 66{ 2:10 3:11 4:1 5:2 } }"

/* The frames that events name are those of stackFrames, whatever their numbers, where it has them all. */
static void test_perfetto__frames_of_perf_samples_are_those_of_the_trace(void **state)
{
    (void)state;
    const char *const all = FRAMES("{\"77\":{\"name\":\"[libfoo.so]\",\"parent\":5},\"5\":{\"name\":\"main\"},"
                                   "\"8\":{\"name\":\"sys_read\",\"category\":\"os\",\"parent\":5},"
                                   "\"9\":{\"name\":\"0xff\",\"parent\":8}}");
    hd_bytes in = packets(SAMPLED), frames = packets(all);
    hd_bytes_put(&in, frames.data, frames.size);
    char *dump = dump_text((const char *)in.data, in.size, NULL, 0, DUMP_ALL);
    assert_non_null(strstr(dump, "event.\"sf\" (int) 77\n"));
    assert_non_null(strstr(dump, "\"77\":{\"name\":\"[libfoo.so]\",\"parent\":5},\"5\":{\"name\":\"main\"}"));
    assert_null(strstr(dump, "\"parent\":77"));
    free(dump);
    hd_bytes_deinit(&in);
    hd_bytes_deinit(&frames);
    /* one is missing, or is not a number: all of the samples' come beside it */
    expect_fact(SAMPLED FRAMES("{\"5\":{\"name\":\"main\"}}"),
                "{\"5\":{\"name\":\"main\"},\"6\":{\"name\":\"main\",\"category\":\"native\"},"
                "\"7\":{\"name\":\"[libfoo.so]\",\"category\":\"native\",\"parent\":6}");
    expect_fact(SAMPLED FRAMES("{\"5\":{\"name\":\"main\"}}"), "event.\"sf\" (int) 7\n");
    expect_fact(SAMPLED FRAMES("{\"m\":{\"name\":\"main\"}}"),
                "{\"m\":{\"name\":\"main\"},\"1\":{\"name\":\"main\",\"category\":\"native\"}");
    expect_fact(SAMPLED FRAMES("[]"), "loss perfetto perfetto.stack-frames-damaged 1");
    expect_fact(SAMPLED FRAMES("[]"), "event.\"sf\" (int) 2\n");
}

/* A slice that names a frame of a tree which is not there must not get one of the samples'. */
static void test_perfetto__frames_that_are_not_there_stay_unknown(void **state)
{
    (void)state;
    const char *const text = SAMPLED THREAD "1{ 10:1 8:200 11{ 9:3 11:7 23'k' 4{ 10'event.sf' 4:2 } } }";
    expect_fact(text, "      event.\"sf\" (int) 2\n");
    expect_fact(text, "      event.\"sf\" (int) 1099511627778\n");
    expect_fact(text, "\"1099511627777\":{\"name\":\"main\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_perfetto__stages_of_a_gpu_are_slices_of_its_queues),
        cmocka_unit_test(test_perfetto__stages_of_the_old_form_are_named_by_their_index),
        cmocka_unit_test(test_perfetto__counters_of_a_gpu_have_their_unit),
        cmocka_unit_test(test_perfetto__phases_of_chrome_keep_their_kind),
        cmocka_unit_test(test_perfetto__locations_and_messages_are_found_by_their_iid),
        cmocka_unit_test(test_perfetto__a_process_tree_names_what_has_events),
        cmocka_unit_test(test_perfetto__a_clock_of_steps_goes_on_with_packets_that_are_not_read),
        cmocka_unit_test(test_perfetto__times_of_the_old_form_count_from_the_thread),
        cmocka_unit_test(test_perfetto__values_beside_an_event_are_samples_of_its_counters),
        cmocka_unit_test(test_perfetto__annotations_keep_their_type_and_nest),
        cmocka_unit_test(test_perfetto__what_our_writer_does_not_take_apart_is_json_again),
        cmocka_unit_test(test_perfetto__slices_of_siblings_by_key_are_of_one_track),
        cmocka_unit_test(test_perfetto__the_outer_of_equal_slices_comes_first),
        cmocka_unit_test(test_perfetto__flow_points_stand_where_their_slice_takes_them),
        cmocka_unit_test(test_perfetto__what_was_interned_is_forgotten_when_the_state_is_cleared),
        cmocka_unit_test(test_perfetto__times_of_all_clocks_become_those_of_the_primary_one),
        cmocka_unit_test(test_perfetto__streams_are_found_by_arguments),
        cmocka_unit_test(test_perfetto__top_level_keys_come_back),
        cmocka_unit_test(test_perfetto__packets_in_a_frame_of_zstd_are_read),
        cmocka_unit_test(test_perfetto__rank_and_base_time_are_facts),
        cmocka_unit_test(test_perfetto__base_time_moves_with_times_below_zero),
        cmocka_unit_test(test_perfetto__perf_samples_have_their_stacks),
        cmocka_unit_test(test_perfetto__perf_samples_survive_being_written_again),
        cmocka_unit_test(test_perfetto__lost_and_skipped_perf_samples_are_counted),
        cmocka_unit_test(test_perfetto__frames_of_perf_samples_are_those_of_the_trace),
        cmocka_unit_test(test_perfetto__frames_that_are_not_there_stay_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
