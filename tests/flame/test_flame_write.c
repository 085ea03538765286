/* test_flame_write.c - flames as folded text and as speedscope's JSON: order, hostile names, depth, numbers */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixtures.h"
#include "flame/flame.h"
#include "flame/flame_text.h"
#include "random_trace.h"
#include "rounds.h"

/* ---- flames by hand ---- */

/* Weight for a stack: frames parted by '|'. */
static void weigh_bytes(hd_flame *flame, const char *stack, size_t size, int64_t weight)
{
    assert_int_equal(flame_make_room(flame, NULL), HD_OK);
    uint32_t node = HD_STACK_NONE;
    for (size_t at = 0; at <= size;) {
        size_t end = at;
        while (end < size && stack[end] != '|') end++;
        node =
            hd_stacks_push(flame->stacks, node, hd_stacks_name(flame->stacks, stack + at, end - at), HD_FRAME_NATIVE);
        at = end + 1;
    }
    assert_int_not_equal(node, HD_NONE);
    assert_int_equal(flame_make_room(flame, NULL), HD_OK);
    flame->of = HD_FLAME_GPU_TIME;
    flame->self[node] += weight;
    flame->count[node]++;
    flame_total(flame->total, flame->self, flame->stacks);
}

static void weigh(hd_flame *flame, const char *stack, int64_t weight)
{
    weigh_bytes(flame, stack, strlen(stack), weight);
}

static void assert_folded(const hd_flame *flame, const char *expected, uint64_t changed)
{
    const hd_flame_write_options options = {.format = HD_FLAME_FOLDED};
    hd_flame_written written;
    size_t size, lines;
    char *text = flame_file(flame, &options, &written, &size);
    assert_string_equal(text, expected);
    folded_sum(text, size, &lines);
    assert_int_equal(written.stacks, lines);
    assert_int_equal(written.changed_names, changed);
    free(text);
}

static void assert_speedscope(const hd_flame *flame, uint64_t changed)
{
    const hd_flame_write_options options = {.format = HD_FLAME_SPEEDSCOPE};
    hd_flame_written written;
    size_t size;
    char *text = flame_file(flame, &options, &written, &size), *answer = speedscope_checked(text, size), expected[64];
    assert_int_equal(written.changed_names, changed);
    free(text);
    if (!answer) {
        print_message("no python3: JSON is not checked\n");
        return;
    }
    snprintf(expected, sizeof expected, "ok %lld\n", (long long)flame->total[0]);
    assert_string_equal(answer, expected);
    free(answer);
}

/* ---- names of things ---- */

static void test_flame_write__formats_are_told_by_the_extension(void **state)
{
    (void)state;
    hd_flame_format format;
    assert_true(hd_flame_format_of(&format, "a.folded") && format == HD_FLAME_FOLDED);
    assert_true(hd_flame_format_of(&format, "a/b.txt") && format == HD_FLAME_FOLDED);
    assert_true(hd_flame_format_of(&format, "a.speedscope.json") && format == HD_FLAME_SPEEDSCOPE);
    assert_true(hd_flame_format_of(&format, "a.json.gz") && format == HD_FLAME_SPEEDSCOPE);
    assert_true(hd_flame_format_of(&format, "a.svg") && format == HD_FLAME_SVG);
    assert_false(hd_flame_format_of(&format, "a.svg.bak"));
    assert_false(hd_flame_format_of(&format, "svg"));
    assert_false(hd_flame_format_of(&format, ""));
}

static void test_flame_write__weights_have_names_and_units(void **state)
{
    (void)state;
    static const char *const names[] = {"auto", "gpu-time", "cpu-time", "cpu-self", "launches", "bytes", "samples"};
    static const char *const units[] = {"", "ns", "ns", "ns", "launches", "bytes", "samples"};
    for (int of = 0; of < HD_FLAME_OFS; of++) {
        assert_string_equal(hd_flame_of_name((hd_flame_of)of), names[of]);
        assert_string_equal(flame_unit_of((hd_flame_of)of), units[of]);
        assert_true(strlen(flame_title_of((hd_flame_of)of)) > 0);
    }
}

/* ---- folded text ---- */

static void test_flame_write__folded_lines_are_sorted_by_their_bytes(void **state)
{
    (void)state;
    hd_flame flame = {0};
    weigh(&flame, "b|c", 1);
    weigh(&flame, "b", 20);
    weigh(&flame, "a!|x", 3);
    weigh(&flame, "a|x", 4);
    weigh(&flame, "\xc3\xa9", 5);
    weigh(&flame, "B", 6);
    /* '!' and ' ' are before ';', and so is the weight of a caller */
    assert_folded(&flame, "B 6\na!;x 3\na;x 4\nb 20\nb;c 1\n\xc3\xa9 5\n", 0);
    assert_int_equal(flame.total[0], 39);
    assert_speedscope(&flame, 0);
    flame_deinit(&flame);
}

static void test_flame_write__weights_take_part_in_the_order_where_names_go_on(void **state)
{
    (void)state;
    hd_flame flame = {0};
    weigh(&flame, "a", 57);
    weigh(&flame, "a 5x", 1);
    weigh(&flame, "a 6x", 1);
    weigh(&flame, "a 58x", 1);
    weigh(&flame, "a 57x", 1);
    weigh(&flame, "a|b", 1);
    weigh(&flame, "a 57 y|b", 1);
    assert_folded(&flame, "a 57\na 57 y;b 1\na 57x 1\na 58x 1\na 5x 1\na 6x 1\na;b 1\n", 0);
    flame_deinit(&flame);
}

/* What `LC_ALL=C sort` says of random names, which are such as to go on in one another. */
static void test_flame_write__random_lines_are_as_sorted(void **state)
{
    (void)state;
    static const char letters[] = "a b1!|:\x7f\xc3;\n";
    const uint64_t first = hd_test_seed(0);
    for (uint64_t round = 0; round < 300; round++) {
        uint64_t seed = first + round;
        hd_flame flame = {0};
        size_t size, lines;
        for (int i = 0; i < 40; i++) {
            char stack[24];
            size_t length = 1 + random_next(&seed) % (sizeof stack - 1);
            for (size_t j = 0; j < length; j++)
                stack[j] = letters[random_next(&seed) % (random_next(&seed) % 2 ? 4 : sizeof letters - 1)];
            weigh_bytes(&flame, stack, length, 1 + random_next(&seed) % 120);
        }
        const hd_flame_write_options options = {.format = HD_FLAME_FOLDED};
        hd_flame_written written;
        char *text = flame_file(&flame, &options, &written, &size);
        assert_int_equal(folded_sum(text, size, &lines), flame.total[0]);
        assert_int_equal(lines, written.stacks);
        free(text);
        flame_deinit(&flame);
    }
}

static void test_flame_write__hostile_names_are_safe_in_lines_and_counted(void **state)
{
    (void)state;
    static const char nul[] = "nu\0l|x";
    hd_flame flame = {0};
    weigh(&flame, "operator;;|x", 1);
    weigh(&flame, "a\nb\r\nc\t|x", 2);
    weigh(&flame, "bad \xff\xc3 utf|x", 3);
    weigh(&flame, "\x1b[31mred\x1b[0m|x", 4);
    weigh(&flame, "<script>&\"'|x", 5);
    weigh(&flame, "csi \xc2\x9b 1|x", 6);
    weigh(&flame, "half \xed\xa0\x80|x", 7);
    weigh(&flame, "|x", 8);
    weigh_bytes(&flame, nul, sizeof nul - 1, 9);
    weigh(&flame, "line \xe2\x80\xa8 ends \xe2\x80\xa9|x", 10); /* speedscope's lines end there */
    assert_folded(
        &flame,
        " [31mred [0m;x 4\n<script>&\"';x 5\n[unknown];x 8\na b  c ;x 2\n"
        "bad \xef\xbf\xbd\xef\xbf\xbd utf;x 3\ncsi   1;x 6\nhalf \xef\xbf\xbd;x 7\nline   ends  ;x 10\nnu l;x 9\n"
        "operator::;x 1\n",
        9);
    assert_speedscope(&flame, 3);
    flame_deinit(&flame);
}

static void test_flame_write__names_that_become_the_same_are_one_line(void **state)
{
    (void)state;
    hd_flame flame = {0};
    weigh(&flame, "a;b|x", 1);
    weigh(&flame, "a:b|x", 2);
    weigh(&flame, "a;b|y", 4);
    assert_folded(&flame, "a:b;x 3\na:b;y 4\n", 1);
    flame_deinit(&flame);
}

/* flamegraph.pl and inferno would take "nn.Module 3 10" for the weights 3 and 10. */
static void test_flame_write__a_number_at_the_end_of_a_leaf_is_no_weight(void **state)
{
    (void)state;
    hd_flame flame = {0};
    weigh(&flame, "rank 0|layer 3", 10);
    weigh(&flame, "rank 0|layer 3|f", 2);
    weigh(&flame, "rank 0|v 1.5", 1);
    weigh(&flame, "rank 0|v1.5", 1);
    weigh(&flame, "rank 0|5", 1);
    assert_folded(&flame, "rank 0;5 1\nrank 0;layer 3;f 2\nrank 0;layer_3 10\nrank 0;v1.5 1\nrank 0;v_1.5 1\n", 2);
    flame_deinit(&flame);
}

static void test_flame_write__stacks_of_no_weight_are_lines_only_if_asked_for(void **state)
{
    (void)state;
    hd_flame flame = {0};
    weigh(&flame, "a|b", 0);
    weigh(&flame, "a|c", 1);
    assert_folded(&flame, "a;c 1\n", 0);
    flame.weightless = true;
    assert_folded(&flame, "a;b 0\na;c 1\n", 0);
    assert_speedscope(&flame, 0);
    flame_deinit(&flame);
}

static void test_flame_write__two_flames_are_lines_of_two_weights(void **state)
{
    (void)state;
    hd_flame older = {0}, newer = {0};
    weigh(&older, "a|b", 10);
    weigh(&older, "a|gone", 3);
    weigh(&newer, "a|b", 4);
    weigh(&newer, "new", 5);
    const hd_flame_write_options options = {.format = HD_FLAME_FOLDED, .base = &older};
    char *text = flame_file(&newer, &options, NULL, NULL);
    assert_string_equal(text, "a;b 10 4\na;gone 3 0\nnew 0 5\n");
    free(text);
    older.of = HD_FLAME_BYTES;
    assert_int_equal(hd_flame_write(NULL, &newer, "/dev/null", &options, NULL), HD_ERR_ARGUMENT);
    const hd_flame_write_options speedscope = {.format = HD_FLAME_SPEEDSCOPE, .base = &newer};
    assert_int_equal(hd_flame_write(NULL, &newer, "/dev/null", &speedscope, NULL), HD_ERR_ARGUMENT);
    flame_deinit(&older);
    flame_deinit(&newer);
}

/* ---- sizes ---- */

static void test_flame_write__a_chain_of_a_hundred_thousand_frames_is_written(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    hd_flame flame = {.of = HD_FLAME_GPU_TIME};
    assert_int_equal(flame_make_room(&flame, NULL), HD_OK);
    uint32_t node = HD_STACK_NONE, name = hd_stacks_name(flame.stacks, "f", 1);
    for (int i = 0; i < DEPTH; i++) node = hd_stacks_push(flame.stacks, node, name, HD_FRAME_NATIVE);
    assert_int_equal(flame_make_room(&flame, NULL), HD_OK);
    flame.self[node] = 7;
    flame_total(flame.total, flame.self, flame.stacks);
    assert_int_equal(flame.total[0], 7);
    const hd_flame_write_options options = {.format = HD_FLAME_FOLDED};
    size_t size;
    char *text = flame_file(&flame, &options, NULL, &size);
    assert_int_equal(size, 2 * DEPTH + 2);
    free(text);
    assert_speedscope(&flame, 0);
    flame_deinit(&flame);
}

static void test_flame_write__a_hundred_thousand_stacks_are_written(void **state)
{
    (void)state;
    hd_flame flame = {.of = HD_FLAME_LAUNCHES};
    int64_t sum = 0;
    assert_int_equal(flame_make_room(&flame, NULL), HD_OK);
    for (uint32_t i = 0; i < 100000; i++) {
        char text[32];
        uint32_t node = HD_STACK_NONE;
        for (uint32_t rest = i, level = 0; level < 6; level++, rest /= 8) {
            int size = snprintf(text, sizeof text, "frame %u", rest % 8 + level);
            node = hd_stacks_push(flame.stacks, node, hd_stacks_name(flame.stacks, text, (size_t)size), HD_FRAME_OP);
        }
        assert_int_equal(flame_make_room(&flame, NULL), HD_OK);
        flame.self[node] += i;
        sum += i;
    }
    flame_total(flame.total, flame.self, flame.stacks);
    const hd_flame_write_options options = {.format = HD_FLAME_FOLDED};
    size_t size;
    char *text = flame_file(&flame, &options, NULL, &size);
    assert_int_equal(folded_sum(text, size, NULL), sum);
    free(text);
    assert_speedscope(&flame, 0);
    flame_deinit(&flame);
}

static void test_flame_write__weights_beyond_int64_stop_at_its_end(void **state)
{
    (void)state;
    hd_flame flame = {0};
    weigh(&flame, "a", INT64_MAX);
    weigh(&flame, "b", 5);
    assert_int_equal(flame.total[0], INT64_MAX);
    assert_folded(&flame, "a 9223372036854775807\nb 5\n", 0);
    flame_deinit(&flame);
}

/* ---- files ---- */

static void test_flame_write__what_fails_leaves_the_older_file(void **state)
{
    (void)state;
    char path[] = "/tmp/heddle-flame-XXXXXX";
    hd_flame flame = {0};
    size_t size;
    int file = mkstemp(path);
    assert_int_equal(write(file, "old", 3), 3);
    close(file);
    weigh(&flame, "a", 1);
    const hd_flame_write_options refused = {.format = HD_FLAME_SPEEDSCOPE, .base = &flame};
    assert_int_equal(hd_flame_write(NULL, &flame, path, &refused, NULL), HD_ERR_ARGUMENT);
    char *text = file_text(path, &size);
    assert_string_equal(text, "old");
    free(text);
    assert_int_equal(hd_flame_write(NULL, &flame, "/nowhere/at/all.folded", NULL, NULL), HD_ERR_IO);
    assert_int_equal(hd_flame_write(NULL, &flame, path, NULL, NULL), HD_OK);
    text = file_text(path, &size);
    assert_string_equal(text, "a 1\n");
    free(text);
    unlink(path);
    flame_deinit(&flame);
}

static void test_flame_write__an_empty_flame_is_an_empty_file(void **state)
{
    (void)state;
    hd_flame flame = {.of = HD_FLAME_GPU_TIME};
    assert_folded(&flame, "", 0);
    hd_flame full = {0};
    weigh(&full, "a", 1);
    const hd_flame_write_options options = {.format = HD_FLAME_FOLDED, .base = &full};
    char *text = flame_file(&flame, &options, NULL, NULL);
    assert_string_equal(text, "a 1 0\n");
    free(text);
    flame_deinit(&full);
    hd_flame empty = {0};
    assert_int_equal(flame_make_room(&empty, NULL), HD_OK);
    empty.of = HD_FLAME_BYTES;
    assert_speedscope(&empty, 0);
    flame_deinit(&empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flame_write__formats_are_told_by_the_extension),
        cmocka_unit_test(test_flame_write__weights_have_names_and_units),
        cmocka_unit_test(test_flame_write__folded_lines_are_sorted_by_their_bytes),
        cmocka_unit_test(test_flame_write__weights_take_part_in_the_order_where_names_go_on),
        cmocka_unit_test(test_flame_write__random_lines_are_as_sorted),
        cmocka_unit_test(test_flame_write__hostile_names_are_safe_in_lines_and_counted),
        cmocka_unit_test(test_flame_write__names_that_become_the_same_are_one_line),
        cmocka_unit_test(test_flame_write__a_number_at_the_end_of_a_leaf_is_no_weight),
        cmocka_unit_test(test_flame_write__stacks_of_no_weight_are_lines_only_if_asked_for),
        cmocka_unit_test(test_flame_write__two_flames_are_lines_of_two_weights),
        cmocka_unit_test(test_flame_write__a_chain_of_a_hundred_thousand_frames_is_written),
        cmocka_unit_test(test_flame_write__a_hundred_thousand_stacks_are_written),
        cmocka_unit_test(test_flame_write__weights_beyond_int64_stop_at_its_end),
        cmocka_unit_test(test_flame_write__what_fails_leaves_the_older_file),
        cmocka_unit_test(test_flame_write__an_empty_flame_is_an_empty_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
