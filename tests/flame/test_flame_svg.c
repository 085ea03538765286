/* test_flame_svg.c - flame graphs as SVG: the layout's sums, what is left out, names, sizes */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json/json.h"
#include "flame/flame_text.h"
#include "flame/svg.h"
#include "rounds.h"

static void begin(hd_flame *flame, hd_flame_of of)
{
    *flame = (hd_flame){.of = of};
    assert_int_equal(flame_make_room(flame, NULL), HD_OK);
}

static uint32_t push(hd_flame *flame, uint32_t caller, const char *name, size_t size, hd_frame_kind kind)
{
    uint32_t node = hd_stacks_push(flame->stacks, caller, hd_stacks_name(flame->stacks, name, size), kind);
    assert_int_not_equal(node, HD_NONE);
    return node;
}

static void weigh(hd_flame *flame, uint32_t node, int64_t weight)
{
    assert_int_equal(flame_make_room(flame, NULL), HD_OK);
    flame->self[node] = flame_sum(flame->self[node], weight);
    flame->count[node]++;
}

static void total(hd_flame *flame)
{
    flame_total(flame->total, flame->self, flame->stacks);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void random_flame(hd_flame *flame, uint64_t seed, uint32_t nodes)
{
    begin(flame, HD_FLAME_GPU_TIME);
    for (uint32_t i = 0; i < nodes; i++) {
        char name[16];
        uint32_t caller = (uint32_t)(next_random(&seed) % hd_stacks_count(flame->stacks));
        int size = snprintf(name, sizeof name, "f%u", (unsigned)(next_random(&seed) % 50));
        uint32_t node = push(flame, caller, name, (size_t)size, (hd_frame_kind)(next_random(&seed) % HD_FRAME_KINDS));
        if (next_random(&seed) % 2) weigh(flame, node, (int64_t)(next_random(&seed) % 100000));
    }
    assert_int_equal(flame_make_room(flame, NULL), HD_OK);
    total(flame);
}

/* ---- the layout ---- */

/* Preorder; callees lie side by side in their callers; what a cell and its callees weigh of their own is its total. */
static void check_layout(const svg_layout *layout, const hd_flame *flame, double min_percent)
{
    uint32_t open[4096] = {0}; /* by depth: the cell */
    int64_t *at = calloc(layout->count, sizeof *at), *own = calloc(layout->count, sizeof *own);
    uint64_t frames = 0, hidden = 0;
    assert_int_equal(layout->cells[0].total, flame->total[0]);
    for (size_t i = 0; i < layout->count; i++) {
        const svg_cell *cell = &layout->cells[i];
        own[i] = cell->self;
        at[i] = cell->start;
        frames += i && cell->node != HD_NONE;
        hidden += cell->hidden;
        if (i == 0) continue;
        assert_true(cell->depth >= 1 && cell->depth <= layout->cells[i - 1].depth + 1);
        const svg_cell *caller = &layout->cells[open[cell->depth - 1]];
        assert_int_equal(cell->caller, open[cell->depth - 1]);
        assert_int_equal(cell->start, at[open[cell->depth - 1]]);
        at[open[cell->depth - 1]] += cell->total;
        assert_true(at[open[cell->depth - 1]] <= caller->start + caller->total);
        assert_true(cell->total == 0 || cell->depth < layout->rows);
        open[cell->depth] = (uint32_t)i;
        if (cell->node == HD_NONE) continue;
        assert_int_equal(hd_stacks_at(flame->stacks, cell->node).caller, i && caller->node ? caller->node : 0);
        assert_int_equal(cell->total, flame->total[cell->node]);
        assert_true((double)cell->total * 100 >= min_percent * (double)flame->total[0]);
    }
    for (size_t i = layout->count; i-- > 0;) {
        assert_int_equal(own[i], layout->cells[i].total);
        for (size_t c = i; c-- > 0;) {
            if (layout->cells[c].depth + 1 != layout->cells[i].depth) continue;
            own[c] += own[i];
            break;
        }
    }
    assert_int_equal(frames, layout->frames);
    assert_int_equal(hidden, layout->left_out);
    assert_int_equal(frames + hidden, hd_stacks_count(flame->stacks) - 1);
    free(at);
    free(own);
}

static void test_svg__callees_fit_into_their_callers_and_nothing_gets_lost(void **state)
{
    static const double percents[] = {0, 0.05, 1, 5, 100};
    (void)state;
    const uint64_t first = hd_test_seed(0);
    for (uint64_t seed = first; seed < first + 60; seed++) {
        hd_flame flame;
        flame_view view;
        random_flame(&flame, seed, (uint32_t)(seed * 17 % 900));
        assert_int_equal(flame_view_init(&view, &flame, NULL, NULL), HD_OK);
        for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
            svg_layout layout;
            assert_int_equal(svg_layout_init(&layout, &view, percents[i], NULL), HD_OK);
            check_layout(&layout, &flame, percents[i]);
            svg_layout_deinit(&layout);
        }
        flame_view_deinit(&view);
        flame_deinit(&flame);
    }
}

static void test_svg__callees_stand_in_the_order_of_their_names(void **state)
{
    (void)state;
    static const char *const names[] = {"b", "a", "ab", "Z", "\xc3\xa9", "a b"}, *const wanted =
                                                                                     "Z a a b ab b \xc3\xa9 ";
    hd_flame flame;
    flame_view view;
    svg_layout layout;
    char found[64] = "";
    begin(&flame, HD_FLAME_SAMPLES);
    for (size_t i = 0; i < 6; i++) weigh(&flame, push(&flame, 0, names[i], strlen(names[i]), HD_FRAME_NATIVE), 1);
    total(&flame);
    assert_int_equal(flame_view_init(&view, &flame, NULL, NULL), HD_OK);
    assert_int_equal(svg_layout_init(&layout, &view, 0, NULL), HD_OK);
    for (size_t i = 1; i < layout.count; i++) {
        hd_string text = hd_stacks_text(flame.stacks, hd_stacks_at(flame.stacks, layout.cells[i].node).name);
        strncat(found, text.data, text.size);
        strcat(found, " ");
    }
    assert_string_equal(found, wanted);
    svg_layout_deinit(&layout);
    flame_view_deinit(&view);
    flame_deinit(&flame);
}

static void test_svg__what_is_left_out_is_one_cell_behind_the_callees(void **state)
{
    (void)state;
    hd_flame flame;
    flame_view view;
    svg_layout layout;
    begin(&flame, HD_FLAME_SAMPLES);
    uint32_t main_node = push(&flame, 0, "main", 4, HD_FRAME_NATIVE);
    weigh(&flame, push(&flame, main_node, "z", 1, HD_FRAME_NATIVE), 990);
    uint32_t a = push(&flame, main_node, "a", 1, HD_FRAME_NATIVE);
    weigh(&flame, push(&flame, a, "b", 1, HD_FRAME_NATIVE), 4);
    weigh(&flame, push(&flame, main_node, "c", 1, HD_FRAME_NATIVE), 6);
    total(&flame);
    assert_int_equal(flame_view_init(&view, &flame, NULL, NULL), HD_OK);
    assert_int_equal(svg_layout_init(&layout, &view, 1, NULL), HD_OK);
    assert_int_equal(layout.count, 4);
    assert_int_equal(layout.cells[3].node, HD_NONE);
    assert_int_equal(layout.cells[3].start, 990);
    assert_int_equal(layout.cells[3].total, 10);
    assert_int_equal(layout.cells[3].hidden, 3);
    assert_int_equal(layout.cells[3].count, 2);
    svg_layout_deinit(&layout);
    flame_view_deinit(&view);
    flame_deinit(&flame);
}

/* Totals stop at INT64_MAX, so callees may weigh more than their caller; none may stand outside of it. */
static void test_svg__weights_beyond_int64_stay_inside_of_the_picture(void **state)
{
    (void)state;
    hd_flame flame;
    flame_view view;
    svg_layout layout;
    begin(&flame, HD_FLAME_GPU_TIME);
    for (char name = 'a'; name < 'e'; name++)
        weigh(&flame, push(&flame, 0, &name, 1, HD_FRAME_KERNEL), INT64_MAX / 2 - 5);
    weigh(&flame, push(&flame, 0, "negative", 8, HD_FRAME_KERNEL), -7);
    total(&flame);
    assert_int_equal(flame_view_init(&view, &flame, NULL, NULL), HD_OK);
    assert_int_equal(svg_layout_init(&layout, &view, 0, NULL), HD_OK);
    for (size_t i = 0; i < layout.count; i++) {
        assert_true(layout.cells[i].start >= 0 && layout.cells[i].total >= 0);
        assert_true(layout.cells[i].total <= layout.cells[0].total - layout.cells[i].start);
    }
    svg_layout_deinit(&layout);
    flame_view_deinit(&view);
    hd_flame_write_options options = {.format = HD_FLAME_SVG, .min_percent = -1};
    free(flame_file(&flame, &options, NULL, NULL));
    flame_deinit(&flame);
}

/* ---- the file ---- */

/* A parser of XML reads it; skipped without python3. */
static void check_xml(const char *text, size_t size)
{
    FILE *pipe =
        popen("python3 -c 'import sys, xml.dom.minidom as m; m.parseString(sys.stdin.buffer.read())' >&2", "w");
    assert_non_null(pipe);
    fwrite(text, 1, size, pipe);
    int status = pclose(pipe);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return;
    assert_int_equal(status, 0);
}

static void test_svg__any_bytes_may_be_a_name(void **state)
{
    (void)state;
    hd_flame flame;
    uint64_t seed = hd_test_seed(7);
    size_t size;
    hd_flame_written written;
    begin(&flame, HD_FLAME_SAMPLES);
    for (int i = 0; i < 2000; i++) {
        static const char *const pieces[] = {"<",
                                             ">",
                                             "&",
                                             "\"",
                                             "'",
                                             "]]>",
                                             "\\",
                                             "\xef\xbf\xbf",
                                             "\xed\xa0\x80",
                                             "\xe2\x80\xae",
                                             "\xf0\x9f\x94\xa5",
                                             "<!--",
                                             "-->",
                                             "</script>",
                                             "\xc2\x85",
                                             "{%d}",
                                             "\xff",
                                             "\xe2\x82"};
        char name[200];
        size_t length = 0, wanted = next_random(&seed) % 100;
        while (length < wanted) {
            const char *piece = pieces[next_random(&seed) % (sizeof pieces / sizeof *pieces)];
            if (next_random(&seed) % 2) {
                name[length++] = (char)next_random(&seed);
            } else {
                memcpy(name + length, piece, strlen(piece));
                length += strlen(piece);
            }
        }
        weigh(&flame,
              push(&flame, (uint32_t)(next_random(&seed) % hd_stacks_count(flame.stacks)), name, length,
                   (hd_frame_kind)(i % HD_FRAME_KINDS)),
              100);
    }
    total(&flame);
    hd_flame_write_options options = {.format = HD_FLAME_SVG, .title = "<title> & \xff\x01 \"]]>\"", .min_percent = 0};
    char *text = flame_file(&flame, &options, &written, &size);
    assert_true(hd_utf8_valid(text, size, false));
    for (size_t i = 0; i < size; i++) assert_true((unsigned char)text[i] >= 0x20 || text[i] == '\n');
    assert_null(strstr(text, "\xe2\x80\xae"));
    check_xml(text, size);
    assert_true(written.changed_names > 1000);
    assert_int_equal(written.frames, hd_stacks_count(flame.stacks) - 1);
    assert_int_equal(written.bytes, size);
    free(text);
    flame_deinit(&flame);
}

static void test_svg__nothing_counted_is_a_picture_that_says_so(void **state)
{
    (void)state;
    hd_flame flame = {.of = HD_FLAME_GPU_TIME};
    hd_flame_write_options options = {.format = HD_FLAME_SVG, .min_percent = -1};
    size_t size;
    char *text = flame_file(&flame, &options, NULL, &size);
    assert_non_null(strstr(text, ">GPU time: nothing was counted</title>"));
    check_xml(text, size);
    free(text);
}

static void test_svg__it_says_what_is_not_drawn(void **state)
{
    (void)state;
    hd_flame flame;
    hd_flame_written written;
    begin(&flame, HD_FLAME_GPU_TIME);
    weigh(&flame, push(&flame, 0, "busy", 4, HD_FRAME_KERNEL), 1234000000);
    for (int i = 0; i < 1500; i++) {
        char name[16];
        weigh(&flame, push(&flame, 0, name, (size_t)snprintf(name, sizeof name, "k%d", i), HD_FRAME_KERNEL), 10);
    }
    flame.no_stack = 24680300;
    flame.no_stack_count = 3;
    flame.pending_count = 12;
    flame.removed = 5000;
    total(&flame);
    hd_flame_write_options options = {.format = HD_FLAME_SVG, .min_percent = -1};
    char *text = flame_file(&flame, &options, &written, NULL);
    assert_non_null(
        strstr(text, ">GPU time: 1.234 s of kernels, copies and memsets, 1,501 of them; 2.0 % without a stack<"));
    assert_non_null(strstr(text, "1,500 of 1,501 frames below 0.05 % are not drawn (use --min-percent)"));
    assert_non_null(strstr(text, "12 launches of work that is not there"));
    assert_non_null(strstr(text, "5.000 µs left out as asked for"));
    assert_non_null(strstr(text, "\"frames\":\"0 1 0 0 0 2 1234000000 1 1 0 15000 1500 1500\""));
    assert_int_equal(written.frames, 1);
    assert_int_equal(written.frames_left_out, 1500);
    assert_int_equal(written.stacks, 1501);
    free(text);
    options.min_percent = 0;
    text = flame_file(&flame, &options, &written, NULL);
    assert_null(strstr(text, "are not drawn"));
    assert_int_equal(written.frames, 1501);
    free(text);
    flame_deinit(&flame);
}

static void test_svg__a_title_of_the_user_comes_first(void **state)
{
    (void)state;
    hd_flame flame;
    begin(&flame, HD_FLAME_BYTES);
    weigh(&flame, push(&flame, 0, "c", 1, HD_FRAME_COPY), 3000000000);
    total(&flame);
    hd_flame_write_options options = {.format = HD_FLAME_SVG, .title = "step <3>", .min_percent = -1};
    char *text = flame_file(&flame, &options, NULL, NULL);
    assert_non_null(strstr(text, "<title>step &lt;3&gt;</title>"));
    assert_non_null(strstr(text, "Bytes copied and set on GPUs: 3.000 GB moved by copies and memsets, 1 of them"));
    free(text);
    flame_deinit(&flame);
}

static void test_svg__the_same_flame_is_the_same_file(void **state)
{
    (void)state;
    hd_flame_write_options options = {.format = HD_FLAME_SVG, .min_percent = 0};
    hd_flame flame;
    random_flame(&flame, 11, 500);
    char *first = flame_file(&flame, &options, NULL, NULL), *second = flame_file(&flame, &options, NULL, NULL);
    assert_string_equal(first, second);
    free(first);
    free(second);
    flame_deinit(&flame);
}

/* Of which 1,600 frames are wide enough. */
static void test_svg__a_million_stacks_take_less_than_five_megabytes(void **state)
{
    enum { STACKS = HD_TEST_BY_BUILD(1000000, 100000) };
    (void)state;
    hd_flame flame;
    hd_flame_written written;
    begin(&flame, HD_FLAME_GPU_TIME);
    for (uint32_t i = 0; i < STACKS; i++) {
        uint32_t node = 0;
        for (uint32_t level = 0; level < 6; level++) {
            static const uint32_t parts[] = {1, 4, 40, 1600, STACKS, STACKS};
            char name[64];
            int size = snprintf(name, sizeof name, "at::native::some_function_%u_%u", level,
                                (unsigned)((uint64_t)i * parts[level] / STACKS));
            node = push(&flame, node, name, (size_t)size, level == 5 ? HD_FRAME_KERNEL : HD_FRAME_NATIVE);
        }
        weigh(&flame, node, 1000 + i % 10);
    }
    total(&flame);
    hd_flame_write_options options = {.format = HD_FLAME_SVG, .min_percent = -1};
    size_t size;
    clock_t start = clock();
    char *text = flame_file(&flame, &options, &written, &size);
    print_message("%zu bytes for %d stacks, %.2f s\n", size, STACKS, (double)(clock() - start) / CLOCKS_PER_SEC);
    assert_int_equal(written.stacks, STACKS);
    assert_true(written.frames >= 1600);
    assert_true(size < 5000000);
    free(text);
    flame_deinit(&flame);
}

/* All of 40 rows full of frames of just the least width. */
static void test_svg__as_many_frames_as_fit_take_less_than_five_megabytes(void **state)
{
    (void)state;
    hd_flame flame;
    hd_flame_written written;
    begin(&flame, HD_FLAME_GPU_TIME);
    for (uint32_t i = 0; i < 2000; i++) {
        uint32_t node = 0;
        for (uint32_t level = 0; level < 40; level++) {
            char name[64];
            int size = snprintf(name, sizeof name, "function_%u", (i + level * 7) % 2500);
            node = push(&flame, node, name, (size_t)size, (hd_frame_kind)(1 + level % 8));
        }
        weigh(&flame, node, 1234567);
    }
    total(&flame);
    hd_flame_write_options options = {.format = HD_FLAME_SVG, .min_percent = -1};
    size_t size;
    char *text = flame_file(&flame, &options, &written, &size);
    print_message("%zu bytes for %zu frames\n", size, (size_t)written.frames);
    assert_int_equal(written.frames, 80000);
    assert_true(size < 5000000);
    free(text);
    flame_deinit(&flame);
}

static void test_svg__stacks_of_any_depth_are_drawn(void **state)
{
    (void)state;
    hd_flame flame;
    uint32_t node = 0;
    begin(&flame, HD_FLAME_SAMPLES);
    for (int i = 0; i < 100000; i++) node = push(&flame, node, "recursion", 9, HD_FRAME_PYTHON);
    weigh(&flame, node, 1);
    total(&flame);
    hd_flame_write_options options = {.format = HD_FLAME_SVG, .min_percent = -1};
    hd_flame_written written;
    free(flame_file(&flame, &options, &written, NULL));
    assert_int_equal(written.frames, 100000);
    flame_deinit(&flame);
}

/* ---- colours ---- */

static double channel(unsigned value)
{
    double c = value / 255.0;
    return c <= 0.04045 ? c / 12.92 : __builtin_pow((c + 0.055) / 1.055, 2.4);
}

static void test_svg__black_text_can_be_read_on_all_colours(void **state)
{
    (void)state;
    for (unsigned color = 0; color < SVG_COLORS; color++) {
        char text[8];
        unsigned r, g, b;
        svg_color_text(text, color);
        assert_int_equal(sscanf(text, "#%2x%2x%2x", &r, &g, &b), 3);
        double luminance = 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
        if ((luminance + 0.05) / 0.05 < 4.5) fail_msg("%s: %f", text, (luminance + 0.05) / 0.05);
    }
}

static void test_svg__a_change_has_the_colour_of_its_direction_and_size(void **state)
{
    (void)state;
    unsigned same = svg_color_change(100, 100);
    assert_int_equal(svg_color_change(1000, 1001), same);
    assert_int_equal(svg_color_change(0, 0), same);
    assert_int_equal(svg_color_change(0, 1), SVG_COLORS - 1);
    assert_int_equal(svg_color_change(1, 0), SVG_COLORS - SVG_CHANGES);
    for (int64_t now = 101; now < 3000; now++)
        assert_true(svg_color_change(100, now) >= svg_color_change(100, now - 1));
    assert_true(svg_color_change(100, 110) > same && svg_color_change(110, 100) < same);
    assert_int_equal(svg_color_change(INT64_MAX, INT64_MIN), SVG_COLORS - SVG_CHANGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_svg__callees_fit_into_their_callers_and_nothing_gets_lost),
        cmocka_unit_test(test_svg__callees_stand_in_the_order_of_their_names),
        cmocka_unit_test(test_svg__what_is_left_out_is_one_cell_behind_the_callees),
        cmocka_unit_test(test_svg__weights_beyond_int64_stay_inside_of_the_picture),
        cmocka_unit_test(test_svg__any_bytes_may_be_a_name),
        cmocka_unit_test(test_svg__nothing_counted_is_a_picture_that_says_so),
        cmocka_unit_test(test_svg__it_says_what_is_not_drawn),
        cmocka_unit_test(test_svg__a_title_of_the_user_comes_first),
        cmocka_unit_test(test_svg__the_same_flame_is_the_same_file),
        cmocka_unit_test(test_svg__a_million_stacks_take_less_than_five_megabytes),
        cmocka_unit_test(test_svg__as_many_frames_as_fit_take_less_than_five_megabytes),
        cmocka_unit_test(test_svg__stacks_of_any_depth_are_drawn),
        cmocka_unit_test(test_svg__black_text_can_be_read_on_all_colours),
        cmocka_unit_test(test_svg__a_change_has_the_colour_of_its_direction_and_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
