#include "report/job/roles.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/decimal.h"
#include "report/job/groups.h"

/* ---- dimensions, by what programs call their groups ---- */

static const struct {
    const char *name, *words[4];
} dimensions[JOB_DIMENSIONS] = {
    [JOB_TENSOR] = {"tp", {"tp", "tensor", "mp"}},         [JOB_PIPELINE] = {"pp", {"pp", "pipeline", "pipe"}},
    [JOB_DATA] = {"dp", {"dp", "data", "fsdp", "shard"}},  [JOB_EXPERT] = {"ep", {"ep", "expert"}},
    [JOB_CONTEXT] = {"cp", {"cp", "context", "sequence"}},
};

const char *job_dimension_name(job_dimension dimension)
{
    return dimensions[dimension].name;
}

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static bool has_word(hd_string text, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= text.size; i++) {
        bool begins = i == 0 || !is_letter(text.data[i - 1]);
        bool ends = i + size == text.size || !is_letter(text.data[i + size]);
        if (begins && ends && strncasecmp(text.data + i, word, size) == 0) return true;
    }
    return false;
}

/* That of several dimensions at once, as Megatron's "data parallel group with context parallel", is none. */
static int dimension_of(hd_string description)
{
    int found = -1;
    for (int d = 0; d < JOB_DIMENSIONS; d++) {
        bool has = false;
        for (int w = 0; w < 4 && dimensions[d].words[w]; w++) has |= has_word(description, dimensions[d].words[w]);
        if (has && found >= 0) return -1;
        if (has) found = d;
    }
    return found;
}

/* ---- who is in a group ---- */

typedef struct seat {
    uint32_t group;
    bool is_told; /* by a list of ranks; else inferred from the rank's collectives */
    int64_t rank;
} seat;

typedef struct maker {
    job_roles *r;
    hd_map groups; /* by text */
    seat *seats;
    size_t count, capacity, group_capacity;
} maker;

static bool add_seat(maker *m, uint32_t group, int64_t rank, bool is_told)
{
    if (!hd_grow((void **)&m->seats, &m->capacity, m->count, sizeof *m->seats)) return false;
    m->seats[m->count++] = (seat){group, is_told, rank};
    return true;
}

static bool find_group(uint32_t *out, maker *m, uint32_t name)
{
    job_roles *r = m->r;
    if (hd_map_get(out, &m->groups, name, 0)) return true;
    if (!hd_grow((void **)&r->groups, &m->group_capacity, r->group_count, sizeof *r->groups)) return false;
    *out = (uint32_t)r->group_count++;
    r->groups[*out] =
        (job_group){.name = name, .description = HD_NONE, .backend = HD_NONE, .size = HD_NO_NUMBER, .dimension = -1};
    return hd_map_set(&m->groups, name, 0, *out);
}

/* "[0, 1, 7]"; a truncated list is not used. */
static bool add_list(maker *m, uint32_t group, hd_string list)
{
    size_t first = m->count, at = 0;
    bool fine = list.size > 1 && list.data[0] == '[' && list.data[list.size - 1] == ']';
    while (fine && ++at < list.size - 1) {
        while (at < list.size && strchr(" ,", list.data[at])) at++;
        size_t end = at;
        int64_t rank;
        while (end < list.size - 1 && !strchr(" ,", list.data[end])) end++;
        if (end == at) break;
        fine = hd_fixed_parse_whole(&rank, list.data + at, end - at) && rank >= 0;
        if (fine && !add_seat(m, group, rank, true)) return false;
        at = end;
    }
    int64_t size = m->r->groups[group].size;
    if (!fine || (size != HD_NO_NUMBER && (int64_t)(m->count - first) != size)) m->count = first;
    return true;
}

static hd_status add_told(maker *m, const hd_job *job, size_t member, hd_table_builder *lost, hd_error *err)
{
    enum { RANK, GROUP, DESCRIPTION, BACKEND, SIZE, RANKS, COLUMNS };
    static const job_wanted wanted[COLUMNS] = {{"rank", HD_VALUE_INT},           {"group", HD_VALUE_STRING},
                                               {"description", HD_VALUE_STRING}, {"backend", HD_VALUE_STRING},
                                               {"size", HD_VALUE_INT},           {"ranks", HD_VALUE_STRING}};
    job_cells cells;
    gpu_texts *texts = &m->r->texts;
    bool fine = true;
    HD_TRY(job_cells_of(&cells, job, member, "groups", wanted, COLUMNS, lost, err));
    for (size_t row = 0; fine && row < cells.rows; row++) {
        uint32_t name, description, backend, list, group = 0;
        fine = job_text(&name, texts, &cells, row, GROUP) && job_text(&description, texts, &cells, row, DESCRIPTION) &&
               job_text(&backend, texts, &cells, row, BACKEND) && job_text(&list, texts, &cells, row, RANKS);
        if (!fine || name == HD_NONE) continue;
        fine = find_group(&group, m, name);
        if (!fine) break;
        job_group *g = &m->r->groups[group];
        if (g->description == HD_NONE) g->description = description;
        if (g->backend == HD_NONE) g->backend = backend;
        if (g->size == HD_NO_NUMBER) g->size = job_int(&cells, row, SIZE);
        int64_t rank = job_int(&cells, row, RANK);
        if (rank != HD_NO_NUMBER) fine = add_seat(m, group, rank, false);
        if (fine && list != HD_NONE && !g->is_told) {
            size_t before = m->count;
            fine = add_list(m, group, gpu_text_of(texts, list));
            g->is_told = m->count > before;
        }
    }
    job_cells_deinit(&cells);
    return fine ? HD_OK : HD_NOMEM(err);
}

static hd_status add_seen(maker *m, const hd_job *job, size_t member, hd_table_builder *lost, hd_error *err)
{
    enum { RANK, GROUP, SIZE, POINT, COLUMNS };
    static const job_wanted wanted[COLUMNS] = {
        {"rank", HD_VALUE_INT}, {"group", HD_VALUE_STRING}, {"size", HD_VALUE_INT}, {"point_to_point", HD_VALUE_BOOL}};
    job_cells cells;
    uint32_t before = HD_NONE;
    int64_t rank_before = HD_NO_NUMBER;
    bool fine = true;
    HD_TRY(job_cells_of(&cells, job, member, "collectives", wanted, COLUMNS, lost, err));
    for (size_t row = 0; fine && row < cells.rows; row++) {
        int64_t rank = job_int(&cells, row, RANK);
        uint32_t name, group = 0;
        fine = job_text(&name, &m->r->texts, &cells, row, GROUP);
        if (!fine || name == HD_NONE || rank == HD_NO_NUMBER || (name == before && rank == rank_before)) continue;
        before = name;
        rank_before = rank;
        if (job_int(&cells, row, POINT) == 1 && job_is_pair(gpu_text_of(&m->r->texts, name))) continue;
        fine = find_group(&group, m, name) && add_seat(m, group, rank, false);
        if (fine && m->r->groups[group].size == HD_NO_NUMBER) m->r->groups[group].size = job_int(&cells, row, SIZE);
    }
    job_cells_deinit(&cells);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- the whole ---- */

static hd_status place_ranks(maker *m, hd_error *err)
{
    job_roles *r = m->r;
    seat *spare = malloc((m->count + 1) * sizeof *spare);
    r->ranks = malloc((m->count + 1) * sizeof *r->ranks);
    r->list = malloc((m->count + 1) * sizeof *r->list);
    bool fine = spare && r->ranks && r->list;
    size_t kept = 0;
    if (fine && m->count)
        HD_SORT_RUNS(m->seats, spare, m->count, x, y, x->group != y->group ? x->group < y->group : x->rank < y->rank);
    for (size_t i = 0; fine && i < m->count; i++) {
        const seat *s = &m->seats[i];
        job_group *g = &r->groups[s->group];
        if (s->is_told != g->is_told || (g->count && r->ranks[kept - 1] == s->rank)) continue;
        if (!g->count) g->first = kept;
        g->count++;
        r->ranks[kept++] = s->rank;
    }
    if (fine && m->count) HD_SORT_RUNS(m->seats, spare, m->count, x, y, x->rank < y->rank);
    for (size_t i = 0; fine && i < m->count; i++) {
        if (i && m->seats[i].rank == m->seats[i - 1].rank) continue;
        job_role *role = &r->list[r->count++];
        role->rank = m->seats[i].rank;
        for (int d = 0; d < JOB_DIMENSIONS; d++) role->at[d] = -1;
    }
    free(spare);
    return fine ? HD_OK : HD_NOMEM(err);
}

static void find_positions(job_roles *r)
{
    for (size_t i = 0; i < r->group_count; i++) {
        job_group *g = &r->groups[i];
        hd_string text = gpu_text_of(&r->texts, g->description != HD_NONE ? g->description : g->name);
        g->dimension = dimension_of(text);
        for (size_t k = 0; g->dimension >= 0 && k < g->count; k++) {
            job_role *role = (job_role *)job_role_of(r, r->ranks[g->first + k]);
            if (role && role->at[g->dimension] < 0) role->at[g->dimension] = (int64_t)k;
        }
    }
}

hd_status job_roles_init(job_roles *out, const hd_job *const *jobs, size_t count, bool looks_at_all,
                         hd_table_builder *lost, hd_error *err)
{
    maker m = {.r = out};
    hd_status status = HD_OK;
    *out = (job_roles){0};
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; status == HD_OK && i < hd_job_count(jobs[k]); i++) {
            status = add_told(&m, jobs[k], i, lost, err);
            if (status == HD_OK && looks_at_all) status = add_seen(&m, jobs[k], i, lost, err);
        }
    }
    if (status == HD_OK) status = place_ranks(&m, err);
    if (status == HD_OK) find_positions(out);
    hd_map_deinit(&m.groups);
    free(m.seats);
    return status;
}

void job_roles_deinit(job_roles *roles)
{
    gpu_texts_deinit(&roles->texts);
    free(roles->groups);
    free(roles->ranks);
    free(roles->list);
    *roles = (job_roles){0};
}

const job_role *job_role_of(const job_roles *roles, int64_t rank)
{
    size_t low = 0, high = roles->count;
    HD_PARTITION_POINT(low, high, at, roles->list[at].rank < rank);
    return low < roles->count && roles->list[low].rank == rank ? &roles->list[low] : NULL;
}
