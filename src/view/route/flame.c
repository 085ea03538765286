/* flame.c - GET /api/flame: a flame graph of a range of time, as nodes; the last few are cached
 *
 * Nodes with less than 1/FINEST of the total are left out, and counted; a node's callees weigh no more than it does, so
 * none is left without its caller. Their weight is summed by parent node and name, since many small frames of a name
 * may be most of the time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "heddle/analysis/flame.h"
#include "view/queries/queries.h"
#include "view/route/routes_query.h"
#include "view/scene/place.h"

enum { FINEST = 5000, MOST_NODES = 200000 };

typedef struct flame_question {
    view_scene *scene;
    hd_flame_options options;
    char text[160];
} flame_question;

static hd_status read_question(flame_question *q, const view_request *request, hd_error *err)
{
    static const char *const bys[] = {"nothing", "rank", "device", "stream", "thread", "step", "name", "group", NULL};
    const char *ofs[HD_FLAME_OFS + 1] = {0};
    int64_t from, until, reverse;
    unsigned of, by;
    for (int i = 0; i < HD_FLAME_OFS; i++) ofs[i] = hd_flame_of_name((hd_flame_of)i);
    HD_TRY(view_param_word(&of, request, "of", ofs, err));
    HD_TRY(view_param_word(&by, request, "by", bys, err));
    HD_TRY(view_param_int_or(&reverse, request, "reverse", 0, 1, 0, err));
    HD_TRY(view_param_range(&from, &until, request, q->scene, err));
    q->options.of = (hd_flame_of)of;
    q->options.by = (hd_flame_by)by;
    q->options.reverse = reverse == 1;
    const hd_trace_facts *facts = hd_trace_facts_of(view_scene_trace(q->scene));
    int64_t zero = facts->start_ns == HD_NO_TIME ? 0 : facts->start_ns; /* the origin of times in the options */
    if (view_param_text(request, "from")) q->options.from = (hd_convert_time){HD_CONVERT_NS, view_length(zero, from)};
    if (view_param_text(request, "until"))
        q->options.until = (hd_convert_time){HD_CONVERT_NS, view_length(zero, until)};
    snprintf(q->text, sizeof q->text, "%u %u %d %d %lld %d %lld", of, by, q->options.reverse, (int)q->options.from.unit,
             (long long)q->options.from.value, (int)q->options.until.unit, (long long)q->options.until.value);
    return HD_OK;
}

/* ---- JSON ---- */

/* New numbers of nodes that stay, by old ones; HD_NONE: left out. Returns how many are. */
static uint32_t number_nodes(uint32_t *numbers, const hd_flame *flame, int64_t least)
{
    uint32_t count = hd_stacks_count(flame->stacks), kept = 0, left_out = 0;
    for (uint32_t node = 0; node < count; node++) {
        bool fits = node == 0 || (flame->total[node] >= least && flame->total[node] > 0 && kept < MOST_NODES &&
                                  numbers[hd_stacks_at(flame->stacks, node).caller] != HD_NONE);
        numbers[node] = fits ? kept++ : HD_NONE;
        left_out += !fits;
    }
    return left_out;
}

/* Nodes of a name that were left out below a node that stays. */
typedef struct small_sum {
    uint32_t above, name;
    int64_t self, total; /* total: of the uppermost of that name in a stack */
} small_sum;

static int compare_small(const void *a, const void *b)
{
    const small_sum *x = a, *y = b;
    int above = (x->above > y->above) - (x->above < y->above);
    return above ? above : (x->name > y->name) - (x->name < y->name);
}

static small_sum small_of(const hd_flame *flame, const uint32_t *numbers, uint32_t node)
{
    hd_frame frame = hd_stacks_at(flame->stacks, node);
    small_sum sum = {.name = frame.name, .self = flame->self[node], .total = flame->total[node]};
    uint32_t above = frame.caller;
    while (numbers[above] == HD_NONE) {
        hd_frame caller = hd_stacks_at(flame->stacks, above);
        if (caller.name == sum.name) sum.total = 0;
        above = caller.caller;
    }
    sum.above = numbers[above];
    return sum;
}

/* By node and name; NULL: no memory. */
static small_sum *sum_small(size_t *sum_count, const hd_flame *flame, const uint32_t *numbers, uint32_t left_out)
{
    uint32_t count = hd_stacks_count(flame->stacks);
    size_t made = 0, kept = 0;
    small_sum *list = malloc(((size_t)left_out + 1) * sizeof *list);
    if (!list) return NULL;
    for (uint32_t node = 1; node < count; node++) {
        if (numbers[node] == HD_NONE && flame->total[node] > 0) list[made++] = small_of(flame, numbers, node);
    }
    if (made) hd_sort(list, made, sizeof *list, compare_small);
    for (size_t i = 0; i < made; i++) {
        if (kept && compare_small(&list[kept - 1], &list[i]) == 0) {
            list[kept - 1].self += list[i].self;
            list[kept - 1].total += list[i].total;
        } else {
            list[kept++] = list[i];
        }
    }
    *sum_count = kept;
    return list;
}

/* Names of nodes that stay, and those that are worth a node in all; names: by name, its number + 1. */
static void put_small(hd_json_out *json, const small_sum *list, size_t count, int64_t least, int64_t *weights,
                      uint32_t *names, uint32_t *name_list, uint32_t *name_count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) weights[list[i].name] += list[i].total;
    view_json_key(json, "small");
    hd_json_put_text(json, "[");
    for (size_t i = 0; i < count; i++) {
        const small_sum *of = &list[i];
        if (!names[of->name] && weights[of->name] < least) continue;
        if (!names[of->name]) {
            name_list[*name_count] = of->name;
            names[of->name] = ++*name_count;
        }
        const int64_t row[] = {of->above, names[of->name] - 1, of->self, of->total};
        for (int k = 0; k < 4; k++) {
            hd_json_put_text(json, k ? "," : any ? ",[" : "[");
            hd_json_put_int(json, row[k]);
        }
        hd_json_put_text(json, "]");
        any = true;
    }
    hd_json_put_text(json, "]");
}

/* Returns how many names they have. */
static uint32_t put_nodes(hd_json_out *json, const hd_flame *flame, const uint32_t *numbers, uint32_t *names,
                          uint32_t *name_list)
{
    uint32_t count = hd_stacks_count(flame->stacks), name_count = 0;
    view_json_key(json, "nodes");
    hd_json_put_text(json, "[");
    for (uint32_t node = 0; node < count; node++) {
        if (numbers[node] == HD_NONE) continue;
        hd_frame frame = node ? hd_stacks_at(flame->stacks, node) : (hd_frame){0};
        if (!names[frame.name]) {
            name_list[name_count] = frame.name;
            names[frame.name] = ++name_count;
        }
        const char *kind = hd_frame_kind_name(frame.kind);
        hd_json_put_text(json, node ? ",[" : "[");
        hd_json_put_int(json, node ? (int64_t)numbers[frame.caller] : -1);
        hd_json_put_text(json, ",");
        hd_json_put_int(json, names[frame.name] - 1);
        hd_json_put_text(json, ",");
        hd_json_put_int(json, flame->self[node]);
        hd_json_put_text(json, ",");
        hd_json_put_int(json, flame->total[node]);
        hd_json_put_text(json, ",");
        hd_json_put_string(json, kind, strlen(kind));
        hd_json_put_text(json, "]");
    }
    hd_json_put_text(json, "]");
    return name_count;
}

static void put_names(hd_json_out *json, const hd_flame *flame, const uint32_t *name_list, uint32_t name_count)
{
    view_json_key(json, "names");
    hd_json_put_text(json, "[");
    for (uint32_t i = 0; i < name_count; i++) {
        hd_string text = hd_stacks_text(flame->stacks, name_list[i]);
        if (i) hd_json_put_text(json, ",");
        hd_json_put_string(json, text.data ? text.data : "", text.size);
    }
    hd_json_put_text(json, "]");
}

static void put_head(hd_json_out *json, const hd_flame *flame, bool any)
{
    const char *of = hd_flame_of_name(flame->of), *unit = flame->unit;
    hd_json_put_text(json, "{");
    view_json_text(json, "of", (hd_string){of, strlen(of)});
    view_json_text(json, "unit", (hd_string){unit, strlen(unit)});
    view_json_int(json, "total", any ? flame->total[0] : 0);
    view_json_int(json, "no_stack", flame->no_stack);
}

static bool put_frames(hd_json_out *json, const hd_flame *flame, uint32_t *left_out)
{
    uint32_t *numbers = malloc(((size_t)hd_stacks_count(flame->stacks) + 1) * sizeof *numbers);
    size_t all_names = (size_t)hd_stacks_name_count(flame->stacks) + 1, count = 0;
    uint32_t *names = calloc(2 * all_names, sizeof *names);
    int64_t *weights = calloc(all_names, sizeof *weights), least = flame->total[0] / FINEST;
    small_sum *small = NULL;
    if (numbers && names && weights) {
        *left_out = number_nodes(numbers, flame, least);
        small = sum_small(&count, flame, numbers, *left_out);
    }
    if (small) {
        uint32_t *name_list = names + all_names;
        uint32_t name_count = put_nodes(json, flame, numbers, names, name_list);
        put_small(json, small, count, least, weights, names, name_list, &name_count);
        put_names(json, flame, name_list, name_count);
    }
    bool fine = small;
    free(small);
    free(weights);
    free(names);
    free(numbers);
    return fine;
}

static hd_status put_flame(hd_json_out *json, const hd_flame *flame, hd_error *err)
{
    bool any = flame->stacks && flame->total;
    put_head(json, flame, any);
    uint32_t left_out = 0;
    if (any) {
        if (!put_frames(json, flame, &left_out)) return HD_NOMEM(err);
    } else {
        hd_json_put_text(json, ",\"nodes\":[],\"small\":[],\"names\":[]");
    }
    view_json_int(json, "left_out", left_out);
    hd_json_put_text(json, "}");
    return HD_OK;
}

/* ---- the route ---- */

static hd_status make(view_reply *reply, const view_request *request, const flame_question *q, view_queries *queries,
                      hd_error *err)
{
    hd_flame *flame;
    if (view_queries_recall(&reply->json, queries, VIEW_KEPT_LONG, q->text))
        return HD_OK; /* made while this one waited */
    if (view_request_gone(request))
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "the client went away");
    HD_TRY(hd_flame_new(&flame, err));
    hd_status status = hd_flame_add(flame, view_scene_trace(q->scene), NULL, NULL, &q->options, err);
    if (status == HD_OK && view_request_gone(request))
        status = hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "the client went away");
    if (status == HD_OK) status = put_flame(&reply->json, flame, err);
    hd_flame_free(flame);
    if (status == HD_OK) view_queries_keep(queries, VIEW_KEPT_LONG, q->text, &reply->json);
    return status;
}

hd_status view_route_flame(view_reply *reply, const view_request *request, hd_error *err)
{
    flame_question q = {0};
    HD_TRY(view_param_scene(&q.scene, reply, request, err));
    HD_TRY(read_question(&q, request, err));
    view_queries *queries = view_scene_queries(q.scene);
    pthread_mutex_lock(&queries->lock_flame);
    hd_status status = make(reply, request, &q, queries, err);
    pthread_mutex_unlock(&queries->lock_flame);
    return status == HD_OK ? view_json_done(reply, err) : status;
}
