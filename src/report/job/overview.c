/* overview.c - the ranks of a job that exist, their differences, and which of them stopped early
 *
 * Members are read one after the other. Kept are, for each rank its steps in three numbers, for each of its groups the
 * last collective, and of the ledgers sums by code.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/job/cells.h"
#include "report/job/slowdown/findings.h"
#include "trace/text.h"

/* A rank of a member: nearly always the only one. */
typedef struct part {
    int64_t rank; /* HD_NO_NUMBER: unknown */
    uint32_t member;
    uint32_t first_step, last_step; /* texts; HD_NONE: there are no steps */
    int64_t first_start, last_start;
    uint64_t steps;
} part;

GPU_KEY
typedef struct last_key {
    int64_t rank, device, stream; /* rank: or the place of the member */
    uint32_t group;               /* text */
    uint32_t is_point_to_point;
} last_key;
GPU_KEY_END

typedef struct last {
    last_key key;
    int64_t sequence, end;
    uint32_t operation, step, group; /* group: of job.groups */
    bool is_counted;
} last;

/* A rank, and one of its groups. */
GPU_KEY
typedef struct seat {
    int64_t rank;
    uint64_t group; /* text */
} seat;
GPU_KEY_END

typedef struct ledger_sum {
    uint32_t stage, code, level; /* texts */
    uint64_t count, parts;
    uint32_t newest; /* member that was counted last */
    int64_t first_rank;
} ledger_sum;

typedef struct overview {
    const hd_job *of;
    gpu_texts texts;
    part *parts; /* by rank, the unknown first, when all are there */
    size_t part_count, part_capacity;
    gpu_groups last_keys, groups, seats, ledger_keys, hosts;
    last *lasts;
    int64_t *highest; /* by group */
    ledger_sum *ledger;
    size_t last_capacity, group_capacity, ledger_capacity;
    uint64_t events, lost_events, damaged;
    uint32_t damaged_member; /* that was counted last */
    hd_table_builder *job, *findings, *missing, *doubles, *worlds, *other_steps, *behind, *ledgers, *lost;
} overview;

/* ---- data of members ---- */

static part *find_part(overview *o, uint32_t member, int64_t rank)
{
    for (size_t i = o->part_count; i-- > 0 && o->parts[i].member == member;)
        if (o->parts[i].rank == rank) return &o->parts[i];
    if (!hd_grow((void **)&o->parts, &o->part_capacity, o->part_count, sizeof *o->parts)) return NULL;
    part *p = &o->parts[o->part_count++];
    *p = (part){.rank = rank, .member = member, .first_step = HD_NONE, .last_step = HD_NONE};
    return p;
}

static bool see_rank(overview *o, const job_cells *c, size_t row, uint32_t member)
{
    enum { EVENTS = 1 };
    int64_t events = job_int(c, row, EVENTS);
    o->events += events > 0 ? (uint64_t)events : 0;
    return hd_job_at(o->of, member)->rank == HD_NO_NUMBER ||
           find_part(o, member, hd_job_at(o->of, member)->rank) != NULL;
}

/* A trace of several ranks is known by its devices. */
static bool see_device(overview *o, const job_cells *c, size_t row, uint32_t member)
{
    int64_t rank = job_int(c, row, 0);
    return rank == HD_NO_NUMBER || find_part(o, member, rank) != NULL;
}

static bool see_step(overview *o, const job_cells *c, size_t row, uint32_t member)
{
    enum { STEP = 1, START };
    int64_t start = job_int(c, row, START);
    uint32_t name;
    part *p = find_part(o, member, job_int(c, row, 0));
    if (!p || !job_text(&name, &o->texts, c, row, STEP)) return false;
    if (!p->steps || start < p->first_start) p->first_start = start, p->first_step = name;
    if (!p->steps || start >= p->last_start) p->last_start = start, p->last_step = name;
    p->steps++;
    return true;
}

static bool see_group(overview *o, const job_cells *c, size_t row, uint32_t member)
{
    uint32_t group;
    seat of = {.rank = job_int(c, row, 0)};
    (void)member;
    if (!job_text(&group, &o->texts, c, row, 1)) return false;
    of.group = group;
    return of.rank == HD_NO_NUMBER || group == HD_NONE || gpu_group(&o->seats, &of) != HD_NONE;
}

static bool see_collective(overview *o, const job_cells *c, size_t row, uint32_t member)
{
    enum { DEVICE = 1, GROUP, STREAM, POINT, SEQUENCE, COUNTED, OPERATION, STEP, END };
    int64_t rank = job_int(c, row, 0), sequence = job_int(c, row, SEQUENCE);
    last_key key = {rank == HD_NO_NUMBER ? member : rank, job_int(c, row, DEVICE), HD_NO_NUMBER, HD_NONE, 0};
    if (sequence == HD_NO_NUMBER) return true;
    key.is_point_to_point = job_int(c, row, POINT) == 1;
    if (!job_text(&key.group, &o->texts, c, row, GROUP)) return false;
    if (key.group == HD_NONE) key.stream = job_int(c, row, STREAM);
    const last_key of_all = {0, 0, key.stream, key.group, key.is_point_to_point};
    uint32_t known = o->last_keys.count, groups = o->groups.count;
    uint32_t at = gpu_group(&o->last_keys, &key), group = gpu_group(&o->groups, &of_all);
    if (at == HD_NONE || group == HD_NONE || !hd_grow((void **)&o->lasts, &o->last_capacity, at, sizeof *o->lasts) ||
        !hd_grow((void **)&o->highest, &o->group_capacity, group, sizeof *o->highest))
        return false;
    if (group == groups || sequence > o->highest[group]) o->highest[group] = sequence;
    if (at < known && sequence < o->lasts[at].sequence) return true;
    o->lasts[at] = (last){.key = key,
                          .sequence = sequence,
                          .end = job_int(c, row, END),
                          .group = group,
                          .is_counted = job_int(c, row, COUNTED) == 1};
    return job_text(&o->lasts[at].operation, &o->texts, c, row, OPERATION) &&
           job_text(&o->lasts[at].step, &o->texts, c, row, STEP);
}

static bool is_level(const overview *o, uint32_t level, const char *name)
{
    hd_string text = level != HD_NONE ? gpu_text_of(&o->texts, level) : (hd_string){NULL, 0};
    return hd_string_is(text, name);
}

static bool see_ledger(overview *o, const job_cells *c, size_t row, uint32_t member)
{
    enum { STAGE, CODE, LEVEL, COUNT };
    uint32_t texts[COUNT], known = o->ledger_keys.count;
    for (int i = 0; i < COUNT; i++)
        if (!job_text(&texts[i], &o->texts, c, row, i)) return false;
    uint32_t at = gpu_group(&o->ledger_keys, texts);
    if (at == HD_NONE || !hd_grow((void **)&o->ledger, &o->ledger_capacity, at, sizeof *o->ledger)) return false;
    ledger_sum *sum = &o->ledger[at];
    int64_t count = job_int(c, row, COUNT), rank = hd_job_at(o->of, member)->rank;
    if (at == known)
        *sum = (ledger_sum){texts[STAGE], texts[CODE], texts[LEVEL], .newest = HD_NONE, .first_rank = rank};
    sum->parts += sum->newest != member;
    sum->newest = member;
    sum->count += count > 0 ? (uint64_t)count : 0;
    if (is_level(o, sum->level, "loss") && count > 0) o->lost_events += (uint64_t)count;
    if (o->damaged_member != member && !is_level(o, sum->level, "note")) {
        o->damaged_member = member;
        o->damaged++;
    }
    return true;
}

typedef bool see_row(overview *o, const job_cells *cells, size_t row, uint32_t member);
static const struct seen {
    const char *table;
    job_wanted wanted[10];
    see_row *see;
} seen[] = {
    {"rank", {{"rank", HD_VALUE_INT}, {"events", HD_VALUE_COUNT}}, see_rank},
    {"devices", {{"rank", HD_VALUE_INT}}, see_device},
    {"steps", {{"rank", HD_VALUE_INT}, {"step", HD_VALUE_STRING}, {"start", HD_VALUE_TIME}}, see_step},
    {"groups", {{"rank", HD_VALUE_INT}, {"group", HD_VALUE_STRING}}, see_group},
    {"collectives",
     {{"rank", HD_VALUE_INT},
      {"device", HD_VALUE_INT},
      {"group", HD_VALUE_STRING},
      {"stream", HD_VALUE_INT},
      {"point_to_point", HD_VALUE_BOOL},
      {"sequence", HD_VALUE_INT},
      {"counted", HD_VALUE_BOOL},
      {"operation", HD_VALUE_STRING},
      {"step", HD_VALUE_STRING},
      {"end", HD_VALUE_TIME}},
     see_collective},
    {"ledger",
     {{"stage", HD_VALUE_STRING}, {"code", HD_VALUE_STRING}, {"level", HD_VALUE_STRING}, {"count", HD_VALUE_COUNT}},
     see_ledger},
};

static hd_status see_member(overview *o, uint32_t member, hd_error *err)
{
    hd_string host = hd_job_at(o->of, member)->host;
    bool fine = true;
    size_t parts = o->part_count;
    if (host.data) {
        const uint32_t text = gpu_text(&o->texts, host.data, host.size);
        fine = text != HD_NONE && gpu_group(&o->hosts, &text) != HD_NONE;
    }
    for (size_t i = 0; i < sizeof seen / sizeof *seen && fine; i++) {
        job_cells cells;
        size_t count = 0;
        while (count < 10 && seen[i].wanted[count].name) count++;
        HD_TRY(job_cells_of(&cells, o->of, member, seen[i].table, seen[i].wanted, count, o->lost, err));
        for (size_t row = 0; row < cells.rows && fine; row++) fine = seen[i].see(o, &cells, row, member);
        job_cells_deinit(&cells);
    }
    if (fine && o->part_count == parts) fine = find_part(o, member, hd_job_at(o->of, member)->rank) != NULL;
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- tables ---- */

typedef struct tally {
    int64_t number, first_rank;
    uint32_t first_step, last_step;
    uint64_t count;
} tally;

/* The most frequent of `tallies`, of several the first; NULL of none. */
static const tally *most_frequent(const tally *tallies, size_t count)
{
    const tally *most = NULL;
    for (size_t i = 0; i < count; i++)
        if (!most || tallies[i].count > most->count) most = &tallies[i];
    return most;
}

static bool count_one(gpu_groups *keys, tally **list, size_t *capacity, const tally *one)
{
    uint32_t known = keys->count;
    const tally key = {.number = one->number, .first_step = one->first_step, .last_step = one->last_step};
    keys->key_size = sizeof key;
    uint32_t at = gpu_group(keys, &key);
    if (at == HD_NONE || !hd_grow((void **)list, capacity, at, sizeof **list)) return false;
    if (at == known) (*list)[at] = *one;
    (*list)[at].count++;
    return true;
}

/* A row per world size; *out: the most frequent one. */
static bool add_worlds(overview *o, int64_t *out)
{
    gpu_groups keys = {0};
    tally *list = NULL;
    size_t capacity = 0, told = 0;
    bool fine = true;
    for (size_t i = 0; i < hd_job_count(o->of) && fine; i++) {
        const hd_job_member *m = hd_job_at(o->of, i);
        fine = count_one(&keys, &list, &capacity, &(tally){.number = m->world_size, .first_rank = m->rank});
    }
    for (size_t i = 0; i < keys.count && fine; i++) {
        report_cell_int(o->worlds, list[i].number);
        hd_table_add_count(o->worlds, list[i].count);
        report_cell_int(o->worlds, list[i].first_rank);
        if (list[i].number != HD_NO_NUMBER) list[told++] = list[i];
    }
    const tally *most = most_frequent(list, told);
    *out = most ? most->number : HD_NO_NUMBER;
    gpu_groups_deinit(&keys);
    free(list);
    return fine;
}

static void add_file(hd_table_builder *b, const overview *o, const part *p)
{
    const hd_job_member *m = hd_job_at(o->of, p->member);
    report_cell_int(b, p->rank);
    hd_table_add_string(b, m->file.data ? m->file.data : "", m->file.size);
}

/* A row per rank whose steps differ from those of most ranks, which *out is set to. */
static bool add_other_steps(overview *o, tally *out)
{
    gpu_groups keys = {0};
    tally *list = NULL;
    size_t capacity = 0;
    bool fine = true;
    for (size_t i = 0; i < o->part_count && fine; i++) {
        const part *p = &o->parts[i];
        fine = count_one(&keys, &list, &capacity,
                         &(tally){.number = (int64_t)p->steps, .first_step = p->first_step, .last_step = p->last_step});
    }
    const tally *most = most_frequent(list, keys.count);
    if (most) *out = *most;
    for (size_t i = 0; i < o->part_count && fine; i++) {
        const part *p = &o->parts[i];
        if (p->steps == (uint64_t)out->number && p->first_step == out->first_step && p->last_step == out->last_step)
            continue;
        add_file(o->other_steps, o, p);
        hd_table_add_count(o->other_steps, p->steps);
        gpu_cell_text(o->other_steps, &o->texts, p->first_step);
        gpu_cell_text(o->other_steps, &o->texts, p->last_step);
    }
    gpu_groups_deinit(&keys);
    free(list);
    return fine;
}

typedef struct ranks_found {
    uint64_t known, unknown, missing, doubles, beyond;
} ranks_found;

/* Ranks from *next on and below `end`. */
static void add_missing(overview *o, ranks_found *found, int64_t next, int64_t end)
{
    if (next >= end) return;
    hd_table_add_int(o->missing, next);
    hd_table_add_int(o->missing, end - 1);
    hd_table_add_count(o->missing, (uint64_t)(end - next));
    found->missing += (uint64_t)(end - next);
}

static void add_double(overview *o, const part *p)
{
    const hd_job_member *m = hd_job_at(o->of, p->member);
    add_file(o->doubles, o, p);
    if (m->host.data)
        hd_table_add_string(o->doubles, m->host.data, m->host.size);
    else
        hd_table_add_null(o->doubles);
    report_cell_int(o->doubles, m->world_size);
    report_cell_int(o->doubles, p->steps ? p->first_start : HD_NO_TIME);
    hd_table_add_count(o->doubles, p->steps);
}

/* world: HD_NO_NUMBER: ranks between existing ones are missing. */
static ranks_found look_at_ranks(overview *o, int64_t world)
{
    ranks_found found = {0};
    int64_t next = 0;
    size_t end;
    for (size_t i = 0; i < o->part_count; i = end) {
        const part *p = &o->parts[i];
        for (end = i + 1; end < o->part_count && o->parts[end].rank == p->rank;) end++;
        if (p->rank == HD_NO_NUMBER) {
            found.unknown = end - i;
            continue;
        }
        found.known++;
        found.doubles += end - i > 1;
        for (size_t k = i; end - i > 1 && k < end; k++) add_double(o, &o->parts[k]);
        if (p->rank < 0 || (world != HD_NO_NUMBER && p->rank >= world)) {
            found.beyond++;
            continue;
        }
        add_missing(o, &found, next, p->rank);
        next = p->rank == INT64_MAX ? INT64_MAX : p->rank + 1;
    }
    if (world != HD_NO_NUMBER) add_missing(o, &found, next, world);
    return found;
}

/* Adds groups in which a rank is listed, but has no collective though others do, as rows of `lasts` without a
 * number. */
static bool find_absent(overview *o, size_t *count)
{
    gpu_groups present = {.key_size = sizeof(seat)};
    const uint32_t groups = o->groups.count;
    bool fine = true;
    for (size_t i = 0; i < o->last_keys.count && fine; i++) {
        const last_key *key = gpu_group_key(&o->last_keys, (uint32_t)i);
        const seat of = {key->rank, key->group};
        fine = key->is_point_to_point || gpu_group(&present, &of) != HD_NONE;
    }
    for (uint32_t i = 0; i < o->seats.count && fine; i++) {
        const seat *of = gpu_group_key(&o->seats, i);
        const last_key key = {of->rank, HD_NO_NUMBER, HD_NO_NUMBER, (uint32_t)of->group, 0};
        const last_key of_all = {0, 0, HD_NO_NUMBER, key.group, 0};
        const uint32_t known = present.count, group = gpu_group(&o->groups, &of_all);
        fine = group != HD_NONE && gpu_group(&present, of) != HD_NONE;
        if (!fine || present.count == known || group >= groups) continue;
        fine = hd_grow((void **)&o->lasts, &o->last_capacity, *count, sizeof *o->lasts);
        if (fine) o->lasts[(*count)++] = (last){key, HD_NO_NUMBER, HD_NO_TIME, HD_NONE, HD_NONE, group, false};
    }
    gpu_groups_deinit(&present);
    return fine;
}

/* Ranks that lack collectives of a group, by rank; how many. */
static bool add_behind(overview *o, uint64_t *out_ranks)
{
    gpu_groups ranks = {.key_size = sizeof(int64_t)};
    size_t count = 0, known = o->last_keys.count;
    bool fine = find_absent(o, &known);
    for (size_t i = 0; i < known && fine; i++)
        if (o->lasts[i].sequence < o->highest[o->lasts[i].group]) o->lasts[count++] = o->lasts[i];
    last *spare = malloc((count + 1) * sizeof *spare);
    if (!spare) return false;
    if (count) HD_SORT_RUNS(o->lasts, spare, count, x, y, x->key.rank < y->key.rank);
    free(spare);
    for (size_t i = 0; i < count && fine; i++) {
        const last *l = &o->lasts[i];
        hd_table_add_int(o->behind, l->key.rank);
        report_cell_int(o->behind, l->key.device);
        gpu_cell_text(o->behind, &o->texts, l->key.group);
        report_cell_int(o->behind, l->key.stream);
        hd_table_add_bool(o->behind, l->key.is_point_to_point);
        bool has_any = l->sequence != HD_NO_NUMBER;
        report_cell_int(o->behind, l->sequence);
        if (has_any)
            hd_table_add_bool(o->behind, l->is_counted);
        else
            hd_table_add_null(o->behind);
        gpu_cell_text(o->behind, &o->texts, l->operation);
        gpu_cell_text(o->behind, &o->texts, l->step);
        report_cell_int(o->behind, l->end);
        int64_t furthest = o->highest[l->group];
        bool is_step = furthest / HD_COLLECTIVES_OF_STEP == l->sequence / HD_COLLECTIVES_OF_STEP;
        gpu_cell_count(o->behind, (uint64_t)furthest - (uint64_t)l->sequence, has_any && is_step);
        fine = gpu_group(&ranks, &l->key.rank) != HD_NONE;
    }
    *out_ranks = ranks.count;
    gpu_groups_deinit(&ranks);
    return fine;
}

static void add_ledger(overview *o)
{
    for (size_t i = 0; i < o->ledger_keys.count; i++) {
        const ledger_sum *sum = &o->ledger[i];
        gpu_cell_text(o->ledgers, &o->texts, sum->stage);
        gpu_cell_text(o->ledgers, &o->texts, sum->code);
        gpu_cell_text(o->ledgers, &o->texts, sum->level);
        hd_table_add_count(o->ledgers, sum->count);
        hd_table_add_count(o->ledgers, sum->parts);
        report_cell_int(o->ledgers, sum->first_rank);
    }
}

static hd_status add_tables(overview *o, hd_error *err)
{
    int64_t world = HD_NO_NUMBER;
    uint64_t behind = 0;
    tally steps = {.first_step = HD_NONE, .last_step = HD_NONE};
    part *spare = malloc((o->part_count + 1) * sizeof *spare);
    if (!spare) return HD_NOMEM(err);
    if (o->part_count) HD_SORT_RUNS(o->parts, spare, o->part_count, x, y, x->rank < y->rank);
    free(spare);
    if (!add_worlds(o, &world) || !add_other_steps(o, &steps) || !add_behind(o, &behind)) return HD_NOMEM(err);
    const ranks_found found = look_at_ranks(o, world);
    add_ledger(o);
    hd_table_add_count(o->job, hd_job_count(o->of));
    hd_table_add_count(o->job, found.known);
    hd_table_add_count(o->job, found.unknown);
    report_cell_int(o->job, world);
    hd_table_add_count(o->job, found.missing);
    hd_table_add_count(o->job, found.doubles);
    hd_table_add_count(o->job, found.beyond);
    hd_table_add_count(o->job, o->hosts.count);
    hd_table_add_count(o->job, (uint64_t)steps.number);
    gpu_cell_text(o->job, &o->texts, steps.first_step);
    gpu_cell_text(o->job, &o->texts, steps.last_step);
    hd_table_add_count(o->job, behind);
    hd_table_add_count(o->job, o->events);
    hd_table_add_count(o->job, o->damaged);
    hd_table_add_count(o->job, o->lost_events);
    return HD_OK;
}

/* ---- the report ---- */

static const hd_report_column job_columns[] = {
    {"summaries", HD_VALUE_COUNT, "of the job"},
    {"ranks", HD_VALUE_COUNT, "known ranks, each once"},
    {"unknown", HD_VALUE_COUNT, "summaries of an unknown rank"},
    {"world_size", HD_VALUE_INT, "number of ranks of the job, as most traces state"},
    {"missing", HD_VALUE_COUNT, "missing ranks below world_size; below the highest rank, if that is unknown"},
    {"doubles", HD_VALUE_COUNT, "ranks with several summaries"},
    {"beyond", HD_VALUE_COUNT, "ranks that are not below world_size: of another job?"},
    {"hosts", HD_VALUE_COUNT, "in the traces"},
    {"steps", HD_VALUE_COUNT, "of most ranks"},
    {"first_step", HD_VALUE_STRING, "of most ranks"},
    {"last_step", HD_VALUE_STRING, "of most ranks"},
    {"behind", HD_VALUE_COUNT, "ranks without the last collective of one of their groups"},
    {"events", HD_VALUE_COUNT, "of all traces"},
    {"damaged", HD_VALUE_COUNT, "summaries of traces of which something was lost or repaired"},
    {"lost", HD_VALUE_COUNT, "sum of the ledgers' losses"},
    {0}};
static const hd_report_column missing_columns[] = {{"first_rank", HD_VALUE_INT, "of a run of missing ranks"},
                                                   {"last_rank", HD_VALUE_INT, "of them"},
                                                   {"ranks", HD_VALUE_COUNT, "how many they are"},
                                                   {0}};
#define FILE_COLUMNS                                                                                                   \
    {"rank", HD_VALUE_INT, "null: unknown"},                                                                           \
    {                                                                                                                  \
        "file", HD_VALUE_STRING, "name of the trace"                                                                   \
    }
static const hd_report_column double_columns[] = {
    FILE_COLUMNS,
    {"host", HD_VALUE_STRING, "host on which it ran"},
    {"world_size", HD_VALUE_INT, "number of ranks of the job, as the trace states"},
    {"first_step_start", HD_VALUE_TIME, "on its clock"},
    {"steps", HD_VALUE_COUNT, "number of its steps"},
    {0}};
static const hd_report_column world_columns[] = {{"world_size", HD_VALUE_INT, "null: unknown"},
                                                 {"summaries", HD_VALUE_COUNT, "summaries that state it"},
                                                 {"first_rank", HD_VALUE_INT, "of them"},
                                                 {0}};
static const hd_report_column other_columns[] = {FILE_COLUMNS,
                                                 {"steps", HD_VALUE_COUNT, "number of its steps"},
                                                 {"first_step", HD_VALUE_STRING, "of its own"},
                                                 {"last_step", HD_VALUE_STRING, "of its own"},
                                                 {0}};
static const hd_report_column behind_columns[] = {
    {"rank", HD_VALUE_INT, "of the job; where it is not known, the place of the file"},
    {"device", HD_VALUE_INT, "of the GPU"},
    {"group", HD_VALUE_STRING,
     "the process group, as the trace names it; tp from 2: of several groups tp the one whose lowest rank is 2"},
    {"stream", HD_VALUE_INT, "identifies the group if the group has no name"},
    {"point_to_point", HD_VALUE_BOOL, "sends and receives are counted separately"},
    {"sequence", HD_VALUE_INT, "of its last collective; null: a member of the group without any"},
    {"counted", HD_VALUE_BOOL,
     "counted, not from the trace: 10^9 * (number of the step + 1) + position in the step, from 0"},
    {"operation", HD_VALUE_STRING, "of its last"},
    {"step", HD_VALUE_STRING, "step that launched its last collective"},
    {"end", HD_VALUE_TIME, "end of its last collective, on the clock of the rank"},
    {"behind", HD_VALUE_COUNT,
     "how many collectives it is behind the furthest rank of the group; null: it has none, or the furthest is in a "
     "later step"},
    {0}};
static const hd_report_column ledger_columns[] = {{"stage", HD_VALUE_STRING, "the reader or pass that found it"},
                                                  {"code", HD_VALUE_STRING, "its type, as in docs/formats"},
                                                  {"level", HD_VALUE_STRING, "loss, repair or note"},
                                                  {"count", HD_VALUE_COUNT, "how often, in all of them"},
                                                  {"summaries", HD_VALUE_COUNT, "summaries that have it"},
                                                  {"first_rank", HD_VALUE_INT, "of them"},
                                                  {0}};
static const hd_report_column lost_columns[] = {JOB_COLUMNS_LOST};

static const hd_report_table_about tables[] = {
    {.name = "job", .meaning = "one row: the job as a whole", .columns = job_columns},
    {.name = "findings", .meaning = "what to do first, by what it saves at most", .columns = job_findings_columns},
    {.name = "missing", .meaning = "a row per run of missing ranks", .columns = missing_columns},
    {.name = "doubles", .meaning = "a row per summary of a rank that has several", .columns = double_columns},
    {.name = "world_sizes",
     .meaning = "a row per world size in the summaries: more than one means several jobs",
     .columns = world_columns},
    {.name = "other_steps",
     .meaning = "a row per rank whose steps are not as many, or not the same, as those of most",
     .columns = other_columns},
    {.name = "behind",
     .meaning = "a row per rank that stopped before the last collective of its group: where a job hangs",
     .columns = behind_columns},
    {.name = "ledger", .meaning = "what was repaired and lost, by code", .columns = ledger_columns},
    {.name = "lost", .meaning = "what of the summaries cannot be read", .columns = lost_columns},
    {0}};

/* Unreadable parts of summaries are reported once. */
static hd_status find_first(overview *o, hd_error *err)
{
    hd_table_builder *lost;
    HD_TRY(report_builder(&lost, &report_job_about, "lost", err));
    hd_status status = job_add_findings(o->findings, o->of, lost, err);
    hd_table_builder_free(lost);
    return status;
}

static hd_status overview_of(hd_report *out, const hd_job *of, hd_error *err)
{
    overview o = {.of = of,
                  .damaged_member = HD_NONE,
                  .last_keys.key_size = sizeof(last_key),
                  .groups.key_size = sizeof(last_key),
                  .seats.key_size = sizeof(seat),
                  .ledger_keys.key_size = 3 * sizeof(uint32_t),
                  .hosts.key_size = sizeof(uint32_t)};
    hd_table_builder **builders[] = {&o.job,         &o.findings, &o.missing, &o.doubles, &o.worlds,
                                     &o.other_steps, &o.behind,   &o.ledgers, &o.lost};
    enum { TABLES = sizeof builders / sizeof *builders };
    hd_status status = HD_OK;
    *out = (hd_report){0};
    for (size_t i = 0; i < TABLES && status == HD_OK; i++)
        status = report_builder(builders[i], &report_job_about, tables[i].name, err);
    for (size_t m = 0; status == HD_OK && m < hd_job_count(of); m++) status = see_member(&o, (uint32_t)m, err);
    if (status == HD_OK) status = add_tables(&o, err);
    if (status == HD_OK) status = find_first(&o, err);
    for (size_t i = 0; i < TABLES && status == HD_OK; i++) {
        hd_table_builder *table = *builders[i];
        *builders[i] = NULL;
        status = report_add(out, table, err);
    }
    if (status != HD_OK) hd_report_free(out);
    for (size_t i = 0; i < TABLES; i++) hd_table_builder_free(*builders[i]);
    gpu_groups *groups[] = {&o.last_keys, &o.groups, &o.seats, &o.ledger_keys, &o.hosts};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) gpu_groups_deinit(groups[i]);
    gpu_texts_deinit(&o.texts);
    free(o.parts);
    free(o.lasts);
    free(o.highest);
    free(o.ledger);
    return status;
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    (void)options;
    return overview_of(out, input->job, err);
}

const hd_report_about report_job_about = {
    .name = "job",
    .title = "the ranks of a job: which are missing, how they differ, where a hanging one stopped",
    .text = "Compares the ranks of a job: all FILEs, traces or summaries (.hds), are one job. No times are "
            "compared, so no common clock is needed. A rank that is behind the others of its group has not reached, or "
            "not finished, the collective in which they wait. If the trace does not number collectives, they are "
            "counted in each step.",
    .of_job = true,
    .says_trust = true,
    .tables = tables,
    .run = run,
};
