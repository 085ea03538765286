/* make_flames.c - writes the flame graphs that flame.test.mjs opens
 *
 * usage: make_flames DIR
 * small.svg, icicle.svg, hostile.svg, wide.svg (20,000 frames), narrow.svg (frames left out), deep.svg, diff.svg
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flame/flame.h"

static void check(hd_status status, const hd_error *err)
{
    if (status == HD_OK) return;
    fprintf(stderr, "make_flames: %s\n", err->message);
    exit(1);
}

static void begin(hd_flame *flame, hd_flame_of of)
{
    hd_error err = {0};
    *flame = (hd_flame){.of = of};
    check(flame_make_room(flame, &err), &err);
}

static uint32_t push(hd_flame *flame, uint32_t caller, hd_frame_kind kind, const char *name, size_t size)
{
    return hd_stacks_push(flame->stacks, caller, hd_stacks_name(flame->stacks, name, size), kind);
}

static void weigh(hd_flame *flame, uint32_t node, int64_t weight, uint64_t count)
{
    hd_error err = {0};
    check(flame_make_room(flame, &err), &err);
    flame->self[node] += weight;
    flame->count[node] += count;
}

/* A stack of frames as "p:python_name;a:cudaLaunchKernel;k:[GPU_Kernel]f": the letter is the kind. */
static void add(hd_flame *flame, const char *stack, int64_t weight)
{
    static const struct {
        char letter;
        hd_frame_kind kind;
    } kinds[] = {{'p', HD_FRAME_PYTHON}, {'o', HD_FRAME_OP},     {'u', HD_FRAME_ANNOTATION}, {'n', HD_FRAME_NATIVE},
                 {'a', HD_FRAME_API},    {'k', HD_FRAME_KERNEL}, {'c', HD_FRAME_COPY},       {'g', HD_FRAME_GROUP},
                 {'m', HD_FRAME_MARK},   {'s', HD_FRAME_OS},     {'?', HD_FRAME_UNKNOWN}};
    uint32_t node = 0;
    for (const char *at = stack, *end; *at; at = *end ? end + 1 : end) {
        hd_frame_kind kind = HD_FRAME_UNKNOWN;
        end = strchrnul(at, ';');
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            if (kinds[i].letter == *at) kind = kinds[i].kind;
        }
        node = push(flame, node, kind, at + 2, (size_t)(end - at - 2));
    }
    weigh(flame, node, weight, 1);
}

static void finish(hd_flame *flame, const hd_flame *base, const char *folder, const char *name, double min_percent)
{
    char path[4096];
    hd_error err = {0};
    hd_flame_write_options options = {.format = HD_FLAME_SVG, .min_percent = min_percent, .base = base};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    flame_total(flame->total, flame->self, flame->stacks);
    check(hd_flame_write(NULL, flame, path, &options, &err), &err);
    flame_deinit(flame);
}

static void add_step(hd_flame *flame)
{
    add(flame, "p:train.py: main;p:model.py: forward;o:aten::linear;a:cudaLaunchKernel;k:[GPU_Kernel]sgemm_128x64",
        600000);
    add(flame, "p:train.py: main;p:model.py: forward;o:aten::relu;a:cudaLaunchKernel;k:[GPU_Kernel]relu_kernel",
        150000);
    add(flame, "p:train.py: main;p:loss.py: backward;o:aten::linear;a:cudaLaunchKernel;k:[GPU_Kernel]sgemm_128x64",
        200000);
    add(flame, "p:train.py: main;u:to device;a:cudaMemcpyAsync;c:[GPU_Memcpy]Memcpy HtoD (Pageable -> Device)", 40000);
    add(flame, "m:[no stack];k:[GPU_Kernel]ncclDevKernel_AllReduce", 10000);
    flame->no_stack = 10000;
    flame->no_stack_count = 1;
}

static void write_small(const char *folder)
{
    hd_flame flame;
    begin(&flame, HD_FLAME_GPU_TIME);
    add_step(&flame);
    finish(&flame, NULL, folder, "small.svg", -1);
    begin(&flame, HD_FLAME_GPU_TIME);
    add_step(&flame);
    flame.reverse = true;
    finish(&flame, NULL, folder, "icicle.svg", -1);
}

static void write_hostile(const char *folder)
{
    static const char *const names[] = {
        "a<b> & \"c\" 'd'",
        "]]></script><script>window.hacked = 1</script>",
        "back\\slash and \x01\x02\x1f\x7f\n\t controls",
        "broken \xff\xc0\x80 utf-8 \xed\xa0\x80",
        "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xe2\x80\xae right to left",
        "nonchar \xef\xbf\xbe\xef\xbf\xbf",
        "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x94\xa5",
        "${1}$& </svg> <!-- -->",
        "",
    };
    hd_flame flame;
    char longest[4000];
    begin(&flame, HD_FLAME_SAMPLES);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        weigh(&flame, push(&flame, 0, HD_FRAME_NATIVE, names[i], strlen(names[i])), 100, 100);
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "longest<", 8);
    weigh(&flame, push(&flame, 0, HD_FRAME_PYTHON, longest, sizeof longest), 100, 100);
    weigh(&flame, push(&flame, 0, HD_FRAME_OS, "nul\0nul", 7), 100, 100);
    finish(&flame, NULL, folder, "hostile.svg", -1);
}

static void write_wide(const char *folder)
{
    hd_flame flame;
    char name[64];
    begin(&flame, HD_FLAME_CPU_TIME);
    for (int column = 0; column < 1000; column++) {
        uint32_t node = 0;
        for (int row = 0; row < 20; row++) {
            int size = snprintf(name, sizeof name, "f%d_%d", column, row);
            node = push(&flame, node, (hd_frame_kind)(1 + (column / 7 + row) % 8), name, (size_t)size);
            weigh(&flame, node, row == 19 ? 1000 + column : 10, 1);
        }
    }
    finish(&flame, NULL, folder, "wide.svg", 0);
}

static void write_narrow(const char *folder)
{
    hd_flame flame;
    char name[64];
    begin(&flame, HD_FLAME_SAMPLES);
    add(&flame, "n:main;n:busy", 9000);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "n:main;n:tail;n:rare_%d", i);
        add(&flame, name, 1);
    }
    finish(&flame, NULL, folder, "narrow.svg", 0.05);
}

static void write_deep(const char *folder)
{
    hd_flame flame;
    char name[64];
    uint32_t node = 0;
    begin(&flame, HD_FLAME_LAUNCHES);
    for (int i = 0; i < 200; i++) {
        int size = snprintf(name, sizeof name, "recursion_%d", i);
        node = push(&flame, node, HD_FRAME_PYTHON, name, (size_t)size);
        weigh(&flame, node, 5, 5);
    }
    finish(&flame, NULL, folder, "deep.svg", 0);
}

static void write_diff(const char *folder)
{
    hd_flame old, flame;
    begin(&old, HD_FLAME_GPU_TIME);
    begin(&flame, HD_FLAME_GPU_TIME);
    add(&old, "p:main;o:slower;k:[GPU_Kernel]a", 100000);
    add(&flame, "p:main;o:slower;k:[GPU_Kernel]a", 200000);
    add(&old, "p:main;o:faster;k:[GPU_Kernel]b", 300000);
    add(&flame, "p:main;o:faster;k:[GPU_Kernel]b", 100000);
    add(&old, "p:main;o:same;k:[GPU_Kernel]c", 50000);
    add(&flame, "p:main;o:same;k:[GPU_Kernel]c", 50000);
    add(&flame, "p:main;o:appeared;k:[GPU_Kernel]d", 40000);
    add(&old, "p:main;o:went;k:[GPU_Kernel]e", 60000);
    add(&old, "p:main;o:went;k:[GPU_Kernel]f", 6000);
    add(&old, "p:main;o:tuned;k:[GPU_Kernel]void gemm<64, 32>(float*)", 80000);
    add(&flame, "p:main;o:tuned;k:[GPU_Kernel]void gemm<128, 64>(float*)", 60000);
    flame_total(old.total, old.self, old.stacks);
    finish(&flame, &old, folder, "diff.svg", -1);
    flame_deinit(&old);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_flames DIR\n");
        return 2;
    }
    write_small(argv[1]);
    write_hostile(argv[1]);
    write_wide(argv[1]);
    write_narrow(argv[1]);
    write_deep(argv[1]);
    write_diff(argv[1]);
    return 0;
}
