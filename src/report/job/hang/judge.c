/* judge.c - what is wrong in the collectives of a group: missing, different, unfinished
 *
 * A group is judged up to its first collective that some rank did not enqueue, or that does not end: those after it are
 * consequences. What a ring may have lost is never missing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/decimal.h"
#include "report/gpu/gpu.h"
#include "report/job/hang/impl.h"

static bool add_issue(hang *h, const hang_issue *issue)
{
    if (!hd_grow((void **)&h->issues, &h->issue_capacity, h->issue_count, sizeof *h->issues)) return false;
    h->issues[h->issue_count++] = *issue;
    return true;
}

/* ---- a collective ---- */

/* Whether its sizes are the same on all ranks. */
static bool has_one_size(hd_string operation)
{
    if (operation.size > 2 && memcmp(operation.data + operation.size - 2, "_v", 2) == 0) return false;
    switch (gpu_collective_of(operation)) {
    case GPU_ALL_REDUCE:
    case GPU_ALL_GATHER:
    case GPU_REDUCE_SCATTER:
    case GPU_BROADCAST:
    case GPU_REDUCE: return true;
    default: return false;
    }
}

static bool differs(const hang *h, const hang_entry *a, const hang_entry *b, hang_problem problem)
{
    if (problem == HANG_OPERATION) return a->operation != b->operation;
    if (a->operation != b->operation) return false;
    if (problem == HANG_TYPES) return a->in_types != b->in_types || a->out_types != b->out_types;
    return has_one_size(gpu_text_of(&h->texts, a->operation)) &&
           (a->in_sizes != b->in_sizes || a->out_sizes != b->out_sizes);
}

static bool is_alike(const hang *h, const hang_entry *a, const hang_entry *b)
{
    return !differs(h, a, b, HANG_OPERATION) && !differs(h, a, b, HANG_SIZES) && !differs(h, a, b, HANG_TYPES);
}

/* The entry that most are like, of several the first. Of more than KINDS kinds only the first are counted. */
static size_t find_usual(const hang *h, size_t first, size_t end)
{
    enum { KINDS = 16 };
    size_t best = first, most = 0, kinds = 0;
    for (size_t i = first; i < end && kinds < KINDS; i++) {
        size_t alike = 0, tried = 0;
        for (size_t k = first; k < i && !tried; k++) /* one of its kind was counted */
            tried = is_alike(h, &h->entries[i], &h->entries[k]);
        if (tried) continue;
        kinds++;
        for (size_t k = i; k < end; k++) alike += is_alike(h, &h->entries[i], &h->entries[k]);
        if (alike > most) {
            most = alike;
            best = i;
        }
        if (2 * alike >= end - first) break;
    }
    return best;
}

/* The number of its completed collectives may be higher: the watchdog notices the end of the later one first. */
static bool is_unfinished(const hang *h, const hang_entry *e)
{
    const hang_member *member = hang_find_member(h, e->group, e->rank);
    return !hang_is_state(h, e, "completed") &&
           !(member && member->completed != HD_NO_NUMBER && member->completed > e->sequence);
}

static bool is_same(const hang_entry *a, const hang_entry *b)
{
    return hang_has_number_of(a, b) && a->place == b->place;
}

static bool is_of_rank(const hang *h, size_t first, size_t end, int64_t rank)
{
    for (size_t i = first; i < end; i++)
        if (h->entries[i].rank == rank) return true;
    return false;
}

/* Whether a rank with a dump did not enqueue the entries [first, …) of a collective, the first of which is `unit`. */
static bool is_missing(const hang *h, const hang_member *member, size_t unit, size_t first)
{
    if (member->last == HD_NO_NUMBER) return false;
    if (h->entries[first].place == 0) return member->last < h->entries[first].sequence;
    return member->last == h->entries[first].sequence && is_of_rank(h, unit, first, member->rank);
}

/* Entries [first, end) are one collective, or one of those that are coalesced, the first of which is `unit`. *io_stuck:
 * the first of these that does not end, .own of which is its first entry; .waiting is 0: all end so far. */
static bool judge_collective(hang *h, hang_issue *io_stuck, const hang_member *members, size_t member_count,
                             size_t unit, size_t first, size_t end)
{
    const size_t usual = find_usual(h, first, end);
    hang_issue issue = {.time = INT64_MAX, .other = usual};
    size_t unfinished = 0;
    for (size_t i = first; i < end; i++) {
        const hang_entry *e = &h->entries[i];
        if (e->created != HD_NO_TIME && e->created < issue.time) issue.time = e->created;
        unfinished += is_unfinished(h, e);
    }
    issue.waiting = unfinished;
    issue.is_complete = !unfinished;
    for (size_t i = first; i < end; i++) {
        for (hang_problem p = HANG_OPERATION; p <= HANG_TYPES; p++) {
            if (!differs(h, &h->entries[i], &h->entries[usual], p)) continue;
            issue.problem = p;
            issue.rank = h->entries[i].rank;
            issue.own = i;
            if (!add_issue(h, &issue)) return false;
        }
    }
    if (!unfinished) return true;
    const bool is_first = !io_stuck->waiting;
    if (is_first) *io_stuck = issue;
    if (is_first) io_stuck->own = first;
    for (size_t s = 0, at = first; s < member_count; s++) {
        const hang_member *member = &members[s];
        while (at < end && h->entries[at].rank < member->rank) at++;
        if (at < end && h->entries[at].rank == member->rank) continue;
        if (member->has_dump ? !is_missing(h, member, unit, first) : !is_first) continue;
        issue.problem = member->has_dump ? HANG_MISSING : HANG_NO_DUMP;
        issue.rank = member->rank;
        issue.own = SIZE_MAX;
        if (!add_issue(h, &issue)) return false;
    }
    return true;
}

/* Which ranks do not complete it, where nothing else is wrong. */
static bool add_unfinished(hang *h, hang_issue issue, size_t end)
{
    issue.problem = HANG_UNFINISHED;
    for (size_t i = issue.own, first = i; i < end && is_same(&h->entries[first], &h->entries[i]); i++) {
        if (!is_unfinished(h, &h->entries[i])) continue;
        issue.rank = h->entries[i].rank;
        issue.own = i;
        if (!add_issue(h, &issue)) return false;
    }
    return true;
}

/* ---- sends and receives ---- */

typedef struct message_key {
    uint32_t group, operation;
    int64_t rank;
} message_key;

/* "nccl:recv 1<-0" of "nccl:send 0->1", and the place in the group of the rank that does it. false: another name, or
 * "recv 1<-?", which takes a message of any rank. */
static bool name_other_end(char *out, size_t size, int64_t *out_place, hd_string name)
{
    char text[80], backend[24], word[8], arrow[4];
    long long own, other;
    if (name.size >= sizeof text) return false;
    memcpy(text, name.data, name.size);
    text[name.size] = '\0';
    if (sscanf(text, "%23[a-z0-9_-]:%7[a-z] %lld%3[<>-]%lld", backend, word, &own, arrow, &other) != 5) return false;
    bool sends = strcmp(word, "send") == 0;
    if (!sends && strcmp(word, "recv") != 0) return false;
    snprintf(out, size, "%s:%s %lld%s%lld", backend, sends ? "recv" : "send", other, sends ? "<-" : "->", own);
    *out_place = other;
    return true;
}

/* The unfinished ones; behind the first `count` are keys that were searched in vain. */
typedef struct messages {
    gpu_groups keys;
    uint32_t count;
} messages;

/* Whether that one is unfinished. false: no memory. */
static bool find_message(bool *out, hang *h, messages *unfinished, uint32_t group, int64_t rank, const char *name)
{
    message_key key = {group, gpu_text(&h->texts, name, strlen(name)), rank};
    uint32_t number = key.operation == HD_NONE ? HD_NONE : gpu_group(&unfinished->keys, &key);
    *out = number < unfinished->count;
    return number != HD_NONE;
}

/* The group's members are in the order of ranks, as PyTorch numbers them. */
static bool judge_message(hang *h, messages *unfinished, const hang_member *members, size_t member_count, size_t at)
{
    const hang_entry *e = &h->entries[at];
    char text[96];
    int64_t place;
    hang_issue issue = {
        .problem = HANG_UNFINISHED, .rank = e->rank, .time = e->created, .own = at, .other = at, .waiting = 1};
    if (name_other_end(text, sizeof text, &place, gpu_text_of(&h->texts, e->operation)) && place >= 0 &&
        (uint64_t)place < member_count) {
        const hang_member *peer = &members[place];
        bool is_there, takes_any = false;
        if (!find_message(&is_there, h, unfinished, e->group, peer->rank, text)) return false;
        char *from = strstr(text, "<-");
        if (from) memcpy(from, "<-?", sizeof "<-?");
        if (from && !find_message(&takes_any, h, unfinished, e->group, peer->rank, text)) return false;
        if (!peer->has_dump || !(is_there || takes_any)) {
            issue.problem = peer->has_dump ? HANG_MISSING : HANG_NO_DUMP;
            issue.rank = peer->rank;
            issue.own = SIZE_MAX;
        }
    }
    return add_issue(h, &issue);
}

/* Entries [first, end) are those of a group. The first unfinished one of each rank and name is judged. */
static bool judge_messages(hang *h, const hang_member *members, size_t member_count, size_t first, size_t end)
{
    messages unfinished = {.keys = {.key_size = sizeof(message_key)}};
    gpu_groups judged = {.key_size = sizeof(message_key)};
    bool fine = true;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = first; i < end && fine; i++) {
            const hang_entry *e = &h->entries[i];
            if (hang_is_state(h, e, "completed")) continue;
            const message_key key = {e->group, e->operation, e->rank};
            uint32_t known = judged.count;
            uint32_t number = gpu_group(pass ? &judged : &unfinished.keys, &key);
            fine = number != HD_NONE &&
                   (!pass || number < known || judge_message(h, &unfinished, members, member_count, i));
        }
        if (!pass) unfinished.count = unfinished.keys.count;
    }
    gpu_groups_deinit(&unfinished.keys);
    gpu_groups_deinit(&judged);
    return fine;
}

/* ---- groups ---- */

static bool judge_group(hang *h, const hang_member *members, size_t member_count, size_t first, size_t end)
{
    bool stops = false, fine = true;
    size_t i = first;
    while (i < end && !h->entries[i].is_p2p && fine && !stops) {
        const size_t unit = i, before = h->issue_count;
        hang_issue stuck = {.waiting = 0};
        for (size_t next; i < end && hang_has_number_of(&h->entries[unit], &h->entries[i]) && fine; i = next) {
            for (next = i + 1; next < end && is_same(&h->entries[i], &h->entries[next]);) next++;
            fine = judge_collective(h, &stuck, members, member_count, unit, i, next);
        }
        stops = stuck.waiting > 0;
        if (fine && stops && h->issue_count == before) fine = add_unfinished(h, stuck, end);
    }
    while (i < end && !h->entries[i].is_p2p) i++;
    return fine && judge_messages(h, members, member_count, i, end);
}

static int compare_issues(const void *a, const void *b)
{
    const hang_issue *x = a, *y = b;
    int order = x->is_complete - y->is_complete;
    if (!order) order = (x->time > y->time) - (x->time < y->time);
    if (!order) order = (int)x->problem - (int)y->problem;
    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

bool hang_judge(hang *h)
{
    bool fine = true;
    size_t member = 0;
    for (size_t i = 0, end; i < h->count && fine; i = end) {
        const uint32_t group = h->entries[i].group;
        for (end = i + 1; end < h->count && h->entries[end].group == group;) end++;
        while (member < h->member_count && h->members[member].group < group) member++;
        size_t last = member;
        while (last < h->member_count && h->members[last].group == group) last++;
        fine = judge_group(h, h->members + member, last - member, i, end);
    }
    if (fine) hd_sort(h->issues, h->issue_count, sizeof *h->issues, compare_issues);
    return fine;
}
