/* svg_layout.c - selects the frames to draw, and their positions
 *
 * A frame weighs no more than its caller, so the frames that are wide enough form a tree from the root, usually a small
 * one: only those are sorted. The omitted callees of a frame are one cell after the others. Frames that only the older
 * flame has have no width; they are omitted too, but counted separately.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/ends.h"
#include "flame/svg.h"

/* The state of making a layout. */
typedef struct maker {
    const flame_view *view;
    svg_layout *out;
    uint32_t nodes;
    uint32_t *slots; /* by node: its own slot if it is drawn, else that of the nearest drawn caller */
    bool *drawn;     /* by node */
    uint32_t *list;  /* drawn nodes, later by caller and name */
    uint32_t *first; /* by slot: first of its callees in the list; and one more */
    svg_cell *rests; /* by slot: the cell of its omitted callees */
    uint32_t *cells; /* by slot: the number of its cell */
    uint32_t *next;  /* by slot: the next callee in the list */
    int64_t *at;     /* by slot: x of the next callee */
    uint32_t kept;
} maker;

static void maker_deinit(maker *m)
{
    free(m->slots);
    free(m->drawn);
    free(m->list);
    free(m->first);
    free(m->rests);
    free(m->cells);
    free(m->next);
    free(m->at);
}

static int64_t total_of(const maker *m, uint32_t node)
{
    return m->view->total[node] > 0 ? m->view->total[node] : 0;
}

static bool is_gone(const flame_view *view, uint32_t node)
{
    return view->base_total && view->total[node] <= 0 && view->base_total[node] > 0;
}

/* Callers come before their callees, so one pass decides. */
static hd_status choose(maker *m, double min_percent, hd_error *err)
{
    double least = (double)total_of(m, 0) * min_percent;
    m->nodes = hd_stacks_count(m->view->stacks);
    m->slots = malloc(m->nodes * sizeof *m->slots);
    m->drawn = calloc(m->nodes, sizeof *m->drawn);
    if (!m->slots || !m->drawn) return HD_NOMEM(err);
    m->slots[0] = 0;
    m->drawn[0] = true;
    m->kept = 1;
    for (uint32_t n = 1; n < m->nodes; n++) {
        uint32_t caller = hd_stacks_at(m->view->stacks, n).caller;
        int64_t total = total_of(m, n);
        m->drawn[n] = m->drawn[caller] && total > 0 && (double)total * 100 >= least;
        m->slots[n] = m->drawn[n] ? m->kept++ : m->slots[caller];
    }
    return HD_OK;
}

/* ---- what is left out ---- */

static void leave_out(maker *m, uint32_t node)
{
    const flame_view *view = m->view;
    svg_cell *rest = &m->rests[m->slots[node]];
    rest->self = flame_sum(rest->self, view->self[node]);
    rest->count += view->count[node];
    if (view->base_self) {
        rest->base_self = flame_sum(rest->base_self, view->base_self[node]);
        rest->base_count += view->base_count[node];
    }
    if (is_gone(view, node)) {
        bool has_stack = view->base_self[node] > 0 || view->base_count[node] > 0;
        rest->gone = flame_sum(rest->gone, view->base_self[node]);
        rest->gone_stacks += has_stack;
        m->out->gone_weight = flame_sum(m->out->gone_weight, view->base_self[node]);
        m->out->gone_stacks += has_stack;
    } else {
        rest->hidden++;
        m->out->left_out++;
    }
}

static hd_status add_up(maker *m, hd_error *err)
{
    m->rests = calloc(m->kept, sizeof *m->rests);
    m->list = malloc(m->kept * sizeof *m->list);
    if (!m->rests || !m->list) return HD_NOMEM(err);
    for (uint32_t n = 0; n < m->nodes; n++) {
        if (m->view->self[n] > 0 || m->view->count[n]) m->out->stacks++;
        if (m->drawn[n])
            m->list[m->slots[n]] = n;
        else
            leave_out(m, n);
    }
    m->out->frames = m->kept - 1;
    return HD_OK;
}

/* ---- order ---- */

static int compare_nodes(const void *a, const void *b, void *context)
{
    const hd_stacks *stacks = context;
    uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
    hd_frame x = hd_stacks_at(stacks, m), y = hd_stacks_at(stacks, n);
    if (x.caller != y.caller) return x.caller < y.caller ? -1 : 1;
    if (x.name == y.name) return (m > n) - (m < n);
    hd_string text = hd_stacks_text(stacks, x.name), other = hd_stacks_text(stacks, y.name);
    return hd_text_compare(text.data, text.size, other.data, other.size);
}

/* The root stays first in the list: it has no caller, and 0 is the smallest caller number. */
static hd_status sort_nodes(maker *m, hd_error *err)
{
    m->first = calloc((size_t)m->kept + 1, sizeof *m->first);
    if (!m->first) return HD_NOMEM(err);
    qsort_r(m->list + 1, m->kept - 1, sizeof *m->list, compare_nodes, (void *)(uintptr_t)m->view->stacks);
    for (uint32_t i = 1; i < m->kept; i++) m->first[m->slots[hd_stacks_at(m->view->stacks, m->list[i]).caller] + 1]++;
    m->first[0] = 1;
    for (uint32_t i = 0; i < m->kept; i++) m->first[i + 1] += m->first[i];
    return HD_OK;
}

/* ---- cells ---- */

/* Takes the width of a callee at *at, and advances it. Saturated totals may need more than their caller has. */
static int64_t take_room(int64_t *at, const svg_cell *caller, int64_t total)
{
    int64_t room = caller->start + caller->total - *at, taken = total < room ? total : room;
    *at += taken;
    return taken;
}

static void put_node(maker *m, uint32_t node, int64_t start, int64_t total)
{
    const flame_view *view = m->view;
    hd_frame frame = hd_stacks_at(view->stacks, node);
    uint32_t slot = m->slots[node];
    svg_cell *cell = &m->out->cells[m->out->count];
    *cell = (svg_cell){.node = node,
                       .caller = node ? m->cells[m->slots[frame.caller]] : 0,
                       .depth = frame.depth,
                       .start = start,
                       .total = total,
                       .self = view->self[node],
                       .count = view->count[node]};
    if (view->base_total) {
        cell->base_self = view->base_self[node];
        cell->base_total = view->base_total[node];
        cell->base_count = view->base_count[node];
    }
    if (cell->depth + 1 > m->out->rows) m->out->rows = cell->depth + 1;
    m->cells[slot] = (uint32_t)m->out->count++;
    m->next[slot] = m->first[slot];
    m->at[slot] = start;
}

/* After the callees, on their level. */
static void put_rest(maker *m, uint32_t slot)
{
    svg_cell *rest = &m->rests[slot];
    const svg_cell *caller = &m->out->cells[m->cells[slot]];
    if (!rest->hidden && !rest->gone_stacks) return;
    rest->node = HD_NONE;
    rest->caller = m->cells[slot];
    rest->depth = caller->depth + 1;
    rest->start = m->at[slot];
    rest->total = take_room(&m->at[slot], caller, rest->self > 0 ? rest->self : 0);
    rest->base_total = rest->base_self;
    if (rest->total > 0 && rest->depth + 1 > m->out->rows) m->out->rows = rest->depth + 1;
    m->out->cells[m->out->count++] = *rest;
}

static hd_status make_room(maker *m, hd_error *err)
{
    m->out->cells = malloc((size_t)m->kept * 2 * sizeof *m->out->cells);
    m->cells = malloc(m->kept * sizeof *m->cells);
    m->next = malloc(m->kept * sizeof *m->next);
    m->at = malloc(m->kept * sizeof *m->at);
    return m->out->cells && m->cells && m->next && m->at ? HD_OK : HD_NOMEM(err);
}

/* In preorder, up and down along the callers: stacks may be of any depth. */
static hd_status walk(maker *m, hd_error *err)
{
    HD_TRY(make_room(m, err));
    put_node(m, 0, 0, total_of(m, 0));
    for (uint32_t slot = 0;;) {
        if (m->next[slot] < m->first[slot + 1]) {
            uint32_t node = m->list[m->next[slot]++];
            int64_t start = m->at[slot];
            put_node(m, node, start, take_room(&m->at[slot], &m->out->cells[m->cells[slot]], total_of(m, node)));
            slot = m->slots[node];
        } else {
            put_rest(m, slot);
            if (slot == 0) return HD_OK;
            slot = m->slots[hd_stacks_at(m->view->stacks, m->out->cells[m->cells[slot]].node).caller];
        }
    }
}

/* ---- what is gone ---- */

static int compare_gone(const void *a, const void *b)
{
    const svg_gone *x = a, *y = b;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Lists the removed frames nearest to the root, with the stacks removed with them. */
static hd_status list_gone(maker *m, hd_error *err)
{
    const flame_view *view = m->view;
    if (!view->base_total || m->out->gone_stacks == 0) return HD_OK;
    uint32_t *owner = malloc(m->nodes * sizeof *owner); /* by node: its entry in the list */
    size_t capacity = 0;
    if (!owner) return HD_NOMEM(err);
    for (uint32_t n = 1; n < m->nodes; n++) {
        uint32_t caller = hd_stacks_at(view->stacks, n).caller;
        if (!is_gone(view, n)) continue;
        if (caller && is_gone(view, caller)) {
            owner[n] = owner[caller];
        } else {
            if (!hd_grow((void **)&m->out->gone, &capacity, m->out->gone_count, sizeof *m->out->gone)) {
                free(owner);
                return HD_NOMEM(err);
            }
            owner[n] = (uint32_t)m->out->gone_count;
            m->out->gone[m->out->gone_count++] = (svg_gone){n, m->cells[m->slots[n]], view->base_total[n], 0};
        }
        if (view->base_self[n] > 0 || view->base_count[n]) m->out->gone[owner[n]].stacks++;
    }
    free(owner);
    hd_sort(m->out->gone, m->out->gone_count, sizeof *m->out->gone, compare_gone);
    if (m->out->gone_count > SVG_GONE_LISTED) m->out->gone_count = SVG_GONE_LISTED;
    return HD_OK;
}

hd_status svg_layout_init(svg_layout *out, const flame_view *view, double min_percent, hd_error *err)
{
    *out = (svg_layout){.rows = 1};
    maker m = {.view = view, .out = out};
    hd_status status = choose(&m, min_percent, err);
    if (status == HD_OK) status = add_up(&m, err);
    if (status == HD_OK) status = sort_nodes(&m, err);
    if (status == HD_OK) status = walk(&m, err);
    if (status == HD_OK) status = list_gone(&m, err);
    maker_deinit(&m);
    if (status != HD_OK) svg_layout_deinit(out);
    return status;
}

void svg_layout_deinit(svg_layout *layout)
{
    free(layout->cells);
    free(layout->gone);
    *layout = (svg_layout){0};
}
