/* svg.h - shared by the parts of the SVG writer: the frames to draw, their colours, the texts around them */
#ifndef HD_FLAME_SVG_H
#define HD_FLAME_SVG_H

#include "base/bytes.h"
#include "flame/flame.h"

/* The script and the style sheet of the picture (made from flame.js and flame.css). */
extern const char flame_js[];
extern const size_t flame_js_size;
extern const char flame_css[];
extern const size_t flame_css_size;

/* ---- the frames to draw (svg_layout.c) ---- */

/* A frame, or the cell of omitted callees of a frame: those too narrow, and old ones that were removed. */
typedef struct svg_cell {
    uint32_t node;        /* HD_NONE: omitted callees */
    uint32_t caller;      /* a cell */
    uint32_t depth;       /* 0: the root */
    int64_t start, total; /* of the root's weight, from the left */
    int64_t self, base_self, base_total;
    uint64_t count, base_count; /* that ended in it */
    uint64_t hidden;            /* frames left out */
    int64_t gone;               /* weight of the old frames that are gone */
    uint64_t gone_stacks;
} svg_cell;

/* A frame that only the older flame has, below a frame that both have. */
typedef struct svg_gone {
    uint32_t node, below; /* below: a cell */
    int64_t weight;
    uint64_t stacks;
} svg_gone;

/* In preorder, callees by the bytes of their names, omitted ones last. cells[0] is the root. */
typedef struct svg_layout {
    svg_cell *cells;
    size_t count;
    uint32_t rows;
    uint64_t frames, left_out, stacks;
    svg_gone *gone; /* heaviest first, at most SVG_GONE_LISTED */
    size_t gone_count;
    uint64_t gone_stacks;
    int64_t gone_weight;
} svg_layout;

enum { SVG_GONE_LISTED = 200 };

/* Frames of at least min_percent of the root's weight; O(nodes + drawn frames log drawn frames). */
hd_status svg_layout_init(svg_layout *out, const flame_view *view, double min_percent, hd_error *err);
void svg_layout_deinit(svg_layout *layout);

/* ---- colours (svg_color.c) ---- */

enum { SVG_SHADES = 5, SVG_CHANGES = 15, SVG_COLORS = HD_FRAME_KINDS * SVG_SHADES + SVG_CHANGES };

/* Colour of a frame: by kind, slightly lighter or darker by name. The text on it is black. */
unsigned svg_color_of(hd_frame_kind kind, hd_string name);
/* Colour of a compared frame: by the change relative to the heavier side; red is heavier than before, blue lighter. */
unsigned svg_color_change(int64_t base, int64_t now);
unsigned svg_color_legend(hd_frame_kind kind); /* the kind's own */
/* "#rrggbb" */
void svg_color_text(char out[8], unsigned color);
const char *svg_kind_label(hd_frame_kind kind);

/* ---- words (svg_words.c) ---- */

enum { SVG_TITLE_BYTES = 512, SVG_SENTENCES = 8 };

/* Title, and the sentences below it. */
typedef struct svg_words {
    char title[SVG_TITLE_BYTES];
    char sentences[SVG_SENTENCES][160];
    size_t count;
    char gone[160]; /* "gone: 12 stacks, 3.2 ms" */
    const char *what;
} svg_words;

void svg_words_init(svg_words *out, const hd_flame *flame, const flame_view *view, const svg_layout *layout,
                    const hd_flame_write_options *options, double min_percent);

/* ---- text in XML (svg_text.c) ---- */

void svg_put(hd_bytes *out, const char *text);
void svg_put_int(hd_bytes *out, int64_t value);
void svg_put_tenths(hd_bytes *out, int64_t tenths); /* "12.3", "12" */
/* A text between tags or in quotes, of at most `places` columns (East Asian characters take two), cut with "…". Returns
 * whether it was changed in any other way. */
bool svg_put_text(hd_bytes *out, hd_string text, size_t places);
/* The same as a JSON string that is valid between tags, of at most HD_NAME_BYTES. */
bool svg_put_json(hd_bytes *out, hd_string text);

static inline hd_string svg_text_of(const char *text)
{
    return (hd_string){text, strlen(text)};
}

/* ---- the picture (svg.c) ---- */

enum { SVG_WIDTH = 1200, SVG_PAD = 10, SVG_TOP = 88, SVG_ROW = 18 };

/* A name in the picture: frames of two kinds with one name have two entries. */
typedef struct svg_name {
    uint32_t name, next; /* next: of the same name, 0: none */
    hd_frame_kind kind;
    bool changed;
} svg_name;

typedef struct svg_picture {
    const hd_flame *flame;
    const flame_view *view;
    svg_layout layout;
    svg_words words;
    svg_name *names; /* 0: omitted callees, 1: the root */
    size_t name_count, name_capacity;
    uint32_t *heads;   /* by name of the tree: its first entry in `names`, 0: none */
    uint32_t *entries; /* by cell */
    bool kinds[HD_FRAME_KINDS];
    hd_bytes paths[SVG_COLORS][2]; /* without and with a border */
    hd_bytes labels, marks, out;
} svg_picture;

hd_string svg_name_text(const svg_picture *p, uint32_t name);
unsigned svg_picture_color(const svg_picture *p, size_t cell);
int64_t svg_picture_height(const svg_picture *p);

/* ---- data for the script (svg_data.c) ---- */

void svg_put_data(svg_picture *p);

#endif
