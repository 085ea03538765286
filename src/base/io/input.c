/* input.c - reads stored bytes, detects their compression, and delivers the decompressed stream
 *
 * Regular files and memory are read by offset, so that nothing depends on a shared file position; everything else is
 * read in order and, with `spool`, copied to an unlinked file for a second pass.
 */
#include "base/io/input.h"

#include "base/io/temporary.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BUFFER_BYTES = 512 << 10,
    SMALL_BUFFER_BYTES = 64 << 10, /* of a file that is no larger */
    READ_MAX_BYTES = 1 << 30,      /* some systems refuse more in one call */
    MAGIC_BYTES = 4,
    DAMAGE_CODES_MAX = 8,
    IDLE_STEPS_MAX = 16,
    ZSTD_WINDOW_LOG_MIN = 10,
    ZSTD_WINDOW_LOG_MAX = 31,
};

struct hd_input {
    int fd; /* -1: none */
    bool owns_fd;
    bool by_offset;            /* memory, or a regular file */
    bool is_file;              /* path is one */
    const uint8_t *memory;     /* size_bytes; NULL: none */
    hd_byte_source_read *read; /* instead of a descriptor; NULL: none */
    void *read_user;
    char *path;
    uint64_t base;       /* file offset of byte 0 of a regular file */
    uint64_t size_bytes; /* stored; 0 unknown */

    int spool_fd; /* -1: none */
    uint64_t spool_size;
    bool pipe_ended;

    uint64_t stored_read; /* stored bytes read since the start, including those in `buffer` */
    uint8_t *buffer;      /* stored bytes read ahead: [begin, end) */
    size_t begin, end, buffer_size;
    bool stored_ended;

    hd_compression compression;
    const hd_decoder_class *decoder;
    void *decoder_state;

    uint8_t *head; /* decompressed bytes that were peeked at and not yet delivered: [head_begin, head_end) */
    size_t head_begin, head_end;

    uint64_t position; /* decompressed bytes delivered, or in head */
    hd_status final;   /* HD_OK while there may be more */
    hd_error failure;  /* with `final`, if that is an error */
    size_t damage_count;
    hd_input_damage damage[DAMAGE_CODES_MAX];
};

/* ---- Stored bytes ---- */

static hd_status io_error(const hd_input *in, hd_error *err, const char *what, uint64_t offset)
{
    return hd_error_set(err, HD_ERR_IO, in->path, offset, "%s: %s", what, strerror(errno));
}

/* One read that retries after EINTR and the like: bytes read, 0 at the end, -1 with errno. */
static ssize_t read_some(int fd, void *buffer, size_t size, bool at_offset, uint64_t offset)
{
    if (size > READ_MAX_BYTES) size = READ_MAX_BYTES;
    for (;;) {
        ssize_t got = at_offset ? pread(fd, buffer, size, (off_t)offset) : read(fd, buffer, size);
        if (got >= 0) return got;
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd wait = {.fd = fd, .events = POLLIN};
            poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            return -1;
        }
    }
}

static hd_status spool_write(hd_input *in, const uint8_t *bytes, size_t size, hd_error *err)
{
    while (size > 0) {
        ssize_t put = pwrite(in->spool_fd, bytes, size, (off_t)in->spool_size);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            const char *hint = errno == ENOSPC ? "; set TMPDIR to a folder with more space" : "";
            return hd_error_set(err, HD_ERR_IO, in->path, in->spool_size,
                                "cannot keep a copy in a temporary file: %s%s", strerror(errno), hint);
        }
        bytes += put;
        size -= (size_t)put;
        in->spool_size += (uint64_t)put;
    }
    return HD_OK;
}

static size_t read_memory(const hd_input *in, void *buffer, size_t size, uint64_t offset)
{
    uint64_t left = offset < in->size_bytes ? in->size_bytes - offset : 0;
    if (size > left) size = (size_t)left;
    if (size) memcpy(buffer, in->memory + offset, size);
    return size;
}

static hd_status call_read(hd_input *in, void *buffer, size_t size, size_t *out_size, hd_error *err)
{
    hd_status status = in->read(in->read_user, buffer, size, out_size, err);
    if (status == HD_OK && *out_size > size)
        return hd_error_set(err, HD_ERR_ARGUMENT, in->path, in->stored_read,
                            "its callback says that it gave %zu bytes, of %zu it was asked for", *out_size, size);
    if (status == HD_OK) return HD_OK;
    *out_size = 0;
    if (status == HD_END) return HD_OK;
    hd_error_set(err, status, in->path, in->stored_read, "its callback failed: %s", hd_status_name(status));
    if (err && !err->path[0]) hd_error_set_path(err, in->path);
    return status;
}

/* From the descriptor, the memory or the callback. 0: the end. */
static hd_status read_source(hd_input *in, uint8_t *buffer, size_t size, size_t *out_size, hd_error *err)
{
    if (in->read) return call_read(in, buffer, size, out_size, err);
    if (in->memory) {
        *out_size = read_memory(in, buffer, size, in->stored_read);
        return HD_OK;
    }
    ssize_t got = read_some(in->fd, buffer, size, in->by_offset, in->base + in->stored_read);
    if (got < 0) return io_error(in, err, "cannot read", in->stored_read);
    *out_size = (size_t)got;
    return HD_OK;
}

/* Reads at least one stored byte; 0 and in->stored_ended at the end. */
static hd_status read_stored(hd_input *in, uint8_t *buffer, size_t size, size_t *out_size, hd_error *err)
{
    *out_size = 0;
    if (in->stored_ended) return HD_OK;
    bool from_spool = in->spool_fd >= 0 && in->stored_read < in->spool_size;
    size_t got = 0;
    if (from_spool) {
        ssize_t copied = read_some(in->spool_fd, buffer, size, true, in->stored_read);
        if (copied < 0) return io_error(in, err, "cannot read", in->stored_read);
        got = (size_t)copied;
    } else if (!in->pipe_ended) {
        HD_TRY(read_source(in, buffer, size, &got, err));
    }
    if (got == 0) {
        in->stored_ended = true;
        if (in->by_offset) return HD_OK;
        in->pipe_ended = true;
        in->size_bytes = in->stored_read;
        return HD_OK;
    }
    if (!from_spool && in->spool_fd >= 0) HD_TRY(spool_write(in, buffer, got, err));
    in->stored_read += got;
    *out_size = got;
    return HD_OK;
}

/* Reads more stored bytes to the end of the buffer. */
static hd_status refill(hd_input *in, hd_error *err)
{
    memmove(in->buffer, in->buffer + in->begin, in->end - in->begin);
    in->end -= in->begin;
    in->begin = 0;
    assert(in->end < in->buffer_size);
    size_t got = 0;
    HD_TRY(read_stored(in, in->buffer + in->end, in->buffer_size - in->end, &got, err));
    in->end += got;
    return HD_OK;
}

/* ---- Opening ---- */

static hd_status open_spool(hd_input *in, hd_error *err)
{
    char *name;
    HD_TRY(hd_temporary_file(&in->spool_fd, &name, "", err));
    unlink(name);
    free(name);
    return HD_OK;
}

static hd_status open_descriptor(hd_input *in, bool spool, hd_error *err)
{
    struct stat info;
    if (fstat(in->fd, &info) != 0) return io_error(in, err, "cannot read", HD_OFFSET_NONE);
    if (S_ISDIR(info.st_mode)) return hd_error_set(err, HD_ERR_IO, in->path, HD_OFFSET_NONE, "is a directory");
    in->by_offset = S_ISREG(info.st_mode);
    if (!in->by_offset) return spool ? open_spool(in, err) : HD_OK;

    off_t base = lseek(in->fd, 0, SEEK_CUR);
    in->base = base > 0 ? (uint64_t)base : 0;
    if ((uint64_t)info.st_size > in->base) in->size_bytes = (uint64_t)info.st_size - in->base;
#ifdef POSIX_FADV_SEQUENTIAL
    posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
    return HD_OK;
}

static hd_status open_stored(hd_input *in, const hd_byte_source *source, bool spool, hd_error *err)
{
    in->is_file = source->place == HD_PLACE_PATH && strcmp(source->name, "-") != 0;
    in->path = strdup(source->place == HD_PLACE_PATH && !in->is_file ? "<stdin>" : source->name);
    if (!in->path) return HD_NOMEM(err);
    switch (source->place) {
    case HD_PLACE_MEMORY:
        in->by_offset = true;
        in->memory = source->size ? source->data : (const uint8_t *)"";
        in->size_bytes = source->size;
        return HD_OK;
    case HD_PLACE_CALLBACK:
        in->read = source->read;
        in->read_user = source->user;
        return spool ? open_spool(in, err) : HD_OK;
    case HD_PLACE_DESCRIPTOR: in->fd = source->descriptor; break;
    case HD_PLACE_PATH: in->fd = STDIN_FILENO; break;
    }
    if (in->is_file) {
        do {
            in->fd = open(in->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        } while (in->fd < 0 && errno == EINTR);
        if (in->fd < 0) return io_error(in, err, "cannot open", HD_OFFSET_NONE);
        in->owns_fd = true;
    }
    return open_descriptor(in, spool, err);
}

static hd_status sniff(hd_input *in, uint32_t window_log_max, hd_error *err)
{
    in->buffer_size = in->size_bytes && in->size_bytes <= SMALL_BUFFER_BYTES ? SMALL_BUFFER_BYTES : BUFFER_BYTES;
    in->buffer = malloc(in->buffer_size);
    if (!in->buffer) return HD_NOMEM(err);
    while (in->end < MAGIC_BYTES && !in->stored_ended) HD_TRY(refill(in, err));
    if (in->end == 0) return hd_error_set(err, HD_ERR_IO, in->path, HD_OFFSET_NONE, "is empty");

    const uint8_t *b = in->buffer;
    if (in->end >= 2 && b[0] == 0x1f && b[1] == 0x8b) {
        in->compression = HD_COMPRESSION_GZIP;
        in->decoder = &hd_decoder_gzip;
    } else if (in->end >= MAGIC_BYTES && (memcmp(b, "\x28\xb5\x2f\xfd", MAGIC_BYTES) == 0 ||
                                          ((b[0] & 0xf0) == 0x50 && memcmp(b + 1, "\x2a\x4d\x18", 3) == 0))) {
        in->compression = HD_COMPRESSION_ZSTD;
        in->decoder = &hd_decoder_zstd;
    } else if (in->end >= 2 && (memcmp(b, "\xff\xfe", 2) == 0 || memcmp(b, "\xfe\xff", 2) == 0)) {
        in->decoder = &hd_decoder_utf16;
    }
    if (in->decoder) {
        in->decoder_state = in->decoder->create(window_log_max);
        if (!in->decoder_state) return HD_NOMEM(err);
        in->decoder->reset(in->decoder_state);
    } else if (in->by_offset) { /* from here on bytes are read straight into the caller's buffer */
        free(in->buffer);
        in->buffer = NULL;
        in->begin = in->end = 0;
        in->stored_read = 0;
        in->stored_ended = false;
    }
    return HD_OK;
}

hd_status hd_input_open(hd_input **out, const char *path, const hd_input_options *options, hd_error *err)
{
    return hd_input_open_source(out, &(hd_byte_source){.name = path}, options, err);
}

hd_status hd_input_open_source(hd_input **out, const hd_byte_source *source, const hd_input_options *options,
                               hd_error *err)
{
    static const hd_input_options defaults = {0};
    *out = NULL;
    if (!options) options = &defaults;
    uint32_t window_log_max = options->zstd_window_log_max ? options->zstd_window_log_max : ZSTD_WINDOW_LOG_MAX;
    if (window_log_max < ZSTD_WINDOW_LOG_MIN || window_log_max > ZSTD_WINDOW_LOG_MAX)
        return hd_error_set(err, HD_ERR_ARGUMENT, source->name, HD_OFFSET_NONE, "zstd window log %u is not in 10..31",
                            window_log_max);
    hd_input *in = calloc(1, sizeof *in);
    if (!in) return HD_NOMEM(err);
    in->fd = in->spool_fd = -1;
    hd_status status = open_stored(in, source, options->spool, err);
    if (status == HD_OK) status = sniff(in, window_log_max, err);
    if (status != HD_OK) {
        hd_input_close(in);
        return status;
    }
    *out = in;
    return HD_OK;
}

void hd_input_close(hd_input *in)
{
    if (!in) return;
    if (in->decoder) in->decoder->destroy(in->decoder_state);
    if (in->owns_fd) close(in->fd);
    if (in->spool_fd >= 0) close(in->spool_fd);
    free(in->buffer);
    free(in->head);
    free(in->path);
    free(in);
}

/* ---- The stream ---- */

static void note_damage(hd_input *in, const char *code, uint64_t offset)
{
    for (size_t i = 0; i < in->damage_count; i++) {
        if (strcmp(in->damage[i].code, code) != 0) continue;
        in->damage[i].count++;
        return;
    }
    if (in->damage_count == DAMAGE_CODES_MAX) return;
    in->damage[in->damage_count++] = (hd_input_damage){.code = code, .count = 1, .offset = offset};
}

static hd_status decode(hd_input *in, uint8_t *out, size_t capacity, size_t *filled, hd_error *err)
{
    for (int idle = 0; *filled < capacity && idle < IDLE_STEPS_MAX; idle++) {
        hd_decoder_io io = {.in = in->buffer + in->begin,
                            .in_size = in->end - in->begin,
                            .in_last = in->stored_ended,
                            .out = out + *filled,
                            .out_size = capacity - *filled};
        hd_status status = in->decoder->decode(in->decoder_state, &io);
        size_t used = in->end - in->begin - io.in_size; /* modulo 2^64: the decoder may have moved back */
        size_t given = capacity - *filled - io.out_size;
        in->begin += used;
        *filled += given;
        if (used > 0 || given > 0) idle = 0;
        if (io.damage) note_damage(in, io.damage, in->position + *filled);
        if (status == HD_END) return HD_END;
        if (status != HD_OK) return hd_error_set(err, status, in->path, in->position + *filled, "%s", io.problem);
        if (io.wants_input) HD_TRY(refill(in, err));
    }
    if (*filled == capacity) return HD_OK;
    note_damage(in, in->compression == HD_COMPRESSION_GZIP ? "gzip.corrupt" : "zstd.corrupt", in->position + *filled);
    return HD_END;
}

static hd_status copy_stored(hd_input *in, uint8_t *out, size_t capacity, size_t *filled, hd_error *err)
{
    size_t ahead = in->end - in->begin;
    if (ahead > 0) {
        *filled = ahead < capacity ? ahead : capacity;
        memcpy(out, in->buffer + in->begin, *filled);
        in->begin += *filled;
    }
    while (*filled < capacity) {
        size_t got = 0;
        HD_TRY(read_stored(in, out + *filled, capacity - *filled, &got, err));
        if (got == 0) return HD_END;
        *filled += got;
    }
    return HD_OK;
}

/* The next bytes after head. */
static hd_status next_behind_head(hd_input *in, void *buffer, size_t capacity, size_t *out_size, hd_error *err)
{
    size_t filled = 0;
    if (in->final == HD_OK) {
        in->final = in->decoder ? decode(in, buffer, capacity, &filled, &in->failure)
                                : copy_stored(in, buffer, capacity, &filled, &in->failure);
        in->position += filled;
        if (in->final == HD_END && in->position == 0 && in->damage_count > 0)
            in->final = hd_error_set(&in->failure, HD_ERR_DAMAGED, in->path, 0, "%s: not one byte can be decoded",
                                     in->damage[in->damage_count - 1].code);
    }
    *out_size = filled;
    if (filled > 0 || in->final == HD_OK) return HD_OK;
    if (in->final != HD_END && err && err->status == HD_OK) *err = in->failure;
    return in->final;
}

hd_status hd_input_next(hd_input *in, void *buffer, size_t capacity, size_t *out_size, hd_error *err)
{
    assert(capacity > 0);
    size_t held = in->head_end - in->head_begin;
    if (held > capacity) held = capacity;
    if (held) memcpy(buffer, in->head + in->head_begin, held);
    in->head_begin += held;
    *out_size = held;
    if (held == capacity) return HD_OK;
    size_t behind = 0;
    hd_status status = next_behind_head(in, (uint8_t *)buffer + held, capacity - held, &behind, held ? NULL : err);
    *out_size += behind;
    return held ? HD_OK : status; /* an end or error is returned again by the next call */
}

hd_status hd_input_all(hd_bytes *out, hd_input *in, size_t padding, uint64_t limit, hd_error *err)
{
    hd_status status;
    do {
        size_t got = 0;
        uint8_t *room = hd_bytes_room(out, (out->size ? 1 : HD_INPUT_PEEK_BYTES) + padding); /* it grows by itself */
        if (!room) return HD_NOMEM(err);
        status = hd_input_next(in, room, out->capacity - out->size - padding, &got, err);
        out->size += got;
    } while (status == HD_OK && out->size <= limit);
    if (status == HD_OK)
        return hd_error_set(err, HD_ERR_LIMIT, in->path, limit, "more than %llu MiB", (unsigned long long)limit >> 20);
    if (status == HD_END) memset(out->data + out->size, 0, padding);
    return status == HD_END ? HD_OK : status;
}

hd_status hd_input_peek(hd_input *in, const uint8_t **out, size_t *out_size, hd_error *err)
{
    *out_size = 0;
    if (!in->head && !(in->head = malloc(HD_INPUT_PEEK_BYTES))) return HD_NOMEM(err);
    *out = in->head;
    if (in->position == 0) {
        hd_status status = next_behind_head(in, in->head, HD_INPUT_PEEK_BYTES, &in->head_end, err);
        if (status != HD_OK && status != HD_END) return status;
    }
    *out_size = in->head_end;
    return HD_OK;
}

hd_status hd_input_peek_far(hd_input *in, size_t most, const uint8_t **out, size_t *out_size, hd_error *err)
{
    size_t got = 0;
    HD_TRY(hd_input_peek(in, out, out_size, err));
    bool untouched = in->head_begin == 0 && in->position == in->head_end;
    if (!untouched || in->head_end < HD_INPUT_PEEK_BYTES || in->head_end >= most) return HD_OK;
    uint8_t *head = realloc(in->head, most);
    if (!head) return HD_NOMEM(err);
    in->head = head;
    /* an error after the first bytes is reported when they are read */
    hd_status status = next_behind_head(in, head + in->head_end, most - in->head_end, &got, NULL);
    in->head_end += status == HD_OK ? got : 0;
    *out = head;
    *out_size = in->head_end;
    return HD_OK;
}

hd_status hd_input_rewind(hd_input *in, hd_error *err)
{
    in->head_begin = in->head_end = 0;
    if (!in->by_offset && in->spool_fd < 0)
        return hd_error_set(err, HD_ERR_UNSUPPORTED, in->path, HD_OFFSET_NONE,
                            "a pipe can be read only once, and this needs it twice; give a file instead");
    in->begin = in->end = 0;
    in->stored_read = 0;
    in->stored_ended = false;
    in->position = 0;
    in->final = HD_OK;
    in->failure = (hd_error){0};
    in->damage_count = 0;
    if (in->decoder) in->decoder->reset(in->decoder_state);
    return HD_OK;
}

/* ---- Random access and facts ---- */

int hd_input_descriptor(const hd_input *in, uint64_t *out_base)
{
    *out_base = in->base;
    if (in->decoder || in->memory) return -1;
    if (in->by_offset) return in->size_bytes > 0 ? in->fd : -1; /* files in /proc say 0 and are read in order */
    return in->pipe_ended ? in->spool_fd : -1;
}

const uint8_t *hd_input_memory(const hd_input *in)
{
    return in->decoder ? NULL : in->memory;
}

bool hd_input_is_random(const hd_input *in)
{
    uint64_t base;
    return hd_input_memory(in) || hd_input_descriptor(in, &base) >= 0;
}

hd_status hd_input_pread(hd_input *in, void *buffer, size_t size, uint64_t offset, size_t *out_size, hd_error *err)
{
    *out_size = 0;
    uint64_t base;
    if (hd_input_memory(in)) {
        *out_size = read_memory(in, buffer, size, offset);
        return *out_size == 0 && size > 0 ? HD_END : HD_OK;
    }
    int fd = hd_input_descriptor(in, &base);
    if (fd < 0)
        return hd_error_set(err, HD_ERR_UNSUPPORTED, in->path, HD_OFFSET_NONE, "can only be read from start to end");
    if (offset > (uint64_t)INT64_MAX - base) return HD_END;
    while (*out_size < size) {
        uint64_t at = offset + *out_size;
        ssize_t got = read_some(fd, (uint8_t *)buffer + *out_size, size - *out_size, true, base + at);
        if (got < 0) return io_error(in, err, "cannot read", at);
        if (got == 0) break;
        *out_size += (size_t)got;
    }
    return *out_size == 0 && size > 0 ? HD_END : HD_OK;
}

const char *hd_input_path(const hd_input *in)
{
    return in->path;
}
const char *hd_input_file(const hd_input *in)
{
    return in->is_file ? in->path : NULL;
}
hd_compression hd_input_compression(const hd_input *in)
{
    return in->compression;
}
uint64_t hd_input_size_bytes(const hd_input *in)
{
    return in->size_bytes;
}
uint64_t hd_input_stored_position(const hd_input *in)
{
    return in->stored_read - (in->end - in->begin);
}
void hd_input_note_cut(hd_input *in, uint64_t offset)
{
    note_damage(in, "input.line-cut", offset);
}

size_t hd_input_damage_count(const hd_input *in)
{
    return in->damage_count;
}

const hd_input_damage *hd_input_damage_at(const hd_input *in, size_t index)
{
    return index < in->damage_count ? &in->damage[index] : NULL;
}
