/* index.h - how many events each name has, by bucket of time, by track and by block
 *
 * Made once in the background (a note of the scene); then a search for names matches the texts of the names and sums
 * their counts, without reading events. If a trace has so many names that the counts would be as many as its events,
 * there is no index, and blocks are walked.
 */
#ifndef HD_VIEW_SEARCH_INDEX_H
#define HD_VIEW_SEARCH_INDEX_H

#include "view/search/search.h"

typedef enum search_cell_of { CELL_OF_BUCKET, CELL_OF_TRACK, CELL_OF_BLOCK, CELL_OFS } search_cell_of;

/* `what`: its kind of `of` in the two top bits, and the bucket, track or block below. */
typedef struct search_cell {
    uint32_t what, count;
} search_cell;
enum { CELL_OF_SHIFT = 30, CELL_WHAT_MASK = (1 << CELL_OF_SHIFT) - 1 };

typedef struct view_search_index {
    uint32_t names;            /* ids below this */
    uint32_t *first;           /* by id: its cells are cells[first[id] … first[id + 1]) */
    search_cell *cells;        /* no two of one name are of the same */
    view_search_block *blocks; /* all that are searched; hits: rows that count */
    size_t block_count;
} view_search_index;

#endif
