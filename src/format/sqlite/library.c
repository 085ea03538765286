/* library.c - what of an SQLite file is read by SQLite itself
 *
 * These are files with pages in a log or a journal next to them, with text in UTF-16, or with a schema that schema.c
 * does not understand; and of other files tables without rowids, with virtual columns, or with a DEFAULT that is an
 * expression. SQLite gets the bytes through a file system (sqlite3_vfs) of this connection: it reads the pieces and the
 * file next to them, and a page that it writes, to roll a journal back, goes to a nameless file. So nothing on the disk
 * changes, and no lock is taken. The statements are our own, on real tables; views, triggers, attached files and all
 * functions are off, so that expressions of a schema cost little.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/read_at.h"
#include "base/io/temporary.h"
#include "base/memory/vector.h"
#include "base/text/ends.h"
#include "format/sqlite/sqlite.h"

enum { SECTOR = 512, HEAD = 32, DEPTH = 50, STEPS = 25000, SQL_BYTES = 1 << 20 };

struct sq_library {
    sq_file *file;
    sqlite3 *db;
    sqlite3_vfs vfs;
    int beside; /* the log or journal; -1: none, then it is empty */
    bool is_journal;
    uint64_t beside_bytes; /* when it was opened */
    uint8_t head[HEAD];    /* its first bytes then */
    uint64_t size;         /* of the database, after what was written */
    int written;           /* nameless file of written sectors at their places; -1: none yet */
    uint8_t *is_written;   /* bits, by sector */
    bool has_functions;    /* they cannot be removed */
};

/* ---- the file system ---- */

typedef struct library_file {
    sqlite3_file base;
    sq_library *library;
    bool is_beside;
} library_file;

static int file_close(sqlite3_file *file)
{
    (void)file;
    return SQLITE_OK;
}

/* Part of one sector of the database. */
static bool read_part(sq_library *l, uint8_t *out, uint64_t offset, size_t size)
{
    uint64_t sector = offset / SECTOR, left = offset < l->file->pieces.size ? l->file->pieces.size - offset : 0;
    if (l->is_written && (l->is_written[sector / 8] >> sector % 8 & 1))
        return hd_read_whole_at(l->written, out, size, offset);
    memset(out, 0, size);
    return hd_pieces_read(&l->file->pieces, out, offset, size < left ? size : (size_t)left, NULL) == HD_OK;
}

static int read_database(sq_library *l, uint8_t *out, uint64_t offset, size_t size)
{
    if (!l->is_written)
        return hd_pieces_read(&l->file->pieces, out, offset, size, NULL) ? SQLITE_IOERR_READ : SQLITE_OK;
    while (size) {
        size_t part = SECTOR - (size_t)(offset % SECTOR);
        if (part > size) part = size;
        if (!read_part(l, out, offset, part)) return SQLITE_IOERR_READ;
        out += part;
        offset += part;
        size -= part;
    }
    return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *out, int size, sqlite3_int64 offset)
{
    const library_file *f = (library_file *)file;
    sq_library *l = f->library;
    uint64_t end = f->is_beside ? l->beside_bytes : l->size, at = (uint64_t)offset;
    size_t have = at < end ? (size_t)(end - at < (uint64_t)size ? end - at : (uint64_t)size) : 0;
    memset((uint8_t *)out + have, 0, (size_t)size - have);
    if (f->is_beside) {
        if (!hd_read_whole_at(l->beside, out, have, at)) return SQLITE_IOERR_READ;
    } else {
        int code = read_database(l, out, at, have);
        if (code != SQLITE_OK) return code;
    }
    return have == (size_t)size ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

/* The most bytes that a journal can make of the database. */
static uint64_t most_bytes(const sq_library *l)
{
    return (l->file->pieces.size + l->beside_bytes + 65536) / SECTOR * SECTOR;
}

static bool begin_writing(sq_library *l)
{
    if (!l->is_written) l->is_written = calloc((size_t)(most_bytes(l) / SECTOR / 8 + 1), 1);
    if (l->is_written && l->written < 0 && hd_temporary_nameless(&l->written, NULL) != HD_OK) l->written = -1;
    return l->is_written && l->written >= 0;
}

/* A journal that is rolled back: its header is erased in vain, its pages are taken. */
static int file_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 offset)
{
    const library_file *f = (library_file *)file;
    sq_library *l = f->library;
    uint64_t at = (uint64_t)offset, end = at + (uint64_t)size;
    if (f->is_beside) return l->is_journal ? SQLITE_OK : SQLITE_READONLY;
    if (at % SECTOR || size % SECTOR || end > most_bytes(l)) return SQLITE_FULL;
    if (!begin_writing(l)) return SQLITE_IOERR_NOMEM;
    if (pwrite(l->written, data, (size_t)size, offset) != size) return SQLITE_FULL;
    for (uint64_t s = at / SECTOR; s < end / SECTOR; s++) l->is_written[s / 8] |= (uint8_t)(1 << s % 8);
    if (end > l->size) l->size = end;
    return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    const library_file *f = (library_file *)file;
    if (!f->is_beside && (uint64_t)size > most_bytes(f->library)) return SQLITE_FULL;
    if (!f->is_beside) f->library->size = (uint64_t)size;
    return SQLITE_OK;
}

static int file_sync(sqlite3_file *file, int flags)
{
    (void)file, (void)flags;
    return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *out)
{
    const library_file *f = (library_file *)file;
    *out = (sqlite3_int64)(f->is_beside ? f->library->beside_bytes : f->library->size);
    return SQLITE_OK;
}

static int file_lock(sqlite3_file *file, int lock)
{
    (void)file, (void)lock;
    return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *file, int *out)
{
    (void)file;
    *out = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int op, void *value)
{
    (void)file, (void)op, (void)value;
    return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *file)
{
    (void)file;
    return SECTOR;
}

static int file_traits(sqlite3_file *file)
{
    (void)file;
    return 0;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1, /* no shared memory: SQLite has its own index of a log */
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_lock,
    .xCheckReservedLock = file_is_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
};

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out_flags)
{
    library_file *f = (library_file *)file;
    sq_library *l = vfs->pAppData;
    const int beside = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL;
    (void)path;
    *f = (library_file){.library = l, .is_beside = (flags & beside) != 0};
    if (!(flags & (beside | SQLITE_OPEN_MAIN_DB))) return SQLITE_CANTOPEN;
    f->base.pMethods = &methods;
    if (out_flags) *out_flags = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync)
{
    (void)vfs, (void)path, (void)sync;
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *out)
{
    const sq_library *l = vfs->pAppData;
    (void)flags;
    *out = l->beside >= 0 && hd_ends_with(path, strlen(path), l->is_journal ? "-journal" : "-wal");
    return SQLITE_OK;
}

static int vfs_name(sqlite3_vfs *vfs, const char *path, int size, char *out)
{
    (void)vfs;
    snprintf(out, (size_t)size, "%s", path);
    return SQLITE_OK;
}

static bool register_vfs(sq_library *l)
{
    if (sqlite3_initialize() != SQLITE_OK) return false;
    const sqlite3_vfs *inner = sqlite3_vfs_find(NULL);
    char *name = inner ? sqlite3_mprintf("heddle-file-%p", (void *)l) : NULL;
    if (!name) return false;
    l->vfs = *inner; /* clock and random numbers */
    l->vfs.pNext = NULL;
    l->vfs.zName = name;
    l->vfs.pAppData = l;
    l->vfs.szOsFile = sizeof(library_file);
    l->vfs.xOpen = vfs_open;
    l->vfs.xDelete = vfs_delete;
    l->vfs.xAccess = vfs_access;
    l->vfs.xFullPathname = vfs_name;
    if (sqlite3_vfs_register(&l->vfs, 0) == SQLITE_OK) return true;
    sqlite3_free(name);
    l->vfs.zName = NULL;
    return false;
}

/* ---- the connection ---- */

static bool open_beside(sq_library *l, const char *path)
{
    char *name;
    off_t end;
    if (!l->file->has_wal && !l->file->has_journal) return true;
    l->is_journal = !l->file->has_wal;
    if (asprintf(&name, "%s%s", path, l->is_journal ? "-journal" : "-wal") < 0) return false;
    l->beside = open(name, O_RDONLY | O_CLOEXEC);
    free(name);
    if (l->beside < 0 || (end = lseek(l->beside, 0, SEEK_END)) < HEAD) return false;
    l->beside_bytes = (uint64_t)end;
    return hd_read_whole_at(l->beside, l->head, HEAD, 0);
}

static void remove_functions(sq_library *l)
{
    sqlite3_stmt *list, *probe = NULL;
    if (sqlite3_prepare_v2(l->db, "SELECT DISTINCT name, narg FROM pragma_function_list", -1, &list, NULL) ==
        SQLITE_OK) {
        struct {
            char *name;
            int count;
        } *all = NULL;
        size_t count = 0, capacity = 0;
        while (sqlite3_step(list) == SQLITE_ROW && hd_grow((void **)&all, &capacity, count, sizeof *all)) {
            all[count].name = sqlite3_mprintf("%s", sqlite3_column_text(list, 0));
            all[count++].count = sqlite3_column_int(list, 1);
        }
        sqlite3_finalize(list);
        for (size_t i = 0; i < count; i++) {
            if (all[i].name)
                sqlite3_create_function_v2(l->db, all[i].name, all[i].count, SQLITE_UTF8, NULL, NULL, NULL, NULL, NULL);
            sqlite3_free(all[i].name);
        }
        free(all);
    }
    l->has_functions = sqlite3_prepare_v2(l->db, "SELECT replace('a', 'a', 'b')", -1, &probe, NULL) == SQLITE_OK;
    sqlite3_finalize(probe);
}

static bool open_database(sq_library *l)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX; /* written pages stay here: see above */
    if (sqlite3_open_v2("database", &l->db, flags, l->vfs.zName) != SQLITE_OK) return false;
    sqlite3_db_config(l->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(l->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(l->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(l->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(l->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_limit(l->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(l->db, SQLITE_LIMIT_LENGTH, SQ_RECORD_LIMIT);
    sqlite3_limit(l->db, SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES);
    sqlite3_limit(l->db, SQLITE_LIMIT_EXPR_DEPTH, DEPTH);
    sqlite3_limit(l->db, SQLITE_LIMIT_VDBE_OP, STEPS);
    /* First of all: a log needs no shared memory then. */
    static const char first[] = "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cell_size_check=ON";
    bool fine = sqlite3_exec(l->db, first, NULL, NULL, NULL) == SQLITE_OK;
    remove_functions(l);
    static const char sql[] =
        "PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0; PRAGMA schema_version; PRAGMA query_only=ON";
    return fine && sqlite3_exec(l->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* ---- tables ---- */

/* Of type REAL, by the rules of "Determination Of Column Affinity": its records have whole numbers as integers. */
static bool is_real(const char *type)
{
    static const char *const before[] = {"INT", "CHAR", "CLOB", "TEXT", "BLOB"}, *const real[] = {"REAL", "FLOA",
                                                                                                  "DOUB"};
    bool is = false;
    for (size_t i = 0; i < 5; i++) {
        if (strcasestr(type, before[i])) return false;
    }
    for (size_t i = 0; i < 3; i++) is |= strcasestr(type, real[i]) != NULL;
    return is;
}

enum { NAME, TYPE, HIDDEN, REFERENCES };

static bool add_column(sq_table *table, sqlite3_stmt *row)
{
    const char *name = (const char *)sqlite3_column_text(row, NAME),
               *type = (const char *)sqlite3_column_text(row, TYPE);
    const char *references = (const char *)sqlite3_column_text(row, REFERENCES);
    if (!name || table->column_count == SQ_COLUMN_LIMIT) return false;
    if (!references) references = "";
    if (!table->columns) table->columns = calloc(SQ_COLUMN_LIMIT, sizeof *table->columns);
    size_t size = strlen(name) + 1;
    char *copy = table->columns ? malloc(size + 1 + strlen(references) + 1) : NULL;
    if (!copy) return false;
    strcpy(copy, name);
    copy[size] = type && is_real(type);
    strcpy(copy + size + 1, references);
    table->columns[table->column_count++] = copy;
    return true;
}

static bool can_prepare(const sq_library *l, char *sql)
{
    sqlite3_stmt *statement = NULL;
    bool fine = sql && sqlite3_prepare_v2(l->db, sql, -1, &statement, NULL) == SQLITE_OK;
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return fine;
}

/* A virtual column whose expression has functions cannot be computed. */
static bool is_computed(const sq_library *l, const sq_table *table, sqlite3_stmt *column)
{
    if (sqlite3_column_int(column, HIDDEN) != 2) return true;
    const unsigned char *name = sqlite3_column_text(column, NAME);
    return !l->has_functions && can_prepare(l, sqlite3_mprintf("SELECT \"%w\" FROM main.\"%w\"", name, table->name));
}

static bool add_columns(sq_table *table, const sq_library *l)
{
    sqlite3_stmt *list;
    static const char sql[] =
        "SELECT c.name, c.type, c.hidden, (SELECT \"table\" FROM pragma_foreign_key_list(?1) WHERE "
        "\"from\" = c.name COLLATE NOCASE) FROM pragma_table_xinfo(?1) c ORDER BY c.cid";
    bool fine = true;
    int code = SQLITE_ROW;
    if (sqlite3_prepare_v2(l->db, sql, -1, &list, NULL) != SQLITE_OK) return false;
    sqlite3_bind_text(list, 1, table->name, -1, SQLITE_STATIC);
    while (fine && (code = sqlite3_step(list)) == SQLITE_ROW) {
        if (is_computed(l, table, list))
            fine = add_column(table, list);
        else
            table->virtual_count++;
    }
    sqlite3_finalize(list);
    return fine && code == SQLITE_DONE && table->column_count;
}

static bool has_column(const sq_table *table, const char *name)
{
    return sq_table_column(table, name) >= 0;
}

/* A rowid is the first value. "NULL": there is none. */
static char *make_select(const sq_library *l, const sq_table *table)
{
    static const char *const names[] = {"rowid", "_rowid_", "oid"};
    const char *rowid = "NULL";
    for (size_t i = 3; i-- > 0 && !table->is_without_rowid;) {
        if (!has_column(table, names[i])) rowid = names[i];
    }
    sqlite3_str *sql = sqlite3_str_new(l->db);
    sqlite3_str_appendf(sql, "SELECT %s", rowid);
    for (uint32_t i = 0; i < table->column_count; i++) sqlite3_str_appendf(sql, ",\"%w\"", table->columns[i]);
    sqlite3_str_appendf(sql, " FROM main.\"%w\" NOT INDEXED", table->name);
    return sqlite3_str_finish(sql);
}

/* Fills a table that has its name only; false: SQLite does not read it. The name is the table's then. */
static bool describe(sq_table *out, const sq_library *l, char *name)
{
    *out = (sq_table){.name = name, .rowid_column = -1, .by_library = true};
    bool fine = name && add_columns(out, l);
    if (fine && can_prepare(l, make_select(l, out))) return true;
    out->is_without_rowid = true;
    if (fine && can_prepare(l, make_select(l, out))) return true;
    out->name = NULL;
    sq_table_deinit(out);
    return false;
}

/* All but virtual tables, whose modules never run. */
static bool add_tables(sq_library *l)
{
    sq_file *file = l->file;
    sqlite3_stmt *list;
    static const char sql[] = "SELECT name, rootpage > 0 FROM main.sqlite_schema WHERE type = 'table' ORDER BY rowid";
    int code = SQLITE_ROW;
    bool fine = sqlite3_prepare_v2(l->db, sql, -1, &list, NULL) == SQLITE_OK;
    while (fine && (code = sqlite3_step(list)) == SQLITE_ROW) {
        sq_table table;
        const char *text = (const char *)sqlite3_column_text(list, 0);
        char *name = text && sqlite3_column_int(list, 1) ? strdup(text) : NULL;
        if (!describe(&table, l, name)) {
            file->unreadable++;
            free(name);
            continue;
        }
        fine = hd_grow((void **)&file->tables, &file->table_capacity, file->table_count, sizeof table);
        if (fine)
            file->tables[file->table_count++] = table;
        else
            sq_table_deinit(&table);
    }
    sqlite3_finalize(list);
    return fine && code == SQLITE_DONE;
}

static void replace_tables(sq_library *l)
{
    sq_file *file = l->file;
    for (size_t i = 0; i < file->table_count; i++) {
        sq_table table, *old = &file->tables[i];
        char *name = old->is_partial ? strdup(old->name) : NULL;
        if (!name) continue;
        if (describe(&table, l, name)) {
            sq_table_deinit(old);
            *old = table;
        } else {
            free(name);
        }
    }
}

/* ---- the whole ---- */

static void close_library(sq_library *l)
{
    if (!l) return;
    sqlite3_close(l->db);
    if (l->vfs.zName) {
        sqlite3_vfs_unregister(&l->vfs);
        sqlite3_free((char *)(uintptr_t)l->vfs.zName);
    }
    if (l->beside >= 0) close(l->beside);
    if (l->written >= 0) close(l->written);
    free(l->is_written);
    free(l);
}

void sq_library_close(sq_file *file)
{
    close_library(file->library);
    file->library = NULL;
}

/* All tables, in place of those that were found without SQLite. */
static bool take_all(sq_library *l)
{
    sq_file *file = l->file, before = *file;
    file->tables = NULL;
    file->table_count = file->table_capacity = 0;
    file->unreadable = 0;
    bool fine = add_tables(l) && file->table_count;
    sq_file *out = fine ? &before : file; /* whose tables go */
    for (size_t i = 0; i < out->table_count; i++) sq_table_deinit(&out->tables[i]);
    free(out->tables);
    if (!fine) {
        file->tables = before.tables;
        file->table_count = before.table_count;
        file->table_capacity = before.table_capacity;
        file->unreadable = before.unreadable;
        return false;
    }
    file->schema_repaired = 0;
    file->damage = (sq_damage){.offset = HD_OFFSET_NONE};
    return true;
}

void sq_library_take(sq_file *file, const char *path)
{
    const sq_damage *damage = &file->damage;
    bool is_whole = !damage->pages && damage->rows == file->not_understood; /* as its bytes go */
    bool all = file->has_wal || file->has_journal || file->is_utf16 || (is_whole && damage->rows), any = all;
    for (size_t i = 0; i < file->table_count; i++) any |= file->tables[i].is_partial;
    sq_library *l = any ? calloc(1, sizeof *l) : NULL;
    if (!l) return;
    l->file = file;
    l->size = file->pieces.size;
    l->beside = l->written = -1;
    bool fine = open_beside(l, path) && register_vfs(l) && open_database(l);
    if (fine && all) fine = take_all(l);
    if (fine && !all) replace_tables(l);
    if (fine)
        file->library = l;
    else
        close_library(l);
}

hd_status sq_library_unchanged(const sq_file *file, hd_error *err)
{
    const sq_library *l = file->library;
    uint8_t head[HEAD];
    if (!l || l->beside < 0) return HD_OK;
    HD_TRY(hd_pieces_unchanged(&file->pieces, err));
    if (hd_read_whole_at(l->beside, head, HEAD, 0) && memcmp(head, l->head, HEAD) == 0) return HD_OK;
    return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "the file changed after it was opened: open it again");
}

/* ---- rows ---- */

/* SQLite gives a whole number of a column of type REAL as a real number; its record has an integer. */
static void take_real(sq_value *out, double value, const char *column)
{
    static const double most = 140737488355328.0; /* 2^47 */
    *out = (sq_value){.type = SQ_REAL, .real = value};
    bool is_whole = column[strlen(column) + 1] && value > -most && value < most && (double)(int64_t)value == value;
    if (is_whole) *out = (sq_value){.type = SQ_INT, .number = (int64_t)value};
}

static void take_value(sq_value *out, sqlite3_stmt *row, int at, const char *column)
{
    switch (sqlite3_column_type(row, at)) {
    case SQLITE_NULL: *out = (sq_value){.type = SQ_NULL}; break;
    case SQLITE_INTEGER: *out = (sq_value){.type = SQ_INT, .number = sqlite3_column_int64(row, at)}; break;
    case SQLITE_FLOAT: take_real(out, sqlite3_column_double(row, at), column); break;
    case SQLITE_TEXT:
        *out = (sq_value){.type = SQ_TEXT, .data = (const char *)sqlite3_column_text(row, at)};
        out->size = (size_t)sqlite3_column_bytes(row, at);
        break;
    default:
        *out = (sq_value){.type = SQ_BLOB, .data = sqlite3_column_blob(row, at)};
        out->size = (size_t)sqlite3_column_bytes(row, at);
    }
    if ((out->type == SQ_TEXT || out->type == SQ_BLOB) && !out->data) *out = (sq_value){.type = out->type, .data = ""};
}

void sq_library_rewind(sq_cursor *c)
{
    sqlite3_finalize(c->rows);
    c->rows = NULL;
    c->rowid = 0;
}

hd_status sq_library_next(sq_cursor *c, hd_error *err)
{
    if (c->page_at == c->page_count) return HD_END;
    if (!c->rows) {
        char *sql = make_select(c->file->library, c->table);
        if (!sql || sqlite3_prepare_v2(c->file->library->db, sql, -1, &c->rows, NULL) != SQLITE_OK) c->rows = NULL;
        sqlite3_free(sql);
        if (!c->rows) return HD_NOMEM(err);
    }
    int code = sqlite3_step(c->rows);
    if (code == SQLITE_ROW) {
        bool has_rowid = sqlite3_column_type(c->rows, 0) == SQLITE_INTEGER;
        c->rowid = has_rowid ? sqlite3_column_int64(c->rows, 0) : c->rowid + 1;
        for (uint32_t i = 0; i < c->columns; i++) take_value(&c->values[i], c->rows, (int)i + 1, c->table->columns[i]);
        return HD_OK;
    }
    c->page_at = c->page_count;
    if (code == SQLITE_NOMEM) return HD_NOMEM(err);
    if (code != SQLITE_DONE) c->damage.pages++;
    return HD_END;
}
