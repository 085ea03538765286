/* test_sources.c - every format from every kind of source, and into every kind of sink (heddle/source.h)
 *
 * What is read from memory, a descriptor or a callback is what is read from the path; what is written there is the
 * file, byte for byte. Formats that are read and written are taken from the list, with all their fixtures.
 */
#include "heddle/source.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "dump.h"
#include "fixtures.h"
#include "format/format.h"
#include "read_text.h"

#define NO_STATE void **state __attribute__((unused))

static char folder[64];

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

/* Bytes in memory that are written over and freed when they need not stay. */
static char *copy_of(const char *data, size_t size)
{
    char *copy = malloc(size + !size);
    assert_non_null(copy);
    if (size) memcpy(copy, data, size);
    return copy;
}

/* ---- sources ---- */

typedef struct feeder {
    const char *data;
    size_t size, at, step; /* step: bytes a call gives at most */
    size_t fail_at;        /* SIZE_MAX: never */
    hd_status fail_with;
    const char *fail_text; /* NULL: says nothing */
    bool lies, says_end;   /* of how much it gave; HD_END where there is no more, else HD_OK with 0 */
    unsigned ended;        /* times the end was told */
} feeder;

static hd_status feed(void *user, void *buffer, size_t capacity, size_t *out_size, hd_error *err)
{
    feeder *f = user;
    assert_true(capacity > 0);
    if (f->at >= f->fail_at) {
        if (f->fail_text) hd_error_set(err, f->fail_with, NULL, f->at, "%s", f->fail_text);
        return f->fail_with;
    }
    size_t left = f->size - f->at, size = left < f->step ? left : f->step;
    if (size > capacity) size = capacity;
    if (size) memcpy(buffer, f->data + f->at, size);
    f->at += size;
    *out_size = f->lies ? capacity + 1 : size;
    f->ended += size == 0;
    return size == 0 && f->says_end ? HD_END : HD_OK;
}

static feeder feeder_of(const char *data, size_t size, size_t step)
{
    return (feeder){.data = data, .size = size, .step = step, .fail_at = SIZE_MAX};
}

static void *fill_pipe(void *user)
{
    feeder *f = user;
    int fd = (int)f->fail_at;
    while (f->at < f->size) {
        ssize_t put = write(fd, f->data + f->at, f->size - f->at);
        assert_true(put > 0);
        f->at += (size_t)put;
    }
    close(fd);
    return NULL;
}

typedef enum source_kind { FROM_MEMORY, FROM_FILE, FROM_PIPE, FROM_CALLBACK, FROM_BYTES, SOURCE_KINDS } source_kind;

/* The status of reading these bytes from a source of a kind. They are gone when the trace is used, unless lazy. */
static hd_status read_kind(hd_trace **out, source_kind kind, const char *data, size_t size,
                           const hd_read_options *options, hd_error *err)
{
    hd_byte_source *source = NULL;
    feeder f = feeder_of(data, size, kind == FROM_BYTES ? 1 : 700);
    char *copy = copy_of(data, size);
    int fds[2] = {-1, -1};
    pthread_t filler;
    switch (kind) {
    case FROM_MEMORY: assert_int_equal(hd_byte_source_new_memory(&source, copy, size, "some bytes", err), HD_OK); break;
    case FROM_FILE: /* behind a head that is not its own */
        fds[0] = open(path_of("source"), O_RDWR | O_CREAT | O_TRUNC, 0600);
        assert_int_equal(write(fds[0], "head", 4), 4);
        assert_int_equal(write(fds[0], data, size), size);
        assert_int_equal(lseek(fds[0], 4, SEEK_SET), 4);
        assert_int_equal(hd_byte_source_new_descriptor(&source, fds[0], "some bytes", err), HD_OK);
        break;
    case FROM_PIPE:
        assert_int_equal(pipe(fds), 0);
        f.fail_at = (size_t)fds[1];
        assert_int_equal(pthread_create(&filler, NULL, fill_pipe, &f), 0);
        assert_int_equal(hd_byte_source_new_descriptor(&source, fds[0], "some bytes", err), HD_OK);
        break;
    default: assert_int_equal(hd_byte_source_new_callback(&source, feed, &f, "some bytes", err), HD_OK);
    }
    hd_status status = hd_trace_read_from(out, source, options, err);
    hd_byte_source_free(source);
    if (kind == FROM_FILE) assert_int_equal(lseek(fds[0], 0, SEEK_CUR), 4);
    if (kind == FROM_PIPE) { /* what a reader that refuses leaves must not hold the writer */
        char rest[4096];
        while (read(fds[0], rest, sizeof rest) > 0) continue;
        pthread_join(filler, NULL);
    }
    if (fds[0] >= 0) assert_int_equal(close(fds[0]), 0);
    memset(copy, 0x5a, size);
    free(copy);
    return status;
}

/* What is dumped of bytes from a source; or the error, without a path. */
static char *dump_kind(source_kind kind, const char *data, size_t size)
{
    hd_trace *trace = NULL;
    hd_error err = {0};
    hd_status status = read_kind(&trace, kind, data, size, NULL, &err);
    char *text;
    if (status == HD_OK) {
        text = dump_trace(trace, DUMP_CONTENT);
        hd_trace_free(trace);
        return text;
    }
    assert_null(trace);
    assert_int_equal(status, err.status);
    assert_string_equal(err.path, "some bytes");
    assert_true(asprintf(&text, "%s at %llu: %s", hd_status_name(status), (unsigned long long)err.offset, err.message) >
                0);
    return text;
}

/* The same from the path. */
static char *dump_path(const char *path)
{
    hd_trace *trace;
    hd_error err = {0};
    char *text;
    hd_status status = hd_trace_read(&trace, path, NULL, &err);
    if (status == HD_OK) {
        text = dump_trace(trace, DUMP_CONTENT);
        hd_trace_free(trace);
        return text;
    }
    assert_true(asprintf(&text, "%s at %llu: %s", hd_status_name(status), (unsigned long long)err.offset, err.message) >
                0);
    return text;
}

static unsigned files_read[64];

static void compare_file(const char *path, size_t format)
{
    size_t size;
    char *data = file_text(path, &size), *wanted = dump_path(path);
    assert_non_null(data);
    for (source_kind kind = 0; kind < SOURCE_KINDS; kind++) {
        char *got = dump_kind(kind, data, size);
        if (strcmp(got, wanted) != 0) fail_msg("%s from source %d:\n%.400s\nand not\n%.400s", path, kind, got, wanted);
        free(got);
    }
    files_read[format]++;
    free(wanted);
    free(data);
}

/* All in the folder tests/format/NAME, or fuzz/corpus/NAME, that is not text of what is expected. */
static void compare_folder(const char *name, size_t format)
{
    char path[1024], file[2048];
    snprintf(path, sizeof path, "%s/%s", getenv("HEDDLE_SOURCE_ROOT"), name);
    DIR *dir = opendir(path);
    if (!dir) return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        const char *dot = strrchr(entry->d_name, '.');
        struct stat info;
        bool is_source = dot && (strcmp(dot, ".expect") == 0 || strcmp(dot, ".c") == 0 || strcmp(dot, ".h") == 0);
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || is_source || stat(file, &info) != 0 || !S_ISREG(info.st_mode)) continue;
        compare_file(file, format);
    }
    closedir(dir);
}

/* The folder of a format has the name of its descriptor. */
#define FORMAT(name) #name,
static const char *const folders[] = {
#include "format/formats.inc"
};
#undef FORMAT

static void test_sources__all_formats_read_the_same_from_all_of_them(NO_STATE)
{
    char path[256];
    for (size_t i = 0; i < hd_format_count(); i++) {
        if (hd_format_descriptor(i)->is_folder) continue;
        snprintf(path, sizeof path, "tests/format/%s", folders[i]);
        compare_folder(path, i);
        if (!files_read[i]) { /* small ones, which fuzzing begins with */
            snprintf(path, sizeof path, "fuzz/corpus/%s", folders[i]);
            compare_folder(path, i);
        }
        if (!files_read[i]) fail_msg("%s: no fixtures", folders[i]);
    }
}

/* gzip, zstd and UTF-16 are decoded wherever they lie. */
static void test_sources__compressed_bytes_are_unpacked_from_all_of_them(NO_STATE)
{
    fixtures all = fixtures_load("tests/format/chrome");
    hd_trace *trace;
    assert_int_equal(read_kind(&trace, FROM_MEMORY, all.list[0].text, all.list[0].size, NULL, NULL), HD_OK);
    char *wanted = dump_trace(trace, DUMP_CONTENT);
    static const char *const names[] = {"a.json.gz", "a.json.zst"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size;
        assert_int_equal(hd_trace_write(trace, path_of(names[i]), NULL, NULL), HD_OK);
        char *data = file_text(path_of(names[i]), &size);
        for (source_kind kind = 0; kind < SOURCE_KINDS; kind++) {
            char *got = dump_kind(kind, data, size);
            dump_require_same(wanted, got);
            free(got);
        }
        free(data);
        unlink(path_of(names[i]));
    }
    free(wanted);
    hd_trace_free(trace);
    fixtures_free(&all);
}

/* Damaged blocks too, which are known only when they are asked for. */
static void test_sources__a_lazy_store_is_read_where_it_lies(NO_STATE)
{
    fixtures all = fixtures_load_as("tests/format/heddle", ".heddle");
    const hd_read_options lazy = {.lazy = true};
    for (size_t i = 0; i < all.count; i++) {
        hd_byte_source *source;
        hd_trace *traces[2];
        char path[1100], *copy = copy_of(all.list[i].text, all.list[i].size);
        snprintf(path, sizeof path, "%s.heddle", all.list[i].path);
        assert_int_equal(hd_trace_read(&traces[0], path, &lazy, NULL), HD_OK);
        assert_int_equal(hd_byte_source_new_memory(&source, copy, all.list[i].size, NULL, NULL), HD_OK);
        assert_int_equal(hd_trace_read_from(&traces[1], source, &lazy, NULL), HD_OK);
        hd_byte_source_free(source);
        char *wanted = dump_trace(traces[0], DUMP_CONTENT), *got = dump_trace(traces[1], DUMP_CONTENT);
        dump_require_same(wanted, got);
        hd_trace_free(traces[0]);
        hd_trace_free(traces[1]);
        free(copy);
        free(wanted);
        free(got);
    }
    fixtures_free(&all);
}

static void test_sources__memory_is_read_without_a_file(NO_STATE)
{
    fixtures all = fixtures_load_as("tests/format/heddle", ".heddle");
    setenv("TMPDIR", "/nonexistent", 1);
    hd_trace *trace = NULL;
    assert_int_equal(read_kind(&trace, FROM_MEMORY, all.list[0].text, all.list[0].size, NULL, NULL), HD_OK);
    hd_trace_free(trace);
    /* which is where a callback's bytes go, if a format wants them by their offsets */
    assert_int_equal(read_kind(&trace, FROM_CALLBACK, all.list[0].text, all.list[0].size, NULL, NULL), HD_ERR_IO);
    unsetenv("TMPDIR");
    fixtures_free(&all);
}

static void test_sources__what_is_a_folder_needs_a_path(NO_STATE)
{
    for (size_t i = 0; i < hd_format_count(); i++) {
        const hd_format *format = hd_format_descriptor(i);
        hd_byte_sink *sink;
        hd_error err = {0};
        if (!format->is_folder || !format->info.reads) continue;
        fixtures all = fixtures_load("tests/format/chrome");
        hd_trace *trace;
        assert_int_equal(read_kind(&trace, FROM_MEMORY, all.list[0].text, all.list[0].size, NULL, NULL), HD_OK);
        const hd_write_options options = {.format = format->info.name};
        assert_int_equal(hd_trace_write(trace, path_of("archive"), &options, NULL), HD_OK);
        size_t size;
        char *anchor = file_text(path_of("archive/traces.otf2"), &size);
        for (source_kind kind = 0; kind < SOURCE_KINDS; kind++) {
            hd_trace *none;
            err = (hd_error){0};
            assert_int_equal(read_kind(&none, kind, anchor, size, NULL, &err), HD_ERR_UNSUPPORTED);
            assert_null(none);
            assert_non_null(strstr(err.message, "only its path can be read"));
        }
        assert_int_equal(hd_byte_sink_new_memory(&sink, "a.otf2", NULL), HD_OK);
        err = (hd_error){0};
        assert_int_equal(hd_trace_write_to(trace, sink, NULL, &err), HD_ERR_UNSUPPORTED);
        assert_string_equal(err.path, "a.otf2");
        assert_non_null(strstr(err.message, "only a path can name"));
        hd_byte_sink_free(sink);
        /* and with one it is as from hd_trace_read: the folder, and its file */
        static const char *const names[] = {"archive", "archive/traces.otf2"};
        char *wanted = dump_path(path_of("archive"));
        for (size_t k = 0; k < 2; k++) {
            hd_byte_source *source;
            hd_trace *again;
            assert_int_equal(hd_byte_source_new_path(&source, path_of(names[k]), NULL), HD_OK);
            assert_int_equal(hd_trace_read_from(&again, source, NULL, NULL), HD_OK);
            char *got = dump_trace(again, DUMP_CONTENT);
            dump_require_same(wanted, got);
            free(got);
            hd_trace_free(again);
            hd_byte_source_free(source);
        }
        free(wanted);
        free(anchor);
        hd_trace_free(trace);
        fixtures_free(&all);
        char command[256];
        snprintf(command, sizeof command, "rm -r '%s'", path_of("archive"));
        assert_int_equal(system(command), 0);
    }
}

/* ---- what goes wrong in a source ---- */

static const char small[] = "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":7,\"ts\":0,\"dur\":10}]";

static hd_status read_feeder(hd_trace **out, feeder *f, const hd_read_options *options, hd_error *err)
{
    hd_byte_source *source;
    assert_int_equal(hd_byte_source_new_callback(&source, feed, f, NULL, NULL), HD_OK);
    hd_status status = hd_trace_read_from(out, source, options, err);
    hd_byte_source_free(source);
    return status;
}

static void test_sources__a_callback_that_fails_is_believed(NO_STATE)
{
    hd_trace *trace;
    for (size_t at = 0; at < sizeof small - 1; at += 7) {
        for (int says = 0; says < 2; says++) {
            hd_error err = {0};
            feeder f = feeder_of(small, sizeof small - 1, 5);
            f.fail_at = at;
            f.fail_with = HD_ERR_LIMIT;
            f.fail_text = says ? "the network is gone" : NULL;
            assert_int_equal(read_feeder(&trace, &f, NULL, &err), HD_ERR_LIMIT);
            assert_null(trace);
            assert_string_equal(err.path, "<callback>");
            assert_non_null(strstr(err.message, says ? "the network is gone" : "its callback failed"));
            f.at = 0;
            assert_int_equal(read_feeder(&trace, &f, NULL, NULL), HD_ERR_LIMIT);
        }
    }
}

static void test_sources__a_callback_cannot_give_more_than_was_asked_for(NO_STATE)
{
    hd_error err = {0};
    hd_trace *trace;
    feeder f = feeder_of(small, sizeof small - 1, 5);
    f.lies = true;
    assert_int_equal(read_feeder(&trace, &f, NULL, &err), HD_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "of"));
    assert_null(trace);
}

static void test_sources__the_end_is_told_once_and_in_two_ways(NO_STATE)
{
    for (int says_end = 0; says_end < 2; says_end++) {
        for (int keep = 0; keep < 2; keep++) {
            hd_trace *trace;
            feeder f = feeder_of(small, sizeof small - 1, 5);
            f.says_end = says_end;
            assert_int_equal(read_feeder(&trace, &f, &(hd_read_options){.keep_input = keep}, NULL), HD_OK);
            assert_int_equal(hd_trace_event_count(trace), 1);
            assert_int_equal(f.ended, 1);
            hd_trace_free(trace);
        }
    }
}

static void test_sources__nothing_is_an_error(NO_STATE)
{
    for (source_kind kind = 0; kind < SOURCE_KINDS; kind++) {
        hd_error err = {0};
        hd_trace *trace;
        assert_int_equal(read_kind(&trace, kind, "", 0, NULL, &err), HD_ERR_IO);
        assert_string_equal(err.message, "is empty");
        assert_null(trace);
    }
    hd_byte_source *source;
    hd_trace *trace;
    hd_error err = {0};
    assert_int_equal(hd_byte_source_new_memory(&source, NULL, 0, NULL, NULL), HD_OK);
    assert_int_equal(hd_trace_read_from(&trace, source, NULL, &err), HD_ERR_IO);
    assert_string_equal(err.path, "<memory>");
    hd_byte_source_free(source);
    assert_int_equal(hd_byte_source_new_descriptor(&source, -1, NULL, NULL), HD_OK);
    err = (hd_error){0};
    assert_int_equal(hd_trace_read_from(&trace, source, NULL, &err), HD_ERR_IO);
    assert_string_equal(err.path, "<descriptor>");
    hd_byte_source_free(source);
    int fd = open(folder, O_RDONLY);
    assert_int_equal(hd_byte_source_new_descriptor(&source, fd, NULL, NULL), HD_OK);
    assert_int_equal(hd_trace_read_from(&trace, source, NULL, NULL), HD_ERR_IO);
    hd_byte_source_free(source);
    close(fd);
    hd_byte_source_free(NULL);
}

static void test_sources__memory_and_files_can_be_read_again(NO_STATE)
{
    hd_byte_source *sources[2];
    put_file(path_of("again.json"), small, sizeof small - 1);
    int fd = open(path_of("again.json"), O_RDONLY);
    assert_int_equal(hd_byte_source_new_memory(&sources[0], small, sizeof small - 1, NULL, NULL), HD_OK);
    assert_int_equal(hd_byte_source_new_descriptor(&sources[1], fd, NULL, NULL), HD_OK);
    for (int i = 0; i < 4; i++) {
        hd_trace *trace;
        assert_int_equal(hd_trace_read_from(&trace, sources[i % 2], NULL, NULL), HD_OK);
        assert_int_equal(hd_trace_event_count(trace), 1);
        hd_trace_free(trace);
    }
    hd_byte_source_free(sources[0]);
    hd_byte_source_free(sources[1]);
    close(fd);
    unlink(path_of("again.json"));
}

/* ---- sinks ---- */

typedef struct taker {
    char *data;
    size_t size, fail_at; /* SIZE_MAX: never */
    hd_status fail_with;
    const char *fail_text;
} taker;

static hd_status take(void *user, const void *data, size_t size, hd_error *err)
{
    taker *t = user;
    assert_true(size > 0);
    if (t->size + size > t->fail_at) {
        if (t->fail_text) hd_error_set(err, t->fail_with, NULL, t->size, "%s", t->fail_text);
        return t->fail_with;
    }
    t->data = realloc(t->data, t->size + size);
    assert_non_null(t->data);
    memcpy(t->data + t->size, data, size);
    t->size += size;
    return HD_OK;
}

static void *drain_pipe(void *user)
{
    taker *t = user;
    int fd = (int)t->fail_at;
    char piece[5000];
    t->fail_at = SIZE_MAX;
    for (ssize_t got; (got = read(fd, piece, sizeof piece)) > 0;) take(t, piece, (size_t)got, NULL);
    close(fd);
    return NULL;
}

static void require_bytes(const char *name, const char *wanted, size_t size, const void *got, size_t got_size)
{
    if (got_size != size || memcmp(got, wanted, size) != 0)
        fail_msg("%s: %zu bytes, and the file has %zu", name, got_size, size);
}

static void compare_sinks(const hd_trace *trace, const char *name, const hd_write_options *options)
{
    size_t size, got_size;
    hd_byte_sink *sink;
    assert_int_equal(hd_trace_write(trace, path_of(name), options, NULL), HD_OK);
    char *wanted = file_text(path_of(name), &size);
    unlink(path_of(name));

    assert_int_equal(hd_byte_sink_new_path(&sink, path_of(name), NULL), HD_OK);
    assert_int_equal(hd_trace_write_to(trace, sink, options, NULL), HD_OK);
    assert_null(hd_byte_sink_get_memory(&got_size, sink));
    hd_byte_sink_free(sink);
    char *again = file_text(path_of(name), &got_size);
    require_bytes(name, wanted, size, again, got_size);
    free(again);
    unlink(path_of(name));

    assert_int_equal(hd_byte_sink_new_memory(&sink, name, NULL), HD_OK);
    for (int i = 0; i < 2; i++) { /* anew each time */
        assert_int_equal(hd_trace_write_to(trace, sink, options, NULL), HD_OK);
        const void *got = hd_byte_sink_get_memory(&got_size, sink);
        require_bytes(name, wanted, size, got, got_size);
    }
    hd_byte_sink_free(sink);

    int fd = open(path_of("sink"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, "head", 4), 4);
    assert_int_equal(hd_byte_sink_new_descriptor(&sink, fd, name, NULL), HD_OK);
    assert_int_equal(hd_trace_write_to(trace, sink, options, NULL), HD_OK);
    hd_byte_sink_free(sink);
    assert_int_equal(close(fd), 0);
    again = file_text(path_of("sink"), &got_size);
    require_bytes(name, wanted, size, again + 4, got_size - 4);
    free(again);
    unlink(path_of("sink"));

    int fds[2];
    pthread_t drainer;
    assert_int_equal(pipe(fds), 0);
    taker t = {.fail_at = (size_t)fds[0]};
    assert_int_equal(pthread_create(&drainer, NULL, drain_pipe, &t), 0);
    assert_int_equal(hd_byte_sink_new_descriptor(&sink, fds[1], name, NULL), HD_OK);
    assert_int_equal(hd_trace_write_to(trace, sink, options, NULL), HD_OK);
    hd_byte_sink_free(sink);
    assert_int_equal(close(fds[1]), 0);
    pthread_join(drainer, NULL);
    require_bytes(name, wanted, size, t.data, t.size);
    free(t.data);

    t = (taker){.fail_at = SIZE_MAX};
    assert_int_equal(hd_byte_sink_new_callback(&sink, take, &t, name, NULL), HD_OK);
    assert_int_equal(hd_trace_write_to(trace, sink, options, NULL), HD_OK);
    hd_byte_sink_free(sink);
    require_bytes(name, wanted, size, t.data, t.size);
    free(t.data);
    free(wanted);
}

/* Of some size: more than the buffers of an output and of a pipe. */
static hd_trace *long_trace(void)
{
    enum { EVENTS = 15000 };
    size_t size = 0;
    char *text = malloc(EVENTS * 128);
    hd_trace *trace;
    for (unsigned i = 0; i < EVENTS; i++)
        size += (size_t)sprintf(
            text + size,
            "%c{\"ph\":\"X\",\"name\":\"n%u\",\"cat\":\"kernel\",\"pid\":1,\"tid\":7,\"ts\":%u,\"dur\":%u}",
            i ? ',' : '[', i * 2654435761u, i * 10, i % 10);
    size += (size_t)sprintf(text + size, "]");
    assert_int_equal(read_kind(&trace, FROM_MEMORY, text, size, NULL, NULL), HD_OK);
    free(text);
    return trace;
}

static void test_sinks__all_formats_write_the_file_into_all_of_them(NO_STATE)
{
    fixtures all = fixtures_load("tests/format/chrome");
    hd_trace *traces[2] = {NULL, long_trace()};
    for (size_t i = 0; i < all.count; i++) {
        if (strcmp(all.list[i].name, "small") == 0)
            assert_int_equal(read_kind(&traces[0], FROM_MEMORY, all.list[i].text, all.list[i].size, NULL, NULL), HD_OK);
    }
    for (size_t i = 0; i < hd_format_count(); i++) {
        const hd_format *format = hd_format_descriptor(i);
        static const char *const compressions[] = {"", ".gz", ".zst"};
        if (!format->info.writes || format->is_folder) continue;
        for (size_t k = 0; k < 3; k++) {
            char name[128];
            snprintf(name, sizeof name, "out%.*s%s", (int)strcspn(format->info.extensions, " "),
                     format->info.extensions, compressions[k]);
            compare_sinks(traces[0], name, NULL);
            if (k == 0 || i == 0) compare_sinks(traces[1], name, NULL);
        }
        /* by options, under a name that says nothing */
        const hd_write_options options = {.format = format->info.name, .gzip = true, .sync = true};
        compare_sinks(traces[0], "unknown", &options);
    }
    hd_trace_free(traces[0]);
    hd_trace_free(traces[1]);
    fixtures_free(&all);
}

static void test_sinks__a_callback_that_fails_is_believed(NO_STATE)
{
    hd_trace *trace = long_trace();
    static const char *const names[] = {"a.json", "a.json.gz", "a.json.zst", "a.heddle", "a.pftrace", "a.sbt", NULL};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        taker all = {.fail_at = SIZE_MAX};
        hd_byte_sink *sink;
        assert_int_equal(hd_byte_sink_new_callback(&sink, take, &all, names[i], NULL), HD_OK);
        assert_int_equal(hd_trace_write_to(trace, sink, NULL, NULL), HD_OK);
        hd_byte_sink_free(sink);
        for (int k = 0; k < 6; k++) {
            hd_error err = {0};
            taker t = {.fail_at = k < 3 ? 0 : all.size - 1, .fail_with = k % 3 ? HD_ERR_LIMIT : HD_END};
            t.fail_text = k % 3 == 2 ? "the network is gone" : NULL;
            assert_int_equal(hd_byte_sink_new_callback(&sink, take, &t, names[i], NULL), HD_OK);
            assert_int_equal(hd_trace_write_to(trace, sink, NULL, &err), k % 3 ? HD_ERR_LIMIT : HD_ERR_IO);
            assert_string_equal(err.path, names[i] ? names[i] : "<callback>");
            assert_non_null(strstr(err.message, t.fail_text ? t.fail_text : "its callback failed"));
            assert_true(t.size < all.size);
            hd_byte_sink_free(sink);
            free(t.data);
        }
        free(all.data);
    }
    hd_trace_free(trace);
}

static void test_sinks__memory_is_empty_after_a_failure(NO_STATE)
{
    static const char counter[] =
        "[{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":1,\"args\":{\"v\":2}}]"; /* none in SBT */
    hd_byte_sink *sink;
    hd_trace *trace;
    size_t size;
    assert_int_equal(read_kind(&trace, FROM_MEMORY, counter, sizeof counter - 1, NULL, NULL), HD_OK);
    assert_int_equal(hd_byte_sink_new_memory(&sink, "a.sbt", NULL), HD_OK);
    assert_null(hd_byte_sink_get_memory(&size, sink));
    assert_int_equal(hd_trace_write_to(trace, sink, NULL, NULL), HD_OK);
    assert_non_null(hd_byte_sink_get_memory(&size, sink));
    const hd_write_options unknown = {.format = "none"}, strict = {.strict = true}, level = {.gzip = true, .level = 99};
    const struct {
        const hd_write_options *options;
        hd_status status;
    } failures[] = {{&unknown, HD_ERR_ARGUMENT}, {&level, HD_ERR_ARGUMENT}, {&strict, HD_ERR_UNSUPPORTED}};
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        assert_int_equal(hd_trace_write_to(trace, sink, NULL, NULL), HD_OK);
        assert_int_equal(hd_trace_write_to(trace, sink, failures[i].options, NULL), failures[i].status);
        assert_null(hd_byte_sink_get_memory(&size, sink));
        assert_int_equal(size, 0);
    }
    hd_byte_sink_free(sink);
    hd_byte_sink_free(NULL);
    assert_int_equal(hd_byte_sink_new_descriptor(&sink, -1, NULL, NULL), HD_OK);
    assert_int_equal(hd_trace_write_to(trace, sink, NULL, NULL), HD_ERR_IO);
    hd_byte_sink_free(sink);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sources__all_formats_read_the_same_from_all_of_them),
        cmocka_unit_test(test_sources__compressed_bytes_are_unpacked_from_all_of_them),
        cmocka_unit_test(test_sources__a_lazy_store_is_read_where_it_lies),
        cmocka_unit_test(test_sources__memory_is_read_without_a_file),
        cmocka_unit_test(test_sources__what_is_a_folder_needs_a_path),
        cmocka_unit_test(test_sources__a_callback_that_fails_is_believed),
        cmocka_unit_test(test_sources__a_callback_cannot_give_more_than_was_asked_for),
        cmocka_unit_test(test_sources__the_end_is_told_once_and_in_two_ways),
        cmocka_unit_test(test_sources__nothing_is_an_error),
        cmocka_unit_test(test_sources__memory_and_files_can_be_read_again),
        cmocka_unit_test(test_sinks__all_formats_write_the_file_into_all_of_them),
        cmocka_unit_test(test_sinks__a_callback_that_fails_is_believed),
        cmocka_unit_test(test_sinks__memory_is_empty_after_a_failure),
    };
    strcpy(folder, "/tmp/heddle-test-sources-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path_of("source"));
    return failed | rmdir(folder); /* fails if anything was left behind */
}
