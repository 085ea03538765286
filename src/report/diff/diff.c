/* diff.c - compares two sides: refusals, the step, its parts, and the rows that explain the change
 *
 * A row is an item with one name on each side, within matching operators. Its interval is wider the more rows there are
 * (multiple testing): even among a hundred rows of noise, none should appear as a change.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/options.h"
#include "base/sorted.h"
#include "heddle/names.h"
#include "report/diff/diff.h"
#include "report/diff/result.h"

const char *const diff_side_names[2] = {"before", "after"};
const char *const diff_kind_names[DIFF_KINDS] = {"kernel", "collective", "copy", "operator", "module", "idle"};
const char *const diff_verdict_names[] = {"same", "slower", "faster", "inconclusive"};

GPU_KEY
typedef struct row_key {
    uint32_t kind, name, name_after, within, match; /* texts; HD_NONE */
} row_key;
GPU_KEY_END

typedef enum row_verdict { ROW_NOISE, ROW_SLOWER, ROW_FASTER, ROW_NEW, ROW_GONE, ROW_FEW } row_verdict;
static const char *const row_verdict_names[] = {"noise", "slower", "faster", "new", "gone", "too few"};

typedef struct row {
    row_key key;
    diff_change change;
    double elsewhere; /* part of an operator's change that moved from or to another operator */
    double calls[2], cpu[2];
    double score;
    uint32_t tier; /* 0: significant; 1: structural difference, whatever its time; 2: noise */
    row_verdict verdict;
} row;

typedef struct maker {
    hd_diff *out;
    diff_units units;
    diff_aligned aligned;
    const hd_diff_side *side[2];
    double min_ns, noise;
    bool all;
    bool names_differ, are_strangers; /* pairs rest on the structure alone; which is not the same either */
    diff_change step;
    hd_table_builder *reasons;
    uint32_t reason_count;
    gpu_groups rows; /* of row_key */
    double *over[2]; /* by node: its time in pairs whose operators differ */
    row *list;
} maker;

static void add_reason(maker *m, const char *format, ...) HD_PRINTF(2, 3);
static void add_reason(maker *m, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!m->reason_count++) snprintf(m->out->reason, sizeof m->out->reason, "%s", text);
    hd_table_add_text(m->reasons, text);
}

static hd_status keep(maker *m, hd_table_builder *b, hd_error *err)
{
    HD_TRY(hd_table_finish(&m->out->tables[m->out->table_count], b, err));
    m->out->table_count++;
    return HD_OK;
}

static void add_ns(hd_table_builder *b, double value)
{
    if (isfinite(value) && fabs(value) < 9e18)
        hd_table_add_int(b, llround(value));
    else
        hd_table_add_null(b);
}

static void add_text_of(hd_table_builder *b, const gpu_texts *texts, uint32_t text)
{
    hd_string name = text == HD_NONE ? (hd_string){NULL, 0} : gpu_text_of(texts, text);
    if (name.data)
        hd_table_add_string(b, name.data, name.size);
    else
        hd_table_add_null(b);
}

/* ---- what refuses ---- */

static hd_string fact_of(const hd_diff_side *s, int fact)
{
    return s->facts[fact] == HD_NONE ? (hd_string){NULL, 0} : gpu_text_of(&s->texts, s->facts[fact]);
}

static bool facts_differ(const maker *m, int fact)
{
    hd_string x = fact_of(m->side[0], fact), y = fact_of(m->side[1], fact);
    return x.data && y.data && (x.size != y.size || memcmp(x.data, y.data, x.size) != 0);
}

static void refuse_facts(maker *m, unsigned across)
{
    static const int facts[] = {DIFF_FACT_GPU, DIFF_FACT_WORLD};
    static const char *const hints[] = {"; --across gpus compares them all the same",
                                        "; --across ranks compares them all the same"};
    for (int i = 0; i < 2; i++) {
        if (across & (i ? HD_DIFF_ACROSS_RANKS : HD_DIFF_ACROSS_GPUS)) continue;
        hd_string x = fact_of(m->side[0], facts[i]), y = fact_of(m->side[1], facts[i]);
        if (facts_differ(m, facts[i]))
            add_reason(m, "before has %s %.*s, after %.*s%s", diff_fact_names[facts[i]],
                       (int)(x.size < 80 ? x.size : 80), x.data, (int)(y.size < 80 ? y.size : 80), y.data, hints[i]);
    }
    if (!(across & HD_DIFF_ACROSS_RANKS) && m->side[0]->places.count != m->side[1]->places.count &&
        m->side[0]->places.count && m->side[1]->places.count)
        add_reason(m, "before has %u GPU%s with activities, after %u%s", m->side[0]->places.count,
                   m->side[0]->places.count == 1 ? "" : "s", m->side[1]->places.count, hints[1]);
}

/* Refuses a comparison with a doubt on one side only, about more than a twentieth of the data. */
static void refuse_doubts(maker *m)
{
    for (int i = 0; i < GPU_DOUBTS; i++) {
        const gpu_doubt_about *about = &gpu_doubt_abouts[i];
        double share[2];
        if (strcmp(about->level, "note") == 0) continue;
        for (int h = 0; h < 2; h++) {
            double of = (double)m->side[h]->doubts_of[i];
            share[h] = (double)m->side[h]->doubts[i] / (of > 0 ? of : 1);
        }
        int worse = share[1] > share[0];
        if (share[worse] - share[!worse] <= 0.05) continue;
        add_reason(m,
                   i == GPU_DOUBT_INPUT_LOST ? "%s lost part of its input (%s: %llu), %s did not"
                                             : "%s cannot be trusted (%s: %llu) as %s can",
                   diff_side_names[worse], about->code, (unsigned long long)m->side[worse]->doubts[i],
                   diff_side_names[!worse]);
    }
}

static void refuse_steps(maker *m)
{
    const diff_half *x = &m->units.half[0], *y = &m->units.half[1];
    const char *what = m->units.by_run ? "runs" : "steps";
    for (int h = 0; h < 2; h++) {
        if (!m->side[h]->sample_count) add_reason(m, "%s has no GPU activity", diff_side_names[h]);
        if (m->side[h]->has_host && !m->side[!h]->has_host && m->side[!h]->sample_count)
            add_reason(m, "%s has no GPU activity, and %s has", diff_side_names[h], diff_side_names[!h]);
        if (m->side[h]->lacks_steps && m->side[!h]->has_steps)
            add_reason(m, "%s has no steps, and %s has some", diff_side_names[h], diff_side_names[!h]);
    }
    if (m->reason_count) return;
    if (m->side[0]->lacks_steps && x->units < DIFF_UNITS_MIN)
        add_reason(
            m,
            "there are no steps: whole recordings are compared, of which %u and %u are not enough; name steps by "
            "--step PATTERN, or give more runs",
            x->units, y->units);
    else if (x->units < DIFF_UNITS_MIN || y->units < DIFF_UNITS_MIN)
        add_reason(m, "too few %s: %u and %u can be compared, and %d are needed", what, x->units, y->units,
                   DIFF_UNITS_MIN);
}

#define NAMED_LEAST 0.1  /* of the time of a side, in pairs of one name: else pairs rest on the structure alone, */
#define PAIRED_LEAST 0.9 /* which is then to agree in this share */

/* Refuses to compare programs with other names and another structure; warns if only the structure is the same. */
static void refuse_strangers(maker *m)
{
    const diff_common c = diff_common_of(&m->aligned, &m->units);
    bool is_strange = false;
    if (!(c.all[0] > 0 && c.all[1] > 0)) return;
    for (int h = 0; h < 2; h++) {
        if (c.named[h] >= NAMED_LEAST * c.all[h]) return;
        is_strange |= c.paired[h] < PAIRED_LEAST * c.all[h];
    }
    m->names_differ = true;
    m->are_strangers = is_strange;
    if (is_strange)
        add_reason(
            m,
            "the sides have next to nothing in common: %.0f %% of the time of before and %.0f %% of that of "
            "after are in operators or kernels with a name that both have, and %.0f %% and %.0f %% have the same "
            "place in the tree of calls",
            100 * c.named[0] / c.all[0], 100 * c.named[1] / c.all[1], 100 * c.paired[0] / c.all[0],
            100 * c.paired[1] / c.all[1]);
}

/* ---- small tables ---- */

/* HD_NO_NUMBER: not known, or several. */
static int64_t only_rank(const hd_diff_side *s)
{
    return s->places.count == 1 ? ((const diff_place_key *)gpu_group_key(&s->places, 0))->rank : HD_NO_NUMBER;
}

static hd_status add_differs(maker *m, hd_error *err)
{
    hd_table_builder *b;
    char text[2][64];
    HD_TRY(report_builder(&b, &diff_about, "differs", err));
    for (int i = 0; i < DIFF_FACTS; i++) {
        if (!facts_differ(m, i)) continue;
        hd_table_add_text(b, diff_fact_names[i]);
        for (int h = 0; h < 2; h++) add_text_of(b, &m->side[h]->texts, m->side[h]->facts[i]);
    }
    for (int what = 0; what < 2; what++) {
        for (int h = 0; h < 2; h++)
            snprintf(text[h], sizeof text[h], "%zu", what ? (size_t)m->side[h]->runs : m->side[h]->sample_count);
        if (strcmp(text[0], text[1]) == 0) continue;
        hd_table_add_text(b, what ? "runs" : "steps");
        for (int h = 0; h < 2; h++) hd_table_add_text(b, text[h]);
    }
    const int64_t ranks[2] = {only_rank(m->side[0]), only_rank(m->side[1])};
    if (ranks[0] != ranks[1] && ranks[0] != HD_NO_NUMBER && ranks[1] != HD_NO_NUMBER) {
        hd_table_add_text(b, "rank");
        for (int h = 0; h < 2; h++) {
            snprintf(text[h], sizeof text[h], "%lld", (long long)ranks[h]);
            hd_table_add_text(b, text[h]);
        }
    }
    for (int i = 0; i < GPU_DOUBTS; i++) {
        if (m->side[0]->doubts[i] == m->side[1]->doubts[i]) continue;
        hd_table_add_text(b, gpu_doubt_abouts[i].code);
        for (int h = 0; h < 2; h++) {
            snprintf(text[h], sizeof text[h], "%llu", (unsigned long long)m->side[h]->doubts[i]);
            hd_table_add_text(b, text[h]);
        }
    }
    return keep(m, b, err);
}

static hd_status add_steps(maker *m, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &diff_about, "steps", err));
    for (int h = 0; h < 2; h++) {
        for (size_t i = 0; i < m->side[h]->sample_count; i++) {
            const diff_sample *sample = &m->side[h]->samples[i];
            const diff_place_key *place = gpu_group_key(&m->side[h]->places, sample->place);
            hd_table_add_text(b, diff_side_names[h]);
            hd_table_add_count(b, sample->run);
            report_cell_int(b, place->rank);
            report_cell_int(b, place->device);
            add_text_of(b, &m->side[h]->texts, sample->name);
            hd_table_add_int(b, sample->length);
            hd_table_add_bool(b, m->units.half[h].unit_of[i] != HD_NONE);
            hd_table_add_count(b, sample->input);
            report_cell_int(b, sample->name == HD_NONE ? HD_NO_NUMBER : sample->start);
            report_cell_int(b, m->units.paired && m->units.half[h].unit_of[i] != HD_NONE ? m->units.half[h].unit_of[i]
                                                                                         : HD_NO_NUMBER);
        }
    }
    return keep(m, b, err);
}

static hd_status add_sides(maker *m, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &diff_about, "sides", err));
    for (int h = 0; h < 2; h++) {
        const diff_half *half = &m->units.half[h];
        size_t size = 0;
        for (size_t i = 0; i < half->side->path_count; i++) size += strlen(half->side->paths[i]) + 2;
        char *files = calloc(size + 1, 1), *end = files;
        for (size_t i = 0; files && i < half->side->path_count; i++)
            end += sprintf(end, "%s%s", i ? ", " : "", half->side->paths[i]);
        hd_table_add_text(b, diff_side_names[h]);
        hd_table_add_text(b, files);
        hd_table_add_count(b, half->used);
        hd_table_add_count(b, half->dropped);
        hd_table_add_count(b, half->side->runs);
        add_ns(b, diff_median(half));
        add_ns(b, diff_spread(half));
        free(files);
    }
    return keep(m, b, err);
}

static double mean_column(const diff_half *half, unsigned c)
{
    return half->used ? (double)diff_sum(half, c) / half->used : 0;
}

/* The identity: parts add up to the steps, on both sides. */
static hd_status add_parts(maker *m, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &diff_about, "parts", err));
    gpu_i128 sum[2] = {0, 0};
    for (unsigned c = 0; c < DIFF_PARTS; c++) {
        gpu_i128 total[2];
        double mean[2];
        for (int h = 0; h < 2; h++) {
            sum[h] += total[h] = diff_sum(&m->units.half[h], c);
            mean[h] = mean_column(&m->units.half[h], c);
        }
        if (!total[0] && !total[1]) continue;
        hd_table_add_text(b, diff_column_name(c));
        for (int h = 0; h < 2; h++) add_ns(b, mean[h]);
        add_ns(b, mean[1] - mean[0]);
        for (int h = 0; h < 2; h++) hd_table_add_int(b, gpu_whole(total[h]));
    }
    HD_TRY(keep(m, b, err));
    for (int h = 0; h < 2; h++) {
        gpu_i128 all = diff_sum(&m->units.half[h], DIFF_COLUMNS);
        if (sum[h] != all) return gpu_broken("the parts of all steps, in ns", gpu_whole(sum[h]), gpu_whole(all), err);
    }
    return HD_OK;
}

/* Digits that a mean count is printed with. */
static unsigned decimals_of(const diff_half *half)
{
    for (unsigned c = DIFF_LAUNCHES; c < DIFF_COUNTS; c++)
        if (half->used && diff_sum(half, c) % half->used) return 2;
    return 0;
}

static hd_status add_counts(maker *m, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(hd_table_builder_new(&b, "counts", err));
    hd_table_add_column(b, "what", HD_VALUE_STRING);
    for (int h = 0; h < 2; h++) {
        hd_table_add_column(b, diff_side_names[h], HD_VALUE_DECIMAL);
        hd_table_set_decimals(b, decimals_of(&m->units.half[h]));
    }
    for (unsigned c = DIFF_LAUNCHES; c < DIFF_COUNTS; c++) {
        hd_table_add_text(b, diff_column_name(c));
        for (int h = 0; h < 2; h++)
            gpu_cell_decimal(b, mean_column(&m->units.half[h], c), !diff_unknown(&m->units.half[h], c));
    }
    return keep(m, b, err);
}

static hd_status add_figures(maker *m, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &diff_about, "figures", err));
    diff_figures_put(b, &m->units);
    return keep(m, b, err);
}

/* ---- rows ---- */

enum { PATH_PARENTS = 6 };

static hd_string module_name(hd_string name)
{
    if (gpu_is_module(name)) name = (hd_string){name.data + GPU_MODULE_WORD, name.size - GPU_MODULE_WORD};
    return name;
}

/* Of a node as people know it: as written where all its slices have one name. */
static uint32_t name_of_node(const maker *m, int h, uint32_t node)
{
    uint32_t raw = m->side[h]->raw_of[node];
    return m->aligned.text_of[h][raw == HD_NONE ? diff_node(m->side[h], node)->name : raw];
}

static uint32_t folded_name(const maker *m, int h, uint32_t node)
{
    return m->aligned.text_of[h][diff_node(m->side[h], node)->name];
}

static uint32_t cut_module(maker *m, uint32_t text)
{
    char copy[HD_NAME_BYTES];
    hd_string name = module_name(gpu_text_of(&m->aligned.texts, text));
    if (name.size > sizeof copy) name.size = sizeof copy;
    memcpy(copy, name.data, name.size);
    return gpu_text(&m->aligned.texts, copy, name.size);
}

static uint32_t path_of(maker *m, int h, uint32_t node)
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
static uint32_t name_of_gap(maker *m, int h, const diff_item_key *key)
{
    char text[HD_NAME_BYTES + 32];
    hd_string host = key->name == HD_NONE ? (hd_string){"", 0} : gpu_text_of(&m->side[h]->texts, key->name);
    int size = snprintf(text, sizeof text, "%s%s%.*s", gpu_cause_names[key->node], host.size ? ": " : "",
                        (int)(host.size < HD_NAME_BYTES ? host.size : HD_NAME_BYTES - 1), host.data);
    return gpu_text(&m->aligned.texts, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
}

static uint32_t name_of_item(maker *m, int h, uint32_t item)
{
    const diff_item_key *key = diff_key(m->side[h], item);
    if (key->kind == DIFF_GAP) return name_of_gap(m, h, key);
    if (key->kind == DIFF_MODULE) return cut_module(m, name_of_node(m, h, key->node));
    return key->kind == DIFF_OPERATOR ? name_of_node(m, h, key->node) : m->aligned.text_of[h][key->name];
}

static uint32_t join_names(maker *m, uint32_t x, uint32_t y)
{
    char text[2 * HD_NAME_BYTES];
    hd_string a = gpu_text_of(&m->aligned.texts, x), b = gpu_text_of(&m->aligned.texts, y);
    if (a.size >= HD_NAME_BYTES) a.size = HD_NAME_BYTES - 4;
    if (b.size >= HD_NAME_BYTES) b.size = HD_NAME_BYTES - 4;
    int size = snprintf(text, sizeof text, "%.*s + %.*s", (int)a.size, a.data, (int)b.size, b.data);
    return gpu_text(&m->aligned.texts, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
}

static uint32_t within_of(maker *m, int h, uint32_t item)
{
    const diff_item_key *key = diff_key(m->side[h], item);
    if (key->kind == DIFF_GAP || key->node == HD_NONE) return HD_NONE;
    if (key->kind == DIFF_MODULE) return path_of(m, h, key->node);
    if (key->kind == DIFF_OPERATOR) return HD_NONE;
    return folded_name(m, h, key->node);
}

static bool key_of_pair(row_key *out, maker *m, const diff_pair *p)
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

static void put_item(maker *m, row *r, int h, uint32_t item)
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
static bool find_over(maker *m)
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

static bool is_structural(const row *r, const maker *m)
{
    bool is_there = r->calls[0] >= 0.5 || r->calls[1] >= 0.5;
    uint32_t match = r->key.match;
    if (m->names_differ && match != DIFF_NEW && match != DIFF_GONE) return false; /* as all are */
    return is_there && r->key.kind != DIFF_GAP && match != DIFF_SAME && match != DIFF_PLACE;
}

static bool is_beyond(const diff_change *c, const maker *m)
{
    double least = m->noise * c->before;
    return (c->low > 0 || c->high < 0) && fabs(c->change) >= (least > m->min_ns ? least : m->min_ns);
}

/* Of few units nearly nothing is beyond noise among many rows; what would be by itself is named, and not judged. */
enum { UNITS_FEW = 6 };
#define ROWS_MISS 0.005 /* of all rows together */

static void judge(row *r, const maker *m, double p, bool is_explaining)
{
    static const double weights[DIFF_KINDS] = {1, 1, 1, 0.95, 0.9, 0.8};
    diff_change *c = &r->change;
    bool by_itself = is_beyond(c, m),
         has_few = is_explaining || m->units.half[0].units < UNITS_FEW || m->units.half[1].units < UNITS_FEW;
    diff_bound(c, p);
    bool beyond = is_beyond(c, m) || (by_itself && is_structural(r, m)); /* that it is another kernel is known */
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
static void judge_rows(maker *m, uint32_t rows, double p)
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
    const row *x = a, *y = b;
    if (x->tier != y->tier) return x->tier < y->tier ? -1 : 1;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->key.kind > y->key.kind) - (x->key.kind < y->key.kind);
}

/* What the compared steps of one side have no call of is new or gone, though others, as a warm-up, have some. */
static uint32_t match_of_row(const row *r)
{
    bool has_both = (r->calls[0] > 0) == (r->calls[1] > 0), is_plain = r->key.match <= DIFF_PLACE;
    if (!is_plain || has_both || r->key.kind == DIFF_GAP) return r->key.match;
    return r->calls[0] > 0 ? DIFF_GONE : DIFF_NEW;
}

static hd_status find_rows(maker *m, hd_error *err)
{
    size_t count = m->aligned.count;
    uint32_t *first = NULL, *order = malloc((count + 1) * sizeof *order);
    uint32_t *row_of = malloc((count + 1) * sizeof *row_of); /* by pair */
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
        row *r = &m->list[i];
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

static void add_row(hd_table_builder *b, const maker *m, const row *r)
{
    const diff_change *c = &r->change;
    hd_table_add_text(b, diff_kind_names[r->key.kind]);
    add_text_of(b, &m->aligned.texts, r->key.name);
    add_text_of(b, &m->aligned.texts, r->key.name_after);
    add_text_of(b, &m->aligned.texts, r->key.within);
    hd_table_add_text(b, diff_match_names[r->key.match]);
    const double times[] = {c->before, c->after, c->change, c->low, c->high};
    for (int i = 0; i < 5; i++) add_ns(b, times[i]);
    for (int h = 0; h < 2; h++) hd_table_add_decimal(b, r->calls[h]);
    for (int h = 0; h < 2; h++) hd_table_add_count(b, m->units.half[h].units);
    for (int h = 0; h < 2; h++) add_ns(b, r->calls[h] > 0 ? (h ? c->after : c->before) / r->calls[h] : INFINITY);
    for (int h = 0; h < 2; h++) {
        if (r->key.kind == DIFF_OPERATOR || r->key.kind == DIFF_MODULE)
            add_ns(b, r->cpu[h]);
        else
            hd_table_add_null(b);
    }
    hd_table_add_text(b, row_verdict_names[r->verdict]);
}

static hd_status add_rows(maker *m, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &diff_about, "rows", err));
    bool both = m->units.half[0].used && m->units.half[1].used; /* an item of only one side is no change */
    both = both && (m->all || !m->are_strangers);
    for (uint32_t i = 0; both && i < m->rows.count; i++) {
        const row *r = &m->list[i];
        bool is_anything = r->calls[0] > 0 || r->calls[1] > 0 || r->change.before > 0 || r->change.after > 0;
        if (is_anything && (m->all || r->tier < 2)) add_row(b, m, r);
    }
    return keep(m, b, err);
}

/* ---- the verdict ---- */

static hd_status add_step(maker *m, hd_error *err)
{
    const diff_change *c = &m->step;
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &diff_about, "step", err));
    bool has[2] = {m->units.half[0].used, m->units.half[1].used}, both = has[0] && has[1];
    add_ns(b, has[0] ? c->before : INFINITY);
    add_ns(b, has[1] ? c->after : INFINITY);
    add_ns(b, both ? c->change : INFINITY);
    if (c->before > 0 && both)
        hd_table_add_decimal(b, 100 * c->change / c->before);
    else
        hd_table_add_null(b);
    add_ns(b, c->low);
    add_ns(b, c->high);
    for (int h = 0; h < 2; h++) hd_table_add_int(b, gpu_whole(diff_sum(&m->units.half[h], DIFF_COLUMNS)));
    hd_table_add_text(b, diff_verdict_names[m->out->verdict]);
    hd_table_add_text(b, m->out->sentence);
    return keep(m, b, err);
}

/* "+1.2", without a sign where it is 0. */
static double shown(double share)
{
    return fabs(share) < 0.05 ? 0 : share;
}

static void say(maker *m)
{
    const diff_change *c = &m->step;
    char before[HD_VALUE_TEXT_BYTES], after[HD_VALUE_TEXT_BYTES];
    char *out = m->out->sentence;
    size_t size = sizeof m->out->sentence;
    const char *unit = m->side[0]->lacks_steps ? "the recording"
                       : m->side[0]->has_host  ? "a step on the CPU"
                                               : "a step";
    double percent = c->before > 0 ? 100 / c->before : 0;
    double share = percent * c->change, low = percent * c->low, high = percent * c->high;
    hd_text_duration(before, llround(c->before));
    hd_text_duration(after, llround(c->after));
    if (m->out->verdict == HD_DIFF_INCONCLUSIVE)
        snprintf(out, size, "nothing can be concluded: %s", m->out->reason);
    else if (m->out->is_identical)
        snprintf(out, size, "no change: before and after hold the same, %s takes %s", unit, before);
    else if (m->out->verdict == HD_DIFF_SAME)
        snprintf(out, size, "%s: %s before, %s after, %s (%+.1f %%, 99 %%: %+.1f to %+.1f %%)",
                 shown(low) > 0 || shown(high) < 0 ? "no change as large as --min and --noise ask for"
                                                   : "no change beyond noise",
                 before, after, unit, shown(share), shown(low), shown(high));
    else
        snprintf(out, size, "after is %.1f %% %s: %s -> %s %s (99 %%: %+.1f to %+.1f %%)", fabs(share),
                 diff_verdict_names[m->out->verdict], before, after, unit, low, high);
    if (m->names_differ && m->out->verdict != HD_DIFF_INCONCLUSIVE)
        snprintf(out + strlen(out), size - strlen(out),
                 "; next to no name is on both sides: operators and kernels were matched by their place in the tree of "
                 "calls alone");
}

static void decide(maker *m)
{
    const diff_change *c = &m->step;
    bool beyond = is_beyond(c, m);
    m->out->verdict = m->reason_count ? HD_DIFF_INCONCLUSIVE
                      : !beyond       ? HD_DIFF_SAME
                      : c->change > 0 ? HD_DIFF_SLOWER
                                      : HD_DIFF_FASTER;
    say(m);
}

static hd_status add_gate(maker *m, const char *const *fail_if, hd_error *err)
{
    bool conclusive = m->out->verdict != HD_DIFF_INCONCLUSIVE, fails = false, unsaid = false;
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &diff_about, "gate", err));
    for (; fail_if && *fail_if; fail_if++) {
        diff_condition condition;
        hd_status status = diff_condition_parse(&condition, *fail_if, err);
        if (status != HD_OK) {
            hd_table_builder_free(b);
            return status;
        }
        hd_diff_gate gate = diff_condition_judge(b, &condition, &m->step, &m->units, conclusive);
        fails |= gate == HD_DIFF_FAILS;
        unsaid |= gate == HD_DIFF_UNSAID;
    }
    m->out->gate = fails ? HD_DIFF_FAILS : unsaid || !conclusive ? HD_DIFF_UNSAID : HD_DIFF_PASSES;
    return keep(m, b, err);
}

static hd_status make(maker *m, const hd_diff_options *o, hd_error *err)
{
    HD_TRY(report_builder(&m->reasons, &diff_about, "reasons", err));
    HD_TRY(diff_units_init(&m->units, m->side[0], m->side[1], o->seed, err));
    HD_TRY(diff_align(&m->aligned, &m->units, err));
    m->out->is_identical = diff_sides_are_same(m->side[0], m->side[1]);
    refuse_facts(m, o->across);
    refuse_doubts(m);
    if (!m->out->is_identical || !m->side[0]->sample_count) refuse_steps(m);
    refuse_strangers(m);
    HD_TRY(diff_change_of_step(&m->step, &m->units, err));
    decide(m);
    HD_TRY(find_rows(m, err));
    HD_TRY(add_sides(m, err));
    HD_TRY(add_step(m, err));
    HD_TRY(add_steps(m, err));
    HD_TRY(add_parts(m, err));
    HD_TRY(add_counts(m, err));
    HD_TRY(add_figures(m, err));
    HD_TRY(add_rows(m, err));
    HD_TRY(add_differs(m, err));
    hd_table_builder *reasons = m->reasons;
    m->reasons = NULL;
    HD_TRY(keep(m, reasons, err));
    return add_gate(m, o->fail_if, err);
}

hd_status hd_diff_conditions_valid(const char *const *fail_if, hd_error *err)
{
    diff_condition condition;
    for (; fail_if && *fail_if; fail_if++) HD_TRY(diff_condition_parse(&condition, *fail_if, err));
    return HD_OK;
}

static bool keep_paths(hd_diff *out, int h, const hd_diff_side *side)
{
    out->paths[h] = calloc(side->path_count + 1, sizeof *out->paths[h]);
    for (size_t i = 0; out->paths[h] && i < side->path_count; i++) {
        out->paths[h][i] = strdup(side->paths[i]);
        if (!out->paths[h][i]) return false;
        out->path_counts[h]++;
    }
    return out->paths[h] != NULL;
}

hd_status hd_diff_new(hd_diff **out, const hd_diff_side *before, const hd_diff_side *after,
                      const hd_diff_options *options, hd_error *err)
{
    *out = NULL;
    HD_OWN_OPTIONS(hd_diff_options, options, err);
    maker m = {.side = {before, after},
               .min_ns = (double)(options->min_ns ? options->min_ns : HD_DIFF_MIN_NS),
               .noise = options->noise,
               .all = options->all,
               .rows = {.key_size = sizeof(row_key)}};
    m.out = *out = calloc(1, sizeof **out);
    if (!m.out) return HD_NOMEM(err);
    m.out->seed = options->seed;
    bool fine = keep_paths(m.out, 0, before) && keep_paths(m.out, 1, after);
    hd_status status = fine ? make(&m, options, err) : HD_NOMEM(err);
    hd_table_builder_free(m.reasons);
    diff_units_deinit(&m.units);
    diff_aligned_deinit(&m.aligned);
    gpu_groups_deinit(&m.rows);
    for (int h = 0; h < 2; h++) free(m.over[h]);
    free(m.list);
    if (status == HD_OK) return HD_OK;
    hd_diff_free(m.out);
    *out = NULL;
    return status;
}

void hd_diff_free(hd_diff *diff)
{
    if (!diff) return;
    for (size_t i = 0; i < diff->table_count; i++) hd_table_free(diff->tables[i]);
    for (int h = 0; h < 2; h++) {
        for (size_t i = 0; i < diff->path_counts[h]; i++) free(diff->paths[h][i]);
        free(diff->paths[h]);
    }
    free(diff);
}

hd_diff_verdict hd_diff_verdict_of(const hd_diff *diff)
{
    return diff->verdict;
}

hd_diff_gate hd_diff_gate_of(const hd_diff *diff)
{
    return diff->gate;
}

const char *hd_diff_sentence(const hd_diff *diff)
{
    return diff->sentence;
}

const hd_table *hd_diff_table_at(const hd_diff *diff, size_t index)
{
    return index < diff->table_count ? diff->tables[index] : NULL;
}

const hd_table *hd_diff_table(const hd_diff *diff, const char *name)
{
    for (size_t i = 0; i < diff->table_count; i++)
        if (strcmp(hd_table_name(diff->tables[i]), name) == 0) return diff->tables[i];
    return NULL;
}
