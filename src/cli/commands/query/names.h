/* names.h - the names that may be typed in the shell, for completion */
#ifndef HD_CLI_QUERY_NAMES_H
#define HD_CLI_QUERY_NAMES_H

#include "heddle/query.h"

typedef struct names {
    hd_query *query;
    const char *before; /* the lines of the statement above this one */
    const char **found; /* of the last completion; ends with NULL */
    char **listed;      /* functions, views: owned */
    size_t listed_count, found_count, found_capacity;
} names;

void names_init(names *n, hd_query *query);
void names_deinit(names *n);
/* An editor_complete: user is the names. */
const char *const *names_complete(void *user, const char *line, size_t at, size_t *from);

extern const char *const names_commands[]; /* ".help" …; ends with NULL */

#endif
