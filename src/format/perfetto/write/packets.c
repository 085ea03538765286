/* packets.c - packets out: raw, or in groups that threads compress while the next ones are made */
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/io/compress.h"
#include "base/protobuf/write.h"
#include "base/system.h"
#include "format/perfetto/fields.h"
#include "format/perfetto/write/writer.h"

/* Perfetto's own service makes groups of about this size; its reader holds one at a time. */
enum { GROUP_BYTES = 512 << 10, THREAD_LIMIT = 16 };

typedef enum group_state { GROUP_FREE, GROUP_FULL, GROUP_TAKEN, GROUP_DONE } group_state;

typedef struct group {
    hd_bytes packets, packed;
    group_state state;
    hd_status status;
} group;

struct pf_packets {
    hd_output *output;
    bool raw, ending;
    group *groups; /* a ring: filled, compressed and written in turn */
    unsigned group_count, filling, taking;
    pthread_t threads[THREAD_LIMIT];
    unsigned thread_count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static void compress_group(group *g)
{
    g->packed.size = 0;
    g->status = hd_zlib_compress(&g->packed, g->packets.data, g->packets.size, NULL);
}

static void *compress_groups(void *argument)
{
    pf_packets *p = argument;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        group *g = &p->groups[p->taking];
        if (g->state == GROUP_FULL) {
            g->state = GROUP_TAKEN;
            p->taking = (p->taking + 1) % p->group_count;
            pthread_mutex_unlock(&p->lock);
            compress_group(g);
            pthread_mutex_lock(&p->lock);
            g->state = GROUP_DONE;
            pthread_cond_broadcast(&p->changed);
        } else if (p->ending) {
            break;
        } else {
            pthread_cond_wait(&p->changed, &p->lock);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static unsigned threads_wanted(unsigned asked)
{
    unsigned cores = asked ? asked : hd_core_count();
    return cores < 2 ? 0 : cores > THREAD_LIMIT ? THREAD_LIMIT : cores - 1;
}

hd_status pf_packets_new(pf_packets **out, hd_output *output, bool raw, unsigned threads, hd_error *err)
{
    pf_packets *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p) return HD_NOMEM(err);
    p->output = output;
    p->raw = raw;
    unsigned wanted = raw ? 0 : threads_wanted(threads);
    p->group_count = wanted ? wanted * 2 + 1 : 1;
    p->groups = calloc(p->group_count, sizeof *p->groups);
    if (!p->groups) {
        free(p);
        return HD_NOMEM(err);
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    while (p->thread_count < wanted && pthread_create(&p->threads[p->thread_count], NULL, compress_groups, p) == 0)
        p->thread_count++; /* where none starts, groups are compressed as they are written */
    *out = p;
    return HD_OK;
}

void pf_packets_free(pf_packets *p)
{
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->ending = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->thread_count; i++) pthread_join(p->threads[i], NULL);
    for (unsigned i = 0; i < p->group_count; i++) {
        hd_bytes_deinit(&p->groups[i].packets);
        hd_bytes_deinit(&p->groups[i].packed);
    }
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->changed);
    free(p->groups);
    free(p);
}

hd_bytes *pf_packets_buffer(pf_packets *p)
{
    return &p->groups[p->filling].packets;
}

/* The group is compressed: out with it, as one packet of packets. */
static hd_status write_group(pf_packets *p, group *g, hd_error *err)
{
    if (g->status != HD_OK) return HD_NOMEM(err);
    hd_bytes head = {0};
    size_t inner = hd_varint_size(PF_PACKET_COMPRESSED_PACKETS << 3) + hd_varint_size(g->packed.size) + g->packed.size;
    hd_pb_put_tag(&head, PF_TRACE_PACKET, HD_PB_LENGTH);
    hd_bytes_put_varint(&head, inner);
    hd_pb_put_tag(&head, PF_PACKET_COMPRESSED_PACKETS, HD_PB_LENGTH);
    hd_bytes_put_varint(&head, g->packed.size);
    hd_status status = head.failed ? HD_NOMEM(err) : hd_output_write(p->output, head.data, head.size, err);
    hd_bytes_deinit(&head);
    g->packets.size = 0;
    return status == HD_OK ? hd_output_write(p->output, g->packed.data, g->packed.size, err) : status;
}

/* Make the next group of the ring free. */
static hd_status free_group(pf_packets *p, group *g, hd_error *err)
{
    pthread_mutex_lock(&p->lock);
    while (g->state == GROUP_FULL || g->state == GROUP_TAKEN) pthread_cond_wait(&p->changed, &p->lock);
    bool is_done = g->state == GROUP_DONE;
    g->state = GROUP_FREE;
    pthread_mutex_unlock(&p->lock);
    return is_done ? write_group(p, g, err) : HD_OK;
}

static hd_status give(pf_packets *p, hd_error *err)
{
    group *g = &p->groups[p->filling];
    if (g->packets.failed) return HD_NOMEM(err);
    if (!g->packets.size) return HD_OK;
    if (p->raw) {
        HD_TRY(hd_output_write(p->output, g->packets.data, g->packets.size, err));
        g->packets.size = 0;
        return HD_OK;
    }
    if (!p->thread_count) {
        compress_group(g);
        return write_group(p, g, err);
    }
    pthread_mutex_lock(&p->lock);
    g->state = GROUP_FULL;
    p->filling = (p->filling + 1) % p->group_count;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return free_group(p, &p->groups[p->filling], err);
}

hd_status pf_packets_flush(pf_packets *p, hd_error *err)
{
    const hd_bytes *buffer = pf_packets_buffer(p);
    return buffer->size < GROUP_BYTES && !buffer->failed ? HD_OK : give(p, err);
}

hd_status pf_packets_finish(pf_packets *p, hd_error *err)
{
    HD_TRY(give(p, err));
    for (unsigned i = 0; i < p->group_count; i++) /* from the oldest on */
        HD_TRY(free_group(p, &p->groups[(p->filling + i) % p->group_count], err));
    return HD_OK;
}
