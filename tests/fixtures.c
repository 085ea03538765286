/* fixtures.c - the fixture files of a format, and what is expected of them */
#include "fixtures.h"

#include <assert.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/ends.h"
#include "dump.h"
#include "read_text.h"

char *file_text(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    size_t size = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    assert(text);
    for (size_t n; (n = fread(text + size, 1, capacity - size, file)) > 0;) {
        size += n;
        if (size < capacity) continue;
        capacity *= 2;
        text = realloc(text, capacity);
        assert(text);
    }
    fclose(file);
    text = realloc(text, size + 1);
    assert(text);
    text[size] = '\0';
    *out_size = size;
    return text;
}

static bool ends_with(const char *name, const char *extension)
{
    return strlen(name) > strlen(extension) && hd_ends_with(name, strlen(name), extension);
}

static void load(fixture *out, const char *folder, const char *file_name, const char *extension)
{
    char path[1300];
    int stem = (int)(strlen(file_name) - strlen(extension));
    snprintf(path, sizeof path, "%s/%s", folder, file_name);
    snprintf(out->name, sizeof out->name, "%.*s", stem, file_name);
    snprintf(out->path, sizeof out->path, "%.800s/%.*s", folder, stem < 200 ? stem : 200, file_name);
    char *text = file_text(path, &out->size);
    assert(text);
    out->text = malloc(out->size ? out->size : 1);
    assert(out->text);
    memcpy(out->text, text, out->size);
    free(text);
    out->is_damaged = strncmp(file_name, "bad-", 4) == 0;
}

fixtures fixtures_load(const char *folder)
{
    return fixtures_load_as(folder, ".json");
}

fixtures fixtures_load_as(const char *folder, const char *extension)
{
    const char *root = getenv("HEDDLE_SOURCE_ROOT");
    char path[1024];
    struct dirent **entries = NULL;
    snprintf(path, sizeof path, "%s/%s", root ? root : ".", folder);
    int count = scandir(path, &entries, NULL, alphasort);
    assert(count > 0);
    fixtures all = {.list = calloc((size_t)count, sizeof *all.list)};
    assert(all.list);
    for (int i = 0; i < count; i++) {
        if (ends_with(entries[i]->d_name, extension)) load(&all.list[all.count++], path, entries[i]->d_name, extension);
        free(entries[i]);
    }
    free(entries);
    assert(all.count > 0);
    return all;
}

void fixtures_free(fixtures *all)
{
    for (size_t i = 0; i < all->count; i++) free(all->list[i].text);
    free(all->list);
    *all = (fixtures){0};
}

char *fixture_expect(const fixture *f)
{
    char path[1100];
    size_t size;
    snprintf(path, sizeof path, "%s.expect", f->path);
    return file_text(path, &size);
}

bool fixture_update(const fixture *f, const char *text)
{
    char path[1100];
    snprintf(path, sizeof path, "%s.expect", f->path);
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    bool fine = fputs(text, file) >= 0;
    return fclose(file) == 0 && fine;
}

int fixtures_update(const fixtures *all, fixture_dump *dump)
{
    for (size_t i = 0; i < all->count; i++) {
        char *text = dump(&all->list[i]);
        bool fine = fixture_update(&all->list[i], text);
        free(text);
        if (!fine) return 1;
    }
    printf("%zu fixtures updated\n", all->count);
    return 0;
}

void fixture_expect_same(const char *name, const char *expected, const char *got)
{
    size_t at = 0;
    if (strcmp(expected, got) == 0) return;
    while (expected[at] && expected[at] == got[at]) at++;
    while (at && expected[at - 1] != '\n') at--;
    fail_msg("%s:\nexpected: %.200s\ngot:      %.200s", name, expected + at, got + at);
}

void fixtures_expect(const fixtures *all, fixture_dump *dump)
{
    for (size_t i = 0; i < all->count; i++) {
        const fixture *f = &all->list[i];
        char *got = dump(f), *expected = fixture_expect(f);
        if (!expected) fail_msg("%s.expect is missing: run with --update, and read it", f->name);
        fixture_expect_same(f->name, expected, got);
        free(expected);
        free(got);
    }
}

uint64_t fixture_noted(const hd_trace *trace, const char *code)
{
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        if (strcmp(hd_trace_ledger_at(trace, i)->code, code) == 0) return hd_trace_ledger_at(trace, i)->count;
    }
    return 0;
}

void fixtures_expect_strict(const fixtures *all)
{
    const hd_read_options options = {.strict = true};
    for (size_t i = 0; i < all->count; i++) {
        const fixture *f = &all->list[i];
        hd_trace *trace;
        hd_error err = {0};
        bool is_whole = true;
        if (read_text(&trace, f->text, f->size, NULL, 0, &err) != HD_OK) fail_msg("%s: %s", f->name, err.message);
        for (size_t k = 0; k < hd_trace_ledger_count(trace); k++)
            is_whole &= hd_trace_ledger_at(trace, k)->level == HD_LEDGER_NOTE;
        if (is_whole && f->is_damaged) fail_msg("%s: no loss and no repair", f->name);
        hd_trace_free(trace);
        hd_status status = read_text(&trace, f->text, f->size, &options, 0, &err);
        if (status != (is_whole ? HD_OK : HD_ERR_DAMAGED)) fail_msg("%s: %d %s", f->name, status, err.message);
        if (f->is_damaged && err.offset > f->size) fail_msg("%s: no place of the damage", f->name);
        hd_trace_free(trace);
    }
}
