/* test_bytes.c - src/base: growing buffers, checked reading, pieces of memory compressed */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/io/compress.h"
#include "rounds.h"

static void test_bytes__numbers_come_back(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, (uint64_t)1 << 63, UINT64_MAX};
    static const int64_t whole[] = {0, -1, 1, -64, 64, INT64_MIN, INT64_MAX};
    hd_bytes bytes = {0};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        size_t before = bytes.size;
        hd_bytes_put_varint(&bytes, numbers[i]);
        assert_int_equal(bytes.size - before, hd_varint_size(numbers[i]));
    }
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) hd_bytes_put_zigzag(&bytes, whole[i]);
    hd_bytes_put_u8(&bytes, 200);
    hd_bytes_put_le(&bytes, 0x0102030405060708u, 8);
    hd_bytes_put_le(&bytes, 0x010203, 3);
    assert_false(bytes.failed);
    hd_byte_reader reader = hd_byte_reader_of(bytes.data, bytes.size);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_true(hd_byte_reader_varint(&reader) == numbers[i]);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) assert_true(hd_byte_reader_zigzag(&reader) == whole[i]);
    assert_int_equal(hd_byte_reader_u8(&reader), 200);
    assert_true(hd_byte_reader_le(&reader, 8) == 0x0102030405060708u);
    assert_int_equal(hd_byte_reader_le(&reader, 3), 0x010203);
    assert_int_equal(hd_byte_reader_left(&reader), 0);
    assert_false(reader.failed);
    hd_bytes_deinit(&bytes);
}

static void test_bytes__a_buffer_grows_from_nothing_to_megabytes(void **state)
{
    (void)state;
    char block[1000];
    hd_bytes bytes = {0};
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 5000; i++) hd_bytes_put(&bytes, block, sizeof block);
    assert_int_equal(bytes.size, 5000000);
    assert_int_equal(bytes.data[4999999], 'x');
    assert_null(hd_bytes_room(&bytes, SIZE_MAX - 10)); /* more than there is */
    assert_true(bytes.failed);
    hd_bytes_put(&bytes, block, 1); /* and nothing happens any more */
    assert_int_equal(bytes.size, 5000000);
    hd_bytes_deinit(&bytes);
}

static void test_bytes__reading_past_the_end_fails_and_stays_failed(void **state)
{
    (void)state;
    static const uint8_t data[] = {5, 0x80, 0x80};
    hd_byte_reader reader = hd_byte_reader_of(data, sizeof data);
    assert_int_equal(hd_byte_reader_u8(&reader), 5);
    assert_true(hd_byte_reader_varint(&reader) == 0); /* never ends */
    assert_true(reader.failed);
    reader = hd_byte_reader_of(data, sizeof data);
    assert_null(hd_byte_reader_take(&reader, 4));
    assert_int_equal(hd_byte_reader_u8(&reader), 0);
    assert_true(hd_byte_reader_varint(&reader) == 0);
}

static void test_bytes__a_varint_of_more_than_64_bits_is_refused(void **state)
{
    (void)state;
    uint8_t data[11];
    memset(data, 0xff, sizeof data);
    data[9] = 1;
    hd_byte_reader reader = hd_byte_reader_of(data, sizeof data);
    assert_true(hd_byte_reader_varint(&reader) == UINT64_MAX);
    data[9] = 2;
    reader = hd_byte_reader_of(data, sizeof data);
    hd_byte_reader_varint(&reader);
    assert_true(reader.failed);
}

/* As many as were read one by one, and refused where those are, wherever the bytes end. */
static void test_bytes__varints_that_nobody_wants_are_skipped_as_they_are_read(void **state)
{
    (void)state;
    uint32_t seed = hd_test_seed(7);
    size_t rounds = hd_test_rounds(HD_TEST_BY_BUILD(400000, 40000)), refused = 0;
    for (size_t round = 0; round < rounds; round++) {
        uint8_t data[48];
        seed = seed * 1103515245 + 12345;
        size_t size = (seed >> 16) % (sizeof data + 1), count = (seed >> 24) % 24;
        uint32_t goes_on = (seed >> 12) % 16; /* of 16 bytes so many do not end a number */
        for (size_t i = 0; i < size; i++) {
            seed = seed * 1103515245 + 12345;
            data[i] = (uint8_t)((seed >> 24 & 0x7f) | ((seed >> 16) % 16 < goes_on ? 0x80 : 0));
        }
        uint8_t *exact = malloc(size + 1); /* so that a byte too far is seen */
        memcpy(exact, data, size);
        hd_byte_reader one = hd_byte_reader_of(exact, size), all = one;
        for (size_t i = 0; i < count; i++) hd_byte_reader_varint(&one);
        hd_byte_reader_skip_varints(&all, count);
        assert_int_equal(one.failed, all.failed);
        if (!one.failed) assert_int_equal(one.at, all.at);
        refused += one.failed;
        free(exact);
    }
    assert_true(refused > rounds / 10 && refused < rounds * 9 / 10);
}

/* Text that compresses, but not to nothing. */
static void fill(uint8_t *data, size_t size)
{
    uint32_t seed = 1;
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1103515245 + 12345;
        data[i] = "abcdefgh"[seed >> 29];
    }
}

static void test_compress__zstd_frames_and_zlib_streams_come_back(void **state)
{
    (void)state;
    for (size_t size = 0; size < 400000; size = size * 3 + 1) {
        uint8_t *data = malloc(size + 1), *back = malloc(size + 1);
        hd_bytes packed = {0}, plain = {0};
        hd_compressor *compressor;
        hd_decompressor *decompressor = NULL;
        fill(data, size);
        assert_int_equal(hd_compressor_new(&compressor, 3, NULL), HD_OK);
        hd_bytes_put_u8(&packed, 1); /* appended to, not overwritten */
        assert_int_equal(hd_compress(&packed, compressor, data, size, NULL), HD_OK);
        assert_int_equal(hd_decompress(back, size, &decompressor, packed.data + 1, packed.size - 1, NULL), HD_OK);
        assert_memory_equal(back, data, size);
        assert_int_equal(hd_decompress(back, size + 1, &decompressor, packed.data + 1, packed.size - 1, NULL),
                         HD_ERR_DAMAGED);
        assert_int_equal(hd_decompress(back, size, &decompressor, packed.data + 1, packed.size - 2, NULL),
                         HD_ERR_DAMAGED);
        if (size)
            assert_int_equal(hd_decompress(back, size - 1, &decompressor, packed.data + 1, packed.size - 1, NULL),
                             HD_ERR_DAMAGED);
        assert_int_equal(hd_zstd_decompress(&plain, packed.data + 1, packed.size - 1, size, NULL), HD_OK);
        assert_int_equal(plain.size, size);
        assert_memory_equal(plain.data, data, size);
        plain.size = 0;
        assert_int_equal(hd_zstd_decompress(&plain, packed.data + 1, packed.size - 2, size, NULL), HD_ERR_DAMAGED);
        assert_memory_equal(plain.data, data, plain.size); /* what came before the end that is missing */
        plain.size = 0;
        if (size)
            assert_int_equal(hd_zstd_decompress(&plain, packed.data + 1, packed.size - 1, size - 1, NULL),
                             HD_ERR_DAMAGED);
        plain.size = packed.size = 0;
        assert_int_equal(hd_zlib_compress(&packed, data, size, NULL), HD_OK);
        assert_int_equal(hd_zlib_decompress(&plain, packed.data, packed.size, size, NULL), HD_OK);
        assert_int_equal(plain.size, size);
        assert_memory_equal(plain.data, data, size);
        plain.size = 0;
        assert_int_equal(hd_zlib_decompress(&plain, packed.data, packed.size - 1, size, NULL), HD_ERR_DAMAGED);
        plain.size = 0;
        if (size)
            assert_int_equal(hd_zlib_decompress(&plain, packed.data, packed.size, size - 1, NULL), HD_ERR_DAMAGED);
        hd_decompressor_free(decompressor);
        hd_compressor_free(compressor);
        hd_bytes_deinit(&packed);
        hd_bytes_deinit(&plain);
        free(data);
        free(back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes__numbers_come_back),
        cmocka_unit_test(test_bytes__a_buffer_grows_from_nothing_to_megabytes),
        cmocka_unit_test(test_bytes__reading_past_the_end_fails_and_stays_failed),
        cmocka_unit_test(test_bytes__a_varint_of_more_than_64_bits_is_refused),
        cmocka_unit_test(test_bytes__varints_that_nobody_wants_are_skipped_as_they_are_read),
        cmocka_unit_test(test_compress__zstd_frames_and_zlib_streams_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
