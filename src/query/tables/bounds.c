/* bounds.c - the bounds of constraints */
#include "query/tables/bounds.h"

#include <math.h>
#include <stdbool.h>

static void add_none(query_bounds *bounds)
{
    *bounds = (query_bounds){1, 0};
}

static void at_least(query_bounds *bounds, int64_t value)
{
    if (value > bounds->low) bounds->low = value;
}

static void at_most(query_bounds *bounds, int64_t value)
{
    if (value < bounds->high) bounds->high = value;
}

static void add_int(query_bounds *bounds, int op, int64_t value)
{
    bool up = op == SQLITE_INDEX_CONSTRAINT_GT, down = op == SQLITE_INDEX_CONSTRAINT_LT;
    if ((up && value == INT64_MAX) || (down && value == INT64_MIN)) {
        add_none(bounds);
        return;
    }
    if (op != SQLITE_INDEX_CONSTRAINT_LT && op != SQLITE_INDEX_CONSTRAINT_LE) at_least(bounds, up ? value + 1 : value);
    if (op != SQLITE_INDEX_CONSTRAINT_GT && op != SQLITE_INDEX_CONSTRAINT_GE) at_most(bounds, down ? value - 1 : value);
}

static void add_real(query_bounds *bounds, int op, double value)
{
    bool from_below = op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;
    if (value >= 9223372036854775808.0 || value < -9223372036854775808.0) {
        bool below_all = value < 0;
        if (op == SQLITE_INDEX_CONSTRAINT_EQ || from_below != below_all) add_none(bounds);
        return;
    }
    double whole = floor(value);
    if (whole == value) {
        add_int(bounds, op, (int64_t)value);
    } else if (op == SQLITE_INDEX_CONSTRAINT_EQ) {
        add_none(bounds);
    } else {
        add_int(bounds, from_below ? SQLITE_INDEX_CONSTRAINT_GT : SQLITE_INDEX_CONSTRAINT_LE, (int64_t)whole);
    }
}

void query_bounds_add(query_bounds *bounds, int op, sqlite3_value *value)
{
    switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER: add_int(bounds, op, sqlite3_value_int64(value)); break;
    case SQLITE_FLOAT: add_real(bounds, op, sqlite3_value_double(value)); break;
    case SQLITE_NULL: add_none(bounds); break;
    default: /* a text or blob is larger than any number */
        if (op != SQLITE_INDEX_CONSTRAINT_LT && op != SQLITE_INDEX_CONSTRAINT_LE) add_none(bounds);
    }
}
