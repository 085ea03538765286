/* test_flame_diff.c - one tree of two flames: which frames are the same, and that no weight gets lost */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "flame/flame_text.h"
#include "flame/svg.h"
#include "rounds.h"

/* "a;b;[GPU_Kernel]k 12\n…": frames with that prefix are kernels. */
static void read_flame(hd_flame *flame, const char *text)
{
    *flame = (hd_flame){.of = HD_FLAME_GPU_TIME};
    assert_int_equal(flame_make_room(flame, NULL), HD_OK);
    while (*text) {
        uint32_t node = 0;
        const char *end = strchrnul(text, '\n');
        const char *weight = memrchr(text, ' ', (size_t)(end - text));
        while (text < weight) {
            const char *next = memchr(text, ';', (size_t)(weight - text));
            size_t size = (size_t)((next ? next : weight) - text);
            hd_frame_kind kind = strncmp(text, "[GPU_Kernel]", 12) == 0 ? HD_FRAME_KERNEL : HD_FRAME_NATIVE;
            node = hd_stacks_push(flame->stacks, node, hd_stacks_name(flame->stacks, text, size), kind);
            text = next ? next + 1 : weight;
        }
        assert_int_equal(flame_make_room(flame, NULL), HD_OK);
        flame->self[node] += atoll(weight);
        flame->count[node]++;
        text = *end ? end + 1 : end;
    }
    flame_total(flame->total, flame->self, flame->stacks);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "a;b old new" by line, sorted. The caller frees it. */
static char *text_of(const flame_view *view)
{
    uint32_t count = hd_stacks_count(view->stacks), used = 0;
    char **lines = calloc(count, sizeof *lines);
    hd_bytes text = {0};
    for (uint32_t n = 1; n < count; n++) {
        if (!view->self[n] && !view->base_self[n]) continue;
        char line[4096], weights[64];
        char *at = line + sizeof line; /* written from its end, the leaf first */
        int size =
            snprintf(weights, sizeof weights, " %lld %lld\n", (long long)view->base_self[n], (long long)view->self[n]);
        at -= size + 1;
        memcpy(at, weights, (size_t)size + 1);
        for (uint32_t node = n; node; node = hd_stacks_at(view->stacks, node).caller) {
            hd_string name = hd_stacks_text(view->stacks, hd_stacks_at(view->stacks, node).name);
            assert_true((size_t)(at - line) > name.size + 1);
            if (node != n) *--at = ';';
            at -= name.size;
            memcpy(at, name.data, name.size);
        }
        lines[used++] = strdup(at);
    }
    qsort(lines, used, sizeof *lines, compare_lines);
    for (uint32_t i = 0; i < used; i++) {
        hd_bytes_put(&text, lines[i], strlen(lines[i]));
        free(lines[i]);
    }
    free(lines);
    hd_bytes_put_u8(&text, 0);
    return (char *)text.data;
}

static void check_diff(const char *old_text, const char *new_text, const char *wanted)
{
    hd_flame old, flame;
    flame_view view;
    read_flame(&old, old_text);
    read_flame(&flame, new_text);
    assert_int_equal(flame_view_init(&view, &flame, &old, NULL), HD_OK);
    assert_int_equal(view.total[0], flame.total[0]);
    assert_int_equal(view.base_total[0], old.total[0]);
    char *text = text_of(&view);
    assert_string_equal(text, wanted);
    free(text);
    flame_view_deinit(&view);
    flame_deinit(&old);
    flame_deinit(&flame);
}

static void test_diff__frames_are_the_same_along_their_paths(void **state)
{
    (void)state;
    check_diff("a;b 1\na;c 2\nx;b 4\n", "a;b 10\nx;b;d 20\na 3\n", "a 0 3\na;b 1 10\na;c 2 0\nx;b 4 0\nx;b;d 0 20\n");
}

static void test_diff__kernels_of_other_template_arguments_meet(void **state)
{
    (void)state;
    check_diff("f;[GPU_Kernel]void gemm<64, 32>(float*) 5\n", "f;[GPU_Kernel]void gemm<128, 8>(float*) 7\n",
               "f;[GPU_Kernel]void gemm<128, 8>(float*) 5 7\n");
}

static void test_diff__kernels_that_both_have_do_not_meet_others(void **state)
{
    (void)state;
    check_diff("f;[GPU_Kernel]void k<1>() 1\nf;[GPU_Kernel]void k<2>() 2\n",
               "f;[GPU_Kernel]void k<1>() 10\nf;[GPU_Kernel]void k<3>() 30\n",
               "f;[GPU_Kernel]void k<1>() 1 10\nf;[GPU_Kernel]void k<3>() 2 30\n");
    check_diff("f;[GPU_Kernel]void k<1>() 1\nf;[GPU_Kernel]void k<2>() 2\n", "f;[GPU_Kernel]void k<1>() 10\n",
               "f;[GPU_Kernel]void k<1>() 1 10\nf;[GPU_Kernel]void k<2>() 2 0\n");
}

static void test_diff__several_kernels_of_one_short_name_are_one(void **state)
{
    (void)state;
    check_diff("f;[GPU_Kernel]void k<1>() 1\nf;[GPU_Kernel]void k<2>() 2\n",
               "f;[GPU_Kernel]void k<3>() 10\nf;[GPU_Kernel]void k<4>() 20\n", "f;[GPU_Kernel]k<…> 3 30\n");
}

static void test_diff__kernels_meet_only_under_one_caller(void **state)
{
    (void)state;
    check_diff("f;[GPU_Kernel]void k<1>() 1\n", "g;[GPU_Kernel]void k<2>() 2\n",
               "f;[GPU_Kernel]void k<1>() 1 0\ng;[GPU_Kernel]void k<2>() 0 2\n");
}

static void test_diff__callers_below_kernels_meet_with_them(void **state)
{
    (void)state;
    check_diff("[GPU_Kernel]void k<1>();f;g 1\n[GPU_Kernel]void k<2>();f;g 2\n[GPU_Kernel]void k<2>();h 4\n",
               "[GPU_Kernel]void k<3>();f;g 10\n[GPU_Kernel]void k<3>();f 20\n",
               "[GPU_Kernel]void k<3>();f 0 20\n[GPU_Kernel]void k<3>();f;g 3 10\n[GPU_Kernel]void k<3>();h 4 0\n");
    /* two of the older one are one caller now, and so are the equal kernels in them */
    check_diff("[GPU_Kernel]void k<1>();[GPU_Kernel]q 1\n[GPU_Kernel]void k<2>();[GPU_Kernel]q 2\n",
               "[GPU_Kernel]void k<3>();[GPU_Kernel]q 10\n", "[GPU_Kernel]void k<3>();[GPU_Kernel]q 3 10\n");
}

static void test_diff__functions_are_the_same_only_by_their_full_names(void **state)
{
    (void)state;
    check_diff("void f<1>() 1\n", "void f<2>() 2\n", "void f<1>() 1 0\nvoid f<2>() 0 2\n");
}

static void test_diff__against_nothing_all_is_new_or_gone(void **state)
{
    (void)state;
    check_diff("", "a;b 1\n", "a;b 0 1\n");
    check_diff("a;b 1\n", "", "a;b 1 0\n");
    check_diff("", "", "");
}

/* Whatever the trees: the changes of all stacks are the change of the totals, and every total is that of its frames. */
static void test_diff__changes_sum_up_to_the_change_of_the_totals(void **state)
{
    (void)state;
    uint64_t seed = hd_test_seed(3);
    for (int round = 0; round < 300; round++) {
        hd_bytes texts[2] = {{0}};
        for (int side = 0; side < 2; side++) {
            int lines = (int)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33) % 40;
            for (int line = 0; line < lines; line++) {
                char piece[64];
                int depth = 1 + (int)((seed = seed * 6364136223846793005u + 1) >> 33) % 6;
                for (int i = 0; i < depth; i++) {
                    unsigned pick = (unsigned)((seed = seed * 6364136223846793005u + 7) >> 33);
                    int size = pick % 2 ? snprintf(piece, sizeof piece, "%sf%u", i ? ";" : "", pick / 2 % 3)
                                        : snprintf(piece, sizeof piece, "%s[GPU_Kernel]void k%u<%u>(int)", i ? ";" : "",
                                                   pick / 2 % 2, pick / 4 % 4);
                    hd_bytes_put(&texts[side], piece, (size_t)size);
                }
                int size = snprintf(piece, sizeof piece, " %u\n", (unsigned)(seed >> 40) % 1000);
                hd_bytes_put(&texts[side], piece, (size_t)size);
            }
            hd_bytes_put_u8(&texts[side], 0);
        }
        hd_flame old, flame;
        flame_view view;
        svg_layout layout;
        read_flame(&old, (const char *)texts[0].data);
        read_flame(&flame, (const char *)texts[1].data);
        assert_int_equal(flame_view_init(&view, &flame, &old, NULL), HD_OK);
        int64_t change = 0;
        for (uint32_t n = 0; n < hd_stacks_count(view.stacks); n++) change += view.self[n] - view.base_self[n];
        assert_int_equal(change, flame.total[0] - old.total[0]);
        assert_int_equal(view.total[0], flame.total[0]);
        assert_int_equal(view.base_total[0], old.total[0]);
        for (double percent = 0; percent <= 10; percent += 5) {
            assert_int_equal(svg_layout_init(&layout, &view, percent, NULL), HD_OK);
            int64_t now = 0, before = 0, gone = 0;
            uint64_t works = 0, base_works = 0;
            for (size_t i = 0; i < layout.count; i++) {
                now += layout.cells[i].self;
                before += layout.cells[i].base_self;
                gone += layout.cells[i].gone;
                works += layout.cells[i].count;
                base_works += layout.cells[i].base_count;
            }
            assert_int_equal(now, flame.total[0]);
            assert_int_equal(before, old.total[0]);
            assert_int_equal(gone, layout.gone_weight);
            for (uint32_t n = 0; n < hd_stacks_count(flame.stacks); n++) works -= flame.count[n];
            for (uint32_t n = 0; n < hd_stacks_count(old.stacks); n++) base_works -= old.count[n];
            assert_int_equal(works, 0);
            assert_int_equal(base_works, 0);
            svg_layout_deinit(&layout);
        }
        flame_view_deinit(&view);
        flame_deinit(&old);
        flame_deinit(&flame);
        hd_bytes_deinit(&texts[0]);
        hd_bytes_deinit(&texts[1]);
    }
}

static void test_diff__what_is_gone_is_said_and_listed(void **state)
{
    (void)state;
    hd_flame old, flame;
    read_flame(&old, "a;b 100\na;went;x 30\na;went;y;z 12\nother 5\n");
    read_flame(&flame, "a;b 200\n");
    hd_flame_write_options options = {.format = HD_FLAME_SVG, .base = &old, .min_percent = -1};
    char *text = flame_file(&flame, &options, NULL, NULL);
    assert_non_null(strstr(text, ">GPU time compared: 200 ns, was 147 ns: +53 ns (+36.1 %)</title>"));
    assert_non_null(strstr(text, "gone: 3 stacks, 47 ns"));
    assert_non_null(strstr(text, "\"list\":[[\"went\",2,\"42\",1],\n[\"other\",1,\"5\",0]]"));
    free(text);
    flame_deinit(&old);
    flame_deinit(&flame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diff__frames_are_the_same_along_their_paths),
        cmocka_unit_test(test_diff__kernels_of_other_template_arguments_meet),
        cmocka_unit_test(test_diff__kernels_that_both_have_do_not_meet_others),
        cmocka_unit_test(test_diff__several_kernels_of_one_short_name_are_one),
        cmocka_unit_test(test_diff__kernels_meet_only_under_one_caller),
        cmocka_unit_test(test_diff__callers_below_kernels_meet_with_them),
        cmocka_unit_test(test_diff__functions_are_the_same_only_by_their_full_names),
        cmocka_unit_test(test_diff__against_nothing_all_is_new_or_gone),
        cmocka_unit_test(test_diff__changes_sum_up_to_the_change_of_the_totals),
        cmocka_unit_test(test_diff__what_is_gone_is_said_and_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
