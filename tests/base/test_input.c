/* test_input.c - src/base/io/input*.c; fixtures are made here with ISA-L and libzstd */
#include "base/io/input.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "base/io/compress.h"

enum { TEXT_BYTES = 3000, LARGE_BYTES = 700000, FRAME_MAX = LARGE_BYTES + 4096 };

typedef struct fixture {
    char folder[64], path[96];
    uint8_t *text, *packed, *got; /* LARGE_BYTES of compressible text; FRAME_MAX each */
    size_t got_size;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    /* Files are written anew thousands of times, which some disks take long to forget. */
    const char *root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(f->folder, sizeof f->folder, "%s/heddle-test-input-XXXXXX", root);
    if (!mkdtemp(f->folder)) return -1;
    snprintf(f->path, sizeof f->path, "%s/file", f->folder);
    f->text = malloc(LARGE_BYTES);
    f->packed = malloc(2 * FRAME_MAX);
    f->got = malloc(2 * FRAME_MAX);
    uint32_t seed = 1;
    for (size_t i = 0; i < LARGE_BYTES; i++) {
        seed = seed * 1664525 + 1013904223;
        f->text[i] = i % 5 ? (uint8_t) "{\"ts\": , 0123"[i % 13] : (uint8_t)('a' + (seed >> 24) % 26);
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    unlink(f->path);
    int result = rmdir(f->folder); /* fails if anything else was left behind */
    free(f->text);
    free(f->packed);
    free(f->got);
    free(f);
    return result;
}

static size_t gzip(uint8_t *out, const uint8_t *text, size_t size)
{
    struct isal_zstream stream;
    isal_deflate_init(&stream);
    stream.gzip_flag = IGZIP_GZIP;
    stream.end_of_stream = 1;
    stream.next_in = (uint8_t *)(uintptr_t)text;
    stream.avail_in = (uint32_t)size;
    stream.next_out = out;
    stream.avail_out = FRAME_MAX;
    assert_int_equal(isal_deflate(&stream), COMP_OK);
    assert_int_equal(stream.internal_state.state, ZSTATE_END);
    return stream.total_out;
}

static size_t zstd(uint8_t *out, const uint8_t *text, size_t size)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    size_t packed = ZSTD_compress2(context, out, FRAME_MAX, text, size);
    assert_false(ZSTD_isError(packed));
    ZSTD_freeCCtx(context);
    return packed;
}

static void put_file(const fixture *f, const void *bytes, size_t size)
{
    FILE *file = fopen(f->path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static hd_input *open_input(const fixture *f, bool spool)
{
    hd_error err = {0};
    hd_input *in = NULL;
    hd_status status = hd_input_open(&in, f->path, &(hd_input_options){.spool = spool}, &err);
    if (status != HD_OK) fail_msg("%s: %s", err.path, err.message);
    return in;
}

/* Reads to the end in pieces of `capacity`; checks that pieces are full but for the last one. */
static hd_status read_all(fixture *f, hd_input *in, size_t capacity)
{
    hd_error err = {0};
    f->got_size = 0;
    bool was_short = false;
    for (;;) {
        size_t size = 0;
        assert_true(f->got_size + capacity <= 2 * FRAME_MAX);
        hd_status status = hd_input_next(in, f->got + f->got_size, capacity, &size, &err);
        if (status != HD_OK) {
            assert_int_equal(size, 0);
            assert_true(status == HD_END || err.status == status);
            return status;
        }
        assert_false(was_short);
        assert_true(size > 0 && size <= capacity);
        was_short = size < capacity;
        f->got_size += size;
    }
}

static hd_status read_file(fixture *f, const void *bytes, size_t size, size_t capacity, hd_input **out_in)
{
    put_file(f, bytes, size);
    *out_in = open_input(f, false);
    return read_all(f, *out_in, capacity);
}

static void assert_got(const fixture *f, const uint8_t *text, size_t size)
{
    assert_int_equal(f->got_size, size);
    assert_memory_equal(f->got, text, size);
}

static void assert_damage(const hd_input *in, const char *code)
{
    assert_int_equal(hd_input_damage_count(in), 1);
    assert_string_equal(hd_input_damage_at(in, 0)->code, code);
    assert_null(hd_input_damage_at(in, 1));
}

static void test_input__plain_gzip_and_zstd_give_the_same_bytes_at_any_capacity(void **state)
{
    fixture *f = *state;
    static const size_t capacities[] = {1, 7, 4096, 65536, 131072, LARGE_BYTES, LARGE_BYTES + 1};
    for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
        for (int kind = HD_COMPRESSION_NONE; kind <= HD_COMPRESSION_ZSTD; kind++) {
            size_t size = LARGE_BYTES;
            if (kind == HD_COMPRESSION_NONE) memcpy(f->packed, f->text, size);
            if (kind == HD_COMPRESSION_GZIP) size = gzip(f->packed, f->text, LARGE_BYTES);
            if (kind == HD_COMPRESSION_ZSTD) size = zstd(f->packed, f->text, LARGE_BYTES);
            hd_input *in;
            assert_int_equal(read_file(f, f->packed, size, capacities[i], &in), HD_END);
            assert_got(f, f->text, LARGE_BYTES);
            assert_int_equal(hd_input_compression(in), kind);
            assert_int_equal(hd_input_damage_count(in), 0);
            assert_int_equal(hd_input_size_bytes(in), size);
            assert_int_equal(hd_input_stored_position(in), size);
            assert_int_equal(hd_input_is_random(in), kind == HD_COMPRESSION_NONE);
            assert_int_equal(hd_input_rewind(in, NULL), HD_OK);
            assert_int_equal(hd_input_stored_position(in), 0);
            assert_int_equal(read_all(f, in, capacities[i]), HD_END);
            assert_got(f, f->text, LARGE_BYTES);
            hd_input_close(in);
        }
    }
}

/* Every cut of a two-member stream: what came is a prefix, growing with the cut, and the damage is named. */
static void check_every_cut(fixture *f, size_t size, size_t first_size, size_t magic, const char *code)
{
    size_t before = 0;
    for (size_t cut = magic; cut <= size; cut++) {
        hd_input *in;
        hd_status status = read_file(f, f->packed, cut, 1000, &in);
        if (status == HD_ERR_DAMAGED) {
            assert_int_equal(f->got_size, 0);
        } else {
            assert_int_equal(status, HD_END);
        }
        assert_memory_equal(f->got, f->text, f->got_size);
        assert_true(f->got_size >= before);
        before = f->got_size;
        if (cut == first_size || cut == size) {
            assert_int_equal(hd_input_damage_count(in), 0);
        } else {
            assert_damage(in, code);
            assert_int_equal(hd_input_damage_at(in, 0)->offset, f->got_size);
        }
        if (cut >= first_size) assert_true(f->got_size >= TEXT_BYTES);
        hd_input_close(in);
    }
    assert_int_equal(before, 2 * TEXT_BYTES);
}

static void test_input__truncated_gzip_delivers_what_it_has(void **state)
{
    fixture *f = *state;
    size_t first = gzip(f->packed, f->text, TEXT_BYTES);
    size_t size = first + gzip(f->packed + first, f->text + TEXT_BYTES, TEXT_BYTES);
    check_every_cut(f, size, first, 2, "gzip.truncated");
}

static void test_input__truncated_zstd_delivers_what_it_has(void **state)
{
    fixture *f = *state;
    size_t first = zstd(f->packed, f->text, TEXT_BYTES);
    size_t size = first + zstd(f->packed + first, f->text + TEXT_BYTES, TEXT_BYTES);
    check_every_cut(f, size, first, 4, "zstd.truncated");
}

static void test_input__bad_zstd_block_keeps_the_blocks_before_it(void **state)
{
    fixture *f = *state;
    size_t size = zstd(f->packed, f->text, LARGE_BYTES);
    f->packed[size - 4 - 1000] ^= 0x55; /* in the last block of six */
    hd_input *in;
    assert_int_equal(read_file(f, f->packed, size, LARGE_BYTES, &in), HD_END);
    assert_int_equal(hd_input_damage_count(in), 1);
    assert_true(f->got_size >= 5 * 131072);
    assert_memory_equal(f->got, f->text, 5 * 131072);
    hd_input_close(in);
}

static void check_every_flip(fixture *f, size_t size, size_t magic)
{
    uint8_t *first = malloc(2 * FRAME_MAX);
    for (size_t bit = 8 * magic; bit < 8 * size; bit++) {
        f->packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        hd_input *in;
        hd_status status = read_file(f, f->packed, size, 65536, &in);
        f->packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_true(status == HD_END || status == HD_ERR_DAMAGED || status == HD_ERR_UNSUPPORTED ||
                    status == HD_ERR_LIMIT);
        if (status != HD_END) assert_int_equal(f->got_size, 0);
        bool same = f->got_size == TEXT_BYTES && memcmp(f->got, f->text, TEXT_BYTES) == 0;
        if (status == HD_END && !same) assert_true(hd_input_damage_count(in) > 0);
        size_t first_size = f->got_size;
        memcpy(first, f->got, first_size);
        assert_int_equal(hd_input_rewind(in, NULL), HD_OK); /* the capacity changes nothing */
        assert_int_equal(read_all(f, in, 11), status);
        assert_int_equal(f->got_size, first_size);
        assert_memory_equal(f->got, first, first_size);
        hd_input_close(in);
    }
    free(first);
}

static void test_input__a_flipped_gzip_bit_is_named_or_harmless(void **state)
{
    fixture *f = *state;
    check_every_flip(f, gzip(f->packed, f->text, TEXT_BYTES), 2);
}

/* Appends bits to deflate data, the lowest first. */
static void put_bits(uint8_t *data, size_t *at, uint32_t bits, unsigned count)
{
    for (; count--; bits >>= 1, ++*at) data[*at / 8] |= (uint8_t)((bits & 1) << *at % 8);
}

/* ISA-L for x86-64 counts the bytes of a match as output before it sees that there is nothing to match. */
static void test_input__deflate_data_ends_before_an_impossible_match(void **state)
{
    enum { LETTERS = 40 };
    static const uint8_t head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3}, zlib_head[2] = {0x78, 0x9c};
    fixture *f = *state;
    uint8_t deflated[400] = {0};
    size_t bits = 0;
    put_bits(deflated, &bits, 1 | 1 << 1, 3);                             /* the last block, with fixed codes */
    for (int i = 0; i < LETTERS; i++) put_bits(deflated, &bits, 0x89, 8); /* 'a': 0x30 + 97, the highest bit first */
    put_bits(deflated, &bits, 0xa3, 8);                                   /* 258 bytes … */
    put_bits(deflated, &bits, 0x17 | 0x1fff << 5, 18);                    /* … from 32,768 before: too far */
    memcpy(f->packed, head, sizeof head);
    memcpy(f->packed + sizeof head, deflated, sizeof deflated);
    hd_input *in;
    assert_int_equal(read_file(f, f->packed, sizeof head + sizeof deflated, 65536, &in), HD_END);
    assert_damage(in, "gzip.corrupt");
    hd_input_close(in);
    assert_int_equal(f->got_size, LETTERS);
    for (size_t i = 0; i < LETTERS; i++) assert_int_equal(f->got[i], 'a');

    hd_bytes out = {0};
    assert_int_equal(hd_gzip_decompress(&out, f->packed, sizeof head + sizeof deflated, 1000, NULL), HD_ERR_DAMAGED);
    assert_int_equal(out.size, LETTERS);
    memcpy(f->packed, zlib_head, sizeof zlib_head);
    memcpy(f->packed + sizeof zlib_head, deflated, sizeof deflated);
    assert_int_equal(hd_zlib_decompress(&out, f->packed, sizeof zlib_head + sizeof deflated, 1000, NULL),
                     HD_ERR_DAMAGED);
    assert_int_equal(out.size, 2 * LETTERS);
    hd_bytes_deinit(&out);
}

static void test_input__a_flipped_zstd_bit_is_named_or_harmless(void **state)
{
    fixture *f = *state;
    check_every_flip(f, zstd(f->packed, f->text, TEXT_BYTES), 4);
}

static void test_input__bad_checksum_does_not_stop_the_next_member(void **state)
{
    fixture *f = *state;
    for (int kind = 0; kind < 2; kind++) {
        size_t (*pack)(uint8_t *, const uint8_t *, size_t) = kind ? zstd : gzip;
        size_t size = pack(f->packed, f->text, TEXT_BYTES);
        f->packed[size - (kind ? 1 : 5)] ^= 1;
        size += pack(f->packed + size, f->text + TEXT_BYTES, TEXT_BYTES);
        hd_input *in;
        assert_int_equal(read_file(f, f->packed, size, 4096, &in), HD_END);
        assert_got(f, f->text, 2 * TEXT_BYTES);
        assert_damage(in, kind ? "zstd.checksum" : "gzip.checksum");
        assert_int_equal(hd_input_damage_at(in, 0)->offset, TEXT_BYTES);
        hd_input_close(in);
    }
}

static void test_input__trailing_garbage_is_named_and_zero_padding_is_not(void **state)
{
    fixture *f = *state;
    for (int kind = 0; kind < 3; kind++) {
        size_t size = (kind ? gzip : zstd)(f->packed, f->text, TEXT_BYTES);
        memcpy(f->packed + size, kind == 2 ? "\0\0\0\0\0" : "junk!", 5);
        hd_input *in;
        assert_int_equal(read_file(f, f->packed, size + 5, 4096, &in), HD_END);
        assert_got(f, f->text, TEXT_BYTES);
        if (kind == 2) {
            assert_int_equal(hd_input_damage_count(in), 0);
        } else {
            assert_damage(in, kind ? "gzip.trailing-garbage" : "zstd.trailing-garbage");
        }
        hd_input_close(in);
    }
}

/* Three members, the second damaged at one byte after the other, or junk before it: the first and the third come. */
static void check_the_others_come(fixture *f, size_t (*pack)(uint8_t *, const uint8_t *, size_t), size_t junk)
{
    size_t first = pack(f->packed, f->text, TEXT_BYTES);
    for (size_t i = 0; i < junk; i++) f->packed[first + i] = (uint8_t)(i * 37 + 1);
    size_t start = first + junk, end = start + pack(f->packed + start, f->text, TEXT_BYTES);
    size_t size = end + pack(f->packed + end, f->text + TEXT_BYTES, TEXT_BYTES);
    for (size_t at = start; at < end; at++) {
        hd_input *in;
        /* a flag of gzip's header, a length in zstd's block may say that it goes on to the end of the file */
        if (pack == zstd ? at < start + 16 : at == start + 3) continue;
        f->packed[at] ^= 0x55;
        assert_int_equal(read_file(f, f->packed, size, 65536, &in), HD_END);
        f->packed[at] ^= 0x55;
        if (f->got_size < 2 * TEXT_BYTES)
            fail_msg("%zu bytes, flipped at %zu of %zu", f->got_size, at - start, end - start);
        assert_memory_equal(f->got, f->text, TEXT_BYTES);
        assert_memory_equal(f->got + f->got_size - TEXT_BYTES, f->text + TEXT_BYTES, TEXT_BYTES);
        if (f->got_size != 3 * TEXT_BYTES || memcmp(f->got + TEXT_BYTES, f->text, TEXT_BYTES) != 0)
            assert_true(hd_input_damage_count(in) > 0);
        hd_input_close(in);
    }
}

static void test_input__behind_damage_the_next_member_is_read(void **state)
{
    for (size_t junk = 0; junk < 10; junk += 9) {
        check_the_others_come(*state, gzip, junk);
        check_the_others_come(*state, zstd, junk);
    }
}

/* Both byte orders, in buffers of any size; as iconv writes it. */
static void test_input__utf_16_comes_as_utf_8(void **state)
{
    fixture *f = *state;
    static const uint16_t units[] = {'a', 0xe9, 0x20ac, 0xd83d, 0xde00, 0xd800, 'b', 0xfffd, 0xdc00, '\n'};
    static const char wanted[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd"
                                 "b\xef\xbf\xbd\xef\xbf\xbd\n\xef\xbf\xbd";
    for (int big = 0; big < 2; big++) {
        size_t size = 0, count = sizeof units / sizeof *units;
        memcpy(f->packed, big ? "\xfe\xff" : "\xff\xfe", 2);
        for (size = 2; size < 2 + 2 * count; size += 2) {
            f->packed[size + !big] = (uint8_t)(units[size / 2 - 1] >> 8);
            f->packed[size + big] = (uint8_t)units[size / 2 - 1];
        }
        f->packed[size++] = 'x'; /* half of a unit */
        for (size_t capacity = 1; capacity < 40; capacity++) {
            hd_input *in;
            assert_int_equal(read_file(f, f->packed, size, capacity, &in), HD_END);
            assert_got(f, (const uint8_t *)wanted, sizeof wanted - 1);
            assert_int_equal(hd_input_damage_count(in), 1);
            assert_string_equal(hd_input_damage_at(in, 0)->code, "utf16.unpaired");
            assert_int_equal(hd_input_damage_at(in, 0)->count, 3);
            assert_int_equal(hd_input_compression(in), HD_COMPRESSION_NONE);
            assert_false(hd_input_is_random(in)); /* offsets are those of the text, not of the file */
            hd_input_close(in);
        }
    }
}

static void test_input__a_skippable_frame_is_skipped(void **state)
{
    fixture *f = *state;
    memcpy(f->packed, "\x5a\x2a\x4d\x18\x03\0\0\0abc", 11);
    size_t size = 11 + zstd(f->packed + 11, f->text, TEXT_BYTES);
    hd_input *in;
    assert_int_equal(read_file(f, f->packed, size, 4096, &in), HD_END);
    assert_got(f, f->text, TEXT_BYTES);
    assert_int_equal(hd_input_damage_count(in), 0);
    hd_input_close(in);
}

/* ---- Pipes ---- */

/* A FIFO whose writer, a child, sends the bytes in pieces of `piece`. */
static pid_t feed_fifo(const fixture *f, const uint8_t *bytes, size_t size, size_t piece)
{
    assert_int_equal(mkfifo(f->path, 0600), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    FILE *file = fopen(f->path, "wb");
    if (!file) _exit(1);
    setvbuf(file, NULL, _IONBF, 0);
    for (size_t at = 0; at < size; at += piece) fwrite(bytes + at, 1, size - at < piece ? size - at : piece, file);
    fclose(file);
    _exit(0);
}

static void test_input__pipes_with_short_reads_are_whole_and_rewind_needs_spool(void **state)
{
    fixture *f = *state;
    /* a header with a name, fed byte by byte */
    uint8_t named[4096] = "\x1f\x8b\x08\x08\0\0\0\0\0\xff"
                          "a-name.json";
    size_t size = gzip(f->packed, f->text, TEXT_BYTES);
    memcpy(named + 22, f->packed + 10, size - 10);
    for (int kind = 0; kind < 6; kind++) {
        bool spool = kind % 2, plain = kind >= 4, frames = kind >= 2;
        const uint8_t *bytes = plain ? f->text : frames ? f->packed : named;
        size_t stored = plain ? TEXT_BYTES : frames ? zstd(f->packed, f->text, TEXT_BYTES) : size + 12;
        pid_t child = feed_fifo(f, bytes, stored, 1);
        hd_input *in = open_input(f, spool);
        assert_int_equal(hd_input_size_bytes(in), 0);
        assert_false(hd_input_is_random(in));
        assert_int_equal(read_all(f, in, 999), HD_END);
        assert_got(f, f->text, TEXT_BYTES);
        assert_int_equal(hd_input_damage_count(in), 0);
        assert_int_equal(hd_input_size_bytes(in), stored);
        assert_int_equal(hd_input_is_random(in), spool && plain);
        hd_error err = {0};
        assert_int_equal(hd_input_rewind(in, &err), spool ? HD_OK : HD_ERR_UNSUPPORTED);
        if (spool) {
            assert_int_equal(read_all(f, in, 1000), HD_END);
            assert_got(f, f->text, TEXT_BYTES);
        }
        hd_input_close(in);
        waitpid(child, NULL, 0);
        unlink(f->path);
    }
}

static void test_input__spool_rewinds_in_the_middle_of_a_pipe(void **state)
{
    fixture *f = *state;
    pid_t child = feed_fifo(f, f->text, LARGE_BYTES, 5000);
    hd_input *in = open_input(f, true);
    size_t got = 0;
    assert_int_equal(hd_input_next(in, f->got, 100000, &got, NULL), HD_OK);
    assert_int_equal(got, 100000);
    assert_int_equal(hd_input_rewind(in, NULL), HD_OK);
    assert_int_equal(read_all(f, in, 333333), HD_END);
    assert_got(f, f->text, LARGE_BYTES);
    size_t size = 0;
    assert_int_equal(hd_input_pread(in, f->got, 100, LARGE_BYTES - 50, &size, NULL), HD_OK);
    assert_int_equal(size, 50);
    hd_input_close(in);
    waitpid(child, NULL, 0);
}

/* ---- Random access, failures ---- */

typedef struct reader_job {
    hd_input *in;
    const uint8_t *text;
    int wrong;
} reader_job;

static void *read_randomly(void *opaque)
{
    reader_job *job = opaque;
    uint8_t piece[5000];
    for (uint64_t at = 0; at + sizeof piece <= LARGE_BYTES; at += 3001) {
        size_t size = 0;
        if (hd_input_pread(job->in, piece, sizeof piece, at, &size, NULL) != HD_OK || size != sizeof piece ||
            memcmp(piece, job->text + at, size) != 0)
            job->wrong++;
    }
    return NULL;
}

static void test_input__pread_serves_several_threads(void **state)
{
    fixture *f = *state;
    put_file(f, f->text, LARGE_BYTES);
    hd_input *in = open_input(f, false);
    pthread_t threads[4];
    reader_job jobs[4];
    for (int i = 0; i < 4; i++) {
        jobs[i] = (reader_job){in, f->text, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, read_randomly, &jobs[i]), 0);
    }
    assert_int_equal(read_all(f, in, 4096), HD_END);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(jobs[i].wrong, 0);
    }
    assert_got(f, f->text, LARGE_BYTES);
    size_t size = 1;
    assert_int_equal(hd_input_pread(in, f->got, 1, LARGE_BYTES, &size, NULL), HD_END);
    assert_int_equal(hd_input_pread(in, f->got, 1, UINT64_MAX, &size, NULL), HD_END);
    assert_int_equal(size, 0);
    hd_input_close(in);
}

static void check_open_fails(const char *path, const char *expected)
{
    hd_error err = {0};
    hd_input *in = NULL;
    assert_int_equal(hd_input_open(&in, path, NULL, &err), HD_ERR_IO);
    assert_null(in);
    assert_string_equal(err.path, path);
    if (!strstr(err.message, expected)) fail_msg("%s", err.message);
}

static void test_input__what_cannot_be_read_says_why(void **state)
{
    fixture *f = *state;
    check_open_fails(f->folder, "is a directory");
    check_open_fails(f->path, "No such file");
    check_open_fails("/dev/null", "is empty");
    put_file(f, "", 0);
    check_open_fails(f->path, "is empty");
    chmod(f->path, 0);
    if (geteuid() != 0) check_open_fails(f->path, "Permission denied");
    assert_int_equal(hd_input_open(&(hd_input *){NULL}, f->path, &(hd_input_options){.zstd_window_log_max = 40}, NULL),
                     HD_ERR_ARGUMENT);
}

static void test_input__nothing_decodable_is_an_error_and_gzip_of_nothing_is_not(void **state)
{
    fixture *f = *state;
    hd_input *in;
    assert_int_equal(read_file(f, "\x1f\x8b\x08\0garbage garbage", 19, 100, &in), HD_ERR_DAMAGED);
    hd_input_close(in);
    assert_int_equal(read_file(f, f->packed, gzip(f->packed, f->text, 0), 100, &in), HD_END);
    assert_int_equal(hd_input_damage_count(in), 0);
    hd_input_close(in);
}

static void test_input__a_zstd_window_above_the_limit_is_refused(void **state)
{
    fixture *f = *state;
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 24);
    ZSTD_outBuffer out = {f->packed, FRAME_MAX, 0};
    ZSTD_inBuffer bytes = {f->text, LARGE_BYTES, 0};
    ZSTD_compressStream2(context, &out, &bytes, ZSTD_e_continue);
    ZSTD_compressStream2(context, &out, &bytes, ZSTD_e_end);
    ZSTD_freeCCtx(context);
    put_file(f, f->packed, out.pos);
    for (uint32_t log = 20; log <= 24; log += 4) {
        hd_input *in = NULL;
        assert_int_equal(hd_input_open(&in, f->path, &(hd_input_options){.zstd_window_log_max = log}, NULL), HD_OK);
        assert_int_equal(read_all(f, in, 4096), log == 20 ? HD_ERR_LIMIT : HD_END);
        hd_input_close(in);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_input__plain_gzip_and_zstd_give_the_same_bytes_at_any_capacity),
        TEST(test_input__truncated_gzip_delivers_what_it_has),
        TEST(test_input__truncated_zstd_delivers_what_it_has),
        TEST(test_input__bad_zstd_block_keeps_the_blocks_before_it),
        TEST(test_input__a_flipped_gzip_bit_is_named_or_harmless),
        TEST(test_input__deflate_data_ends_before_an_impossible_match),
        TEST(test_input__a_flipped_zstd_bit_is_named_or_harmless),
        TEST(test_input__bad_checksum_does_not_stop_the_next_member),
        TEST(test_input__trailing_garbage_is_named_and_zero_padding_is_not),
        TEST(test_input__a_skippable_frame_is_skipped),
        TEST(test_input__utf_16_comes_as_utf_8),
        TEST(test_input__behind_damage_the_next_member_is_read),
        TEST(test_input__pipes_with_short_reads_are_whole_and_rewind_needs_spool),
        TEST(test_input__spool_rewinds_in_the_middle_of_a_pipe),
        TEST(test_input__pread_serves_several_threads),
        TEST(test_input__what_cannot_be_read_says_why),
        TEST(test_input__nothing_decodable_is_an_error_and_gzip_of_nothing_is_not),
        TEST(test_input__a_zstd_window_above_the_limit_is_refused),
    };
    return cmocka_run_group_tests_name("input", tests, NULL, NULL);
}
