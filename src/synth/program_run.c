/* program_run.c - executes a program: a discrete-event simulation of two threads and their streams
 *
 * The thread whose next item begins first always runs next. The GPU takes work in the order of launches, so that all
 * dependencies of a piece of work are known when it is launched.
 */
#include <stdlib.h>

#include "synth/random_program.h"

enum { BEGIN_NS = 1000000 }; /* of the run */

typedef struct thread_state {
    int64_t now_ns, launched_ns; /* launched_ns: the end of the last call that launched */
    int64_t launch;              /* its correlation */
    size_t next;
    size_t open[PROGRAM_DEPTH]; /* items of slices */
    int depth;
} thread_state;

typedef struct stream_state {
    bool is_used;
    int64_t end_ns;  /* of its last work */
    int64_t wait_ns; /* no work begins before: the latest event for which it waits */
} stream_state;

typedef struct execution {
    program *p;
    synth *s;
    thread_state threads[PROGRAM_THREADS];
    stream_state streams[PROGRAM_STREAMS];
    int64_t *events; /* when they are reached */
} execution;

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t reached(const stream_state *stream)
{
    return later(stream->end_ns, stream->wait_ns);
}

/* Of a graph all is launched by the call of the first. */
static void execute_work(execution *e, thread_state *thread, program_item *item)
{
    if (item->in_graph)
        item->correlation = thread->launch;
    else
        thread->launched_ns = item->end_ns;
    thread->launch = item->correlation;
    stream_state *stream = &e->streams[item->stream];
    int64_t start = later(thread->launched_ns + item->latency_ns, stream->wait_ns);
    if (stream->is_used) start = later(start, stream->end_ns + item->gap_ns);
    item->work_start_ns = start;
    item->work_end_ns = stream->end_ns = start + item->work_ns;
    stream->is_used = true;
    if (item->kind == PROGRAM_COPY_OUT) item->end_ns = later(item->end_ns, item->work_end_ns + item->wake_ns);
}

static void execute_sync(const execution *e, program_item *item)
{
    int64_t until = 0;
    if (item->kind == PROGRAM_EVENT_SYNC) until = e->events[item->event];
    if (item->kind == PROGRAM_STREAM_SYNC) until = reached(&e->streams[item->stream]);
    for (int i = 0; item->kind == PROGRAM_DEVICE_SYNC && i < PROGRAM_STREAMS; i++)
        until = later(until, reached(&e->streams[i]));
    if (until) item->end_ns = later(item->end_ns, until + item->latency_ns);
}

static void execute_call(execution *e, thread_state *thread, program_item *item)
{
    if (!item->in_graph) item->correlation = ++e->s->now.correlation;
    item->end_ns = item->start_ns + item->call_ns;
    switch (item->kind) {
    case PROGRAM_KERNEL:
    case PROGRAM_COPY_IN:
    case PROGRAM_COPY_OUT: execute_work(e, thread, item); break;
    case PROGRAM_RECORD: e->events[item->event] = reached(&e->streams[item->stream]); break;
    case PROGRAM_WAIT: {
        stream_state *stream = &e->streams[item->stream];
        if (e->events[item->event]) stream->wait_ns = later(stream->wait_ns, e->events[item->event] + item->gap_ns);
        break;
    }
    default: execute_sync(e, item);
    }
}

static void execute(execution *e, program_list *list, thread_state *thread)
{
    program_item *item = &list->items[thread->next];
    thread->now_ns += item->host_ns;
    item->start_ns = item->end_ns = thread->now_ns;
    if (item->kind == PROGRAM_OP)
        thread->open[thread->depth++] = thread->next;
    else if (item->kind == PROGRAM_END)
        list->items[thread->open[--thread->depth]].end_ns = thread->now_ns;
    else if (!item->is_gone)
        execute_call(e, thread, item);
    if (item->kind != PROGRAM_OP) thread->now_ns = item->end_ns;
    thread->next++;
}

/* The thread whose next item begins first; -1: all have ended. */
static int next_thread(const execution *e)
{
    int first = -1;
    int64_t first_ns = 0;
    for (int i = 0; i < PROGRAM_THREADS; i++) {
        const thread_state *thread = &e->threads[i];
        if (thread->next == e->p->threads[i].count) continue;
        int64_t at_ns = thread->now_ns + e->p->threads[i].items[thread->next].host_ns;
        if (first >= 0 && at_ns >= first_ns) continue;
        first = i;
        first_ns = at_ns;
    }
    return first;
}

hd_status program_run(program *p, synth *s)
{
    execution e = {.p = p, .s = s, .events = calloc((size_t)p->event_count + 1, sizeof *e.events)};
    if (!e.events) return HD_NOMEM(s->err);
    for (int i = 0; i < PROGRAM_THREADS; i++) e.threads[i].now_ns = BEGIN_NS;
    for (int i = next_thread(&e); i >= 0; i = next_thread(&e)) execute(&e, &p->threads[i], &e.threads[i]);
    free(e.events);
    return HD_OK;
}
