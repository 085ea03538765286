/* thread_waits.h - slices in which a thread waits for another one of its process */
#ifndef HD_MODEL_ROLES_THREAD_WAITS_H
#define HD_MODEL_ROLES_THREAD_WAITS_H

#include <stdbool.h>

#include "heddle/trace.h"

/* By its name: it runs backward() (which another thread does), joins a thread, or waits for a queue, a lock or a
 * future. */
bool hd_waits_for_thread(hd_string name);

#endif
