/* svg.c - a flame graph as a self-contained SVG
 *
 * The picture is complete without a script, for printing and for image viewers: all frames of one colour are one path,
 * at about twenty bytes per frame. For browsers there is also a data block with the tree, names and exact weights, of
 * about the same size (svg_data.c), from which flame.js redraws everything.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "flame/svg.h"

enum {
    BOX = SVG_ROW - 1,     /* a frame's height */
    BORDERED = 30,         /* tenths of a pixel: frames from this width on have a border */
    LABEL_PAD = 30,        /* tenths, on either side of a name */
    LABEL_CHAR = 67,       /* tenths of ten characters */
    LABEL_PLACES = 4,      /* a label cut shorter than this is omitted */
    TITLE_PLACES = 130,    /* in the width of the picture */
    SENTENCE_PLACES = 170, /* the same, of smaller letters */
};

#define DEFAULT_MIN_PERCENT 0.05

_Static_assert(BOX == 17, "put_box says so");

static void picture_deinit(svg_picture *p)
{
    for (size_t i = 0; i < SVG_COLORS; i++) {
        hd_bytes_deinit(&p->paths[i][0]);
        hd_bytes_deinit(&p->paths[i][1]);
    }
    hd_bytes_deinit(&p->labels);
    hd_bytes_deinit(&p->marks);
    hd_bytes_deinit(&p->out);
    svg_layout_deinit(&p->layout);
    free(p->names);
    free(p->heads);
    free(p->entries);
}

static int64_t tenths_of(const svg_picture *p, int64_t weight)
{
    double all = (double)p->layout.cells[0].total;
    if (all <= 0) return 0;
    return llround((double)weight / all * ((SVG_WIDTH - 2 * SVG_PAD) * 10));
}

/* ---- names ---- */

static bool add_name(svg_picture *p, uint32_t name, hd_frame_kind kind)
{
    if (!hd_grow((void **)&p->names, &p->name_capacity, p->name_count, sizeof *p->names)) return false;
    p->names[p->name_count++] = (svg_name){name, 0, kind, false};
    p->kinds[kind] = true;
    return true;
}

hd_string svg_name_text(const svg_picture *p, uint32_t entry)
{
    static const hd_string root = {"all", 3}, rest = {"", 0};
    if (entry <= 1) return entry ? root : rest;
    return hd_stacks_text(p->view->stacks, p->names[entry].name);
}

/* The entry of a frame's name, which is made if need be; 0: no memory. */
static uint32_t entry_of(svg_picture *p, uint32_t node)
{
    hd_frame frame = hd_stacks_at(p->view->stacks, node);
    if (frame.kind >= HD_FRAME_KINDS) frame.kind = HD_FRAME_UNKNOWN;
    uint32_t last = 0;
    for (uint32_t entry = p->heads[frame.name]; entry; entry = p->names[entry].next) {
        if (p->names[entry].kind == frame.kind) return entry;
        last = entry;
    }
    uint32_t made = (uint32_t)p->name_count;
    if (!add_name(p, frame.name, frame.kind)) return 0;
    *(last ? &p->names[last].next : &p->heads[frame.name]) = made;
    return made;
}

static hd_status name_cells(svg_picture *p, hd_error *err)
{
    p->heads = calloc(hd_stacks_name_count(p->view->stacks), sizeof *p->heads);
    p->entries = calloc(p->layout.count, sizeof *p->entries);
    if (!p->heads || !p->entries || !add_name(p, 0, HD_FRAME_MARK) || !add_name(p, 0, HD_FRAME_GROUP))
        return HD_NOMEM(err);
    memset(p->kinds, 0, sizeof p->kinds);
    p->entries[0] = 1;
    for (size_t i = 1; i < p->layout.count; i++) {
        const svg_cell *cell = &p->layout.cells[i];
        if (cell->node == HD_NONE)
            p->kinds[HD_FRAME_MARK] |= tenths_of(p, cell->start + cell->total) > tenths_of(p, cell->start);
        else if ((p->entries[i] = entry_of(p, cell->node)) == 0)
            return HD_NOMEM(err);
    }
    return HD_OK;
}

/* ---- frames as they are seen without a script ---- */

int64_t svg_picture_height(const svg_picture *p)
{
    return SVG_TOP + (int64_t)p->layout.rows * SVG_ROW + SVG_PAD;
}

static int64_t top_of(const svg_picture *p, const svg_cell *cell)
{
    return SVG_TOP + (int64_t)(p->flame->reverse ? cell->depth : p->layout.rows - 1 - cell->depth) * SVG_ROW;
}

unsigned svg_picture_color(const svg_picture *p, size_t i)
{
    const svg_cell *cell = &p->layout.cells[i];
    if (p->view->base_total && cell->node != HD_NONE) return svg_color_change(cell->base_total, cell->total);
    return svg_color_of(p->names[p->entries[i]].kind, svg_name_text(p, p->entries[i]));
}

static void put_box(hd_bytes *out, int64_t left, int64_t top, int64_t width)
{
    svg_put(out, "M");
    svg_put_tenths(out, left);
    svg_put(out, " ");
    svg_put_int(out, top);
    svg_put(out, "h");
    svg_put_tenths(out, width);
    svg_put(out, "v17h-");
    svg_put_tenths(out, width);
    svg_put(out, "z");
}

/* Colours mark GPU activities, so labels omit "[GPU_Kernel]". */
static hd_string without_prefix(hd_string name)
{
    if (name.size < 5 || memcmp(name.data, "[GPU_", 5) != 0) return name;
    const char *end = memchr(name.data, ']', name.size);
    size_t size = end ? (size_t)(end + 1 - name.data) : name.size;
    for (size_t i = 5; i + 1 < size; i++) {
        if (!isalpha((unsigned char)name.data[i])) return name;
    }
    return size < name.size ? (hd_string){name.data + size, name.size - size} : name;
}

static void put_label(hd_bytes *out, hd_string name, int64_t left, int64_t top, int64_t width)
{
    int64_t places = (width - 2 * LABEL_PAD) / LABEL_CHAR;
    if (places < LABEL_PLACES) return;
    svg_put(out, "<text x=\"");
    svg_put_tenths(out, left + LABEL_PAD);
    svg_put(out, "\" y=\"");
    svg_put_int(out, top + BOX - 5);
    svg_put(out, "\">");
    svg_put_text(out, name, (size_t)places);
    svg_put(out, "</text>\n");
}

/* A line on the edge of the frame from which old stacks were removed, as wide as they were. */
static void put_gone_mark(svg_picture *p, const svg_cell *rest)
{
    const svg_cell *caller = &p->layout.cells[rest->caller];
    int64_t left = tenths_of(p, caller->start), width = tenths_of(p, caller->start + caller->total) - left;
    int64_t was = tenths_of(p, rest->gone < p->layout.cells[0].total ? rest->gone : p->layout.cells[0].total);
    if (width < BORDERED) return;
    if (was < BORDERED) was = BORDERED;
    if (was > width) was = width;
    svg_put(&p->marks, "<rect class=\"gone\" x=\"");
    svg_put_tenths(&p->marks, SVG_PAD * 10 + left + width - was);
    svg_put(&p->marks, "\" y=\"");
    svg_put_int(&p->marks, top_of(p, caller) + (p->flame->reverse ? BOX - 3 : 0));
    svg_put(&p->marks, "\" width=\"");
    svg_put_tenths(&p->marks, was);
    svg_put(&p->marks, "\" height=\"3\"/>\n");
}

static void place_cells(svg_picture *p)
{
    for (size_t i = 0; i < p->layout.count; i++) {
        const svg_cell *cell = &p->layout.cells[i];
        int64_t left = tenths_of(p, cell->start), width = tenths_of(p, cell->start + cell->total) - left;
        if (i == 0) left = 0, width = (SVG_WIDTH - 2 * SVG_PAD) * 10;
        if (cell->gone > 0) put_gone_mark(p, cell);
        if (width <= 0) continue;
        int64_t top = top_of(p, cell);
        left += SVG_PAD * 10;
        put_box(&p->paths[svg_picture_color(p, i)][width >= BORDERED], left, top, width);
        char hidden[48];
        hd_string name = svg_name_text(p, p->entries[i]);
        if (cell->node == HD_NONE) {
            snprintf(hidden, sizeof hidden, "[%llu narrower frames]", (unsigned long long)cell->hidden);
            name = svg_text_of(hidden);
        }
        put_label(&p->labels, without_prefix(name), left, top, width);
    }
}

static void put_static(svg_picture *p)
{
    hd_bytes *out = &p->out;
    svg_put(out, "<g class=\"static\">\n");
    for (unsigned color = 0; color < SVG_COLORS; color++) {
        for (int bordered = 0; bordered < 2; bordered++) {
            const hd_bytes *path = &p->paths[color][bordered];
            char rgb[8];
            if (!path->size) continue;
            svg_color_text(rgb, color);
            svg_put(out, bordered ? "<path class=\"b\" fill=\"" : "<path fill=\"");
            svg_put(out, rgb);
            svg_put(out, "\" d=\"");
            hd_bytes_put(out, path->data, path->size);
            svg_put(out, "\"/>\n");
        }
    }
    hd_bytes_put(out, p->marks.data, p->marks.size);
    svg_put(out, "<g class=\"t\">\n");
    hd_bytes_put(out, p->labels.data, p->labels.size);
    svg_put(out, "</g>\n</g>\n");
}

/* ---- the head ---- */

static void put_swatch(hd_bytes *out, int64_t x, const char *rgb)
{
    svg_put(out, "<rect x=\"");
    svg_put_int(out, x);
    svg_put(out, "\" y=\"67\" width=\"14\" height=\"13\" fill=\"");
    svg_put(out, rgb);
    svg_put(out, "\"/>");
}

/* Returns the x of the next key. */
static int64_t put_key(hd_bytes *out, int64_t x, const char *text)
{
    svg_put(out, "<text x=\"");
    svg_put_int(out, x);
    svg_put(out, "\" y=\"78\">");
    svg_put(out, text);
    svg_put(out, "</text>\n");
    return x + (int64_t)strlen(text) * 13 / 2 + 16;
}

static void put_kinds(svg_picture *p)
{
    static const hd_frame_kind order[] = {HD_FRAME_GROUP,  HD_FRAME_PYTHON,  HD_FRAME_ANNOTATION, HD_FRAME_OP,
                                          HD_FRAME_NATIVE, HD_FRAME_OS,      HD_FRAME_API,        HD_FRAME_KERNEL,
                                          HD_FRAME_COPY,   HD_FRAME_UNKNOWN, HD_FRAME_MARK};
    int64_t x = SVG_PAD;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        char rgb[8];
        if (!p->kinds[order[i]]) continue;
        svg_color_text(rgb, svg_color_legend(order[i]));
        put_swatch(&p->out, x, rgb);
        x = put_key(&p->out, x + 19, svg_kind_label(order[i]));
    }
}

static void put_changes(svg_picture *p)
{
    int64_t x = put_key(&p->out, SVG_PAD, "less than before") - 6;
    for (unsigned i = 0; i < SVG_CHANGES; i++, x += 14) {
        char rgb[8];
        svg_color_text(rgb, HD_FRAME_KINDS * SVG_SHADES + i);
        put_swatch(&p->out, x, rgb);
    }
    x = put_key(&p->out, x + 6, "more, or new");
    if (!p->layout.gone_stacks) return;
    svg_put(&p->out, "<rect class=\"gone\" x=\"");
    svg_put_int(&p->out, x);
    svg_put(&p->out, "\" y=\"72\" width=\"14\" height=\"3\"/>");
    put_key(&p->out, x + 19, "old stacks gone from here");
}

static void put_line(hd_bytes *out, const char *kind, int64_t y, hd_string text, size_t places)
{
    svg_put(out, "<text class=\"");
    svg_put(out, kind);
    svg_put(out, "\" x=\"10\" y=\"");
    svg_put_int(out, y);
    svg_put(out, "\">");
    svg_put_text(out, text, places);
    svg_put(out, "</text>\n");
}

/* Puts the sentences on two lines: as many as fit on the first. */
static void put_sentences(svg_picture *p)
{
    char line[SVG_SENTENCES * 168] = "";
    int64_t y = 43;
    for (size_t i = 0; i < p->words.count; i++) {
        const char *sentence = p->words.sentences[i];
        if (*line && y == 43 && strlen(line) + strlen(sentence) > 110) {
            put_line(&p->out, "sub", y, svg_text_of(line), SENTENCE_PLACES);
            *line = 0;
            y = 59;
        }
        if (*line) strcat(line, " · ");
        strcat(line, sentence);
    }
    put_line(&p->out, "sub", y, svg_text_of(line), SENTENCE_PLACES);
}

static void put_page(hd_bytes *out, int64_t height)
{
    svg_put(out, "<rect class=\"page\" width=\"1200\" height=\"");
    svg_put_int(out, height);
    svg_put(out, "\" fill=\"#fff\"/>\n");
}

static void put_head(svg_picture *p)
{
    svg_put(&p->out, "<g class=\"head\">\n");
    put_page(&p->out, SVG_TOP - 3);
    put_line(&p->out, "title", 24, svg_text_of(p->words.title), TITLE_PLACES);
    put_sentences(p);
    svg_put(&p->out, "<g class=\"legend\">\n");
    if (p->view->base_total)
        put_changes(p);
    else
        put_kinds(p);
    svg_put(&p->out, "</g>\n</g>\n");
}

static void put_begin(svg_picture *p)
{
    hd_bytes *out = &p->out;
    svg_put(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"heddle\" "
            "width=\"1200\" height=\"");
    svg_put_int(out, svg_picture_height(p));
    svg_put(out, "\" viewBox=\"0 0 1200 ");
    svg_put_int(out, svg_picture_height(p));
    svg_put(out, "\" role=\"img\" aria-label=\"");
    svg_put_text(out, svg_text_of(p->words.title), SIZE_MAX);
    svg_put(out, "\">\n<title>");
    svg_put_text(out, svg_text_of(p->words.title), SIZE_MAX);
    svg_put(out, "</title>\n<desc>");
    for (size_t i = 0; i < p->words.count; i++) {
        if (i) svg_put(out, "; ");
        svg_put_text(out, svg_text_of(p->words.sentences[i]), SIZE_MAX);
    }
    svg_put(out, "</desc>\n<style>\n");
    hd_bytes_put(out, flame_css, flame_css_size);
    svg_put(out, "</style>\n");
    put_page(out, svg_picture_height(p));
}

/* ---- all of it ---- */

static hd_status write_picture(svg_picture *p, hd_output *output, hd_error *err)
{
    HD_TRY(name_cells(p, err));
    place_cells(p);
    put_begin(p);
    put_head(p);
    put_static(p);
    svg_put_data(p);
    svg_put(&p->out, "<script><![CDATA[\n");
    hd_bytes_put(&p->out, flame_js, flame_js_size);
    svg_put(&p->out, "]]></script>\n</svg>\n");
    bool failed = p->out.failed || p->labels.failed || p->marks.failed;
    for (size_t i = 0; i < SVG_COLORS; i++) failed |= p->paths[i][0].failed || p->paths[i][1].failed;
    return failed ? HD_NOMEM(err) : hd_output_write(output, p->out.data, p->out.size, err);
}

hd_status flame_write_svg(const hd_flame *flame, hd_output *output, const hd_flame_write_options *options,
                          hd_flame_written *out, hd_error *err)
{
    flame_view view;
    double min_percent = options->min_percent >= 0 ? options->min_percent : DEFAULT_MIN_PERCENT;
    HD_TRY(flame_view_init(&view, flame, options->base, err));
    svg_picture *p = calloc(1, sizeof *p);
    hd_status status = p ? svg_layout_init(&p->layout, &view, min_percent, err) : HD_NOMEM(err);
    if (status == HD_OK) {
        p->flame = flame;
        p->view = &view;
        svg_words_init(&p->words, flame, &view, &p->layout, options, min_percent);
        status = write_picture(p, output, err);
    }
    if (status == HD_OK) {
        out->frames = p->layout.frames;
        out->frames_left_out = p->layout.left_out;
        out->stacks = p->layout.stacks;
        for (size_t i = 0; i < p->layout.count; i++) out->changed_names += p->names[p->entries[i]].changed;
    }
    if (p) picture_deinit(p);
    free(p);
    flame_view_deinit(&view);
    return status;
}
