/* engine.h - the routes of the web UI, called in the same program: a Web Worker or Node is the caller
 *
 * One thread and one session. The caller begins, opens files, and calls hd_engine_step until it returns 0; requests are
 * answered between two steps. Arguments are addresses in the engine's memory, as from hd_engine_room.
 *
 * In: paths, and requests as a server gets them. Out: answers. Begin with engine.c.
 */
#ifndef HD_VIEW_ENGINE_ENGINE_H
#define HD_VIEW_ENGINE_ENGINE_H

#include <stddef.h>
#include <stdint.h>

/* Memory for an argument of this many bytes, valid until hd_engine_give; NULL: there is none. */
void *hd_engine_room(size_t size);
void hd_engine_give(void *room);

typedef struct hd_engine hd_engine;

/* `memory_limit`: bytes that all traces may take. NULL: no memory. */
hd_engine *hd_engine_begin(double memory_limit);
void hd_engine_end(hd_engine *engine);
/* The number of the trace, which later steps read; -1: no memory. `memory`: only its first seconds, which need about so
 * many bytes; 0: all of it. */
int hd_engine_open(hd_engine *engine, const char *path, double memory);
/* `news` is called during a step, whenever the answer of /api/session changes; it may request that answer only. */
void hd_engine_on_news(hd_engine *engine, void (*news)(void *user), void *user);
/* Reads a file or does a part of a layout; 0: nothing was left to do. */
int hd_engine_step(hd_engine *engine);

/* Answers a request with the address `uri` ("/api/tracks?trace=0"); body NULL: it has none. Returns the status of HTTP.
 * The answer is valid until the next request. */
int hd_engine_ask(hd_engine *engine, const char *method, const char *uri, const void *body, size_t body_size);
const void *hd_engine_data(const hd_engine *engine);
size_t hd_engine_size(const hd_engine *engine);
const char *hd_engine_type(const hd_engine *engine);      /* of its content */
const char *hd_engine_file_name(const hd_engine *engine); /* of a download; "": it is none */

#endif
