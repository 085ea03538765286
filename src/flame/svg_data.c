/* svg_data.c - the frames of a picture as data for its script
 *
 * JSON that is valid XML text without escaping. Every name occurs once; the frames are one line of numbers in preorder:
 *
 *   up name self count [old-self old-count colour] [hidden [gone gone-stacks]]
 *
 * up: how many callers end here. The second part is present if two flames are compared, the third if the name is 0:
 * omitted callees. Totals are the sums of selves.
 */
#include "flame/svg.h"

static void put_number(hd_bytes *out, uint64_t value)
{
    svg_put_int(out, value > INT64_MAX ? INT64_MAX : (int64_t)value);
    svg_put(out, " ");
}

static void put_weight(hd_bytes *out, int64_t weight)
{
    svg_put_int(out, weight);
    svg_put(out, " ");
}

static void put_frames(svg_picture *p)
{
    hd_bytes *out = &p->out;
    bool compared = p->view->base_total != NULL;
    for (size_t i = 0; i < p->layout.count; i++) {
        const svg_cell *cell = &p->layout.cells[i];
        put_number(out, i ? cell[-1].depth + 1 - cell->depth : 0);
        put_number(out, p->entries[i]);
        put_weight(out, cell->self);
        put_number(out, cell->count);
        if (compared) {
            put_weight(out, cell->base_self);
            put_number(out, cell->base_count);
            put_number(out, svg_picture_color(p, i));
        }
        if (cell->node == HD_NONE) {
            put_number(out, cell->hidden);
            if (compared) put_weight(out, cell->gone);
            if (compared) put_number(out, cell->gone_stacks);
        }
    }
    if (!out->failed) out->size--; /* the last space */
}

static void put_names(svg_picture *p)
{
    hd_bytes *out = &p->out;
    svg_put(out, "\"names\":[\"\",\"all\"");
    for (uint32_t i = 2; i < p->name_count; i++) {
        svg_put(out, ",");
        p->names[i].changed = svg_put_json(out, svg_name_text(p, i));
    }
    svg_put(out, "],\n\"classes\":[");
    for (uint32_t i = 0; i < p->name_count; i++) {
        if (i) svg_put(out, ",");
        svg_put_int(out, svg_color_of(p->names[i].kind, svg_name_text(p, i)));
    }
    svg_put(out, "],\n");
}

static void put_palette(hd_bytes *out)
{
    svg_put(out, "\"kinds\":[");
    for (int kind = 0; kind < HD_FRAME_KINDS; kind++) {
        if (kind) svg_put(out, ",");
        svg_put_json(out, svg_text_of(svg_kind_label((hd_frame_kind)kind)));
    }
    svg_put(out, "],\n\"colors\":[");
    for (unsigned color = 0; color < SVG_COLORS; color++) {
        char rgb[8];
        svg_color_text(rgb, color);
        if (color) svg_put(out, ",");
        svg_put_json(out, svg_text_of(rgb));
    }
    svg_put(out, "],\n");
}

static void put_gone(svg_picture *p)
{
    hd_bytes *out = &p->out;
    svg_put(out, "\"gone\":{\"text\":");
    svg_put_json(out, svg_text_of(p->words.gone));
    svg_put(out, ",\"list\":[");
    for (size_t i = 0; i < p->layout.gone_count; i++) {
        const svg_gone *gone = &p->layout.gone[i];
        svg_put(out, i ? ",\n[" : "[");
        svg_put_json(out, hd_stacks_text(p->view->stacks, hd_stacks_at(p->view->stacks, gone->node).name));
        svg_put(out, ",");
        svg_put_int(out, (int64_t)gone->stacks);
        svg_put(out, ",\"");
        svg_put_int(out, gone->weight);
        svg_put(out, "\",");
        svg_put_int(out, gone->below);
        svg_put(out, "]");
    }
    svg_put(out, "]},\n");
}

static void put_setting(hd_bytes *out, const char *key, int64_t value)
{
    svg_put(out, "\"");
    svg_put(out, key);
    svg_put(out, "\":");
    svg_put_int(out, value);
    svg_put(out, ",");
}

static void put_word(hd_bytes *out, const char *key, const char *word)
{
    svg_put(out, "\"");
    svg_put(out, key);
    svg_put(out, "\":");
    svg_put_json(out, svg_text_of(word));
    svg_put(out, ",");
}

void svg_put_data(svg_picture *p)
{
    hd_bytes *out = &p->out;
    svg_put(out, "<script type=\"application/json\" class=\"data\">\n{");
    put_setting(out, "width", SVG_WIDTH);
    put_setting(out, "height", svg_picture_height(p));
    put_setting(out, "top", SVG_TOP);
    put_setting(out, "pad", SVG_PAD);
    put_setting(out, "row", SVG_ROW);
    put_setting(out, "rows", p->layout.rows);
    put_setting(out, "shades", SVG_SHADES);
    svg_put(out, p->flame->reverse ? "\"icicle\":true," : "\"icicle\":false,");
    svg_put(out, p->view->base_total ? "\"compared\":true,\n" : "\"compared\":false,\n");
    put_word(out, "title", p->words.title);
    put_word(out, "unit", p->flame->unit);
    put_word(out, "what", p->words.what);
    svg_put(out, "\n");
    put_palette(out);
    if (p->layout.gone_count) put_gone(p);
    put_names(p);
    svg_put(out, "\"frames\":\"");
    put_frames(p);
    svg_put(out, "\"}\n</script>\n");
}
