/* rows.c - which operators, kernels and causes of idle time make up the change
 *
 * A row is an item with one name on each side, within matching operators. Its interval is wider the more rows there are
 * (multiple testing): even among a hundred rows of noise, none should appear as a change.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "heddle/names.h"
#include "report/diff/maker.h"
#include "report/diff/result.h"

GPU_KEY
typedef struct row_key {
    uint32_t kind, name, name_after, within, match; /* texts; HD_NONE */
} row_key;
GPU_KEY_END

typedef enum row_verdict { ROW_NOISE, ROW_SLOWER, ROW_FASTER, ROW_NEW, ROW_GONE, ROW_FEW } row_verdict;
static const char *const row_verdict_names[] = {"noise", "slower", "faster", "new", "gone", "too few"};

struct diff_row {
    row_key key;
    diff_change change;
    double elsewhere; /* part of an operator's change that moved from or to another operator */
    double calls[2], cpu[2];
    double score;
    uint32_t tier; /* 0: significant; 1: structural difference, whatever its time; 2: noise */
    row_verdict verdict;
};

void diff_add_ns(hd_table_builder *b, double value)
{
    if (isfinite(value) && fabs(value) < 9e18)
        hd_table_add_int(b, gpu_round(value));
    else
        hd_table_add_null(b);
}

void diff_add_text(hd_table_builder *b, const gpu_texts *texts, uint32_t text)
{
    hd_string name = text == HD_NONE ? (hd_string){NULL, 0} : gpu_text_of(texts, text);
    if (name.data)
        hd_table_add_string(b, name.data, name.size);
    else
        hd_table_add_null(b);
}

enum { PATH_PARENTS = 6 };

static hd_string module_name(hd_string name)
{
    if (gpu_is_module(name)) name = (hd_string){name.data + GPU_MODULE_WORD, name.size - GPU_MODULE_WORD};
    return name;
}

/* Of a node as people know it: as written where all its slices have one name. */
static uint32_t name_of_node(const diff_maker *m, int h, uint32_t node)
{
    uint32_t raw = m->side[h]->raw_of[node];
    return m->aligned.text_of[h][raw == HD_NONE ? diff_node(m->side[h], node)->name : raw];
}

static uint32_t folded_name(const diff_maker *m, int h, uint32_t node)
{
    return m->aligned.text_of[h][diff_node(m->side[h], node)->name];
}

static uint32_t cut_module(diff_maker *m, uint32_t text)
{
    char copy[HD_NAME_BYTES];
    hd_string name = module_name(gpu_text_of(&m->aligned.texts, text));
    if (name.size > sizeof copy) name.size = sizeof copy;
    memcpy(copy, name.data, name.size);
    return gpu_text(&m->aligned.texts, copy, name.size);
}

static uint32_t path_of(diff_maker *m, int h, uint32_t node)
{
    char path[4096];
    size_t size = 0;
    uint32_t chain[PATH_PARENTS], depth = 0;
    for (uint32_t at = diff_node(m->side[h], node)->parent; at != HD_NONE && depth < PATH_PARENTS;
         at = diff_node(m->side[h], at)->parent)
        chain[depth++] = at;
    while (depth--) {
        hd_string name = module_name(gpu_text_of(&m->aligned.texts, folded_name(m, h, chain[depth])));
        size_t fits = name.size < 512 ? name.size : 512;
        memcpy(path + size, name.data, fits);
        size += fits;
        if (depth) path[size++] = '/';
    }
    return size ? gpu_text(&m->aligned.texts, path, size) : HD_NONE;
}

/* "host: aten::copy_" */
static uint32_t name_of_gap(diff_maker *m, int h, const diff_item_key *key)
{
    char text[HD_NAME_BYTES + 32];
    hd_string host = key->name == HD_NONE ? (hd_string){"", 0} : gpu_text_of(&m->side[h]->texts, key->name);
    int size = snprintf(text, sizeof text, "%s%s%.*s", gpu_cause_names[key->node], host.size ? ": " : "",
                        (int)(host.size < HD_NAME_BYTES ? host.size : HD_NAME_BYTES - 1), host.data);
    return gpu_text(&m->aligned.texts, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
}

static uint32_t name_of_item(diff_maker *m, int h, uint32_t item)
{
    const diff_item_key *key = diff_key(m->side[h], item);
    if (key->kind == DIFF_GAP) return name_of_gap(m, h, key);
    if (key->kind == DIFF_MODULE) return cut_module(m, name_of_node(m, h, key->node));
    return key->kind == DIFF_OPERATOR ? name_of_node(m, h, key->node) : m->aligned.text_of[h][key->name];
}

static uint32_t join_names(diff_maker *m, uint32_t x, uint32_t y)
{
    char text[2 * HD_NAME_BYTES];
    hd_string a = gpu_text_of(&m->aligned.texts, x), b = gpu_text_of(&m->aligned.texts, y);
    if (a.size >= HD_NAME_BYTES) a.size = HD_NAME_BYTES - 4;
    if (b.size >= HD_NAME_BYTES) b.size = HD_NAME_BYTES - 4;
    int size = snprintf(text, sizeof text, "%.*s + %.*s", (int)a.size, a.data, (int)b.size, b.data);
    return gpu_text(&m->aligned.texts, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
}

static uint32_t within_of(diff_maker *m, int h, uint32_t item)
{
    const diff_item_key *key = diff_key(m->side[h], item);
    if (key->kind == DIFF_GAP || key->node == HD_NONE) return HD_NONE;
    if (key->kind == DIFF_MODULE) return path_of(m, h, key->node);
    if (key->kind == DIFF_OPERATOR) return HD_NONE;
    return folded_name(m, h, key->node);
}

static bool key_of_pair(row_key *out, diff_maker *m, const diff_pair *p)
{
    int h = p->item[0] == HD_NONE; /* the side with more information */
    uint32_t name[2] = {HD_NONE, HD_NONE};
    for (int k = 0; k < 2; k++) {
        if (p->item[k] == HD_NONE) continue;
        name[k] = name_of_item(m, k, p->item[k]);
        if (name[k] != HD_NONE && p->more[k] != HD_NONE)
            name[k] = join_names(m, name[k], name_of_item(m, k, p->more[k]));
        if (name[k] == HD_NONE) return false;
    }
    const diff_item_key *key = diff_key(m->side[h], p->item[h]);
    if (!h && p->item[1] != HD_NONE && p->match == DIFF_SAME && name[0] != name[1])
        name[0] = name[1] = folded_name(m, 0, key->node); /* their numbers differ */
    *out = (row_key){key->kind, name[h], HD_NONE, within_of(m, h, p->item[h]), p->match};
    if (!h && name[1] != HD_NONE && name[1] != name[0]) out->name_after = name[1];
    if (key->kind == DIFF_GAP && p->match != DIFF_PLACE)
        out->match = DIFF_SAME; /* a cause is new or gone as its time is */
    return true;
}

static void put_item(diff_maker *m, diff_row *r, int h, uint32_t item)
{
    const diff_half *half = &m->units.half[h];
    if (item == HD_NONE) return;
    const diff_item_key *key = diff_key(m->side[h], item);
    if (key->kind == DIFF_OPERATOR) r->elsewhere += h ? m->over[1][key->node] : -m->over[0][key->node];
    r->calls[h] += m->aligned.calls[h][item];
    for (uint32_t i = half->first[item]; i < half->first[item + 1]; i++) {
        const diff_entry *e = &half->side->entries[half->order[i]];
        uint32_t unit = half->unit_of[e->sample];
        if (unit == HD_NONE) continue;
        diff_put(&m->units, h, unit, (double)e->time);
        r->cpu[h] += (double)e->cpu / half->used;
    }
}

/* Activities that went over to another operator, as when two kernels are fused, are no change of those that had
 * them. */
static bool find_over(diff_maker *m)
{
    for (int h = 0; h < 2; h++) {
        m->over[h] = calloc((size_t)m->side[h]->nodes.count + 1, sizeof *m->over[h]);
        if (!m->over[h]) return false;
    }
    for (size_t i = 0; i < m->aligned.count; i++) {
        const diff_pair *p = &m->aligned.pairs[i];
        uint32_t there = HD_NONE; /* node of `after`, of all that have a counterpart */
        bool stays = true;
        if (p->item[0] == HD_NONE || p->item[1] == HD_NONE || !diff_is_work(diff_key(m->side[0], p->item[0])->kind))
            continue;
        for (int k = 0; k < 4; k++) {
            int h = k >= 2;
            uint32_t item = k % 2 ? p->more[h] : p->item[h];
            if (item == HD_NONE) continue;
            uint32_t node = diff_key(m->side[h], item)->node;
            uint32_t at = h || node == HD_NONE ? node : m->aligned.node_of[0][node];
            stays = stays && (k == 0 || at == there) && (at != HD_NONE || node == HD_NONE);
            there = at;
        }
        for (int k = 0; k < 4 && !stays; k++) {
            int h = k >= 2;
            uint32_t item = k % 2 ? p->more[h] : p->item[h];
            uint32_t node = item == HD_NONE ? HD_NONE : diff_key(m->side[h], item)->node;
            if (node != HD_NONE) m->over[h][node] += m->aligned.time[h][item];
        }
    }
    return true;
}

static bool is_structural(const diff_row *r, const diff_maker *m)
{
    bool is_there = r->calls[0] >= 0.5 || r->calls[1] >= 0.5;
    uint32_t match = r->key.match;
    if (m->names_differ && match != DIFF_NEW && match != DIFF_GONE) return false; /* as all are */
    return is_there && r->key.kind != DIFF_GAP && match != DIFF_SAME && match != DIFF_PLACE;
}

bool diff_is_beyond(const diff_change *c, const diff_maker *m)
{
    double least = m->noise * c->before;
    return (c->low > 0 || c->high < 0) && fabs(c->change) >= (least > m->min_ns ? least : m->min_ns);
}

/* Of few units nearly nothing is beyond noise among many rows; what would be by itself is named, and not judged. */
enum { UNITS_FEW = 6 };
#define ROWS_MISS 0.005 /* of all rows together */

static void judge(diff_row *r, const diff_maker *m, double p, bool is_explaining)
{
    static const double weights[DIFF_KINDS] = {1, 1, 1, 0.95, 0.9, 0.8};
    diff_change *c = &r->change;
    bool by_itself = diff_is_beyond(c, m),
         has_few = is_explaining || m->units.half[0].units < UNITS_FEW || m->units.half[1].units < UNITS_FEW;
    diff_bound(c, p);
    bool beyond = diff_is_beyond(c, m) || (by_itself && is_structural(r, m)); /* that it is another kernel is known */
    bool is_one_sided = r->key.match == DIFF_NEW || r->key.match == DIFF_GONE;
    bool is_own = fabs(c->change - r->elsewhere) >= 0.2 * fabs(c->change);
    if (r->key.kind == DIFF_GAP && m->out->verdict == HD_DIFF_SAME) is_own = false; /* it makes up for something else */
    bool counts = c->is_known && (beyond || (by_itself && has_few)),
         is_large = r->cpu[0] >= m->min_ns || r->cpu[1] >= m->min_ns || c->before >= m->min_ns || c->after >= m->min_ns;
    bool is_there = is_structural(r, m) && (!is_one_sided || is_large);
    r->tier = counts && is_own ? 0 : is_there || counts ? 1 : 2;
    if (is_one_sided && r->tier < 2)
        r->verdict = r->key.match == DIFF_NEW ? ROW_NEW : ROW_GONE;
    else if (!c->is_known || (!beyond && counts))
        r->verdict = ROW_FEW;
    else
        r->verdict = !beyond ? ROW_NOISE : c->change > 0 ? ROW_SLOWER : ROW_FASTER;
    double weight = is_one_sided && r->key.kind == DIFF_OPERATOR ? 1.02 : weights[r->key.kind];
    double most = c->before > c->after ? c->before : c->after, cpu = r->cpu[0] > r->cpu[1] ? r->cpu[0] : r->cpu[1];
    r->score = weight * (r->tier == 1 ? (most > cpu ? most : cpu) : fabs(c->change));
    if (!is_own) r->score /= 1000; /* rank it below moved time */
}

/* A change of the step that no row explains: rows that would be beyond noise by themselves may. */
static void judge_rows(diff_maker *m, uint32_t rows, double p)
{
    uint32_t listed = 0;
    for (uint32_t i = 0; i < rows; i++) {
        judge(&m->list[i], m, p, false);
        listed += m->list[i].tier < 2;
    }
    if (listed || (m->out->verdict != HD_DIFF_SLOWER && m->out->verdict != HD_DIFF_FASTER)) return;
    for (uint32_t i = 0; i < rows; i++) {
        diff_bound(&m->list[i].change, DIFF_MISS);
        judge(&m->list[i], m, p, true);
    }
}

static int by_score(const void *a, const void *b)
{
    const diff_row *x = a, *y = b;
    if (x->tier != y->tier) return x->tier < y->tier ? -1 : 1;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->key.kind > y->key.kind) - (x->key.kind < y->key.kind);
}

/* What the compared steps of one side have no call of is new or gone, though others, as a warm-up, have some. */
static uint32_t match_of_row(const diff_row *r)
{
    bool has_both = (r->calls[0] > 0) == (r->calls[1] > 0), is_plain = r->key.match <= DIFF_PLACE;
    if (!is_plain || has_both || r->key.kind == DIFF_GAP) return r->key.match;
    return r->calls[0] > 0 ? DIFF_GONE : DIFF_NEW;
}

hd_status diff_rows_find(diff_maker *m, hd_error *err)
{
    size_t count = m->aligned.count;
    uint32_t *first = NULL, *order = malloc((count + 1) * sizeof *order);
    uint32_t *row_of = malloc((count + 1) * sizeof *row_of); /* by pair */
    m->rows.key_size = sizeof(row_key);
    bool fine = order && row_of && find_over(m);
    for (size_t i = 0; fine && i < count; i++) {
        row_key key;
        fine = key_of_pair(&key, m, &m->aligned.pairs[i]);
        row_of[i] = fine ? gpu_group(&m->rows, &key) : HD_NONE;
        fine = fine && row_of[i] != HD_NONE;
    }
    uint32_t rows = m->rows.count, candidates = 0;
    m->list = fine ? calloc((size_t)rows + 1, sizeof *m->list) : NULL;
    first = fine ? calloc((size_t)rows + 2, sizeof *first) : NULL;
    fine = fine && m->list && first;
    for (size_t i = 0; fine && i < count; i++) first[row_of[i] + 1]++;
    for (uint32_t i = 1; fine && i <= rows; i++) first[i] += first[i - 1];
    for (size_t i = count; fine && i-- > 0;) order[--first[row_of[i] + 1]] = (uint32_t)i;
    for (uint32_t i = 0; fine && i < rows; i++) {
        diff_row *r = &m->list[i];
        uint32_t from = first[i + 1], end = i + 1 < rows ? first[i + 2] : (uint32_t)count;
        r->key = *(const row_key *)gpu_group_key(&m->rows, i);
        for (uint32_t k = from; k < end; k++) {
            const diff_pair *p = &m->aligned.pairs[order[k]];
            for (int h = 0; h < 2; h++) {
                put_item(m, r, h, p->item[h]);
                put_item(m, r, h, p->more[h]);
            }
        }
        r->key.match = match_of_row(r);
        r->change = diff_change_of(&m->units);
        candidates += r->change.before >= m->min_ns || r->change.after >= m->min_ns;
    }
    if (fine) judge_rows(m, rows, ROWS_MISS / (candidates ? candidates : 1));
    if (fine) hd_sort(m->list, rows, sizeof *m->list, by_score);
    free(first);
    free(order);
    free(row_of);
    return fine ? HD_OK : HD_NOMEM(err);
}

static void add_row(hd_table_builder *b, const diff_maker *m, const diff_row *r)
{
    const diff_change *c = &r->change;
    hd_table_add_text(b, diff_kind_names[r->key.kind]);
    diff_add_text(b, &m->aligned.texts, r->key.name);
    diff_add_text(b, &m->aligned.texts, r->key.name_after);
    diff_add_text(b, &m->aligned.texts, r->key.within);
    hd_table_add_text(b, diff_match_names[r->key.match]);
    const double times[] = {c->before, c->after, c->change, c->low, c->high};
    for (int i = 0; i < 5; i++) diff_add_ns(b, times[i]);
    for (int h = 0; h < 2; h++) hd_table_add_decimal(b, r->calls[h]);
    for (int h = 0; h < 2; h++) hd_table_add_count(b, m->units.half[h].units);
    for (int h = 0; h < 2; h++) diff_add_ns(b, r->calls[h] > 0 ? (h ? c->after : c->before) / r->calls[h] : INFINITY);
    for (int h = 0; h < 2; h++) {
        if (r->key.kind == DIFF_OPERATOR || r->key.kind == DIFF_MODULE)
            diff_add_ns(b, r->cpu[h]);
        else
            hd_table_add_null(b);
    }
    hd_table_add_text(b, row_verdict_names[r->verdict]);
}

void diff_rows_put(hd_table_builder *b, const diff_maker *m)
{
    for (uint32_t i = 0; i < m->rows.count; i++) {
        const diff_row *r = &m->list[i];
        bool is_anything = r->calls[0] > 0 || r->calls[1] > 0 || r->change.before > 0 || r->change.after > 0;
        if (is_anything && (m->all || r->tier < 2)) add_row(b, m, r);
    }
}
