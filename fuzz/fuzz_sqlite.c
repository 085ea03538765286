/* fuzz_sqlite.c - libFuzzer target: databases that SQLite makes, against what SQLite reads of them
 *
 * The input is a list of steps: pages and text of a database, then its tables, rows, columns, deletions.
 * Properties: tables, columns and rows are those of SQLite; of a copy with a damaged page each row is one of the
 * database's, and all are there, or damage is counted.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/sqlite/sqlite.h"
#include "heddle/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS = 48, SIZE_LIMIT = 1 << 20 };

static void require_at(bool holds, const char *what, int line)
{
    if (holds) return;
    fprintf(stderr, "fuzz_sqlite.c:%d: %s does not hold\n", line, what);
    abort();
}
#define require(holds) require_at(holds, #holds, __LINE__)

/* ---- the database ---- */

typedef struct seed {
    const uint8_t *at, *end;
} seed;

static unsigned take(seed *s)
{
    return s->at < s->end ? *s->at++ : 0;
}

typedef struct base {
    sqlite3 *db;
    unsigned tables, columns, indices;
    bool by_library; /* SQLite reads one of its tables, which promises less of a damaged file */
} base;

/* Statements that SQLite refuses change nothing: a table of that name, a column that an index has. */
static void run(base *b, const char *sql)
{
    sqlite3_exec(b->db, sql, NULL, NULL, NULL);
}

static const char *one_of(seed *s, const char *const *list, size_t count)
{
    return list[take(s) % count];
}
#define ONE_OF(seed, list) one_of(seed, list, sizeof(list) / sizeof *(list))

static const char *const types[] = {"",           "INTEGER",          "TEXT",     "REAL",    "BLOB", "NUMERIC",
                                    "DATE",       "VARCHAR(20)",      "INT",      "[TE XT]", "ANY",  "\"INTEGER\"",
                                    "INTEGER(4)", "INTEGER UNSIGNED", "[integer]"};
static const char *const more[] = {"",
                                   " DEFAULT 7",
                                   " DEFAULT 'it''s'",
                                   " CHECK(1 OR 'a,b)')",
                                   " REFERENCES t0(a)",
                                   " UNIQUE",
                                   " /* , ( */ DEFAULT (-2.5)",
                                   " NOT NULL DEFAULT x'00ff'",
                                   " COLLATE NOCASE",
                                   " PRIMARY KEY",
                                   " PRIMARY KEY DESC",
                                   " PRIMARY KEY AUTOINCREMENT",
                                   " AS (1+1)",
                                   " GENERATED ALWAYS AS ('g'||1) STORED",
                                   " DEFAULT 1e3",
                                   " CONSTRAINT n NULL"};
static const char *const names[] = {"c%u",   "\"c\"\"%u\"", "[c ,%u]",        "`c(%u`",
                                    "'c%u'", "check%u",     "\"primary %u\"", "é%u"};
static const char *const ends[] = {")",
                                   ") WITHOUT ROWID",
                                   ", PRIMARY KEY(a))",
                                   ", PRIMARY KEY(a, a))",
                                   ", CONSTRAINT q PRIMARY KEY('a'))",
                                   ") STRICT",
                                   ", UNIQUE(a) ON CONFLICT IGNORE)",
                                   ", PRIMARY KEY(a DESC))",
                                   ", UNIQUE(a) PRIMARY KEY((a COLLATE NOCASE)))",
                                   ", PRIMARY KEY(a)) WITHOUT ROWID",
                                   ", CHECK(a<>'), (' OR 1))"};

static void add_column(char *sql, size_t size, base *b, seed *s)
{
    char name[40];
    snprintf(name, sizeof name, ONE_OF(s, names), b->columns++);
    const char *type = ONE_OF(s, types), *rest = ONE_OF(s, more);
    snprintf(sql + strlen(sql), size - strlen(sql), "%s %s%s", name, type, rest);
}

static void create_table(base *b, seed *s)
{
    char sql[2048];
    unsigned columns = take(s) % 7;
    snprintf(sql, sizeof sql,
             take(s) % 8 ? "CREATE TABLE t%u(a " : "create temp table if not exists main.\"t%u\" -- (\n(a ", b->tables);
    snprintf(sql + strlen(sql), sizeof sql - strlen(sql), "%s%s", ONE_OF(s, types), ONE_OF(s, more));
    for (unsigned i = 0; i < columns; i++) {
        strcat(sql, ",");
        add_column(sql, sizeof sql, b, s);
    }
    strcat(sql, ONE_OF(s, ends));
    b->tables += sqlite3_exec(b->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static void alter_table(base *b, seed *s)
{
    char sql[400];
    snprintf(sql, sizeof sql, "ALTER TABLE t%u ADD COLUMN ", take(s) % b->tables);
    add_column(sql, sizeof sql, b, s);
    run(b, sql);
}

/* A statement with %1$u, the table, and %2$u, a number. */
static const char *const changes[] = {
    "DELETE FROM t%1$u WHERE rowid %% 7 < %2$u %% 7",
    "DELETE FROM t%1$u WHERE rowid > %2$u",
    "UPDATE t%1$u SET a = a || zeroblob(%2$u) WHERE rowid %% 5 = %2$u %% 5",
    "UPDATE t%1$u SET rowid = rowid * -3 + %2$u",
    "INSERT INTO t%1$u DEFAULT VALUES",
    "INSERT INTO t%1$u SELECT * FROM t%1$u WHERE a > %2$u",
    "ALTER TABLE t%1$u DROP COLUMN c%2$u",
    "ALTER TABLE t%1$u RENAME COLUMN a TO \"a%2$u\"",
    "ALTER TABLE t%1$u RENAME TO \"new ( %2$u\"",
    "DROP TABLE t%1$u",
    "CREATE INDEX i%2$u ON t%1$u(a)",
    "CREATE VIEW v%2$u AS SELECT * FROM t%1$u",
    "CREATE TRIGGER g%2$u AFTER INSERT ON t%1$u BEGIN SELECT 1; END",
    "CREATE TABLE copy%2$u AS SELECT * FROM t%1$u",
    "CREATE VIRTUAL TABLE f%2$u USING fts5(x)",
    "PRAGMA incremental_vacuum(%2$u)",
    "VACUUM",
    "ANALYZE",
};

static void change(base *b, seed *s)
{
    char sql[200];
    const char *text = ONE_OF(s, changes);
    unsigned table = take(s) % b->tables, number = take(s);
    snprintf(sql, sizeof sql, text, table, number);
    run(b, sql);
}

static void bind_value(sqlite3_stmt *insert, int at, seed *s, uint64_t *state)
{
    static const char text[4096] = "a text of some length, that goes on with zeros for the rest";
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    unsigned kind = (unsigned)(*state >> 60), size = (unsigned)(*state >> 40) % 16;
    if (s) {
        kind = take(s) % 16;
        size = take(s) * take(s) % sizeof text;
    }
    int64_t number = (int64_t)*state >> (4 * size % 64);
    if (kind < 2)
        sqlite3_bind_null(insert, at);
    else if (kind < 7)
        sqlite3_bind_int64(insert, at, kind == 2 ? size - 1 : number);
    else if (kind < 10)
        sqlite3_bind_double(insert, at, kind == 7 ? (double)number / 3 : (double)(number >> 20));
    else if (kind < 14)
        sqlite3_bind_text(insert, at, text, (int)(kind == 13 ? 0 : size), SQLITE_STATIC);
    else
        sqlite3_bind_blob(insert, at, text, (int)size, SQLITE_STATIC);
}

/* Columns that are generated take no value. */
static int count_values(base *b, unsigned table, char *list, size_t size)
{
    char sql[100];
    sqlite3_stmt *columns;
    int count = 0;
    snprintf(sql, sizeof sql, "SELECT name FROM pragma_table_xinfo('t%u') WHERE hidden = 0", table);
    require(sqlite3_prepare_v2(b->db, sql, -1, &columns, NULL) == SQLITE_OK);
    while (sqlite3_step(columns) == SQLITE_ROW) {
        char *quoted = sqlite3_mprintf("%s\"%w\"", count++ ? "," : "", sqlite3_column_text(columns, 0));
        strncat(list, quoted, size - strlen(list) - 1);
        sqlite3_free(quoted);
    }
    sqlite3_finalize(columns);
    return count;
}

static void insert(base *b, seed *s, bool is_bulk)
{
    char list[1024] = "", *sql;
    sqlite3_stmt *statement;
    unsigned table = take(s) % b->tables, rows = is_bulk ? take(s) : 1;
    uint64_t state = take(s);
    int values = count_values(b, table, list, sizeof list);
    if (!values) return;
    sql = sqlite3_mprintf("INSERT OR REPLACE INTO t%u(%s) VALUES(?%.*s)", table, list, 2 * (values - 1),
                          ",?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?");
    if (values < 20 && sqlite3_prepare_v2(b->db, sql, -1, &statement, NULL) == SQLITE_OK) {
        for (unsigned i = 0; i < rows; i++) {
            for (int v = 1; v <= values; v++) bind_value(statement, v, is_bulk ? NULL : s, &state);
            sqlite3_step(statement);
            sqlite3_reset(statement);
        }
        sqlite3_finalize(statement);
    }
    sqlite3_free(sql);
}

static void set_up(base *b, seed *s)
{
    char sql[200];
    unsigned flags = take(s), reserved = flags & 64 ? 24 : 0;
    snprintf(sql, sizeof sql, "PRAGMA page_size=%u; PRAGMA auto_vacuum=%u; PRAGMA secure_delete=%u",
             512u << (flags % 8), flags / 8 % 4 % 3, flags >> 5 & 1);
    run(b, sql);
    if (reserved) sqlite3_file_control(b->db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
    if (take(s) > 250) run(b, "PRAGMA encoding='UTF-16le'");
}

static void make(base *b, seed *s)
{
    require(sqlite3_open(":memory:", &b->db) == SQLITE_OK);
    set_up(b, s);
    create_table(b, s);
    if (!b->tables) b->tables = sqlite3_exec(b->db, "CREATE TABLE t0(a)", NULL, NULL, NULL) == SQLITE_OK;
    run(b, "BEGIN");
    for (unsigned i = 0; i < STEPS && s->at < s->end; i++) {
        unsigned kind = take(s) % 12;
        if (kind == 0)
            create_table(b, s);
        else if (kind == 1)
            alter_table(b, s);
        else if (kind < 5)
            change(b, s);
        else
            insert(b, s, kind < 8);
        if (kind > 10) run(b, "COMMIT; BEGIN");
    }
    run(b, "COMMIT");
}

/* ---- comparison ---- */

static hd_status open_file(sq_file *out, const uint8_t *data, size_t size)
{
    hd_byte_source *source;
    hd_input *input;
    require(hd_byte_source_new_memory(&source, data, size, NULL, NULL) == HD_OK);
    require(hd_input_open_source(&input, source, NULL, NULL) == HD_OK);
    hd_error err = {0};
    hd_status status = sq_file_open(out, input, &err);
    hd_input_close(input);
    hd_byte_source_free(source);
    return status;
}

/* The reader has a whole number of a column of type REAL as a record has it, as an integer. */
static bool is_same(const sq_value *value, sqlite3_stmt *row, int at)
{
    switch (sqlite3_column_type(row, at)) {
    case SQLITE_NULL: return value->type == SQ_NULL;
    case SQLITE_INTEGER: return value->type == SQ_INT && value->number == sqlite3_column_int64(row, at);
    case SQLITE_FLOAT:
        return (value->type == SQ_INT && (double)value->number == sqlite3_column_double(row, at)) ||
               (value->type == SQ_REAL && value->real == sqlite3_column_double(row, at));
    default: break;
    }
    bool is_text = sqlite3_column_type(row, at) == SQLITE_TEXT; /* in UTF-8, whatever the file has */
    const void *bytes = is_text ? (const void *)sqlite3_column_text(row, at) : sqlite3_column_blob(row, at);
    size_t size = (size_t)sqlite3_column_bytes(row, at);
    return value->type == (is_text ? SQ_TEXT : SQ_BLOB) && value->size == size &&
           (size == 0 || memcmp(value->data, bytes, size) == 0);
}

/* NULL: no such table. Tables without rowids have another order, which is that of SQLite. */
static sqlite3_stmt *select_rows(base *b, const sq_table *table, bool is_damaged)
{
    const char *order = table->is_without_rowid ? "" : is_damaged ? " WHERE rowid = ?" : " ORDER BY rowid";
    sqlite3_stmt *out;
    char *columns = sqlite3_mprintf("");
    for (uint32_t i = 0; i < table->column_count; i++) {
        char *longer = sqlite3_mprintf("%s, \"%w\"", columns, table->columns[i]);
        sqlite3_free(columns);
        columns = longer;
    }
    char *sql = sqlite3_mprintf("SELECT %s%s FROM \"%w\" NOT INDEXED%s", table->is_without_rowid ? "NULL" : "rowid",
                                columns, table->name, order);
    sqlite3_prepare_v2(b->db, sql, -1, &out, NULL);
    sqlite3_free(sql);
    sqlite3_free(columns);
    return out;
}

static bool is_same_row(const sq_cursor *cursor, sqlite3_stmt *row)
{
    bool same = cursor->table->is_without_rowid || sqlite3_column_int64(row, 0) == cursor->rowid;
    for (uint32_t i = 0; same && i < cursor->columns; i++) same = is_same(&cursor->values[i], row, (int)i + 1);
    return same;
}

static uint64_t count_damage(const sq_damage *damage)
{
    return damage->pages + damage->rows + damage->defaults;
}

/* Returns how many rows were read; *out_damage grows. */
static uint64_t compare_table(uint64_t *out_damage, base *b, sq_file *file, const sq_table *table, bool is_damaged)
{
    sq_leaves leaves;
    sq_cursor *cursor = calloc(1, sizeof *cursor);
    uint64_t rows = 0, others = 0;
    require(cursor && sq_file_leaves(&leaves, file, table, NULL) == HD_OK);
    sq_cursor_begin(cursor, file, table, leaves.pages, leaves.count);
    sqlite3_stmt *select = select_rows(b, table, is_damaged);
    require(select || is_damaged);
    for (; sq_cursor_next(cursor, NULL) == HD_OK; rows++) {
        if (is_damaged) {
            sqlite3_reset(select);
            sqlite3_bind_int64(select, 1, cursor->rowid);
        }
        bool is_there = select && sqlite3_step(select) == SQLITE_ROW;
        require(is_there || is_damaged);
        others += !is_there || !is_same_row(cursor, select);
    }
    require(is_damaged || (others == 0 && sqlite3_step(select) == SQLITE_DONE));
    sqlite3_finalize(select);
    uint64_t damage = count_damage(&leaves.damage) + count_damage(&cursor->damage);
    require(is_damaged ? others == 0 || damage : damage == 0);
    *out_damage += damage;
    sq_cursor_deinit(cursor);
    free(cursor);
    free(leaves.pages);
    return rows;
}

static uint64_t ask_number(base *b, const char *sql)
{
    sqlite3_stmt *statement;
    require(sqlite3_prepare_v2(b->db, sql, -1, &statement, NULL) == SQLITE_OK);
    require(sqlite3_step(statement) == SQLITE_ROW);
    uint64_t out = (uint64_t)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return out;
}

/* The columns of a table that its records have; SQLite reads virtual ones, too. */
static void compare_columns(base *b, const sq_table *table)
{
    sqlite3_stmt *columns;
    char *sql = sqlite3_mprintf("SELECT name FROM pragma_table_xinfo(%Q) WHERE hidden <> 2 OR %d ORDER BY cid",
                                table->name, table->by_library);
    require(sqlite3_prepare_v2(b->db, sql, -1, &columns, NULL) == SQLITE_OK);
    for (uint32_t i = 0; i < table->column_count; i++) {
        require(sqlite3_step(columns) == SQLITE_ROW);
        require(strcmp((const char *)sqlite3_column_text(columns, 0), table->columns[i]) == 0);
    }
    require(sqlite3_step(columns) == SQLITE_DONE);
    sqlite3_finalize(columns);
    sqlite3_free(sql);
}

/* Returns the rows of all tables. */
static uint64_t compare(base *b, const uint8_t *data, size_t size)
{
    sq_file file;
    uint64_t rows = 0, damage = 0;
    hd_status status = open_file(&file, data, size);
    uint64_t tables = ask_number(
        b, "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'shadow') AND "
           "name <> 'sqlite_schema'");
    uint64_t others =
        ask_number(b, "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'virtual'");
    if (status == HD_OK) {
        require(file.table_count == tables && file.unreadable == others && count_damage(&file.damage) == 0);
        for (size_t i = 0; i < file.table_count; i++) {
            compare_columns(b, &file.tables[i]);
            b->by_library |= file.tables[i].by_library;
            rows += compare_table(&damage, b, &file, &file.tables[i], false);
        }
    } else {
        require(tables == 0);
    }
    sq_file_close(&file);
    return status == HD_OK ? rows : 0;
}

/* ---- damage ---- */

/* Pages of trees of tables, which are those whose loss can be seen: bytes of a value have no checksum. */
static bool is_tree(const uint8_t *page)
{
    return *page == 5 || *page == 13;
}

static size_t damage_page(uint8_t *data, size_t size, size_t page_size, seed *s)
{
    size_t pages = size / page_size, at = (take(s) * 256u + take(s)) % pages;
    unsigned kind = take(s) % 5;
    uint8_t *page = data + at * page_size;
    if (at == 0 || !is_tree(page)) return size;
    switch (kind) {
    case 0: memset(page, 0, page_size); break;
    case 1: return at * page_size;
    case 2: page[3 + take(s) % 2] ^= (uint8_t)(1u << take(s) % 8); break;  /* how many cells there are */
    case 3: page[8 + take(s) % 24] ^= (uint8_t)(1u << take(s) % 8); break; /* where they are */
    default: memset(page, 0xff, page_size);
    }
    return size;
}

static void compare_damaged(base *b, uint8_t *data, size_t size, uint64_t rows, seed *s)
{
    sq_file file;
    size_t page_size = (size_t)(data[16] << 8 | data[17]);
    uint64_t found = 0, damage = 0;
    size = damage_page(data, size, page_size == 1 ? 65536 : page_size, s);
    if (open_file(&file, data, size) == HD_OK) {
        damage = count_damage(&file.damage);
        for (size_t i = 0; i < file.table_count; i++) {
            if (!file.tables[i].by_library) found += compare_table(&damage, b, &file, &file.tables[i], true);
        }
        require(found == rows || damage || b->by_library);
    }
    sq_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    seed s = {data, data + size};
    base b = {0};
    make(&b, &s);
    sqlite3_int64 bytes;
    uint8_t *file = sqlite3_serialize(b.db, "main", &bytes, 0);
    require(file != NULL);
    if (bytes <= SIZE_LIMIT) {
        uint64_t rows = compare(&b, file, (size_t)bytes);
        s = (seed){data, data + size};
        for (unsigned i = 0; rows && i < 4; i++) {
            uint8_t *copy = malloc((size_t)bytes);
            require(copy != NULL);
            memcpy(copy, file, (size_t)bytes);
            compare_damaged(&b, copy, (size_t)bytes, rows, &s);
            free(copy);
        }
    }
    sqlite3_free(file);
    sqlite3_close(b.db);
    return 0;
}
