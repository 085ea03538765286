/* report_tables.h - reading tables in the tests of reports */
#ifndef TEST_REPORT_TABLES_H
#define TEST_REPORT_TABLES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "heddle/report.h"

static inline size_t column_named(const hd_table *table, const char *name)
{
    for (size_t i = 0; i < hd_table_column_count(table); i++) {
        if (strcmp(hd_table_get_column(table, i)->name, name) == 0) return i;
    }
    fail_msg("table %s has no column %s", hd_table_name(table), name);
    return 0;
}

static inline uint64_t count_at(const hd_table *table, size_t row, const char *name)
{
    return hd_table_get_count(table, row, column_named(table, name));
}

static inline int64_t int_at(const hd_table *table, size_t row, const char *name)
{
    return hd_table_get_int(table, row, column_named(table, name));
}

static inline bool null_at(const hd_table *table, size_t row, const char *name)
{
    return hd_table_is_null(table, row, column_named(table, name));
}

static inline void assert_text_at(const hd_table *table, size_t row, const char *name, const char *expected)
{
    char text[256];
    size_t size;
    const char *found = hd_table_get_string(&size, table, row, column_named(table, name));
    assert_true(size < sizeof text);
    memcpy(text, found, size);
    text[size] = '\0';
    assert_string_equal(text, expected);
}

#endif
