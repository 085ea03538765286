/* write_behind.c - one buffer is filled while the other is written */
#include "base/io/write_behind.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/system.h"

enum { WORTH_A_THREAD = 256 << 10 }; /* bytes */

static void *write_pieces(void *argument)
{
    hd_write_behind *b = argument;
    pthread_mutex_lock(&b->lock);
    while (!b->ending || b->busy) {
        if (!b->busy) {
            pthread_cond_wait(&b->changed, &b->lock);
            continue;
        }
        pthread_mutex_unlock(&b->lock);
        hd_status status = hd_output_write(b->output, b->writing.data, b->writing.size, &b->error);
        pthread_mutex_lock(&b->lock);
        b->status = status;
        b->busy = false;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

void hd_write_behind_init(hd_write_behind *b, hd_output *output)
{
    *b = (hd_write_behind){.output = output};
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
}

static hd_status outcome(hd_write_behind *b, hd_error *err)
{
    if (b->status != HD_OK && err && err->status == HD_OK) *err = b->error;
    return b->status;
}

hd_status hd_write_behind_drain(hd_write_behind *b, hd_error *err)
{
    pthread_mutex_lock(&b->lock);
    while (b->busy) pthread_cond_wait(&b->changed, &b->lock);
    pthread_mutex_unlock(&b->lock);
    return outcome(b, err);
}

hd_status hd_write_behind_give(hd_write_behind *b, hd_json_out *text, hd_error *err)
{
    if (text->failed) return HD_NOMEM(err);
    HD_TRY(hd_write_behind_drain(b, err));
    if (text->size == 0) return HD_OK;
    if (!b->tried && text->size >= WORTH_A_THREAD) {
        b->tried = true;
        b->started = HD_HAS_THREADS && pthread_create(&b->thread, NULL, write_pieces, b) == 0;
    }
    if (!b->started) {
        b->status = hd_output_write(b->output, text->data, text->size, &b->error);
        text->size = 0;
        return outcome(b, err);
    }
    hd_json_out spare = b->writing;
    pthread_mutex_lock(&b->lock);
    b->writing = *text;
    b->busy = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    spare.size = 0;
    *text = spare;
    return HD_OK;
}

void hd_write_behind_deinit(hd_write_behind *b)
{
    pthread_mutex_lock(&b->lock);
    b->ending = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    if (b->started) pthread_join(b->thread, NULL);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->changed);
    free(b->writing.data);
}
