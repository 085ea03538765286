/* svg_color.c - the colours of flame graphs
 *
 * After Okabe and Ito, lightened until black text has a contrast of 4.5:1 on all shades, and moved apart until kinds
 * are distinguishable with any of the three types of colour blindness. Magenta is reserved for search matches.
 */
#include <stdio.h>

#include "base/checksum.h"
#include "flame/svg.h"

static const struct {
    uint32_t rgb;
    const char *label;
} kinds[HD_FRAME_KINDS] = {
    [HD_FRAME_UNKNOWN] = {0xdcd6a0, "other"},
    [HD_FRAME_NATIVE] = {0xe8a63a, "CPU native"},
    [HD_FRAME_OS] = {0xa67f6c, "OS kernel"},
    [HD_FRAME_PYTHON] = {0x86d3f7, "Python"},
    [HD_FRAME_OP] = {0xf5ee62, "framework op"},
    [HD_FRAME_ANNOTATION] = {0xc583d3, "annotation"},
    [HD_FRAME_API] = {0xd97b4f, "CUDA/HIP API"},
    [HD_FRAME_KERNEL] = {0x2f9d94, "GPU kernel"},
    [HD_FRAME_COPY] = {0x7a8cf5, "GPU copy or set"},
    [HD_FRAME_GROUP] = {0xb8bdc2, "group"},
    [HD_FRAME_MARK] = {0xe4e6e9, "missing or left out"},
};

/* From much less to much more than before; unchanged is in the middle. */
static const uint32_t changes[SVG_CHANGES] = {
    0x3d7fe6, 0x5b93ec, 0x78a7f0, 0x94baf4, 0xafcbf7, 0xc8dcfa, 0xdfeafc, 0xd9d9d9,
    0xfde6df, 0xfbd2c6, 0xf9bcab, 0xf6a38e, 0xf38a71, 0xef7055, 0xe8573c,
};

unsigned svg_color_of(hd_frame_kind kind, hd_string name)
{
    if (kind >= HD_FRAME_KINDS) kind = HD_FRAME_UNKNOWN;
    unsigned shade =
        kind == HD_FRAME_MARK ? SVG_SHADES / 2 : (unsigned)(hd_checksum(name.data, name.size) >> 32) % SVG_SHADES;
    return (unsigned)kind * SVG_SHADES + shade;
}

unsigned svg_color_legend(hd_frame_kind kind)
{
    return (unsigned)kind * SVG_SHADES + SVG_SHADES / 2;
}

unsigned svg_color_change(int64_t base, int64_t now)
{
    static const double steps[] = {0.005, 0.03, 0.08, 0.16, 0.3, 0.5, 0.75};
    int64_t larger = base > now ? base : now, middle = SVG_CHANGES / 2, step = 0;
    double change = larger > 0 ? ((double)now - (double)base) / (double)larger : 0;
    double size = change < 0 ? -change : change;
    while (step < middle && size >= steps[step]) step++;
    return HD_FRAME_KINDS * SVG_SHADES + (unsigned)(change < 0 ? middle - step : middle + step);
}

/* Lighter above the middle, darker below: by at most 16 % and 8 %. */
static unsigned shaded(unsigned channel, int step)
{
    return step >= 0 ? channel + (255 - channel) * (unsigned)step * 8 / 100
                     : channel - channel * (unsigned)-step * 4 / 100;
}

void svg_color_text(char out[8], unsigned color)
{
    uint32_t rgb = 0;
    int step = 0;
    if (color < HD_FRAME_KINDS * SVG_SHADES) {
        rgb = kinds[color / SVG_SHADES].rgb;
        step = (int)(color % SVG_SHADES) - SVG_SHADES / 2;
    } else if (color < SVG_COLORS) {
        rgb = changes[color - HD_FRAME_KINDS * SVG_SHADES];
    }
    snprintf(out, 8, "#%02x%02x%02x", shaded(rgb >> 16 & 255, step), shaded(rgb >> 8 & 255, step),
             shaded(rgb & 255, step));
}

const char *svg_kind_label(hd_frame_kind kind)
{
    return kind < HD_FRAME_KINDS ? kinds[kind].label : "";
}
