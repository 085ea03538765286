/* test_output.c - src/base/io/output.c; what is written is read back with src/base/io/input.c */
#include "base/io/output.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { TEXT_BYTES = 10 << 20 };

typedef struct fixture {
    char folder[64], path[96], other[96];
    uint8_t *text, *got;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    strcpy(f->folder, "/tmp/heddle-test-output-XXXXXX");
    if (!mkdtemp(f->folder)) return -1;
    snprintf(f->path, sizeof f->path, "%s/file", f->folder);
    snprintf(f->other, sizeof f->other, "%s/other", f->folder);
    f->text = malloc(TEXT_BYTES);
    f->got = malloc(TEXT_BYTES + 1);
    for (size_t i = 0; i < TEXT_BYTES; i++) f->text[i] = (uint8_t)(i * i >> 7);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    unlink(f->path);
    unlink(f->other);
    int result = rmdir(f->folder); /* fails if anything else was left behind */
    free(f->text);
    free(f->got);
    free(f);
    return result;
}

static size_t files_in(const char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return count;
}

static void put_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void assert_file(fixture *f, const char *path, const void *bytes, size_t size, hd_compression compression)
{
    hd_input *in = NULL;
    hd_error err = {0};
    if (hd_input_open(&in, path, NULL, &err) != HD_OK) fail_msg("%s: %s", err.path, err.message);
    assert_int_equal(hd_input_compression(in), compression);
    size_t got = 0;
    assert_int_equal(hd_input_next(in, f->got, TEXT_BYTES + 1, &got, NULL), HD_OK);
    assert_int_equal(got, size);
    assert_memory_equal(f->got, bytes, size);
    assert_int_equal(hd_input_next(in, f->got, 1, &got, NULL), HD_END);
    assert_int_equal(hd_input_damage_count(in), 0);
    hd_input_close(in);
}

static hd_output *create(const char *path, const hd_output_options *options)
{
    hd_error err = {0};
    hd_output *out = NULL;
    if (hd_output_create(&out, path, options, &err) != HD_OK) fail_msg("%s: %s", err.path, err.message);
    return out;
}

static void commit(hd_output *out)
{
    hd_error err = {0};
    if (hd_output_commit(out, &err) != HD_OK) fail_msg("%s: %s", err.path, err.message);
}

static void test_output__pieces_of_any_size_arrive_in_order(void **state)
{
    fixture *f = *state;
    static const size_t pieces[] = {1000, 300000, 1, 1 << 20, (1 << 18) - 1, 1 << 18, 77777, 0, 5000000};
    for (int kind = HD_OUTPUT_NONE; kind <= HD_OUTPUT_ZSTD; kind++) {
        for (unsigned threads = 0; threads < (kind == HD_OUTPUT_ZSTD ? 3u : 1u); threads++) {
            hd_output *out = create(f->path, &(hd_output_options){.compression = (hd_output_compression)kind,
                                                                  .threads = threads,
                                                                  .sync = threads == 0});
            size_t at = 0;
            for (size_t i = 0; at < TEXT_BYTES; i++) {
                size_t size = pieces[i % (sizeof pieces / sizeof *pieces)];
                if (size > TEXT_BYTES - at) size = TEXT_BYTES - at;
                assert_int_equal(hd_output_write(out, f->text + at, size, NULL), HD_OK);
                at += size;
                assert_int_equal(hd_output_position(out), at);
            }
            assert_int_equal(access(f->path, F_OK), threads == 0 && kind == HD_OUTPUT_NONE ? -1 : 0);
            commit(out);
            assert_file(f, f->path, f->text, TEXT_BYTES, (hd_compression)(kind - HD_OUTPUT_NONE));
            assert_int_equal(files_in(f->folder), 1);
        }
    }
}

static void test_output__the_extension_chooses_the_compression(void **state)
{
    fixture *f = *state;
    static const char *const names[] = {"trace.json", "trace.json.gz", "trace.zst"};
    for (int i = 0; i < 3; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", f->folder, names[i]);
        hd_output *out = create(path, NULL);
        assert_int_equal(hd_output_write(out, f->text, 5000, NULL), HD_OK);
        commit(out);
        assert_file(f, path, f->text, 5000, (hd_compression)i);
        unlink(path);
    }
}

static void test_output__every_level_is_valid_and_others_are_refused(void **state)
{
    fixture *f = *state;
    for (int level = -101; level <= 23; level++) {
        for (int kind = HD_OUTPUT_GZIP; kind <= HD_OUTPUT_ZSTD; kind++) {
            hd_output_options options = {.compression = (hd_output_compression)kind, .level = level};
            bool good = kind == HD_OUTPUT_GZIP ? level >= 0 && level <= 9 : level >= -100 && level <= 22;
            if (good && level < -2) continue;
            hd_output *out = NULL;
            assert_int_equal(hd_output_create(&out, f->path, &options, NULL), good ? HD_OK : HD_ERR_ARGUMENT);
            if (!good) continue;
            assert_int_equal(hd_output_write(out, f->text, 100000, NULL), HD_OK);
            commit(out);
            assert_file(f, f->path, f->text, 100000, (hd_compression)(kind - HD_OUTPUT_NONE));
        }
    }
}

static void test_output__an_empty_file_is_a_file(void **state)
{
    fixture *f = *state;
    for (int kind = HD_OUTPUT_NONE; kind <= HD_OUTPUT_ZSTD; kind++) {
        commit(create(f->path, &(hd_output_options){.compression = (hd_output_compression)kind}));
        struct stat info;
        assert_int_equal(stat(f->path, &info), 0);
        assert_true(kind == HD_OUTPUT_NONE ? info.st_size == 0 : info.st_size > 0);
        if (kind == HD_OUTPUT_NONE) continue;
        hd_input *in = NULL;
        size_t got = 0;
        assert_int_equal(hd_input_open(&in, f->path, NULL, NULL), HD_OK);
        assert_int_equal(hd_input_next(in, f->got, 10, &got, NULL), HD_END);
        assert_int_equal(hd_input_damage_count(in), 0);
        hd_input_close(in);
    }
}

static void test_output__abort_leaves_nothing_and_the_old_file_as_it_was(void **state)
{
    fixture *f = *state;
    hd_output_abort(NULL);
    hd_output *out = create(f->path, NULL);
    assert_int_equal(hd_output_write(out, f->text, 2000000, NULL), HD_OK);
    assert_int_equal(files_in(f->folder), 1);
    hd_output_abort(out);
    assert_int_equal(files_in(f->folder), 0);
    put_file(f->path, "old", 3);
    out = create(f->path, NULL);
    assert_int_equal(hd_output_write(out, f->text, 2000000, NULL), HD_OK);
    assert_file(f, f->path, "old", 3, HD_COMPRESSION_NONE);
    hd_output_abort(out);
    assert_file(f, f->path, "old", 3, HD_COMPRESSION_NONE);
    assert_int_equal(files_in(f->folder), 1);
}

static void test_output__mode_is_kept_or_follows_the_umask(void **state)
{
    fixture *f = *state;
    mode_t old = umask(027);
    commit(create(f->path, NULL));
    umask(old);
    struct stat info;
    assert_int_equal(stat(f->path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    chmod(f->path, 0606);
    commit(create(f->path, NULL));
    assert_int_equal(stat(f->path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0606);
}

static void test_output__a_link_stays_a_link(void **state)
{
    fixture *f = *state;
    assert_int_equal(symlink("other", f->path), 0); /* to nothing yet */
    for (int i = 0; i < 2; i++) {
        hd_output *out = create(f->path, NULL);
        assert_int_equal(hd_output_write(out, &"new!"[i], 3, NULL), HD_OK);
        commit(out);
        struct stat info;
        assert_int_equal(lstat(f->path, &info), 0);
        assert_true(S_ISLNK(info.st_mode));
        assert_int_equal(lstat(f->other, &info), 0);
        assert_true(S_ISREG(info.st_mode));
        assert_file(f, f->other, &"new!"[i], 3, HD_COMPRESSION_NONE);
    }
    assert_int_equal(files_in(f->folder), 2);
    unlink(f->other);
    assert_int_equal(symlink("file", f->other), 0); /* a ring */
    assert_int_equal(hd_output_create(&(hd_output *){NULL}, f->path, NULL, NULL), HD_ERR_IO);
}

static void test_output__the_longest_name_works(void **state)
{
    fixture *f = *state;
    char path[400];
    int size = snprintf(path, sizeof path, "%s/", f->folder);
    memset(path + size, 'n', 255);
    path[size + 255] = '\0';
    hd_output *out = create(path, NULL);
    assert_int_equal(hd_output_write(out, "abc", 3, NULL), HD_OK);
    commit(out);
    assert_file(f, path, "abc", 3, HD_COMPRESSION_NONE);
    unlink(path);
}

static void check_create_fails(const char *path, const char *expected)
{
    hd_error err = {0};
    hd_output *out = NULL;
    assert_int_equal(hd_output_create(&out, path, NULL, &err), HD_ERR_IO);
    assert_null(out);
    assert_string_equal(err.path, path);
    if (!strstr(err.message, expected)) fail_msg("%s", err.message);
}

static void test_output__what_cannot_be_created_says_why(void **state)
{
    fixture *f = *state;
    char path[128];
    check_create_fails(f->folder, "is a directory");
    snprintf(path, sizeof path, "%s/none/file", f->folder);
    check_create_fails(path, "No such file");
    check_create_fails("", "is no file name");
    snprintf(path, sizeof path, "%s/", f->path);
    check_create_fails(path, "is no file name");
    put_file(f->path, "old", 3);
    chmod(f->path, 0444);
    if (geteuid() != 0) check_create_fails(f->path, "Permission denied");
}

/* ---- Failing writes ---- */

static void test_output__a_full_device_is_an_error_in_write_or_in_commit(void **state)
{
    fixture *f = *state;
    for (int kind = HD_OUTPUT_NONE; kind <= HD_OUTPUT_ZSTD; kind++) {
        hd_output_options options = {.compression = (hd_output_compression)kind};
        hd_error err = {0};
        hd_output *out = create("/dev/full", &options);
        assert_int_equal(hd_output_write(out, f->text, TEXT_BYTES, &err), HD_ERR_IO);
        assert_string_equal(err.path, "/dev/full");
        assert_non_null(strstr(err.message, "No space left on device; free some space"));
        hd_output_abort(out);
        out = create("/dev/full", &options);
        assert_int_equal(hd_output_write(out, f->text, 10, NULL), HD_OK);
        assert_int_equal(hd_output_commit(out, NULL), HD_ERR_IO);
    }
    assert_int_equal(access("/dev/full", F_OK), 0);
}

static void test_output__a_disk_without_room_is_seen_before_anything_is_written(void **state)
{
    fixture *f = *state;
    struct statvfs disk;
    assert_int_equal(statvfs(f->folder, &disk), 0);
    hd_output_options options = {.expected_size = (uint64_t)disk.f_bavail * disk.f_frsize + ((uint64_t)1 << 36)};
    hd_error err = {0};
    assert_int_equal(hd_output_create(&(hd_output *){NULL}, f->path, &options, &err), HD_ERR_IO);
    assert_non_null(strstr(err.message, "no room"));
    assert_int_equal(files_in(f->folder), 0);
}

static void test_output__a_file_over_the_size_limit_leaves_nothing(void **state)
{
    fixture *f = *state;
    put_file(f->path, "old", 3);
    pid_t child = fork(); /* the limit is for the whole process */
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        struct rlimit limit = {1500000, 1500000};
        setrlimit(RLIMIT_FSIZE, &limit);
        hd_output *out = NULL;
        hd_error err = {0};
        if (hd_output_create(&out, f->path, NULL, NULL) != HD_OK) _exit(1);
        if (hd_output_write(out, f->text, 2000000, &err) != HD_ERR_IO) _exit(2);
        if (!strstr(err.message, "ulimit") || err.offset != 1500000) _exit(3);
        hd_output_abort(out);
        _exit(0);
    }
    int result;
    waitpid(child, &result, 0);
    assert_int_equal(result, 0);
    assert_file(f, f->path, "old", 3, HD_COMPRESSION_NONE);
    assert_int_equal(files_in(f->folder), 1);
}

static void test_output__a_closed_pipe_is_an_error(void **state)
{
    fixture *f = *state;
    void (*old)(int) = signal(SIGPIPE, SIG_IGN);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    char path[64];
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    hd_output *out = create(path, NULL);
    assert_int_equal(hd_output_write(out, "abc", 3, NULL), HD_OK);
    close(ends[0]);
    hd_error err = {0};
    assert_int_equal(hd_output_write(out, f->text, TEXT_BYTES, &err), HD_ERR_IO);
    assert_non_null(strstr(err.message, "the program that reads the output has ended"));
    hd_output_abort(out);
    assert_int_equal(close(ends[1]), 0); /* it was borrowed, and is still open */
    signal(SIGPIPE, old);
}

static void test_output__a_fifo_is_written_straight_to(void **state)
{
    fixture *f = *state;
    assert_int_equal(mkfifo(f->path, 0600), 0);
    pid_t child = fork();
    if (child == 0) {
        hd_output *out = NULL;
        if (hd_output_create(&out, f->path, NULL, NULL) != HD_OK) _exit(1);
        if (hd_output_write(out, f->text, TEXT_BYTES, NULL) != HD_OK) _exit(2);
        int status = hd_output_commit(out, NULL) == HD_OK ? 0 : 3;
        _exit(status);
    }
    assert_file(f, f->path, f->text, TEXT_BYTES, HD_COMPRESSION_NONE);
    int result;
    waitpid(child, &result, 0);
    assert_int_equal(result, 0);
    struct stat info;
    assert_int_equal(lstat(f->path, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    assert_int_equal(files_in(f->folder), 1);
}

/* ---- Copying ---- */

static void test_output__copied_ranges_and_patches_interleave(void **state)
{
    fixture *f = *state;
    put_file(f->other, f->text, TEXT_BYTES);
    static const uint64_t cuts[] = {0, 3, 400003, 400004, 400100, 4194304, 9000001, TEXT_BYTES};
    for (int kind = HD_OUTPUT_NONE; kind <= HD_OUTPUT_ZSTD; kind++) {
        hd_input *in = NULL;
        assert_int_equal(hd_input_open(&in, f->other, NULL, NULL), HD_OK);
        hd_output *out = create(
            f->path, &(hd_output_options){.compression = (hd_output_compression)kind, .expected_size = 2 * TEXT_BYTES});
        uint8_t *expected = malloc(TEXT_BYTES + 100);
        size_t size = 0;
        for (size_t i = 0; i + 1 < sizeof cuts / sizeof *cuts; i++) {
            uint64_t length = cuts[i + 1] - cuts[i] - 1; /* one byte of each range is replaced */
            assert_int_equal(hd_output_copy(out, in, cuts[i], length, NULL), HD_OK);
            assert_int_equal(hd_output_write(out, "!", 1, NULL), HD_OK);
            memcpy(expected + size, f->text + cuts[i], length);
            size += length;
            expected[size++] = '!';
            assert_int_equal(hd_output_position(out), size);
        }
        hd_input_close(in);
        commit(out);
        assert_file(f, f->path, expected, size, (hd_compression)(kind - HD_OUTPUT_NONE));
        struct stat info; /* what was taken too much is given back */
        assert_int_equal(stat(f->path, &info), 0);
        assert_true((uint64_t)info.st_blocks * 512 < TEXT_BYTES + 1000000);
        free(expected);
    }
}

static void test_output__copying_past_the_end_is_an_error(void **state)
{
    fixture *f = *state;
    put_file(f->other, f->text, 1000000);
    hd_input *in = NULL;
    assert_int_equal(hd_input_open(&in, f->other, NULL, NULL), HD_OK);
    for (int i = 0; i < 2; i++) {
        hd_error err = {0};
        hd_output *out = create(f->path, NULL);
        assert_int_equal(hd_output_copy(out, in, i ? 999990 : 0, i ? 20 : 5000000, &err), HD_ERR_IO);
        assert_string_equal(err.path, f->other);
        assert_int_equal(err.offset, 1000000);
        hd_output_abort(out);
    }
    hd_input_close(in);
}

static void test_output__copying_what_is_compressed_is_unsupported(void **state)
{
    fixture *f = *state;
    hd_output *out = create(f->other, &(hd_output_options){.compression = HD_OUTPUT_GZIP});
    assert_int_equal(hd_output_write(out, f->text, 5000, NULL), HD_OK);
    commit(out);
    hd_input *in = NULL;
    assert_int_equal(hd_input_open(&in, f->other, NULL, NULL), HD_OK);
    out = create(f->path, NULL);
    assert_int_equal(hd_output_copy(out, in, 0, 10, NULL), HD_ERR_UNSUPPORTED);
    hd_output_abort(out);
    hd_input_close(in);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_output__pieces_of_any_size_arrive_in_order),
        TEST(test_output__the_extension_chooses_the_compression),
        TEST(test_output__every_level_is_valid_and_others_are_refused),
        TEST(test_output__an_empty_file_is_a_file),
        TEST(test_output__abort_leaves_nothing_and_the_old_file_as_it_was),
        TEST(test_output__mode_is_kept_or_follows_the_umask),
        TEST(test_output__a_link_stays_a_link),
        TEST(test_output__the_longest_name_works),
        TEST(test_output__what_cannot_be_created_says_why),
        TEST(test_output__a_full_device_is_an_error_in_write_or_in_commit),
        TEST(test_output__a_disk_without_room_is_seen_before_anything_is_written),
        TEST(test_output__a_file_over_the_size_limit_leaves_nothing),
        TEST(test_output__a_closed_pipe_is_an_error),
        TEST(test_output__a_fifo_is_written_straight_to),
        TEST(test_output__copied_ranges_and_patches_interleave),
        TEST(test_output__copying_past_the_end_is_an_error),
        TEST(test_output__copying_what_is_compressed_is_unsupported),
    };
    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
