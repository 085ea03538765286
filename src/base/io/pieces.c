/* pieces.c - reads the bytes of an input by offset, on request */
#include "base/io/pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io/temporary.h"
#include "base/system.h"

#ifdef __APPLE__
#define st_mtim st_mtimespec
#endif

/* ---- opening ---- */

static hd_status take_file(hd_pieces *out, int file, uint64_t base, const char *path, hd_error *err)
{
    struct stat about;
    int own = hd_descriptor_copy(file);
    if (own < 0 || fstat(own, &about) != 0) {
        int problem = errno;
        if (own >= 0) close(own);
        return hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot keep it open: %s", strerror(problem));
    }
    uint64_t size = (uint64_t)about.st_size;
    *out = (hd_pieces){.file = own + 1, .base = base, .size = size > base ? size - base : 0};
    out->modified = about.st_mtim;
    return HD_OK;
}

static hd_status write_all(int file, const uint8_t *data, size_t size, hd_error *err)
{
    while (size) {
        ssize_t n = write(file, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE,
                                "cannot write a temporary file: %s; set TMPDIR to a folder with space",
                                strerror(n < 0 ? errno : ENOSPC));
        data += n;
        size -= (size_t)n;
    }
    return HD_OK;
}

static hd_status copy_to(int file, hd_input *input, hd_error *err)
{
    enum { STEP = 1 << 20 };
    uint8_t *buffer = malloc(STEP);
    size_t size;
    if (!buffer) return HD_NOMEM(err);
    hd_status status;
    while ((status = hd_input_next(input, buffer, STEP, &size, err)) == HD_OK) {
        status = write_all(file, buffer, size, err);
        if (status != HD_OK) break;
    }
    free(buffer);
    return status == HD_END ? HD_OK : status;
}

hd_status hd_pieces_open(hd_pieces *out, hd_input *input, hd_error *err)
{
    uint64_t base;
    int file = hd_input_descriptor(input, &base);
    *out = (hd_pieces){.memory = hd_input_memory(input), .size = hd_input_size_bytes(input)};
    if (out->memory) return HD_OK;
    if (file >= 0) return take_file(out, file, base, hd_input_path(input), err);
    HD_TRY(hd_temporary_nameless(&file, err));
    hd_status status = copy_to(file, input, err);
    if (status == HD_OK) status = take_file(out, file, 0, hd_input_path(input), err);
    close(file);
    return status;
}

void hd_pieces_close(hd_pieces *pieces)
{
    if (pieces->file) close(pieces->file - 1);
    *pieces = (hd_pieces){0};
}

/* ---- reading ---- */

static hd_status changed(uint64_t offset, hd_error *err)
{
    return hd_error_set(err, HD_ERR_IO, NULL, offset, "the file changed after it was opened: open it again");
}

hd_status hd_pieces_read(const hd_pieces *pieces, void *out, uint64_t offset, size_t size, hd_error *err)
{
    uint8_t *p = out;
    if (pieces->memory) {
        if (size) memcpy(out, pieces->memory + offset, size);
        return HD_OK;
    }
    while (size) {
        ssize_t n = pread(pieces->file - 1, p, size, (off_t)(pieces->base + offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return hd_error_set(err, HD_ERR_IO, NULL, offset, "cannot read: %s", strerror(errno));
        if (n == 0) return changed(offset, err);
        p += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return HD_OK;
}

hd_status hd_pieces_unchanged(const hd_pieces *pieces, hd_error *err)
{
    struct stat about;
    if (pieces->memory) return HD_OK;
    if (fstat(pieces->file - 1, &about) != 0)
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "its size is unknown: %s", strerror(errno));
    bool same = (uint64_t)about.st_size >= pieces->base + pieces->size &&
                about.st_mtim.tv_sec == pieces->modified.tv_sec && about.st_mtim.tv_nsec == pieces->modified.tv_nsec;
    return same ? HD_OK : changed(HD_OFFSET_NONE, err);
}

const uint8_t *hd_window_at(hd_window *window, uint64_t offset, size_t size, hd_error *err)
{
    enum { LEAST = 1 << 18 };
    hd_bytes *bytes = &window->bytes;
    if (window->pieces->memory) return window->pieces->memory + offset;
    if (offset >= window->offset && offset - window->offset <= bytes->size &&
        size <= bytes->size - (size_t)(offset - window->offset))
        return bytes->data + (offset - window->offset);
    uint64_t left = window->pieces->size - offset;
    size_t more = size < LEAST ? (size_t)(left < LEAST ? left : LEAST) : size;
    bytes->size = 0;
    uint8_t *room = hd_bytes_room(bytes, more + 1);
    if (!room) {
        (void)HD_NOMEM(err);
        return NULL;
    }
    if (hd_pieces_read(window->pieces, room, offset, more, err) != HD_OK) return NULL;
    bytes->size = more;
    window->offset = offset;
    return room;
}

void hd_window_deinit(hd_window *window)
{
    hd_bytes_deinit(&window->bytes);
}
