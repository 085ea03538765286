/* topology.c - report topology: hosts, ranks with their GPUs and roles, and the process groups of a job */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/write.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/ends.h"
#include "report/job/groups.h"
#include "report/job/roles.h"

/* A GPU of a rank. */
typedef struct place {
    uint32_t host, model; /* texts; HD_NONE */
    int64_t rank, device, memory;
} place;

typedef struct topology {
    const hd_job *job;
    job_roles roles;
    gpu_texts texts;
    place *places; /* by host, rank and device */
    size_t count, capacity;
    hd_table_builder *lost;
} topology;

/* ---- GPUs ---- */

static hd_status add_places(topology *t, size_t member, hd_error *err)
{
    enum { RANK, DEVICE, NAME, MEMORY, SLICES, COLUMNS };
    static const job_wanted wanted[COLUMNS] = {{"rank", HD_VALUE_INT},
                                               {"device", HD_VALUE_INT},
                                               {"name", HD_VALUE_STRING},
                                               {"memory", HD_VALUE_BYTES},
                                               {"slices", HD_VALUE_COUNT}};
    const hd_job_member *about = hd_job_at(t->job, member);
    job_cells cells;
    uint32_t host = HD_NONE;
    if (about->host.data && (host = gpu_text(&t->texts, about->host.data, about->host.size)) == HD_NONE)
        return HD_NOMEM(err);
    HD_TRY(job_cells_of(&cells, t->job, member, "devices", wanted, COLUMNS, t->lost, err));
    bool fine = true, any = false; /* a rank sees GPUs that are others' */
    for (size_t row = 0; fine && (row < cells.rows || !any); row++) {
        bool is_there = row < cells.rows;
        if (is_there && job_int(&cells, row, SLICES) <= 0) continue;
        any = true;
        place p = {host, HD_NONE, about->rank, HD_NO_NUMBER, HD_NO_NUMBER};
        if (is_there) {
            int64_t rank = job_int(&cells, row, RANK);
            if (rank != HD_NO_NUMBER) p.rank = rank;
            p.device = job_int(&cells, row, DEVICE);
            p.memory = job_int(&cells, row, MEMORY);
            fine = job_text(&p.model, &t->texts, &cells, row, NAME);
        }
        fine = fine && hd_grow((void **)&t->places, &t->capacity, t->count, sizeof *t->places);
        if (fine) t->places[t->count++] = p;
    }
    job_cells_deinit(&cells);
    return fine ? HD_OK : HD_NOMEM(err);
}

static int compare_texts(const topology *t, uint32_t x, uint32_t y)
{
    if (x == y || x == HD_NONE || y == HD_NONE) return (x == HD_NONE) - (y == HD_NONE);
    hd_string a = gpu_text_of(&t->texts, x), b = gpu_text_of(&t->texts, y);
    return hd_text_compare(a.data, a.size, b.data, b.size);
}

/* By host (names with equal widths of final numbers are in natural order), then rank and device. */
static bool sort_places(topology *t)
{
    place *spare = malloc((t->count + 1) * sizeof *spare);
    if (!spare) return false;
    if (t->count)
        HD_SORT_RUNS(t->places, spare, t->count, x, y, x->rank != y->rank ? x->rank < y->rank : x->device < y->device);
    if (t->count) HD_SORT_RUNS(t->places, spare, t->count, x, y, compare_texts(t, x->host, y->host) < 0);
    free(spare);
    return true;
}

/* ---- tables ---- */

static hd_status add_hosts(hd_report *out, const topology *t, hd_error *err)
{
    hd_table_builder *b;
    size_t end;
    HD_TRY(report_builder(&b, &report_topology_about, "hosts", err));
    for (size_t i = 0; i < t->count; i = end) {
        const place *p = &t->places[i];
        uint64_t ranks = 0, gpus = 0;
        bool is_one = true;
        for (end = i; end < t->count && t->places[end].host == p->host; end++) {
            ranks += end == i || t->places[end].rank != t->places[end - 1].rank;
            gpus += t->places[end].device != HD_NO_NUMBER;
            is_one &= t->places[end].model == p->model;
        }
        gpu_cell_text(b, &t->texts, p->host);
        hd_table_add_count(b, ranks);
        report_cell_int(b, p->rank);
        report_cell_int(b, t->places[end - 1].rank);
        hd_table_add_count(b, gpus);
        gpu_cell_text(b, &t->texts, is_one ? p->model : HD_NONE);
    }
    return report_add(out, b, err);
}

static hd_status add_ranks(hd_report *out, const topology *t, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &report_topology_about, "ranks", err));
    for (size_t i = 0; i < t->count; i++) {
        const place *p = &t->places[i];
        const job_role *role = job_role_of(&t->roles, p->rank);
        report_cell_int(b, p->rank);
        gpu_cell_text(b, &t->texts, p->host);
        report_cell_int(b, p->device);
        gpu_cell_text(b, &t->texts, p->model);
        if (p->memory == HD_NO_NUMBER)
            hd_table_add_null(b);
        else
            hd_table_add_count(b, (uint64_t)p->memory);
        for (int d = 0; d < JOB_DIMENSIONS; d++)
            report_cell_int(b, role && role->at[d] >= 0 ? role->at[d] : HD_NO_NUMBER);
    }
    return report_add(out, b, err);
}

/* "0-3 8 12-15" */
static void put_ranks(hd_json_out *out, const int64_t *ranks, size_t count)
{
    out->size = 0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && ranks[end] == ranks[end - 1] + 1;) end++;
        if (i) hd_json_put_text(out, " ");
        hd_json_put_int(out, ranks[i]);
        if (end - i > 1) {
            hd_json_put_text(out, "-");
            hd_json_put_int(out, ranks[end - 1]);
        }
    }
}

static void add_dimension(hd_table_builder *b, const job_group *g)
{
    hd_table_add_text(b, g->dimension < 0 ? NULL : job_dimension_name((job_dimension)g->dimension));
}

static hd_status add_members(hd_report *out, const topology *t, hd_error *err)
{
    const job_roles *r = &t->roles;
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &report_topology_about, "members", err));
    for (size_t i = 0; i < r->group_count; i++) {
        const job_group *g = &r->groups[i];
        for (size_t k = 0; k < g->count; k++) {
            gpu_cell_text(b, &r->texts, g->name);
            add_dimension(b, g);
            hd_table_add_count(b, k);
            hd_table_add_int(b, r->ranks[g->first + k]);
        }
    }
    return report_add(out, b, err);
}

static hd_status add_groups(hd_report *out, const topology *t, hd_error *err)
{
    const job_roles *r = &t->roles;
    hd_table_builder *b;
    hd_json_out text = {0};
    HD_TRY(report_builder(&b, &report_topology_about, "groups", err));
    for (size_t i = 0; i < r->group_count; i++) {
        const job_group *g = &r->groups[i];
        gpu_cell_text(b, &r->texts, g->name);
        gpu_cell_text(b, &r->texts, g->description);
        add_dimension(b, g);
        gpu_cell_text(b, &r->texts, g->backend);
        report_cell_int(b, g->size);
        put_ranks(&text, r->ranks + g->first, g->count);
        hd_table_add_string(b, text.data ? text.data : "", text.size);
        hd_table_add_bool(b, g->is_told);
    }
    bool fine = !text.failed;
    free(text.data);
    if (fine && hd_table_sort(b, "dimension", "size") == HD_OK) return report_add(out, b, err);
    hd_table_builder_free(b);
    return HD_NOMEM(err);
}

/* ---- the report ---- */

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    topology t = {0};
    (void)options;
    t.job = input->job;
    hd_status status = report_builder(&t.lost, &report_topology_about, "lost", err);
    if (status == HD_OK) status = job_roles_init(&t.roles, &t.job, 1, true, t.lost, err);
    for (size_t m = 0; status == HD_OK && m < hd_job_count(t.job); m++) status = add_places(&t, m, err);
    if (status == HD_OK && !sort_places(&t)) status = HD_NOMEM(err);
    if (status == HD_OK) status = add_hosts(out, &t, err);
    if (status == HD_OK) status = add_ranks(out, &t, err);
    if (status == HD_OK) status = add_groups(out, &t, err);
    if (status == HD_OK) status = add_members(out, &t, err);
    if (status == HD_OK) {
        status = report_add(out, t.lost, err);
        t.lost = NULL;
    }
    hd_table_builder_free(t.lost);
    job_roles_deinit(&t.roles);
    gpu_texts_deinit(&t.texts);
    free(t.places);
    return status;
}

/* ---- a drawing ---- */

static const char *const colors[JOB_DIMENSIONS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"};

static void put_cell(hd_json_out *out, const hd_table *table, size_t row, const char *column, const char *before)
{
    char text[HD_VALUE_TEXT_BYTES];
    size_t at = hd_table_find_column(table, column), size;
    if (at == SIZE_MAX || hd_table_is_null(table, row, at)) return;
    hd_json_put_text(out, before);
    if (hd_table_get_column(table, at)->type == HD_VALUE_STRING) {
        const char *string = hd_table_get_string(&size, table, row, at);
        for (size_t i = 0; i < size && i < 60; i++) {
            char c[2] = {string[i], 0};
            hd_json_put_text(out, (unsigned char)*c < ' ' || strchr("\"\\<>{}|", *c) ? "_" : c);
        }
    } else {
        snprintf(text, sizeof text, "%lld", (long long)hd_table_get_int(table, row, at));
        hd_json_put_text(out, text);
    }
}

/* A box per rank, in that of its host. */
static void put_ranks_of_hosts(hd_json_out *out, const hd_table *ranks)
{
    size_t host = hd_table_find_column(ranks, "host"), count = hd_table_row_count(ranks), clusters = 0, size,
           last_size = 0;
    const char *last = NULL;
    for (size_t row = 0; row < count; row++) {
        const char *name = hd_table_is_null(ranks, row, host) ? "" : hd_table_get_string(&size, ranks, row, host);
        if (!*name) size = 0;
        if (!last || size != last_size || memcmp(name, last, size) != 0) {
            char head[64];
            snprintf(head, sizeof head, "%s  subgraph cluster_%zu {\n    label=\"", last ? "  }\n" : "", clusters++);
            hd_json_put_text(out, head);
            put_cell(out, ranks, row, "host", "");
            hd_json_put_text(out, "\";\n");
        }
        last = name;
        last_size = size;
        put_cell(out, ranks, row, "rank", "    r");
        put_cell(out, ranks, row, "rank", " [label=\"rank ");
        put_cell(out, ranks, row, "model", "\\n");
        const char *before = "\\n";
        for (int d = 0; d < JOB_DIMENSIONS; d++) {
            size_t at = hd_table_find_column(ranks, job_dimension_name((job_dimension)d));
            if (hd_table_is_null(ranks, row, at)) continue;
            hd_json_put_text(out, before);
            put_cell(out, ranks, row, job_dimension_name((job_dimension)d), job_dimension_name((job_dimension)d));
            before = " ";
        }
        hd_json_put_text(out, "\"];\n");
    }
    hd_json_put_text(out, last ? "  }\n" : "");
}

/* Chains through groups, whose members are consecutive. */
static void put_chains(hd_json_out *out, const hd_table *members)
{
    enum { NAME_BYTES = 16 };
    size_t dimension = hd_table_find_column(members, "dimension"), rank = hd_table_find_column(members, "rank"),
           position = hd_table_find_column(members, "position"), size;
    for (size_t row = 1; row < hd_table_row_count(members); row++) {
        if (hd_table_is_null(members, row, dimension) || hd_table_get_count(members, row, position) == 0) continue;
        const char *name = hd_table_get_string(&size, members, row, dimension), *color = NULL;
        char text[160], label[NAME_BYTES];
        snprintf(label, sizeof label, "%.*s", (int)size, name);
        for (int d = 0; d < JOB_DIMENSIONS; d++)
            if (strcmp(job_dimension_name((job_dimension)d), label) == 0) color = colors[d];
        snprintf(text, sizeof text, "  r%lld -- r%lld [color=\"%s\", label=\"%s\", fontcolor=\"%s\"];\n",
                 (long long)hd_table_get_int(members, row - 1, rank), (long long)hd_table_get_int(members, row, rank),
                 color, label, color);
        hd_json_put_text(out, text);
    }
}

static hd_status draw(hd_sink sink, const hd_report *report, hd_error *err)
{
    hd_json_out out = {0};
    hd_json_put_text(&out, "graph job {\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
                           "  edge [fontname=\"sans-serif\", fontsize=8];\n");
    put_ranks_of_hosts(&out, hd_report_table(report, "ranks"));
    put_chains(&out, hd_report_table(report, "members"));
    hd_json_put_text(&out, "}\n");
    hd_status status = out.failed ? HD_NOMEM(err) : sink.write(sink.user, out.data, out.size);
    free(out.data);
    return status;
}

static const hd_report_column host_columns[] = {{"host", HD_VALUE_STRING, "null: no trace states it"},
                                                {"ranks", HD_VALUE_COUNT, "on it"},
                                                {"first_rank", HD_VALUE_INT, "of them"},
                                                {"last_rank", HD_VALUE_INT, "of them"},
                                                {"gpus", HD_VALUE_COUNT, "GPUs that they use"},
                                                {"model", HD_VALUE_STRING, "their model, if all are of one"},
                                                {0}};
static const hd_report_column rank_columns[] = {
    {"rank", HD_VALUE_INT, "of the job"},
    {"host", HD_VALUE_STRING, "host on which it ran"},
    {"device", HD_VALUE_INT, "its GPU"},
    {"model", HD_VALUE_STRING, "model of its GPU"},
    {"memory", HD_VALUE_BYTES, "of that"},
    {"tp", HD_VALUE_INT, "position in its tensor-parallel group; null: none, or unknown"},
    {"pp", HD_VALUE_INT, "pipeline stage"},
    {"dp", HD_VALUE_INT, "position in its data-parallel group"},
    {"ep", HD_VALUE_INT, "in its expert-parallel group"},
    {"cp", HD_VALUE_INT, "in its context-parallel group"},
    {0}};
static const hd_report_column group_columns[] = {
    {"group", HD_VALUE_STRING, "as traces name it"},
    {"description", HD_VALUE_STRING, "as the program gave it"},
    {"dimension", HD_VALUE_STRING, "tp, pp, dp, ep, cp, by the words of the description; null: another, or several"},
    {"backend", HD_VALUE_STRING, "library that its collectives use"},
    {"size", HD_VALUE_INT, "as stated in traces"},
    {"ranks", HD_VALUE_STRING, "0-3 8"},
    {"told", HD_VALUE_BOOL, "a trace lists the members; else they are the ranks whose traces have the group"},
    {0}};
static const hd_report_column member_columns[] = {{"group", HD_VALUE_STRING, "as of groups"},
                                                  {"dimension", HD_VALUE_STRING, "as of groups"},
                                                  {"position", HD_VALUE_COUNT, "of the rank in the group, from 0"},
                                                  {"rank", HD_VALUE_INT, "of the job"},
                                                  {0}};
static const hd_report_column lost_columns[] = {JOB_COLUMNS_LOST};

static const hd_report_table_about tables[] = {
    {.name = "hosts", .meaning = "a row per host", .columns = host_columns},
    {.name = "ranks", .meaning = "a row per rank and GPU, with its roles", .columns = rank_columns},
    {.name = "groups", .meaning = "a row per process group", .columns = group_columns},
    {.name = "members", .meaning = "a row per process group and rank in it", .columns = member_columns},
    {.name = "lost", .meaning = "what of the summaries cannot be read", .columns = lost_columns},
    {0},
};

const hd_report_about report_topology_about = {
    .name = "topology",
    .title = "hosts, GPUs and process groups of a job",
    .text = "Where the ranks of a job ran, and their process groups: tensor, pipeline, data, expert and context "
            "parallelism are recognised by their descriptions (TENSOR_MODEL_PARALLEL_GROUP, mesh_tp, tp). `-o job.dot` "
            "draws it for Graphviz: a box per rank in its host, a chain through each group.",
    .of_job = true,
    .tables = tables,
    .run = run,
    .draw = draw,
};
