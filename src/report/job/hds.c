/* hds.c - jobs as files (.hds): chunks, then a directory of them: see docs/formats/hds.md
 *
 * Chunks are ordered by table, then member, so that one table of all ranks is contiguous in the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/compress.h"
#include "base/io/output.h"
#include "base/io/read_at.h"
#include "base/io/temporary.h"
#include "base/memory/vector.h"
#include "base/options.h"
#include "report/job/job.h"

enum { HDS_VERSION = 1, HEADER_BYTES = 16, TRAILER_BYTES = 32, MAGIC_BYTES = 8, FILES_OPEN = 64 };
static const uint8_t file_magic[MAGIC_BYTES] = {'H', 'E', 'D', 'D', 'L', 'E', 'H', 'S'};
static const uint8_t end_magic[MAGIC_BYTES] = {'H', 'S', 'E', 'N', 'D', '\r', '\n', 0x1a};

/* ---- bytes of a file ---- */

static hd_status fail(hd_error *err, const char *path, hd_status status, const char *message)
{
    return hd_error_set(err, status, path, HD_OFFSET_NONE, "%s", message);
}

/* All of [offset, offset + size). */
static hd_status read_at(void *out, int descriptor, uint64_t offset, uint64_t size, const char *path, hd_error *err)
{
    ssize_t got = hd_read_at(descriptor, out, (size_t)size, offset);
    if (got < 0) return fail(err, path, HD_ERR_IO, strerror(errno));
    if ((uint64_t)got < size) return fail(err, path, HD_ERR_IO, "the file has become shorter");
    return HD_OK;
}

static int open_file(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC);
}

hd_status job_chunk_read(uint8_t **out, const hd_job *job, const job_member *member, const job_chunk *chunk,
                         hd_error *err)
{
    *out = chunk->data;
    if (chunk->data) return HD_OK;
    const job_file *file = &job->files[member->file];
    int descriptor = file->descriptor >= 0 ? file->descriptor : open_file(file->path);
    if (descriptor < 0) return fail(err, file->path, HD_ERR_IO, strerror(errno));
    uint8_t *data = malloc(chunk->size);
    hd_status status = data ? read_at(data, descriptor, chunk->offset, chunk->size, file->path, err) : HD_NOMEM(err);
    if (descriptor != file->descriptor) close(descriptor);
    if (status == HD_OK && hd_checksum(data, chunk->size) != chunk->checksum)
        status = hd_error_set(err, HD_ERR_DAMAGED, file->path, chunk->offset, "a table of rank %lld is damaged",
                              (long long)member->about.rank);
    if (status == HD_OK)
        *out = data;
    else
        free(data);
    return status;
}

/* ---- writing ---- */

static void put_string(hd_bytes *out, hd_string text)
{
    hd_bytes_put_varint(out, text.data ? text.size + 1 : 0);
    hd_bytes_put(out, text.data, text.size);
}

static void put_member(hd_bytes *out, const job_member *member, const uint32_t *order, uint32_t tables)
{
    hd_bytes_put_zigzag(out, member->about.rank);
    hd_bytes_put_zigzag(out, member->about.world_size);
    hd_bytes_put_zigzag(out, member->about.base_ns);
    put_string(out, member->about.host);
    put_string(out, member->about.file);
    for (uint32_t t = 0; t < tables; t++) {
        static const job_chunk none;
        const job_chunk *chunk = order[t] < member->chunk_count ? &member->chunks[order[t]] : &none;
        hd_bytes_put_varint(out, chunk->size ? chunk->size + 1 : chunk->is_lost);
        if (!chunk->size) continue;
        hd_bytes_put_varint(out, chunk->plain_size);
        hd_bytes_put_le(out, chunk->checksum, 8);
    }
}

/* The chunks of a table. */
static hd_status write_table(hd_output *out, hd_job *job, uint32_t table, const hd_job_write_options *options,
                             hd_error *err)
{
    for (size_t m = 0; m < job->count; m++) {
        job_member *member = &job->members[m];
        uint8_t *data;
        hd_error why = {0};
        if (table >= member->chunk_count || !member->chunks[table].size) continue;
        job_chunk *chunk = &member->chunks[table];
        hd_status status = job_chunk_read(&data, job, member, chunk, &why);
        if (status == HD_ERR_MEMORY) return HD_NOMEM(err);
        if (status != HD_OK) {
            *chunk = (job_chunk){.is_lost = true};
            if (options->lost) options->lost(options->user, &why);
            continue;
        }
        status = hd_output_write(out, data, chunk->size, err);
        if (data != chunk->data) free(data);
        HD_TRY(status);
    }
    return HD_OK;
}

static hd_status write_directory(hd_output *out, const hd_job *job, const uint32_t *order, hd_error *err)
{
    hd_bytes plain = {0}, packed = {0};
    hd_compressor *compressor = NULL;
    uint64_t offset = hd_output_position(out);
    hd_bytes_put_varint(&plain, job->table_count);
    for (uint32_t t = 0; t < job->table_count; t++)
        put_string(&plain, (hd_string){job->tables[order[t]], strlen(job->tables[order[t]])});
    hd_bytes_put_varint(&plain, job->count);
    for (size_t m = 0; m < job->count; m++) put_member(&plain, &job->members[m], order, job->table_count);
    hd_status status = plain.failed ? HD_NOMEM(err) : hd_compressor_new(&compressor, 3, err);
    if (status == HD_OK) status = hd_compress(&packed, compressor, plain.data, plain.size, err);
    uint64_t size = packed.size, checksum = hd_checksum(packed.data, packed.size);
    hd_bytes_put_le(&packed, offset, 8);
    hd_bytes_put_le(&packed, size, 8);
    hd_bytes_put_le(&packed, checksum, 8);
    hd_bytes_put(&packed, end_magic, MAGIC_BYTES);
    if (status == HD_OK && packed.failed) status = HD_NOMEM(err);
    if (status == HD_OK) status = hd_output_write(out, packed.data, packed.size, err);
    hd_compressor_free(compressor);
    hd_bytes_deinit(&plain);
    hd_bytes_deinit(&packed);
    return status;
}

/* Known tables in list order, then those that only files have, by name: independent of the order of adding. */
static uint32_t *order_tables(const hd_job *job)
{
    uint32_t *order = malloc((job->table_count + 1) * sizeof *order), own = 0;
    while (hd_job_table_at(own)) own++;
    for (uint32_t i = 0; order && i < job->table_count; i++) {
        uint32_t at = i;
        for (; at > own && strcmp(job->tables[order[at - 1]], job->tables[i]) > 0; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    return order;
}

static hd_status write_all(hd_output *out, hd_job *job, const hd_job_write_options *options, hd_error *err)
{
    uint8_t header[HEADER_BYTES] = {0};
    memcpy(header, file_magic, MAGIC_BYTES);
    hd_le_put(header + MAGIC_BYTES, HDS_VERSION, 4);
    uint32_t *order = order_tables(job);
    hd_status status = order ? hd_output_write(out, header, sizeof header, err) : HD_NOMEM(err);
    for (uint32_t t = 0; t < job->table_count && status == HD_OK; t++)
        status = write_table(out, job, order[t], options, err);
    if (status == HD_OK) status = write_directory(out, job, order, err);
    free(order);
    return status;
}

hd_status hd_job_write_to(hd_job *job, hd_byte_sink *sink, const hd_job_write_options *options, hd_error *err)
{
    HD_OWN_OPTIONS(hd_job_write_options, options, err);
    hd_output *out;
    HD_TRY(hd_output_create_sink(&out, sink, &(hd_output_options){HD_OUTPUT_NONE, .sync = options->sync}, err));
    hd_status status = write_all(out, job, options, err);
    if (status == HD_OK) return hd_output_commit(out, err);
    hd_output_abort(out);
    return status;
}

hd_status hd_job_write(hd_job *job, const char *path, const hd_job_write_options *options, hd_error *err)
{
    return hd_job_write_to(job, &(hd_byte_sink){.name = path}, options, err);
}

/* ---- reading ---- */

typedef struct hds_reader {
    hd_job *job;
    const char *path;
    int descriptor;
    bool is_nameless;   /* a temporary file */
    uint64_t directory; /* its offset */
    hd_byte_reader bytes;
    uint32_t *tables; /* of the job, by table of the file */
    uint32_t table_count;
} hds_reader;

static hd_status damaged(const hds_reader *r, hd_error *err)
{
    return fail(err, r->path, HD_ERR_DAMAGED, "this summary is damaged, or was not written to its end");
}

/* The packed directory, checked. */
static hd_status read_directory(hd_bytes *out, hds_reader *r, hd_error *err)
{
    struct stat about;
    uint8_t header[HEADER_BYTES], trailer[TRAILER_BYTES];
    if (fstat(r->descriptor, &about) != 0) return fail(err, r->path, HD_ERR_IO, strerror(errno));
    if (!S_ISREG(about.st_mode)) return fail(err, r->path, HD_ERR_FORMAT, "no summary: not a regular file");
    uint64_t size = (uint64_t)about.st_size;
    if (size < HEADER_BYTES) return fail(err, r->path, HD_ERR_FORMAT, "no summary of ranks (.hds)");
    HD_TRY(read_at(header, r->descriptor, 0, sizeof header, r->path, err));
    if (memcmp(header, file_magic, MAGIC_BYTES) != 0)
        return fail(err, r->path, HD_ERR_FORMAT, "no summary of ranks (.hds)");
    if (hd_le_get(header + MAGIC_BYTES, 4) > HDS_VERSION)
        return fail(err, r->path, HD_ERR_UNSUPPORTED, "a summary that a later version of heddle wrote");
    if (size < HEADER_BYTES + TRAILER_BYTES) return damaged(r, err);
    HD_TRY(read_at(trailer, r->descriptor, size - TRAILER_BYTES, TRAILER_BYTES, r->path, err));
    uint64_t offset = hd_le_get(trailer, 8), bytes = hd_le_get(trailer + 8, 8);
    if (memcmp(trailer + 24, end_magic, MAGIC_BYTES) != 0 || offset < HEADER_BYTES || offset > size ||
        bytes != size - TRAILER_BYTES - offset)
        return damaged(r, err);
    uint8_t *packed = malloc(bytes + 1);
    hd_status status = packed ? read_at(packed, r->descriptor, offset, bytes, r->path, err) : HD_NOMEM(err);
    if (status == HD_OK && hd_checksum(packed, bytes) != hd_le_get(trailer + 16, 8)) status = damaged(r, err);
    if (status == HD_OK && hd_zstd_decompress(out, packed, bytes, bytes * 1000 + 65536, err) != HD_OK)
        status = damaged(r, err);
    free(packed);
    r->directory = offset;
    return status;
}

static bool take_string(hd_string *out, hd_byte_reader *bytes)
{
    uint64_t size = hd_byte_reader_varint(bytes);
    const uint8_t *text = size ? hd_byte_reader_take(bytes, size - 1) : NULL;
    *out = (hd_string){NULL, 0};
    if (!text) return true;
    char *copy = malloc(size);
    if (!copy) return false;
    memcpy(copy, text, size - 1);
    copy[size - 1] = '\0';
    *out = (hd_string){copy, size - 1};
    return true;
}

static hd_status take_tables(hds_reader *r, hd_error *err)
{
    uint64_t count = hd_byte_reader_varint(&r->bytes);
    if (r->bytes.failed || count > 1000) return damaged(r, err);
    r->tables = malloc((count + 1) * sizeof *r->tables);
    if (!r->tables) return HD_NOMEM(err);
    for (; r->table_count < count; r->table_count++) {
        uint64_t size = hd_byte_reader_varint(&r->bytes);
        const uint8_t *name = size ? hd_byte_reader_take(&r->bytes, size - 1) : NULL;
        if (!name || memchr(name, 0, size - 1)) return damaged(r, err);
        r->tables[r->table_count] = job_table_number(r->job, (const char *)name, size - 1);
        if (r->tables[r->table_count] == HD_NONE) return HD_NOMEM(err);
    }
    return HD_OK;
}

static hd_status take_member(job_member *out, hds_reader *r, hd_error *err)
{
    hd_byte_reader *bytes = &r->bytes;
    *out = (job_member){.file = r->job->file_count, .chunk_count = r->job->table_count};
    out->about.rank = hd_byte_reader_zigzag(bytes);
    out->about.world_size = hd_byte_reader_zigzag(bytes);
    out->about.base_ns = hd_byte_reader_zigzag(bytes);
    out->chunks = calloc(out->chunk_count + 1, sizeof *out->chunks);
    bool fine = take_string(&out->about.host, bytes) && take_string(&out->about.file, bytes) && out->chunks;
    for (uint32_t t = 0; fine && t < r->table_count; t++) {
        job_chunk *chunk = &out->chunks[r->tables[t]];
        uint64_t size = hd_byte_reader_varint(bytes);
        chunk->is_lost = size == 1;
        if (size-- <= 1) continue;
        *chunk = (job_chunk){.size = size, .plain_size = hd_byte_reader_varint(bytes)};
        chunk->checksum = hd_byte_reader_le(bytes, 8);
        if (size > r->directory || chunk->plain_size / 1000 > size + 65) bytes->failed = true;
    }
    if (fine && !bytes->failed) return HD_OK;
    if (!out->chunks) out->chunk_count = 0;
    job_member_deinit(out);
    return fine ? damaged(r, err) : HD_NOMEM(err);
}

/* Where chunks lie follows from their sizes. */
static bool place_chunks(const hds_reader *r, size_t first)
{
    uint64_t offset = HEADER_BYTES;
    for (uint32_t t = 0; t < r->table_count; t++) {
        for (size_t m = first; m < r->job->count; m++) {
            job_chunk *chunk = &r->job->members[m].chunks[r->tables[t]];
            chunk->offset = offset;
            if (chunk->size > r->directory - offset) return false;
            offset += chunk->size;
        }
    }
    return offset == r->directory;
}

static hd_status take_members(hds_reader *r, hd_error *err)
{
    size_t first = r->job->count;
    uint64_t count = hd_byte_reader_varint(&r->bytes);
    hd_status status = HD_OK;
    for (uint64_t i = 0; i < count && status == HD_OK; i++) {
        job_member member;
        status = take_member(&member, r, err);
        if (status == HD_OK) status = job_add_member(r->job, &member, err);
    }
    bool fine = !r->bytes.failed && hd_byte_reader_left(&r->bytes) == 0;
    if (status == HD_OK && !(fine && place_chunks(r, first))) status = damaged(r, err);
    while (status != HD_OK && r->job->count > first) job_member_deinit(&r->job->members[--r->job->count]);
    return status;
}

static hd_status add_file(hd_job *job, hds_reader *r, hd_error *err)
{
    char *path = strdup(r->path);
    if (!path || !hd_grow((void **)&job->files, &job->file_capacity, job->file_count, sizeof *job->files)) {
        free(path);
        return HD_NOMEM(err);
    }
    bool stays_open = r->is_nameless || job->file_count < FILES_OPEN;
    job->files[job->file_count++] = (job_file){path, stays_open ? r->descriptor : -1};
    if (stays_open) r->descriptor = -1;
    return HD_OK;
}

/* Closes the descriptor, or keeps it. */
static hd_status add_opened(hds_reader *r, hd_error *err)
{
    hd_job *job = r->job;
    hd_bytes directory = {0};
    pthread_mutex_lock(&job->lock);
    size_t first = job->count;
    hd_status status = read_directory(&directory, r, err);
    r->bytes = hd_byte_reader_of(directory.data, directory.size);
    if (status == HD_OK) status = take_tables(r, err);
    if (status == HD_OK) status = take_members(r, err);
    if (status == HD_OK) status = add_file(job, r, err);
    while (status != HD_OK && job->count > first) job_member_deinit(&job->members[--job->count]);
    pthread_mutex_unlock(&job->lock);
    if (r->descriptor >= 0) close(r->descriptor);
    hd_bytes_deinit(&directory);
    free(r->tables);
    return status;
}

hd_status hd_job_add_file(hd_job *job, const char *path, hd_error *err)
{
    hds_reader r = {.job = job, .path = path, .descriptor = open_file(path)};
    return r.descriptor < 0 ? fail(err, path, HD_ERR_IO, strerror(errno)) : add_opened(&r, err);
}

hd_status hd_job_add_bytes(hd_job *job, const void *bytes, size_t size, hd_error *err)
{
    hds_reader r = {.job = job, .path = "<memory>", .is_nameless = true};
    HD_TRY(hd_temporary_nameless(&r.descriptor, err));
    for (size_t done = 0; done < size;) {
        ssize_t wrote = write(r.descriptor, (const char *)bytes + done, size - done);
        if (wrote > 0) done += (size_t)wrote;
        if (wrote >= 0 || errno == EINTR) continue;
        int problem = errno;
        close(r.descriptor);
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "cannot write a temporary file: %s; set TMPDIR",
                            strerror(problem));
    }
    return add_opened(&r, err);
}

bool hd_job_is_file(const char *path)
{
    uint8_t magic[MAGIC_BYTES];
    int descriptor = open_file(path);
    bool is = descriptor >= 0 && pread(descriptor, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
              memcmp(magic, file_magic, sizeof magic) == 0;
    if (descriptor >= 0) close(descriptor);
    return is;
}
