/* copy_ways.c - the spellings of profilers */
#include "model/roles/copy_ways.h"

#include <string.h>

enum { NO_WAY };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_place(char c)
{
    return c == 'H' || c == 'D' || c == 'P' || c == 'A';
}

/* "HtoD", without adjacent letters; "MemcpyH2D" of TensorFlow and JAX. */
static uint32_t way_of_letters(hd_string name)
{
    if (name.size == 9 && memcmp(name.data, "Memcpy", 6) == 0 && name.data[7] == '2' && is_place(name.data[6]) &&
        is_place(name.data[8]))
        return HD_COPY_WAY(name.data[6], name.data[8]);
    for (size_t i = 0; i + 4 <= name.size; i++) {
        const char *p = name.data + i;
        if (!is_place(p[0]) || p[1] != 't' || p[2] != 'o' || !is_place(p[3])) continue;
        if ((i && is_letter(p[-1])) || (i + 4 < name.size && is_letter(p[4]))) continue;
        return HD_COPY_WAY(p[0], p[3]);
    }
    return NO_WAY;
}

static const char *const places[][2] = {{"Host", "HOST"}, {"Device", "DEVICE"}, {"Peer", "PEER"}, {"Array", "ARRAY"}};
enum { PLACES = sizeof places / sizeof *places };

static bool stands_at(hd_string text, size_t at, const char *word)
{
    size_t size = strlen(word);
    return at + size <= text.size && memcmp(text.data + at, word, size) == 0;
}

/* Which place begins there, in capitals or not; PLACES: none. */
static size_t place_at(hd_string text, size_t at, bool capitals)
{
    size_t i = 0;
    while (i < PLACES && !stands_at(text, at, places[i][capitals])) i++;
    return i;
}

/* "HostToDevice" from there on, of capitals "HOST_TO_DEVICE". */
static uint32_t way_at(hd_string text, size_t at, const char *to, bool capitals)
{
    size_t from = place_at(text, at, capitals);
    if (from == PLACES) return NO_WAY;
    at += strlen(places[from][capitals]);
    if (!stands_at(text, at, to)) return NO_WAY;
    size_t where = place_at(text, at + strlen(to), capitals);
    return where == PLACES ? NO_WAY : HD_COPY_WAY(places[from][0][0], places[where][0][0]);
}

uint32_t hd_copy_way_of(hd_string name)
{
    static const char *const to[] = {"To", "_TO_", " -> "};
    uint32_t way = way_of_letters(name);
    for (size_t k = 0; k < sizeof to / sizeof *to; k++)
        for (size_t i = 0; i < name.size && way == NO_WAY; i++) way = way_at(name, i, to[k], k == 1);
    return way;
}
