/* ids.c - makes pids, and ids of flows and async slices, distinct from those of other ranks */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "model/identity/process.h"
#include "pass/merge/impl.h"

/* ---- ids ---- */

bool merge_id_number(int64_t *out, bool *out_hex, hd_string text)
{
    char digits[24], *end;
    bool hex = text.size > 2 && text.data[0] == '0' && (text.data[1] == 'x' || text.data[1] == 'X');
    if (text.size == 0 || text.size >= sizeof digits) return false;
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    if (strspn(digits + (hex ? 2 : 0), hex ? "0123456789abcdefABCDEF" : "0123456789") != text.size - (hex ? 2 : 0))
        return false;
    unsigned long long value = strtoull(digits, &end, hex ? 16 : 10);
    *out = (int64_t)value;
    *out_hex = hex;
    return value < INT64_MAX && (hex || text.size == 1 || digits[0] != '0');
}

static void widen(merge_ids *ids, int64_t number)
{
    ids->low = number < ids->low ? number : ids->low;
    ids->high = number > ids->high ? number : ids->high;
}

static void find_range(merge_ids *ids, const hd_trace *trace, const hd_block *block)
{
    const hd_column *c = block->columns;
    for (uint32_t i = 0; i < block->row_count; i++) {
        uint32_t type = (uint32_t)hd_column_at(&c[HD_COL_ID_TYPE], i);
        int64_t id = hd_column_at(&c[HD_COL_ID], i), number;
        bool hex;
        if (type & HD_ID_LOCAL) continue;
        if ((type & HD_ID_VALUE_MASK) == HD_ID_INT)
            widen(ids, id);
        else if ((type & HD_ID_VALUE_MASK) == HD_ID_STRING &&
                 merge_id_number(&number, &hex, hd_trace_string(trace, (uint32_t)id)))
            widen(ids, number);
    }
}

/* Whether the range is disjoint from the earlier ranges, which are already shifted. */
static bool is_apart(const merge_rank *ranks, size_t index)
{
    const merge_ids *ids = &ranks[index].ids;
    for (size_t i = 0; i < index; i++) {
        const merge_ids *other = &ranks[i].ids;
        if (other->low > other->high || other->as_text) continue;
        if (ids->low <= other->high + other->shift && other->low + other->shift <= ids->high) return false;
    }
    return true;
}

/* Shifts it after all earlier ranges; to text if the number would not be exact. */
static void shift_behind(merge_rank *ranks, size_t index)
{
    merge_ids *ids = &ranks[index].ids;
    int64_t top = 0, end;
    for (size_t i = 0; i < index; i++) {
        const merge_ids *other = &ranks[i].ids;
        if (other->low <= other->high && !other->as_text && other->high + other->shift > top)
            top = other->high + other->shift;
    }
    ids->as_text = top >= MERGE_EXACT_LIMIT || ids->low < 0 ||
                   __builtin_add_overflow(ids->high - ids->low, top + 1, &end) || end > MERGE_EXACT_LIMIT;
    if (!ids->as_text) ids->shift = top + 1 - ids->low;
}

/* By the rank alone. */
static void shift_by_rank(merge_ids *ids, int64_t rank)
{
    const int64_t factor = 10000000000;
    ids->as_text = ids->low < 0 || ids->high >= factor || rank >= MERGE_EXACT_LIMIT / factor;
    if (!ids->as_text) ids->shift = rank * factor;
}

hd_status merge_choose_ids(merger *m)
{
    static const hd_kind kinds[] = {HD_KIND_FLOW, HD_KIND_ASYNC};
    for (size_t i = 0; i < m->count; i++) {
        const hd_trace *trace = m->inputs[i].trace;
        merge_ids *ids = &m->ranks[i].ids;
        *ids = (merge_ids){.apart = m->count > 1 || m->shared, .low = INT64_MAX, .high = INT64_MIN};
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            for (size_t b = 0; b < hd_trace_block_count(trace, kinds[k]); b++)
                find_range(ids, trace, hd_trace_block_at(trace, kinds[k], b));
        }
        if (m->shared && ids->low <= ids->high)
            shift_by_rank(ids, m->inputs[i].rank);
        else if (ids->low <= ids->high && !is_apart(m->ranks, i))
            shift_behind(m->ranks, i);
    }
    return HD_OK;
}

/* ---- pids ---- */

#define NOBODY 0u
#define SEVERAL UINT32_MAX

/* The input that has a pid, by string id of the builder: its number from 1 on, SEVERAL or NOBODY. */
typedef struct owners {
    uint32_t *list;
    size_t count;
    uint32_t of_none; /* of tracks without pid */
    hd_builder *builder;
    const char *word;     /* "rank" */
    int64_t factor, next; /* rank * factor + pid, or, if that grows too large, factor 0 and numbers from next on */
} owners;

static uint32_t *owner_at(owners *o, uint32_t id)
{
    if (id >= o->count) {
        size_t count = ((size_t)id + 1) * 2;
        uint32_t *wider = realloc(o->list, count * sizeof *wider);
        if (!wider) return NULL;
        memset(wider + o->count, 0, (count - o->count) * sizeof *wider);
        o->list = wider;
        o->count = count;
    }
    return &o->list[id];
}

static void own(uint32_t *owner, uint32_t claim)
{
    *owner = *owner == NOBODY || *owner == claim ? claim : SEVERAL;
}

/* The owner of the pid of a track: the input, or for CPU processes their host, since two captures of one pid on a host
 * are of one process: before and after execve, or by two tracers. */
static uint32_t claim_of(const merge_rank *ranks, size_t count, size_t input, const hd_trace *trace,
                         const hd_track *track)
{
    const hd_track *process = hd_process_track(trace, track);
    bool is_gpu = track->kind == HD_TRACK_STREAM || track->device != HD_NO_NUMBER || process->device != HD_NO_NUMBER;
    uint32_t host = ranks[input].host;
    return is_gpu || host == 0 ? (uint32_t)input + 1 : (uint32_t)count + host;
}

static bool is_number(int64_t *out, hd_string text)
{
    bool hex;
    return merge_id_number(out, &hex, text) && !hex;
}

static bool find_owners(owners *o, const merge_rank *ranks, const hd_merge_input *inputs, size_t count,
                        int64_t *out_most)
{
    for (size_t i = 0; i < count; i++) {
        const hd_trace *trace = inputs[i].trace;
        for (uint32_t t = 0; t < hd_trace_track_count(trace); t++) {
            const hd_track *track = hd_trace_track_at(trace, t);
            hd_ident pid = track->pid;
            hd_string text = hd_trace_string(trace, pid.text);
            int64_t number;
            uint32_t *owner = pid.type == HD_IDENT_NONE
                                  ? &o->of_none
                                  : owner_at(o, hd_builder_intern(o->builder, text.data, text.size));
            if (!owner) return false;
            own(owner, claim_of(ranks, count, i, trace, track));
            if (pid.type != HD_IDENT_NONE && is_number(&number, text) && number > *out_most) *out_most = number;
        }
    }
    return true;
}

static void choose_factor(owners *o, const hd_merge_input *inputs, size_t count, int64_t most)
{
    int64_t top = 0, end;
    o->factor = 1000;
    while (o->factor <= most && o->factor < INT64_MAX / 10) o->factor *= 10;
    o->next = most < MERGE_EXACT_LIMIT ? o->factor : 0;
    for (size_t i = 0; i < count; i++) top = inputs[i].rank > top ? inputs[i].rank : top;
    if (__builtin_mul_overflow(top, o->factor, &end) || end > INT32_MAX - o->factor) o->factor = 0;
}

/* Reserves a text that no input has as a pid. */
static uint32_t free_text(owners *o, const char *before, hd_string pid, int64_t rank)
{
    for (unsigned n = 1;; n++) {
        char behind[64], again[16] = "";
        if (n > 1) snprintf(again, sizeof again, " #%u", n);
        snprintf(behind, sizeof behind, "%s%s %" PRId64 "%s%s", before, o->word, rank, pid.size ? ")" : "", again);
        size_t size = pid.size + strlen(behind);
        char *text = malloc(size + 1);
        if (!text) return HD_STRING_NONE;
        if (pid.size) memcpy(text, pid.data, pid.size);
        memcpy(text + pid.size, behind, strlen(behind) + 1);
        uint32_t id = hd_builder_intern(o->builder, text, size);
        uint32_t *owner = owner_at(o, id);
        free(text);
        if (!owner || id == HD_STRING_NONE) return HD_STRING_NONE;
        if (*owner == NOBODY) {
            *owner = SEVERAL;
            return id;
        }
    }
}

/* The text of a pid that several ranks have. */
static uint32_t new_text(owners *o, hd_string pid, int64_t rank)
{
    int64_t number;
    char text[24];
    if (!is_number(&number, pid) || (o->factor == 0 && o->next == 0))
        return free_text(o, pid.size ? " (" : "", pid, rank);
    snprintf(text, sizeof text, "%" PRId64, o->factor ? rank * o->factor + number : o->next++);
    return hd_builder_intern_text(o->builder, text);
}

/* Maps one input's pids. `made`: by string id of the input, the new text. */
static bool map_pids(owners *o, merge_rank *rank, const hd_merge_input *input, uint32_t *made)
{
    const hd_trace *trace = input->trace;
    uint32_t made_of_none = HD_STRING_NONE;
    for (uint32_t t = 0; t < hd_trace_track_count(trace); t++) {
        hd_ident pid = hd_trace_track_at(trace, t)->pid;
        hd_string text = hd_trace_string(trace, pid.text);
        bool none = pid.type == HD_IDENT_NONE;
        uint32_t id = none ? HD_STRING_NONE : hd_builder_intern(o->builder, text.data, text.size);
        uint32_t *owner = none ? &o->of_none : owner_at(o, id);
        if (!owner) return false;
        rank->pids[t] = (hd_ident){pid.type, id};
        if (*owner != SEVERAL) continue;
        uint32_t *new_id = none ? &made_of_none : &made[pid.text];
        if (*new_id == HD_STRING_NONE) *new_id = new_text(o, none ? (hd_string){"", 0} : text, input->rank);
        if (*new_id == HD_STRING_NONE) return false;
        hd_string now = hd_builder_string(o->builder, *new_id);
        int64_t number;
        bool stays_number = pid.type == HD_IDENT_NUMBER && is_number(&number, now);
        rank->pids[t] = (hd_ident){stays_number ? HD_IDENT_NUMBER : HD_IDENT_STRING, *new_id};
    }
    return true;
}

hd_status merge_choose_pids(merge_rank *ranks, const hd_merge_input *inputs, size_t count, const char *word,
                            hd_builder *builder, hd_error *err)
{
    owners o = {.builder = builder, .word = word};
    int64_t most = 0;
    bool fine = find_owners(&o, ranks, inputs, count, &most);
    choose_factor(&o, inputs, count, most);
    for (size_t i = 0; i < count && fine; i++) {
        uint32_t *made = calloc((size_t)hd_trace_string_count(inputs[i].trace) + 1, sizeof *made);
        ranks[i].pids = malloc(((size_t)hd_trace_track_count(inputs[i].trace) + 1) * sizeof *ranks[i].pids);
        fine = made && ranks[i].pids && map_pids(&o, &ranks[i], &inputs[i], made);
        free(made);
    }
    free(o.list);
    return fine ? HD_OK : HD_NOMEM(err);
}
