/* load.c - one block, or one run of the order, from its section: called by the trace, from any thread */
#include <stdlib.h>

#include "base/error.h"
#include "format/heddle/read/reader.h"

hd_status store_decoder_take(store_decoder **out, store *s, hd_error *err)
{
    pthread_mutex_lock(&s->lock);
    *out = s->decoder_count ? s->decoders[--s->decoder_count] : NULL;
    pthread_mutex_unlock(&s->lock);
    return *out ? HD_OK : store_decoder_new(out, err);
}

void store_decoder_give(store *s, store_decoder *decoder)
{
    pthread_mutex_lock(&s->lock);
    if (s->decoder_count < STORE_POOL) {
        s->decoders[s->decoder_count++] = decoder;
        decoder = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    store_decoder_free(decoder);
}

/* The body of a section that is whole, in the decoder's room. */
static hd_status open_section(hd_byte_reader *out_body, const store *s, uint64_t place, hd_bytes *room, hd_error *err)
{
    if (place >= s->map.count) return hd_error_set(err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "its section is missing");
    const store_section *listed = &s->map.sections[place];
    store_section found;
    hd_error why = {0};
    hd_status status = store_map_payload(&found, out_body, room, &s->map, listed, &why);
    if (status == HD_OK &&
        (found.head_size != listed->head_size || memcmp(found.head, listed->head, found.head_size) != 0))
        status = hd_error_set(&why, HD_ERR_DAMAGED, NULL, listed->offset, "its head is not that of the footer");
    if (status == HD_OK) return HD_OK;
    /* Other bytes at its place are not damage where somebody wrote over the file. */
    if (status == HD_ERR_DAMAGED) HD_TRY(hd_pieces_unchanged(&s->map.file, err));
    if (err) *err = why;
    return status;
}

/* No row has a shape that was lost. */
static bool shapes_are_known(const store *s, const hd_block *block)
{
    for (uint32_t row = 0; s->lost_shapes && row < block->row_count; row++) {
        if (s->lost_shapes[hd_column_at(&block->columns[HD_COL_SHAPE], row)]) return false;
    }
    return true;
}

static void name_file(const store *s, hd_error *err)
{
    if (err && !err->path[0]) hd_error_set_path(err, s->path);
}

static hd_status load_block(void *user, hd_block *block, hd_arena *arena, uint64_t place, bool columns_only,
                            hd_error *err)
{
    store *s = user;
    hd_byte_reader body = {0};
    store_decoder *decoder;
    HD_TRY(store_decoder_take(&decoder, s, err));
    hd_status status = open_section(&body, s, place, store_decoder_room(decoder), err);
    store_limits limits = {s->trace, s->string_count, s->track_count, s->shape_count, 0};
    if (!s->anew && (block->kind == HD_KIND_SLICE || block->kind == HD_KIND_END))
        limits.partner_rows = s->rows[block->kind == HD_KIND_SLICE ? HD_KIND_END : HD_KIND_SLICE];
    if (status == HD_OK)
        status = store_block_decode(block, arena, decoder, &limits, body.data, body.size, columns_only, err);
    store_decoder_give(s, decoder);
    if (status == HD_OK && !shapes_are_known(s, block))
        status = hd_error_set(err, HD_ERR_DAMAGED, NULL, s->map.sections[place].offset, "its shapes are lost");
    if (status != HD_OK) {
        hd_error_add_cause(err, "block of %u rows of kind %s from row %llu on", block->row_count,
                           hd_kind_name(block->kind), (unsigned long long)block->first_row);
        name_file(s, err);
    }
    if (limits.partner_rows == 0) block->columns[HD_COL_PARTNER] = (hd_column){.base = -1};
    return status;
}

static hd_status load_order(void *user, uint8_t *out, size_t count, uint64_t place, hd_error *err)
{
    store *s = user;
    hd_byte_reader body = {0};
    store_decoder *decoder;
    HD_TRY(store_decoder_take(&decoder, s, err));
    int64_t *values = malloc((count + 1) * sizeof *values);
    hd_status status = values ? open_section(&body, s, place, store_decoder_room(decoder), err) : HD_NOMEM(err);
    if (status == HD_OK) status = store_ints_decode(values, count, decoder, body.data, body.size, err);
    store_decoder_give(s, decoder);
    for (size_t i = 0; i < count && status == HD_OK; i++) {
        if (values[i] < 0 || values[i] >= HD_KIND_COUNT)
            status = hd_error_set(err, HD_ERR_DAMAGED, NULL, s->map.sections[place].offset, "an event of no kind");
        out[i] = (uint8_t)values[i];
    }
    free(values);
    if (status != HD_OK) {
        hd_error_add_cause(err, "order of %zu events", count);
        name_file(s, err);
    }
    return status;
}

static void free_idle(void *user)
{
    store *s = user;
    pthread_mutex_lock(&s->lock);
    while (s->decoder_count) store_decoder_free(s->decoders[--s->decoder_count]);
    pthread_mutex_unlock(&s->lock);
}

void store_release(store *s)
{
    if (--s->owners) return;
    free_idle(s);
    hd_decompressor_free(s->decompressor);
    hd_arena_deinit(&s->arena);
    store_map_close(&s->map);
    hd_bytes_deinit(&s->payload);
    pthread_mutex_destroy(&s->lock);
    free(s->lost_shapes);
    free(s->path);
    free(s);
}

static void close_source(void *user)
{
    store_release(user);
}

hd_block_source store_block_source(store *s)
{
    s->owners++;
    return (hd_block_source){s, load_block, load_order, free_idle, close_source};
}
