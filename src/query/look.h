/* look.h - lets a caller without a thread of its own limit a statement
 *
 * In: a function that may call hd_query_interrupt. Begin with watch.c.
 */
#ifndef HD_QUERY_LOOK_H
#define HD_QUERY_LOOK_H

#include "heddle/query.h"

/* From now on statements call look(user) every few thousand steps; NULL: no more. */
void hd_query_on_look(hd_query *query, void (*look)(void *user), void *user);

#endif
