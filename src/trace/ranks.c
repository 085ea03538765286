/* ranks.c - the rank of a track, and the rank in a file's name */
#include "trace/ranks.h"

#include <ctype.h>
#include <string.h>

#include "base/text/ends.h"

/* "rank 3: python", which a merge of several ranks calls their processes: in formats without ranks only the name is
 * left; "RANK 3 HOST<node>", "RANK 3 DEVICE<node>…" of unitrace. */
int64_t hd_rank_of_name(hd_string name)
{
    int64_t rank = 0;
    size_t i = 5;
    bool is_merged = name.size > 5 && memcmp(name.data, "rank ", 5) == 0;
    if (name.size < 6 || (!is_merged && memcmp(name.data, "RANK ", 5) != 0)) return HD_NO_NUMBER;
    while (i < name.size && i < 14 && name.data[i] >= '0' && name.data[i] <= '9')
        rank = rank * 10 + name.data[i++] - '0';
    bool ends = i == name.size || name.data[i] == (is_merged ? ':' : ' ');
    return i > 5 && ends ? rank : HD_NO_NUMBER;
}

/* Twins of a process may have its name in its place. */
int64_t hd_trace_rank_of(const hd_trace *trace, uint32_t index)
{
    uint32_t count = hd_trace_track_count(trace);
    const hd_track *track = hd_trace_track_at(trace, index);
    if (track->rank != HD_NO_NUMBER) return track->rank;
    if (track->parent < count) track = hd_trace_track_at(trace, track->parent);
    if (track->rank != HD_NO_NUMBER) return track->rank;
    int64_t rank = hd_rank_of_name(hd_trace_string(trace, track->name));
    if (rank != HD_NO_NUMBER || track->same_as >= count) return rank;
    return hd_rank_of_name(hd_trace_string(trace, hd_trace_track_at(trace, track->same_as)->name));
}

/* ---- names of files ---- */

enum { RANK_DIGITS = 6 }; /* longer numbers in names are times and process ids */

static int64_t number_at(const char *text, size_t size)
{
    if (size == 0 || size > RANK_DIGITS) return HD_NO_NUMBER;
    int64_t number = 0;
    for (size_t i = 0; i < size; i++) number = number * 10 + (text[i] - '0');
    return number;
}

static size_t digits_at(const char *text)
{
    return strspn(text, "0123456789");
}

static bool same_word(const char *text, const char *word)
{
    for (; *word; text++, word++) {
        if (tolower((unsigned char)*text) != *word) return false;
    }
    return true;
}

/* rank3, rank_3, Rank-03, rank.3, rank=3; the last one in the name counts. */
static int64_t number_behind(const char *name, const char *word)
{
    int64_t last = HD_NO_NUMBER;
    for (const char *p = name; *p; p++) {
        if (!same_word(p, word) || (p > name && isalpha((unsigned char)p[-1]))) continue;
        const char *digits = p + strlen(word);
        digits += *digits && strchr("_-.=", *digits) ? 1 : 0;
        int64_t number = number_at(digits, digits_at(digits));
        if (number != HD_NO_NUMBER) last = number;
    }
    return last;
}

int64_t hd_rank_at_end(const char *path)
{
    const char *name = path ? hd_base_name(path) : "";
    const char *end = name + strlen(name);
    for (const char *dot = end; dot > name; dot--) {
        if (*dot == '.' && !isdigit((unsigned char)dot[1])) end = dot;
    }
    const char *first = end;
    while (first > name && isdigit((unsigned char)first[-1])) first--;
    if (first > name && !strchr("_-.", first[-1])) return HD_NO_NUMBER;
    return number_at(first, (size_t)(end - first));
}

int64_t hd_rank_of_path(const char *path)
{
    static const char *const words[] = {"rank", "worker"};
    const char *name = path ? hd_base_name(path) : "";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int64_t rank = number_behind(name, words[i]);
        if (rank != HD_NO_NUMBER) return rank;
    }
    return HD_NO_NUMBER;
}
