/* folded.c - a flame as folded text: "f1;f2;f3 weight", a sorted line for each stack with a weight
 *
 * Two flames: "f1;f2;f3 older newer", as difffolded.pl writes them.
 */
#include "flame/folded.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/vector.h"

size_t folded_weight(char out[FOLDED_WEIGHT_BYTES], const folded_lines *lines, uint32_t node)
{
    int size = lines->base_self ? snprintf(out, FOLDED_WEIGHT_BYTES, " %" PRId64 " %" PRId64, lines->base_self[node],
                                           lines->self[node])
                                : snprintf(out, FOLDED_WEIGHT_BYTES, " %" PRId64, lines->self[node]);
    return (size_t)size;
}

/* ---- the walk ---- */

/* A node whose callees are being written. */
typedef struct level {
    uint32_t next, end;
    size_t text_size; /* of the path to the node, including the ';' after it */
} level;

typedef struct folder {
    const folded_lines *lines;
    const folded_order *order;
    hd_output *output;
    hd_error *err;
    level *levels;
    size_t depth, capacity;
    char *text; /* of the path, and of the line at hand */
    size_t size, text_capacity;
    uint64_t stacks;
} folder;

static hd_status enter(folder *f, uint32_t node)
{
    if (!hd_grow((void **)&f->levels, &f->capacity, f->depth, sizeof *f->levels)) return HD_NOMEM(f->err);
    f->levels[f->depth++] = (level){f->order->first[node], f->order->first[node + 1], f->size};
    return HD_OK;
}

/* The path and this frame, with room for a weight after it. */
static hd_status put_frame(folder *f, uint32_t node)
{
    hd_string name = hd_stacks_text(f->lines->stacks, hd_stacks_at(f->lines->stacks, node).name);
    if (!hd_reserve(&f->text, &f->text_capacity, f->size + name.size + FOLDED_WEIGHT_BYTES + 2))
        return HD_NOMEM(f->err);
    memcpy(f->text + f->size, name.data, name.size);
    f->size += name.size;
    return HD_OK;
}

static hd_status put_item(folder *f, uint32_t item)
{
    uint32_t node = item >> 1;
    HD_TRY(put_frame(f, node));
    if (item & 1) {
        f->text[f->size++] = ';';
        return enter(f, node);
    }
    f->size += folded_weight(f->text + f->size, f->lines, node);
    f->text[f->size++] = '\n';
    f->stacks++;
    return hd_output_write(f->output, f->text, f->size, f->err);
}

static hd_status put_all(folder *f)
{
    HD_TRY(enter(f, 0));
    while (f->depth) {
        level *top = &f->levels[f->depth - 1];
        f->size = top->text_size;
        if (top->next == top->end)
            f->depth--;
        else
            HD_TRY(put_item(f, f->order->list[top->next++]));
    }
    return HD_OK;
}

/* ---- all of it ---- */

static hd_status write_lines(const folded_lines *lines, hd_output *output, hd_flame_written *out, hd_error *err)
{
    folded_order order;
    HD_TRY(folded_order_init(&order, lines, err));
    folder f = {.lines = lines, .order = &order, .output = output, .err = err};
    hd_status status = put_all(&f);
    out->stacks = f.stacks;
    free(f.levels);
    free(f.text);
    folded_order_deinit(&order);
    return status;
}

hd_status flame_write_folded(const hd_flame *flame, hd_output *output, const hd_flame_write_options *options,
                             hd_flame_written *out, hd_error *err)
{
    flame_view view;
    folded_lines lines;
    bool weightless = flame->weightless || (options->base && options->base->weightless);
    HD_TRY(flame_view_init(&view, flame, options->base, err));
    hd_status status = folded_lines_init(&lines, &view, weightless, err);
    if (status == HD_OK) {
        status = write_lines(&lines, output, out, err);
        out->changed_names = lines.changed_names;
        folded_lines_deinit(&lines);
    }
    flame_view_deinit(&view);
    return status;
}
