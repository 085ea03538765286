/* folded_clean.c - the stacks of a flame with names that are valid in lines
 *
 * Most flames need no change and are used directly. Else a second tree is made with the changed names, in which frames
 * whose names became equal are merged. If a last frame's name ends like "… 12", readers that know lines with two
 * weights would take the number as a weight: its last space becomes a '_'.
 */
#include <stdlib.h>

#include "flame/folded.h"

enum { NAME_FITS = 0, NAME_CHANGES = 1, NAME_ENDS_IN_NUMBER = 2 };

/* " 12", " 1.5", " 1." at the end. */
static bool ends_in_number(hd_string name)
{
    size_t at = name.size, dots = 0;
    while (at > 0 && ((name.data[at - 1] >= '0' && name.data[at - 1] <= '9') || name.data[at - 1] == '.')) {
        dots += name.data[at - 1] == '.';
        at--;
    }
    return at > 0 && at < name.size && dots < 2 && name.data[at] != '.' && name.data[at - 1] == ' ';
}

/* ---- which need a change ---- */

static uint8_t *look_at_names(const hd_stacks *stacks)
{
    uint32_t count = hd_stacks_name_count(stacks);
    uint8_t *looks = calloc(count, 1);
    for (uint32_t i = 0; looks && i < count; i++) {
        hd_string name = hd_stacks_text(stacks, i);
        looks[i] = flame_text_fits(name, true) ? NAME_FITS : NAME_CHANGES;
        /* after other changes it may end in a number: "a\n1" */
        if (looks[i] || ends_in_number(name)) looks[i] |= NAME_ENDS_IN_NUMBER;
    }
    return looks;
}

static uint64_t count_changes(const folded_lines *lines, const uint8_t *looks)
{
    uint64_t count = 0;
    for (uint32_t n = hd_stacks_count(lines->stacks); n-- > 1;) {
        uint8_t look = looks[hd_stacks_at(lines->stacks, n).name];
        count += look & NAME_CHANGES ? 1 : look & NAME_ENDS_IN_NUMBER && lines->has_line[n];
    }
    return count;
}

/* ---- the other tree ---- */

typedef struct cleaner {
    const hd_stacks *from;
    hd_stacks *to;
    uint32_t *names, *leaf_names; /* by name of `from`: as a caller's, as a last frame's */
    uint32_t *nodes, *leaves;     /* by node of `from` */
} cleaner;

static void cleaner_deinit(cleaner *c)
{
    free(c->names);
    free(c->leaf_names);
    free(c->nodes);
    free(c->leaves);
}

static bool clean_name(cleaner *c, uint32_t id)
{
    hd_string name = hd_stacks_text(c->from, id);
    char *text = malloc(FLAME_TEXT_BYTES(name.size));
    bool changed = false;
    if (!text) return false;
    size_t size = flame_text_clean(text, name, true, &changed), at = size;
    c->names[id] = c->leaf_names[id] = hd_stacks_name(c->to, text, size);
    if (ends_in_number((hd_string){text, size})) {
        while (text[at - 1] != ' ') at--;
        text[at - 1] = '_';
        c->leaf_names[id] = hd_stacks_name(c->to, text, size);
    }
    free(text);
    return c->names[id] != HD_NONE && c->leaf_names[id] != HD_NONE;
}

static bool clean_tree(cleaner *c, const uint8_t *has_line)
{
    uint32_t names = hd_stacks_name_count(c->from), count = hd_stacks_count(c->from);
    c->names = malloc(names * sizeof *c->names);
    c->leaf_names = malloc(names * sizeof *c->leaf_names);
    c->nodes = malloc(count * sizeof *c->nodes);
    c->leaves = malloc(count * sizeof *c->leaves);
    if (!c->names || !c->leaf_names || !c->nodes || !c->leaves) return false;
    for (uint32_t i = 0; i < names; i++) {
        if (!clean_name(c, i)) return false;
    }
    c->nodes[0] = c->leaves[0] = 0;
    for (uint32_t n = 1; n < count; n++) {
        hd_frame frame = hd_stacks_at(c->from, n);
        uint32_t caller = c->nodes[frame.caller], name = c->names[frame.name], leaf_name = c->leaf_names[frame.name];
        c->nodes[n] = c->leaves[n] = hd_stacks_push(c->to, caller, name, frame.kind);
        if (has_line[n] && leaf_name != name) c->leaves[n] = hd_stacks_push(c->to, caller, leaf_name, frame.kind);
        if (c->nodes[n] == HD_NONE || c->leaves[n] == HD_NONE) return false;
    }
    return true;
}

/* Moves the weights of the old nodes to the new ones. */
static int64_t *move_weights(const cleaner *c, const int64_t *self)
{
    int64_t *moved = calloc(hd_stacks_count(c->to), sizeof *moved);
    for (uint32_t n = 1; moved && n < hd_stacks_count(c->from); n++)
        moved[c->leaves[n]] = flame_sum(moved[c->leaves[n]], self[n]);
    return moved;
}

static bool move_lines(folded_lines *lines, const cleaner *c)
{
    uint8_t *has_line = calloc(hd_stacks_count(c->to), 1);
    for (uint32_t n = 1; has_line && n < hd_stacks_count(c->from); n++) has_line[c->leaves[n]] |= lines->has_line[n];
    free(lines->has_line);
    lines->has_line = has_line;
    return has_line != NULL;
}

static hd_status clean(folded_lines *lines, hd_error *err)
{
    cleaner c = {.from = lines->stacks};
    HD_TRY(hd_stacks_new(&lines->own, err));
    c.to = lines->own;
    bool fine = clean_tree(&c, lines->has_line) && (lines->own_self = move_weights(&c, lines->self)) != NULL &&
                (!lines->base_self || (lines->own_base = move_weights(&c, lines->base_self)) != NULL) &&
                move_lines(lines, &c);
    cleaner_deinit(&c);
    lines->stacks = lines->own;
    lines->self = lines->own_self;
    lines->base_self = lines->own_base;
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- all of it ---- */

static void choose_lines(folded_lines *lines, const flame_view *view, bool weightless)
{
    for (uint32_t n = hd_stacks_count(view->stacks); n-- > 1;) {
        bool weighs = view->self[n] != 0 || (view->base_self && view->base_self[n] != 0);
        bool counts = view->count[n] != 0 || (view->base_self && view->base_count[n] != 0);
        lines->has_line[n] = weighs || (weightless && counts);
    }
}

hd_status folded_lines_init(folded_lines *out, const flame_view *view, bool weightless, hd_error *err)
{
    *out = (folded_lines){.stacks = view->stacks, .self = view->self, .base_self = view->base_self};
    out->has_line = calloc(hd_stacks_count(view->stacks), 1);
    uint8_t *looks = look_at_names(view->stacks);
    hd_status status = out->has_line && looks ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) {
        choose_lines(out, view, weightless);
        out->changed_names = count_changes(out, looks);
        if (out->changed_names) status = clean(out, err);
    }
    free(looks);
    if (status != HD_OK) folded_lines_deinit(out);
    return status;
}

void folded_lines_deinit(folded_lines *lines)
{
    hd_stacks_free(lines->own);
    free(lines->own_self);
    free(lines->own_base);
    free(lines->has_line);
    *lines = (folded_lines){0};
}
