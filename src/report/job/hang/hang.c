/* hang.c - report hang: which rank keeps the others waiting, from the flight recorders of a job's ranks */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/job/groups.h"
#include "report/job/hang/impl.h"
#include "report/report.h"
#include "trace/text.h"

/* ---- entries ---- */

enum {
    RANK,
    GROUP,
    DESCRIPTION,
    RANKS,
    RECORD,
    IS_P2P,
    SEQUENCE,
    OPERATION,
    STATE,
    IN_SIZES,
    OUT_SIZES,
    IN_TYPES,
    OUT_TYPES,
    CREATED,
    FRAME,
    ENQUEUED,
    COLUMNS
};
static const job_wanted wanted[COLUMNS] = {{"rank", HD_VALUE_INT},
                                           {"group", HD_VALUE_STRING},
                                           {"description", HD_VALUE_STRING},
                                           {"ranks", HD_VALUE_STRING},
                                           {"record", HD_VALUE_INT},
                                           {"point_to_point", HD_VALUE_BOOL},
                                           {"sequence", HD_VALUE_INT},
                                           {"operation", HD_VALUE_STRING},
                                           {"state", HD_VALUE_STRING},
                                           {"input_sizes", HD_VALUE_STRING},
                                           {"output_sizes", HD_VALUE_STRING},
                                           {"input_types", HD_VALUE_STRING},
                                           {"output_types", HD_VALUE_STRING},
                                           {"created", HD_VALUE_TIME},
                                           {"frame", HD_VALUE_STRING},
                                           {"enqueued", HD_VALUE_INT}};

static hd_status take_member(void *user, size_t place, const job_cells *cells, hd_error *err)
{
    hang *h = user;
    size_t oldest = SIZE_MAX;
    bool whole = false;
    (void)place;
    for (size_t row = 0; row < cells->rows; row++) {
        hang_entry e = {.is_p2p = job_int(cells, row, IS_P2P) == 1,
                        .rank = job_int(cells, row, RANK),
                        .sequence = job_int(cells, row, SEQUENCE),
                        .record = job_int(cells, row, RECORD),
                        .created = job_int(cells, row, CREATED),
                        .enqueued = job_int(cells, row, ENQUEUED)};
        hang_group g;
        uint32_t *const texts[] = {&g.name,     &g.description, &g.ranks,    &e.operation, &e.state,
                                   &e.in_sizes, &e.out_sizes,   &e.in_types, &e.out_types, &e.frame};
        static const int columns[] = {GROUP,    DESCRIPTION, RANKS,    OPERATION, STATE,
                                      IN_SIZES, OUT_SIZES,   IN_TYPES, OUT_TYPES, FRAME};
        bool fine = true;
        for (size_t i = 0; i < sizeof columns / sizeof *columns && fine; i++)
            fine = job_text(texts[i], &h->texts, cells, row, columns[i]);
        fine = fine && (e.group = gpu_group(&h->group_keys, &g)) != HD_NONE;
        if (!fine || !hd_grow((void **)&h->entries, &h->capacity, h->count, sizeof *h->entries)) return HD_NOMEM(err);
        if (e.operation == HD_NONE || e.sequence == HD_NO_NUMBER) continue;
        if (e.record > 0 && (oldest == SIZE_MAX || e.record < h->entries[oldest].record)) oldest = h->count;
        whole |= e.record == 0;
        h->entries[h->count++] = e;
    }
    if (oldest != SIZE_MAX && !whole) h->entries[oldest].is_behind_lost = true;
    return HD_OK;
}

bool hang_is_state(const hang *h, const hang_entry *e, const char *state)
{
    return e->state != HD_NONE && hd_string_is(gpu_text_of(&h->texts, e->state), state);
}

static int compare_entries(const void *a, const void *b)
{
    const hang_entry *x = a, *y = b;
    int order = job_compare_numbers(x->group, y->group);
    if (!order) order = x->is_p2p - y->is_p2p;
    if (!order) order = job_compare_numbers(x->sequence, y->sequence);
    if (!order) order = job_compare_numbers(x->place, y->place);
    if (!order) order = job_compare_numbers(x->rank, y->rank);
    return order ? order : job_compare_numbers(x->record, y->record);
}

/* Coalesced collectives share a number; those of each rank, entries [first, end), are distinguished by their order. Of
 * a rank whose ring begins among them, the first ones are lost. */
static void number_places(hang_entry *entries, size_t first, size_t end)
{
    uint32_t most = 0;
    for (size_t i = first + 1; i < end; i++) {
        entries[i].place = entries[i].rank == entries[i - 1].rank ? entries[i - 1].place + 1 : 0;
        if (entries[i].place > most) most = entries[i].place;
    }
    for (size_t i = first, next; i < end; i = next) {
        for (next = i + 1; next < end && entries[next].rank == entries[i].rank;) next++;
        const uint32_t lost = entries[i].is_behind_lost ? most - entries[next - 1].place : 0;
        for (size_t k = i; k < next; k++) entries[k].place += lost;
    }
}

static void sort_entries(hang *h)
{
    hd_sort(h->entries, h->count, sizeof *h->entries, compare_entries);
    for (size_t i = 0, next; i < h->count; i = next) {
        for (next = i + 1; next < h->count && hang_has_number_of(&h->entries[i], &h->entries[next]);) next++;
        number_places(h->entries, i, next);
    }
    hd_sort(h->entries, h->count, sizeof *h->entries, compare_entries);
}

/* ---- ranks ---- */

static int compare_ranks(const void *a, const void *b)
{
    return job_compare_numbers(((const hang_rank *)a)->rank, ((const hang_rank *)b)->rank);
}

/* NULL: no dump of the rank. */
static hang_rank *find_rank(const hang *h, int64_t rank)
{
    const hang_rank key = {.rank = rank};
    return h->rank_count ? bsearch(&key, h->ranks, h->rank_count, sizeof key, compare_ranks) : NULL;
}

/* Of all members, also of those without an entry. */
static bool make_ranks(hang *h, const hd_job *job)
{
    size_t count = hd_job_count(job);
    h->ranks = calloc(count + 1, sizeof *h->ranks);
    if (!h->ranks) return false;
    for (size_t i = 0; i < count; i++)
        h->ranks[i] = (hang_rank){.rank = hd_job_at(job, i)->rank, .first_record = HD_NO_NUMBER, .newest = SIZE_MAX};
    hd_sort(h->ranks, count, sizeof *h->ranks, compare_ranks);
    for (size_t i = 0; i < count; i++)
        if (!h->rank_count || h->ranks[h->rank_count - 1].rank != h->ranks[i].rank)
            h->ranks[h->rank_count++] = h->ranks[i];
    for (size_t i = 0; i < h->count; i++) {
        const hang_entry *e = &h->entries[i];
        hang_rank *r = find_rank(h, e->rank);
        if (!r) continue;
        if (e->record != HD_NO_NUMBER && (r->first_record == HD_NO_NUMBER || e->record < r->first_record))
            r->first_record = e->record;
        if (r->newest == SIZE_MAX || e->created >= h->entries[r->newest].created) r->newest = i;
    }
    return true;
}

/* ---- members ---- */

static int compare_members(const void *a, const void *b)
{
    const hang_member *x = a, *y = b;
    int order = job_compare_numbers(x->group, y->group);
    return order ? order : job_compare_numbers(x->rank, y->rank);
}

hang_member *hang_find_member(const hang *h, uint32_t group, int64_t rank)
{
    const hang_member key = {.group = group, .rank = rank};
    return h->member_count ? bsearch(&key, h->members, h->member_count, sizeof key, compare_members) : NULL;
}

static bool add_member(hang *h, uint32_t group, int64_t rank)
{
    if (!hd_grow((void **)&h->members, &h->member_capacity, h->member_count, sizeof *h->members)) return false;
    h->members[h->member_count++] = (hang_member){.group = group,
                                                  .rank = rank,
                                                  .has_dump = find_rank(h, rank) != NULL,
                                                  .first = HD_NO_NUMBER,
                                                  .last = HD_NO_NUMBER,
                                                  .started = HD_NO_NUMBER,
                                                  .completed = HD_NO_NUMBER,
                                                  .newest = SIZE_MAX};
    return true;
}

static void raise_to(int64_t *number, int64_t value)
{
    if (*number == HD_NO_NUMBER || value > *number) *number = value;
}

/* By the list of ranks of each group, and by its entries. */
static bool make_members(hang *h)
{
    size_t kept = 0;
    bool fine = true;
    for (uint32_t g = 0; g < h->group_keys.count && fine; g++) {
        int64_t rank;
        const uint32_t ranks = hang_group_at(h, g)->ranks;
        for (size_t at = 0; ranks != HD_NONE && fine && job_next_rank(&rank, gpu_text_of(&h->texts, ranks), &at);)
            fine = add_member(h, g, rank);
    }
    for (size_t i = 0; i < h->count && fine; i++)
        if (i == 0 || h->entries[i].group != h->entries[i - 1].group || h->entries[i].rank != h->entries[i - 1].rank)
            fine = add_member(h, h->entries[i].group, h->entries[i].rank);
    if (!fine) return false;
    hd_sort(h->members, h->member_count, sizeof *h->members, compare_members);
    for (size_t i = 0; i < h->member_count; i++)
        if (!kept || compare_members(&h->members[kept - 1], &h->members[i]) != 0) h->members[kept++] = h->members[i];
    h->member_count = kept;
    return true;
}

/* The ring has the last entries, so the highest number in it is the last one; but a dump of active ones alone leaves
 * complete ones out, which the status of the group knows. The status counts messages as well: it is of use only in a
 * group without. A rank without an entry of the group enqueued nothing, if nothing fell out of its ring. */
static void fill_members(hang *h)
{
    for (size_t i = 0; i < h->count; i++) {
        const hang_entry *e = &h->entries[i];
        hang_member *member = hang_find_member(h, e->group, e->rank);
        member->entries++;
        member->newest = i;
        if (e->is_p2p) continue;
        if (member->first == HD_NO_NUMBER) member->first = e->sequence;
        raise_to(&member->last, e->sequence);
        if (!hang_is_state(h, e, "scheduled")) raise_to(&member->started, e->sequence);
        if (hang_is_state(h, e, "completed")) raise_to(&member->completed, e->sequence);
    }
    for (size_t i = 0; i < h->member_count; i++) {
        hang_member *member = &h->members[i];
        const hang_rank *rank = find_rank(h, member->rank);
        const hang_entry *e = member->newest == SIZE_MAX ? NULL : &h->entries[member->newest];
        if (e && !e->is_p2p && e->enqueued != HD_NO_NUMBER) raise_to(&member->last, e->enqueued);
        if (!e && rank && (rank->newest == SIZE_MAX || rank->first_record == 0)) member->last = -1;
    }
}

/* ---- tables ---- */

static const char *const problems[] = {
    [HANG_MISSING] = "missing", [HANG_OPERATION] = "operation",   [HANG_SIZES] = "sizes",
    [HANG_TYPES] = "types",     [HANG_UNFINISHED] = "unfinished", [HANG_NO_DUMP] = "no dump"};

static void group_cells(hd_table_builder *b, const hang *h, uint32_t group)
{
    gpu_cell_text(b, &h->texts, hang_group_at(h, group)->name);
    gpu_cell_text(b, &h->texts, hang_group_at(h, group)->description);
}

/* What differs in an entry from that of most ranks, and what they have. */
static void what_cells(hd_table_builder *b, const hang *h, const hang_issue *issue)
{
    for (int own = 0; own < 2; own++) {
        const size_t at = own ? issue->own : issue->other, than = own ? issue->other : issue->own;
        const hang_entry *e = at == SIZE_MAX ? NULL : &h->entries[at], *f = than == SIZE_MAX ? e : &h->entries[than];
        uint32_t text = HD_NONE;
        if (e && issue->problem == HANG_OPERATION) text = e->operation;
        if (e && issue->problem == HANG_SIZES) text = e->in_sizes != f->in_sizes ? e->in_sizes : e->out_sizes;
        if (e && issue->problem == HANG_TYPES) text = e->in_types != f->in_types ? e->in_types : e->out_types;
        gpu_cell_text(b, &h->texts, text);
    }
}

/* e: NULL: none. */
static void entry_cells(hd_table_builder *b, const hang *h, const hang_entry *e)
{
    gpu_cell_text(b, &h->texts, e ? e->operation : HD_NONE);
    gpu_cell_text(b, &h->texts, e ? e->state : HD_NONE);
    gpu_cell_text(b, &h->texts, e ? e->frame : HD_NONE);
}

/* What a rank does: the entry, else the last one that it enqueued in any group. */
static void doing_cells(hd_table_builder *b, const hang *h, size_t at, int64_t rank)
{
    const hang_rank *r = find_rank(h, rank);
    if (at == SIZE_MAX && r) at = r->newest;
    entry_cells(b, h, at == SIZE_MAX ? NULL : &h->entries[at]);
}

static const hd_report_column culprit_columns[] = {
    {"rank", HD_VALUE_INT, "of the job"},
    {"problem", HD_VALUE_STRING,
     "missing (not enqueued), operation, sizes or types (other than most ranks'), unfinished, no dump (of the rank)"},
    {"group", HD_VALUE_STRING, "process group, as the dump names it"},
    {"description", HD_VALUE_STRING, "as the program gave it: default_pg, tp, dp …"},
    {"sequence", HD_VALUE_INT, "number of the collective, or of the message at the rank that waits"},
    {"operation", HD_VALUE_STRING, "the operation that most ranks enqueued"},
    {"expected", HD_VALUE_STRING, "operation, sizes or types of most ranks"},
    {"has", HD_VALUE_STRING, "operation, sizes or types of this rank"},
    {"time", HD_VALUE_TIME, "when the first rank enqueued it"},
    {"waiting", HD_VALUE_COUNT, "ranks that enqueued it and do not complete it"},
    {"last", HD_VALUE_STRING, "what the rank does: this collective, or the last one that it enqueued in any group"},
    {"state", HD_VALUE_STRING, "state of the collective `last`: scheduled, started or completed"},
    {"frame", HD_VALUE_STRING, "the line of the user's code that enqueued it"},
    {0}};
static const hd_report_column rank_columns[] = {
    {"group", HD_VALUE_STRING, "process group, as the dump names it"},
    {"description", HD_VALUE_STRING, "as the program gave it"},
    {"rank", HD_VALUE_INT, "of the group"},
    {"enqueued", HD_VALUE_INT, "number of the last collective that it enqueued; null: unknown, -1: none"},
    {"started", HD_VALUE_INT, "of the last that started"},
    {"completed", HD_VALUE_INT, "of the last that is complete"},
    {"first", HD_VALUE_INT, "number of the first in its ring: earlier ones are unknown"},
    {"fell_out", HD_VALUE_INT, "entries of any group that its ring has lost, by the number of the first"},
    {"entries", HD_VALUE_COUNT, "of the group in its dump"},
    {"operation", HD_VALUE_STRING, "the last one of the group"},
    {"state", HD_VALUE_STRING, "its state"},
    {"frame", HD_VALUE_STRING, "the line of the user's code that enqueued it"},
    {0}};
static const hd_report_column missing_columns[] = {{"rank", HD_VALUE_INT, "of the job"},
                                                   {"groups", HD_VALUE_COUNT, "process groups that list it"},
                                                   {"group", HD_VALUE_STRING, "the first of them"},
                                                   {0}};
static const hd_report_column lost_columns[] = {JOB_COLUMNS_LOST};

static const hd_report_table_about tables[] = {
    {.name = "culprits",
     .meaning = "a row per rank and problem: of each group the first collective that does not end, by time; then "
                "differences that stopped nothing",
     .columns = culprit_columns},
    {.name = "ranks", .meaning = "a row per group and rank with a dump: how far it came", .columns = rank_columns},
    {.name = "missing", .meaning = "a row per rank of a group that has no dump", .columns = missing_columns},
    {.name = "lost", .meaning = "what of the summaries cannot be read", .columns = lost_columns},
    {0},
};

static hd_status add_culprits(hd_report *out, const hang *h, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &report_hang_about, "culprits", err));
    for (size_t i = 0; i < h->issue_count; i++) {
        const hang_issue *issue = &h->issues[i];
        const hang_entry *other = &h->entries[issue->other];
        report_cell_int(b, issue->rank);
        hd_table_add_text(b, problems[issue->problem]);
        group_cells(b, h, other->group);
        hd_table_add_int(b, other->sequence);
        gpu_cell_text(b, &h->texts, other->operation);
        what_cells(b, h, issue);
        report_cell_int(b, issue->time == INT64_MAX ? HD_NO_TIME : issue->time);
        hd_table_add_count(b, issue->waiting);
        doing_cells(b, h, issue->own, issue->rank);
    }
    return report_add(out, b, err);
}

static hd_status add_ranks(hd_report *out, const hang *h, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &report_hang_about, "ranks", err));
    for (size_t i = 0; i < h->member_count; i++) {
        const hang_member *member = &h->members[i];
        const hang_rank *rank = find_rank(h, member->rank);
        if (!member->has_dump) continue;
        group_cells(b, h, member->group);
        report_cell_int(b, member->rank);
        report_cell_int(b, member->last);
        report_cell_int(b, member->started);
        report_cell_int(b, member->completed);
        report_cell_int(b, member->first);
        report_cell_int(b, rank->first_record);
        hd_table_add_count(b, member->entries);
        entry_cells(b, h, member->newest == SIZE_MAX ? NULL : &h->entries[member->newest]);
    }
    return report_add(out, b, err);
}

static int compare_members_of_rank(const void *a, const void *b)
{
    const hang_member *x = a, *y = b;
    int order = job_compare_numbers(x->rank, y->rank);
    return order ? order : job_compare_numbers(x->group, y->group);
}

/* Sorts the members anew: the last table. */
static hd_status add_missing(hd_report *out, hang *h, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &report_hang_about, "missing", err));
    hd_sort(h->members, h->member_count, sizeof *h->members, compare_members_of_rank);
    for (size_t i = 0, end; i < h->member_count; i = end) {
        for (end = i + 1; end < h->member_count && h->members[end].rank == h->members[i].rank;) end++;
        if (h->members[i].has_dump) continue;
        report_cell_int(b, h->members[i].rank);
        hd_table_add_count(b, end - i);
        gpu_cell_text(b, &h->texts, hang_group_at(h, h->members[i].group)->name);
    }
    return report_add(out, b, err);
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    hang h = {.group_keys.key_size = sizeof(hang_group)};
    hd_table_builder *lost = NULL;
    (void)options;
    hd_status status = report_builder(&lost, &report_hang_about, "lost", err);
    if (status == HD_OK)
        status = job_each_table(&input->job, 1, NULL, "recorded", wanted, COLUMNS, lost, take_member, &h, err);
    if (status == HD_OK) {
        sort_entries(&h);
        bool fine = make_ranks(&h, input->job) && make_members(&h);
        if (fine) fill_members(&h);
        if (!fine || !hang_judge(&h)) status = HD_NOMEM(err);
    }
    if (status == HD_OK) status = add_culprits(out, &h, err);
    if (status == HD_OK) status = add_ranks(out, &h, err);
    if (status == HD_OK) status = add_missing(out, &h, err);
    if (status == HD_OK) {
        status = report_add(out, lost, err);
        lost = NULL;
    }
    hd_table_builder_free(lost);
    gpu_groups_deinit(&h.group_keys);
    gpu_texts_deinit(&h.texts);
    free(h.entries);
    free(h.members);
    free(h.ranks);
    free(h.issues);
    return status;
}

const hd_report_about report_hang_about = {
    .name = "hang",
    .title = "which rank of a hanging job keeps the others waiting, from flight recorders",
    .text = "Reads the dumps that PyTorch's flight recorder writes when a collective times out "
            "(`TORCH_NCCL_DUMP_ON_TIMEOUT=1`): `heddle report hang nccl_trace_rank_*`, or their folder. The first row "
            "of `culprits` is "
            "the first problem in order of time: a rank that did not enqueue a collective, enqueued another one, other "
            "sizes or types, or does not complete it, and what that rank does instead. Collectives match by process "
            "group and number, coalesced ones of the same number also by their order. In a group, collectives after "
            "the first one that does not end are consequences, and "
            "are not listed. Entries that the recorder's ring may have overwritten are not reported as missing.",
    .of_job = true,
    .tables = tables,
    .run = run,
};
