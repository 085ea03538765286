/* suggest.c - the name that was probably meant */
#include "heddle/names.h"

#include <string.h>

enum { LONGEST_NAME = 40 };

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned smaller = a < b ? a : b;
    return smaller < c ? smaller : c;
}

/* Edit distance in which swapping neighbours counts once; names beyond LONGEST_NAME are never near. */
static unsigned edit_distance(const char *a, const char *b)
{
    unsigned rows[3][LONGEST_NAME + 1];
    size_t a_size = strlen(a), b_size = strlen(b);
    if (a_size > LONGEST_NAME || b_size > LONGEST_NAME) return LONGEST_NAME;
    for (size_t j = 0; j <= b_size; j++) rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_size; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_size; j++) {
            unsigned change = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(above[j] + 1, row[j - 1] + 1, change);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && above2[j - 2] + 1 < row[j]) row[j] = above2[j - 2] + 1;
        }
    }
    return rows[a_size % 3][b_size];
}

void hd_name_suggest(const char *typed, const char *candidate, const char **best, unsigned *distance)
{
    size_t size = strlen(typed);
    unsigned found = edit_distance(typed, candidate);
    bool prefix = size >= 3 && strncmp(candidate, typed, size) == 0;
    if (prefix) found = 1;
    /* A third of the letters may be wrong: `chekc` suggests check, `xyz` nothing. */
    if (found > (size + 2) / 3 || found >= *distance) return;
    *distance = found;
    *best = candidate;
}
