/* report.c - a flame graph as a report table, for the HTML page */
#include "report/report.h"
#include "flame/svg.h"

/* Narrower frames would be invisible on the page. */
#define FLAME_PAGE_PERCENT 0.4

static const hd_report_column frames_columns[] = {
    {"name", HD_VALUE_STRING, "of the frame; … is what is too narrow to show"},
    {"kind", HD_VALUE_STRING, "native, python, op, kernel …"},
    {"depth", HD_VALUE_INT, "0: the whole"},
    {"start", HD_VALUE_DECIMAL, "where the frame begins, in percent of the whole"},
    {"share", HD_VALUE_DECIMAL, "its weight and that of the frames it called, in percent of the whole"},
    {"weight", HD_VALUE_INT, "the same in the unit of the flame graph"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"frames", "a row per frame, callers before their callees", frames_columns},
    {0},
};

static const hd_report_about about = {
    .name = "flame",
    .title = "the calls to which the time belongs",
    .text =
        "A frame is as wide as its part of the whole in the first row: GPU time of what it launched or, without GPU "
        "activity, samples or CPU time. Its callers are above it.",
    .tables = tables,
};

const hd_report_about *hd_flame_report_about(void)
{
    return &about;
}

static void add_frame(hd_table_builder *b, const hd_flame *flame, const svg_layout *layout, const svg_cell *cell)
{
    double whole = layout->cells[0].total > 0 ? (double)layout->cells[0].total : 1;
    hd_frame frame = {0};
    if (cell->node != HD_NONE && cell->node) frame = hd_stacks_at(flame->stacks, cell->node);
    hd_string name = hd_stacks_text(flame->stacks, frame.name);
    if (cell->node == HD_NONE)
        hd_table_add_text(b, "\xe2\x80\xa6");
    else if (cell->depth)
        hd_table_add_string(b, name.data ? name.data : "", name.size);
    else
        hd_table_add_text(b, flame_title_of(flame->of));
    hd_table_add_text(b, hd_frame_kind_name(frame.kind));
    hd_table_add_int(b, cell->depth);
    hd_table_add_decimal(b, 100 * (double)cell->start / whole);
    hd_table_add_decimal(b, 100 * (double)cell->total / whole);
    hd_table_add_int(b, cell->total);
}

static hd_status add_frames(hd_report *out, const hd_flame *flame, hd_error *err)
{
    flame_view view;
    svg_layout layout = {0};
    hd_table_builder *b;
    HD_TRY(flame_view_init(&view, flame, NULL, err));
    hd_status status = svg_layout_init(&layout, &view, FLAME_PAGE_PERCENT, err);
    if (status == HD_OK) status = report_builder(&b, &about, "frames", err);
    for (size_t i = 0; status == HD_OK && i < layout.count; i++) add_frame(b, flame, &layout, &layout.cells[i]);
    if (status == HD_OK) status = report_add(out, b, err);
    svg_layout_deinit(&layout);
    flame_view_deinit(&view);
    return status;
}

hd_status hd_flame_report(hd_report *out, const hd_flame *flame, hd_error *err)
{
    *out = (hd_report){0};
    if (!flame->stacks || hd_stacks_count(flame->stacks) < 2) return HD_OK;
    hd_status status = add_frames(out, flame, err);
    if (status != HD_OK) hd_report_free(out);
    return status;
}
