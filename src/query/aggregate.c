/* aggregate.c - median, percentile, quantile
 *
 * Exact, over all values, with linear interpolation between neighbours, as NumPy's default and quantile_cont of other
 * SQL engines. Nulls are ignored; without values the result is null.
 *
 * The result is REAL, so that median(dur) / 1000 never divides whole numbers; but a whole number beyond 2^53, such as a
 * time since 1970, is INTEGER, because a double cannot represent it.
 */
#include "base/memory/vector.h"
#include "query/impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

typedef struct values {
    int64_t *list; /* whole numbers, or with is_real keys of doubles */
    size_t count, capacity;
    double fraction;
    bool is_real;
} values;

/* Maps a number to an integer key in the order of the doubles, and back: the bits of negative ones are inverted. */
static int64_t key_of(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits ^ (bits < 0 ? INT64_MAX : 0);
}

static double value_of(int64_t key)
{
    double value;
    key ^= key < 0 ? INT64_MAX : 0;
    memcpy(&value, &key, sizeof value);
    return value;
}

/* Whole is the scale of the fraction: 100 for percentile; 0 for median, which has none. */
static bool take_fraction(values *v, sqlite3_context *context, sqlite3_value **arguments)
{
    double whole = *(const double *)sqlite3_user_data(context);
    double fraction = whole > 0 ? sqlite3_value_double(arguments[1]) / whole : 0.5;
    bool is_number = whole <= 0 || sqlite3_value_numeric_type(arguments[1]) == SQLITE_INTEGER ||
                     sqlite3_value_numeric_type(arguments[1]) == SQLITE_FLOAT;
    if (!is_number || !(fraction >= 0 && fraction <= 1) || (v->count && fraction != v->fraction)) {
        sqlite3_result_error(context,
                             whole > 1 ? "percentile(x, p): p is a number from 0 to 100, the same for all rows"
                                       : "quantile(x, q): q is a number from 0 to 1, the same for all rows",
                             -1);
        return false;
    }
    v->fraction = fraction;
    return true;
}

static void add_value(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    (void)count;
    if (sqlite3_value_type(arguments[0]) == SQLITE_NULL) return;
    int type = sqlite3_value_numeric_type(arguments[0]);
    values *v = sqlite3_aggregate_context(context, sizeof *v);
    if (!v) {
        sqlite3_result_error_nomem(context);
    } else if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
        sqlite3_result_error(context, "median, percentile and quantile are of numbers", -1);
    } else if (take_fraction(v, context, arguments)) {
        if (!hd_grow((void **)&v->list, &v->capacity, v->count, sizeof *v->list)) {
            sqlite3_result_error_nomem(context);
            return;
        }
        for (size_t i = 0; type == SQLITE_FLOAT && !v->is_real && i < v->count; i++)
            v->list[i] = key_of((double)v->list[i]);
        v->is_real |= type == SQLITE_FLOAT;
        v->list[v->count++] =
            v->is_real ? key_of(sqlite3_value_double(arguments[0])) : sqlite3_value_int64(arguments[0]);
    }
}

/* Quickselect by Hoare's partition: afterwards list[at] is as if all were sorted, and nothing smaller is after it. The
 * pivot is random, so that no input order is slow. */
static int64_t select_value(int64_t *list, size_t count, size_t at)
{
    uint64_t seed = 0x9e3779b97f4a7c15;
    size_t low = 0, high = count - 1;
    while (low < high) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        int64_t pivot = list[low + seed % (high - low)]; /* never the last: both parts have elements */
        size_t i = low, j = high;
        for (;; i++, j--) {
            while (list[i] < pivot) i++;
            while (list[j] > pivot) j--;
            if (i >= j) break;
            int64_t value = list[i];
            list[i] = list[j];
            list[j] = value;
        }
        if (at <= j)
            high = j;
        else
            low = j + 1;
    }
    return list[at];
}

static void tell_whole(sqlite3_context *context, int64_t low, int64_t next, double part)
{
    long double off = (long double)((wide)next - low) * part;
    int64_t nearest = (int64_t)(low + (wide)roundl(off));
    if (nearest > -(1LL << 53) && nearest < 1LL << 53)
        sqlite3_result_double(context, (double)(low + off));
    else
        sqlite3_result_int64(context, nearest);
}

static void tell_value(sqlite3_context *context)
{
    values *v = sqlite3_aggregate_context(context, 0);
    if (!v || !v->count) return;
    double place = v->fraction * (double)(v->count - 1);
    size_t at = (size_t)place;
    if (at >= v->count) at = v->count - 1;
    int64_t low = select_value(v->list, v->count, at), next = low;
    if (at + 1 < v->count && place > (double)at) {
        next = v->list[at + 1];
        for (size_t i = at + 2; i < v->count; i++) next = v->list[i] < next ? v->list[i] : next;
    }
    double part = place - (double)at;
    bool is_real = v->is_real;
    free(v->list);
    *v = (values){0};
    if (is_real)
        sqlite3_result_double(context, value_of(low) + (value_of(next) - value_of(low)) * part);
    else
        tell_whole(context, low, next, part);
}

int query_aggregates_register(sqlite3 *db)
{
    static const struct {
        const char *name;
        int arguments;
        double whole;
    } list[] = {{"median", 1, 0}, {"percentile", 2, 100}, {"quantile", 2, 1}};
    int code = SQLITE_OK;
    for (size_t i = 0; i < sizeof list / sizeof *list && code == SQLITE_OK; i++)
        code = sqlite3_create_function_v2(db, list[i].name, list[i].arguments,
                                          SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, (void *)&list[i].whole,
                                          NULL, add_value, tell_value, NULL);
    return code;
}
