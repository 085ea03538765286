/* near.c - suggests names near to a mistyped one */
#include <stdio.h>
#include <string.h>

#include "capture/uprobe/search.h"

enum { LONGEST = UPROBE_NEAR_BYTES - 1 };

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Letters to change, add or take away. */
static unsigned distance_of(const char *a, size_t a_size, const char *b, size_t b_size)
{
    unsigned row[LONGEST + 1];
    for (size_t j = 0; j <= b_size; j++) row[j] = (unsigned)j;
    for (size_t i = 1; i <= a_size; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_size; j++) {
            unsigned above = row[j];
            row[j] = smaller(smaller(above, row[j - 1]) + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_size];
}

static bool is_there(const uprobe_near *near, const char *name, size_t size)
{
    for (uint32_t i = 0; i < near->count; i++) {
        if (strlen(near->names[i]) == size && memcmp(near->names[i], name, size) == 0) return true;
    }
    return false;
}

void uprobe_near_offer(uprobe_near *near, const char *name, size_t size)
{
    size_t typed = strlen(near->typed);
    if (!size || size > LONGEST || !typed || typed > LONGEST) return;
    size_t apart = size > typed ? size - typed : typed - size;
    bool begins = typed >= 3 && size > typed && memcmp(name, near->typed, typed) == 0;
    /* A third of the letters may be wrong. */
    if (!begins && apart > (typed + 2) / 3) return;
    unsigned distance = begins ? 1 : distance_of(near->typed, typed, name, size);
    if (distance > (typed + 2) / 3 || is_there(near, name, size)) return;
    uint32_t place = near->count;
    while (place && near->distance[place - 1] > distance) place--;
    if (place == UPROBE_NEAR) return;
    if (near->count < UPROBE_NEAR) near->count++;
    for (uint32_t i = near->count - 1; i > place; i--) {
        near->distance[i] = near->distance[i - 1];
        memcpy(near->names[i], near->names[i - 1], UPROBE_NEAR_BYTES);
    }
    near->distance[place] = distance;
    memcpy(near->names[place], name, size);
    near->names[place][size] = 0;
}

const char *uprobe_near_text(const uprobe_near *near, char *out, size_t capacity)
{
    size_t at = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < near->count && at < capacity; i++)
        at += (size_t)snprintf(out + at, capacity - at, "%s%s", i ? ", " : "; near: ", near->names[i]);
    return out;
}
