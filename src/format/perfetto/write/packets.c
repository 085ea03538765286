/* packets.c - packets out: raw, or in groups that threads compress while the next ones are made */
#include <stdlib.h>

#include "base/error.h"
#include "base/io/compress.h"
#include "base/pipeline.h"
#include "base/protobuf/write.h"
#include "format/perfetto/fields.h"
#include "format/perfetto/write/writer.h"

/* About the group size of Perfetto's own service; its reader keeps one group in memory. */
enum { GROUP_BYTES = 512 << 10, THREAD_LIMIT = 16 };

typedef struct group {
    hd_bytes packets, packed;
    hd_status status;
} group;

struct pf_packets {
    hd_output *output;
    bool raw;
    group *filling;
    hd_pipeline *pipeline;
};

static void compress_group(void *user, unsigned worker, void *item)
{
    const pf_packets *p = user;
    group *g = item;
    (void)worker;
    g->packed.size = 0;
    g->status = p->raw ? HD_OK : hd_zlib_compress(&g->packed, g->packets.data, g->packets.size, NULL);
}

/* As one packet of packets. */
static hd_status write_packed(const pf_packets *p, const group *g, hd_error *err)
{
    hd_bytes head = {0};
    size_t inner = hd_varint_size(PF_PACKET_COMPRESSED_PACKETS << 3) + hd_varint_size(g->packed.size) + g->packed.size;
    hd_pb_put_tag(&head, PF_TRACE_PACKET, HD_PB_LENGTH);
    hd_bytes_put_varint(&head, inner);
    hd_pb_put_tag(&head, PF_PACKET_COMPRESSED_PACKETS, HD_PB_LENGTH);
    hd_bytes_put_varint(&head, g->packed.size);
    hd_status status = head.failed ? HD_NOMEM(err) : hd_output_write(p->output, head.data, head.size, err);
    hd_bytes_deinit(&head);
    return status == HD_OK ? hd_output_write(p->output, g->packed.data, g->packed.size, err) : status;
}

static hd_status write_group(void *user, void *item, hd_error *err)
{
    const pf_packets *p = user;
    group *g = item;
    if (g->status != HD_OK) return HD_NOMEM(err);
    hd_status status =
        p->raw ? hd_output_write(p->output, g->packets.data, g->packets.size, err) : write_packed(p, g, err);
    g->packets.size = 0;
    return status;
}

static void deinit_group(void *item)
{
    group *g = item;
    hd_bytes_deinit(&g->packets);
    hd_bytes_deinit(&g->packed);
}

static hd_status next_group(pf_packets *p, hd_error *err)
{
    void *item;
    HD_TRY(hd_pipeline_next(&item, p->pipeline, err));
    p->filling = item;
    return HD_OK;
}

hd_status pf_packets_new(pf_packets **out, hd_output *output, bool raw, unsigned threads, hd_error *err)
{
    pf_packets *p = *out = calloc(1, sizeof *p);
    if (!p) return HD_NOMEM(err);
    p->output = output;
    p->raw = raw;
    threads = raw ? 1 : hd_pipeline_threads(threads);
    const hd_pipeline_steps steps = {sizeof(group), compress_group, write_group, deinit_group, p};
    HD_TRY(hd_pipeline_new(&p->pipeline, &steps, threads > THREAD_LIMIT ? THREAD_LIMIT : threads, err));
    return next_group(p, err);
}

void pf_packets_free(pf_packets *p)
{
    if (!p) return;
    hd_pipeline_free(p->pipeline);
    free(p);
}

hd_bytes *pf_packets_buffer(pf_packets *p)
{
    return &p->filling->packets;
}

hd_status pf_packets_flush(pf_packets *p, hd_error *err)
{
    const hd_bytes *buffer = pf_packets_buffer(p);
    if (buffer->failed) return HD_NOMEM(err);
    if (buffer->size < GROUP_BYTES) return HD_OK;
    hd_pipeline_give(p->pipeline);
    return next_group(p, err);
}

hd_status pf_packets_finish(pf_packets *p, hd_error *err)
{
    const hd_bytes *buffer = pf_packets_buffer(p);
    if (buffer->failed) return HD_NOMEM(err);
    if (buffer->size) hd_pipeline_give(p->pipeline);
    return hd_pipeline_drain(p->pipeline, err);
}
