/* test_synth_damage.c - damaged JSON really is broken, in the events it says and in no others */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heddle/synth.h"

/* ---- a strict JSON check ---- */

typedef struct strict {
    const unsigned char *p, *end;
} strict;

static void skip_space(strict *s)
{
    while (s->p < s->end && strchr(" \t\r\n", *s->p) && *s->p) s->p++;
}

static bool take(strict *s, char c)
{
    skip_space(s);
    if (s->p == s->end || *s->p != (unsigned char)c) return false;
    s->p++;
    return true;
}

static bool check_utf8(strict *s)
{
    unsigned char c = *s->p++;
    if (c < 0x80) return true;
    int more = c >= 0xf0 && c < 0xf5 ? 3 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xc2 && c < 0xe0 ? 1 : 0;
    if (!more || s->end - s->p < more) return false;
    if (c == 0xed && s->p[0] >= 0xa0) return false;
    for (; more; more--)
        if ((*s->p++ & 0xc0) != 0x80) return false;
    return true;
}

static bool check_string(strict *s)
{
    if (!take(s, '"')) return false;
    while (s->p < s->end && *s->p != '"') {
        if (*s->p < 0x20) return false;
        if (*s->p == '\\' && ++s->p == s->end) return false;
        if (!check_utf8(s)) return false;
    }
    return take(s, '"');
}

static bool check_scalar(strict *s)
{
    static const char *const words[] = {"null", "true", "false"};
    for (int i = 0; i < 3; i++) {
        size_t size = strlen(words[i]);
        if ((size_t)(s->end - s->p) >= size && memcmp(s->p, words[i], size) == 0) {
            s->p += size;
            return true;
        }
    }
    const unsigned char *begin = s->p;
    if (s->p < s->end && *s->p == '-') s->p++;
    if (s->p == s->end || *s->p < '0' || *s->p > '9') return false;
    while (s->p < s->end && strchr("0123456789+-.eE", *s->p) && *s->p) s->p++;
    return s->p > begin;
}

static bool check_value(strict *s)
{
    skip_space(s);
    if (s->p == s->end) return false;
    bool object = *s->p == '{';
    if (!object && *s->p == '"') return check_string(s);
    if (!object && *s->p != '[') return check_scalar(s);
    s->p++;
    if (take(s, object ? '}' : ']')) return true;
    do {
        if (object && (!check_string(s) || !take(s, ':'))) return false;
        if (!check_value(s)) return false;
    } while (take(s, ','));
    return take(s, object ? '}' : ']');
}

static bool is_json(const char *text, size_t size)
{
    strict s = {(const unsigned char *)text, (const unsigned char *)text + size};
    bool fine = check_value(&s);
    skip_space(&s);
    return fine && s.p == s.end;
}

/* ---- helpers ---- */

typedef struct written {
    hd_trace *trace;
    char *text;
    size_t size;
} written;

static char *read_file(size_t *out_size, const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *out_size = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*out_size + 1);
    assert_int_equal(fread(text, 1, *out_size, file), *out_size);
    text[*out_size] = '\0';
    fclose(file);
    return text;
}

static int write_trace(void **state)
{
    char path[] = "/tmp/heddle-test-XXXXXX.json";
    written *w = calloc(1, sizeof *w);
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    close(fd);
    hd_synth_options options = hd_synth_options_default();
    options.steps = 2;
    assert_int_equal(hd_synth_trace(&w->trace, NULL, &options, NULL), HD_OK);
    assert_int_equal(hd_trace_write(w->trace, path, NULL, NULL), HD_OK);
    w->text = read_file(&w->size, path);
    unlink(path);
    *state = w;
    return 0;
}

static int free_trace(void **state)
{
    written *w = *state;
    hd_trace_free(w->trace);
    free(w->text);
    free(w);
    return 0;
}

static char *damage(size_t *out_size, const written *w, hd_synth_damage_options options, hd_synth_damage_truth *truth)
{
    char *out = NULL;
    assert_int_equal(hd_synth_damage_text(&out, out_size, w->text, w->size, &options, truth, NULL), HD_OK);
    assert_non_null(out);
    return out;
}

static size_t count_lines(const char *text, size_t size, const char *start)
{
    size_t count = 0;
    for (const char *p = text; p && p < text + size; p = memchr(p, '\n', (size_t)(text + size - p))) {
        if (*p == '\n') p++;
        if ((size_t)(text + size - p) >= strlen(start) && memcmp(p, start, strlen(start)) == 0) count++;
        if (p == text + size) break;
    }
    return count;
}

/* ---- tests ---- */

static void test_synth_damage__what_is_written_is_json(void **state)
{
    const written *w = *state;
    assert_true(is_json(w->text, w->size));
    assert_int_equal(count_lines(w->text, w->size, "{\"ph\":"), hd_trace_event_count(w->trace));
}

static void test_synth_damage__none_changes_nothing(void **state)
{
    const written *w = *state;
    size_t size;
    hd_synth_damage_truth truth;
    char *out = damage(&size, w, (hd_synth_damage_options){0}, &truth);
    assert_int_equal(size, w->size);
    assert_memory_equal(out, w->text, size);
    assert_int_equal(truth.events_hit, 0);
    assert_int_equal(truth.events_before, hd_trace_event_count(w->trace));
    free(out);
}

static void test_synth_damage__each_kind_breaks_the_json(void **state)
{
    const written *w = *state;
    for (int kind = 0; kind < HD_SYNTH_DAMAGE_KINDS; kind++) {
        for (uint32_t count = 1; count < 8; count++) {
            size_t size;
            hd_synth_damage_truth truth;
            char *out = damage(&size, w, (hd_synth_damage_options){1u << kind, count, count}, &truth);
            bool still_json = kind == HD_SYNTH_EMPTY || kind == HD_SYNTH_DUPLICATE;
            assert_int_equal(is_json(out, size), still_json);
            assert_int_equal(truth.hit[kind], count);
            assert_int_equal(truth.events_hit, count);
            assert_true(size != w->size || memcmp(out, w->text, size) != 0);
            free(out);
        }
    }
}

static void test_synth_damage__as_many_lines_differ_as_events_are_hit(void **state)
{
    const written *w = *state;
    const hd_synth_damage kinds[] = {HD_SYNTH_COMMA, HD_SYNTH_NAN, HD_SYNTH_QUOTE, HD_SYNTH_UTF8, HD_SYNTH_DUPLICATE};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t size;
        char *out = damage(&size, w, (hd_synth_damage_options){1u << kinds[i], 25, 9}, NULL);
        const char *a = w->text, *b = out;
        size_t differ = 0;
        while (a < w->text + w->size) {
            const char *a_end = memchr(a, '\n', (size_t)(w->text + w->size - a));
            const char *b_end = memchr(b, '\n', (size_t)(out + size - b));
            assert_non_null(a_end);
            assert_non_null(b_end);
            differ += a_end - a != b_end - b || memcmp(a, b, (size_t)(a_end - a)) != 0;
            a = a_end + 1;
            b = b_end + 1;
        }
        assert_int_equal(differ, 25);
        free(out);
    }
}

static void test_synth_damage__empty_events_come_behind_the_last(void **state)
{
    const written *w = *state;
    size_t size;
    char *out = damage(&size, w, (hd_synth_damage_options){1u << HD_SYNTH_EMPTY, 2, 1}, NULL);
    char *end = memmem(out, size, ",\n{},\nnull\n]", 12);
    assert_non_null(end);
    assert_int_equal(size, w->size + strlen(",\n{},\nnull"));
    free(out);
}

static void test_synth_damage__a_cut_takes_the_last_events(void **state)
{
    const written *w = *state;
    size_t size;
    char *out = damage(&size, w, (hd_synth_damage_options){1u << HD_SYNTH_TRUNCATE, 5, 1}, NULL);
    assert_true(size < w->size);
    assert_memory_equal(out, w->text, size);
    size_t whole = count_lines(w->text, w->size, "{"), left = count_lines(out, size, "{");
    assert_int_equal(whole - left, 4); /* the first of the five is cut in its middle */
    free(out);
}

static void test_synth_damage__all_kinds_together_hit_each_event_once(void **state)
{
    const written *w = *state;
    size_t size, again_size;
    hd_synth_damage_truth truth;
    hd_synth_damage_options options = {(1u << HD_SYNTH_DAMAGE_KINDS) - 1, 20, 3};
    char *out = damage(&size, w, options, &truth), *again = damage(&again_size, w, options, NULL);
    for (int kind = 0; kind < HD_SYNTH_DAMAGE_KINDS; kind++) assert_int_equal(truth.hit[kind], 20);
    assert_int_equal(truth.events_hit, 20 * HD_SYNTH_DAMAGE_KINDS);
    assert_false(is_json(out, size));
    assert_int_equal(size, again_size);
    assert_memory_equal(out, again, size);
    free(out);
    free(again);
}

static void test_synth_damage__more_than_there_is_to_damage_is_refused(void **state)
{
    const written *w = *state;
    for (int kind = 0; kind < HD_SYNTH_DAMAGE_KINDS; kind++) {
        if (kind == HD_SYNTH_EMPTY) continue;
        char *out;
        size_t size;
        hd_error err = {0};
        hd_synth_damage_options options = {1u << kind, 1000000, 1};
        assert_int_equal(hd_synth_damage_text(&out, &size, w->text, w->size, &options, NULL, &err), HD_ERR_ARGUMENT);
        assert_null(out);
        assert_true(err.message[0]);
    }
    char *out;
    size_t size;
    hd_synth_damage_options unknown = {1u << HD_SYNTH_DAMAGE_KINDS, 1, 1}, fine = {1, 1, 1};
    assert_int_equal(hd_synth_damage_text(&out, &size, w->text, w->size, &unknown, NULL, NULL), HD_ERR_ARGUMENT);
    assert_int_equal(hd_synth_damage_text(&out, &size, "", 0, &fine, NULL, NULL), HD_ERR_ARGUMENT);
    assert_int_equal(hd_synth_damage_text(&out, &size, "[\n{}\n]", 6, &fine, NULL, NULL), HD_ERR_ARGUMENT);
}

static void test_synth_damage__a_damaged_file_is_what_the_text_is(void **state)
{
    const written *w = *state;
    char path[] = "/tmp/heddle-test-XXXXXX.json";
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    close(fd);
    hd_synth_damage_options options = {1u << HD_SYNTH_NAN | 1u << HD_SYNTH_QUOTE, 4, 2};
    hd_synth_damage_truth truth;
    assert_int_equal(hd_synth_write_damaged(w->trace, path, &options, &truth, NULL), HD_OK);
    size_t size, file_size;
    char *out = damage(&size, w, options, NULL), *file = read_file(&file_size, path);
    assert_int_equal(size, file_size);
    assert_memory_equal(out, file, size);
    assert_int_equal(truth.events_hit, 8);
    free(out);
    free(file);
    unlink(path);
    hd_error err = {0};
    assert_int_equal(hd_synth_write_damaged(w->trace, "/nowhere/at/all.json", &options, NULL, &err), HD_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_synth_damage__what_is_written_is_json),
        cmocka_unit_test(test_synth_damage__none_changes_nothing),
        cmocka_unit_test(test_synth_damage__each_kind_breaks_the_json),
        cmocka_unit_test(test_synth_damage__as_many_lines_differ_as_events_are_hit),
        cmocka_unit_test(test_synth_damage__empty_events_come_behind_the_last),
        cmocka_unit_test(test_synth_damage__a_cut_takes_the_last_events),
        cmocka_unit_test(test_synth_damage__all_kinds_together_hit_each_event_once),
        cmocka_unit_test(test_synth_damage__more_than_there_is_to_damage_is_refused),
        cmocka_unit_test(test_synth_damage__a_damaged_file_is_what_the_text_is),
    };
    return cmocka_run_group_tests(tests, write_trace, free_trace);
}
