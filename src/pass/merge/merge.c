/* merge.c - merges the traces of several ranks, or of several processes
 *
 * Tracks    each with its rank, under pids that only one rank has (ids.c); processes are named by their rank
 * Ids       flow and async ids that ranks share are made distinct by shifts; ids of id2.local are unchanged, since they
 *           are local to a pid, and so are arguments, except bind_id
 * Times     on the clock with the earliest base time, if all inputs have one; then shifted as requested, which the
 *           metadata record
 * Stacks    one tree of frames for all (stacks.c)
 * Metadata  keys with one value in all inputs stay; others are stored by rank under "ranks" (metadata.c)
 * Processes of one run: the differences are in processes.c
 */
#include "pass/merge/merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/write.h"
#include "model/clock/clock.h"
#include "model/identity/process.h"
#include "pass/merge/impl.h"
#include "trace/chunk.h"

/* ---- clocks ---- */

/* In addition to the base times, of which all are used or none. */
static hd_status add_shifts(merger *m, bool any_base, hd_error *err)
{
    uint64_t shifted = 0;
    for (size_t i = 0; i < m->count; i++) {
        int64_t *shift = &m->ranks[i].shift_ns;
        shifted += m->inputs[i].shift_ns != 0;
        if (__builtin_add_overflow(*shift, m->inputs[i].shift_ns, shift))
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "the shift of rank %" PRId64 " is too large", m->inputs[i].rank);
    }
    if (shifted && any_base && m->base_ns == HD_NO_TIME)
        return hd_error_set(
            err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
            "not all ranks contain the Unix time of their zero, so they cannot be shifted to one clock");
    if (shifted)
        hd_builder_ledger(m->builder, "merge", "merge.clocks-shifted", HD_LEDGER_NOTE, shifted, HD_OFFSET_NONE);
    return HD_OK;
}

static hd_status choose_base(merger *m, hd_error *err)
{
    bool any = false, differ = false;
    int64_t *bases = malloc((2 * m->count + 1) * sizeof *bases), *shifts = bases + m->count;
    if (!bases) return HD_NOMEM(err);
    for (size_t i = 0; i < m->count; i++) bases[i] = hd_trace_facts_of(m->inputs[i].trace)->base_ns;
    hd_status status = m->processes ? merge_process_bases(bases, m, err) : HD_OK;
    bool shared = hd_clock_shifts(shifts, &m->base_ns, bases, m->count);
    for (size_t i = 0; i < m->count; i++) {
        any = any || bases[i] != HD_NO_TIME;
        differ = differ || bases[i] != bases[0];
        m->ranks[i].shift_ns = shifts[i];
    }
    free(bases);
    if (differ && !shared)
        hd_builder_ledger(m->builder, "merge", "merge.clocks-differ", HD_LEDGER_NOTE, 1, HD_OFFSET_NONE);
    return status == HD_OK ? add_shifts(m, any, err) : status;
}

static void shift_times(merger *m, hd_copy_rows *rows)
{
    int64_t *start = hd_copy_change(rows, HD_COL_START);
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        int64_t shifted;
        if (start[i] == HD_NO_TIME) continue;
        if (__builtin_add_overflow(start[i], m->rank->shift_ns, &shifted))
            m->overflows++;
        else
            start[i] = shifted;
    }
}

/* ---- ids ---- */

/* "rank 3: " before a text of the input. */
static uint32_t prefixed(const merger *m, hd_string text)
{
    hd_json_out out = {0};
    hd_json_put_text(&out, m->prefix);
    hd_json_put(&out, text.data, text.size);
    uint32_t id = out.failed ? HD_STRING_NONE : hd_builder_intern(m->builder, out.data, out.size);
    free(out.data);
    return id;
}

/* The text of a textual id in the merged trace. */
static uint32_t new_id_text(merger *m, hd_copy *copy, uint32_t source)
{
    int64_t number;
    bool hex;
    char text[32];
    if (m->new_ids[source]) return m->new_ids[source];
    hd_string was = hd_trace_string(m->trace, source);
    uint32_t id;
    if (!m->rank->ids.as_text && merge_id_number(&number, &hex, was)) {
        number += m->rank->ids.shift;
        snprintf(text, sizeof text, hex ? "0x%" PRIx64 : "%" PRId64, number);
        id = m->rank->ids.shift ? hd_builder_intern_text(m->builder, text) : hd_copy_string(copy, source);
    } else {
        id = prefixed(m, was);
    }
    m->new_ids[source] = hd_copy_add_string(copy, id);
    return m->new_ids[source];
}

static void change_id(merger *m, hd_copy *copy, int64_t *id, int64_t *type)
{
    char text[32];
    if (*type & HD_ID_LOCAL) return;
    switch (*type & HD_ID_VALUE_MASK) {
    case HD_ID_INT:
        if (!m->rank->ids.as_text) {
            *id += m->rank->ids.shift;
            break;
        }
        snprintf(text, sizeof text, "%" PRId64, *id);
        *id = hd_copy_add_string(copy, prefixed(m, (hd_string){text, strlen(text)}));
        *type = (*type & ~(int64_t)HD_ID_VALUE_MASK) | HD_ID_STRING;
        break;
    case HD_ID_NUMBER: *type = (*type & ~(int64_t)HD_ID_VALUE_MASK) | HD_ID_STRING; /* fallthrough */
    case HD_ID_STRING: *id = new_id_text(m, copy, (uint32_t)*id); break;
    default: break;
    }
}

static void change_ids(merger *m, hd_copy *copy, hd_copy_rows *rows)
{
    const hd_column *types = &rows->block->columns[HD_COL_ID_TYPE];
    const merge_ids *ids = &m->rank->ids;
    bool numbers = types->width == 0 && (types->base & HD_ID_VALUE_MASK) == HD_ID_INT;
    if (!ids->apart || (numbers && !ids->as_text && ids->shift == 0)) return;
    int64_t *type = hd_copy_change(rows, HD_COL_ID_TYPE), *id = hd_copy_change(rows, HD_COL_ID);
    for (uint32_t i = 0; i < rows->block->row_count; i++) change_id(m, copy, &id[i], &type[i]);
}

/* ---- names of processes ---- */

/* "rank 3: python"; a process without a name gets its pid if that is text, else "rank 3". */
static uint32_t process_text(const merger *m, const hd_track *process)
{
    bool unnamed = process->name == HD_STRING_NONE && process->pid.type == HD_IDENT_STRING;
    hd_string name = hd_trace_string(m->trace, unnamed ? process->pid.text : process->name);
    size_t bare = strlen(m->prefix) - 2;
    bool has_it = name.size >= bare && memcmp(name.data, m->prefix, bare) == 0 &&
                  (name.size == bare || !strchr("0123456789", name.data[bare]));
    if (name.size == 0) return hd_builder_intern(m->builder, m->prefix, bare);
    return has_it ? hd_builder_intern(m->builder, name.data, name.size) : prefixed(m, name);
}

/* The new name of a process; HD_STRING_NONE: unchanged. */
static uint32_t new_process_text(const merger *m, size_t index, uint32_t track)
{
    const hd_track *process = hd_trace_track_at(m->trace, track);
    if (!m->processes) return process_text(m, process);
    hd_string now = hd_builder_string(m->builder, m->rank->pids[track].text);
    hd_string was = hd_trace_string(m->trace, process->pid.text);
    if (now.size == was.size && memcmp(now.data, was.data, was.size) == 0) return HD_STRING_NONE;
    return merge_process_text(m, index, process);
}

static hd_status name_tracks(merger *m, hd_copy *copy, size_t index, hd_error *err)
{
    int64_t rank = m->processes ? hd_trace_facts_of(m->trace)->rank : m->inputs[index].rank;
    for (uint32_t t = 0; t < hd_trace_track_count(m->trace); t++) {
        const hd_track *track = hd_trace_track_at(m->trace, t);
        uint32_t made = hd_copy_track(copy, t);
        if (rank != HD_NO_NUMBER) hd_builder_set_rank(m->builder, made, rank);
        if (track->kind != HD_TRACK_PROCESS) continue;
        uint32_t text = new_process_text(m, index, t);
        if (text == HD_STRING_NONE && m->processes) continue;
        hd_builder_name_track(m->builder, made, text);
        m->process_strings[t] = hd_copy_add_string(copy, text);
        if (text == HD_STRING_NONE || m->process_strings[t] == HD_NONE) return HD_NOMEM(err);
    }
    return HD_OK;
}

/* Ids of calls and their activities; 0 means none. */
static void shift_correlations(const merger *m, const hd_arg_key *key, int64_t *values, uint32_t count)
{
    for (uint32_t i = 0; i < count && key->type == HD_ARG_INT; i++) {
        if (values[i] > 0) values[i] += m->rank->correlation_shift;
    }
}

static bool is_correlation(const merger *m, const hd_arg_key *key)
{
    bool is_it = false;
    for (int i = 0; i < MERGE_ID_KEYS; i++) is_it |= key->key == m->correlation_keys[i];
    return is_it && m->rank->correlation_shift;
}

static hd_status change_values(void *user, hd_copy *copy, hd_copy_rows *rows, const hd_arg_key *key, int64_t *values,
                               const uint32_t *row_of, uint32_t count, hd_error *err)
{
    merger *m = user;
    if (rows->block->kind == HD_KIND_META && key->key == m->name_key && key->type == HD_ARG_STRING) {
        const int64_t *names = hd_copy_look(rows, HD_COL_NAME), *tracks = hd_copy_look(rows, HD_COL_TRACK);
        for (uint32_t i = 0; i < count; i++) {
            if (names[row_of[i]] != m->process_name || tracks[row_of[i]] == HD_NONE) continue;
            const hd_track *track = hd_trace_track_at(m->trace, (uint32_t)tracks[row_of[i]]);
            uint32_t process = hd_process_track(m->trace, track)->id;
            if (m->process_strings[process]) values[i] = m->process_strings[process];
            m->named[process] = 1;
        }
    }
    if (is_correlation(m, key)) shift_correlations(m, key, values, count);
    if (m->stacks.open && key->key == m->stacks.sf_key && key->scope == HD_SCOPE_EVENT)
        return merge_stacks_values(m, copy, key->type, values, count, err);
    if (key->key != m->bind_key || key->scope != HD_SCOPE_EVENT) return HD_OK;
    for (uint32_t i = 0; i < count; i++) {
        if (key->type == HD_ARG_STRING) values[i] = new_id_text(m, copy, (uint32_t)values[i]);
        if (key->type == HD_ARG_INT && !m->rank->ids.as_text) values[i] += m->rank->ids.shift;
    }
    return HD_OK;
}

static hd_status change_rows(void *user, hd_copy *copy, hd_copy_rows *rows, hd_error *err)
{
    merger *m = user;
    hd_kind kind = rows->block->kind;
    (void)err;
    if (m->rank->shift_ns) shift_times(m, rows);
    if (kind == HD_KIND_FLOW || kind == HD_KIND_ASYNC) change_ids(m, copy, rows);
    rows->changes_values = (kind == HD_KIND_META && m->process_name != HD_NONE) ||
                           (m->bind_key != HD_NONE && m->rank->ids.apart) || m->stacks.open ||
                           m->rank->correlation_shift;
    return HD_OK;
}

/* Processes that no event named: their events come after the others. */
static hd_status add_process_names(merger *m, hd_copy *copy, hd_error *err)
{
    hd_batch *batch;
    hd_chunk *chunk;
    if (!hd_names_are_events(m->trace)) return HD_OK;
    HD_TRY(hd_batch_new(&batch, m->builder, err));
    hd_status status = HD_OK;
    for (uint32_t t = 0; t < hd_trace_track_count(m->trace) && status == HD_OK; t++) {
        if (hd_trace_track_at(m->trace, t)->kind != HD_TRACK_PROCESS || m->named[t] || !m->process_strings[t]) continue;
        hd_meta_event event = {.track = hd_copy_track(copy, t),
                               .name = "process_name",
                               .key = "name",
                               .type = HD_ARG_STRING,
                               .value = hd_copy_string(copy, m->process_strings[t])};
        status = hd_copy_add_meta(m->builder, batch, &event, err);
    }
    uint64_t added = hd_batch_row_count(batch);
    if (status == HD_OK) status = hd_batch_take(&chunk, batch, err);
    hd_batch_free(batch);
    m->result->added += added;
    return status == HD_OK ? hd_builder_append(m->builder, chunk, err) : status;
}

/* ---- one input ---- */

static uint32_t find(const hd_trace *trace, const char *text)
{
    return hd_trace_find_string(trace, text, strlen(text));
}

static hd_status copy_with(merger *m, hd_copy *copy, size_t index, hd_error *err)
{
    hd_copy_hooks hooks = {.user = m, .rows = change_rows, .values = change_values};
    HD_TRY(hd_copy_tracks(copy, NULL, m->rank->pids, err));
    HD_TRY(name_tracks(m, copy, index, err));
    HD_TRY(hd_copy_events(copy, &hooks, err));
    HD_TRY(add_process_names(m, copy, err));
    return hd_copy_ledger(copy, err);
}

static hd_status copy_input(merger *m, size_t index, hd_error *err)
{
    hd_copy *copy;
    const hd_merge_input *input = &m->inputs[index];
    m->at = index;
    m->trace = input->trace;
    m->rank = &m->ranks[index];
    m->process_name = find(m->trace, "process_name");
    m->name_key = find(m->trace, "name");
    m->bind_key = find(m->trace, "bind_id");
    merge_correlation_keys(m->correlation_keys, m->trace);
    snprintf(m->prefix, sizeof m->prefix, "rank %" PRId64 ": ", input->rank);
    size_t tracks = hd_trace_track_count(m->trace);
    m->new_ids = calloc((size_t)hd_trace_string_count(m->trace) + 1, sizeof *m->new_ids);
    m->process_strings = calloc(tracks + 1, sizeof *m->process_strings);
    m->named = calloc(tracks + 1, 1);
    hd_status status = m->new_ids && m->process_strings && m->named ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = merge_stacks_open(m, err);
    if (status == HD_OK) status = hd_copy_new(&copy, m->trace, m->builder, err);
    if (status == HD_OK) {
        hd_builder_limit_as(m->builder, m->trace, m->count);
        status = copy_with(m, copy, index, err);
        hd_copy_free(copy);
    }
    merge_stacks_close(m);
    free(m->new_ids);
    free(m->process_strings);
    free(m->named);
    return status;
}

/* ---- the pass ---- */

static hd_status merge_all(merger *m, hd_error *err)
{
    const char *word = m->processes ? "process" : "rank";
    if (m->processes) HD_TRY(merge_process_hosts(m, err));
    HD_TRY(choose_base(m, err));
    HD_TRY(merge_choose_ids(m));
    HD_TRY(merge_choose_pids(m->ranks, m->inputs, m->count, word, m->builder, err));
    if (m->processes) HD_TRY(merge_choose_correlations(m, err));
    HD_TRY(merge_metadata(m, err));
    merge_facts(m);
    for (size_t i = 0; i < m->count; i++) {
        HD_TRY(copy_input(m, i, err));
        if (!m->inputs[i].take) continue;
        hd_trace_free(m->inputs[i].trace);
        m->inputs[i].trace = NULL;
    }
    if (m->overflows)
        hd_builder_ledger(m->builder, "merge", "merge.time-not-shifted", HD_LEDGER_LOSS, m->overflows, HD_OFFSET_NONE);
    return merge_stacks_finish(m, err);
}

static hd_status merge(hd_trace **out, merger *m, hd_error *err)
{
    *out = NULL;
    *m->result = (hd_pass_result){0};
    m->ranks = calloc(m->count + 1, sizeof *m->ranks);
    if (!m->ranks) return HD_NOMEM(err);
    hd_status status = hd_builder_new(&m->builder, err);
    if (status == HD_OK) status = merge_all(m, err);
    for (size_t i = 0; i < m->count; i++) free(m->ranks[i].pids);
    free(m->ranks);
    hd_stacks_free(m->stacks.tree);
    free(m->stacks.keys);
    if (status == HD_OK) return hd_builder_finish(out, m->builder, err);
    hd_builder_free(m->builder);
    return status;
}

hd_status hd_merge(hd_trace **out, hd_pass_result *result, hd_merge_input *inputs, size_t count, bool shared,
                   hd_error *err)
{
    merger m = {.inputs = inputs, .count = count, .result = result, .shared = shared};
    return merge(out, &m, err);
}

hd_status hd_merge_processes(hd_trace **out, hd_pass_result *result, hd_merge_input *inputs, size_t count,
                             hd_error *err)
{
    merger m = {.inputs = inputs, .count = count, .result = result, .processes = true};
    for (size_t i = 0; i < count; i++) inputs[i].rank = (int64_t)i;
    return merge(out, &m, err);
}
