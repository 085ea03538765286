/* fixtures.h - the fixture files of a format, and what is expected of them */
#ifndef HD_TESTS_FIXTURES_H
#define HD_TESTS_FIXTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/trace.h"

typedef struct fixture {
    char name[128];
    char path[1024]; /* without its extension */
    char *text;      /* exactly `size` bytes, so that a sanitizer sees a read past the end */
    size_t size;
    bool is_damaged; /* named bad-… */
} fixture;

typedef struct fixtures {
    fixture *list; /* by name */
    size_t count;
} fixtures;

/* All NAME.json of a folder of the source tree, which HEDDLE_SOURCE_ROOT names. */
fixtures fixtures_load(const char *folder);
/* All that end in another extension (".folded"). */
fixtures fixtures_load_as(const char *folder, const char *extension);
void fixtures_free(fixtures *all);

/* A whole file; NULL if it cannot be read. NUL-terminated, the caller frees it. */
char *file_text(const char *path, size_t *out_size);

/* The text of NAME.expect; NULL if there is none. The caller frees it. */
char *fixture_expect(const fixture *f);
bool fixture_update(const fixture *f, const char *text);

/* What is dumped of a fixture; the caller frees it. */
typedef char *fixture_dump(const fixture *f);
/* The test fails at the first of which other text comes than NAME.expect. */
void fixtures_expect(const fixtures *all, fixture_dump *dump);
void fixture_expect_same(const char *name, const char *expected, const char *got);
/* The test fails if --strict takes a damaged one, or tells no place of the damage, or refuses another one. */
void fixtures_expect_strict(const fixtures *all);
/* Count of a code of the ledger. */
uint64_t fixture_noted(const hd_trace *trace, const char *code);
/* Write all NAME.expect anew, for --update: read them before you commit them. The exit status. */
int fixtures_update(const fixtures *all, fixture_dump *dump);

#endif
